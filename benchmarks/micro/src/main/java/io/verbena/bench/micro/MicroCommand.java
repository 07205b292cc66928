package io.verbena.bench.micro;

/** Stub. */
public final class MicroCommand {
    private MicroCommand() {}
}
