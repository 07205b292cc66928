package io.verbena.shuffle.pairs;

import io.verbena.memory.OffHeap;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import org.apache.commons.io.output.CloseShieldOutputStream;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * Turns records of {@link PairFormat} into a stream of the shuffle's serializer, as Spark's own writers make it. Objects are copied as
 * they are, so none of the application's classes are needed but those that the serializer's settings name.
 *
 * <p>Threads: immutable; what it makes is confined to one thread.
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
        return new Blocks(serializer.newInstance(), loader);
    }

    /** Writes blocks of one map output. */
    public static final class Blocks {
        private final PairInput in = new PairInput();
        private final byte[] copy = new byte[1 << 13];
        private final SerializerInstance serializer;
        private final ClassLoader loader;

        private Blocks(SerializerInstance serializer, ClassLoader loader) {
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
            try (SerializationStream out = serializer.serializeStream(CloseShieldOutputStream.wrap(target))) {
                in.reset(null, OffHeap.addressOf(slice), slice.capacity());
                while (in.hasMore()) {
                    int tags = in.tags();
                    int keyTag = tags & 0xff;
                    int valueTag = tags >>> 8;
                    if (keyTag == PairFormat.OBJECTS) {
                        copySection(out, target);
                        continue;
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
            } catch (IOException e) {
                throw e;
            } catch (Exception e) {
                // Scala code may throw checked exceptions too.
                throw new IOException(
                        "cannot write records with " + serializer.getClass().getName() + ": " + e, e);
            } finally {
                thread.setContextClassLoader(before);
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
