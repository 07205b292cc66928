package io.verbena.shuffle.sort;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.function.ToLongFunction;
import org.apache.spark.util.collection.unsafe.sort.PrefixComparators.DoublePrefixComparator;
import scala.Product;

/**
 * Eight bytes of a key, as an unsigned number that follows the natural order of the key's class: the prefix of a smaller key is
 * never the larger one. What order the keys are really wanted in is for {@link RecordSort} to find out.
 *
 * <p>Immutable. One object is for one class of keys.
 */
abstract class KeyPrefix {
    /** Returns the prefix for keys of the same class as this one, {@code null} if there is none. */
    static KeyPrefix of(Object key) {
        if (key instanceof byte[]) {
            return new Bytes();
        } else if (key instanceof String) {
            return new Text();
        } else if (key instanceof Long || key instanceof Integer || key instanceof Short || key instanceof Byte) {
            return new Scalar(key, number -> ((Number) number).longValue() ^ Long.MIN_VALUE);
        } else if (key instanceof Double || key instanceof Float) {
            return new Scalar(key, number -> DoublePrefixComparator.computePrefix(((Number) number).doubleValue()));
        } else if (key instanceof Character) {
            return new Scalar(key, character -> (Character) character);
        } else if (key instanceof Boolean) {
            return new Scalar(key, bool -> (Boolean) bool ? 1 : 0);
        } else if (key instanceof Product product && product.productArity() > 0) {
            KeyPrefix first = of(product.productElement(0));
            return first == null ? null : new First(key, first);
        }
        return null;
    }

    /** Whether a key is of the class that the prefix is for. */
    abstract boolean fits(Object key);

    /** Returns the prefix of a key that fits, behind its first {@code skip} elements. */
    abstract long of(Object key, int skip);

    /** Returns how many elements (bytes or characters) can be skipped at most; it reads the key's memory. */
    int length(Object key) {
        return 0;
    }

    /** Returns how many of the first {@code most} elements two keys share; neither is shorter than that. */
    int shared(Object a, Object b, int most) {
        return 0;
    }

    /** Unsigned bytes, from the most significant on; a shorter key comes first. */
    private static final class Bytes extends KeyPrefix {
        private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

        @Override
        boolean fits(Object key) {
            return key instanceof byte[];
        }

        @Override
        int length(Object key) {
            return ((byte[]) key).length;
        }

        @Override
        int shared(Object a, Object b, int most) {
            int mismatch = Arrays.mismatch((byte[]) a, 0, most, (byte[]) b, 0, most);
            return mismatch < 0 ? most : mismatch;
        }

        @Override
        long of(Object key, int skip) {
            byte[] bytes = (byte[]) key;
            if (bytes.length - skip >= Long.BYTES) {
                return (long) LONG.get(bytes, skip);
            }
            long prefix = 0;
            for (int i = skip, shift = 56; i < bytes.length; i++, shift -= 8) {
                prefix |= (bytes[i] & 0xffL) << shift;
            }
            return prefix;
        }
    }

    /**
     * A byte per UTF-16 unit, as {@link String#compareTo} compares them. A unit from 255 on is a byte of 255 that ends the prefix,
     * so that two strings which differ only from there on have the same.
     */
    private static final class Text extends KeyPrefix {
        private static final int LAST = 0xff;

        @Override
        boolean fits(Object key) {
            return key instanceof String;
        }

        @Override
        int length(Object key) {
            return ((String) key).length();
        }

        @Override
        int shared(Object a, Object b, int most) {
            String left = (String) a;
            String right = (String) b;
            int i = 0;
            while (i < most && left.charAt(i) == right.charAt(i)) {
                i++;
            }
            return i;
        }

        @Override
        long of(Object key, int skip) {
            String text = (String) key;
            int end = Math.min(text.length(), skip + Long.BYTES);
            long prefix = 0;
            for (int i = skip, shift = 56; i < end; i++, shift -= 8) {
                char unit = text.charAt(i);
                if (unit >= LAST) {
                    return prefix | (long) LAST << shift;
                }
                prefix |= (long) unit << shift;
            }
            return prefix;
        }
    }

    /** A boxed primitive. */
    private static final class Scalar extends KeyPrefix {
        private final Class<?> type;
        private final ToLongFunction<Object> prefix;

        Scalar(Object key, ToLongFunction<Object> prefix) {
            this.type = key.getClass();
            this.prefix = prefix;
        }

        @Override
        boolean fits(Object key) {
            return type.isInstance(key);
        }

        @Override
        long of(Object key, int skip) {
            return prefix.applyAsLong(key);
        }
    }

    /** The first element of a tuple or of a case class. */
    private static final class First extends KeyPrefix {
        private final Class<?> type;
        private final KeyPrefix element;

        First(Object key, KeyPrefix element) {
            this.type = key.getClass();
            this.element = element;
        }

        private static Object first(Object key) {
            return ((Product) key).productElement(0);
        }

        @Override
        boolean fits(Object key) {
            return key != null && key.getClass() == type && element.fits(first(key));
        }

        @Override
        int length(Object key) {
            return element.length(first(key));
        }

        @Override
        int shared(Object a, Object b, int most) {
            return element.shared(first(a), first(b), most);
        }

        @Override
        long of(Object key, int skip) {
            return element.of(first(key), skip);
        }
    }
}
