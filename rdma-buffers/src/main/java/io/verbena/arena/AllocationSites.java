package io.verbena.arena;

/** Names who asked for a lease. Threads: stateless. */
final class AllocationSites {
    private static final StackWalker WALKER = StackWalker.getInstance();
    private static final String PACKAGE = AllocationSites.class.getPackageName() + ".";

    private AllocationSites() {}

    /**
     * Returns a label for messages.
     *
     * @param exact the caller's stack frame; else the thread's name, which in Spark names the task
     */
    static String current(boolean exact) {
        String thread = Thread.currentThread().getName();
        if (!exact) {
            return thread;
        }
        return WALKER.walk(frames -> frames.filter(frame -> !isInternal(frame.getClassName()))
                .findFirst()
                .map(frame -> frame.toStackTraceElement() + " in thread " + thread)
                .orElse(thread));
    }

    private static boolean isInternal(String className) {
        return className.equals(PACKAGE + "Arena") || className.equals(PACKAGE + "AllocationSites");
    }
}
