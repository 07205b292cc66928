package io.verbena.tpcds;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OptionsTest {
    @Test
    void shouldHaveDefaultsForAShortRunOnOneHost() {
        Options options = Options.parse();

        assertThat(options.scale()).isEqualTo(0.1);
        assertThat(options.queries()).isEqualTo(Options.DEFAULT_QUERIES);
        assertThat(options.master()).isEqualTo("local-cluster[2,1,2048]");
        assertThat(options.out()).isEqualTo(Path.of("quickstart-out"));
        assertThat(options.repeat()).isEqualTo(2);
        assertThat(options.adaptiveModes()).containsExactly(true);
        assertThat(options.ourManager()).isEqualTo("org.apache.spark.shuffle.rdma.RdmaShuffleManager");
    }

    @Test
    void shouldKnowEveryDefaultQuery() {
        assertThat(Queries.all()).hasSize(103).containsAll(Options.DEFAULT_QUERIES);
    }

    @Test
    void shouldTakeQueriesOnceInTheOrderGiven() {
        assertThat(Options.parse("--queries", "q64,q3,q64").queries()).containsExactly("q64", "q3");
        assertThat(Options.parse("--queries=all").queries()).isEqualTo(Queries.all());
    }

    @Test
    void shouldTakeAdaptiveModesInAnyCase() {
        assertThat(Options.parse("--aqe", "both").adaptiveModes()).containsExactly(true, false);
        assertThat(Options.parse("--aqe", "OFF").adaptiveModes()).containsExactly(false);
    }

    @Test
    void shouldGiveOurSettingsToOurSideOnly() {
        Options options = Options.parse(
                "--conf", "spark.a=1", "--conf", "spark.sql.shuffle.partitions=7", "--conf-ours", "spark.b=x=y,z");

        Map<String, String> sort = SparkSettings.forSide(options, Side.SORT, Path.of("scratch"));
        Map<String, String> ours = SparkSettings.forSide(options, Side.OURS, Path.of("scratch"));

        assertThat(sort)
                .containsEntry("spark.a", "1")
                .containsEntry("spark.sql.shuffle.partitions", "7")
                .containsEntry("spark.shuffle.manager", "sort")
                .doesNotContainKey("spark.b");
        assertThat(ours)
                .containsEntry("spark.a", "1")
                .containsEntry("spark.b", "x=y,z")
                .containsEntry("spark.shuffle.manager", Options.OUR_MANAGER);
    }

    @Test
    void shouldBindToLoopbackOnLocalMastersOnly() {
        Options remote = Options.parse("--master", "spark://host:7077");

        assertThat(SparkSettings.forSide(Options.parse(), Side.SORT, Path.of("s")))
                .containsEntry("spark.driver.host", "127.0.0.1");
        assertThat(SparkSettings.forSide(remote, Side.SORT, Path.of("s")))
                .containsEntry("spark.master", "spark://host:7077")
                .doesNotContainKey("spark.driver.host");
    }

    @Test
    void shouldCheckEverythingUnlessToldOtherwise() {
        Options all = Options.forCorrectness(Path.of("o"));
        Options some = Options.forCorrectness(
                Path.of("o"), "--queries=q3", "--aqe", "on", "--conf", "spark.sql.shuffle.partitions=3");

        assertThat(all.queries()).hasSize(103);
        assertThat(all.adaptiveModes()).containsExactly(true, false);
        assertThat(all.scale()).isEqualTo(0.01);
        assertThat(all.concurrent()).isTrue();
        assertThat(some.queries()).containsExactly("q3");
        assertThat(some.adaptiveModes()).containsExactly(true);
        assertThat(some.sharedConfs()).containsEntry("spark.sql.shuffle.partitions", "3");
    }

    @Test
    void shouldKeepDataOfEachScaleApart() {
        assertThat(Options.parse("--data", "hdfs://nn/tpcds/", "--scale", "10").dataDir())
                .isEqualTo("hdfs://nn/tpcds/sf10.0");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--scale=abc | 'abc' is not a double",
                "--scale=0 | --scale=0.0; give the GB",
                "--scale=NaN | --scale=NaN; give the GB",
                "--repeat=0 | --repeat=0; give a count of 1 or more",
                "--timeout=0 | --timeout=0; give seconds",
                "--queries=q1,q100 | no query 'q100'; give names such as q1,q14a,q99, or all",
                "--aqe=maybe | expected one of [ON, OFF, BOTH] (case-insensitive) but was 'maybe'",
                "--conf=nonsense | should be in KEY=VALUE format but was nonsense",
                "--conf=my.key=1 | my.key; give keys that start with spark.",
                "--conf-ours=spark.shuffle.manager=sort | spark.shuffle.manager is set by the comparison itself",
                "--wrong=1 | Unknown option: '--wrong=1'"
            })
    void shouldNameTheValueAndTheRemedy(String argument, String expected) {
        assertThatThrownBy(() -> Options.parse(argument))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(expected);
        assertThat(Quickstart.run(argument)).isEqualTo(2);
    }

    @Test
    void shouldExitWithZeroAfterHelp() {
        assertThat(Quickstart.run("--help")).isZero();
    }
}
