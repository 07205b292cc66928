package io.verbena.transport;

/** Layout of a descriptor. */
public final class EndpointDescriptor {
    private EndpointDescriptor() {}
}
