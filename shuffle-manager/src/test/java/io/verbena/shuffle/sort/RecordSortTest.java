package io.verbena.shuffle.sort;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import scala.Tuple2;

/** Against {@link List#sort}, which is stable. */
class RecordSortTest {
    private static final int MANY = 5000;

    private static Object[] records(List<Object> keys) {
        Object[] records = new Object[keys.size() + 3];
        for (int i = 0; i < keys.size(); i++) {
            records[i] = new Tuple2<>(keys.get(i), i);
        }
        return records;
    }

    private static Object key(Object record) {
        return ((Tuple2<?, ?>) record)._1();
    }

    /** Sorts and compares every record; returns whether it was by prefix. */
    private static boolean sorts(List<Object> keys, Comparator<Object> order) {
        Object[] records = records(keys);
        List<Object> expected = new ArrayList<>(Arrays.asList(records).subList(0, keys.size()));
        expected.sort((a, b) -> order.compare(key(a), key(b)));
        Object[] sorted = new RecordSort(order).sort(records, keys.size());
        assertThat(Arrays.asList(sorted).subList(0, keys.size()).equals(expected))
                .as("order of %s records, first keys %s", keys.size(), Keys.text(keys.isEmpty() ? "" : keys.get(0)))
                .isTrue();
        return sorted != records;
    }

    @ParameterizedTest
    @EnumSource
    void shouldSortByPrefixInBothDirections(Keys keys) {
        for (int seed = 0; seed < 20; seed++) {
            int count = RecordSort.LEAST_FOR_PREFIX + seed * 97;
            List<Object> sample = keys.sample(count, seed);
            assertThat(sorts(sample, keys.order()))
                    .as("ascending, seed %s", seed)
                    .isTrue();
            assertThat(sorts(sample, keys.order().reversed()))
                    .as("descending, seed %s", seed)
                    .isTrue();
        }
        List<Object> many = keys.sample(70_000, 99);
        assertThat(sorts(many, keys.order())).isTrue();
        assertThat(sorts(many, keys.order().reversed())).isTrue();
    }

    @ParameterizedTest
    @EnumSource
    void shouldSortWhatIsSortedAlready(Keys keys) {
        List<Object> sample = keys.sample(MANY, 7);
        sample.sort(keys.order());
        assertThat(sorts(sample, keys.order())).isTrue();
        Collections.reverse(sample);
        assertThat(sorts(sample, keys.order())).isTrue();
    }

    @ParameterizedTest
    @EnumSource
    void shouldSortFewByComparison(Keys keys) {
        for (int count = 0; count < RecordSort.LEAST_FOR_PREFIX; count += 17) {
            assertThat(sorts(keys.sample(count, count), keys.order())).isFalse();
        }
    }

    /** Orders that a prefix does not follow: whichever pairs are looked at first, the result is right, and stable. */
    @ParameterizedTest
    @EnumSource
    void shouldSortInAnOrderThatHasNothingToDoWithPrefixes(Keys keys) {
        Comparator<Object> scrambled =
                Comparator.comparingLong(key -> (Keys.text(key).hashCode() * 0x9e3779b97f4a7c15L) >>> 40);
        for (int seed = 0; seed < 20; seed++) {
            // Whatever order two values have, it is the natural one or its reverse.
            assertThat(sorts(keys.sample(MANY, seed), scrambled)).isEqualTo(keys == Keys.BOOLEANS);
        }
    }

    /** The order is the natural one for all keys but a few, which a sample of pairs is not likely to show. */
    @Test
    void shouldNotTrustTheSampledPairs() {
        Comparator<Object> oneLast =
                Comparator.comparing((Object key) -> key.equals(4711L)).thenComparing(key -> (Long) key);
        Comparator<Object> swapped =
                Comparator.comparingLong(key -> (Long) key == 17 ? 18 : (Long) key == 18 ? 17 : (Long) key);
        for (int seed = 0; seed < 20; seed++) {
            List<Object> keys = new ArrayList<>();
            for (long i = 0; i < MANY; i++) {
                keys.add(i);
            }
            Collections.shuffle(keys, new Random(seed));
            assertThat(sorts(keys, oneLast)).isFalse();
            assertThat(sorts(keys, swapped)).isFalse();
            assertThat(sorts(keys, swapped.reversed())).isFalse();
        }
    }

    @Test
    void shouldSortBytesInSignedOrderAndStringsWithoutCase() {
        for (int seed = 0; seed < 20; seed++) {
            Comparator<Object> signed = (a, b) -> Arrays.compare((byte[]) a, (byte[]) b);
            assertThat(sorts(Keys.ARRAYS.sample(MANY, seed), signed)).isFalse();
            Comparator<Object> caseless = (a, b) -> ((String) a).compareToIgnoreCase((String) b);
            List<Object> words = new ArrayList<>();
            Random random = new Random(seed);
            for (int i = 0; i < MANY; i++) {
                words.add((random.nextBoolean() ? "k" : "K") + "ey" + random.nextInt(50));
            }
            assertThat(sorts(words, caseless)).isFalse();
        }
    }

    @Test
    void shouldSortEqualKeysByComparison() {
        assertThat(sorts(Collections.nCopies(MANY, "same"), Comparator.comparing(Object::toString)))
                .isFalse();
    }

    @Test
    void shouldSortKeysOfSeveralClassesAndNulls() {
        Comparator<Object> byText = Comparator.comparing(String::valueOf);
        for (Object odd : Arrays.asList(17, null, 1.5)) {
            for (int at : new int[] {0, 1, MANY / 2, MANY - 1}) {
                List<Object> keys = Keys.WORDS.sample(MANY, at);
                keys.set(at, odd);
                assertThat(sorts(keys, byText)).as("%s at %s", odd, at).isFalse();
            }
        }
    }

    /** Each key begins with the one before: a prefix tells eight of them apart at a time. */
    @Test
    void shouldSortKeysThatShareMoreThanIsLookedAt() {
        List<Object> keys = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            keys.add("a".repeat(i));
        }
        Collections.shuffle(keys, new Random(3));
        assertThat(sorts(keys, Comparator.comparing(key -> (String) key))).isTrue();
    }
}
