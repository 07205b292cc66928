package io.verbena.shuffle.pairs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.serializers.JavaSerializer;
import io.verbena.memory.OffHeap;
import io.verbena.shuffle.testing.LocalSpark;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.spark.SparkConf;
import org.apache.spark.serializer.KryoRegistrator;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.SerializerInstance;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;

class PairsTest {
    private final KryoSerializer serializer = new KryoSerializer(new SparkConf(false));

    @BeforeAll
    static void start() {
        LocalSpark.start();
    }

    /** Puts records together in memory that moves with every growth, so that a stale address would show. */
    private static final class Records implements PairTarget {
        private final ByteArrayOutputStream ended = new ByteArrayOutputStream();
        private ByteBuffer bytes = ByteBuffer.allocateDirect(0);

        void end() {
            byte[] copy = new byte[bytes.capacity()];
            bytes.duplicate().get(copy);
            ended.writeBytes(copy);
            bytes = ByteBuffer.allocateDirect(0);
        }

        /** All records. */
        ByteBuffer all() {
            return ByteBuffer.allocateDirect(ended.size())
                    .put(ended.toByteArray())
                    .flip()
                    .order(ByteOrder.nativeOrder());
        }

        @Override
        public long append(int length) {
            ByteBuffer old = bytes;
            bytes = ByteBuffer.allocateDirect(old.capacity() + length);
            OffHeap.copy(null, OffHeap.addressOf(old), null, OffHeap.addressOf(bytes), old.capacity());
            OffHeap.zero(OffHeap.addressOf(old), old.capacity());
            return OffHeap.addressOf(bytes) + old.capacity();
        }

        @Override
        public int length() {
            return bytes.capacity();
        }

        @Override
        public long address(int position) {
            return OffHeap.addressOf(bytes) + position;
        }

        @Override
        public OutputStream stream() {
            return new OutputStream() {
                @Override
                public void write(int value) {
                    OffHeap.putByte(append(1), (byte) value);
                }
            };
        }
    }

    private static final Double ODD_NAN = Double.longBitsToDouble(0x7ff8000000000123L);
    private static final List<Object> VALUES = values();

    private static List<Object> values() {
        List<Object> values = new ArrayList<>(List.of(
                0L, -1L, Long.MIN_VALUE, Long.MAX_VALUE, 0, Integer.MIN_VALUE, 200, (short) -3, Short.MAX_VALUE));
        values.addAll(List.of((byte) -128, (byte) 5, true, false, 0.0, -0.0, Double.MIN_VALUE, 1.5f, Float.NaN, -0.0f));
        values.addAll(List.of(Double.NaN, Double.NEGATIVE_INFINITY, ODD_NAN));
        values.addAll(List.of(
                "",
                "plain",
                "\u00e9t\u00e9 \u00ff",
                "\u0100",
                "\u20ac uro",
                "\ud83d\ude00",
                "\ud83d",
                "\udc00x",
                "a\0b"));
        values.addAll(List.of(
                "x".repeat(1000),
                "a long text with one \u20ac",
                "smile \ud83d\ude00 and go on",
                "broken \ud83d and go on",
                "\u4e2d".repeat(1000),
                new byte[0],
                new byte[] {1, -1},
                new byte[5000]));
        values.addAll(List.of(
                new Tuple2<>("a", 1L),
                new ArrayList<>(),
                new ArrayList<>(List.of("b", 2, "b")),
                new int[] {1, 2},
                'c',
                new java.math.BigDecimal("1.10"),
                new ArrayList<>(java.util.Collections.nCopies(3000, "many"))));
        values.add(null);
        return values;
    }

    private static void assertSame(Object got, Object expected) {
        if (expected == null) {
            assertThat(got).isNull();
            return;
        }
        assertThat(got).isNotNull();
        assertThat(got.getClass()).isEqualTo(expected.getClass());
        if (expected instanceof Double number) {
            assertThat(Double.doubleToRawLongBits((Double) got)).isEqualTo(Double.doubleToRawLongBits(number));
        } else {
            assertThat(got).isEqualTo(expected);
        }
    }

    private ByteBuffer written(List<Tuple2<Object, Object>> pairs) throws IOException {
        return written(serializer, pairs);
    }

    private static ByteBuffer written(KryoSerializer serializer, List<Tuple2<Object, Object>> pairs)
            throws IOException {
        Records records = new Records();
        try (PairEncoder encoder = new PairEncoder(records, serializer)) {
            for (Tuple2<Object, Object> pair : pairs) {
                encoder.write(pair._1(), pair._2());
                records.end();
            }
        }
        return records.all();
    }

    private static List<Tuple2<Object, Object>> everyCombination() {
        List<Tuple2<Object, Object>> pairs = new ArrayList<>();
        for (Object key : VALUES) {
            for (Object value : VALUES) {
                pairs.add(new Tuple2<>(key, value));
            }
        }
        java.util.Collections.shuffle(pairs, new Random(7));
        return pairs;
    }

    private static void assertSame(List<Tuple2<Object, Object>> got, List<Tuple2<Object, Object>> expected) {
        assertThat(got).hasSameSizeAs(expected);
        for (int i = 0; i < got.size(); i++) {
            assertSame(got.get(i)._1(), expected.get(i)._1());
            assertSame(got.get(i)._2(), expected.get(i)._2());
        }
    }

    /** From off-heap memory and from an array, whole and cut between two records. */
    @Test
    void shouldReadWhatWasWrittenWhereverItLies() throws IOException {
        List<Tuple2<Object, Object>> pairs = everyCombination();
        ByteBuffer first = written(pairs.subList(0, 500));
        ByteBuffer second = written(pairs.subList(500, pairs.size()));
        byte[] copy = new byte[second.capacity() + 3];
        second.duplicate().get(copy, 3, copy.length - 3);
        PairDecoder decoder = new PairDecoder(serializer.newInstance());
        List<Tuple2<Object, Object>> got = new ArrayList<>();

        decoder.reset(null, OffHeap.addressOf(first), first.capacity());
        while (decoder.hasNext()) {
            got.add(decoder.next());
        }
        assertThat(got).hasSize(500);
        decoder.reset(copy, OffHeap.BYTE_ARRAY_OFFSET + 3, copy.length - 3);
        while (decoder.hasNext()) {
            got.add(decoder.next());
        }

        assertSame(got, pairs);
    }

    /** Spark's own stream, of which several follow each other in a block, read by Spark's serializer. */
    @ParameterizedTest
    @CsvSource({"true, true", "false, true", "true, false", "false, false"})
    void shouldTranscodeToTheSerializersStream(boolean unsafe, boolean pool) throws IOException {
        KryoSerializer serializer = new KryoSerializer(new SparkConf(false)
                .set("spark.kryo.unsafe", String.valueOf(unsafe))
                .set("spark.kryo.pool", String.valueOf(pool)));
        List<Tuple2<Object, Object>> pairs = everyCombination();
        if (!unsafe) {
            // Kryo's other output makes one NaN of all.
            pairs.removeIf(pair -> pair._1() == ODD_NAN || pair._2() == ODD_NAN);
        }
        PairTranscoder.Blocks blocks = new PairTranscoder(serializer).blocks();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        blocks.write(written(serializer, pairs.subList(0, 700)), out);
        blocks.write(written(serializer, pairs.subList(700, pairs.size())), out);

        SerializerInstance reading = serializer.newInstance();
        List<Tuple2<Object, Object>> got = new ArrayList<>();
        scala.collection.Iterator<Tuple2<Object, Object>> all = reading.deserializeStream(
                        new ByteArrayInputStream(out.toByteArray()))
                .asKeyValueIterator();
        while (all.hasNext()) {
            got.add(all.next());
        }

        assertSame(got, pairs);
    }

    /** A flush ends a block of some codecs, and so would compress every object on its own. */
    @Test
    void shouldNeitherFlushNorCloseTheBlockItWritesTo() throws IOException {
        List<Tuple2<Object, Object>> pairs = new ArrayList<>();
        for (long i = 0; i < 50; i++) {
            pairs.add(new Tuple2<>(i, new Tuple2<>("object", i)));
        }
        List<String> calls = new ArrayList<>();
        new PairTranscoder(serializer).blocks().write(written(pairs), new ByteArrayOutputStream() {
            @Override
            public void flush() {
                calls.add("flush");
            }

            @Override
            public void close() {
                calls.add("close");
            }
        });
        assertThat(calls).isEmpty();
    }

    /** The application's classes are known to the loader of its tasks only. */
    @Test
    void shouldTranscodeWithTheLoaderOfTheTask() throws IOException {
        ClassLoader[] seen = new ClassLoader[1];
        ClassLoader ofTask = new ClassLoader(getClass().getClassLoader()) {};
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        PairTranscoder transcoder;
        try {
            thread.setContextClassLoader(ofTask);
            transcoder = new PairTranscoder(serializer);
        } finally {
            thread.setContextClassLoader(before);
        }
        ByteBuffer bytes = written(List.of(new Tuple2<>(1L, "x")));
        transcoder.blocks().write(bytes, new OutputStream() {
            @Override
            public void write(int value) {
                seen[0] = Thread.currentThread().getContextClassLoader();
            }
        });
        assertThat(seen[0]).isSameAs(ofTask);
        assertThat(thread.getContextClassLoader()).isSameAs(before);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5, 9, 20})
    void shouldNotReadBeyondTheEnd(int cut) throws IOException {
        ByteBuffer bytes = written(List.of(new Tuple2<>("key of a record", new ArrayList<>(List.of(1, 2, 3)))));
        PairDecoder decoder = new PairDecoder(serializer.newInstance());
        decoder.reset(null, OffHeap.addressOf(bytes), bytes.capacity() - cut);
        assertThatThrownBy(decoder::next)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("goes beyond its block");
    }

    @Test
    void shouldRefuseATagItDoesNotKnow() {
        PairDecoder decoder = new PairDecoder(serializer.newInstance());
        decoder.reset(new byte[] {99, 1, 0}, OffHeap.BYTE_ARRAY_OFFSET, 3);
        assertThatThrownBy(decoder::next).hasMessageContaining("tag=99");
    }

    /** Gives one type a serializer of its own, which the shuffle must keep. */
    public static final class OwnSerializer implements KryoRegistrator {
        static Class<?> type;

        @Override
        public void registerClasses(Kryo kryo) {
            kryo.register(type, new JavaSerializer());
        }
    }

    @Test
    void shouldNotServeWhenARegistratorChangesABasicType() {
        SparkConf conf = new SparkConf(false).set("spark.kryo.registrator", OwnSerializer.class.getName());
        for (Class<?> type : List.of(
                Long.class,
                Integer.class,
                Short.class,
                Byte.class,
                Double.class,
                Float.class,
                Boolean.class,
                String.class,
                byte[].class,
                long.class,
                boolean.class)) {
            OwnSerializer.type = type;
            assertThat(PairFormat.serves(new KryoSerializer(conf)))
                    .as(type.getName())
                    .isFalse();
        }
        OwnSerializer.type = java.math.BigDecimal.class;
        assertThat(PairFormat.serves(new KryoSerializer(conf))).isTrue();
    }

    @Test
    void shouldServeKryoOnlyAndOnlyIfItKeepsBasicTypes() {
        SparkConf conf = new SparkConf(false);
        assertThat(PairFormat.serves(new KryoSerializer(conf))).isTrue();
        assertThat(PairFormat.serves(new KryoSerializer(
                        conf.clone().set("spark.kryo.unsafe", "true").set("spark.kryo.registrationRequired", "true"))))
                .isTrue();
        assertThat(PairFormat.serves(new org.apache.spark.serializer.JavaSerializer(conf)))
                .isFalse();
        assertThat(PairFormat.serves(new KryoSerializer(conf) {})).isFalse();
        assertThat(PairFormat.serves(
                        new KryoSerializer(conf.clone().set("spark.kryo.classesToRegister", "no.such.Class"))))
                .isFalse();
    }
}
