package io.verbena.tpcds;

/** One of the two shuffles that are compared. */
public enum Side {
    /** Spark's SortShuffleManager, the control. */
    SORT("sort"),
    /** Verbena's shuffle manager. */
    OURS("ours");

    private final String label;

    Side(String label) {
        this.label = label;
    }

    /** @return for people, also the side's folder name */
    public String label() {
        return label;
    }
}
