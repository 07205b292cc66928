package io.verbena.shuffle.seam;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkConf;

/**
 * A line of Spark: all versions with the same first two numbers.
 *
 * @param major first number
 * @param minor second number
 */
public record SparkLine(int major, int minor) {
    /** Lines whose internals the plugin knows. Spark promises nothing about them, so any other line is refused. */
    private static final List<SparkLine> SUPPORTED =
            List.of(new SparkLine(3, 5), new SparkLine(4, 0), new SparkLine(4, 1), new SparkLine(4, 2));

    /** The first two numbers, and whatever a vendor appends. */
    private static final Pattern VERSION = Pattern.compile("(\\d{1,4})\\.(\\d{1,4})(?:\\D.*)?");

    /**
     * The line of the Spark that runs.
     *
     * @throws IllegalStateException if its version has no line
     */
    public static SparkLine current() {
        return parse(org.apache.spark.package$.MODULE$.SPARK_VERSION());
    }

    static SparkLine parse(String version) {
        Matcher numbers = VERSION.matcher(version);
        if (!numbers.matches()) {
            throw notSupported("\"" + version + "\"");
        }
        return new SparkLine(Integer.parseInt(numbers.group(1)), Integer.parseInt(numbers.group(2)));
    }

    private static IllegalStateException notSupported(String version) {
        return new IllegalStateException(
                "Spark " + version + " is not supported by this version of Verbena (supported: " + SUPPORTED
                        + "); remove spark.shuffle.manager, or use a version of Verbena that lists it");
    }

    /** True for this line and later ones. */
    public boolean atLeast(int otherMajor, int otherMinor) {
        return major > otherMajor || (major == otherMajor && minor >= otherMinor);
    }

    /**
     * Passes the configuration on if the plugin runs on this line.
     *
     * @throws IllegalStateException if it does not
     */
    public SparkConf requireSupported(SparkConf conf) {
        if (!SUPPORTED.contains(this)) {
            throw notSupported(toString());
        }
        return conf;
    }

    @Override
    public String toString() {
        return major + "." + minor;
    }
}
