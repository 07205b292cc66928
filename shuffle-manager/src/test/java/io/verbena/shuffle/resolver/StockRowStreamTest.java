package io.verbena.shuffle.resolver;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.UnsafeRowSerializer;
import org.junit.jupiter.api.Test;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

class StockRowStreamTest {
    private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Object();
    private static final int FIELDS = 3;

    private static List<UnsafeRow> rows(Random random, int count) {
        List<UnsafeRow> rows = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            byte[] bytes = new byte[8 + 8 * FIELDS + 8 * random.nextInt(random.nextInt(10) == 0 ? 2000 : 6)];
            random.nextBytes(bytes);
            UnsafeRow row = new UnsafeRow(FIELDS);
            row.pointTo(bytes, bytes.length);
            rows.add(row);
        }
        return rows;
    }

    private static byte[] asSparkWrites(List<UnsafeRow> rows) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        SerializationStream out =
                new UnsafeRowSerializer(FIELDS, null).newInstance().serializeStream(bytes);
        for (UnsafeRow row : rows) {
            out.writeKey(0, ANY);
            out.writeValue(row, ANY);
        }
        out.close();
        return bytes.toByteArray();
    }

    private static ByteBuffer slice(List<UnsafeRow> rows) {
        int total = rows.stream().mapToInt(row -> 8 + row.getSizeInBytes()).sum();
        ByteBuffer slice = ByteBuffer.allocateDirect(total).order(ByteOrder.nativeOrder());
        for (UnsafeRow row : rows) {
            slice.putLong(row.getSizeInBytes()).put(row.getBytes());
        }
        // The order of a slice is not the order of what it was sliced from.
        return slice.flip().slice();
    }

    @Test
    void shouldWriteWhatSparksSerializerWrites() throws Exception {
        Random random = new Random(31);
        for (int count : new int[] {0, 1, 2, 500}) {
            List<UnsafeRow> rows = rows(random, count);
            byte[] expected = asSparkWrites(rows);
            try (StockRowStream in = new StockRowStream(slice(rows))) {
                assertThat(in.readAllBytes()).isEqualTo(expected);
                assertThat(in.read()).isEqualTo(-1);
                assertThat(in.read(new byte[4])).isEqualTo(-1);
            }
        }
    }

    @Test
    void shouldWriteTheSameInPiecesOfAnySize() throws Exception {
        Random random = new Random(32);
        List<UnsafeRow> rows = rows(random, 60);
        byte[] expected = asSparkWrites(rows);
        for (int max : new int[] {1, 2, 3, 5, 64, 1 << 16}) {
            ByteArrayOutputStream got = new ByteArrayOutputStream();
            try (StockRowStream in = new StockRowStream(slice(rows))) {
                byte[] piece = new byte[max + 4];
                int n = 0;
                while (n >= 0) {
                    got.write(piece, 2, n);
                    n = in.read(piece, 2, 1 + random.nextInt(max));
                }
            }
            assertThat(got.toByteArray()).isEqualTo(expected);
        }
        ByteArrayOutputStream single = new ByteArrayOutputStream();
        try (StockRowStream in = new StockRowStream(slice(rows))) {
            for (int value = in.read(); value >= 0; value = in.read()) {
                single.write(value);
            }
        }
        assertThat(single.toByteArray()).isEqualTo(expected);
    }

    @Test
    void shouldStopAtTheSlicesLimit() throws Exception {
        List<UnsafeRow> rows = rows(new Random(33), 9);
        ByteBuffer all = slice(rows);
        int first = 8 + rows.get(0).getSizeInBytes();
        try (StockRowStream in = new StockRowStream(all.slice(0, first))) {
            assertThat(in.readAllBytes()).isEqualTo(asSparkWrites(rows.subList(0, 1)));
        }
        try (StockRowStream in = new StockRowStream(all.slice(first, all.capacity() - first))) {
            assertThat(in.readAllBytes())
                    .isEqualTo(Arrays.copyOfRange(
                            asSparkWrites(rows), 4 + rows.get(0).getSizeInBytes(), asSparkWrites(rows).length));
        }
    }
}
