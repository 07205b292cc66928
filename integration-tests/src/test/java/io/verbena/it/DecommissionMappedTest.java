package io.verbena.it;

import org.junit.jupiter.api.Tag;

/** Executors map each other's memory and read map outputs that moved as files of their new owner. */
@Tag("slow")
class DecommissionMappedTest extends DecommissionShapes {
    @Override
    boolean mapped() {
        return true;
    }
}
