package io.verbena.arena;

/**
 * A consistent snapshot: {@code leasedBytes + quarantinedBytes <= committedBytes <= budgetBytes}; the rest of the committed
 * bytes is free.
 *
 * @param budgetBytes the bound
 * @param committedBytes bytes in segments held
 * @param leasedBytes bytes held by leases, rounded up to the granularity of 64
 * @param peakLeasedBytes highest leasedBytes so far
 * @param quarantinedBytes bytes of retired buffers that may still be read
 * @param leases live leases, without the quarantined
 * @param segments segments held
 * @param refusals calls of tryAcquire that returned null
 * @param growths batches of segments added
 */
public record ArenaStatistics(
        long budgetBytes,
        long committedBytes,
        long leasedBytes,
        long peakLeasedBytes,
        long quarantinedBytes,
        int leases,
        int segments,
        long refusals,
        long growths) {}
