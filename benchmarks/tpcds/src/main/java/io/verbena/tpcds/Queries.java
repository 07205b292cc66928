package io.verbena.tpcds;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.TPCDSSchema;

/** The 103 query texts of TPC-DS 1.4 as Spark's own tests run them (99 queries, four of which have two variants). */
final class Queries {
    private static final Set<Integer> WITH_VARIANTS = Set.of(14, 23, 24, 39);

    private static final List<String> ALL = names();

    private Queries() {}

    /** @return q1, q2 ... q99, in the order of their numbers */
    static List<String> all() {
        return ALL;
    }

    /** @throws IllegalArgumentException for a name that is not in {@link #all} */
    static String text(String name) {
        if (!ALL.contains(name)) {
            throw new IllegalArgumentException("no TPC-DS query of this name: query=" + name);
        }
        try (InputStream in = TPCDSSchema.class.getResourceAsStream("/tpcds/" + name + ".sql")) {
            if (in == null) {
                throw new IllegalStateException("query text missing: resource=/tpcds/" + name
                        + ".sql; put the tests jar of spark-sql on the class path");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read the query text: query=" + name, e);
        }
    }

    private static List<String> names() {
        List<String> names = new ArrayList<>();
        for (int number = 1; number <= 99; number++) {
            if (WITH_VARIANTS.contains(number)) {
                names.add("q" + number + "a");
                names.add("q" + number + "b");
            } else {
                names.add("q" + number);
            }
        }
        return List.copyOf(names);
    }
}
