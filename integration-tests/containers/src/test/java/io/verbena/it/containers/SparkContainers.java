package io.verbena.it.containers;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.model.Bind;
import io.verbena.it.process.AppJar;
import io.verbena.it.process.Await;
import io.verbena.it.process.Messages;
import io.verbena.it.process.SparkInstallation;
import io.verbena.it.process.Submission;
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
 * A standalone cluster of containers on a network of their own: a master, and workers as tests want them. One folder is
 * the same in all of them and on the host: Spark, the application, what workers log, messages. Threads: the test's.
 */
final class SparkContainers implements AutoCloseable {
    private static final String SUBNET = "10.77.0.0/24";
    private static final String MASTER_ADDRESS = "10.77.0.2";
    private static final String MASTER = "spark://" + MASTER_ADDRESS + ":7077";
    private static final Duration START = Duration.ofSeconds(90);

    private final DockerClient client;
    private final Path directory = Path.of("target", "cluster").toAbsolutePath();
    private final Path jar = Path.of(System.getProperty("verbena.shadedJar"));
    private final List<String> jvmOptions;
    private final SparkInstallation installation;
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
        Files.createDirectories(messages());
        jvmOptions = List.of(System.getProperty("spark.jvm.opens").split(" ", -1));
        installation = new SparkInstallation(
                home(),
                sparkJars(),
                System.getProperty("verbena.scala"),
                Path.of(System.getProperty("java.home")),
                jvmOptions);
        AppJar.write(
                applicationJar(),
                SubmittedJob.class,
                InterruptedJob.class,
                ExecutorProbe.class,
                Messages.class,
                Await.class);
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

    /** The jars that this JVM has, without anything of ours. */
    private static List<Path> sparkJars() {
        return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator, -1))
                .map(Path::of)
                .filter(file -> file.getFileName().toString().matches("(?!verbena|rdma-buffers).*\\.jar"))
                .toList();
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
    Path messages() {
        return directory.resolve("messages");
    }

    private GenericContainer<?> container(String address, List<String> mainAndArguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(jvmOptions);
        command.add("-Xmx512m");
        command.addAll(List.of(SparkInstallation.SMALL_JVM.split(" ", -1)));
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
                        Integer.toString(kind.executors()),
                        "--memory",
                        600 * kind.executors() + "m",
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
            create.getHostConfig().withMemory(kind.memoryBytes()).withMemorySwap(kind.memoryBytes());
            if (first != null) {
                create.getHostConfig().withIpcMode("container:" + first.getContainerId());
            } else {
                create.getHostConfig().withShmSize(kind.sharedMemoryBytes());
                create.getHostConfig().withIpcMode(kind.sharing() ? "shareable" : "private");
            }
        });
        return new Worker(client, address, kind, container, work);
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

    /** How many executors an application gets: all that the workers have room for. */
    int executors() {
        return workers.size() * kind.executors();
    }

    /** An application that gets all workers. */
    Submission submission(Class<?> main, String... arguments) {
        return new Submission("", MASTER, main, applicationJar())
                .arguments(arguments)
                .conf("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
                .conf("spark.executor.cores", "1")
                .conf("spark.cores.max", Integer.toString(executors()))
                .conf(
                        "spark.executor.extraJavaOptions",
                        String.join(" ", jvmOptions) + " " + SparkInstallation.SMALL_JVM)
                .conf("spark.sql.autoBroadcastJoinThreshold", "-1")
                .conf("spark.sql.shuffle.partitions", "12")
                .conf("spark.sql.adaptive.advisoryPartitionSizeInBytes", "16m");
    }

    /** Starts spark-submit in a container of its own, with our jar by --jars. */
    Driver submit(Submission submission) {
        String address = nextAddress();
        submission.conf("spark.driver.host", address).jars(jar);
        GenericContainer<?> container = container(address, submission.mainAndArguments());
        others.add(container);
        container.start();
        return new Driver(client, container);
    }

    private void stopWorkers() {
        workers.forEach(worker -> worker.container().stop());
        workers.clear();
    }

    @Override
    public void close() throws IOException {
        stopWorkers();
        // Drivers before the master.
        for (int i = others.size() - 1; i >= 0; i--) {
            others.get(i).stop();
        }
        network.close();
        installation.close();
    }
}
