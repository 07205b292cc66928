package io.verbena.shuffle.metadata;

/** How the bytes of a map output's blocks are encoded; recorded with every map output, so that readers handle mixtures. */
public enum BlockLayout {
    /** Rows of Spark SQL: an 8-byte native-order length, then that many bytes of UnsafeRow. Slices are 8-byte aligned. */
    ROWS(1),
    /** Records of a relocatable serializer, back to back: slices of any number of map outputs form one stream. */
    RECORDS(2),
    /** Each slice is one stream of the serializer, encrypted as spark.io.encryption asks, not compressed. */
    ENCRYPTED(3),
    /** Each slice is one stream of the serializer, compressed and encrypted as Spark's configuration asks. */
    WRAPPED(4),
    /** Each block (all its slices, joined) is one stream as Spark's own writers make it. Stock shuffle files have it. */
    SPARK(5),
    /** Records of a relocatable serializer with keys and values of basic types as they are, back to back. */
    PAIRS(6);

    private static final BlockLayout[] BY_CODE = new BlockLayout[7];

    static {
        for (BlockLayout layout : values()) {
            BY_CODE[layout.code] = layout;
        }
    }

    private final int code;

    BlockLayout(int code) {
        this.code = code;
    }

    /** The number that stands for this layout on the wire and in memory. */
    public int code() {
        return code;
    }

    /** True when slices hold plain record bytes that can be read where they lie. */
    public boolean isPlain() {
        return this == ROWS || this == RECORDS || this == PAIRS;
    }

    /** True when slices are decoded by address, so that they must be in memory as a whole. A run holds them, so they fit there. */
    public boolean isAddressed() {
        return this == ROWS || this == PAIRS;
    }

    /**
     * Returns the layout of a code read from a peer.
     *
     * @throws CorruptMetadataException if no layout has the code
     */
    public static BlockLayout ofCode(int code) throws CorruptMetadataException {
        if (code < 1 || code >= BY_CODE.length) {
            throw new CorruptMetadataException(
                    "unknown block layout: code=" + code + ", known=1.." + (BY_CODE.length - 1));
        }
        return BY_CODE[code];
    }
}
