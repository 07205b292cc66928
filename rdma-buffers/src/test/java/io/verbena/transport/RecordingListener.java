package io.verbena.transport;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/** Waits for the one call it may get. */
public final class RecordingListener implements ReadRequest.Listener {
    private final CompletableFuture<TransportException> end = new CompletableFuture<>();
    private final AtomicInteger calls = new AtomicInteger();

    @Override
    public void onSuccess() {
        calls.incrementAndGet();
        end.complete(null);
    }

    @Override
    public void onFailure(TransportException cause) {
        calls.incrementAndGet();
        end.complete(cause);
    }

    /** Returns the failure, null after success. */
    public TransportException await() throws InterruptedException, ExecutionException, TimeoutException {
        TransportException cause = end.get(120, TimeUnit.SECONDS);
        assertThat(calls.get()).isEqualTo(1);
        return cause;
    }
}
