package io.verbena.verbs.inside;

import static com.ibm.disni.verbs.IbvMr.IBV_ACCESS_LOCAL_WRITE;
import static com.ibm.disni.verbs.IbvMr.IBV_ACCESS_REMOTE_READ;
import static com.ibm.disni.verbs.RdmaCmEvent.EventType.RDMA_CM_EVENT_ADDR_RESOLVED;
import static com.ibm.disni.verbs.RdmaCmEvent.EventType.RDMA_CM_EVENT_CONNECT_REQUEST;
import static com.ibm.disni.verbs.RdmaCmEvent.EventType.RDMA_CM_EVENT_DISCONNECTED;
import static com.ibm.disni.verbs.RdmaCmEvent.EventType.RDMA_CM_EVENT_ESTABLISHED;
import static com.ibm.disni.verbs.RdmaCmEvent.EventType.RDMA_CM_EVENT_ROUTE_RESOLVED;
import static org.assertj.core.api.Assertions.assertThat;

import com.ibm.disni.verbs.IbvMr;
import com.ibm.disni.verbs.IbvSendWR;
import com.ibm.disni.verbs.RdmaCmId;
import com.ibm.disni.verbs.RdmaEventChannel;
import com.ibm.disni.verbs.SVCPostSend;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** RDMA Reads through DiSNI's raw verbs classes on a real device, both ends in this JVM, driven by one thread in turns. */
public final class DisniReads implements AutoCloseable {
    private static final int TIMEOUT_MS = 5_000;
    private static final int BLOCK = 4096;
    private static final int BATCH = 16;
    private static final int ROUNDS = 16;
    private static final int BYTES = BLOCK * BATCH * ROUNDS;
    private static final int MESSAGE = 16;
    private static final int RECEIVE = 1;
    private static final int SEND = 2;

    private final RdmaEventChannel serverEvents = RdmaEventChannel.createEventChannel();
    private final RdmaEventChannel clientEvents = RdmaEventChannel.createEventChannel();
    private final RdmaCmId listener = LocalDevice.listen(serverEvents, LocalDevice.ipv4());
    private final ByteBuffer served = ByteBuffer.allocateDirect(BYTES);
    private final ByteBuffer read = ByteBuffer.allocateDirect(BLOCK * BATCH);

    private RawEnd server;
    private RawEnd client;

    /** Creates one that listens. */
    public DisniReads() throws IOException {
        for (int offset = 0; offset < BYTES; offset += 8) {
            served.putLong(offset, offset * 0x9e3779b97f4a7c15L);
        }
    }

    /** Returns the address and rkey that the server has sent. */
    private ByteBuffer connect() throws IOException {
        RdmaCmId id = clientEvents.createId(LocalDevice.TCP);
        id.resolveAddr(null, listener.getSource(), TIMEOUT_MS);
        RawEnd.expect(clientEvents, RDMA_CM_EVENT_ADDR_RESOLVED);
        id.resolveRoute(TIMEOUT_MS);
        RawEnd.expect(clientEvents, RDMA_CM_EVENT_ROUTE_RESOLVED);
        client = new RawEnd(id);
        ByteBuffer received = ByteBuffer.allocateDirect(MESSAGE);
        client.receive(RECEIVE, client.register(received, IBV_ACCESS_LOCAL_WRITE));
        id.connect(RawEnd.parameters());

        server = new RawEnd(RawEnd.expect(serverEvents, RDMA_CM_EVENT_CONNECT_REQUEST));
        server.id.accept(RawEnd.parameters());
        RawEnd.expect(clientEvents, RDMA_CM_EVENT_ESTABLISHED);
        RawEnd.expect(serverEvents, RDMA_CM_EVENT_ESTABLISHED);

        IbvMr mr = server.register(served, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
        ByteBuffer message = ByteBuffer.allocateDirect(MESSAGE);
        message.putLong(0, mr.getAddr()).putInt(8, mr.getRkey()).putInt(12, mr.getLength());
        server.send(SEND, server.register(message, IBV_ACCESS_LOCAL_WRITE));
        server.complete(SEND);
        client.complete(RECEIVE);
        return received;
    }

    public void shouldReadWithReusedCallsAndTheLastSignalled() throws Exception {
        ByteBuffer remote = connect();
        assertThat(remote.getInt(12)).isEqualTo(BYTES);
        SVCPostSend post = prepare(client.register(read, IBV_ACCESS_LOCAL_WRITE), remote.getInt(8));

        for (int round = 0; round < ROUNDS; round++) {
            long start = (long) round * BLOCK * BATCH;
            for (int index = 0; index < BATCH; index++) {
                SVCPostSend.SendWRMod wr = post.getWrMod(index);
                wr.setWr_id(1000L * round + index);
                wr.getRdmaMod().setRemote_addr(remote.getLong(0) + start + (long) index * BLOCK);
            }
            post.execute();
            client.complete(1000L * round + BATCH - 1);
            assertThat(read).isEqualTo(served.slice((int) start, BLOCK * BATCH));
        }
        post.free();

        client.id.disconnect();
        RawEnd.expect(serverEvents, RDMA_CM_EVENT_DISCONNECTED);
        server.id.disconnect();
        RawEnd.expect(clientEvents, RDMA_CM_EVENT_DISCONNECTED);
    }

    private SVCPostSend prepare(IbvMr local, int rkey) throws IOException {
        List<IbvSendWR> list = new ArrayList<>();
        for (int index = 0; index < BATCH; index++) {
            IbvSendWR wr = new IbvSendWR();
            wr.setOpcode(IbvSendWR.IBV_WR_RDMA_READ);
            wr.setSend_flags(index == BATCH - 1 ? IbvSendWR.IBV_SEND_SIGNALED : 0);
            wr.setSg_list(RawEnd.entry(local, (long) index * BLOCK, BLOCK));
            wr.setNum_sge(1);
            wr.getRdma().setRkey(rkey);
            list.add(wr);
        }
        return client.qp.postSend(list, null);
    }

    @Override
    public void close() throws IOException {
        try {
            if (client != null) {
                client.close();
            }
            if (server != null) {
                server.close();
            }
        } catch (IOException e) {
            throw e;
        } catch (Exception e) {
            throw new IOException("cannot destroy the connection", e);
        }
        listener.destroyId();
        clientEvents.destroyEventChannel();
        serverEvents.destroyEventChannel();
    }
}
