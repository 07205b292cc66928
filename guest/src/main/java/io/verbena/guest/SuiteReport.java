package io.verbena.guest;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.SAXException;

/**
 * Reads the XML reports that JUnit's console launcher and ScalaTest's runner write, of tests that ran in another JVM.
 *
 * @param results in the order of the report, by class
 */
public record SuiteReport(Map<String, List<Result>> results) {
    /** How a test ended. */
    public enum Outcome {
        PASSED,
        FAILED,
        SKIPPED
    }

    /** One test; the message is the failure's text with its stack, or the reason for the skip. */
    public record Result(String className, String name, Outcome outcome, String message) {}

    /** Reads all reports of a directory. */
    public static SuiteReport read(Path directory) throws IOException {
        Map<String, List<Result>> results = new TreeMap<>();
        List<Path> files;
        try (Stream<Path> list = Files.list(directory)) {
            files = list.filter(file -> file.getFileName().toString().matches("TEST-.*\\.xml"))
                    .sorted()
                    .toList();
        }
        for (Path file : files) {
            NodeList cases;
            try {
                cases = DocumentBuilderFactory.newInstance()
                        .newDocumentBuilder()
                        .parse(file.toFile())
                        .getElementsByTagName("testcase");
            } catch (SAXException | ParserConfigurationException e) {
                throw new IOException("unreadable report: file=" + file + "; did the JVM crash?", e);
            }
            for (int i = 0; i < cases.getLength(); i++) {
                Result result = result((Element) cases.item(i));
                results.computeIfAbsent(result.className(), name -> new ArrayList<>())
                        .add(result);
            }
        }
        return new SuiteReport(results);
    }

    private static Result result(Element test) {
        Outcome outcome = Outcome.PASSED;
        String message = "";
        for (String tag : new String[] {"failure", "error", "skipped"}) {
            NodeList found = test.getElementsByTagName(tag);
            if (found.getLength() > 0) {
                outcome = tag.equals("skipped") ? Outcome.SKIPPED : Outcome.FAILED;
                message = found.item(0).getTextContent().strip();
                break;
            }
        }
        return new Result(test.getAttribute("classname"), test.getAttribute("name"), outcome, message);
    }
}
