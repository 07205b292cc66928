package io.verbena.it;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import org.apache.spark.serializer.DeserializationStream;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;
import scala.reflect.ClassTag;

/** A user's own serializer: strings and integers, each object complete in itself, hence relocatable. */
public final class WordSerializer extends Serializer implements Serializable {
    private static final long serialVersionUID = 1L;

    @Override
    public SerializerInstance newInstance() {
        return new Instance();
    }

    @Override
    public boolean supportsRelocationOfSerializedObjects() {
        return true;
    }

    private static final class Instance extends SerializerInstance {
        @Override
        public <T> ByteBuffer serialize(T object, ClassTag<T> type) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            new Writer(bytes).writeObject(object, type).flush();
            return ByteBuffer.wrap(bytes.toByteArray());
        }

        @Override
        public <T> T deserialize(ByteBuffer bytes, ClassTag<T> type) {
            throw new UnsupportedOperationException("shuffles use streams only");
        }

        @Override
        public <T> T deserialize(ByteBuffer bytes, ClassLoader loader, ClassTag<T> type) {
            throw new UnsupportedOperationException("shuffles use streams only");
        }

        @Override
        public SerializationStream serializeStream(OutputStream out) {
            return new Writer(out);
        }

        @Override
        public DeserializationStream deserializeStream(InputStream in) {
            return new Reader(in);
        }
    }

    private static final class Writer extends SerializationStream {
        private final DataOutputStream out;

        Writer(OutputStream out) {
            this.out = new DataOutputStream(out);
        }

        @Override
        public <T> SerializationStream writeObject(T object, ClassTag<T> type) {
            try {
                if (object instanceof Integer number) {
                    out.writeByte('i');
                    out.writeInt(number);
                } else {
                    out.writeByte('s');
                    out.writeUTF((String) object);
                }
                return this;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void flush() {
            try {
                out.flush();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void close() {
            try {
                out.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static final class Reader extends DeserializationStream {
        private final DataInputStream in;

        Reader(InputStream in) {
            this.in = new DataInputStream(in);
        }

        @Override
        @SuppressWarnings("unchecked") // The caller knows what it wrote.
        public <T> T readObject(ClassTag<T> type) {
            try {
                // The end of the stream is an EOFException, which Spark expects as such.
                return (T) (in.readByte() == 'i' ? (Object) in.readInt() : in.readUTF());
            } catch (IOException e) {
                throw WordSerializer.<RuntimeException>undeclared(e);
            }
        }

        @Override
        public void close() {
            try {
                in.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> RuntimeException undeclared(Throwable e) throws E {
        throw (E) e;
    }
}
