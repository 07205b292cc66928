package io.verbena.suites;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SparkLineTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "4.0.4 | all     | true",
                "4.0.4 | 4.0     | true",
                "4.0.4 | 4.0+    | true",
                "4.2.0 | 4.0+    | true",
                "4.2.0 | 3.5,4.2 | true",
                "3.5.7 | 4.0+    | false",
                "4.1.3 | 3.5,4.0 | false",
            })
    void shouldKnowWhereItIsMeant(String version, String lines, boolean meant) {
        assertThat(SparkLine.of(version).isIn(lines)).isEqualTo(meant);
    }
}
