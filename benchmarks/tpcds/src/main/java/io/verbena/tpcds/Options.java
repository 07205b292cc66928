package io.verbena.tpcds;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** What to compare and how. Immutable after {@link #parse}. */
@Command(
        name = "bin/quickstart",
        mixinStandardHelpOptions = false,
        sortOptions = false,
        usageHelpAutoWidth = true,
        description = {
            "Runs TPC-DS queries under Spark's sort shuffle and under Verbena's, in turns, compares the results row by row,"
                    + " and writes an HTML page with the figures.",
            ""
        },
        footer = {
            "",
            "Exit status: 0 all results equal, 1 a result differs or a query failed, 2 bad usage.",
            "Example: bin/quickstart --scale 1 --queries q4,q64,q78 --repeat 3 --conf spark.sql.shuffle.partitions=64"
        })
public final class Options {
    /** The class name for spark.shuffle.manager. */
    static final String OUR_MANAGER = "org.apache.spark.shuffle.rdma.RdmaShuffleManager";

    /** Queries over the large fact tables that shuffle 5 to 30 MB each at scale 0.1; all but q64 return rows there. */
    static final List<String> DEFAULT_QUERIES = List.of("q17", "q23a", "q29", "q51", "q64", "q67", "q74", "q97");

    /** Whether Spark may change plans while a query runs. */
    enum Aqe {
        ON,
        OFF,
        BOTH
    }

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--scale",
            paramLabel = "GB",
            defaultValue = "0.1",
            description = "Scale factor: GB of raw data, fractions allowed. Default: ${DEFAULT-VALUE}")
    private double scale;

    @Option(
            names = "--queries",
            paramLabel = "LIST",
            split = ",",
            description = "Comma-separated query names (q1 ... q99; 14, 23, 24 and 39 have variants a and b), or all."
                    + " Default: eight that shuffle much")
    private List<String> queryNames = List.of();

    @Option(
            names = "--master",
            paramLabel = "URL",
            defaultValue = "local-cluster[2,1,2048]",
            description =
                    "Spark master of each side. Default: ${DEFAULT-VALUE} (2 executors, 1 core and 2048 MiB each)")
    private String master;

    @Option(
            names = "--out",
            paramLabel = "DIR",
            defaultValue = "quickstart-out",
            description = "Gets report.html, logs, differing rows, and the data unless --data is given."
                    + " Default: ${DEFAULT-VALUE}")
    private Path out;

    @Option(
            names = "--data",
            paramLabel = "PATH",
            description = "Folder for the generated tables, any Hadoop path. Reused when it holds the scale."
                    + " Default: DIR/data")
    private String data;

    @Option(
            names = "--repeat",
            paramLabel = "N",
            defaultValue = "2",
            description = "Timed runs per query and side; the table shows medians. Default: ${DEFAULT-VALUE}")
    private int repeat;

    @Option(
            names = "--aqe",
            paramLabel = "on|off|both",
            defaultValue = "on",
            description = "Adaptive query execution. Default: ${DEFAULT-VALUE}")
    private Aqe aqe;

    @Option(names = "--conf", paramLabel = "KEY=VALUE", description = "A Spark setting for both sides. Repeatable")
    private Map<String, String> sharedConfs = new LinkedHashMap<>();

    @Option(
            names = "--conf-ours",
            paramLabel = "KEY=VALUE",
            description = "A Spark setting for Verbena's side only. Repeatable")
    private Map<String, String> ourConfs = new LinkedHashMap<>();

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            defaultValue = "900",
            description = "How long one query may run before it counts as failed. Default: ${DEFAULT-VALUE}")
    private int timeoutS;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Shows this text")
    private boolean help;

    @Option(names = "--manager-ours", hidden = true, defaultValue = OUR_MANAGER)
    private String ourManager;

    /** Both sides at the same time: sooner done, but the timings then mean nothing. */
    @Option(names = "--concurrent", hidden = true)
    private boolean concurrent;

    Options() {}

    /** @return a parser whose command is a fresh {@code Options} */
    static CommandLine commandLine() {
        return new CommandLine(new Options()).setCaseInsensitiveEnumValuesAllowed(true);
    }

    /**
     * Reads options as given on the command line, see {@code --help}.
     *
     * @throws IllegalArgumentException for a value that cannot be used; the message names it and what to give instead
     */
    public static Options parse(String... args) {
        CommandLine line = commandLine();
        try {
            line.parseArgs(args);
            return checked(line);
        } catch (ParameterException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
    }

    /**
     * All queries, with and without adaptive execution, at the smallest scale, in a way that costs as little as possible: for tests
     * that compare results and measure nothing. Both sides run at once, in JVMs without the optimising compiler, which would be half
     * of the CPU time of such short queries.
     *
     * @param out folder for logs, rows and data
     * @param more further options, which take precedence
     * @throws IllegalArgumentException as {@link #parse} says
     */
    public static Options forCorrectness(Path out, String... more) {
        List<String> arguments = new ArrayList<>(List.of(
                "--out=" + out,
                "--conf=spark.sql.shuffle.partitions=4",
                "--conf=spark.sql.files.openCostInBytes=0",
                "--conf=spark.sql.files.maxPartitionBytes=8m",
                "--conf=spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1",
                "--conf=spark.executor.extraJavaOptions=-XX:TieredStopAtLevel=1",
                "--concurrent"));
        Collections.addAll(arguments, more);
        for (String[] option :
                new String[][] {{"--scale", "0.01"}, {"--queries", "all"}, {"--aqe", "both"}, {"--repeat", "1"}}) {
            if (Arrays.stream(more).noneMatch(argument -> argument.split("=", 2)[0].equals(option[0]))) {
                arguments.addAll(List.of(option));
            }
        }
        return parse(arguments.toArray(new String[0]));
    }

    /** @throws ParameterException as {@link #parse} says */
    static Options checked(CommandLine parsed) {
        Options options = parsed.getCommand();
        options.check();
        return options;
    }

    private void check() {
        require(scale > 0 && scale <= 100_000, "--scale=" + scale, "give the GB of raw data, above 0, such as 0.1");
        require(repeat >= 1, "--repeat=" + repeat, "give a count of 1 or more");
        require(timeoutS >= 1, "--timeout=" + timeoutS, "give seconds, 1 or more");
        require(!master.isBlank(), "--master is empty", "give a Spark master such as local-cluster[2,1,2048]");
        for (String query : queryNames) {
            require(
                    query.equals("all") || Queries.all().contains(query),
                    "--queries: no query '" + query + "'",
                    "give names such as q1,q14a,q99, or all");
        }
        Set<String> keys = new LinkedHashSet<>(sharedConfs.keySet());
        keys.addAll(ourConfs.keySet());
        for (String key : keys) {
            require(
                    key.startsWith("spark."),
                    "--conf: not a Spark setting: " + key,
                    "give keys that start with spark.");
            require(
                    !key.equals(SparkSettings.MANAGER) && !key.equals("spark.sql.adaptive.enabled"),
                    "--conf: " + key + " is set by the comparison itself",
                    "leave it out; use --aqe for adaptive execution");
        }
    }

    private void require(boolean condition, String what, String remedy) {
        if (!condition) {
            throw new ParameterException(spec.commandLine(), what + "; " + remedy);
        }
    }

    boolean helpRequested() {
        return help;
    }

    double scale() {
        return scale;
    }

    /** @return the names to run, each once, in the order given */
    List<String> queries() {
        if (queryNames.isEmpty()) {
            return DEFAULT_QUERIES;
        }
        if (queryNames.contains("all")) {
            return Queries.all();
        }
        return new ArrayList<>(new LinkedHashSet<>(queryNames));
    }

    String master() {
        return master;
    }

    Path out() {
        return out;
    }

    /** @return a Hadoop path that is used for this scale only */
    String dataDir() {
        String base =
                data == null ? out.resolve("data").toAbsolutePath().toUri().toString() : data;
        return base.replaceAll("/+$", "") + "/sf" + scale;
    }

    int repeat() {
        return repeat;
    }

    /** @return the values of spark.sql.adaptive.enabled to run with */
    List<Boolean> adaptiveModes() {
        return switch (aqe) {
            case ON -> List.of(true);
            case OFF -> List.of(false);
            case BOTH -> List.of(true, false);
        };
    }

    Map<String, String> sharedConfs() {
        return sharedConfs;
    }

    Map<String, String> ourConfs() {
        return ourConfs;
    }

    boolean concurrent() {
        return concurrent;
    }

    int timeoutS() {
        return timeoutS;
    }

    String ourManager() {
        return ourManager;
    }
}
