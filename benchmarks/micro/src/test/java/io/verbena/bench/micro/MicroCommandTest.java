package io.verbena.bench.micro;

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
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class MicroCommandTest {
    @TempDir
    private Path dir;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... arguments) {
        CommandLine line =
                MicroCommand.commandLine().setOut(new PrintWriter(out)).setErr(new PrintWriter(err));
        List<String> all = new ArrayList<>(List.of("--out=" + dir));
        all.addAll(Arrays.asList(arguments));
        return line.execute(all.toArray(new String[0]));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "NoSuchThing | they are [ArenaBenchmark.arena, ",
                "--no-such-option | JMH refuses its arguments",
                "-bm=thrpt Checksum | leave out -bm and -tu",
            })
    void shouldRefuseWithARemedy(String arguments, String remedy) {
        assertThat(run(arguments.split(" "))).isEqualTo(2);
        assertThat(err.toString()).contains(remedy);
        assertThat(out.toString()).isEmpty();
    }

    /** In JVMs of their own, as from the command line. */
    @Test
    @Timeout(60)
    void shouldPrintJsonAndNothingElse() throws IOException {
        assertThat(run("--json", "-f", "1", "-wi", "0", "-i", "1", "-r", "10ms", "-p", "bytes=512,127", "Checksum"))
                .as("%s", err)
                .isZero();
        List<JsonNode> lines = new ArrayList<>();
        for (String line : out.toString().lines().toList()) {
            lines.add(new ObjectMapper().readTree(line));
        }
        assertThat(lines)
                .extracting(line -> line.get("metric").asText() + " "
                        + line.get("benchmark").asText() + " " + line.get("params") + " "
                        + line.get("unit").asText())
                .containsExactlyInAnyOrder(
                        "micro ChecksumBenchmark.crc32c {\"bytes\":\"127\"} ns/block",
                        "micro ChecksumBenchmark.crc32c {\"bytes\":\"512\"} ns/block",
                        "micro ChecksumBenchmark.memcpyBaseline {\"bytes\":\"127\"} ns/block",
                        "micro ChecksumBenchmark.memcpyBaseline {\"bytes\":\"512\"} ns/block");
        assertThat(lines).allSatisfy(line -> {
            assertThat(line.get("nsPerOp").asDouble()).isPositive();
            assertThat(line.get("error").isNull()).isTrue();
        });
    }

    @Test
    @Timeout(60)
    void shouldTakeShortParametersUnlessAskedForAll() {
        assertThat(run("--json", "-f", "0", "-wi", "0", "-i", "1", "-r", "1ms", "ChecksumBenchmark.crc"))
                .isZero();
        assertThat(out.toString().lines())
                .hasSize(MicroCommand.SHORT.get("bytes").size());
        out.getBuffer().setLength(0);
        assertThat(run("--json", "--full", "-f", "0", "-wi", "0", "-i", "1", "-r", "1ms", "ChecksumBenchmark.crc"))
                .isZero();
        assertThat(out.toString().lines()).hasSize(5);
    }

    @Test
    void shouldShowFiguresAsTable() {
        List<String> lines = Figure.table(List.of(
                new Figure("RowWriterBenchmark.spark", Map.of("partitions", "200"), 95.25, 2.5, "row"),
                new Figure("RowWriterBenchmark.verbena", Map.of("partitions", "200"), 30, Double.NaN, "row"),
                new Figure("ArenaBenchmark.arena", Map.of(), 1_234_567.8, 0.1, "lease")));
        assertThat(lines.stream().map(line -> line.replaceAll(" +", " ")))
                .containsExactly(
                        "benchmark parameters ns +-",
                        "RowWriterBenchmark.spark partitions=200 95.3 2.5 ns/row",
                        "RowWriterBenchmark.verbena partitions=200 30.0 NaN ns/row",
                        "",
                        "ArenaBenchmark.arena 1234567.8 0.1 ns/lease");
        assertThat(lines.get(1).indexOf("ns/row")).isEqualTo(lines.get(2).indexOf("ns/row"));
    }
}
