package io.verbena.transport.verbs.engine;

import io.verbena.transport.ReadRequest;
import io.verbena.transport.TransportException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Ends a request: the destination goes back to its holder, then the listener is told. Threads: stateless. */
final class Listeners {
    private static final Logger LOG = LoggerFactory.getLogger(Listeners.class);

    private Listeners() {}

    /** @param failure null for success */
    static void finish(ReadRequest request, TransportException failure) {
        request.destination().markCompleted();
        try {
            if (failure == null) {
                request.listener().onSuccess();
            } else {
                request.listener().onFailure(failure);
            }
        } catch (RuntimeException | Error e) {
            // Whatever it is, the progress thread has other requests to serve.
            LOG.error("a read listener failed: listener={}", request.listener(), e);
        }
    }
}
