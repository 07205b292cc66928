package io.verbena.shuffle.sort;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class VaryingBitsTest {
    @ParameterizedTest
    @ValueSource(
            longs = {
                0,
                1,
                -1,
                0x0f0f0f0f0f0f0f0fL,
                0x7f003f0001ff0080L,
                0xff,
                0x00ff000000000000L,
                1L << 63,
                0x1234567890abcdefL
            })
    void shouldKeepTheOrderOfWords(long differing) {
        VaryingBits varying = new VaryingBits(differing);
        Random random = new Random(differing);
        long shared = random.nextLong() & ~differing;
        for (int i = 0; i < 10_000; i++) {
            long a = shared | (random.nextLong() & differing);
            long b = i % 3 == 0 ? a : shared | (random.nextLong() & differing);
            assertThat(Long.compareUnsigned(varying.pack(a), varying.pack(b)))
                    .as("%x and %x", a, b)
                    .isEqualTo(Long.compareUnsigned(a, b));
            assertThat(varying.count() == Long.SIZE || varying.pack(a) >>> varying.count() == 0)
                    .as("%x in %s bits", varying.pack(a), varying.count())
                    .isTrue();
        }
    }

    @Test
    void shouldTakeFourBitsForADigit() {
        assertThat(new VaryingBits(0x0f0f0f0f0f0f0f0fL).count()).isEqualTo(32);
        assertThat(new VaryingBits(0).count()).isZero();
        assertThat(new VaryingBits(-1).count()).isEqualTo(64);
    }
}
