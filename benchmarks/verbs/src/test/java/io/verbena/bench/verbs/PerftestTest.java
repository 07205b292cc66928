package io.verbena.bench.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class PerftestTest {
    private static final String OUTPUT = """
             TX depth        : 100
             GID index       : 1
             GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:01:00:02
            ---------------------------------------------------------------------------------------
             #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
             65536      2000             %s              %s  \t\t   0.000579
            ---------------------------------------------------------------------------------------
            """;

    @Test
    void shouldFindTheAverageInBytesPerSecond() {
        assertThat(Perftest.parse(String.format(OUTPUT, "37.28", "36.50"))).hasValue(36.5 * 1024 * 1024);
    }

    @Test
    void shouldNotTakeAClockThatWasNotCalibratedForAResult() {
        assertThat(Perftest.parse(String.format(OUTPUT, "0.00", "0.00"))).isEmpty();
    }

    @Test
    void shouldFindNothingInAFailedRun() {
        assertThat(Perftest.parse("Couldn't connect to 10.1.0.2:18515\n")).isEmpty();
    }
}
