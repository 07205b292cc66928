package io.verbena.registration;

import java.util.Locale;

/**
 * What it costs to register touched memory and to deregister it: {@code fixedNs + pageNs * pages}, and what it saves: the copies
 * of a transfer over sockets. Measured, not assumed: the ratio differs by orders of magnitude between drivers. Immutable.
 *
 * @param fixedNs of each registration, in nanoseconds
 * @param pageNs of each page of {@link #PAGE_BYTES}, in nanoseconds
 * @param copyNs to copy one such page once, in nanoseconds
 */
public record RegistrationCost(double fixedNs, double pageNs, double copyNs) {
    /** Of a device that could not be measured: never cheaper than copying. */
    public static final RegistrationCost UNKNOWN = new RegistrationCost(0, 1, 0);

    /** The unit of the model; not necessarily the page size of the system. */
    public static final int PAGE_BYTES = 4096;

    /** From the page cache into a socket, out of a socket, and to where it is decoded. */
    private static final int COPIES_SAVED = 3;

    /**
     * Draws the line through two measurements.
     *
     * @param smallNs time for {@code smallPages}, the best of several
     * @param largeNs time for {@code largePages}, the best of several
     * @param copyNs time to copy {@code largePages} once
     */
    public static RegistrationCost through(int smallPages, long smallNs, int largePages, long largeNs, long copyNs) {
        if (smallPages < 1 || largePages <= smallPages) {
            throw new IllegalArgumentException("smallPages=" + smallPages + ", largePages=" + largePages);
        }
        // Noise must not make memory cheaper the more there is.
        double pageNs = Math.max(0, (double) (largeNs - smallNs) / (largePages - smallPages));
        double fixedNs = Math.max(0, smallNs - pageNs * smallPages);
        return new RegistrationCost(fixedNs, pageNs, (double) copyNs / largePages);
    }

    /** Returns the cost of registering with both of two devices. */
    public RegistrationCost and(RegistrationCost other) {
        return new RegistrationCost(fixedNs + other.fixedNs, pageNs + other.pageNs, Math.max(copyNs, other.copyNs));
    }

    /** Returns the cost of a registration and its deregistration in nanoseconds. */
    public long costNs(long bytes) {
        long pages = (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
        return Math.round(fixedNs + pageNs * pages);
    }

    /**
     * Returns from how many bytes on a registration costs less than the copies it saves.
     *
     * @return {@link Long#MAX_VALUE} if a page costs more to register than to copy
     */
    public long breakEvenBytes() {
        double savedNs = COPIES_SAVED * copyNs - pageNs;
        return savedNs <= 0 ? Long.MAX_VALUE : (long) Math.ceil(Math.max(1, fixedNs / savedNs)) * PAGE_BYTES;
    }

    @Override
    public String toString() {
        long breakEven = breakEvenBytes();
        return String.format(
                Locale.ROOT,
                "%.1f us + %.3f us a page, copyUs=%.3f a page, breakEvenBytes=%s",
                fixedNs / 1000,
                pageNs / 1000,
                copyNs / 1000,
                breakEven == Long.MAX_VALUE ? "never" : breakEven);
    }
}
