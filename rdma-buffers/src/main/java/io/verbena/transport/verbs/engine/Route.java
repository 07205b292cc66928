package io.verbena.transport.verbs.engine;

import java.net.InetAddress;
import java.net.InetSocketAddress;

/**
 * A way to try.
 *
 * @param local where to connect from, null for the system's choice
 * @param remote where the owner listens
 * @param ownerDevice which of the owner's devices that is
 */
record Route(InetAddress local, InetSocketAddress remote, int ownerDevice) {}
