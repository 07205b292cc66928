package io.verbena.shuffle.reader;

import java.io.IOException;
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
        CompletableFuture<byte[]> answer = new CompletableFuture<>();
        fetch(
                peer,
                new String[] {blockId},
                new BlockFetchingListener() {
                    @Override
                    public void onBlockFetchSuccess(String id, ManagedBuffer data) {
                        try {
                            java.nio.ByteBuffer bytes = data.nioByteBuffer();
                            byte[] copy = new byte[bytes.remaining()];
                            bytes.get(copy);
                            answer.complete(copy);
                        } catch (IOException | RuntimeException e) {
                            answer.completeExceptionally(e);
                        }
                    }

                    @Override
                    public void onBlockFetchFailure(String id, Throwable cause) {
                        answer.completeExceptionally(cause);
                    }
                },
                null);
        try {
            return answer.get(timeoutMs, TimeUnit.MILLISECONDS);
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

    /** A peer in a message. */
    static String name(BlockManagerId peer) {
        return "executor " + peer.executorId() + " at " + peer.host() + ":" + peer.port();
    }
}
