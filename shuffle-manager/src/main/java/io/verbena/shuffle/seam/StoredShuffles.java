package io.verbena.shuffle.seam;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleBlockInfo;
import scala.collection.immutable.Seq;

/**
 * Calls Spark's {@code getStoredShuffles} from an override of it. Its return type is {@code collection.Seq} on Scala 2.12 and
 * {@code immutable.Seq} on 2.13, so a compiled {@code super} call would link on one of them only.
 */
public final class StoredShuffles {
    private final MethodHandle superCall;

    private StoredShuffles(MethodHandle superCall) {
        this.superCall = superCall;
    }

    /** Finds Spark's method for the class whose lookup is given, a direct or indirect subclass of Spark's resolver. */
    public static StoredShuffles of(MethodHandles.Lookup subclass) {
        try {
            Class<?> type = IndexShuffleBlockResolver.class
                    .getMethod("getStoredShuffles")
                    .getReturnType();
            return new StoredShuffles(subclass.findSpecial(
                    IndexShuffleBlockResolver.class,
                    "getStoredShuffles",
                    MethodType.methodType(type),
                    subclass.lookupClass()));
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** The shuffle files that Spark's resolver finds on this executor's disks. */
    @SuppressWarnings("unchecked")
    public Seq<ShuffleBlockInfo> ofSpark(IndexShuffleBlockResolver resolver) {
        try {
            return ((scala.collection.Seq<ShuffleBlockInfo>) superCall.invoke(resolver)).toList();
        } catch (Error | RuntimeException e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }
}
