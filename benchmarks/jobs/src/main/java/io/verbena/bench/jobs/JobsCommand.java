package io.verbena.bench.jobs;

import io.verbena.bench.driver.Machine;
import io.verbena.bench.driver.Scratch;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The command behind {@code bin/bench jobs}. */
@Command(
        name = "bin/bench jobs",
        sortOptions = false,
        description = {
            "Runs Spark jobs with Spark's own shuffle, with Verbena's and with one that moves nothing, by turns on two local"
                    + " executors, checks that results are equal and compares what they cost.",
            ""
        },
        exitCodeOnExecutionException = 1,
        exitCodeOnInvalidInput = 2)
public final class JobsCommand implements Callable<Integer> {
    private static final int HELP_COLUMNS = 110;

    /** For the shuffle files of one run of the largest workload and the memory of all applications, with room to spare. */
    private static final long SCRATCH_BYTES = 8L << 30;

    @Option(names = "--json", description = "one JSON object per line on standard output, and nothing else there")
    private boolean json;

    @Option(
            names = "--runs",
            paramLabel = "N",
            defaultValue = "5",
            description = "counted runs of each mode (default: ${DEFAULT-VALUE})")
    private int runs;

    @Option(
            names = "--warmups",
            paramLabel = "N",
            defaultValue = "10",
            description = "most runs of each mode before those, fewer when the JVMs are warm sooner"
                    + " (default: ${DEFAULT-VALUE})")
    private int warmups;

    @Option(
            names = "--workloads",
            paramLabel = "LIST",
            split = ",",
            converter = WorkloadConverter.class,
            description = "what to run, separated by commas (default: see below)")
    private List<Workload> workloads = List.of();

    @Option(
            names = "--modes",
            paramLabel = "LIST",
            split = ",",
            converter = ModeConverter.class,
            description = "modes, the same for every workload (default: see below)")
    private List<Mode> modes = List.of();

    @Option(
            names = "--scale",
            paramLabel = "F",
            defaultValue = "1",
            description = "factor of all amounts of data (default: ${DEFAULT-VALUE})")
    private double scale;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            defaultValue = "600",
            description = "how long a single run may take (default: ${DEFAULT-VALUE})")
    private int timeoutS;

    @Option(
            names = "--java-options",
            paramLabel = "OPTIONS",
            defaultValue = "",
            description = "options for the executors' JVMs, such as those of a profiler")
    private String javaOptions;

    @Option(
            names = "--scratch",
            paramLabel = "DIR",
            description = "folder to make a folder for shuffle files in, which is removed at the end"
                    + " (default: tmpfs, or the build folder if tmpfs has less than 8 GB)")
    private Path scratchParent;

    @SuppressWarnings("UnusedVariable") // picocli acts on it.
    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "shows this text")
    private boolean help;

    @Option(names = "--out", hidden = true, required = true)
    private Path directory;

    @Spec
    private CommandSpec spec;

    private static final class WorkloadConverter implements ITypeConverter<Workload> {
        @Override
        public Workload convert(String value) {
            return byLabel(Workload.values(), value);
        }
    }

    private static final class ModeConverter implements ITypeConverter<Mode> {
        @Override
        public Mode convert(String value) {
            return byLabel(Mode.values(), value);
        }
    }

    private static <T> T byLabel(T[] values, String label) {
        return Arrays.stream(values)
                .filter(value -> value.toString().equals(label))
                .findFirst()
                .orElseThrow(() -> new CommandLine.TypeConversionException(
                        "there is no '" + label + "'; choose from " + Arrays.toString(values)));
    }

    /** @param arguments see {@code --help} */
    public static void main(String[] arguments) {
        System.exit(commandLine().execute(arguments));
    }

    static CommandLine commandLine() {
        CommandLine line = new CommandLine(new JobsCommand())
                .setExecutionExceptionHandler((failure, command, parsed) -> {
                    command.getErr().println("bin/bench: " + failure.getMessage());
                    return 1;
                });
        line.getCommandSpec()
                .usageMessage()
                .width(HELP_COLUMNS)
                .footer(
                        "",
                        "Workloads, in what modes each runs by default:",
                        Arrays.stream(Workload.values())
                                .map(workload -> String.format(
                                        Locale.ROOT,
                                        "  %-18s %s%s",
                                        workload,
                                        labels(workload.modes()),
                                        workload.isDefault() ? "" : " (only if named)"))
                                .collect(Collectors.joining("%n")),
                        "",
                        "Exit status: 0 if all was measured, 1 if not or if results differ, 2 if the run could not start.");
        return line;
    }

    private static String labels(Set<Mode> modes) {
        return modes.stream().map(Mode::label).collect(Collectors.joining(", "));
    }

    @Override
    public Integer call() throws IOException {
        require(runs >= 1, "--runs=" + runs, "give a count of 1 or more");
        require(warmups >= 0, "--warmups=" + warmups, "give a count of 0 or more");
        require(scale > 0 && scale <= 100, "--scale=" + scale, "give a factor above 0, such as 0.1");
        require(timeoutS >= 1, "--timeout=" + timeoutS, "give seconds, 1 or more");
        PrintWriter out = spec.commandLine().getOut();
        PrintWriter err = spec.commandLine().getErr();
        PrintWriter facts = json ? err : out;
        Machine.facts().forEach((name, value) -> facts.println(name + ": " + value));
        boolean[] equal = {true};
        try (Scratch scratch = scratch();
                Applications applications = new Applications(
                        directory.resolve("logs"),
                        scratch.folder(),
                        scale,
                        javaOptions,
                        Math.toIntExact(TimeUnit.SECONDS.toMillis(timeoutS)))) {
            facts.println("Spark's files: " + scratch);
            facts.flush();
            new JobsBench(applications, warmups, runs, message -> {
                        err.println(message);
                        err.flush();
                    })
                    .run(plan(), result -> {
                        (json ? JsonReport.lines(result) : TableReport.lines(result)).forEach(out::println);
                        out.flush();
                        if (!result.equalResults()) {
                            equal[0] = false;
                            err.println("bin/bench: results differ: workload=" + result.workload() + ", checksums: "
                                    + result.checksums());
                            err.flush();
                        }
                    });
        }
        return equal[0] ? 0 : 1;
    }

    private void require(boolean condition, String what, String remedy) {
        if (!condition) {
            throw new ParameterException(spec.commandLine(), what + "; " + remedy);
        }
    }

    private Map<Workload, List<Mode>> plan() {
        Map<Workload, List<Mode>> plan = new LinkedHashMap<>();
        for (Workload workload : Workload.values()) {
            if (workloads.isEmpty() ? workload.isDefault() : workloads.contains(workload)) {
                plan.put(workload, List.copyOf(modes.isEmpty() ? workload.modes() : EnumSet.copyOf(modes)));
            }
        }
        return plan;
    }

    private Scratch scratch() throws IOException {
        return scratchParent == null
                ? Scratch.open("jobs", SCRATCH_BYTES, directory)
                : Scratch.in(scratchParent, "jobs");
    }
}
