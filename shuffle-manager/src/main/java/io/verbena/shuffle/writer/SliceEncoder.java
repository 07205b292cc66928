package io.verbena.shuffle.writer;

import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.resolver.ByteBufferStream;
import io.verbena.shuffle.resolver.StockRowStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.storage.ShuffleBlockId;

/**
 * Turns a plain slice into one stream of Spark's, compressed or encrypted as configured. Rows become Spark's own row stream, so
 * that one decoder serves them everywhere.
 */
final class SliceEncoder {
    private final SerializerManager serializers;
    private final BlockLayout target;
    private final boolean rows;
    private final byte[] copy = new byte[1 << 16];

    SliceEncoder(SerializerManager serializers, BlockLayout target, boolean rows) {
        this.serializers = serializers;
        this.target = target;
        this.rows = rows;
    }

    void encode(ShuffleBlockId id, ByteBuffer slice, OutputStream out) throws IOException {
        try (OutputStream wrapped = target == BlockLayout.ENCRYPTED
                        ? serializers.wrapForEncryption(out)
                        : serializers.wrapStream(id, out);
                InputStream in = rows ? new StockRowStream(slice) : new ByteBufferStream(slice)) {
            for (int n = in.read(copy); n >= 0; n = in.read(copy)) {
                wrapped.write(copy, 0, n);
            }
        }
    }
}
