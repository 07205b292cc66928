package io.verbena.shuffle.config;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Predicate;
import org.apache.spark.network.util.ByteUnit;
import org.apache.spark.network.util.JavaUtils;

/**
 * One configuration key: declared once with its type, default, range, first version and doc.
 *
 * <p>A text that does not parse or lies outside the range is an error with the key, the value and the range; it is never
 * replaced by the default. Threads: immutable.
 *
 * @param <T> what the key's text means: {@code Boolean}, {@code Double}, {@code Integer}, {@code Long} (bytes or
 *     milliseconds), {@code String} (a path) or an enum
 */
final class ConfigKey<T> {
    /** Prefix of every key of this project; any key below it must be declared in {@link RdmaConf}. */
    static final String PREFIX = "spark.shuffle.rdma.";

    private final String name;
    private final String defaultText;
    private final String range;
    private final String since;
    private final String doc;
    private final Function<String, T> parser;
    private final Predicate<T> accepted;

    private ConfigKey(Builder<T> builder, String doc) {
        this.name = builder.name;
        this.defaultText = builder.defaultText;
        this.range = builder.range;
        this.since = builder.since;
        this.parser = builder.parser;
        this.accepted = builder.accepted;
        this.doc = doc;
        parse(defaultText);
    }

    /** Starts a key that is {@code true} or {@code false}. */
    static Builder<Boolean> bool(String suffix) {
        return new Builder<>(suffix, "true or false", ConfigKey::parseBoolean);
    }

    /** Starts a key that is a whole number between both bounds, inclusive. */
    static Builder<Integer> integer(String suffix, int min, int max) {
        return new Builder<>(suffix, min + " to " + max, Integer::parseInt)
                .accept(value -> value >= min && value <= max);
    }

    /** Starts a key that is a decimal number between both bounds, inclusive. */
    static Builder<Double> decimal(String suffix, double min, double max) {
        // NaN compares false with everything, so it is refused too.
        return new Builder<>(suffix, min + " to " + max, Double::parseDouble)
                .accept(value -> value >= min && value <= max);
    }

    /** Starts a key that is a size between both bounds, inclusive, as in {@code 64m}; a bare number is bytes. */
    static Builder<Long> bytes(String suffix, String min, String max) {
        long low = parseBytes(min);
        long high = parseBytes(max);
        return new Builder<>(suffix, min + " to " + max, ConfigKey::parseBytes)
                .accept(value -> value >= low && value <= high);
    }

    /** Starts a key that is a time between both bounds, inclusive, as in {@code 5s}; a bare number is milliseconds. */
    static Builder<Long> millis(String suffix, String min, String max) {
        long low = parseMillis(min);
        long high = parseMillis(max);
        return new Builder<>(suffix, min + " to " + max, ConfigKey::parseMillis)
                .accept(value -> value >= low && value <= high);
    }

    /** Starts a key that is one of an enum's constants, written in lower case. */
    static <E extends Enum<E>> Builder<E> oneOf(String suffix, Class<E> type) {
        StringBuilder names = new StringBuilder();
        for (E constant : type.getEnumConstants()) {
            names.append(names.length() == 0 ? "" : ", ").append(lowerCase(constant));
        }
        return new Builder<>(suffix, "one of " + names, text -> parseEnum(type, text));
    }

    /** Starts a key that is an absolute path. */
    static Builder<String> path(String suffix) {
        return new Builder<>(suffix, "an absolute path", Function.<String>identity())
                .accept(value -> value.startsWith("/"));
    }

    /** Starts a key that is an absolute path or empty. */
    static Builder<String> optionalPath(String suffix) {
        return new Builder<>(suffix, "an absolute path or empty", Function.<String>identity())
                .accept(value -> value.isEmpty() || value.startsWith("/"));
    }

    /** Starts a key that is a list of names separated by commas, or empty. */
    static Builder<List<String>> names(String suffix) {
        return new Builder<>(suffix, "names separated by commas, or empty", ConfigKey::parseNames);
    }

    /**
     * Returns what the text means.
     *
     * @throws IllegalArgumentException naming key, value and range, if it does not parse or is out of range
     */
    T parse(String text) {
        T value;
        try {
            value = parser.apply(text.strip());
        } catch (RuntimeException e) {
            // The parsers' own messages span lines and do not know the key; the cause keeps them.
            throw new IllegalArgumentException(problem(text), e);
        }
        if (!accepted.test(value)) {
            throw new IllegalArgumentException(problem(text));
        }
        return value;
    }

    private String problem(String text) {
        return name + "=" + text + " is not valid, allowed: " + range + " (default " + shownDefault() + ")";
    }

    T defaultValue() {
        return parse(defaultText);
    }

    String name() {
        return name;
    }

    /** The default as people read it: an empty text is shown as such. */
    String shownDefault() {
        return defaultText.isEmpty() ? "(empty)" : defaultText;
    }

    String range() {
        return range;
    }

    String since() {
        return since;
    }

    String doc() {
        return doc;
    }

    @Override
    public String toString() {
        return name;
    }

    static long parseBytes(String text) {
        return JavaUtils.byteStringAs(text, ByteUnit.BYTE);
    }

    private static long parseMillis(String text) {
        return JavaUtils.timeStringAs(text, TimeUnit.MILLISECONDS);
    }

    private static List<String> parseNames(String text) {
        return Arrays.stream(text.split(",", -1))
                .map(String::strip)
                .filter(name -> !name.isEmpty())
                .toList();
    }

    private static Boolean parseBoolean(String text) {
        return switch (text.toLowerCase(Locale.ROOT)) {
            case "true" -> Boolean.TRUE;
            case "false" -> Boolean.FALSE;
            default -> throw new IllegalArgumentException("neither true nor false");
        };
    }

    private static <E extends Enum<E>> E parseEnum(Class<E> type, String text) {
        return Enum.valueOf(type, text.toUpperCase(Locale.ROOT));
    }

    private static String lowerCase(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }

    /** Collects a key's parts; {@link #doc} ends it. */
    static final class Builder<T> {
        private final String name;
        private final Function<String, T> parser;
        private String range;
        private String defaultText = "";
        private String since = "";
        private Predicate<T> accepted = value -> true;

        private Builder(String suffix, String range, Function<String, T> parser) {
            this.name = PREFIX + suffix;
            this.range = range;
            this.parser = parser;
        }

        private Builder<T> accept(Predicate<T> condition) {
            accepted = accepted.and(condition);
            return this;
        }

        /** Adds a condition to the range, in the words that follow "allowed:". */
        Builder<T> also(String words, Predicate<T> condition) {
            range = range + ", " + words;
            return accept(condition);
        }

        /** Adds words to the range for a rule that spans keys and is checked in {@link RdmaConf}. */
        Builder<T> also(String words) {
            range = range + ", " + words;
            return this;
        }

        Builder<T> defaultValue(String text) {
            defaultText = text;
            return this;
        }

        Builder<T> since(String version) {
            since = version;
            return this;
        }

        /** Ends the declaration: the trade-off, and the memory it costs. */
        ConfigKey<T> doc(String text) {
            return new ConfigKey<>(this, text);
        }
    }
}
