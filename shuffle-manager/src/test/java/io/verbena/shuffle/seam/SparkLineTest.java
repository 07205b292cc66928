package io.verbena.shuffle.seam;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which lines of Spark are served, and what users of others read. */
class SparkLineTest {
    private static final SparkConf CONF = new SparkConf(false);

    @ParameterizedTest
    @CsvSource({"3.5.7, 3.5", "4.0.4, 4.0", "4.1.3, 4.1", "4.2.0, 4.2", "4.2.1-SNAPSHOT, 4.2", "4.2.0-preview5, 4.2"})
    void shouldServeEveryVersionOfASupportedLine(String version, String line) {
        SparkLine parsed = SparkLine.parse(version);
        assertThat(parsed).hasToString(line);
        assertThat(parsed.requireSupported(CONF)).isSameAs(CONF);
    }

    @ParameterizedTest
    @ValueSource(strings = {"3.4.4", "3.6.0", "4.3.0", "4.3.0-SNAPSHOT", "5.0.0"})
    void shouldRefuseOtherLinesWithASentence(String version) {
        assertThatThrownBy(() -> SparkLine.parse(version).requireSupported(CONF))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("Spark " + version.substring(0, 3)
                        + " is not supported by this version of Verbena (supported: [3.5, 4.0, 4.1, 4.2]); remove"
                        + " spark.shuffle.manager, or use a version of Verbena that lists it");
    }

    @Test
    void shouldOrderLines() {
        assertThat(SparkLine.parse("4.1.3").atLeast(4, 1)).isTrue();
        assertThat(SparkLine.parse("4.0.4").atLeast(4, 1)).isFalse();
        assertThat(SparkLine.parse("3.5.7").atLeast(4, 0)).isFalse();
        assertThat(SparkLine.parse("5.0.0").atLeast(4, 1)).isTrue();
    }

    @Test
    void shouldKnowTheLineThatItIsCompiledAgainst() {
        assertThat(SparkLine.current()).isEqualTo(new SparkLine(3, 5));
    }
}
