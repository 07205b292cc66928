package io.verbena.suites;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** The checked-in tables: a row a line, columns separated by tabs, {@code #} starts a line of comment. */
final class Table {
    private Table() {}

    /**
     * @param name of the resource beside this class
     * @throws IllegalArgumentException naming the line that has not as many columns
     */
    static List<List<String>> read(String name, int columns) throws IOException {
        try (InputStream in = Table.class.getResourceAsStream(name)) {
            return parse(name, new String(in.readAllBytes(), StandardCharsets.UTF_8), columns);
        }
    }

    static List<List<String>> parse(String name, String text, int columns) {
        List<List<String>> rows = new ArrayList<>();
        List<String> lines = text.lines().toList();
        for (int i = 0; i < lines.size(); i++) {
            if (lines.get(i).isBlank() || lines.get(i).startsWith("#")) {
                continue;
            }
            List<String> row = List.of(lines.get(i).split("\t", -1));
            if (row.size() != columns || row.stream().anyMatch(String::isBlank)) {
                throw new IllegalArgumentException("unreadable table: file=" + name + ", line=" + (i + 1) + ", columns="
                        + row.size() + ", expectedColumns=" + columns + ", none of them empty");
            }
            rows.add(row);
        }
        return rows;
    }
}
