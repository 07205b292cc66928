package io.verbena.bench.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class WorkloadResultTest {
    private static WorkloadResult result(Map<Mode, List<JobRun>> runs) {
        return new WorkloadResult(Workload.SMALL_BLOCKS_SQL, runs);
    }

    @Test
    void shouldDivideMedians() {
        WorkloadResult result =
                result(Map.of(Mode.SPARK, TestRuns.runs(6, 90, 4), Mode.VERBENA, TestRuns.runs(2, 3, 1)));
        assertThat(result.ratio(Mode.SPARK, Mode.VERBENA, Figure.WALL)).isEqualTo(3.0);
        assertThat(result.count()).isEqualTo(3);
        assertThat(result.has(Mode.SPARK, Mode.VERBENA)).isTrue();
        assertThat(result.has(Mode.SPARK, Mode.NULL)).isFalse();
    }

    @Test
    void shouldHaveNoRatioToNothing() {
        WorkloadResult result = result(Map.of(Mode.SPARK, TestRuns.runs(6), Mode.VERBENA, TestRuns.runs(0)));
        assertThat(result.ratio(Mode.SPARK, Mode.VERBENA, Figure.GC)).isNaN();
    }

    @Test
    void shouldChargeBlocksWithWhatIsAboveNothing() {
        JobRun verbena = TestRuns.with(TestRuns.run(7, 0.5), Figure.BLOCKS, 100_000);
        WorkloadResult result = result(Map.of(Mode.VERBENA, List.of(verbena), Mode.NULL, TestRuns.runs(0.3)));
        assertThat(result.microsecondsPerBlock(Mode.VERBENA)).isEqualTo(2.0, within(1e-9));
    }

    @Test
    void shouldCompareChecksumsOfAllRunsButThoseOfTheModeThatMovesNothing() {
        List<JobRun> right = List.of(TestRuns.run(7, 1), TestRuns.run(7, 1));
        List<JobRun> wrongOnce = List.of(TestRuns.run(7, 1), TestRuns.run(8, 1));
        assertThat(result(Map.of(Mode.SPARK, right, Mode.VERBENA, right, Mode.NULL, wrongOnce))
                        .equalResults())
                .isTrue();
        WorkloadResult different = result(Map.of(Mode.SPARK, right, Mode.VERBENA, wrongOnce));
        assertThat(different.equalResults()).isFalse();
        assertThat(different.checksums()).contains("spark=[7]", "verbena=[7, 8]");
    }
}
