package io.verbena.suites.agent;

import static net.bytebuddy.matcher.ElementMatchers.isConstructor;
import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.nio.file.Path;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;

/**
 * Started with {@code -javaagent:JAR=DIRECTORY}. Suites make their confs without system properties and some name Spark's own manager, so
 * no setting from outside reaches them; executors get the driver's settings from the driver and need no agent.
 *
 * <p>DIRECTORY holds {@link SuiteSettings#FILE} and gets {@link ShuffleCounts#FILE} when the JVM ends.
 */
public final class SuiteAgent {
    private SuiteAgent() {}

    /** Called by the JVM before its main class. */
    public static void premain(String directory, Instrumentation instrumentation) throws IOException {
        SuiteSettings.load(Path.of(directory));
        ShuffleCounts.storeAtExit(Path.of(directory));
        new AgentBuilder.Default()
                .disableClassFormatChanges()
                .type(named("org.apache.spark.SparkConf"))
                .transform((builder, type, loader, module, domain) -> builder.visit(Advice.to(ConfAdvice.Made.class)
                                .on(isConstructor().and(takesArguments(boolean.class))))
                        .visit(Advice.to(ConfAdvice.Set.class)
                                .on(named("set").and(takesArguments(String.class, String.class, boolean.class)))))
                .type(named("org.apache.spark.shuffle.rdma.RdmaShuffleManager"))
                .transform((builder, type, loader, module, domain) -> builder.visit(
                                Advice.to(ManagerAdvice.Registered.class).on(named("registerShuffle")))
                        .visit(Advice.to(ManagerAdvice.FellBack.class).on(named("report"))))
                .installOn(instrumentation);
    }
}
