package io.verbena.bench.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JsonReportTest {
    private static WorkloadResult result(Workload workload, Mode... modes) {
        Map<Mode, List<JobRun>> runs = new LinkedHashMap<>();
        for (Mode mode : modes) {
            // 1, 2, 3 ... by position, so that ratios are simple.
            double value = runs.size() + 1;
            runs.put(mode, TestRuns.runs(value, value));
        }
        return new WorkloadResult(workload, runs);
    }

    @Test
    void shouldCompareWithSparkAndWithNothingInEveryLocale() {
        Locale before = Locale.getDefault();
        try {
            Locale.setDefault(Locale.GERMANY);
            assertThat(JsonReport.lines(
                            result(Workload.WIDE_ROWS_64, Mode.NULL, Mode.VERBENA, Mode.SPARK, Mode.VERBENA_LZ4)))
                    .hasSize(7)
                    .endsWith(
                            "{\"metric\":\"vsSparkDefault\",\"workload\":\"wideRows64\",\"wallRatio\":1.5,\"taskCpuRatio\":1.5,"
                                    + "\"executorCpuRatio\":1.5,\"userCpuRatio\":1.5,\"processCpuRatio\":1.5,\"runs\":2}",
                            "{\"metric\":\"compressedVsSparkDefault\",\"workload\":\"wideRows64\",\"wallRatio\":0.75,"
                                    + "\"taskCpuRatio\":0.75,\"executorCpuRatio\":0.75,\"userCpuRatio\":0.75,"
                                    + "\"processCpuRatio\":0.75,\"runs\":2}",
                            "{\"metric\":\"vsNull\",\"workload\":\"wideRows64\",\"wallRatio\":2,\"runs\":2}");
        } finally {
            Locale.setDefault(before);
        }
    }

    @Test
    void shouldGiveThePriceOfABlock() {
        assertThat(JsonReport.lines(result(Workload.SMALL_BLOCKS_SQL, Mode.NULL, Mode.VERBENA)))
                .last()
                .isEqualTo("{\"metric\":\"cpuPerBlock\",\"workload\":\"smallBlocksSql\",\"microseconds\":500000}");
    }

    @Test
    void shouldWriteBytesToTheLast() {
        assertThat(JsonReport.lines(
                                new WorkloadResult(Workload.SQL_JOIN, Map.of(Mode.SPARK, TestRuns.runs(409_612_345))))
                        .toString())
                .contains("\"shuffleBytesWritten\":409612345,");
    }

    @Test
    void shouldGiveEveryFigureOfAModeAndTheSpreadOfTimes() {
        WorkloadResult result =
                new WorkloadResult(Workload.SQL_JOIN, Map.of(Mode.SPARK, TestRuns.runs(1.25, 2.5, 30.123456)));
        assertThat(JsonReport.lines(result))
                .singleElement()
                .asString()
                .startsWith(
                        "{\"metric\":\"job\",\"workload\":\"sqlJoin\",\"mode\":\"spark\",\"runs\":3,"
                                + "\"wallSeconds\":2.5,\"wallSecondsMin\":1.25,\"wallSecondsMax\":30.123,\"taskCpuSeconds\":2.5,")
                .contains("\"blocksRead\":2.5,\"readSelfBytes\":2.5,");
    }
}
