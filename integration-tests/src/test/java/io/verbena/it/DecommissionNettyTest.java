package io.verbena.it;

import org.junit.jupiter.api.Tag;

/** Executors fetch from each other: readers of an executor that has gone find its map outputs elsewhere. */
@Tag("slow")
class DecommissionNettyTest extends DecommissionShapes {
    @Override
    boolean mapped() {
        return false;
    }
}
