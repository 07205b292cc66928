package io.verbena.it.containers;

import org.testcontainers.dockerclient.DockerClientProviderStrategy;
import org.testcontainers.dockerclient.TransportConfig;

/** Leads Testcontainers to {@link DockerDaemon}; found as a service. */
public final class DockerDaemonStrategy extends DockerClientProviderStrategy {
    @Override
    public TransportConfig getTransportConfig() {
        return TransportConfig.builder()
                .dockerHost(DockerDaemon.running().socket())
                .build();
    }

    @Override
    public String getDescription() {
        return "the tests' own daemon";
    }

    @Override
    protected int getPriority() {
        return Integer.MAX_VALUE;
    }

    /** Else it would be written to a file in the user's home. */
    @Override
    protected boolean isPersistable() {
        return false;
    }
}
