package io.verbena.shuffle.sort;

/**
 * Leaves out of words the leading bits of each byte that all of them share, so that more of what differs fits into fewer bits:
 * text has seven or fewer differing bits a byte, digits four. Two packed words compare, unsigned, as the words do.
 *
 * <p>Immutable.
 */
final class VaryingBits {
    private final int[] widths = new int[Long.BYTES];
    private final int count;

    /**
     * Creates the packing of some words.
     *
     * @param differing a bit for each in which two of the words differ
     */
    VaryingBits(long differing) {
        int sum = 0;
        for (int b = 0; b < Long.BYTES; b++) {
            long bits = (differing >>> (b * Byte.SIZE)) & 0xff;
            widths[b] = Long.SIZE - Long.numberOfLeadingZeros(bits);
            sum += widths[b];
        }
        count = sum;
    }

    /** Returns how many bits a packed word has. */
    int count() {
        return count;
    }

    long pack(long word) {
        long packed = 0;
        for (int b = Long.BYTES - 1; b >= 0; b--) {
            int width = widths[b];
            packed = (packed << width) | ((word >>> (b * Byte.SIZE)) & ((1L << width) - 1));
        }
        return packed;
    }
}
