package io.verbena.tpcds;

/** The outcome of comparing one query's results. */
public enum Verdict {
    /** The same rows in the same order, or, where the query has no ORDER BY, in any order. */
    EQUAL("equal"),
    /** The rows differ only in ways that ORDER BY ties allow, and the results without LIMIT are the same rows. */
    EQUAL_WITH_TIES("equal (ties)"),
    /** The rows differ. */
    DIFFERENT("DIFFERENT"),
    /** A side failed, so nothing could be compared. */
    FAILED("FAILED");

    private final String label;

    Verdict(String label) {
        this.label = label;
    }

    /** @return for people */
    public String label() {
        return label;
    }

    /** @return whether the comparison found the two sides to agree */
    public boolean passed() {
        return this == EQUAL || this == EQUAL_WITH_TIES;
    }
}
