package io.verbena.bench.micro;

import io.verbena.memory.OffHeap;
import java.util.List;
import java.util.Map;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.UnsafeRowSerializer;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** A map task of Spark SQL: all that its writer does from the first row to the committed map output, by row. */
@Per("row")
public class RowWriterBenchmark extends SparkDefaults {
    private static final int ROWS = 65_536;

    /** How wide rows are. */
    @State(Scope.Benchmark)
    public static class Width {
        /** Multiples of 8, as rows are: 1, 12 and 123 columns. */
        @Param({"16", "104", "1000"})
        public int rowBytes;
    }

    /** A session with a shuffle to write to. */
    @State(Scope.Benchmark)
    public abstract static class MapSide {
        /** Spark chooses the bypass up to 200 partitions, and the serialised sort above. */
        @Param({"16", "200", "2000"})
        public int partitions;

        private final Map<String, String> settings;
        private LocalSession session;
        private ShuffleDependency<Object, UnsafeRow, UnsafeRow> shuffle;
        private Rows rows;

        MapSide(Map<String, String> settings) {
            this.settings = settings;
        }

        abstract String writer();

        /** Writes a map output and reads it back. */
        @Setup
        public void start(Width width) {
            session = LocalSession.start(settings);
            rows = new Rows(width.rowBytes, ROWS, partitions);
            shuffle =
                    session.shuffle(new Rows.KeyIsPartition(partitions), new UnsafeRowSerializer(rows.fields(), null));
            LocalSession.Written output = write();
            Checks.require("writer", output.writer(), writer());
            session.publish(shuffle, List.of(output), false);
            for (int p = 0; p < partitions; p += Math.max(1, partitions / 16)) {
                Checks.require("sum of partition " + p, session.read(shuffle, p, Rows::sum), rows.sum(p));
            }
            remove();
        }

        LocalSession.Written write() {
            LocalSession.Written output = session.write(shuffle, rows.iterator());
            Checks.require("rows", output.records(), (long) ROWS);
            return output;
        }

        /** Forgets what was written; not measured. */
        @TearDown(Level.Invocation)
        public void remove() {
            session.remove(shuffle);
        }

        /** Ends the session. */
        @TearDown
        public void stop() {
            session.close();
        }
    }

    /** Verbena's. */
    public static class VerbenaSide extends MapSide {
        /** For JMH. */
        public VerbenaSide() {
            super(LocalSession.VERBENA);
        }

        @Override
        String writer() {
            return "ScatterWriter";
        }
    }

    /** Spark's. */
    public static class SparkSide extends MapSide {
        /** For JMH. */
        public SparkSide() {
            this(LocalSession.SPARK);
        }

        SparkSide(Map<String, String> settings) {
            super(settings);
        }

        @Override
        String writer() {
            return partitions <= 200 ? "BypassMergeSortShuffleWriter" : "UnsafeShuffleWriter";
        }
    }

    /** Spark's without compression. */
    public static class SparkRawSide extends SparkSide {
        /** For JMH. */
        public SparkRawSide() {
            super(LocalSession.SPARK_RAW);
        }
    }

    /** Memory for the rows. */
    @State(Scope.Benchmark)
    public static class Memory {
        private Rows rows;
        private long address;

        /** Touches the memory. */
        @Setup
        public void allocate(Width width) {
            rows = new Rows(width.rowBytes, ROWS, 1);
            address = OffHeap.allocate((long) ROWS * width.rowBytes);
            rows.copyTo(address);
        }

        /** Gives it back. */
        @TearDown
        public void free() {
            OffHeap.free(address);
        }
    }

    /** Verbena's scatter writer. */
    @Benchmark
    @OperationsPerInvocation(ROWS)
    public Object verbena(VerbenaSide side) {
        return side.write();
    }

    /** The writer that Spark chooses, default settings. */
    @Benchmark
    @OperationsPerInvocation(ROWS)
    public Object spark(SparkSide side) {
        return side.write();
    }

    /** The writer that Spark chooses, without compression. */
    @Benchmark
    @OperationsPerInvocation(ROWS)
    public Object sparkRaw(SparkRawSide side) {
        return side.write();
    }

    /** One copy of each row into warm memory. */
    @Benchmark
    @OperationsPerInvocation(ROWS)
    public long memcpyBaseline(Memory memory) {
        memory.rows.copyTo(memory.address);
        return memory.address;
    }
}
