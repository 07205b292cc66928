package io.verbena.shuffle.metadata;

/**
 * Where one run of a map output lies in its owner's registered memory.
 *
 * @param address absolute address in the owner's address space
 * @param rkey what a reader puts in its request
 * @param length bytes of the whole run image: header, index and data
 */
public record RunLocation(long address, int rkey, long length) {}
