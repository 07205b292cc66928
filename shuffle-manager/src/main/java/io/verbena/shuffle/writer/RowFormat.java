package io.verbena.shuffle.writer;

import java.io.IOException;
import java.lang.reflect.Field;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.util.AccumulatorV2;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What Spark SQL's row serializer knows: the number of fields and the metric "data size", from which adaptive execution takes
 * the size of a query stage. Both are private to it, so they are read by reflection; when that fails rows go through the
 * serializer, which is slower and as right.
 *
 * <p>Threads: immutable; the metric belongs to the task.
 */
public final class RowFormat {
    private static final Logger LOG = LoggerFactory.getLogger(RowFormat.class);
    private static final String ROW_SERIALIZER = "org.apache.spark.sql.execution.UnsafeRowSerializer";

    private final int fields;
    private final AccumulatorV2<Object, Object> dataSize;

    private RowFormat(int fields, AccumulatorV2<Object, Object> dataSize) {
        this.fields = fields;
        this.dataSize = dataSize;
    }

    /** True for the serializer whose records are rows; decided on the driver and on executors alike. */
    public static boolean isRowSerializer(Serializer serializer) {
        return serializer.getClass().getName().equals(ROW_SERIALIZER);
    }

    /** Reads the format off a row serializer; {@code null} for any other, or when it does not look as expected. */
    @SuppressWarnings("unchecked")
    public static RowFormat of(Serializer serializer) {
        if (!isRowSerializer(serializer)) {
            return null;
        }
        try {
            int fields = (int) read(serializer, "numFields");
            return new RowFormat(fields, (AccumulatorV2<Object, Object>) read(serializer, "dataSize"));
        } catch (ReflectiveOperationException | RuntimeException e) {
            LOG.warn(
                    "rows go through Spark's serializer, not in place: cannot read {}: {}",
                    ROW_SERIALIZER,
                    e.toString());
            return null;
        }
    }

    /** Scala may prefix a private field with the class's name. */
    private static Object read(Serializer serializer, String name) throws ReflectiveOperationException {
        for (Field field : serializer.getClass().getDeclaredFields()) {
            if (field.getName().equals(name) || field.getName().endsWith("$$" + name)) {
                field.setAccessible(true);
                return field.get(serializer);
            }
        }
        throw new NoSuchFieldException(name);
    }

    /** Number of fields of a row. */
    public int fields() {
        return fields;
    }

    /** Stages a row and returns its size in bytes. */
    int stage(Staging staging, int partition, Object value) throws IOException {
        UnsafeRow row = (UnsafeRow) value;
        int length = row.getSizeInBytes();
        staging.addRow(partition, row.getBaseObject(), row.getBaseOffset(), length);
        return length;
    }

    void addDataSize(long bytes) {
        if (dataSize != null) {
            dataSize.add(bytes);
        }
    }
}
