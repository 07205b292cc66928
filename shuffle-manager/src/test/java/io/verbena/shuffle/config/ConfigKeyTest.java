package io.verbena.shuffle.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ConfigKeyTest {
    private static final ConfigKey<Integer> DEPTH = ConfigKey.integer("test.depth", 1, 64)
            .defaultValue("2")
            .since("0.1.0")
            .doc("Requests per peer.");

    @Test
    void shouldParseWholeNumbersUpToTheirBounds() {
        assertThat(DEPTH.defaultValue()).isEqualTo(2);
        assertThat(DEPTH.parse("1")).isEqualTo(1);
        assertThat(DEPTH.parse(" 64 ")).isEqualTo(64);
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "65", "2.0", "two", "", "99999999999"})
    void shouldRefuseWholeNumbersOutsideRange(String text) {
        assertThatThrownBy(() -> DEPTH.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("spark.shuffle.rdma.test.depth=" + text + " is not valid, allowed: 1 to 64 (default 2)");
    }

    @Test
    void shouldRefuseDeclarationWithBadDefault() {
        assertThatThrownBy(() -> ConfigKey.bytes("test.size", "1m", "2m")
                        .defaultValue("4m")
                        .since("0.1.0")
                        .doc("Never built."))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("spark.shuffle.rdma.test.size=4m");
    }
}
