package io.verbena.bench.micro;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** A reduce task over few large blocks: rows of 104 bytes, 140 KB to a block. All that it does, by row. */
@Per("row")
public class RowReaderBenchmark extends SparkDefaults {
    private static final int MAPS = 8;
    private static final int PARTITIONS = 16;
    private static final int ROWS_PER_BLOCK = 1_250;

    /** A session with map outputs. */
    @State(Scope.Benchmark)
    public abstract static class Reads {
        private final Manager manager;
        private final boolean asPeers;
        private ReduceSide side;

        Reads(Manager manager, boolean asPeers) {
            this.manager = manager;
            this.asPeers = asPeers;
        }

        /** Writes them. */
        @Setup
        public void start() {
            side = new ReduceSide(manager, MAPS, PARTITIONS, ROWS_PER_BLOCK, asPeers);
        }

        long read() {
            return side.read();
        }

        /** Ends the session. */
        @TearDown
        public void stop() {
            side.close();
        }
    }

    /** Verbena's reader, blocks of this executor. */
    public static class VerbenaSelf extends Reads {
        /** For JMH. */
        public VerbenaSelf() {
            super(Manager.VERBENA, false);
        }
    }

    /** Verbena's reader, blocks of a neighbour whose memory it maps. */
    public static class VerbenaMapped extends Reads {
        /** For JMH. */
        public VerbenaMapped() {
            super(Manager.VERBENA, true);
        }
    }

    /** Spark's reader, blocks of this executor: LZ4, read from its files. */
    public static class Spark extends Reads {
        /** For JMH. */
        public Spark() {
            super(Manager.SPARK, false);
        }
    }

    /** Spark's reader, uncompressed blocks of this executor. */
    public static class SparkRaw extends Reads {
        /** For JMH. */
        public SparkRaw() {
            super(Manager.SPARK_RAW, false);
        }
    }

    /** Spark's reader, blocks of another executor: LZ4, over Netty on the loopback interface. */
    public static class SparkNetty extends Reads {
        /** For JMH. */
        public SparkNetty() {
            super(Manager.SPARK, true);
        }
    }

    /** The blocks, without Spark. */
    @State(Scope.Benchmark)
    public static class Memory {
        private ReduceSide.Memory blocks;

        /** Makes them. */
        @Setup
        public void start() {
            blocks = new ReduceSide.Memory(MAPS, PARTITIONS, ROWS_PER_BLOCK);
        }

        /** Gives them back. */
        @TearDown
        public void stop() {
            blocks.close();
        }
    }

    /** Verbena's reader, blocks of this executor. */
    @Benchmark
    @OperationsPerInvocation(MAPS * ROWS_PER_BLOCK)
    public long verbenaSelf(VerbenaSelf reads) {
        return reads.read();
    }

    /** Verbena's reader, blocks of a neighbour whose memory it maps. */
    @Benchmark
    @OperationsPerInvocation(MAPS * ROWS_PER_BLOCK)
    public long verbenaMapped(VerbenaMapped reads) {
        return reads.read();
    }

    /** Spark's reader, blocks of this executor: LZ4, read from its files. */
    @Benchmark
    @OperationsPerInvocation(MAPS * ROWS_PER_BLOCK)
    public long spark(Spark reads) {
        return reads.read();
    }

    /** Spark's reader, uncompressed blocks of this executor. */
    @Benchmark
    @OperationsPerInvocation(MAPS * ROWS_PER_BLOCK)
    public long sparkRaw(SparkRaw reads) {
        return reads.read();
    }

    /** Spark's reader, blocks of another executor: LZ4, over Netty on the loopback interface. */
    @Benchmark
    @OperationsPerInvocation(MAPS * ROWS_PER_BLOCK)
    public long sparkNetty(SparkNetty reads) {
        return reads.read();
    }

    /** One copy of each block out of warm memory, and the same look at its rows. */
    @Benchmark
    @OperationsPerInvocation(MAPS * ROWS_PER_BLOCK)
    public long memcpyBaseline(Memory memory) {
        return memory.blocks.read();
    }
}
