package io.verbena.bench.micro;

/** What a benchmark must have done to be worth a figure. */
final class Checks {
    private Checks() {}

    static void require(String what, long got, long expected) {
        if (got != expected) {
            throw new IllegalStateException(what + " is wrong: got=" + got + ", expected=" + expected);
        }
    }

    static void require(String what, String got, String expected) {
        if (!got.equals(expected)) {
            throw new IllegalStateException(what + " is wrong: got=" + got + ", expected=" + expected);
        }
    }
}
