package io.verbena.bench.verbs;

import io.verbena.guest.Guest;
import io.verbena.guest.GuestResult;
import io.verbena.guest.JavaCommand;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The command behind {@code bin/bench verbs}: boots the guest, measures inside, prints what came back. */
@Command(
        name = "bin/bench verbs",
        description =
                "Compares reads with those of perftest's ib_read_bw, on software RDMA devices in a virtual machine.",
        exitCodeOnExecutionException = 1,
        exitCodeOnInvalidInput = 2)
public final class BenchCommand implements Callable<Integer> {
    /** For 1 GiB in huge pages, and a little more. */
    private static final String HUGE_PAGES =
            "echo 576 >/proc/sys/vm/nr_hugepages; mkdir /run/huge && mount -t hugetlbfs huge /run/huge || exit 125\n";

    @Mixin
    private Measurements measurements;

    @Option(names = "--json", description = "one JSON object per line on standard output, and nothing else there")
    private boolean json;

    @Option(names = "--out", hidden = true, required = true, description = "where the guest leaves its output")
    private Path directory;

    @Spec
    private CommandSpec spec;

    /** @param arguments see {@code --help} */
    public static void main(String[] arguments) {
        System.exit(new CommandLine(new BenchCommand())
                .setExecutionExceptionHandler((failure, line, parsed) -> {
                    line.getErr().println("bin/bench: " + failure.getMessage());
                    return 1;
                })
                .execute(arguments));
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        PrintWriter out = spec.commandLine().getOut();
        PrintWriter err = spec.commandLine().getErr();
        err.println("measuring in the guest; single measurements: " + directory.resolve("stderr"));
        err.flush();
        GuestResult run = new Guest(directory)
                .limit(measurements.limit())
                .run(HUGE_PAGES
                        + new JavaCommand(
                                        List.of(
                                                "-Xmx512m",
                                                "-XX:CompileThresholdScaling=1",
                                                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"),
                                        GuestMain.class.getName(),
                                        measurements.arguments())
                                .script());
        List<Result> results = run.output().lines().map(Result::parse).toList();
        if (!json) {
            out.println(Result.header());
        }
        results.forEach(result -> out.println(json ? result.json() : result.row()));
        out.flush();
        if (run.exitStatus() != 0) {
            throw new IOException("the benchmark failed: exitStatus=" + run.exitStatus() + run.tails());
        }
        return 0;
    }
}
