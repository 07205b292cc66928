package io.verbena.shuffle.pairs;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.serializers.DefaultArraySerializers;
import com.esotericsoftware.kryo.serializers.DefaultSerializers;
import java.util.Map;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.Serializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The bytes of a record of layout PAIRS:
 *
 * <pre>   tag of the key u8 | tag of the value u8 | key | value   </pre>
 *
 * Numbers have their width, in native byte order and at any alignment; arrays and texts have an u32 length in bytes before them; an
 * object is a section, an u32 length and what the shuffle's serializer wrote. With {@link #OBJECTS} for the key's tag (the value's is
 * then 0) key and value share one section.
 */
public final class PairFormat {
    static final int NULL = 0;
    static final int LONG = 1;
    static final int INT = 2;
    static final int SHORT = 3;
    static final int BYTE = 4;
    static final int DOUBLE = 5;
    static final int FLOAT = 6;
    static final int FALSE = 7;
    static final int TRUE = 8;
    static final int BYTES = 9;

    /** A text of which all chars are below 256, a byte each. */
    static final int LATIN1 = 10;

    /** Any other valid text that is shorter so than by two bytes a char. */
    static final int UTF8 = 11;

    /** Any other text, two bytes a char, the low one first; kept as it is, even if it is no valid UTF-16. */
    static final int UTF16 = 12;

    static final int OBJECT = 13;
    static final int OBJECTS = 14;

    private static final Logger LOG = LoggerFactory.getLogger(PairFormat.class);

    /** What Kryo does with basic types unless a registrator says otherwise: to write and read them back unchanged. */
    private static final Map<Class<?>, Class<?>> KRYO_DEFAULTS = Map.of(
            Long.class, DefaultSerializers.LongSerializer.class,
            Integer.class, DefaultSerializers.IntSerializer.class,
            Short.class, DefaultSerializers.ShortSerializer.class,
            Byte.class, DefaultSerializers.ByteSerializer.class,
            Double.class, DefaultSerializers.DoubleSerializer.class,
            Float.class, DefaultSerializers.FloatSerializer.class,
            Boolean.class, DefaultSerializers.BooleanSerializer.class,
            String.class, DefaultSerializers.StringSerializer.class,
            byte[].class, DefaultArraySerializers.ByteArraySerializer.class);

    private PairFormat() {}

    /**
     * True if a shuffle with this serializer may store basic types as they are: it is Spark's Kryo serializer, and it would give back
     * equal values. Costs a new Kryo, so it is asked once per shuffle, on the driver.
     */
    public static boolean serves(Serializer serializer) {
        if (serializer.getClass() != KryoSerializer.class) {
            return false;
        }
        try {
            Kryo kryo = ((KryoSerializer) serializer).newKryo();
            return KRYO_DEFAULTS.entrySet().stream()
                    .allMatch(entry ->
                            kryo.getRegistration(entry.getKey()).getSerializer().getClass() == entry.getValue());
        } catch (Exception | LinkageError e) {
            // Scala code may throw checked exceptions too. The tasks will meet the same problem, and report it as Spark
            // does.
            LOG.debug("cannot tell how Kryo writes basic types, it will write them: {}", e.toString());
            return false;
        }
    }

    static boolean isPlain(Object value) {
        return value == null
                || value instanceof Long
                || value instanceof byte[]
                || value instanceof String
                || value instanceof Integer
                || value instanceof Double
                || value instanceof Float
                || value instanceof Short
                || value instanceof Byte
                || value instanceof Boolean;
    }
}
