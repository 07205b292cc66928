package io.verbena.shuffle.pairs;

import io.verbena.memory.OffHeap;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * Turns records of {@link PairFormat} into a stream of the shuffle's serializer, as Spark's own writers make it. Objects are copied as
 * they are, so none of the application's classes are needed but those that the serializer's settings name.
 *
 * <p>Threads: any, as Spark's serializers; what it makes is confined to one thread. Keeps the serializer, and what that pools: the
 * store keeps one for all map outputs of a shuffle.
 */
public final class PairTranscoder {
    private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Object();

    private final Serializer serializer;
    private final ClassLoader loader;

    /**
     * Creates the transcoder within a task.
     *
     * @param serializer the shuffle's
     */
    public PairTranscoder(Serializer serializer) {
        this.serializer = serializer;
        this.loader = Thread.currentThread().getContextClassLoader();
    }

    /** Creates what writes one map output. */
    public Blocks blocks() {
        return new Blocks(serializer, loader);
    }

    /** What is written inside a block: neither a flush, which would end a block of some codecs, nor the end is the target's. */
    private static final class Inner extends FilterOutputStream {
        Inner(OutputStream target) {
            super(target);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            out.write(bytes, offset, length);
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }

    /** Writes blocks of one map output. */
    public static final class Blocks {
        private final PairInput in = new PairInput();
        private final byte[] copy = new byte[1 << 13];
        private final Serializer serializer;
        private final ClassLoader loader;
        private SerializerInstance instance;

        private Blocks(Serializer serializer, ClassLoader loader) {
            this.serializer = serializer;
            this.loader = loader;
        }

        /**
         * Writes the records of a slice as a stream of the serializer's, which may follow another one.
         *
         * @param slice direct memory, all of it
         * @param target stays open
         * @throws IOException if it cannot be written
         */
        public void write(ByteBuffer slice, OutputStream target) throws IOException {
            Thread thread = Thread.currentThread();
            ClassLoader before = thread.getContextClassLoader();
            thread.setContextClassLoader(loader);
            try {
                if (instance == null) {
                    // May make a Kryo already, and so load the classes that its settings name.
                    instance = serializer.newInstance();
                }
                try (SerializationStream out = instance.serializeStream(new Inner(target))) {
                    in.reset(null, OffHeap.addressOf(slice), slice.capacity());
                    while (in.hasMore()) {
                        writeRecord(out, target);
                    }
                }
            } catch (IOException e) {
                throw e;
            } catch (Exception | LinkageError e) {
                // Scala code may throw checked exceptions too, and a registrator may miss a class.
                throw new IOException(
                        "cannot write records with " + serializer.getClass().getName() + ": " + e, e);
            } finally {
                thread.setContextClassLoader(before);
            }
        }

        private void writeRecord(SerializationStream out, OutputStream target) throws IOException {
            int tags = in.tags();
            int keyTag = tags & 0xff;
            int valueTag = tags >>> 8;
            if (keyTag == PairFormat.OBJECTS) {
                copySection(out, target);
                return;
            }
            if (keyTag == PairFormat.OBJECT) {
                copySection(out, target);
            } else {
                out.writeKey(in.plain(keyTag), ANY);
            }
            if (valueTag == PairFormat.OBJECT) {
                copySection(out, target);
            } else {
                out.writeValue(in.plain(valueTag), ANY);
            }
        }

        private void copySection(SerializationStream out, OutputStream target) throws IOException {
            long at = in.section();
            out.flush();
            while (at < in.position()) {
                int n = (int) Math.min(copy.length, in.position() - at);
                OffHeap.copy(in.base(), at, copy, OffHeap.BYTE_ARRAY_OFFSET, n);
                target.write(copy, 0, n);
                at += n;
            }
        }
    }
}
