package io.verbena.bench.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class JobsCommandTest {
    @TempDir
    private Path dir;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... arguments) {
        CommandLine line =
                JobsCommand.commandLine().setOut(new PrintWriter(out)).setErr(new PrintWriter(err));
        List<String> all = new ArrayList<>(List.of("--out=" + dir));
        all.addAll(Arrays.asList(arguments));
        return line.execute(all.toArray(new String[0]));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--runs=0 | give a count of 1 or more",
                "--warmups=-1 | give a count of 0 or more",
                "--scale=0 | give a factor above 0",
                "--timeout=0 | give seconds",
                "--workloads=wideRows | choose from [wideRows64, wideRows400, ",
                "--modes=sort | choose from [spark, sparkNetty, ",
            })
    void shouldRefuseWithARemedy(String argument, String remedy) {
        assertThat(run(argument)).isEqualTo(2);
        assertThat(err.toString()).contains(remedy);
        assertThat(out.toString()).isEmpty();
    }

    @Test
    void shouldListWorkloadsWithTheirModes() {
        assertThat(run("--help")).isZero();
        assertThat(out.toString())
                .contains("sqlJoin            spark, verbena, null\n")
                .contains("smallBlocksSql2000 spark, verbena, null (only if named)\n");
    }

    /** Two jobs at a hundredth of their size in three modes: what was read and what came out, not how long it took. */
    @Test
    @Tag("slow")
    @Timeout(300)
    void shouldRunJobsOnThreeClusters(@TempDir Path scratch) throws IOException {
        assertThat(run(
                        "--json",
                        "--scratch=" + scratch,
                        "--runs=1",
                        "--warmups=0",
                        "--scale=0.01",
                        "--workloads=wideRows64,groupByKey",
                        "--modes=spark,verbena,null"))
                .as("%s", err)
                .isZero();
        List<JsonNode> lines = new ArrayList<>();
        for (String line : out.toString().lines().toList()) {
            lines.add(new ObjectMapper().readTree(line));
        }
        assertThat(lines.stream()
                        .map(line -> line.path("metric").asText() + " "
                                + line.path("workload").asText() + " "
                                + line.path("mode").asText()))
                .containsExactly(
                        "job wideRows64 spark",
                        "job wideRows64 verbena",
                        "job wideRows64 null",
                        "vsSparkDefault wideRows64 ",
                        "vsNull wideRows64 ",
                        "job groupByKey spark",
                        "job groupByKey verbena",
                        "job groupByKey null",
                        "vsSparkDefault groupByKey ",
                        "vsNull groupByKey ");
        for (JsonNode line : lines) {
            if (line.path("mode").asText().equals("null")) {
                assertThat(line.get("shuffleBytesWritten").asLong())
                        .as("%s", line)
                        .isZero();
            } else if (line.has("mode")) {
                assertThat(line.get("shuffleBytesWritten").asLong())
                        .as("%s", line)
                        .isPositive();
                assertThat(line.get("taskCpuSeconds").asDouble()).as("%s", line).isPositive();
                assertThat(line.get("userCpuSeconds").asDouble()).as("%s", line).isPositive();
            }
            if (line.path("mode").asText().equals("verbena")) {
                assertThat(line.get("readSelfBytes").asLong()).as("%s", line).isPositive();
                assertThat(line.get("readMappedBytes").asLong()).as("%s", line).isPositive();
                assertThat(line.get("registeredBytes").asLong()).as("%s", line).isPositive();
            }
            if (line.path("metric").asText().equals("vsSparkDefault")) {
                assertThat(line.get("executorCpuRatio").asDouble())
                        .as("%s", line)
                        .isPositive();
            }
        }
        assertThat(scratch).isEmptyDirectory();
    }
}
