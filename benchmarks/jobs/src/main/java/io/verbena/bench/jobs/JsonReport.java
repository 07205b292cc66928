package io.verbena.bench.jobs;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.List;

/** Results as JSON objects, a line each. */
final class JsonReport {
    /** More digits than any measurement has. */
    private static final MathContext DIGITS = new MathContext(5);

    private JsonReport() {}

    /** Returns the lines of a workload: a {@code job} per mode, then what modes are to one another. */
    static List<String> lines(WorkloadResult result) {
        List<String> lines = new ArrayList<>();
        result.runs().keySet().forEach(mode -> lines.add(job(result, mode).toString()));
        compare(lines, result, "vsSparkDefault", Mode.SPARK, Mode.VERBENA);
        compare(lines, result, "compressedVsSparkDefault", Mode.SPARK, Mode.VERBENA_LZ4);
        if (result.has(Mode.VERBENA, Mode.NULL)) {
            ObjectNode line = line("vsNull", result);
            put(line, "wallRatio", result.ratio(Mode.VERBENA, Mode.NULL, Figure.WALL));
            lines.add(line.put("runs", result.count()).toString());
        }
        if (result.workload().hasSmallBlocks() && result.has(Mode.VERBENA, Mode.NULL)) {
            ObjectNode line = line("cpuPerBlock", result);
            put(line, "microseconds", result.microsecondsPerBlock(Mode.VERBENA));
            if (result.has(Mode.SPARK)) {
                put(line, "sparkMicroseconds", result.microsecondsPerBlock(Mode.SPARK));
            }
            lines.add(line.toString());
        }
        return lines;
    }

    private static ObjectNode job(WorkloadResult result, Mode mode) {
        ObjectNode line = line("job", result).put("mode", mode.label()).put("runs", result.count());
        for (Figure figure : Figure.values()) {
            Median median = result.median(mode, figure);
            put(line, figure.label(), median.middle());
            if (figure.isTime()) {
                put(line, figure.label() + "Min", median.min());
                put(line, figure.label() + "Max", median.max());
            }
        }
        return line;
    }

    private static void compare(List<String> lines, WorkloadResult result, String metric, Mode spark, Mode ours) {
        if (result.has(spark, ours)) {
            ObjectNode line = line(metric, result);
            put(line, "wallRatio", result.ratio(spark, ours, Figure.WALL));
            put(line, "taskCpuRatio", result.ratio(spark, ours, Figure.TASK_CPU));
            put(line, "executorCpuRatio", result.ratio(spark, ours, Figure.EXECUTOR_CPU));
            put(line, "userCpuRatio", result.ratio(spark, ours, Figure.USER_CPU));
            put(line, "processCpuRatio", result.ratio(spark, ours, Figure.PROCESS_CPU));
            lines.add(line.put("runs", result.count()).toString());
        }
    }

    private static ObjectNode line(String metric, WorkloadResult result) {
        return JsonNodeFactory.instance
                .objectNode()
                .put("metric", metric)
                .put("workload", result.workload().label());
    }

    /** Whole numbers are exact; a ratio that could not be had is {@code null}. */
    private static void put(ObjectNode line, String name, double value) {
        if (!Double.isFinite(value)) {
            line.putNull(name);
        } else if (value == Math.rint(value)) {
            line.put(name, (long) value);
        } else {
            line.put(name, new BigDecimal(value).round(DIGITS));
        }
    }
}
