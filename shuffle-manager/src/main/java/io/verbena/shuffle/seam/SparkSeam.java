package io.verbena.shuffle.seam;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.Arrays;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.util.collection.ExternalSorter;
import scala.Option;
import scala.math.Ordering;

/** Members of Spark whose signature depends on the line. */
public final class SparkSeam {
    private static final MethodHandle MAP_STATUS;
    private static final boolean MAP_STATUS_HAS_CHECKSUM;
    private static final MethodHandle EXTERNAL_SORTER;
    private static final int EXTERNAL_SORTER_ARITY;
    /** {@code ShuffleDependency.rowBasedChecksums()}, from 4.1 on; {@code null} before. */
    private static final MethodHandle ROW_CHECKSUMS;
    /** {@code RowBasedChecksum.update(Object, Object)}. */
    private static final MethodHandle UPDATE_CHECKSUM;
    /** {@code RowBasedChecksum.getAggregatedChecksumValue(RowBasedChecksum[])}. */
    private static final MethodHandle AGGREGATE_CHECKSUM;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.publicLookup();
            Method apply = Arrays.stream(MapStatus$.class.getMethods())
                    .filter(m -> m.getName().equals("apply"))
                    .findFirst()
                    .orElseThrow(() -> new NoSuchMethodException("MapStatus.apply"));
            MAP_STATUS = lookup.unreflect(apply).bindTo(MapStatus$.MODULE$);
            MAP_STATUS_HAS_CHECKSUM = apply.getParameterCount() == 4;
            Constructor<?> sorter = ExternalSorter.class.getConstructors()[0];
            EXTERNAL_SORTER = lookup.unreflectConstructor(sorter);
            EXTERNAL_SORTER_ARITY = sorter.getParameterCount();
            Method checksums = Arrays.stream(ShuffleDependency.class.getMethods())
                    .filter(m -> m.getName().equals("rowBasedChecksums"))
                    .findFirst()
                    .orElse(null);
            if (checksums == null) {
                ROW_CHECKSUMS = null;
                UPDATE_CHECKSUM = null;
                AGGREGATE_CHECKSUM = null;
            } else {
                ROW_CHECKSUMS = lookup.unreflect(checksums);
                Class<?> type = checksums.getReturnType().getComponentType();
                UPDATE_CHECKSUM = lookup.unreflect(type.getMethod("update", Object.class, Object.class))
                        .asType(java.lang.invoke.MethodType.methodType(
                                void.class, Object.class, Object.class, Object.class));
                AGGREGATE_CHECKSUM =
                        lookup.unreflect(type.getMethod("getAggregatedChecksumValue", checksums.getReturnType()));
            }
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private SparkSeam() {}

    /**
     * Makes a map status.
     *
     * @param checksum order-independent checksum over the rows, 0 when Spark does not ask for one; kept from 4.1 on
     */
    public static MapStatus mapStatus(BlockManagerId location, long[] sizes, long mapId, long checksum) {
        try {
            return MAP_STATUS_HAS_CHECKSUM
                    ? (MapStatus) MAP_STATUS.invoke(location, sizes, mapId, checksum)
                    : (MapStatus) MAP_STATUS.invoke(location, sizes, mapId);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** Makes the sorter of Spark's own reduce side: by key, without aggregation. */
    @SuppressWarnings("unchecked")
    public static <K, C> ExternalSorter<K, C, C> sorterByKey(
            TaskContext context, Ordering<K> ordering, Serializer serializer) {
        try {
            Option<?> none = Option.empty();
            Option<Ordering<K>> order = Option.apply(ordering);
            if (EXTERNAL_SORTER_ARITY == 5) {
                return (ExternalSorter<K, C, C>) EXTERNAL_SORTER.invoke(context, none, none, order, serializer);
            }
            Object noChecksums = java.lang.reflect.Array.newInstance(
                    EXTERNAL_SORTER.type().parameterType(5).getComponentType(), 0);
            return (ExternalSorter<K, C, C>)
                    EXTERNAL_SORTER.invoke(context, none, none, order, serializer, noChecksums);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** Returns the per-partition row checksums that Spark wants updated, an empty array when it wants none. */
    static Object[] rowChecksums(ShuffleDependency<?, ?, ?> dependency) {
        if (ROW_CHECKSUMS == null) {
            return new Object[0];
        }
        try {
            Object[] checksums = (Object[]) ROW_CHECKSUMS.invoke(dependency);
            return checksums == null ? new Object[0] : checksums;
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    static void update(Object checksum, Object key, Object value) {
        try {
            UPDATE_CHECKSUM.invokeExact(checksum, key, value);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    static long aggregate(Object[] checksums) {
        try {
            return (long) AGGREGATE_CHECKSUM.invoke(checksums);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    private static RuntimeException rethrow(Throwable e) {
        if (e instanceof Error error) {
            throw error;
        }
        return e instanceof RuntimeException unchecked ? unchecked : new IllegalStateException(e);
    }
}
