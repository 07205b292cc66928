package io.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** What the natives can do on any host; run again with sanitizers. */
@Tag("natives")
class HostNativesTest {
    @TestFactory
    List<DynamicTest> memory() throws Exception {
        return TestLibrary.tests(TestLibrary.open(), "MemoryNatives");
    }

    @TestFactory
    List<DynamicTest> waiting() throws Exception {
        return TestLibrary.tests(TestLibrary.open(), "WaitingNatives");
    }

    @Test
    void shouldDescribeWhatWasLoaded() throws Exception {
        assertThat(TestLibrary.open().description()).matches("libdisni=bundled, build=[0-9a-f]{16}");
    }
}
