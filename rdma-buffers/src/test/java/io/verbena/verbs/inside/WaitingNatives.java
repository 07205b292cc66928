package io.verbena.verbs.inside;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.verbs.bound.VerbsNative;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Waiting and waking: no device needed. */
public final class WaitingNatives implements AutoCloseable {
    private final int first;
    private final int second;

    public WaitingNatives() throws IOException {
        first = VerbsNative.eventFd();
        second = VerbsNative.eventFd();
    }

    public void shouldTellWhichAreReadable() throws IOException {
        int[] fds = {first, second};
        assertThat(VerbsNative.pollFds(fds, 2, 0)).isZero();
        VerbsNative.signal(second);
        VerbsNative.signal(second);
        assertThat(VerbsNative.pollFds(fds, 2, -1)).isEqualTo(2);
        assertThat(VerbsNative.pollFds(fds, 1, 0)).isZero();
        VerbsNative.signal(first);
        assertThat(VerbsNative.pollFds(fds, 2, 1000)).isEqualTo(3);
        VerbsNative.clear(second);
        assertThat(VerbsNative.pollFds(fds, 2, 1000)).isEqualTo(1);
        VerbsNative.clear(first);
        VerbsNative.clear(first);
        assertThat(VerbsNative.pollFds(fds, 2, 0)).isZero();
    }

    public void shouldEndAtItsTime() throws IOException {
        long startNs = System.nanoTime();
        assertThat(VerbsNative.pollFds(new int[] {first}, 1, 30)).isZero();
        assertThat(System.nanoTime() - startNs).isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(30));
    }

    public void shouldBeWokenByAnotherThread() throws Exception {
        CompletableFuture<Integer> result = CompletableFuture.supplyAsync(() -> {
            try {
                return VerbsNative.pollFds(new int[] {first, second}, 2, -1);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        VerbsNative.signal(second);
        assertThat(result.get(20, TimeUnit.SECONDS)).isEqualTo(2);
    }

    public void shouldRefuseDescriptorsThatAreNotOpen() throws IOException {
        int fd = VerbsNative.eventFd();
        VerbsNative.closeFd(fd);
        assertThatThrownBy(() -> VerbsNative.pollFds(new int[] {first, fd}, 2, 1000))
                .isInstanceOf(IOException.class)
                .hasMessage("poll: fd=" + fd + " is not open [EBADF 9]");
        assertThatThrownBy(() -> VerbsNative.pollFds(new int[40], 40, 0))
                .hasMessage("poll: count=40 is not 0..31 [EINVAL 22]");
        assertThatThrownBy(() -> VerbsNative.pollFds(new int[1], 2, 0))
                .isInstanceOf(ArrayIndexOutOfBoundsException.class);
    }

    @Override
    public void close() {
        VerbsNative.closeFd(first);
        VerbsNative.closeFd(second);
    }
}
