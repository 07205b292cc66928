package io.verbena.shuffle.reader;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.metadata.ReservedBlocks;
import io.verbena.shuffle.testing.TestExecutor;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.storage.BlockManagerId;

/** Spark's block transfer between executors of one process. Every buffer it hands over is counted. */
final class TestNetwork implements BlockClient {
    private final Map<BlockManagerId, TestExecutor> executors = new HashMap<>();
    private final List<Counted> handedOver = new ArrayList<>();
    final List<String> requests = new ArrayList<>();
    private Faults faults = (id, bytes) -> bytes;

    /** Changes an answer. */
    interface Faults {
        /** Returns what arrives instead, {@code null} when nothing arrives; throws what the peer refuses with. */
        byte[] apply(String blockId, byte[] answer) throws IOException;
    }

    void add(TestExecutor executor) {
        executors.put(executor.id(), executor);
    }

    void faults(Faults next) {
        faults = next;
    }

    long requests(String prefix) {
        return requests.stream().filter(id -> id.startsWith(prefix)).count();
    }

    @Override
    public synchronized void fetch(
            BlockManagerId peer, String[] blockIds, BlockFetchingListener listener, DownloadFileManager files) {
        for (String blockId : blockIds) {
            requests.add(blockId);
            try {
                byte[] bytes = faults.apply(blockId, answer(executors.get(peer), blockId));
                if (bytes != null) {
                    Counted buffer = new Counted(bytes);
                    handedOver.add(buffer);
                    listener.onBlockFetchSuccess(blockId, buffer);
                    // As Spark does it when the listener has returned.
                    buffer.release();
                }
            } catch (IOException e) {
                listener.onBlockFetchFailure(blockId, e);
            }
        }
    }

    private byte[] answer(TestExecutor peer, String blockId) throws IOException {
        String[] parts = blockId.split("_", -1);
        int shuffleId = Integer.parseInt(parts[1]);
        long mapId = Long.parseLong(parts[2]);
        ManagedBuffer buffer;
        if (mapId == ReservedBlocks.ENDPOINT_MAP_ID) {
            buffer = peer.server().endpoint();
        } else if (mapId == ReservedBlocks.DIRECTORY_MAP_ID) {
            buffer = peer.server().directory(shuffleId);
        } else {
            int start = Integer.parseInt(parts[3]);
            int end = Integer.parseInt(parts[4]);
            if (ReservedBlocks.isPin(start, end)) {
                buffer = peer.server().pin(shuffleId, mapId, ReservedBlocks.encodeReduceId(start), end);
            } else {
                assertThat(ReservedBlocks.isFrame(start, end)).isTrue();
                buffer = peer.server()
                        .frame(
                                shuffleId,
                                mapId,
                                ReservedBlocks.encodeReduceId(start),
                                ReservedBlocks.encodeReduceId(end));
            }
        }
        try (InputStream in = buffer.createInputStream()) {
            return in.readAllBytes();
        } finally {
            buffer.release();
        }
    }

    void assertAllReleased() {
        for (Counted buffer : handedOver) {
            assertThat(buffer.references).hasValue(0);
        }
    }

    /** Heap bytes whose references are counted and whose use after release fails. */
    static final class Counted extends ManagedBuffer {
        private final byte[] bytes;
        final AtomicInteger references = new AtomicInteger(1);

        Counted(byte[] bytes) {
            this.bytes = bytes;
        }

        @Override
        public long size() {
            return bytes.length;
        }

        @Override
        public ByteBuffer nioByteBuffer() {
            return ByteBuffer.wrap(bytes);
        }

        @Override
        public InputStream createInputStream() {
            assertThat(references.get()).isPositive();
            return new ByteArrayInputStream(bytes) {
                private boolean closed;

                @Override
                public synchronized int read(byte[] target, int offset, int length) {
                    assertThat(references.get()).as("references while read").isPositive();
                    assertThat(closed).as("read after close").isFalse();
                    return super.read(target, offset, length);
                }

                @Override
                public void close() {
                    closed = true;
                }
            };
        }

        @Override
        public ManagedBuffer retain() {
            assertThat(references.getAndIncrement()).isPositive();
            return this;
        }

        @Override
        public ManagedBuffer release() {
            assertThat(references.decrementAndGet()).isNotNegative();
            return this;
        }

        @Override
        public Object convertToNetty() {
            throw new UnsupportedOperationException("never sent");
        }
    }
}
