import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.SAXException;

/**
 * Says what a test run did, from the XML reports of the modules' tests, and sets the exit status: 0 if all passed, else 1.
 *
 * <p>Arguments: {@code full}, {@code selected} or {@code quick}; Maven's exit status; the root directory. The last line is
 * {@code N passed, N failed, N skipped}. A build that failed with no failed test (a quality gate, a crashed JVM) counts as one
 * failure, and so does a module that has tests but no report after a full run. With the environment variable CI=true a
 * skipped test makes the exit status 1.
 */
public final class TestSummary {
    private static final class Module {
        int passed;
        int failed;
        int skipped;
        double seconds;
    }

    private final Map<String, Module> modules = new TreeMap<>();
    private final List<String> failures = new ArrayList<>();
    private final List<String> skips = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        String mode = args[0];
        int mavenStatus = Integer.parseInt(args[1]);
        Path root = Path.of(args[2]).toRealPath();
        boolean strict = "true".equals(System.getenv("CI"));
        System.exit(new TestSummary().run(root, mode, mavenStatus, strict));
    }

    private int run(Path root, String mode, int mavenStatus, boolean strict) throws Exception {
        boolean full = mode.equals("full");
        List<Path> reports = new ArrayList<>();
        List<Path> testDirectories = new ArrayList<>();
        try (Stream<Path> files = Files.walk(root)) {
            files.forEach(path -> {
                String name = path.getFileName().toString();
                if (name.startsWith("TEST-") && name.endsWith(".xml") && path.getParent().endsWith("surefire-reports")
                        || name.startsWith("TEST-") && name.endsWith(".xml") && path.getParent().endsWith("failsafe-reports")) {
                    reports.add(path);
                } else if (path.endsWith("src/test/java") && !path.toString().contains("/target/")) {
                    testDirectories.add(path);
                }
            });
        }
        reports.sort(null);
        for (Path report : reports) {
            read(report, root.relativize(report.getParent().getParent().getParent()).toString());
        }

        System.out.println("== tests");
        System.out.printf("%-20s %7s %7s %7s %9s%n", "module", "passed", "failed", "skipped", "time");
        int passed = 0;
        int failed = 0;
        int skipped = 0;
        for (Map.Entry<String, Module> entry : modules.entrySet()) {
            Module module = entry.getValue();
            System.out.printf(
                    Locale.ROOT,
                    "%-20s %7d %7d %7d %7.1f s%n",
                    entry.getKey(),
                    module.passed,
                    module.failed,
                    module.skipped,
                    module.seconds);
            passed += module.passed;
            failed += module.failed;
            skipped += module.skipped;
        }
        if (mavenStatus != 0 && failed == 0) {
            failures.add("build: Maven ended with exit status " + mavenStatus
                    + " and no failed test: a quality gate, the compiler or a crashed JVM; see Maven's [ERROR] lines above");
            failed++;
        }
        for (Path directory : testDirectories) {
            String name = root.relativize(directory.getParent().getParent().getParent()).toString();
            if (!modules.containsKey(name) && hasTests(directory)) {
                System.out.printf("%-20s no test ran%s%n", name, full ? "" : " (all tagged slow, or not selected)");
                if (full && mavenStatus == 0) {
                    failures.add(name + ": has tests, but none ran");
                    failed++;
                }
            }
        }
        if (mode.equals("quick")) {
            System.out.println("--quick left out the tests tagged \"slow\"");
        }
        print("skipped", skips);
        print("failed", failures);
        if (strict && skipped > 0) {
            System.out.println("CI=true: a skipped test fails the run");
        }
        System.out.println();
        System.out.println(passed + " passed, " + failed + " failed, " + skipped + " skipped");
        return failed > 0 || mavenStatus != 0 || passed == 0 || (strict && skipped > 0) ? 1 : 0;
    }

    private static void print(String title, List<String> lines) {
        if (!lines.isEmpty()) {
            System.out.println();
            System.out.println("== " + title);
            lines.forEach(System.out::println);
        }
    }

    private static boolean hasTests(Path directory) {
        try (Stream<Path> files = Files.walk(directory)) {
            return files.filter(path -> path.getFileName().toString().endsWith("Test.java")).anyMatch(path -> {
                try {
                    // Abstract contract suites do not run by themselves.
                    return !Files.readString(path, StandardCharsets.UTF_8).contains("abstract class ");
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void read(Path report, String moduleName) throws IOException, ParserConfigurationException {
        Module module = modules.computeIfAbsent(moduleName, name -> new Module());
        Element suite;
        try {
            suite = DocumentBuilderFactory.newInstance()
                    .newDocumentBuilder()
                    .parse(report.toFile())
                    .getDocumentElement();
        } catch (SAXException e) {
            // A JVM that died while it wrote the report.
            module.failed++;
            failures.add(moduleName + ": unreadable report " + report + ": " + e.getMessage());
            return;
        }
        NodeList cases = suite.getElementsByTagName("testcase");
        for (int i = 0; i < cases.getLength(); i++) {
            Element test = (Element) cases.item(i);
            String className = test.getAttribute("classname");
            String name = moduleName + ": " + className.substring(className.lastIndexOf('.') + 1) + "." + test.getAttribute("name");
            module.seconds += seconds(test.getAttribute("time"));
            Element failure = child(test, "failure");
            Element error = failure != null ? failure : child(test, "error");
            Element skip = child(test, "skipped");
            if (error != null) {
                module.failed++;
                failures.add(name + ": " + firstLine(error, "no message"));
            } else if (skip != null) {
                module.skipped++;
                skips.add(name + ": " + firstLine(skip, "no reason given"));
            } else {
                module.passed++;
            }
        }
    }

    private static Element child(Element parent, String tag) {
        NodeList list = parent.getElementsByTagName(tag);
        return list.getLength() == 0 ? null : (Element) list.item(0);
    }

    private static String firstLine(Element element, String fallback) {
        String message = element.getAttribute("message").strip();
        String text = message.isEmpty() ? element.getTextContent().strip() : message;
        return text.isEmpty() ? fallback : text.lines().limit(3).reduce((a, b) -> a + " " + b.strip()).orElse(fallback);
    }

    private static double seconds(String text) {
        try {
            return Double.parseDouble(text.replace(",", ""));
        } catch (NumberFormatException e) {
            return 0;
        }
    }
}
