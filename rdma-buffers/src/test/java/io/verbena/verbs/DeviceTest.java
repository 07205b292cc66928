package io.verbena.verbs;

import java.util.List;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;

/** The natives on a real verbs stack; run inside the Soft-RoCE guest, or on a host with a device by naming the group. */
@Tag("guest")
class DeviceTest {
    @TestFactory
    List<DynamicTest> disni() throws Exception {
        return TestLibrary.tests(TestLibrary.open(), "DisniReads");
    }

    @TestFactory
    List<DynamicTest> connections() throws Exception {
        return TestLibrary.tests(TestLibrary.open(), "ConnectionsOnDevice");
    }
}
