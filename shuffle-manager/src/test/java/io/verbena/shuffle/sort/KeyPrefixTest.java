package io.verbena.shuffle.sort;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import scala.Option;
import scala.Tuple2;

class KeyPrefixTest {
    /** A smaller key never has the larger prefix, whatever shared start is skipped. */
    @ParameterizedTest
    @EnumSource
    void shouldFollowTheNaturalOrder(Keys keys) {
        List<Object> sample = keys.sample(300, 5);
        KeyPrefix prefix = KeyPrefix.of(sample.get(0));
        int told = 0;
        for (Object a : sample) {
            assertThat(prefix.fits(a)).as("%s", a).isTrue();
            for (Object b : sample) {
                int shared = prefix.shared(a, b, Math.min(prefix.length(a), prefix.length(b)));
                for (int skip = 0; skip <= shared; skip++) {
                    int byPrefix = Long.compareUnsigned(prefix.of(a, skip), prefix.of(b, skip));
                    if (byPrefix != 0) {
                        assertThat(Integer.signum(keys.order().compare(a, b)))
                                .as("%s and %s, skipping %s", Keys.text(a), Keys.text(b), skip)
                                .isEqualTo(byPrefix);
                        told++;
                    }
                }
            }
        }
        assertThat(told).as("pairs that the prefix tells apart").isGreaterThan(1000);
    }

    @Test
    void shouldTellApartWhatComesBehindTheSharedStart() {
        assertThat(differ("user-0000000017", "user-0000000018")).isTrue();
        assertThat(differ(new byte[20], Arrays.copyOf(new byte[0], 21))).isFalse();
        byte[] other = new byte[20];
        other[19] = -1;
        assertThat(differ(new byte[20], other)).isTrue();
        assertThat(differ(new Tuple2<>("user-0000000017", 1L), new Tuple2<>("user-0000000018", 1L)))
                .isTrue();
        assertThat(differ(new Tuple2<>("user", 1L), new Tuple2<>("user", 2L))).isFalse();
    }

    private static boolean differ(Object a, Object b) {
        KeyPrefix prefix = KeyPrefix.of(a);
        int skip = prefix.shared(a, b, Math.min(prefix.length(a), prefix.length(b)));
        return prefix.of(a, skip) != prefix.of(b, skip);
    }

    @Test
    void shouldFitKeysOfOneClass() {
        Function<Object, KeyPrefix> of = KeyPrefix::of;
        for (Object key :
                List.of(1L, 1, (short) 1, (byte) 1, 1.0, 1f, 'a', true, "a", new byte[1], new Tuple2<>(1, 2))) {
            KeyPrefix prefix = of.apply(key);
            assertThat(prefix.fits(key)).as("%s", key).isTrue();
            assertThat(prefix.fits(null)).as("%s", key).isFalse();
            assertThat(prefix.fits(new Object())).as("%s", key).isFalse();
            assertThat(prefix.fits(Option.apply(1))).as("%s", key).isFalse();
        }
        assertThat(of.apply(1L).fits(1)).isFalse();
        assertThat(of.apply(new Tuple2<>("a", 1)).fits(new Tuple2<>(1, "a"))).isFalse();
        assertThat(of.apply(new Tuple2<>("a", 1)).fits(new Tuple2<>(null, "a"))).isFalse();
    }

    @Test
    void shouldNotHaveAPrefixForOtherClasses() {
        for (Object key : List.of(List.of(), Map.of(), new int[1], Option.empty(), new Tuple2<>(null, 1))) {
            assertThat(KeyPrefix.of(key)).as("%s", key).isNull();
        }
        assertThat(KeyPrefix.of(null)).isNull();
    }

    @Test
    void shouldTellEightLatinCharactersApart() {
        List<String> words = IntStream.range(0, 8)
                .mapToObj(i -> "a".repeat(i) + "\u00e9" + "a".repeat(7 - i))
                .sorted(Comparator.reverseOrder())
                .toList();
        KeyPrefix prefix = KeyPrefix.of("");
        assertThat(words.stream().map(word -> prefix.of(word, 0)).distinct()).hasSize(8);
    }
}
