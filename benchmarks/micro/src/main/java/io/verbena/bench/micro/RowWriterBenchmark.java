package io.verbena.bench.micro;

import io.verbena.memory.OffHeap;
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
    public abstract static class Side {
        /** Spark chooses the bypass up to 200 partitions, and the serialised sort above. */
        @Param({"16", "200", "2000"})
        public int partitions;

        private final Manager manager;
        private MapSide<UnsafeRow> tasks;

        Side(Manager manager) {
            this.manager = manager;
        }

        /** Starts it, writes a map output and reads it back. */
        @Setup
        public void start(Width width) {
            Rows rows = new Rows(width.rowBytes, ROWS, partitions);
            tasks = new MapSide<>(
                    manager,
                    new Rows.KeyIsPartition(partitions),
                    conf -> new UnsafeRowSerializer(rows.fields(), null),
                    rows::iterator,
                    ROWS);
            tasks.check(Rows::sum, rows::sum);
        }

        LocalSession.Written write() {
            return tasks.write();
        }

        /** Removes what was written; not measured. */
        @TearDown(Level.Invocation)
        public void remove() {
            tasks.remove();
        }

        /** Ends the session. */
        @TearDown
        public void stop() {
            tasks.close();
        }
    }

    /** Verbena's. */
    public static class VerbenaSide extends Side {
        /** For JMH. */
        public VerbenaSide() {
            super(Manager.VERBENA);
        }
    }

    /** Spark's. */
    public static class SparkSide extends Side {
        /** For JMH. */
        public SparkSide() {
            super(Manager.SPARK);
        }
    }

    /** Spark's without compression. */
    public static class SparkRawSide extends Side {
        /** For JMH. */
        public SparkRawSide() {
            super(Manager.SPARK_RAW);
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
