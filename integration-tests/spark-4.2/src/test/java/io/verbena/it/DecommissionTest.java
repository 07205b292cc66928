package io.verbena.it;

/** From Spark 4.1 on our resolver of shuffle files, through which migrations go, has another superclass. */
class DecommissionTest extends DecommissionShapes {
    @Override
    boolean mapped() {
        return true;
    }
}
