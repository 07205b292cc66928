package io.verbena.bench.micro;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.commons.io.output.ByteArrayOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.BenchmarkList;
import org.openjdk.jmh.runner.BenchmarkListEntry;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.format.OutputFormat;
import org.openjdk.jmh.runner.format.OutputFormatFactory;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.VerboseMode;

class BenchmarksTest {
    private static final List<String> EXPECTED = List.of(
            "ArenaBenchmark.arena",
            "ArenaBenchmark.mallocBaseline",
            "BlockReaderBenchmark.memcpyBaseline",
            "BlockReaderBenchmark.spark",
            "BlockReaderBenchmark.sparkNetty",
            "BlockReaderBenchmark.sparkRaw",
            "BlockReaderBenchmark.verbenaMapped",
            "BlockReaderBenchmark.verbenaSelf",
            "ChecksumBenchmark.crc32c",
            "ChecksumBenchmark.memcpyBaseline",
            "IndexBenchmark.arrayBaseline",
            "IndexBenchmark.firstInImage",
            "IndexBenchmark.firstInIndex",
            "IndexBenchmark.image",
            "IndexBenchmark.index",
            "IndexBenchmark.spark",
            "RecordWriterBenchmark.kryoBaseline",
            "RecordWriterBenchmark.memcpyBaseline",
            "RecordWriterBenchmark.spark",
            "RecordWriterBenchmark.sparkRaw",
            "RecordWriterBenchmark.verbena",
            "RowReaderBenchmark.memcpyBaseline",
            "RowReaderBenchmark.spark",
            "RowReaderBenchmark.sparkNetty",
            "RowReaderBenchmark.sparkRaw",
            "RowReaderBenchmark.verbenaMapped",
            "RowReaderBenchmark.verbenaSelf",
            "RowWriterBenchmark.memcpyBaseline",
            "RowWriterBenchmark.spark",
            "RowWriterBenchmark.sparkRaw",
            "RowWriterBenchmark.verbena",
            "TransportBenchmark.loopbackRead",
            "TransportBenchmark.mappedRead",
            "TransportBenchmark.mappedView",
            "TransportBenchmark.memcpyBaseline");

    private final ByteArrayOutputStream log = new ByteArrayOutputStream();
    private final OutputFormat format = OutputFormatFactory.createFormatInstance(
            new PrintStream(log, true, StandardCharsets.UTF_8), VerboseMode.NORMAL);

    private static String name(BenchmarkListEntry entry) {
        return Figure.shortName(entry.getUsername());
    }

    @Test
    void shouldHaveABenchmarkPerPartAndBaseline() {
        assertThat(BenchmarkList.defaultList().getAll(format, List.of()))
                .extracting(BenchmarksTest::name)
                .containsExactlyInAnyOrderElementsOf(EXPECTED);
    }

    /** A name that is misspelt would be ignored: JMH takes parameters that no benchmark has. */
    @Test
    void shouldShortenParametersThatThereAre() {
        Set<String> known = new HashSet<>();
        BenchmarkList.defaultList()
                .getAll(format, List.of())
                .forEach(entry -> entry.getParams().orElse(java.util.Map.of()).forEach((name, values) -> {
                    known.add(name);
                    if (MicroCommand.SHORT.containsKey(name)) {
                        assertThat(MicroCommand.SHORT.get(name)).as(name).isSubsetOf(values);
                    }
                }));
        assertThat(known).containsAll(MicroCommand.SHORT.keySet());
    }

    /** Every benchmark checks what it has done, and one that fails ends the run. */
    @Test
    @Timeout(300)
    void shouldRunEveryBenchmark() throws RunnerException {
        Collection<RunResult> results = new Runner(
                        new OptionsBuilder()
                                .mode(Mode.SingleShotTime)
                                .timeUnit(TimeUnit.NANOSECONDS)
                                .forks(0)
                                .warmupIterations(0)
                                .measurementIterations(1)
                                .shouldFailOnError(true)
                                .param("rowBytes", "16")
                                .param("valueBytes", "16")
                                .param("partitions", "16")
                                .param("reducers", "200")
                                .param("bytes", "512")
                                .param("live", "1000")
                                .build(),
                        format)
                .run();
        assertThat(results.stream().map(Figure::of).map(Figure::benchmark))
                .as("%s", log)
                .containsExactlyInAnyOrderElementsOf(EXPECTED);
        assertThat(results)
                .allSatisfy(result ->
                        assertThat(result.getPrimaryResult().getScore()).isPositive());
    }
}
