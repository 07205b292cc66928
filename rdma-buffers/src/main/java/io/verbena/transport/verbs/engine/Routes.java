package io.verbena.transport.verbs.engine;

import io.verbena.transport.EndpointDescriptor;
import io.verbena.transport.verbs.engine.LocalAddresses.LocalAddress;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Which of the owner's addresses to try, from where: those of a subnet that a device here is on come first, then the rest, for
 * networks that route between subnets. Equals are shuffled, so that many readers use all of an owner's devices.
 *
 * <p>Threads: immutable.
 */
final class Routes {
    private final List<LocalAddress> locals;

    /** @param locals addresses of the devices that are used */
    Routes(List<LocalAddress> locals) {
        this.locals = List.copyOf(locals);
    }

    List<Route> to(EndpointDescriptor owner) {
        List<Route> near = new ArrayList<>();
        List<Route> far = new ArrayList<>();
        for (int device = 0; device < owner.devices().size(); device++) {
            for (InetSocketAddress remote : owner.devices().get(device).addresses()) {
                add(near, far, remote, device);
            }
        }
        Collections.shuffle(near);
        Collections.shuffle(far);
        near.addAll(far);
        return near;
    }

    private void add(List<Route> near, List<Route> far, InetSocketAddress remote, int device) {
        List<InetAddress> sameFamily = new ArrayList<>();
        boolean isNear = false;
        for (LocalAddress local : locals) {
            if (local.address().getClass().equals(remote.getAddress().getClass())) {
                sameFamily.add(local.address());
                if (local.isSameSubnet(remote.getAddress())) {
                    near.add(new Route(local.address(), remote, device));
                    isNear = true;
                }
            }
        }
        if (!isNear && !sameFamily.isEmpty()) {
            // With several to choose from, the system's routing table knows better.
            far.add(new Route(sameFamily.size() == 1 ? sameFamily.get(0) : null, remote, device));
        }
    }
}
