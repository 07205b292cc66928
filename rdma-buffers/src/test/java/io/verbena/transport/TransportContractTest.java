package io.verbena.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.arena.RegisteredBuffer;
import io.verbena.memory.OffHeap;
import io.verbena.memory.SegmentBacking;
import io.verbena.registration.MemoryRegion;
import io.verbena.registration.Registrar;
import io.verbena.registration.SoftRegistrar;
import io.verbena.testing.Await;
import io.verbena.testing.Tmpfs;
import io.verbena.transport.ReadRequest.Range;
import io.verbena.transport.TransportException.Reason;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What every transport promises. A new transport is done when it passes this unchanged. */
@Timeout(60)
public abstract class TransportContractTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final int BYTES = 100_000;

    private Tmpfs shm;
    private TestEndpoint owner;
    private TestEndpoint reader;
    private RegisteredBuffer served;
    private RegisteredBuffer destination;
    private RemoteMemory remote;

    /** Opens an endpoint over memory in a directory that the other endpoint can see. */
    protected abstract Transport open(Supplier<List<MemoryRegion>> regions, SegmentBacking backing);

    /** Returns what registers the next endpoint's memory, closed with it. */
    protected Registrar registrar() throws Exception {
        return new SoftRegistrar();
    }

    @BeforeEach
    void connect() throws Exception {
        shm = Tmpfs.directory();
        owner = new TestEndpoint(shm.path(), "shm", registrar(), this::open);
        reader = new TestEndpoint(shm.path(), "shm", registrar(), this::open);
        served = owner.acquireFilled(BYTES, 1);
        destination = reader.acquire(BYTES);
        remote = reader.transport().connect(owner.transport().descriptor(), TIMEOUT);
    }

    @AfterEach
    void close() throws Exception {
        remote.close();
        served.release();
        destination.release();
        reader.close();
        owner.close();
        shm.close();
    }

    private static long in(Duration time) {
        return System.nanoTime() + time.toNanos();
    }

    private TransportException read(Range... ranges) throws Exception {
        RecordingListener listener = new RecordingListener();
        remote.read(new ReadRequest(destination, List.of(ranges), in(TIMEOUT), listener));
        return listener.await();
    }

    private void assertReadFails(Reason reason, Range range) throws Exception {
        TransportException failure = read(range);
        assertThat(failure).isNotNull();
        assertThat(failure.reason()).isEqualTo(reason);
        // The destination is the caller's again.
        OffHeap.putByte(destination.address(), (byte) 1);
        destination.markPosted();
        destination.markCompleted();
    }

    private static void assertFails(Reason reason, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        TransportException.class, e -> assertThat(e.reason()).isEqualTo(reason));
    }

    private byte[] received(int offset, int length) {
        byte[] bytes = new byte[length];
        destination.buffer().get(offset, bytes);
        return bytes;
    }

    private Range whole() {
        return new Range(served.address(), served.region().rkey(), BYTES, 0);
    }

    private long segmentEnd() {
        return served.region().segment().address() + served.region().segment().length();
    }

    @Test
    void shouldReadWhatTheOwnerWrote() throws Exception {
        assertThat(remote.isAlive()).isTrue();
        assertThat(remote.knows(served.region().rkey())).isTrue();
        assertThat(read(whole())).isNull();
        assertThat(received(0, BYTES)).isEqualTo(TestEndpoint.content(BYTES, 1));
    }

    @Test
    void shouldReadManyRangesInOneRequest() throws Exception {
        int ranges = 500;
        int length = BYTES / ranges;
        byte[] content = TestEndpoint.content(BYTES, 1);
        Range[] scattered = new Range[ranges];
        for (int i = 0; i < ranges; i++) {
            // Range i comes from the mirrored place.
            scattered[i] = new Range(
                    served.address() + (long) (ranges - 1 - i) * length,
                    served.region().rkey(),
                    length,
                    (long) i * length);
        }
        assertThat(read(scattered)).isNull();
        for (int i = 0; i < ranges; i++) {
            int from = (ranges - 1 - i) * length;
            assertThat(received(i * length, length)).isEqualTo(Arrays.copyOfRange(content, from, from + length));
        }
    }

    @Test
    void shouldSucceedWithZeroBytesAndWithNoRange() throws Exception {
        assertThat(read(new Range(served.address(), served.region().rkey(), 0, BYTES)))
                .isNull();
        assertThat(read(new Range(segmentEnd(), served.region().rkey(), 0, 0))).isNull();
        assertThat(read()).isNull();
    }

    @Test
    void shouldRefuseAWrongKey() throws Exception {
        int wrong = served.region().rkey() + 1;
        assertThat(remote.knows(wrong)).isFalse();
        assertReadFails(Reason.REMOTE_ACCESS, new Range(served.address(), wrong, 10, 0));
    }

    @Test
    void shouldRefuseRangesOutsideTheSegmentByOne() throws Exception {
        int rkey = served.region().rkey();
        long start = served.region().segment().address();
        assertThat(read(new Range(segmentEnd() - 10, rkey, 10, 0))).isNull();
        assertReadFails(Reason.REMOTE_ACCESS, new Range(segmentEnd() - 10, rkey, 11, 0));
        assertThat(read(new Range(start, rkey, 10, 0))).isNull();
        assertReadFails(Reason.REMOTE_ACCESS, new Range(start - 1, rkey, 10, 0));
        assertReadFails(Reason.REMOTE_ACCESS, new Range(segmentEnd() + 1, rkey, 0, 0));
    }

    @Test
    void shouldRefuseRangesWhoseArithmeticOverflows() throws Exception {
        int rkey = served.region().rkey();
        for (long address : new long[] {Long.MAX_VALUE, Long.MAX_VALUE - 5, Long.MIN_VALUE, -1, 0}) {
            assertReadFails(Reason.REMOTE_ACCESS, new Range(address, rkey, 10, 0));
        }
    }

    @Test
    void shouldRefuseRequestsThatDoNotFitTheDestination() {
        int rkey = served.region().rkey();
        RecordingListener listener = new RecordingListener();
        for (Range range : List.of(
                new Range(served.address(), rkey, BYTES, 1),
                new Range(served.address(), rkey, -1, 0),
                new Range(served.address(), rkey, 10, -1),
                new Range(served.address(), rkey, Long.MAX_VALUE, 10),
                new Range(served.address(), rkey, 10, Long.MAX_VALUE))) {
            assertThatThrownBy(() -> new ReadRequest(destination, List.of(range), in(TIMEOUT), listener))
                    .isInstanceOf(IllegalArgumentException.class);
        }
        RegisteredBuffer shrunk = reader.acquire(1000);
        ReadRequest late =
                new ReadRequest(shrunk, List.of(new Range(served.address(), rkey, 1000, 0)), in(TIMEOUT), listener);
        shrunk.shrink(10);
        assertThatThrownBy(() -> remote.read(late)).isInstanceOf(IllegalArgumentException.class);
        shrunk.release();
        assertThatThrownBy(() -> remote.read(late)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void shouldReadNewSegmentsAfterARefreshAndForgetTrimmedOnes() throws Exception {
        RegisteredBuffer added = owner.acquireFilled((int) TestEndpoint.SEGMENT, 2);
        int rkey = added.region().rkey();
        Range range = new Range(added.address() + 5, rkey, 1000, 0);
        assertThat(remote.knows(rkey)).isFalse();
        assertReadFails(Reason.REMOTE_ACCESS, range);
        remote.refresh(owner.transport().descriptor());
        assertThat(remote.knows(rkey)).isTrue();
        assertThat(read(range)).isNull();
        assertThat(received(0, 1000)).isEqualTo(Arrays.copyOfRange(TestEndpoint.content(1005, 2), 5, 1005));
        added.release();
        assertThat(owner.arena().trim(0)).isEqualTo(1);
        remote.refresh(owner.transport().descriptor());
        assertThat(remote.knows(rkey)).isFalse();
        assertReadFails(Reason.REMOTE_ACCESS, range);
        assertThat(read(whole())).isNull();
    }

    @Test
    void shouldRefuseASegmentThatWasTrimmedBeforeItWasEverRead() throws Exception {
        RegisteredBuffer added = owner.acquire(TestEndpoint.SEGMENT);
        Range range = new Range(added.address(), added.region().rkey(), 10, 0);
        remote.refresh(owner.transport().descriptor());
        added.release();
        assertThat(owner.arena().trim(0)).isEqualTo(1);
        assertReadFails(Reason.REMOTE_ACCESS, range);
    }

    @Test
    void shouldKeepTheOldTableWhenARefreshFails() throws Exception {
        byte[] damaged = owner.transport().descriptor();
        damaged[damaged.length / 2] ^= 1;
        assertFails(Reason.CORRUPT_DESCRIPTOR, () -> remote.refresh(damaged));
        byte[] other = reader.transport().descriptor();
        assertFails(Reason.PEER_GONE, () -> remote.refresh(other));
        assertThat(read(whole())).isNull();
    }

    @Test
    void shouldNotBeUnreadWhileALeaseIsHeld() throws Exception {
        Transport serving = owner.transport();
        assertThat(serving.unread(7)).isTrue();
        ReadLease first = remote.acquireLease(7, TIMEOUT);
        ReadLease second = remote.acquireLease(7, TIMEOUT);
        ReadLease local = serving.leaseLocal(7);
        ReadLease negative = remote.acquireLease(-7, TIMEOUT);
        assertThat(first.key()).isEqualTo(7);
        assertThat(negative.key()).isEqualTo(-7);
        assertThat(serving.unread(7)).isFalse();
        assertThat(serving.unread(8)).isTrue();
        first.close();
        first.close();
        assertThat(serving.unread(7)).isFalse();
        second.close();
        assertThat(serving.unread(7)).isFalse();
        local.close();
        local.close();
        Await.until("key 7 is unread", () -> serving.unread(7));
        assertThat(serving.unread(-7)).isFalse();
        negative.close();
        Await.until("key -7 is unread", () -> serving.unread(-7));
    }

    @Test
    void shouldProtectRetiredMemoryUntilTheLeaseEnds() throws Exception {
        RegisteredBuffer old = owner.acquireFilled(BYTES, 3);
        Range range = new Range(old.address(), old.region().rkey(), BYTES, 0);
        try (ReadLease lease = remote.acquireLease(3, TIMEOUT)) {
            owner.arena().retire(old, () -> owner.transport().unread(lease.key()));
            assertThat(owner.arena().reclaim()).isZero();
            assertThat(read(range)).isNull();
            assertThat(received(0, BYTES)).isEqualTo(TestEndpoint.content(BYTES, 3));
        }
        Await.until("retired memory is free", () -> {
            owner.arena().reclaim();
            return owner.arena().statistics().quarantinedBytes() == 0;
        });
    }

    @Test
    void shouldRefuseDescriptorsWithAnyDamage() {
        byte[] good = owner.transport().descriptor();
        Transport connecting = reader.transport();
        for (int i = 0; i < good.length; i++) {
            byte[] damaged = good.clone();
            damaged[i] ^= 0x40;
            boolean inVersion = i >= 4 && i < 8;
            assertFails(
                    inVersion ? Reason.VERSION_MISMATCH : Reason.CORRUPT_DESCRIPTOR,
                    () -> connecting.connect(damaged, TIMEOUT));
        }
        for (int length = 0; length < good.length; length++) {
            byte[] cut = Arrays.copyOf(good, length);
            assertFails(Reason.CORRUPT_DESCRIPTOR, () -> connecting.connect(cut, TIMEOUT));
        }
        byte[] longer = Arrays.copyOf(good, good.length + 1);
        assertFails(Reason.CORRUPT_DESCRIPTOR, () -> connecting.connect(longer, TIMEOUT));
    }

    @Test
    void shouldNotReachEndpointsOfAnotherKindOrOfNobody() throws Exception {
        EndpointDescriptor real = EndpointDescriptor.decode(owner.transport().descriptor());
        byte[] otherKind = new EndpointDescriptor(
                        "pigeon", real.bootId(), real.token(), real.leaseFile(), real.segments())
                .encode();
        assertFails(Reason.NOT_REACHABLE, () -> reader.transport().connect(otherKind, TIMEOUT));
        byte[] nobody = new EndpointDescriptor(real.transport(), "", UUID.randomUUID(), null, real.segments()).encode();
        assertFails(Reason.NOT_REACHABLE, () -> reader.transport().connect(nobody, TIMEOUT));
    }

    @Test
    void shouldSayThatThePeerIsGoneAfterItClosed() throws Exception {
        byte[] descriptor = owner.transport().descriptor();
        owner.transport().close();
        Await.until("peer is known to be gone", () -> !remote.isAlive());
        assertReadFails(Reason.PEER_GONE, whole());
        assertFails(Reason.PEER_GONE, () -> remote.acquireLease(1, TIMEOUT));
        assertFails(Reason.NOT_REACHABLE, () -> reader.transport().connect(descriptor, TIMEOUT));
    }

    @Test
    void shouldSayClosedAfterThisSideClosed() throws Exception {
        remote.close();
        remote.close();
        assertReadFails(Reason.CLOSED, whole());
        assertFails(Reason.CLOSED, () -> remote.acquireLease(1, TIMEOUT));
        assertFails(Reason.CLOSED, () -> remote.refresh(owner.transport().descriptor()));
        RemoteMemory again = reader.transport().connect(owner.transport().descriptor(), TIMEOUT);
        reader.transport().close();
        RecordingListener listener = new RecordingListener();
        again.read(new ReadRequest(destination, List.of(whole()), in(TIMEOUT), listener));
        assertThat(listener.await().reason()).isEqualTo(Reason.CLOSED);
        assertFails(
                Reason.CLOSED,
                () -> reader.transport().connect(owner.transport().descriptor(), TIMEOUT));
        again.close();
    }

    @Test
    void shouldKeepLeasesThatOutliveTheConnection() throws Exception {
        ReadLease lease = remote.acquireLease(5, TIMEOUT);
        remote.close();
        assertThat(owner.transport().unread(5)).isFalse();
        lease.close();
        Await.until("key 5 is unread", () -> owner.transport().unread(5));
    }

    @Test
    void shouldFailReadsThatMissTheirDeadline() throws Exception {
        RecordingListener listener = new RecordingListener();
        remote.read(new ReadRequest(destination, List.of(whole()), System.nanoTime() - 1, listener));
        assertThat(listener.await().reason()).isEqualTo(Reason.TIMEOUT);
    }

    @Test
    void shouldHoldTheDestinationWhileTheReadIsInFlight() throws Exception {
        CountDownLatch inCallback = new CountDownLatch(1);
        CountDownLatch gate = new CountDownLatch(1);
        RegisteredBuffer first = reader.acquire(10);
        ReadRequest.Listener blocking = new ReadRequest.Listener() {
            @Override
            public void onSuccess() {
                inCallback.countDown();
                try {
                    assertThat(gate.await(20, TimeUnit.SECONDS)).isTrue();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }

            @Override
            public void onFailure(TransportException cause) {
                throw new AssertionError(cause);
            }
        };
        Range small = new Range(served.address(), served.region().rkey(), 10, 0);
        remote.read(new ReadRequest(first, List.of(small), in(TIMEOUT), blocking));
        assertThat(inCallback.await(20, TimeUnit.SECONDS)).isTrue();
        // Before its callback the first one was handed back; the second waits behind it.
        first.release();
        RecordingListener listener = new RecordingListener();
        remote.read(new ReadRequest(destination, List.of(whole()), in(TIMEOUT), listener));
        assertThatThrownBy(destination::release)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("POSTED");
        gate.countDown();
        assertThat(listener.await()).isNull();
    }

    @Test
    void shouldServeConcurrentReaders() throws Exception {
        byte[] content = TestEndpoint.content(BYTES, 1);
        ExecutorService pool = Executors.newFixedThreadPool(4);
        try {
            List<Future<Integer>> results = new ArrayList<>();
            for (int t = 0; t < 4; t++) {
                int seed = t;
                results.add(pool.submit((Callable<Integer>) () -> readRandomly(content, seed)));
            }
            for (Future<Integer> result : results) {
                assertThat(result.get()).isEqualTo(100);
            }
        } finally {
            pool.shutdown();
        }
        Await.until("key 9 is unread", () -> owner.transport().unread(9));
    }

    private int readRandomly(byte[] content, int seed) throws Exception {
        Random random = new Random(seed);
        RegisteredBuffer mine = reader.acquire(BYTES);
        int reads = 0;
        for (; reads < 100; reads++) {
            int from = random.nextInt(BYTES);
            int length = random.nextInt(BYTES - from);
            RecordingListener listener = new RecordingListener();
            try (ReadLease lease = remote.acquireLease(9, TIMEOUT)) {
                assertThat(owner.transport().unread(lease.key())).isFalse();
                Range range = new Range(served.address() + from, served.region().rkey(), length, 0);
                remote.read(new ReadRequest(mine, List.of(range), in(TIMEOUT), listener));
                assertThat(listener.await()).isNull();
            }
            byte[] got = new byte[length];
            mine.buffer().get(0, got);
            assertThat(got).isEqualTo(Arrays.copyOfRange(content, from, from + length));
        }
        mine.release();
        return reads;
    }

    @Test
    void shouldShowTheOwnersBytesInViewsIfItHasViews() throws Exception {
        int rkey = served.region().rkey();
        if (!remote.supportsViews()) {
            assertThatThrownBy(() -> remote.view(served.address(), rkey, 1))
                    .isInstanceOf(UnsupportedOperationException.class);
            assertThatThrownBy(() -> remote.viewBuffer(served.address(), rkey, 1))
                    .isInstanceOf(UnsupportedOperationException.class);
            return;
        }
        byte[] content = TestEndpoint.content(BYTES, 1);
        try (ReadLease lease = remote.acquireLease(1, TIMEOUT)) {
            assertThat(owner.transport().unread(lease.key())).isFalse();
            byte[] seen = new byte[BYTES];
            OffHeap.copy(null, remote.view(served.address(), rkey, BYTES), seen, OffHeap.BYTE_ARRAY_OFFSET, BYTES);
            assertThat(seen).isEqualTo(content);
            ByteBuffer buffer = remote.viewBuffer(served.address() + 3, rkey, 100);
            assertThat(buffer.isReadOnly()).isTrue();
            assertThat(buffer.isDirect()).isTrue();
            assertThat(buffer.order()).isEqualTo(ByteOrder.nativeOrder());
            assertThat(buffer.position()).isZero();
            assertThat(buffer.remaining()).isEqualTo(100);
            byte[] part = new byte[100];
            buffer.get(part);
            assertThat(part).isEqualTo(Arrays.copyOfRange(content, 3, 103));
            assertThat(remote.viewBuffer(segmentEnd(), rkey, 0).remaining()).isZero();
            // It is the same memory, not a copy.
            OffHeap.putByte(served.address() + 3, (byte) ~content[3]);
            assertThat(buffer.get(0)).isEqualTo((byte) ~content[3]);
        }
        assertFails(Reason.REMOTE_ACCESS, () -> remote.view(segmentEnd() - 9, rkey, 10));
        assertFails(Reason.REMOTE_ACCESS, () -> remote.viewBuffer(segmentEnd() - 9, rkey, 10));
        assertFails(Reason.REMOTE_ACCESS, () -> remote.view(served.address(), rkey, Long.MAX_VALUE));
        assertFails(Reason.REMOTE_ACCESS, () -> remote.view(served.address(), rkey, -1));
        assertFails(Reason.REMOTE_ACCESS, () -> remote.view(Long.MAX_VALUE, rkey, Long.MAX_VALUE));
        assertFails(Reason.REMOTE_ACCESS, () -> remote.view(served.address(), rkey + 1, 1));
        remote.close();
        assertFails(Reason.CLOSED, () -> remote.view(served.address(), rkey, 1));
    }

    @Test
    void shouldKeepViewsWhileTheirLeaseIsHeldWhateverTheOwnerDoes() throws Exception {
        if (!remote.supportsViews()) {
            assertThat(remote.isAlive()).isTrue();
            return;
        }
        RegisteredBuffer added = owner.acquireFilled((int) TestEndpoint.SEGMENT, 4);
        remote.refresh(owner.transport().descriptor());
        byte[] content = TestEndpoint.content((int) TestEndpoint.SEGMENT, 4);
        ReadLease lease = remote.acquireLease(2, TIMEOUT);
        ByteBuffer view = remote.viewBuffer(added.address(), added.region().rkey(), content.length);
        added.release();
        assertThat(owner.arena().trim(0)).isEqualTo(1);
        remote.refresh(owner.transport().descriptor());
        owner.transport().close();
        remote.close();
        byte[] seen = new byte[content.length];
        view.get(seen);
        assertThat(seen).isEqualTo(content);
        lease.close();
    }
}
