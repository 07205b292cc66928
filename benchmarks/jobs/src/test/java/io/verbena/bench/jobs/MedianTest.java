package io.verbena.bench.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class MedianTest {
    @Test
    void shouldTakeTheMiddleOfAnOddCount() {
        assertThat(Median.of(List.of(9.0, 1.0, 2.0))).isEqualTo(new Median(2, 1, 9));
    }

    @Test
    void shouldTakeTheMeanOfTheMiddleTwoOfAnEvenCount() {
        assertThat(Median.of(List.of(9.0, 1.0, 2.0, 3.0))).isEqualTo(new Median(2.5, 1, 9));
    }

    @Test
    void shouldRefuseNothing() {
        assertThatThrownBy(() -> Median.of(List.of())).isInstanceOf(IllegalArgumentException.class);
    }
}
