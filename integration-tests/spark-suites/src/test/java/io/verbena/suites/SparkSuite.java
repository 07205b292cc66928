package io.verbena.suites;

import java.io.IOException;
import java.util.List;

/**
 * A suite of Spark's.
 *
 * @param className in Spark's test jars
 * @param shuffles {@link #OURS}, {@link #NONE} when it shuffles nothing, or the reason for which all its shuffles are Spark's
 */
record SparkSuite(String className, String shuffles) {
    static final String OURS = "OURS";
    static final String NONE = "NONE";

    /** Returns the suites to run on a line, in the table's order. */
    static List<SparkSuite> of(SparkLine line) throws IOException {
        return Table.read("suites.tsv", 3).stream()
                .filter(row -> line.isIn(row.get(1)))
                .map(row -> new SparkSuite("org.apache.spark." + row.get(0), row.get(2)))
                .toList();
    }

    String simpleName() {
        return className.substring(className.lastIndexOf('.') + 1);
    }
}
