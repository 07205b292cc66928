package io.verbena.it.verbs;

import io.verbena.testing.Tmpfs;
import io.verbena.transport.EndpointDescriptor;
import io.verbena.transport.TestEndpoint;
import io.verbena.transport.Transport;
import io.verbena.transport.verbs.Verbs;
import io.verbena.transport.verbs.VerbsDevices;
import io.verbena.transport.verbs.VerbsOptions;
import io.verbena.transport.verbs.VerbsStatistics;
import java.io.IOException;
import java.util.List;

/** An endpoint on one RDMA interface of the guest; close asserts that nothing is left. */
final class VerbsSide implements AutoCloseable {
    private final Tmpfs shm;
    private final VerbsDevices devices;
    private final TestEndpoint endpoint;

    private VerbsSide(Tmpfs shm, VerbsDevices devices) {
        this.shm = shm;
        this.devices = devices;
        this.endpoint = new TestEndpoint(shm.path(), "shm", devices, (regions, backing) -> devices.transport(regions));
    }

    /** Opens a side on all interfaces that the options name. */
    static VerbsSide open(VerbsOptions options) throws Exception {
        return new VerbsSide(Tmpfs.directory(), Verbs.open(options));
    }

    static VerbsOptions on(String... interfaces) {
        return VerbsOptions.defaults(64 << 20).withInterfaces(List.of(interfaces));
    }

    TestEndpoint endpoint() {
        return endpoint;
    }

    Transport transport() {
        return endpoint.transport();
    }

    VerbsDevices devices() {
        return devices;
    }

    VerbsStatistics statistics() {
        return devices.verbsStatistics();
    }

    EndpointDescriptor descriptor() throws IOException {
        return EndpointDescriptor.decode(transport().descriptor());
    }

    @Override
    public void close() throws IOException {
        endpoint.close();
        shm.close();
    }
}
