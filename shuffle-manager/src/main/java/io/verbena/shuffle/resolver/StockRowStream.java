package io.verbena.shuffle.resolver;

import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A slice of layout ROWS as Spark's UnsafeRowSerializer would have written it: our 8-byte native length becomes its 4-byte big
 * endian one, the row's bytes stay.
 */
public final class StockRowStream extends InputStream {
    private final ByteBuffer rows;
    private final byte[] length = new byte[4];
    private int lengthLeft;
    private int rowLeft;

    /** Reads from the slice's position to its limit. */
    public StockRowStream(ByteBuffer slice) {
        this.rows = slice.order(ByteOrder.nativeOrder());
    }

    @Override
    public int read() {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] target, int offset, int count) {
        int done = 0;
        while (done < count && (lengthLeft > 0 || rowLeft > 0 || nextRow())) {
            int n;
            if (lengthLeft > 0) {
                n = Math.min(lengthLeft, count - done);
                System.arraycopy(length, 4 - lengthLeft, target, offset + done, n);
                lengthLeft -= n;
            } else {
                n = Math.min(rowLeft, count - done);
                rows.get(target, offset + done, n);
                rowLeft -= n;
            }
            done += n;
        }
        return done == 0 && count > 0 ? -1 : done;
    }

    private boolean nextRow() {
        if (!rows.hasRemaining()) {
            return false;
        }
        rowLeft = (int) rows.getLong();
        ByteBuffer.wrap(length).putInt(rowLeft);
        lengthLeft = 4;
        return true;
    }
}
