package io.verbena.transport.verbs.engine;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.UUID;

/**
 * What both sides of a connection say first, in the private data of the CM.
 *
 * <pre>
 * reader: magic u32 "VRBH" | version u16, byte order u16 | owner's token 16
 * owner:  the same, then the owner's lease time-out in ms u32
 * refusal: magic u32 "VRBX" | code u32
 * </pre>
 *
 * <p>Big-endian. The token is the owner's: only who fetched its descriptor over Spark's block transfer knows it.
 */
final class Hello {
    /** Why an owner refuses. */
    enum Refusal {
        /** Not an endpoint's hello, or another version or byte order. */
        VERSION(1),
        /** The owner at this address is another one than the reader looks for. */
        TOKEN(2),
        /** The owner cannot make a queue pair now. */
        CAPACITY(3);

        private final int code;

        Refusal(int code) {
            this.code = code;
        }
    }

    private static final int MAGIC = 0x56524248;
    private static final int REFUSAL = 0x56524258;
    private static final int VERSION = 1;
    private static final int REQUEST_BYTES = 24;
    private static final int ANSWER_BYTES = 28;
    private static final int REFUSAL_BYTES = 8;

    private Hello() {}

    static byte[] request(UUID token) {
        return common(REQUEST_BYTES, token).array();
    }

    static byte[] answer(UUID token, int leaseTimeoutMs) {
        return common(ANSWER_BYTES, token).putInt(leaseTimeoutMs).array();
    }

    static byte[] refusal(Refusal why) {
        return ByteBuffer.allocate(REFUSAL_BYTES)
                .putInt(REFUSAL)
                .putInt(why.code)
                .array();
    }

    private static ByteBuffer common(int bytes, UUID token) {
        return ByteBuffer.allocate(bytes)
                .putInt(MAGIC)
                .putShort((short) VERSION)
                .putShort((short) order())
                .putLong(token.getMostSignificantBits())
                .putLong(token.getLeastSignificantBits());
    }

    private static int order() {
        return ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? 1 : 2;
    }

    /** Returns null if a reader may connect, else why not. */
    static Refusal check(ByteBuffer request, UUID token) {
        ByteBuffer in = request.duplicate();
        if (in.remaining() < REQUEST_BYTES
                || in.getInt() != MAGIC
                || in.getShort() != VERSION
                || in.getShort() != order()) {
            return Refusal.VERSION;
        }
        return new UUID(in.getLong(), in.getLong()).equals(token) ? null : Refusal.TOKEN;
    }

    /** Returns the owner's lease time-out in milliseconds, or -1 if this is not the answer of the owner with that token. */
    static int leaseTimeoutMs(ByteBuffer answer, UUID token) {
        return answer.remaining() >= ANSWER_BYTES && check(answer, token) == null
                ? answer.getInt(answer.position() + REQUEST_BYTES)
                : -1;
    }

    /** Returns why the owner refused, in words. */
    static String refusalOf(ByteBuffer data) {
        ByteBuffer in = data.duplicate();
        if (in.remaining() < REFUSAL_BYTES || in.getInt() != REFUSAL) {
            return "nobody of this project listens there any more";
        }
        int code = in.getInt();
        for (Refusal refusal : Refusal.values()) {
            if (refusal.code == code) {
                return "the owner refused: " + refusal;
            }
        }
        return "the owner refused: code=" + code;
    }
}
