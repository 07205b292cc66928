package io.verbena.tpcds;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** The command behind {@code bin/quickstart}: progress and a table on the console, a page in the output folder. */
public final class Quickstart {
    private static final int EXIT_EQUAL = 0;
    private static final int EXIT_DIFFERENT = 1;
    private static final int EXIT_USAGE = 2;

    private Quickstart() {}

    /** @param args see {@code --help} */
    public static void main(String[] args) {
        System.exit(run(args));
    }

    static int run(String... args) {
        CommandLine line = Options.commandLine();
        PrintWriter err = line.getErr();
        Options options;
        try {
            line.parseArgs(args);
            options = Options.checked(line);
        } catch (ParameterException e) {
            err.println("bin/quickstart: " + e.getMessage());
            err.println("See bin/quickstart --help.");
            err.flush();
            return EXIT_USAGE;
        }
        if (options.helpRequested()) {
            line.usage(line.getOut());
            return EXIT_EQUAL;
        }
        try {
            return compare(options, line.getOut());
        } catch (IOException e) {
            err.println("bin/quickstart: " + e.getMessage());
            err.flush();
            return EXIT_DIFFERENT;
        }
    }

    private static int compare(Options options, PrintWriter out) throws IOException {
        long start = System.nanoTime();
        Environment environment = Environment.detect(options);
        ConsoleTable table = new ConsoleTable(
                out, options.queries().size() * options.adaptiveModes().size());
        List<QueryComparison> results = new ComparisonRun(options, table).run();
        long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start);
        Path page = options.out().resolve("report.html");
        Summary summary = new Summary(results);
        Files.writeString(page, new HtmlReport(environment, summary, seconds).render());
        table.summary(summary);
        out.println("Page: " + page.toAbsolutePath() + " (" + seconds + " s in all)");
        out.flush();
        return summary.allPassed() ? EXIT_EQUAL : EXIT_DIFFERENT;
    }
}
