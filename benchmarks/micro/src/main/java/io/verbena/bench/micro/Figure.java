package io.verbena.bench.micro;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;

/**
 * The result of one benchmark with one choice of parameters.
 *
 * @param benchmark class and method
 * @param error half of the 99.9% confidence interval of the mean, NaN if there are too few iterations
 * @param operation what one operation handles
 */
record Figure(String benchmark, Map<String, String> params, double nsPerOp, double error, String operation) {
    /** More digits than any measurement has. */
    private static final MathContext DIGITS = new MathContext(5);

    static Figure of(RunResult run) {
        BenchmarkParams params = run.getParams();
        Map<String, String> values = new TreeMap<>();
        params.getParamsKeys().forEach(key -> values.put(key, params.getParam(key)));
        Result<?> result = run.getPrimaryResult();
        String name = params.getBenchmark();
        return new Figure(shortName(name), values, result.getScore(), result.getScoreError(), operation(name));
    }

    private static String operation(String name) {
        String type = name.substring(0, name.lastIndexOf('.'));
        try {
            return Class.forName(type).getAnnotation(Per.class).value();
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException("benchmark of a class that is not there: " + name, e);
        }
    }

    /** The name without package, as JMH takes it too. */
    static String shortName(String name) {
        return name.substring(name.lastIndexOf('.', name.lastIndexOf('.') - 1) + 1);
    }

    String unit() {
        return "ns/" + operation;
    }

    String toJson() {
        ObjectNode line =
                JsonNodeFactory.instance.objectNode().put("metric", "micro").put("benchmark", benchmark);
        ObjectNode values = line.putObject("params");
        params.forEach(values::put);
        line.put("nsPerOp", rounded(nsPerOp));
        if (Double.isNaN(error)) {
            line.putNull("error");
        } else {
            line.put("error", rounded(error));
        }
        return line.put("unit", unit()).toString();
    }

    private static BigDecimal rounded(double value) {
        return new BigDecimal(value, DIGITS);
    }

    /** All figures as lines of a table, with a blank line between classes. */
    static List<String> table(List<Figure> figures) {
        List<String> lines = new ArrayList<>();
        lines.add(String.format(Locale.ROOT, "%-36s %-32s %14s %12s", "benchmark", "parameters", "ns", "+-"));
        String previous = "";
        for (Figure figure : figures) {
            String type = figure.benchmark.substring(0, figure.benchmark.indexOf('.'));
            if (!type.equals(previous) && !previous.isEmpty()) {
                lines.add("");
            }
            previous = type;
            String params = figure.params.entrySet().stream()
                    .map(entry -> entry.getKey() + "=" + entry.getValue())
                    .collect(Collectors.joining(" "));
            lines.add(String.format(
                    Locale.ROOT,
                    "%-36s %-32s %14.1f %12.1f %s",
                    figure.benchmark,
                    params,
                    figure.nsPerOp,
                    figure.error,
                    figure.unit()));
        }
        return lines;
    }
}
