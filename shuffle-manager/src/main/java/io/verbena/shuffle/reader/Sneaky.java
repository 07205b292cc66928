package io.verbena.shuffle.reader;

/** Throws what Scala's unchecked world expects (FetchFailedException, InterruptedException) from methods that cannot declare it. */
final class Sneaky {
    private Sneaky() {}

    /** Never returns; declared to return so that callers can write {@code throw Sneaky.raise(e)}. */
    static RuntimeException raise(Throwable e) {
        return Sneaky.<RuntimeException>cast(e);
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <T extends Throwable> RuntimeException cast(Throwable e) throws T {
        throw (T) e;
    }
}
