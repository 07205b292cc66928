package io.verbena.bench.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SpreadTest {
    @Test
    void shouldTakeTheGeometricMean() {
        Spread spread = Spread.of(List.of(0.5, 2.0, 8.0));
        assertThat(spread.mean()).isEqualTo(2.0, within(1e-12));
        assertThat(spread.min()).isEqualTo(0.5);
        assertThat(spread.max()).isEqualTo(8.0);
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, -1, Double.NaN, Double.POSITIVE_INFINITY})
    void shouldRefuseWhatIsNoRatio(double ratio) {
        assertThatThrownBy(() -> Spread.of(List.of(1.0, ratio)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(Double.toString(ratio));
    }

    @Test
    void shouldRefuseToSumUpNothing() {
        assertThatThrownBy(() -> Spread.of(List.of())).isInstanceOf(IllegalArgumentException.class);
    }
}
