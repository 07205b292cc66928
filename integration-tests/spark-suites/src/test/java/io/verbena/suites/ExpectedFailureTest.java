package io.verbena.suites;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.suites.ExpectedFailure.Kind;
import java.util.List;
import org.junit.jupiter.api.Test;

class ExpectedFailureTest {
    private static final SparkLine LINE = SparkLine.of("4.0.4");

    @Test
    void shouldReadTheRowsOfALine() {
        assertThat(ExpectedFailure.of(
                        LINE,
                        List.of(
                                List.of("A,B", "all", "OURS", "finds the file", "no file"),
                                List.of("A", "3.5", "BOTH", "is slow", "slow"),
                                List.of("C", "4.0", "BOTH", "uses the net", "no net"))))
                .containsExactly(
                        new ExpectedFailure("A", "finds the file", Kind.OURS, "no file"),
                        new ExpectedFailure("B", "finds the file", Kind.OURS, "no file"),
                        new ExpectedFailure("C", "uses the net", Kind.BOTH, "no net"));
    }

    @Test
    void shouldRefuseAnotherKind() {
        assertThatThrownBy(() -> ExpectedFailure.of(LINE, List.of(List.of("A", "all", "SORT", "x", "y"))))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("SORT");
    }
}
