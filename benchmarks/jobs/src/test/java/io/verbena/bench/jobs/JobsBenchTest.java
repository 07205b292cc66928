package io.verbena.bench.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JobsBenchTest {
    private static final List<Mode> MODES = List.of(Mode.SPARK, Mode.VERBENA, Mode.NULL);

    private final List<String> calls = new ArrayList<>();
    private final List<WorkloadResult> results = new ArrayList<>();
    private final List<String> progress = new ArrayList<>();

    /** Takes two seconds of CPU time, and half a second less of the compilers from run to run. */
    private final class FakeRunner implements JobsBench.Runner {
        private final Map<Mode, Double> compilers = new LinkedHashMap<>();

        @Override
        public JobRun run(Workload workload, Mode mode) {
            calls.add(mode.label());
            double first = mode == late ? 3.0 : 1.0;
            double compiler = compilers.merge(mode, first, (value, unused) -> Math.max(0, value - 0.5));
            return TestRuns.with(TestRuns.run(7, 2), Figure.COMPILER_CPU, compiler);
        }

        @Override
        public void keep(Map<Workload, List<Mode>> plan) {
            calls.add("keep " + plan.keySet());
        }
    }

    private Mode late;

    private void run(int warmups, int runs, Workload... workloads) throws IOException {
        Map<Workload, List<Mode>> plan = new LinkedHashMap<>();
        for (Workload workload : workloads) {
            plan.put(workload, MODES);
        }
        new JobsBench(new FakeRunner(), warmups, runs, progress::add).run(plan, results::add);
    }

    @Test
    void shouldRunModesByTurnsInChangingOrder() throws IOException {
        run(1, 2, Workload.SQL_JOIN);
        assertThat(calls)
                .containsExactly(
                        "keep [sqlJoin]",
                        "spark",
                        "verbena",
                        "null",
                        "spark",
                        "verbena",
                        "null",
                        "null",
                        "verbena",
                        "spark");
        assertThat(results).singleElement().satisfies(result -> {
            assertThat(result.runs().keySet()).containsExactlyElementsOf(MODES);
            assertThat(result.runs().values())
                    .allSatisfy(counted -> assertThat(counted).hasSize(2));
        });
        assertThat(progress).hasSize(9).first().asString().startsWith("sqlJoin spark warm-up 1: wall 2.00 s");
    }

    @Test
    void shouldStopWarmingUpWhenCompilersAreAtRest() throws IOException {
        run(10, 1, Workload.SQL_JOIN);
        assertThat(progress.stream().filter(line -> line.contains("warm-up"))).hasSize(3 * 3);
    }

    @Test
    void shouldWarmUpUntilEveryModeIsAtRest() throws IOException {
        late = Mode.VERBENA;
        run(10, 1, Workload.SQL_JOIN);
        assertThat(progress.stream().filter(line -> line.contains("warm-up"))).hasSize(7 * 3);
    }

    @Test
    void shouldNotWarmUpAnApplicationThatIsNewForEveryRun() throws IOException {
        run(10, 2, Workload.COLD_FIRST_SHUFFLE);
        assertThat(progress).hasSize(2 * 3).noneMatch(line -> line.contains("warm-up"));
    }

    @Test
    void shouldSayWhichWorkloadsAreLeft() throws IOException {
        run(0, 1, Workload.NARROW_ROWS, Workload.SQL_JOIN);
        assertThat(calls)
                .containsExactly(
                        "keep [narrowRows, sqlJoin]",
                        "spark",
                        "verbena",
                        "null",
                        "keep [sqlJoin]",
                        "spark",
                        "verbena",
                        "null");
    }
}
