package io.verbena.transport.verbs.engine;

import io.verbena.transport.verbs.VerbsStatistics;
import java.util.concurrent.atomic.LongAdder;

/** What is counted; each is documented in {@link VerbsStatistics}. Threads: any. */
final class Counters {
    final LongAdder readWorkRequests = new LongAdder();
    final LongAdder readBytes = new LongAdder();
    final LongAdder doorbells = new LongAdder();
    final LongAdder completions = new LongAdder();
    final LongAdder strayCompletions = new LongAdder();
    final LongAdder connects = new LongAdder();
    final LongAdder accepts = new LongAdder();
    final LongAdder rejects = new LongAdder();
    final LongAdder connectionFailures = new LongAdder();
    final LongAdder openConnections = new LongAdder();
    final LongAdder registrationFailures = new LongAdder();

    VerbsStatistics snapshot() {
        return new VerbsStatistics(
                readWorkRequests.sum(),
                readBytes.sum(),
                doorbells.sum(),
                completions.sum(),
                strayCompletions.sum(),
                connects.sum(),
                accepts.sum(),
                rejects.sum(),
                connectionFailures.sum(),
                openConnections.sum(),
                registrationFailures.sum());
    }
}
