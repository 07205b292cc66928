package io.verbena.it;

import io.verbena.it.process.Messages;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;

/** Messages between tasks and the test. */
final class Signal implements Serializable {
    private static final long serialVersionUID = 1L;

    private final Messages messages;

    Signal(Path directory) {
        messages = new Messages(directory);
    }

    /** From a task: "executor id:process id" under a name of its own that begins with {@code name}. */
    void fromTask(String name) {
        raise(
                name + "-" + TaskContext.get().taskAttemptId(),
                SparkEnv.get().executorId() + ":" + ProcessHandle.current().pid());
    }

    void raise(String name, String text) {
        messages.raise(name, text);
    }

    /** Texts of all messages whose name begins with {@code name}. */
    List<String> texts(String name) {
        return messages.texts(name);
    }

    /** Waits until there are that many messages; a task that is killed stops waiting. */
    void await(String name, int count) {
        messages.await(
                name,
                count,
                () -> TaskContext.get() != null && TaskContext.get().isInterrupted());
    }
}
