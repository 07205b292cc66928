import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/**
 * The table of README.md that says on which Spark, Scala and Java what was tested. It is made from the XML reports of the tests that
 * ran, and from docs/compatibility.tsv, which has the runs on other lines of Spark that are too long for every build.
 *
 * <ul>
 *   <li>{@code check ROOT}, after a full run: exit status 1 if README.md does not have exactly that table;
 *   <li>{@code write ROOT}, after a full run: puts the table into README.md;
 *   <li>{@code record ROOT LINE JAVA}, after a run on another line, such as spark-4.2 on Java 25: adds it to docs/compatibility.tsv,
 *       with today's date, if all passed.
 * </ul>
 */
public final class Compatibility {
    private static final String BEGIN = "<!-- compatibility:begin -->\n";
    private static final String END = "<!-- compatibility:end -->";
    private static final String MODULES = "integration-tests";
    private static final String SUITES = "spark-suites";
    private static final Path RECORDED = Path.of("docs", "compatibility.tsv");

    /** Folders of modules below that of the integration tests, and what their tests are called in the table. */
    private static final Map<String, String> COLUMNS = new LinkedHashMap<>();

    static {
        COLUMNS.put("link", "Links");
        COLUMNS.put("jobs", "Submitted jobs");
        COLUMNS.put("", "Integration tests");
        COLUMNS.put(SUITES, "Spark's own suites");
        COLUMNS.put("containers", "Containers");
        COLUMNS.put("yarn", "YARN");
        COLUMNS.put("kubernetes", "Kubernetes templates");
        COLUMNS.put("table-formats", "Delta Lake, Iceberg");
    }

    /** Names of tests that run on a line of their own: those of integration-tests/lines. */
    private static final Pattern LINE_TEST = Pattern.compile("Spark (\\S+), Scala ([0-9.]+)(?:, JDK (\\d+))?");

    private static final int OLDEST_JAVA = 17;

    private record Platform(String spark, String scala, int java) implements Comparable<Platform> {
        @Override
        public int compareTo(Platform other) {
            return Comparator.comparing(Platform::spark)
                    .thenComparing(Platform::scala)
                    .thenComparing(Platform::java)
                    .compare(this, other);
        }
    }

    private static final class Counts {
        int passed;
        int others;
    }

    private final Map<Platform, Map<String, String>> cells = new TreeMap<>();

    public static void main(String[] args) throws Exception {
        Path root = Path.of(args[1]);
        if (args[0].equals("record")) {
            record(root, platform(args[2], Integer.parseInt(args[3])));
            return;
        }
        Compatibility table = new Compatibility();
        for (String line : recorded(root)) {
            String[] columns = line.split("\t", -1);
            table.put(
                    new Platform(columns[0], columns[1], Integer.parseInt(columns[2])), columns[3], columns[4] + ", " + columns[5]);
        }
        table.addThisRun(root);
        Path readme = root.resolve("README.md");
        String text = Files.readString(readme);
        if (!text.contains(BEGIN) || !text.contains(END)) {
            throw new IllegalStateException(readme + " does not have the lines " + BEGIN.strip() + " and " + END);
        }
        int begin = text.indexOf(BEGIN) + BEGIN.length();
        int end = text.indexOf(END);
        String expected = text.substring(0, begin) + table.markdown() + text.substring(end);
        if (args[0].equals("write")) {
            Files.writeString(readme, expected);
        } else if (!expected.equals(text)) {
            System.out.println("README.md's compatibility table is not what this run and " + RECORDED + " give, which is");
            System.out.println(table.markdown());
            System.out.println("if that is right: java build/Compatibility.java write .");
            System.exit(1);
        }
    }

    private static void record(Path root, Platform platform) throws Exception {
        Map<String, String> lines = new TreeMap<>();
        recorded(root).forEach(line -> lines.put(line.replaceFirst("\t[^\t]*\t[^\t]*$", ""), line));
        for (String column : List.of("", SUITES)) {
            Counts counts = new Counts();
            tests(root, column).forEach(test -> count(test, counts));
            if (counts.passed == 0 && counts.others == 0) {
                continue;
            }
            if (counts.others > 0) {
                throw new IllegalStateException(counts.others + " tests of " + MODULES + "/" + column + " did not pass");
            }
            String key = String.join("\t", platform.spark(), platform.scala(), Integer.toString(platform.java()), column);
            String text = column.equals(SUITES) ? suites(root) : counts.passed + " passed";
            lines.put(key, String.join("\t", key, text, LocalDate.now(ZoneOffset.UTC).toString()));
        }
        Files.write(root.resolve(RECORDED), lines.values());
    }

    private void addThisRun(Path root) throws Exception {
        Platform usual = platform("spark-" + property(root, "spark.run.version").replaceFirst("\\.\\d+$", "")
                + "-" + property(root, "spark.run.scala"), Runtime.version().feature());
        for (String column : COLUMNS.keySet()) {
            Counts counts = new Counts();
            tests(root, column).forEach(test -> count(test, counts));
            if (counts.passed > 0 && counts.others == 0) {
                put(usual, column, "every build");
            }
        }
        Map<Platform, Map<String, Counts>> lines = new TreeMap<>();
        for (Element test : tests(root, "lines/tests")) {
            Matcher name = LINE_TEST.matcher(test.getAttribute("name"));
            if (name.find()) {
                int java = name.group(3) == null ? OLDEST_JAVA : Integer.parseInt(name.group(3));
                String column = test.getAttribute("classname").endsWith("LinkTest") ? "link" : "jobs";
                Map<String, Counts> row =
                        lines.computeIfAbsent(new Platform(name.group(1), name.group(2), java), missing -> new TreeMap<>());
                count(test, row.computeIfAbsent(column, missing -> new Counts()));
            }
        }
        lines.forEach((platform, row) -> row.forEach((column, counts) -> {
            if (counts.others == 0) {
                put(platform, column, "every build");
            }
        }));
    }

    private void put(Platform platform, String column, String text) {
        cells.computeIfAbsent(platform, missing -> new LinkedHashMap<>()).put(column, text);
    }

    private String markdown() {
        StringBuilder text = new StringBuilder("| Spark | Scala | Java |");
        COLUMNS.values().forEach(title -> text.append(' ').append(title).append(" |"));
        text.append('\n').append("|---".repeat(3 + COLUMNS.size())).append("|\n");
        cells.forEach((platform, row) -> {
            text.append("| " + platform.spark() + " | " + platform.scala() + " | " + platform.java() + " |");
            COLUMNS.keySet().forEach(column -> text.append(' ').append(row.getOrDefault(column, "")).append(" |"));
            text.append('\n');
        });
        return text.toString();
    }

    /** What the last line of the suites' summary says: run, passed, expected to fail, failed, ... */
    private static String suites(Path root) throws IOException {
        Path summary = root.resolve(MODULES).resolve(SUITES).resolve("target/spark-suites/summary.txt");
        Matcher totals = Pattern.compile("all +(\\d+) +(\\d+) +(\\d+) .*").matcher(
                Files.readAllLines(summary).stream().reduce("", (a, b) -> b));
        if (!totals.matches()) {
            throw new IllegalStateException("the last line of " + summary + " has no totals");
        }
        return totals.group(2) + " of " + totals.group(1) + " passed, " + totals.group(3) + " fail as listed";
    }

    /** @param line the id of a profile, such as spark-3.5-2.12 or spark-4.2 */
    private static Platform platform(String line, int java) {
        String[] parts = line.split("-", -1);
        return new Platform(parts[1], parts.length > 2 ? parts[2] : "2.13", java);
    }

    private static String property(Path root, String name) throws IOException {
        Matcher value = Pattern.compile("<" + Pattern.quote(name) + ">([^<]+)<").matcher(Files.readString(root.resolve("pom.xml")));
        if (!value.find()) {
            throw new IllegalStateException("pom.xml has no property " + name);
        }
        return value.group(1);
    }

    private static List<String> recorded(Path root) throws IOException {
        Path file = root.resolve(RECORDED);
        return Files.exists(file) ? Files.readAllLines(file) : List.of();
    }

    /** The test cases that the module's reports have, none if it has no reports. */
    private static List<Element> tests(Path root, String module) throws Exception {
        Path reports = root.resolve(MODULES).resolve(module).resolve("target/surefire-reports");
        if (!Files.isDirectory(reports)) {
            return List.of();
        }
        List<Path> files;
        try (Stream<Path> all = Files.list(reports)) {
            files = all.filter(file -> file.getFileName().toString().matches("TEST-.*\\.xml"))
                    .sorted()
                    .toList();
        }
        List<Element> tests = new ArrayList<>();
        for (Path file : files) {
            NodeList cases = DocumentBuilderFactory.newInstance()
                    .newDocumentBuilder()
                    .parse(file.toFile())
                    .getElementsByTagName("testcase");
            for (int i = 0; i < cases.getLength(); i++) {
                tests.add((Element) cases.item(i));
            }
        }
        return tests;
    }

    private static void count(Element test, Counts counts) {
        boolean passed = Stream.of("failure", "error", "skipped")
                .allMatch(tag -> test.getElementsByTagName(tag).getLength() == 0);
        if (passed) {
            counts.passed++;
        } else {
            counts.others++;
        }
    }
}
