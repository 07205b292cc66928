package io.verbena.bench.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class VerbsBenchTest {
    private final List<String> calls = new ArrayList<>();
    private final List<Result> results = new ArrayList<>();
    private final StringWriter progress = new StringWriter();
    private final VerbsBench bench = new VerbsBench(4, Duration.ofSeconds(3), new PrintWriter(progress), results::add);

    /** Reads at one pace; counts what is open. */
    private final class FakeReader implements Reader {
        private final String name;
        private final double bytesPerSecond;
        private int open;

        FakeReader(String name, double bytesPerSecond) {
            this.name = name;
            this.bytesPerSecond = bytesPerSecond;
        }

        @Override
        public ReadLoop open(int blockBytes) {
            open++;
            return new ReadLoop() {
                @Override
                public double readFor(Duration length) {
                    assertThat(length).isEqualTo(Duration.ofSeconds(3));
                    calls.add(name + blockBytes);
                    return bytesPerSecond;
                }

                @Override
                public void close() {
                    open--;
                }
            };
        }
    }

    @Test
    void shouldCompareReadersByTurnsAtThreeSizes() throws Exception {
        FakeReader ours = new FakeReader("o", 30e6);
        FakeReader theirs = new FakeReader("t", 40e6);
        bench.compareReads("readVsPerftest", ours, theirs);
        assertThat(calls.subList(0, 10))
                .as("one reading to warm up, four pairs")
                .containsExactly(
                        "o4096", "t4096", "o4096", "t4096", "t4096", "o4096", "o4096", "t4096", "t4096", "o4096");
        assertThat(calls).hasSize(30);
        assertThat(results)
                .extracting(Result::json)
                .containsExactly(
                        "{\"metric\":\"readVsPerftest\",\"bytes\":4096,\"ratio\":0.7500,\"min\":0.7500,\"max\":0.7500}",
                        "{\"metric\":\"readVsPerftest\",\"bytes\":65536,\"ratio\":0.7500,\"min\":0.7500,\"max\":0.7500}",
                        "{\"metric\":\"readVsPerftest\",\"bytes\":1048576,\"ratio\":0.7500,\"min\":0.7500,\"max\":0.7500}");
        assertThat(ours.open + theirs.open).as("loops left open").isZero();
        assertThat(progress.toString().lines()).hasSize(24);
    }

    @Test
    void shouldCompareRegistrationByBlockWithSegments() throws Exception {
        bench.compareRegistrations("registrationByBlock", new Registrar() {
            @Override
            public long totalBytes() {
                return 1L << 30;
            }

            @Override
            public Duration register(long regionBytes) {
                // A fixed cost for each MR.
                return Duration.ofNanos(100_000 * (totalBytes() / regionBytes));
            }
        });
        assertThat(results)
                .extracting(Result::json)
                .containsExactly("{\"metric\":\"registrationByBlock\",\"bytes\":1073741824,\"ratio\":1024.0000,"
                        + "\"min\":1024.0000,\"max\":1024.0000}");
    }
}
