package io.verbena.bench.micro;

import io.verbena.bench.driver.Machine;
import io.verbena.bench.driver.Scratch;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.apache.commons.io.output.WriterOutputStream;
import org.apache.spark.launcher.JavaModuleOptions;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.NoBenchmarksException;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.format.OutputFormatFactory;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import org.openjdk.jmh.runner.options.Options;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.VerboseMode;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Unmatched;

/** The command behind {@code bin/bench micro}. */
@Command(
        name = "bin/bench micro",
        sortOptions = false,
        description = {
            "Measures single parts of the shuffle by JMH, each beside Spark's own part or a bare copy of the same bytes.",
            ""
        },
        footer = {
            "",
            "All else goes to JMH: a regular expression of benchmarks, such as RowWriter or Checksum.*crc, -p NAME=VALUES,"
                    + " -f FORKS, -wi and -i ITERATIONS, -prof PROFILER.",
            "",
            "Exit status: 0 if all was measured, 1 if not, 2 if the run could not start."
        },
        exitCodeOnExecutionException = 1,
        exitCodeOnInvalidInput = 2)
public final class MicroCommand implements Callable<Integer> {
    private static final int HELP_COLUMNS = 110;

    /** For a map output of the widest rows, several times over, and Verbena's memory. */
    private static final long SCRATCH_BYTES = 2L << 30;

    /** Values of parameters without --full. All of them are beside each parameter. */
    static final Map<String, List<String>> SHORT = Map.of(
            "rowBytes", List.of("104"),
            "valueBytes", List.of("100"),
            "partitions", List.of("200", "2000"),
            "reducers", List.of("2000"),
            "bytes", List.of("4096"));

    @Option(names = "--json", description = "one JSON object per line on standard output, and nothing else there")
    private boolean json;

    @Option(names = "--full", description = "all values of all parameters, which takes about a quarter of an hour")
    private boolean full;

    @SuppressWarnings("UnusedVariable") // picocli acts on it.
    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "shows this text")
    private boolean help;

    @Option(names = "--out", hidden = true, required = true)
    private Path directory;

    @Unmatched
    private List<String> jmhArguments = new ArrayList<>();

    @Spec
    private CommandSpec spec;

    /** @param arguments see {@code --help} */
    public static void main(String[] arguments) {
        System.exit(commandLine().execute(arguments));
    }

    static CommandLine commandLine() {
        CommandLine line = new CommandLine(new MicroCommand())
                .setExecutionExceptionHandler((failure, command, parsed) -> {
                    command.getErr().println("bin/bench: " + failure.getMessage());
                    return 1;
                });
        line.getCommandSpec().usageMessage().width(HELP_COLUMNS);
        return line;
    }

    @Override
    public Integer call() throws IOException, RunnerException {
        PrintWriter out = spec.commandLine().getOut();
        PrintWriter err = spec.commandLine().getErr();
        CommandLineOptions given = given();
        // Not closed, since that would close standard error.
        PrintStream progress = new PrintStream(
                WriterOutputStream.builder()
                        .setWriter(err)
                        .setCharset(StandardCharsets.UTF_8)
                        .setWriteImmediately(true)
                        .get(),
                true,
                StandardCharsets.UTF_8);
        try (Scratch scratch = Scratch.open("micro", SCRATCH_BYTES, directory)) {
            Options options = options(given, scratch.folder());
            Collection<RunResult> results =
                    new Runner(options, OutputFormatFactory.createFormatInstance(progress, VerboseMode.NORMAL)).run();
            List<Figure> figures = results.stream().map(Figure::of).toList();
            PrintWriter facts = json ? err : out;
            Machine.facts().forEach((name, value) -> facts.println(name + ": " + value));
            facts.println("Spark's files: " + scratch);
            (json ? figures.stream().map(Figure::toJson) : Figure.table(figures).stream()).forEach(out::println);
            out.flush();
            return 0;
        } catch (NoBenchmarksException e) {
            throw new ParameterException(
                    spec.commandLine(), "no benchmark matches " + jmhArguments + "; they are " + names(), e);
        }
    }

    private CommandLineOptions given() {
        CommandLineOptions given;
        try {
            given = new CommandLineOptions(jmhArguments.toArray(new String[0]));
        } catch (CommandLineOptionException e) {
            throw new ParameterException(spec.commandLine(), "JMH refuses its arguments: " + e.getMessage(), e);
        }
        if (!given.getBenchModes().isEmpty() || given.getTimeUnit().hasValue()) {
            throw new ParameterException(
                    spec.commandLine(), "figures are average times in nanoseconds; leave out -bm and -tu");
        }
        return given;
    }

    private Options options(CommandLineOptions given, Path scratch) {
        OptionsBuilder options = new OptionsBuilder();
        options.parent(given).shouldFailOnError(true);
        if (!given.getJvmArgs().hasValue()) {
            options.jvmArgs(Stream.concat(
                            Arrays.stream(JavaModuleOptions.defaultModuleOptionArray()),
                            Stream.of("-Xmx2g", "-XX:+UseParallelGC", "-Djava.io.tmpdir=" + scratch))
                    .toArray(String[]::new));
        }
        if (!full) {
            SHORT.forEach((name, values) -> {
                if (!given.getParameter(name).hasValue()) {
                    options.param(name, values.toArray(new String[0]));
                }
            });
        }
        return options.build();
    }

    private static List<String> names() {
        return org.openjdk.jmh.runner.BenchmarkList.defaultList()
                .getAll(
                        OutputFormatFactory.createFormatInstance(
                                new PrintStream(java.io.OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8),
                                VerboseMode.SILENT),
                        List.of())
                .stream()
                .map(benchmark -> Figure.shortName(benchmark.getUsername()))
                .toList();
    }
}
