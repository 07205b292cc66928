package io.verbena.shuffle.sort;

import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;
import org.apache.spark.unsafe.array.LongArray;
import org.apache.spark.unsafe.memory.MemoryBlock;
import org.apache.spark.util.collection.unsafe.sort.RadixSort;
import scala.Tuple2;

/**
 * Sorts records by key. An ordering is opaque, a user's as well as Spark's, but most follow the natural order of the keys' class or
 * its reverse. So that is guessed from a few pairs, the records are sorted by key prefix in that order, and then the real ordering
 * is asked about every pair of neighbours: n comparisons instead of n log n. Whatever it does not confirm is sorted by comparison.
 *
 * <p>Records with equal keys stay in the order they came in, unless keys are equal that differ in class order (such as strings
 * whose case is ignored).
 *
 * <p>Threads: immutable.
 */
final class RecordSort {
    /** Heap that a sort takes per record beside the records, in bytes: two words for the radix sort, and two references. */
    static final int BYTES_PER_RECORD = 2 * Long.BYTES + 2 * Long.BYTES;

    /** Fewer records are sorted by comparison: the tables of the radix sort alone take 16 KiB. */
    static final int LEAST_FOR_PREFIX = 256;

    private static final int SAMPLED_PAIRS = 64;

    /** How often ties are sorted again by prefix: enough for keys that share much, and no deeper for those that differ late. */
    private static final int MAX_DEPTH = 8;

    /** Keys that fit into the first cache level, with their records. */
    private static final int TOUCHED_AT_ONCE = 128;

    private final Comparator<Object> keys;
    private final Comparator<Object> records;

    /** Creates the sort of records by an ordering of their keys. */
    RecordSort(Comparator<Object> keys) {
        this.keys = keys;
        this.records = (a, b) -> keys.compare(key(a), key(b));
    }

    private static Object key(Object record) {
        return ((Tuple2<?, ?>) record)._1();
    }

    /**
     * Sorts the first {@code count} elements, which are {@link Tuple2}.
     *
     * @return another array if they could be sorted by prefix, else the same
     */
    Object[] sort(Object[] unsorted, int count) {
        Object[] sorted = count < LEAST_FOR_PREFIX ? null : byPrefix(unsorted, count);
        if (sorted == null) {
            Arrays.sort(unsorted, 0, count, records);
            return unsorted;
        }
        return sorted;
    }

    /** Returns sorted records, {@code null} if the guess is wrong or there is none to make. The argument is left as it is. */
    private Object[] byPrefix(Object[] unsorted, int count) {
        KeyPrefix prefix = KeyPrefix.of(key(unsorted[0]));
        if (prefix == null || !fits(prefix, unsorted, count)) {
            return null;
        }
        int direction = direction(prefix, unsorted, count);
        if (direction == 0) {
            return null;
        }
        Object[] sorted = new Object[count];
        sortRange(prefix, direction, unsorted, count, sorted, 0, 0);
        return isInOrder(prefix, sorted) ? sorted : null;
    }

    private static boolean fits(KeyPrefix prefix, Object[] unsorted, int count) {
        for (int i = 0; i < count; i++) {
            if (!prefix.fits(key(unsorted[i]))) {
                return false;
            }
        }
        return true;
    }

    /** Returns 1 if some pairs of keys are in the order of their prefixes, -1 if in the reverse, 0 if neither or if all are equal. */
    private int direction(KeyPrefix prefix, Object[] unsorted, int count) {
        int skip = shared(prefix, unsorted, count);
        int half = count / 2;
        int direction = 0;
        for (int k = 0; k < SAMPLED_PAIRS; k++) {
            int i = (int) ((long) k * half / SAMPLED_PAIRS);
            Object a = key(unsorted[i]);
            Object b = key(unsorted[i + half]);
            int byPrefix = Long.compareUnsigned(prefix.of(a, skip), prefix.of(b, skip));
            if (byPrefix != 0) {
                int sign = byPrefix * Integer.signum(keys.compare(a, b));
                if (sign == 0 || sign == -direction) {
                    return 0;
                }
                direction = sign;
            }
        }
        return direction;
    }

    /** Returns how many leading elements all keys share. */
    private static int shared(KeyPrefix prefix, Object[] unsorted, int count) {
        Object first = key(unsorted[0]);
        int shared = prefix.length(first);
        for (int i = 1; i < count && shared > 0; i++) {
            Object other = key(unsorted[i]);
            shared = prefix.shared(first, other, Math.min(shared, prefix.length(other)));
        }
        return shared;
    }

    /**
     * Sorts records by prefix, and those that tie again by what follows in their keys.
     *
     * @param target gets the records from element {@code at} on
     */
    private void sortRange(
            KeyPrefix prefix, int direction, Object[] source, int count, Object[] target, int at, int depth) {
        int[] ties = distribute(prefix, direction, source, count, target, at);
        for (int t = 0; t < ties.length; t += 2) {
            int from = ties[t];
            int to = ties[t + 1];
            if (to - from == count || depth == MAX_DEPTH) {
                Arrays.sort(target, from, to, records);
            } else {
                Object[] tied = Arrays.copyOfRange(target, from, to);
                sortRange(prefix, direction, tied, tied.length, target, from, depth + 1);
            }
        }
    }

    /**
     * Sorts records by as much of their prefix as fits into a word beside an index. Few that tie are sorted by comparison.
     *
     * @return start and end in {@code target} of each range of more that tie
     */
    private int[] distribute(KeyPrefix prefix, int direction, Object[] source, int count, Object[] target, int at) {
        int skip = shared(prefix, source, count);
        long[] words = new long[2 * count];
        long differing = 0;
        for (int i = 0; i < count; i++) {
            words[i] = prefix.of(key(source[i]), skip);
            differing |= words[i] ^ words[0];
        }
        // A word becomes what differs in a prefix, or the upper part of it, above the index of its record.
        VaryingBits varying = new VaryingBits(differing);
        int indexBits = Long.SIZE - Long.numberOfLeadingZeros(count - 1);
        int dropped = Math.max(0, varying.count() + indexBits - Long.SIZE);
        for (int i = 0; i < count; i++) {
            long ascending = direction > 0 ? words[i] : ~words[i];
            words[i] = (varying.pack(ascending) >>> dropped << indexBits) | i;
        }
        // Bytes that hold nothing but index are in order already, and the sort is stable.
        int start = RadixSort.sort(
                new LongArray(MemoryBlock.fromLongArray(words)),
                count,
                indexBits / Byte.SIZE,
                Long.BYTES - 1,
                false,
                false);
        long indexMask = (1L << indexBits) - 1;
        for (int i = 0; i < count; i++) {
            target[at + i] = source[(int) (words[start + i] & indexMask)];
        }
        IntStream.Builder ties = IntStream.builder();
        int from = 0;
        for (int i = 1; i <= count; i++) {
            if (i == count || words[start + i] >>> indexBits != words[start + from] >>> indexBits) {
                if (i - from >= LEAST_FOR_PREFIX) {
                    ties.add(at + from).add(at + i);
                } else if (i - from > 1) {
                    Arrays.sort(target, at + from, at + i, records);
                }
                from = i;
            }
        }
        return ties.build().toArray();
    }

    private boolean isInOrder(KeyPrefix prefix, Object[] sorted) {
        int count = sorted.length;
        Object last = key(sorted[0]);
        long touched = 0;
        for (int from = 0; from < count; from += TOUCHED_AT_ONCE) {
            int to = Math.min(count, from + TOUCHED_AT_ONCE);
            touched += touch(prefix, sorted, from, to);
            for (int i = from; i < to; i++) {
                Object key = key(sorted[i]);
                if (keys.compare(last, key) > 0) {
                    return false;
                }
                last = key;
            }
        }
        return touched >= 0; // Always; if nobody used it, the compiler would leave the reads out.
    }

    /**
     * Reads keys for no other purpose than to have them in the cache. Neighbours by key are far apart in memory: here the processor
     * waits for many of them at a time, in comparisons for one after the other.
     */
    private static long touch(KeyPrefix prefix, Object[] sorted, int from, int to) {
        long lengths = 0;
        for (int i = from; i < to; i++) {
            lengths += prefix.length(key(sorted[i]));
        }
        return lengths;
    }
}
