package io.verbena.registration;

import io.verbena.memory.Segment;

/**
 * A registered segment. Immutable; valid until it is deregistered.
 *
 * @param segment the memory
 * @param lkey what local scatter/gather entries carry
 * @param rkey what a peer puts in its read request; unique among the live regions of a registrar
 */
public record MemoryRegion(Segment segment, int lkey, int rkey) {}
