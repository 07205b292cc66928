package io.verbena.it;

import org.junit.jupiter.api.Tag;

/**
 * From Spark 4.1 on our resolver of shuffle files, through which migrations go, has another superclass. Executors fetch from each
 * other: readers of an executor that has gone find its map outputs elsewhere.
 */
@Tag("slow")
class DecommissionTest extends DecommissionShapes {
    @Override
    boolean mapped() {
        return false;
    }
}
