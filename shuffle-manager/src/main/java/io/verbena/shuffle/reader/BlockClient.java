package io.verbena.shuffle.reader;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.storage.BlockManagerId;

/** Spark's block transfer as we use it; authenticated, encrypted and retried as Spark is configured. Threads: any. */
@FunctionalInterface
public interface BlockClient {
    /**
     * Asks a peer for blocks; the listener hears of each block once, on a transfer thread.
     *
     * @param files where blocks go instead of memory, {@code null} for memory
     */
    void fetch(BlockManagerId peer, String[] blockIds, BlockFetchingListener listener, DownloadFileManager files);

    /**
     * Fetches one small block and copies it.
     *
     * @throws IOException if the peer cannot be reached, refuses, or does not answer in time; the message names the peer
     */
    default byte[] fetchMessage(BlockManagerId peer, String blockId, long timeoutMs)
            throws IOException, InterruptedException {
        return fetchMessages(peer, List.of(blockId), timeoutMs).get(blockId);
    }

    /**
     * Fetches small blocks by one request and copies them.
     *
     * @param timeoutMs for all of them together
     * @throws IOException as {@link #fetchMessage}, for the first block that does not come
     */
    default Map<String, byte[]> fetchMessages(BlockManagerId peer, List<String> blockIds, long timeoutMs)
            throws IOException, InterruptedException {
        Map<String, CompletableFuture<byte[]>> answers = new LinkedHashMap<>();
        blockIds.forEach(blockId -> answers.put(blockId, new CompletableFuture<>()));
        fetch(
                peer,
                blockIds.toArray(String[]::new),
                new BlockFetchingListener() {
                    @Override
                    public void onBlockFetchSuccess(String id, ManagedBuffer data) {
                        try {
                            ByteBuffer bytes = data.nioByteBuffer();
                            byte[] copy = new byte[bytes.remaining()];
                            bytes.get(copy);
                            answers.get(id).complete(copy);
                        } catch (IOException | RuntimeException e) {
                            answers.get(id).completeExceptionally(e);
                        }
                    }

                    @Override
                    public void onBlockFetchFailure(String id, Throwable cause) {
                        answers.get(id).completeExceptionally(cause);
                    }
                },
                null);
        long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        Map<String, byte[]> messages = new HashMap<>();
        for (Map.Entry<String, CompletableFuture<byte[]>> answer : answers.entrySet()) {
            String blockId = answer.getKey();
            try {
                messages.put(
                        blockId,
                        answer.getValue().get(Math.max(0, deadlineNs - System.nanoTime()), TimeUnit.NANOSECONDS));
            } catch (ExecutionException e) {
                throw new IOException(
                        "cannot fetch " + blockId + " from " + name(peer) + ": " + e.getCause(), e.getCause());
            } catch (TimeoutException e) {
                throw new IOException(
                        "no answer to " + blockId + " from " + name(peer) + " within " + timeoutMs
                                + " ms; if the peer is only slow, raise spark.shuffle.rdma.fetch.timeout",
                        e);
            }
        }
        return messages;
    }

    /** A peer in a message. */
    static String name(BlockManagerId peer) {
        return "executor " + peer.executorId() + " at " + peer.host() + ":" + peer.port();
    }
}
