package io.verbena.verbs.fake;

import java.nio.file.Path;

/**
 * Drives the fake libibverbs.so.1 of src/test/native, which the product's libraries open in place of the real one because it comes
 * first on LD_LIBRARY_PATH. Confined to one thread.
 */
public final class FakeVerbs {
    static {
        System.load(Path.of(System.getProperty("verbena.test.fake"), "libibverbs.so.1")
                .toString());
    }

    private FakeVerbs() {}

    /** Forgets scripts and recorded calls. */
    public static native void reset();

    /** Returns the calls since the last time, a line each. */
    public static native String calls();

    /** Returns how many objects, events and scripted messages are alive. */
    public static native int live();

    /** Lets the next call of a C function return the result with errno; one that returns a pointer returns NULL. */
    public static native void script(String function, int result, int errno);

    /** Lets posts accept this many of a list and return the result; -2 accepts none and names no bad one. */
    public static native void acceptOnly(int count, int result);

    /** Lets polls of an empty CQ return the result. */
    public static native void failPoll(int result);

    /** Adds a completion. */
    public static native void complete(
            long wrId, int status, int opcode, int vendorError, int bytes, int qpNumber, int flags);

    /** Adds a connection manager event. */
    public static native void cmEvent(
            long channel, int type, long id, long listenId, int status, byte[] data, int depth, int resources);

    /** Adds an asynchronous event about a port, or about the object at an address. */
    public static native void asyncEvent(int type, long element);

    /** Adds a completion event. */
    public static native void cqEvent(long channel, long cq);

    /** Returns the context of device fake0. */
    public static native long context();

    /** Writes this many bytes to an array of four. */
    public static native int fill(int length);

    /** Adds one to a signed integer of C, where an overflow is undefined. */
    public static native int increment(int value);

    /** Returns this thread's number. */
    public static native int threadId();

    /** Interrupts a thread's system call with a signal. */
    public static native void interrupt(int threadId);
}
