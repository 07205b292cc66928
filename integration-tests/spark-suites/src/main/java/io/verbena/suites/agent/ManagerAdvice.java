package io.verbena.suites.agent;

import net.bytebuddy.asm.Advice;

/** Code that is copied into our shuffle manager. */
final class ManagerAdvice {
    private ManagerAdvice() {}

    /** At the end of registerShuffle. */
    static final class Registered {
        private Registered() {}

        @Advice.OnMethodExit
        static void exit(@Advice.Return Object handle) {
            ShuffleCounts.registered(handle);
        }
    }

    /** At the start of what registerShuffle does when it leaves a shuffle to Spark. */
    static final class FellBack {
        private FellBack() {}

        @Advice.OnMethodEnter
        static void enter(@Advice.Argument(0) Object reason) {
            ShuffleCounts.fellBack(reason);
        }
    }
}
