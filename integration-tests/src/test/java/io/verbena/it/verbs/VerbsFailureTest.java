package io.verbena.it.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.arena.RegisteredBuffer;
import io.verbena.guest.GuestHost;
import io.verbena.memory.OffHeap;
import io.verbena.testing.Await;
import io.verbena.testing.ChildJvm;
import io.verbena.transport.EndpointDescriptor;
import io.verbena.transport.EndpointDescriptor.DeviceEntry;
import io.verbena.transport.EndpointDescriptor.SegmentEntry;
import io.verbena.transport.ReadRequest;
import io.verbena.transport.ReadRequest.Range;
import io.verbena.transport.RecordingListener;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.TestEndpoint;
import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What goes wrong on a network, over real verbs between the guest's two hosts; docs/failures.md has the table. */
@Tag("guest")
@Timeout(300)
class VerbsFailureTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(20);
    private static final int BYTES = 100_000;
    private static final String A = GuestHost.A.address4();
    private static final String B = GuestHost.B.address4();

    private VerbsSide owner;
    private VerbsSide reader;
    private RegisteredBuffer served;
    private RegisteredBuffer destination;

    @BeforeEach
    void open() throws Exception {
        owner = VerbsSide.open(VerbsSide.on(A).withLeaseTimeout(Duration.ofSeconds(3)));
        reader = VerbsSide.open(VerbsSide.on(B));
        served = owner.endpoint().acquireFilled(BYTES, 1);
        destination = reader.endpoint().acquire(BYTES);
    }

    @AfterEach
    void close() throws Exception {
        served.release();
        destination.release();
        reader.close();
        owner.close();
    }

    private Range whole() {
        return new Range(served.address(), served.region().rkey(), BYTES, 0);
    }

    private TransportException read(RemoteMemory remote, Range range, Duration within) throws Exception {
        RecordingListener listener = new RecordingListener();
        remote.read(new ReadRequest(destination, List.of(range), System.nanoTime() + within.toNanos(), listener));
        return listener.await();
    }

    private RemoteMemory connect() throws Exception {
        return reader.transport().connect(owner.transport().descriptor(), TIMEOUT);
    }

    private void assertReads(RemoteMemory remote) throws Exception {
        assertThat(read(remote, whole(), TIMEOUT)).isNull();
        byte[] got = new byte[BYTES];
        destination.buffer().get(0, got);
        assertThat(got).isEqualTo(TestEndpoint.content(BYTES, 1));
    }

    private void assertAllIsWell() throws Exception {
        try (RemoteMemory again = connect()) {
            assertReads(again);
        }
    }

    private RemoteMemory connectWith(UnaryOperator<EndpointDescriptor> change, Duration timeout) throws Exception {
        return reader.transport().connect(change.apply(owner.descriptor()).encode(), timeout);
    }

    private static EndpointDescriptor with(
            EndpointDescriptor real, UUID token, List<SegmentEntry> segments, List<DeviceEntry> devices) {
        return new EndpointDescriptor(real.transport(), real.bootId(), token, real.leaseFile(), segments, devices);
    }

    private static EndpointDescriptor withKeys(EndpointDescriptor real, UnaryOperator<Integer> change) {
        return with(
                real,
                real.token(),
                real.segments(),
                real.devices().stream()
                        .map(d -> new DeviceEntry(
                                d.addresses(), d.rkeys().stream().map(change).toList()))
                        .toList());
    }

    private static EndpointDescriptor withAddress(EndpointDescriptor real, String address, int portOffset) {
        return with(
                real,
                real.token(),
                real.segments(),
                real.devices().stream()
                        .map(d -> new DeviceEntry(
                                d.addresses().stream()
                                        .map(a -> moved(a, address, portOffset))
                                        .toList(),
                                d.rkeys()))
                        .toList());
    }

    private static InetSocketAddress moved(InetSocketAddress from, String address, int portOffset) {
        try {
            return new InetSocketAddress(InetAddress.getByName(address), from.getPort() + portOffset);
        } catch (java.net.UnknownHostException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void shouldRefuseAWrongDeviceKeyAndLoseOnlyThatConnection() throws Exception {
        try (RemoteMemory other = connect();
                RemoteMemory wrong = connectWith(d -> withKeys(d, key -> key ^ 0x5a00), TIMEOUT)) {
            TransportException failure = read(wrong, whole(), TIMEOUT);
            assertThat(failure).isNotNull();
            assertThat(failure.reason()).isEqualTo(Reason.REMOTE_ACCESS);
            assertThat(wrong.isAlive()).isFalse();
            assertThat(read(wrong, whole(), TIMEOUT).reason()).isEqualTo(Reason.PEER_GONE);
            assertReads(other);
        }
        assertThat(reader.statistics().connectionFailures()).isEqualTo(1);
        assertAllIsWell();
    }

    @Test
    void shouldRefuseARangeThatOnlyTheDescriptorAllows() throws Exception {
        UnaryOperator<EndpointDescriptor> twice = d -> with(
                d,
                d.token(),
                d.segments().stream()
                        .map(s -> new SegmentEntry(s.id(), s.address(), 2 * s.length(), s.rkey(), s.file()))
                        .toList(),
                d.devices());
        try (RemoteMemory remote = connectWith(twice, TIMEOUT)) {
            long end = served.region().segment().address()
                    + served.region().segment().length();
            OffHeap.putLong(destination.address(), 0x1122334455667788L);
            TransportException failure =
                    read(remote, new Range(end - 8, served.region().rkey(), 16, 0), TIMEOUT);
            assertThat(failure).isNotNull();
            assertThat(failure.reason()).isEqualTo(Reason.REMOTE_ACCESS);
        }
        assertAllIsWell();
    }

    @Test
    void shouldEndReadsOfMemoryThatIsTakenAwayWhileTheyRun() throws Exception {
        RegisteredBuffer added = owner.endpoint().acquireFilled((int) TestEndpoint.SEGMENT, 2);
        Range range = new Range(added.address(), added.region().rkey(), BYTES, 0);
        try (RemoteMemory remote = connect()) {
            assertThat(read(remote, range, TIMEOUT)).isNull();
            added.release();
            assertThat(owner.endpoint().arena().trim(0)).isEqualTo(1);
            TransportException failure = read(remote, range, Duration.ofSeconds(3));
            // Kernels differ: refused at once, or never answered, which ends with the deadline.
            assertThat(failure).isNotNull();
            assertThat(failure.reason()).isIn(Reason.REMOTE_ACCESS, Reason.TIMEOUT);
            assertThat(remote.isAlive()).isFalse();
        }
        assertAllIsWell();
    }

    @Test
    void shouldEndReadsWhenThePeerIsKilled() throws Exception {
        try (ChildJvm peer = new ChildJvm(VerbsProcess.class, List.of("own", A))) {
            String[] said = peer.expect("DESCRIPTOR").split(" ", -1);
            byte[] descriptor = HexFormat.of().parseHex(said[0]);
            SegmentEntry segment =
                    EndpointDescriptor.decode(descriptor).segments().get(0);
            Range range = new Range(Long.parseLong(said[1]), segment.rkey(), BYTES, 0);
            try (RemoteMemory remote = reader.transport().connect(descriptor, TIMEOUT)) {
                assertThat(read(remote, range, TIMEOUT)).isNull();
                peer.kill();
                TransportException failure = null;
                while (failure == null) {
                    failure = read(remote, range, Duration.ofSeconds(10));
                }
                assertThat(failure.reason()).isIn(Reason.PEER_GONE, Reason.TIMEOUT, Reason.REMOTE_ACCESS);
                Await.until("peer is known to be gone", () -> !remote.isAlive());
                assertThatThrownBy(() -> remote.acquireLease(1, TIMEOUT)).isInstanceOf(TransportException.class);
            }
            assertThatThrownBy(() -> reader.transport().connect(descriptor, TIMEOUT))
                    .isInstanceOfSatisfying(
                            TransportException.class,
                            e -> assertThat(e.reason()).isEqualTo(Reason.NOT_REACHABLE));
        }
        assertAllIsWell();
    }

    @Test
    void shouldEndReadsAtTheirDeadlineWhenTheCableIsCutAndGoOnWhenItIsBack() throws Exception {
        try (RemoteMemory remote = connect()) {
            assertReads(remote);
            TransportException failure;
            GuestHost.B.unplug();
            try {
                failure = read(remote, whole(), Duration.ofSeconds(2));
            } finally {
                GuestHost.B.plug();
            }
            assertThat(failure).isNotNull();
            assertThat(failure.reason()).isIn(Reason.TIMEOUT, Reason.PEER_GONE);
        }
        assertAllIsWell();
    }

    @Test
    void shouldNotTouchTheDestinationAfterTheDeadline() throws Exception {
        try (RemoteMemory remote = connect()) {
            assertReads(remote);
            TransportException failure;
            GuestHost.stopSwitch();
            try {
                failure = read(remote, whole(), Duration.ofMillis(300));
                byte[] mine = new byte[BYTES];
                Arrays.fill(mine, (byte) 0x77);
                OffHeap.copy(mine, OffHeap.BYTE_ARRAY_OFFSET, null, destination.address(), BYTES);
            } finally {
                GuestHost.startSwitch();
            }
            assertThat(failure).isNotNull();
            assertThat(failure.reason()).isEqualTo(Reason.TIMEOUT);
        }
        // Packets travel again: another connection proves it, into other memory.
        RegisteredBuffer second = reader.endpoint().acquire(BYTES);
        try (RemoteMemory remote = connect()) {
            RecordingListener listener = new RecordingListener();
            remote.read(new ReadRequest(second, List.of(whole()), System.nanoTime() + TIMEOUT.toNanos(), listener));
            assertThat(listener.await()).isNull();
        }
        second.release();
        byte[] got = new byte[BYTES];
        destination.buffer().get(0, got);
        for (byte each : got) {
            assertThat(each).isEqualTo((byte) 0x77);
        }
    }

    @Test
    void shouldFailToConnectToADeadPort() {
        assertThatThrownBy(() -> connectWith(d -> withAddress(d, A, 1111), TIMEOUT))
                .isInstanceOfSatisfying(
                        TransportException.class, e -> assertThat(e.reason()).isEqualTo(Reason.NOT_REACHABLE))
                .hasMessageContaining(A);
    }

    @Test
    void shouldFailToConnectToAHostThatIsNotThere() {
        long beganNs = System.nanoTime();
        assertThatThrownBy(() -> connectWith(d -> withAddress(d, "10.1.0.99", 0), Duration.ofSeconds(3)))
                .isInstanceOfSatisfying(
                        TransportException.class,
                        e -> assertThat(e.reason()).isIn(Reason.NOT_REACHABLE, Reason.TIMEOUT))
                .hasMessageContaining("10.1.0.99");
        assertThat(Duration.ofNanos(System.nanoTime() - beganNs)).isLessThan(Duration.ofSeconds(13));
    }

    @Test
    void shouldGiveUpOnAPeerThatNeverAnswersItsConnectRequest() throws Exception {
        try (ChildJvm peer = new ChildJvm(VerbsProcess.class, List.of("own", A))) {
            byte[] descriptor =
                    HexFormat.of().parseHex(peer.expect("DESCRIPTOR").split(" ", -1)[0]);
            peer.stop();
            long beganNs = System.nanoTime();
            assertThatThrownBy(() -> reader.transport().connect(descriptor, Duration.ofSeconds(2)))
                    .isInstanceOfSatisfying(
                            TransportException.class,
                            e -> assertThat(e.reason()).isEqualTo(Reason.TIMEOUT));
            assertThat(Duration.ofNanos(System.nanoTime() - beganNs)).isLessThan(Duration.ofSeconds(12));
        }
        assertAllIsWell();
    }

    @Test
    void shouldRefuseAWrongTokenAndCountIt() throws Exception {
        assertThatThrownBy(() -> connectWith(d -> with(d, UUID.randomUUID(), d.segments(), d.devices()), TIMEOUT))
                .isInstanceOfSatisfying(
                        TransportException.class, e -> assertThat(e.reason()).isEqualTo(Reason.NOT_REACHABLE))
                .hasMessageContaining("TOKEN");
        assertThat(owner.statistics().rejects()).isEqualTo(1);
        assertThat(owner.statistics().accepts()).isZero();
        assertAllIsWell();
    }

    @Test
    void shouldForgetTheLeasesOfAReaderThatIsKilled() throws Exception {
        try (ChildJvm peer = reading()) {
            assertThat(owner.transport().unread(VerbsProcess.KEY)).isFalse();
            peer.kill();
            Await.until("the key is unread", () -> owner.transport().unread(VerbsProcess.KEY));
        }
    }

    @Test
    void shouldCutAReaderThatIsSilentBeforeForgettingItsLeases() throws Exception {
        try (ChildJvm peer = reading()) {
            assertThat(owner.transport().unread(VerbsProcess.KEY)).isFalse();
            peer.stop();
            Await.until("the key is unread", () -> owner.transport().unread(VerbsProcess.KEY));
            peer.resume();
            assertThat(peer.expect("FAILED")).startsWith("PEER_GONE");
        }
        assertThat(owner.statistics().connectionFailures()).isEqualTo(1);
    }

    private ChildJvm reading() throws Exception {
        ChildJvm peer = new ChildJvm(
                VerbsProcess.class,
                List.of("read", B, HexFormat.of().formatHex(owner.transport().descriptor())));
        peer.expect("HELD");
        return peer;
    }

    @Test
    void shouldSayThatTheLimitOnLockedMemoryIsTooLow() throws Exception {
        try (ChildJvm child = limited("64m", 1L << 30)) {
            assertThat(child.expect("UNAVAILABLE"))
                    .contains("RLIMIT_MEMLOCK=67108864")
                    .contains("ulimit -l unlimited")
                    .contains("spark.shuffle.rdma.memory.size");
        }
    }

    @Test
    void shouldLeaveMemoryThatCannotBeRegisteredToOtherWays() throws Exception {
        try (ChildJvm child = limited("4m", 1L << 20)) {
            String[] said = child.expect("SEGMENTS").split("[ =]", -1);
            int refused = Integer.parseInt(said[2]);
            assertThat(refused).isBetween(1, 8);
            assertThat(Integer.parseInt(said[4])).isGreaterThanOrEqualTo(refused);
        }
    }

    /** Root may lock what it likes, so the capability goes with the limit. */
    private static ChildJvm limited(String megabytes, long memoryBytes) throws Exception {
        long bytes = Long.parseLong(megabytes.substring(0, megabytes.length() - 1)) << 20;
        return new ChildJvm(
                List.of(
                        "setpriv",
                        "--bounding-set",
                        "-ipc_lock",
                        "--inh-caps",
                        "-ipc_lock",
                        "prlimit",
                        "--memlock=" + bytes + ":" + bytes),
                VerbsProcess.class,
                List.of("limits", A, Long.toString(memoryBytes)));
    }

    @Test
    void shouldEndReadsWhenTheirDeviceIsRemoved() throws Exception {
        try (ExtraDevice device = new ExtraDevice()) {
            try (ChildJvm peer = new ChildJvm(VerbsProcess.class, List.of("own", ExtraDevice.ADDRESS))) {
                String descriptor = peer.expect("DESCRIPTOR").split(" ", -1)[0];
                try (ChildJvm reading =
                        new ChildJvm(VerbsProcess.class, List.of("read", ExtraDevice.ADDRESS, descriptor))) {
                    reading.expect("HELD");
                    device.beginRemoval();
                    assertThat(reading.expect("FAILED")).startsWith("PEER_GONE");
                }
            }
            assertThat(device.isRemoved()).isTrue();
        }
        assertAllIsWell();
    }

    @Test
    void shouldConnectOverIpv6() throws Exception {
        try (VerbsSide six = VerbsSide.open(VerbsSide.on(GuestHost.B.address6()));
                VerbsSide sixOwner = VerbsSide.open(VerbsSide.on(GuestHost.A.address6()))) {
            RegisteredBuffer content = sixOwner.endpoint().acquireFilled(BYTES, 9);
            RegisteredBuffer target = six.endpoint().acquire(BYTES);
            try (RemoteMemory remote =
                    six.transport().connect(sixOwner.transport().descriptor(), TIMEOUT)) {
                RecordingListener listener = new RecordingListener();
                remote.read(new ReadRequest(
                        target,
                        List.of(new Range(content.address(), content.region().rkey(), BYTES, 0)),
                        System.nanoTime() + TIMEOUT.toNanos(),
                        listener));
                assertThat(listener.await()).isNull();
            }
            byte[] got = new byte[BYTES];
            target.buffer().get(0, got);
            assertThat(got).isEqualTo(TestEndpoint.content(BYTES, 9));
            content.release();
            target.release();
        }
    }

    @Test
    void shouldUseEveryDeviceOfAHostUnlessToldOtherwise() throws Exception {
        try (VerbsSide both = VerbsSide.open(VerbsSide.on(A, B))) {
            EndpointDescriptor descriptor = both.descriptor();
            assertThat(descriptor.devices()).hasSize(2);
            RegisteredBuffer content = both.endpoint().acquireFilled(BYTES, 1);
            assertThat(both.descriptor().devices())
                    .allSatisfy(device -> assertThat(device.rkeys()).hasSize(1).doesNotContain(0));
            try (RemoteMemory remote =
                    reader.transport().connect(both.transport().descriptor(), TIMEOUT)) {
                Range range = new Range(content.address(), content.region().rkey(), BYTES, 0);
                assertThat(read(remote, range, TIMEOUT)).isNull();
            }
            content.release();
        }
    }

    @Test
    void shouldSayWhichInterfacesThereAreWhenOneIsMisnamed() {
        assertThatThrownBy(() -> VerbsSide.open(VerbsSide.on("mlx5_9")))
                .hasMessageContaining("mlx5_9")
                .hasMessageContaining(GuestHost.A.deviceName());
    }
}
