package io.verbena.guest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.guest.SuiteReport.Outcome;
import io.verbena.guest.SuiteReport.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SuiteReportTest {
    @TempDir
    private Path directory;

    @Test
    void shouldTellHowEachTestEnded() throws Exception {
        Files.writeString(directory.resolve("TEST-junit-jupiter.xml"), """
                <testsuite name="JUnit Jupiter" tests="4">
                <testcase name="good()" classname="a.OneTest" time="0.1"><system-out>x</system-out></testcase>
                <testcase name="bad()" classname="a.OneTest"><failure message="m" type="t">expected: 1</failure></testcase>
                <testcase name="broken()" classname="a.TwoTest"><error>no device</error></testcase>
                <testcase name="absent()" classname="a.TwoTest"><skipped>not root</skipped></testcase>
                </testsuite>
                """);
        Files.writeString(directory.resolve("TEST-junit-vintage.xml"), "<testsuite tests=\"0\"/>");
        assertThat(SuiteReport.read(directory).results())
                .isEqualTo(Map.of(
                        "a.OneTest",
                        List.of(
                                new Result("a.OneTest", "good()", Outcome.PASSED, ""),
                                new Result("a.OneTest", "bad()", Outcome.FAILED, "expected: 1")),
                        "a.TwoTest",
                        List.of(
                                new Result("a.TwoTest", "broken()", Outcome.FAILED, "no device"),
                                new Result("a.TwoTest", "absent()", Outcome.SKIPPED, "not root"))));
    }

    @Test
    void shouldRefuseAReportThatWasCutOff() throws Exception {
        Files.writeString(directory.resolve("TEST-junit-jupiter.xml"), "<testsuite><testcase name=");
        assertThatThrownBy(() -> SuiteReport.read(directory))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("TEST-junit-jupiter.xml");
    }
}
