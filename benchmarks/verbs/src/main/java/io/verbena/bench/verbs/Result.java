package io.verbena.bench.verbs;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One line of output.
 *
 * @param metric the name of the figure
 * @param bytes the size of a block, or of the memory that was registered
 */
public record Result(String metric, long bytes, Spread spread) {
    private static final Pattern JSON = Pattern.compile(
            "\\{\"metric\":\"(\\w+)\",\"bytes\":(\\d+),\"ratio\":([\\d.]+),\"min\":([\\d.]+),\"max\":([\\d.]+)\\}");

    /**
     * Reads what {@link #json} wrote.
     *
     * @throws IllegalArgumentException if it is something else
     */
    static Result parse(String json) {
        Matcher matcher = JSON.matcher(json);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("not a result: line=" + json);
        }
        Spread spread = new Spread(
                Double.parseDouble(matcher.group(3)),
                Double.parseDouble(matcher.group(4)),
                Double.parseDouble(matcher.group(5)));
        return new Result(matcher.group(1), Long.parseLong(matcher.group(2)), spread);
    }

    /** Returns a JSON object. */
    String json() {
        return String.format(
                Locale.ROOT,
                "{\"metric\":\"%s\",\"bytes\":%d,\"ratio\":%.4f,\"min\":%.4f,\"max\":%.4f}",
                metric,
                bytes,
                spread.mean(),
                spread.min(),
                spread.max());
    }

    /** Returns the title of a table of {@link #row}s. */
    static String header() {
        return String.format(Locale.ROOT, "%-28s %12s %8s %8s %8s", "metric", "bytes", "ratio", "min", "max");
    }

    /** Returns a line of a table. */
    String row() {
        return String.format(
                Locale.ROOT, "%-28s %12d %8.2f %8.2f %8.2f", metric, bytes, spread.mean(), spread.min(), spread.max());
    }
}
