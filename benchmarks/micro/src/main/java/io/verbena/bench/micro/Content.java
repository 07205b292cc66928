package io.verbena.bench.micro;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Random;

/**
 * Bytes to shuffle. Words of 8 bytes are in turn below 1000, as counts and dates are, and random, as keys and hashes are: LZ4
 * takes off some 30%. Nothing repeats within the 32 KB that Spark compresses at once.
 */
final class Content {
    /** Enough not to repeat, and still in a core's second-level cache. */
    static final int POOL_BYTES = 512 << 10;

    private static final int SMALL = 1000;

    private Content() {}

    static byte[] words(int bytes) {
        Random random = new Random(7);
        byte[] content = new byte[bytes];
        ByteBuffer words = ByteBuffer.wrap(content).order(ByteOrder.nativeOrder());
        for (int i = 0; words.remaining() >= Long.BYTES; i++) {
            words.putLong(i % 2 == 0 ? random.nextInt(SMALL) : random.nextLong());
        }
        return content;
    }
}
