package io.verbena.it.containers;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.exception.DockerClientException;
import io.verbena.shuffle.metrics.ShuffleCounter;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.testcontainers.containers.GenericContainer;

/** The container of a submitted application, on its way or at its end. */
final class Driver {
    private static final long SECONDS = 150;
    private static final Pattern APPLICATION = Pattern.compile("Connected to Spark cluster with app ID (\\S+)");
    private static final Pattern TOTALS = Pattern.compile("shuffle summary of the application: (.*)");

    private final DockerClient client;
    private final GenericContainer<?> container;

    Driver(DockerClient client, GenericContainer<?> container) {
        this.client = client;
        this.container = container;
    }

    /**
     * Waits for the end.
     *
     * @throws IllegalStateException with the driver's log if that is not in time or not a success
     */
    Driver awaitSuccess() {
        int status;
        try {
            status = client.waitContainerCmd(container.getContainerId())
                    .start()
                    .awaitStatusCode(SECONDS, TimeUnit.SECONDS);
        } catch (DockerClientException e) {
            throw new IllegalStateException("still running after " + SECONDS + " s, log:\n" + log(), e);
        }
        if (status != 0) {
            throw new IllegalStateException("spark-submit failed: exitStatus=" + status + ", log:\n" + log());
        }
        return this;
    }

    String log() {
        return container.getLogs();
    }

    List<String> lines() {
        return log().lines().toList();
    }

    /** Lines that the application printed with this beginning, without it. */
    List<String> printed(String beginning) {
        return lines().stream()
                .filter(line -> line.startsWith(beginning))
                .map(line -> line.substring(beginning.length()))
                .toList();
    }

    String applicationId() {
        return find(APPLICATION);
    }

    /** A total of the application's tasks, as our manager logs them at the end; 0 if it names none. */
    long total(ShuffleCounter counter) {
        Map<String, Long> totals = new TreeMap<>();
        for (String total : find(TOTALS).split(", ", -1)) {
            String[] nameAndValue = total.split("=", 2);
            totals.put(nameAndValue[0], Long.parseLong(nameAndValue[1]));
        }
        return totals.getOrDefault(counter.label(), 0L);
    }

    private String find(Pattern pattern) {
        return Stream.of(log())
                .map(pattern::matcher)
                .filter(Matcher::find)
                .map(match -> match.group(1))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("no line with " + pattern + " in the log:\n" + log()));
    }
}
