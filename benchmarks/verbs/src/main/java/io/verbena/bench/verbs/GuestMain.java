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
    private static final long REGISTERED_BYTES = 1L << 30;

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
        try (TransportReader ours = new TransportReader()) {
            bench.compareReads("readVsPerftest", ours, new Perftest());
        }
        if (measurements.control()) {
            bench.compareReads("perftestVsPerftest", new Perftest(), new Perftest());
        }
        for (String kind : new String[] {"hugetlbfs", "shm"}) {
            try (DeviceRegistrar registrar = new DeviceRegistrar(REGISTERED_BYTES, kind)) {
                bench.compareRegistrations("registrationByBlock_" + kind, registrar);
            }
        }
        return 0;
    }
}
