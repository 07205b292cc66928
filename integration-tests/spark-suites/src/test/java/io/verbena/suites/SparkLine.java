package io.verbena.suites;

/**
 * The line of Spark that this build runs on.
 *
 * @param name for instance 4.0
 */
record SparkLine(String name) {
    static SparkLine current() {
        return of(System.getProperty("verbena.sparkVersion"));
    }

    static SparkLine of(String version) {
        return new SparkLine(version.replaceFirst("^(\\d+\\.\\d+)\\..*", "$1"));
    }

    /**
     * True when a column of a table names this line.
     *
     * @param lines {@code all}, a line, a line with a plus for it and later ones, or several of these separated by commas
     */
    boolean isIn(String lines) {
        for (String entry : lines.split(",", -1)) {
            if (entry.equals("all")
                    || entry.equals(name)
                    || (entry.endsWith("+") && name.compareTo(entry.substring(0, entry.length() - 1)) >= 0)) {
                return true;
            }
        }
        return false;
    }
}
