package io.verbena.transport.verbs.engine;

import com.ibm.disni.verbs.RdmaEventChannel;
import com.ibm.disni.verbs.impl.NatRdmaEventChannel;
import io.verbena.threads.DaemonThreads;
import io.verbena.verbs.bound.VerbsNative;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The CM thread: all of connection management happens here, one call at a time, so an id is never destroyed while its event is
 * handled. It also hears the devices' asynchronous events.
 *
 * <p>Threads: {@link #execute} by any; {@link #register} and {@link #forget} on the thread.
 */
final class CmLoop implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(CmLoop.class);

    /** Longest private data of any event, {@code RDMA_MAX_PRIVATE_DATA} of the kernel. */
    private static final int MAX_PRIVATE_DATA = 256;

    /** A look at the clock for whoever waits without an event. */
    private static final int ROUND_MS = 1000;

    private static final long CLOSE_WAIT_MS = 10_000;

    private final RdmaEventChannel channel;
    private final long channelHandle;
    private final TaskInbox inbox;
    private final Map<Long, CmHandler> handlers = new HashMap<>();
    private final List<Device> watched = new ArrayList<>();
    private final long[] event = new long[VerbsNative.CM_EVENT_VALUES];
    private final byte[] privateData = new byte[MAX_PRIVATE_DATA];
    private final Thread thread;
    private int[] fds;
    private volatile boolean stopping;
    private volatile boolean stopped;

    CmLoop() throws IOException {
        channel = RdmaEventChannel.createEventChannel();
        if (channel == null) {
            throw new IOException("no event channel");
        }
        channelHandle = ((NatRdmaEventChannel) channel).getObjId();
        inbox = new TaskInbox();
        fds = new int[] {VerbsNative.cmFd(channelHandle), inbox.fd()};
        thread = DaemonThreads.factory("verbs-cm").newThread(this::run);
    }

    void start() {
        thread.start();
    }

    RdmaEventChannel channel() {
        return channel;
    }

    long channelHandle() {
        return channelHandle;
    }

    /** Runs a task on the CM thread; after the end, on the caller's. */
    void execute(Runnable task) {
        if (stopped) {
            task.run();
        } else {
            inbox.add(task);
            if (stopped) {
                inbox.run();
            }
        }
    }

    void register(long id, CmHandler handler) {
        handlers.put(id, handler);
    }

    void forget(long id) {
        handlers.remove(id);
    }

    /** Hears the device's asynchronous events; before the start. */
    void watch(Device device) throws IOException {
        watched.add(device);
        fds = Arrays.copyOf(fds, fds.length + 1);
        fds[fds.length - 1] = device.asyncFd();
    }

    private void run() {
        while (!stopping) {
            try {
                round();
            } catch (RuntimeException | IOException | Error e) {
                LOG.error("the CM thread goes on after: {}", e.toString(), e);
                pause();
            }
        }
        stopped = true;
        inbox.run();
    }

    private static void pause() {
        try {
            TimeUnit.MILLISECONDS.sleep(10);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void round() throws IOException {
        inbox.run();
        if (inbox.sleep()) {
            int ready = 0;
            try {
                ready = VerbsNative.pollFds(fds, fds.length, ROUND_MS);
            } finally {
                inbox.awake((ready & 2) != 0);
            }
            if ((ready & 1) != 0) {
                cmEvents();
            }
            for (int i = watched.size() - 1; i >= 0; i--) {
                if ((ready & (1 << (2 + i))) != 0 && !watched.get(i).asyncEvents()) {
                    // A device that is gone makes its descriptor readable for ever.
                    fds[2 + i] = -1;
                }
            }
        }
    }

    private void cmEvents() throws IOException {
        for (int type = VerbsNative.nextCmEvent(channelHandle, event, privateData);
                type >= 0;
                type = VerbsNative.nextCmEvent(channelHandle, event, privateData)) {
            ByteBuffer data = ByteBuffer.wrap(Arrays.copyOf(privateData, (int) Math.min(event[3], MAX_PRIVATE_DATA)));
            CmEvent next = new CmEvent(type, event[0], event[2], data, (int) event[4], (int) event[5]);
            boolean isRequest = type == CmEvent.CONNECT_REQUEST;
            CmHandler handler = handlers.get(isRequest ? event[1] : event[0]);
            LOG.debug("CM event: {}, id={}, handler={}", next, event[0], handler);
            if (handler != null) {
                handler.onEvent(next);
            } else if (isRequest) {
                VerbsNative.destroyId(event[0]);
            }
        }
    }

    boolean isThread() {
        return Thread.currentThread().equals(thread);
    }

    /** Ends the thread; what is executed later runs on the caller's. */
    void stop() {
        stopping = true;
        // A task and not only a signal: the thread may just be on its way to sleep.
        inbox.add(() -> {});
        try {
            thread.join(CLOSE_WAIT_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (thread.isAlive()) {
            LOG.warn("the CM thread has not ended: its connections stay until the process ends");
        } else {
            stopped = true;
        }
    }

    /** Ends the thread and closes the channel. Every id is destroyed: librdmacm uses an id's channel to destroy it. */
    @Override
    public void close() {
        stop();
        if (thread.isAlive()) {
            return;
        }
        inbox.run();
        inbox.close();
        try {
            channel.destroyEventChannel();
        } catch (IOException e) {
            LOG.warn("the event channel stays: {}", e.toString());
        }
    }
}
