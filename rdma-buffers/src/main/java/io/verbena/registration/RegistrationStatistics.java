package io.verbena.registration;

/**
 * What a registrar did so far: {@code registrations = deregistrations + liveRegions}.
 *
 * @param registrations regions ever registered
 * @param deregistrations regions ever deregistered
 * @param liveRegions regions registered now
 * @param registeredBytes bytes in live regions
 * @param registrationTimeNs time spent registering, in nanoseconds, summed over threads
 * @param batches calls that registered at least one region
 */
public record RegistrationStatistics(
        long registrations,
        long deregistrations,
        long liveRegions,
        long registeredBytes,
        long registrationTimeNs,
        long batches) {}
