package io.verbena.suites.agent;

import net.bytebuddy.asm.Advice;

/** Code that is copied into SparkConf. Does not name that class, which would load it before it is changed. */
final class ConfAdvice {
    private ConfAdvice() {}

    /** At the end of the constructor. */
    static final class Made {
        private Made() {}

        @Advice.OnMethodExit
        static void exit(@Advice.This Object conf) {
            SuiteSettings.addTo(conf);
        }
    }

    /** At the start of the method that all setters end in. */
    static final class Set {
        private Set() {}

        @Advice.OnMethodEnter
        @SuppressWarnings({"UnusedVariable", "ParameterReassignment"})
        static void enter(@Advice.Argument(0) String key, @Advice.Argument(value = 1, readOnly = false) String value) {
            value = SuiteSettings.replacement(key, value);
        }
    }
}
