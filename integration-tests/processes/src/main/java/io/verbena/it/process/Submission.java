package io.verbena.it.process;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What spark-submit is told, set like a builder. It starts with settings that suit small applications on one host. */
public final class Submission {
    private static final String MANAGER = "org.apache.spark.shuffle.rdma.RdmaShuffleManager";

    private final String name;
    private final String master;
    private final Class<?> main;
    private final Path app;
    private final Map<String, String> conf = new LinkedHashMap<>();
    private final List<String> options = new ArrayList<>();
    private String extraClassPath = "";

    /**
     * An application with Spark's own shuffle.
     *
     * @param name of its log
     */
    public Submission(String name, String master, Class<?> main, Path app) {
        this.name = name;
        this.master = master;
        this.main = main;
        this.app = app;
        conf("spark.driver.host", "127.0.0.1");
        conf("spark.ui.enabled", "false");
        conf("spark.executor.memory", "512m");
        conf("spark.executor.extraJavaOptions", SparkInstallation.SMALL_JVM);
        // Tasks start when all executors are there, so that each has somebody to read from.
        conf("spark.scheduler.minRegisteredResourcesRatio", "1.0");
        conf("spark.scheduler.maxRegisteredResourcesWaitingTime", "120s");
        conf("spark.sql.shuffle.partitions", "4");
    }

    /** Adds a setting. */
    public Submission conf(String key, String value) {
        conf.put(key, value);
        return this;
    }

    /** Adds options of spark-submit. */
    public Submission options(String... more) {
        options.addAll(List.of(more));
        return this;
    }

    /** Selects our shuffle, with little memory. The jar comes by {@link #jars} or {@link #classPath}. */
    public Submission ourShuffle(SharedMemory memory) {
        conf("spark.shuffle.manager", MANAGER);
        conf("spark.shuffle.rdma.memory.size", "128m");
        conf("spark.shuffle.rdma.memory.segmentSize", "16m");
        conf("spark.shuffle.rdma.memory.prewarm", "0");
        return conf("spark.shuffle.rdma.memory.shmDirectory", memory.directory().toString());
    }

    /** Hands a jar to the application, as Spark 4 allows for a shuffle manager. */
    public Submission jars(Path jar) {
        return options("--jars", jar.toString());
    }

    /**
     * Puts a jar on the class paths of driver and executors: what spark-submit's script makes of spark.driver.extraClassPath is the
     * class path of the JVM that it starts.
     */
    public Submission classPath(Path jar) {
        extraClassPath = jar.toString();
        return conf("spark.driver.extraClassPath", jar.toString())
                .conf("spark.executor.extraClassPath", jar.toString());
    }

    String name() {
        return name;
    }

    String extraClassPath() {
        return extraClassPath;
    }

    List<String> mainAndArguments() {
        List<String> words = new ArrayList<>(List.of("org.apache.spark.deploy.SparkSubmit", "--master", master));
        conf.forEach((key, value) -> words.addAll(List.of("--conf", key + "=" + value)));
        words.addAll(options);
        words.addAll(List.of("--class", main.getName(), app.toString()));
        return words;
    }
}
