package io.verbena.bench.verbs;

import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** What runs inside the guest: results as JSON on standard output, single measurements on standard error. */
@Command(name = "verbs-bench")
public final class GuestMain implements Callable<Integer> {
    @Mixin
    private Measurements measurements;

    @Spec
    private CommandSpec spec;

    /** @param arguments those of {@link Measurements} */
    public static void main(String[] arguments) {
        System.exit(new CommandLine(new GuestMain()).execute(arguments));
    }

    @Override
    public Integer call() throws Exception {
        CommandLine line = spec.commandLine();
        VerbsBench bench = new VerbsBench(
                measurements.pairs(), Duration.ofSeconds(measurements.seconds()), line.getErr(), result -> {
                    line.getOut().println(result.json());
                    line.getOut().flush();
                });
        // The control: how far apart two equal programs are found to be.
        bench.compareReads("perftestVsPerftest", new Perftest(), new Perftest());
        return 0;
    }
}
