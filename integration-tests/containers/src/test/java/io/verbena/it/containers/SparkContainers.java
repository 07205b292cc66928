package io.verbena.it.containers;

import com.github.dockerjava.api.DockerClient;
import io.verbena.it.process.Await;
import com.github.dockerjava.api.model.Bind;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.shuffle.rdma.ExecutorProbe;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.Network;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.lifecycle.Startables;

/**
 * A standalone cluster of containers on a network of their own: a master, and workers of one core as tests want them. One folder is
 * the same in all of them and on the host: Spark, the application, what workers log, signals. Threads: the test's.
 */
final class SparkContainers implements AutoCloseable {
    /** What every worker may use, with its executor and what that has in /dev/shm. */
    static final long WORKER_MEMORY_BYTES = 1536L << 20;

    private static final String SUBNET = "10.77.0.0/24";
    private static final String MASTER_ADDRESS = "10.77.0.2";
    private static final String MASTER = "spark://" + MASTER_ADDRESS + ":7077";
    private static final Duration START = Duration.ofSeconds(90);

    private final DockerClient client;
    private final Path directory = Path.of("target", "cluster").toAbsolutePath();
    private final Path jar = Path.of(System.getProperty("verbena.shadedJar"));
    private final List<Bind> binds;
    private final Network network;
    private final List<GenericContainer<?>> others = new ArrayList<>();
    private final List<Worker> workers = new ArrayList<>();
    private WorkerKind kind;
    private int lastAddress = 9;

    SparkContainers(DockerClient client) throws IOException {
        this.client = client;
        // Of an earlier run; this one's stays for whoever looks for the reason of a failure.
        if (Files.exists(directory)) {
            Directories.delete(directory);
        }
        SparkHome.install(home());
        SparkHome.applicationJar(applicationJar(), SubmittedJob.class, InterruptedJob.class, ExecutorProbe.class);
        Files.createDirectory(signals());
        binds = new ArrayList<>(HostImage.binds());
        binds.add(HostImage.readOnly(Path.of(System.getProperty("verbena.repository"))));
        binds.add(HostImage.readOnly(jar.getParent()));
        binds.add(HostImage.writable(directory));
        network = Network.builder()
                .createNetworkCmdModifier(command -> command.withInternal(true)
                        .withIpam(new com.github.dockerjava.api.model.Network.Ipam()
                                .withConfig(
                                        new com.github.dockerjava.api.model.Network.Ipam.Config().withSubnet(SUBNET))))
                .build();
    }

    void startMaster() {
        GenericContainer<?> master = container(
                MASTER_ADDRESS,
                List.of(
                        "org.apache.spark.deploy.master.Master",
                        "--host",
                        MASTER_ADDRESS,
                        "--port",
                        "7077",
                        "--webui-port",
                        "0"));
        others.add(master);
        master.waitingFor(Wait.forLogMessage(".*I have been elected leader.*", 1))
                .withStartupTimeout(START);
        master.start();
    }

    private Path home() {
        return directory.resolve("spark");
    }

    private Path applicationJar() {
        return directory.resolve("application.jar");
    }

    /** Where tasks and the test leave files for each other. */
    Path signals() {
        return directory.resolve("signals");
    }

    private GenericContainer<?> container(String address, List<String> mainAndArguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of(System.getProperty("spark.jvm.opens").split(" ", -1)));
        // JVMs live for seconds: the second compiler costs more than it gives.
        command.addAll(List.of("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
        command.addAll(List.of("-cp", home().resolve("conf") + File.pathSeparator + home().resolve("jars") + "/*"));
        command.addAll(mainAndArguments);
        GenericContainer<?> container = new GenericContainer<>(HostImage.NAME);
        container
                .withNetwork(network)
                .withEnv(Map.of(
                        "SPARK_HOME",
                        home().toString(),
                        "SPARK_SCALA_VERSION",
                        System.getProperty("verbena.scala"),
                        "SPARK_LOCAL_IP",
                        address))
                .withCommand(command.toArray(String[]::new))
                .withCreateContainerCmdModifier(create -> {
                    create.withIpv4Address(address).getHostConfig().withBinds(binds);
                });
        return container;
    }

    private String nextAddress() {
        lastAddress++;
        return "10.77.0." + lastAddress;
    }

    /** Returns workers of a kind, those that run or else new ones; workers of another kind are ended first. */
    List<Worker> workers(WorkerKind wanted, int count) throws IOException {
        if (!wanted.equals(kind) || workers.size() != count) {
            stopWorkers();
            kind = wanted;
            for (int i = 0; i < count; i++) {
                workers.add(newWorker());
            }
            if (wanted.sharing()) {
                // The first has what the others join.
                workers.get(0).container().start();
            }
            Startables.deepStart(workers.stream().map(Worker::container)).join();
        }
        return List.copyOf(workers);
    }

    private Worker newWorker() throws IOException {
        String address = nextAddress();
        Path work = Files.createDirectory(directory.resolve("worker-" + address));
        GenericContainer<?> container = container(
                address,
                List.of(
                        "org.apache.spark.deploy.worker.Worker",
                        "--host",
                        address,
                        "--cores",
                        "1",
                        "--memory",
                        "600m",
                        "--webui-port",
                        "0",
                        "--work-dir",
                        work.toString(),
                        MASTER));
        container
                .waitingFor(Wait.forLogMessage(".*Successfully registered with master.*", 1))
                .withStartupTimeout(START);
        GenericContainer<?> first =
                kind.sharing() && !workers.isEmpty() ? workers.get(0).container() : null;
        container.withCreateContainerCmdModifier(create -> {
            create.getHostConfig().withMemory(WORKER_MEMORY_BYTES).withMemorySwap(WORKER_MEMORY_BYTES);
            if (first != null) {
                create.getHostConfig().withIpcMode("container:" + first.getContainerId());
            } else {
                create.getHostConfig().withShmSize(kind.sharedMemoryBytes());
                create.getHostConfig().withIpcMode(kind.sharing() ? "shareable" : "private");
            }
        });
        return new Worker(client, address, container, work);
    }

    /** Ends a worker's container with all its processes at once, and forgets it. */
    void kill(Worker worker) {
        client.killContainerCmd(worker.container().getContainerId())
                .withSignal("SIGKILL")
                .exec();
        if (!Await.within(20, () -> !worker.container().isRunning())) {
            throw new IllegalStateException("still running after SIGKILL: " + worker.address());
        }
        workers.remove(worker);
        others.add(worker.container());
    }

    /** Starts spark-submit in a container of its own; the application gets all workers, and our jar by --jars. */
    Submission submit(Map<String, String> conf, Class<?> main, String... arguments) {
        String address = nextAddress();
        List<String> words = new ArrayList<>(List.of("org.apache.spark.deploy.SparkSubmit", "--master", MASTER));
        Map<String, String> base = Map.ofEntries(
                Map.entry("spark.serializer", "org.apache.spark.serializer.KryoSerializer"),
                Map.entry("spark.driver.host", address),
                Map.entry("spark.ui.enabled", "false"),
                Map.entry("spark.executor.memory", "512m"),
                Map.entry("spark.cores.max", Integer.toString(workers.size())),
                // Tasks start when all executors are there, so that each has somebody to read from.
                Map.entry("spark.scheduler.minRegisteredResourcesRatio", "1.0"),
                Map.entry("spark.scheduler.maxRegisteredResourcesWaitingTime", "120s"),
                Map.entry("spark.sql.autoBroadcastJoinThreshold", "-1"),
                Map.entry("spark.sql.shuffle.partitions", "12"),
                Map.entry("spark.sql.adaptive.advisoryPartitionSizeInBytes", "16m"),
                Map.entry(
                        "spark.executor.extraJavaOptions",
                        System.getProperty("spark.jvm.opens") + " -XX:+UseSerialGC -XX:TieredStopAtLevel=1"));
        Stream.of(base, conf)
                .flatMap(settings -> settings.entrySet().stream())
                .forEach(setting -> words.addAll(List.of("--conf", setting.getKey() + "=" + setting.getValue())));
        words.addAll(List.of(
                "--jars",
                jar.toString(),
                "--class",
                main.getName(),
                applicationJar().toString()));
        words.addAll(List.of(arguments));
        GenericContainer<?> container = container(address, words);
        others.add(container);
        container.start();
        return new Submission(client, container);
    }

    private void stopWorkers() {
        workers.forEach(worker -> worker.container().stop());
        workers.clear();
    }

    @Override
    public void close() {
        stopWorkers();
        // Drivers before the master.
        for (int i = others.size() - 1; i >= 0; i--) {
            others.get(i).stop();
        }
        network.close();
    }
}
