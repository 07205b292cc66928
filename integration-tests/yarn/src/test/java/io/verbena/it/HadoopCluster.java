package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.it.process.Await;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonConfigurationKeysPublic;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.monitor.ContainersMonitor;

/**
 * HDFS and YARN with two node managers in this JVM. Containers are processes of their own, below this one, and are killed when
 * they have more memory in RAM than they asked for.
 */
final class HadoopCluster implements AutoCloseable {
    private static final int NODE_MANAGERS = 2;

    private final Path directory;
    private MiniDFSCluster hdfs;
    private MiniYARNCluster yarn;

    private HadoopCluster(Path directory) {
        this.directory = directory;
    }

    /**
     * Starts a cluster.
     *
     * @param directory for all its files, new
     * @param settings on top of Hadoop's defaults
     */
    static HadoopCluster start(Path directory, Map<String, String> settings) throws Exception {
        LoopbackHosts.write();
        assertThat(InetAddress.getLocalHost().isLoopbackAddress())
                .as("the name of this host means the loopback interface: %s", InetAddress.getLocalHost())
                .isTrue();
        HadoopCluster cluster = new HadoopCluster(directory);
        try {
            cluster.start(settings);
            return cluster;
        } catch (Exception | Error e) {
            try (cluster) {
                throw e;
            }
        }
    }

    private void start(Map<String, String> settings) throws Exception {
        YarnConfiguration conf = new YarnConfiguration();
        conf.set("hadoop.tmp.dir", directory.resolve("tmp").toString());
        conf.setInt("dfs.replication", 1);
        // Without it the mini-cluster switches the checks off.
        conf.setBoolean(YarnConfiguration.YARN_MINICLUSTER_CONTROL_RESOURCE_MONITORING, true);
        // By default node managers leave it to control groups, even where they have none.
        conf.setBoolean(YarnConfiguration.NM_MEMORY_RESOURCE_ENFORCED, false);
        // Address space that JVMs reserve and do not use is nobody's loss.
        conf.setBoolean(YarnConfiguration.NM_VMEM_CHECK_ENABLED, false);
        conf.setInt(YarnConfiguration.YARN_MINICLUSTER_NM_PMEM_MB, 8192);
        conf.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB, 8);
        conf.setFloat(YarnConfiguration.NM_MAX_PER_DISK_UTILIZATION_PERCENTAGE, 100);
        // Shorter than the defaults, so that tests are.
        conf.setInt(YarnConfiguration.NM_CONTAINER_MON_INTERVAL_MS, 500);
        conf.setInt(YarnConfiguration.RM_NM_HEARTBEAT_INTERVAL_MS, 200);
        // The mini-cluster comes without a capacity-scheduler.xml.
        conf.set("yarn.scheduler.capacity.root.queues", "default");
        conf.setInt("yarn.scheduler.capacity.root.default.capacity", 100);
        conf.setFloat("yarn.scheduler.capacity.maximum-am-resource-percent", 1);
        settings.forEach(conf::set);

        hdfs = new MiniDFSCluster.Builder(conf, directory.resolve("hdfs").toFile())
                .numDataNodes(1)
                .build();
        hdfs.waitActive();
        yarn = new MiniYARNCluster(directory.getFileName().toString(), NODE_MANAGERS, 1, 1);
        yarn.init(conf);
        yarn.start();
        assertThat(yarn.waitForNodeManagersToConnect(30_000))
                .as("node managers are connected")
                .isTrue();
        Files.createDirectories(configuration());
        for (String name : List.of("core-site.xml", "hdfs-site.xml", "yarn-site.xml")) {
            // The same in each, because the defaults of one component come after the settings of another.
            try (OutputStream file = Files.newOutputStream(configuration().resolve(name))) {
                changed(yarn.getConfig()).writeXml(file);
            }
        }
    }

    /** What is not Hadoop's default, as the files of a real cluster have it. */
    private static Configuration changed(Configuration conf) {
        Configuration defaults = new YarnConfiguration();
        Configuration changed = new Configuration(false);
        for (Map.Entry<String, String> entry : conf) {
            if (!entry.getValue().equals(defaults.getRaw(entry.getKey()))) {
                changed.set(entry.getKey(), entry.getValue());
            }
        }
        // Names a class of the mini-cluster, which clients do not have.
        changed.unset(CommonConfigurationKeysPublic.NET_TOPOLOGY_NODE_SWITCH_MAPPING_IMPL_KEY);
        return changed;
    }

    /** What HADOOP_CONF_DIR names. */
    Path configuration() {
        return directory.resolve("conf");
    }

    void write(String path, List<String> lines) throws IOException {
        try (FSDataOutputStream file = files().create(new org.apache.hadoop.fs.Path(path))) {
            file.write((String.join("\n", lines) + "\n").getBytes(StandardCharsets.UTF_8));
        }
    }

    /** Lines of an output, in the order of its parts. */
    List<String> read(String path) throws IOException {
        FileStatus[] parts = files().globStatus(new org.apache.hadoop.fs.Path(path, "part-*"));
        Arrays.sort(parts);
        List<String> lines = new ArrayList<>();
        for (FileStatus part : parts) {
            try (FSDataInputStream file = files().open(part.getPath())) {
                new String(file.readAllBytes(), StandardCharsets.UTF_8).lines().forEach(lines::add);
            }
        }
        return lines;
    }

    String address(String path) {
        return hdfs.getURI().resolve(path).toString();
    }

    private FileSystem files() throws IOException {
        return hdfs.getFileSystem();
    }

    /** Standard error of a container, of the application that ran last if there are several. */
    List<String> log(String container) throws IOException {
        return Files.readAllLines(below("logDir")
                .filter(file -> file.endsWith("stderr")
                        && file.getParent().getFileName().toString().endsWith(container))
                // The names of containers have the application's number; those of the folders above have the node's.
                .max(Comparator.comparing(file -> file.getParent().getFileName()))
                .orElseThrow());
    }

    /** Waits until every node manager has looked at the memory of all its containers, from now on. */
    void awaitMemoryChecks() {
        for (int i = 0; i < NODE_MANAGERS; i++) {
            ContainersMonitor monitor =
                    yarn.getNodeManager(i).getNMContext().getContainerManager().getContainersMonitor();
            // The first round may have begun before.
            for (int round = 0; round < 3; round++) {
                ResourceUtilization before = monitor.getContainersUtilization();
                assertThat(Await.within(30, () -> hasGoneRound(monitor, before)))
                        .as("containers are looked at")
                        .isTrue();
            }
        }
    }

    /** Each round ends with an object of its own. */
    @SuppressWarnings("ReferenceEquality")
    private static boolean hasGoneRound(ContainersMonitor monitor, ResourceUtilization before) {
        return monitor.getContainersUtilization() != before;
    }

    /** Folders of applications, which node managers remove when the application has ended. */
    List<Path> applicationFolders() {
        return below("localDir")
                .filter(file -> file.getParent().endsWith("appcache"))
                .toList();
    }

    private Stream<Path> below(String kind) {
        List<Path> found = new ArrayList<>();
        try (Stream<Path> roots = Files.list(yarn.getTestWorkDir().toPath())) {
            for (Path root : roots.filter(root -> root.getFileName().toString().contains(kind))
                    .toList()) {
                found.addAll(list(root));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return found.stream();
    }

    /** Like Files.walk, but a file may vanish meanwhile. */
    private static List<Path> list(Path folder) {
        List<Path> found = new ArrayList<>(List.of(folder));
        try (Stream<Path> files = Files.isDirectory(folder) ? Files.list(folder) : Stream.of()) {
            files.toList().forEach(file -> found.addAll(list(file)));
        } catch (java.nio.file.NoSuchFileException e) {
            return List.of();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return found;
    }

    @Override
    public void close() {
        if (yarn != null) {
            yarn.stop();
            remove(yarn.getTestWorkDir().toPath());
        }
        if (hdfs != null) {
            hdfs.shutdown(true);
        }
        remove(directory);
    }

    private static void remove(Path folder) {
        List<Path> files = list(folder);
        Collections.reverse(files);
        files.forEach(file -> file.toFile().delete());
    }
}
