package io.verbena.registration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class RegistrationCostTest {
    @Test
    void shouldDrawTheLineThroughBothMeasurements() {
        RegistrationCost cost = RegistrationCost.through(1, 50_000, 1025, 152_400, 1_025_000);
        assertThat(cost.pageNs()).isEqualTo(100);
        assertThat(cost.fixedNs()).isEqualTo(49_900);
        assertThat(cost.copyNs()).isEqualTo(1_000);
        assertThat(cost.costNs(4096)).isEqualTo(50_000);
        assertThat(cost.costNs(4097)).isEqualTo(50_100);
        assertThat(cost.costNs(1025 * 4096)).isEqualTo(152_400);
    }

    @Test
    void shouldRegisterWhatCostsLessThanItsCopies() {
        // 2,900 ns saved a page, 29,000 ns to earn: ten pages.
        RegistrationCost cost = new RegistrationCost(29_000, 100, 1_000);
        assertThat(cost.breakEvenBytes()).isEqualTo(10 * 4096);
        assertThat(cost.costNs(cost.breakEvenBytes())).isEqualTo(3 * 1_000 * 10);
        assertThat(new RegistrationCost(0, 0, 1).breakEvenBytes()).isEqualTo(4096);
    }

    @Test
    void shouldNeverRegisterWhereAPageCostsMoreThanItsCopies() {
        RegistrationCost cost = new RegistrationCost(10, 301, 100);
        assertThat(cost.breakEvenBytes()).isEqualTo(Long.MAX_VALUE);
        assertThat(cost).hasToString("0.0 us + 0.301 us a page, copyUs=0.100 a page, breakEvenBytes=never");
    }

    @Test
    void shouldNotTakeNoiseForNegativeCost() {
        RegistrationCost cost = RegistrationCost.through(1, 900, 1024, 800, 1024);
        assertThat(cost.pageNs()).isZero();
        assertThat(cost.fixedNs()).isEqualTo(900);
    }

    @Test
    void shouldAddUpOverDevices() {
        RegistrationCost both = new RegistrationCost(10, 1, 5).and(new RegistrationCost(20, 2, 7));
        assertThat(both).isEqualTo(new RegistrationCost(30, 3, 7));
    }

    @Test
    void shouldRefuseMeasurementsThatMakeNoLine() {
        assertThatThrownBy(() -> RegistrationCost.through(5, 1, 5, 2, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("largePages=5");
    }
}
