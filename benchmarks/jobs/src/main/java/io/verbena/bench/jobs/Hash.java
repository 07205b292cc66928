package io.verbena.bench.jobs;

/** Numbers that look random and are the same in every run. */
final class Hash {
    private Hash() {}

    /** The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection. */
    static long mix(long value) {
        long z = value;
        z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
        z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
        return z ^ (z >>> 31);
    }
}
