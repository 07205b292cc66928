package io.verbena.verbs.inside;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.verbs.bound.VerbsNative;
import io.verbena.verbs.fake.FakeVerbs;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A signal must not end a wait early, and must not make it longer. */
public final class SignalsOnFake implements AutoCloseable {
    private static final int TIMEOUT_MS = 200;

    private final int fd;

    /** Creates one. */
    public SignalsOnFake() throws IOException {
        fd = VerbsNative.eventFd();
    }

    public void shouldGoOnWaitingAfterSignals() throws Exception {
        int thread = FakeVerbs.threadId();
        CompletableFuture<Integer> sent = new CompletableFuture<>();
        Thread sender = new Thread(() -> {
            int count = 0;
            for (; count < 10; count++) {
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MS / 20));
                FakeVerbs.interrupt(thread);
            }
            sent.complete(count);
        });
        long startNs = System.nanoTime();
        sender.start();
        assertThat(VerbsNative.pollFds(new int[] {fd}, 1, TIMEOUT_MS)).isZero();
        long waitedMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNs);
        assertThat(waitedMs).isBetween((long) TIMEOUT_MS, 20_000L);
        assertThat(sent.get(20, TimeUnit.SECONDS)).isEqualTo(10);
    }

    @Override
    public void close() {
        VerbsNative.closeFd(fd);
    }
}
