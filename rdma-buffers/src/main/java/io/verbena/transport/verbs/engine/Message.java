package io.verbena.transport.verbs.engine;

/**
 * Messages of a connection. A reader sends requests, each with a number that grows; the owner answers each with the same number.
 * At most {@link #MAX_UNANSWERED} are unanswered, so no side ever lacks a place to receive.
 */
final class Message {
    /** Reader to owner: protect the key. */
    static final int LEASE = 1;
    /** Reader to owner: the key is not needed any more. */
    static final int RELEASE = 2;
    /** Reader to owner: still here. */
    static final int PING = 3;
    /** Owner to reader: done. */
    static final int DONE = 4;

    static final int MAX_UNANSWERED = 8;

    private Message() {}
}
