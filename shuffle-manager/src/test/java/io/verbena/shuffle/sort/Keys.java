package io.verbena.shuffle.sort;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import scala.Tuple2;
import scala.math.Ordering;
import scala.math.Ordering$;

/** Keys for tests: with ties, extremes, shared starts, and what sorts unlike it looks. */
@SuppressWarnings("ImmutableEnumChecker") // Comparators and generators have no state.
enum Keys {
    LONGS(
            Ordering.Long$.MODULE$,
            random -> random.nextInt(3) == 0
                    ? (Object) (long) random.nextInt(5)
                    : pick(random, random.nextLong(), Long.MIN_VALUE, Long.MAX_VALUE, -1L, 0L)),
    CLOSE_LONGS(Ordering.Long$.MODULE$, random -> (1L << 40) + random.nextInt(1000)),
    INTS(Ordering.Int$.MODULE$, random -> pick(random, random.nextInt(), Integer.MIN_VALUE, Integer.MAX_VALUE, 0)),
    SHORTS(Ordering.Short$.MODULE$, random -> (short) random.nextInt()),
    BYTES(Ordering.Byte$.MODULE$, random -> (byte) random.nextInt()),
    BOOLEANS(Ordering.Boolean$.MODULE$, random -> random.nextInt(4) == 0),
    CHARACTERS(Ordering.Char$.MODULE$, random -> (char) random.nextInt()),
    DOUBLES(
            Comparator.<Double>naturalOrder(),
            random -> pick(
                    random,
                    random.nextGaussian(),
                    Double.NaN,
                    -0.0,
                    0.0,
                    Double.POSITIVE_INFINITY,
                    Double.NEGATIVE_INFINITY,
                    Double.MIN_VALUE)),
    FLOATS(
            Comparator.<Float>naturalOrder(),
            random -> pick(random, (float) random.nextGaussian(), Float.NaN, -0f, 0f, Float.NEGATIVE_INFINITY)),
    /** Also empty ones, those that others begin with, zero characters, and both halves of surrogate pairs. */
    STRINGS(Ordering.String$.MODULE$, random -> string(random, random.nextInt(12))),
    WORDS(Ordering.String$.MODULE$, random -> "user-" + random.nextInt(2000)),
    LONG_WORDS(
            Ordering.String$.MODULE$,
            random -> "http://host" + random.nextInt(3) + ".example/the/same/for/all/" + random.nextInt(500)),
    ARRAYS(bytes(Arrays::compareUnsigned), random -> array(random, random.nextInt(14))),
    LONG_ARRAYS(bytes(Arrays::compareUnsigned), random -> {
        byte[] key = new byte[30];
        key[random.nextInt(30)] = (byte) random.nextInt();
        return key;
    }),
    TUPLES(tuples(), random -> new Tuple2<>("user-" + random.nextInt(40), (long) random.nextInt(40)));

    private final Comparator<Object> order;
    private final Function<Random, Object> key;

    @SuppressWarnings("unchecked")
    Keys(Comparator<?> order, Function<Random, Object> key) {
        this.order = (Comparator<Object>) order;
        this.key = key;
    }

    /** As an ordering of a user's: opaque. */
    static Ordering<byte[]> bytes(Comparator<byte[]> order) {
        return Ordering$.MODULE$.comparatorToOrdering(order);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Comparator<?> tuples() {
        return Ordering$.MODULE$.Tuple2((Ordering) Ordering.String$.MODULE$, (Ordering) Ordering.Long$.MODULE$);
    }

    private static Object pick(Random random, Object usual, Object... rare) {
        int i = random.nextInt(3 * rare.length);
        return i < rare.length ? rare[i] : usual;
    }

    private static String string(Random random, int length) {
        StringBuilder text = new StringBuilder();
        String units = "\0\u0001aAbz\u00e9\u00fe\u00ff\u0100\u4e2d\ud83d\ude00\uffff";
        for (int i = 0; i < length; i++) {
            text.append(units.charAt(random.nextInt(units.length())));
        }
        return text.toString();
    }

    private static byte[] array(Random random, int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (random.nextInt(4) * 85);
        }
        return bytes;
    }

    /** The order of the keys: for most as Spark's sortByKey finds it. */
    Comparator<Object> order() {
        return order;
    }

    List<Object> sample(int count, long seed) {
        Random random = new Random(seed);
        List<Object> keys = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            keys.add(key.apply(random));
        }
        return keys;
    }

    static String text(Object key) {
        return key instanceof byte[] bytes ? Arrays.toString(bytes) : String.valueOf(key);
    }
}
