package io.verbena.shuffle.config;

/** The configuration keys as a Markdown table, kept in the README between two marker lines. */
final class ConfigTable {
    static final String BEGIN = "<!-- config:begin -->";
    static final String END = "<!-- config:end -->";

    private ConfigTable() {}

    /** Returns the table, with a line feed after every row. */
    static String render() {
        StringBuilder table = new StringBuilder("| Key | Default | Allowed | Meaning |\n|---|---|---|---|\n");
        for (ConfigKey<?> key : RdmaConf.keys()) {
            table.append("| `")
                    .append(key.name())
                    .append("` | ")
                    .append(key.shownDefault())
                    .append(" | ")
                    .append(key.range())
                    .append(" | ")
                    .append(key.doc())
                    .append(" Since ")
                    .append(key.since())
                    .append(". |\n");
        }
        return table.toString();
    }

    /**
     * Returns the document with the table between the markers.
     *
     * @throws IllegalArgumentException if the markers are missing or in the wrong order
     */
    static String replaceIn(String document) {
        int begin = document.indexOf(BEGIN);
        int end = document.indexOf(END);
        if (begin < 0 || end < begin) {
            throw new IllegalArgumentException("document has no table: expected the markers " + BEGIN + " and " + END
                    + ", in this order; beginIndex=" + begin + ", endIndex=" + end);
        }
        return document.substring(0, begin) + BEGIN + "\n" + render() + document.substring(end);
    }
}
