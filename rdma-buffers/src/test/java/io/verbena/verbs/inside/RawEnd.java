package io.verbena.verbs.inside;

import static org.assertj.core.api.Assertions.assertThat;

import com.ibm.disni.verbs.IbvCQ;
import com.ibm.disni.verbs.IbvCompChannel;
import com.ibm.disni.verbs.IbvMr;
import com.ibm.disni.verbs.IbvPd;
import com.ibm.disni.verbs.IbvQP;
import com.ibm.disni.verbs.IbvQPInitAttr;
import com.ibm.disni.verbs.IbvRecvWR;
import com.ibm.disni.verbs.IbvSendWR;
import com.ibm.disni.verbs.IbvSge;
import com.ibm.disni.verbs.IbvWC;
import com.ibm.disni.verbs.RdmaCmEvent;
import com.ibm.disni.verbs.RdmaCmId;
import com.ibm.disni.verbs.RdmaConnParam;
import com.ibm.disni.verbs.RdmaEventChannel;
import com.ibm.disni.verbs.SVCPollCq;
import com.ibm.disni.verbs.SVCReqNotify;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedList;
import java.util.List;

/** One end of a connection with nothing but DiSNI's raw verbs classes. Every wait has a deadline of ten seconds. */
final class RawEnd {
    static final int DEPTH = 64;
    private static final int DEADLINE_MS = 10_000;
    /** 7 is endless on rxe. */
    private static final byte RETRIES = 3;

    final RdmaCmId id;
    final IbvPd pd;
    final IbvQP qp;
    private final IbvCompChannel completions;
    private final IbvCQ cq;
    private final IbvWC[] polled;
    private final SVCPollCq poll;
    private final SVCReqNotify arm;
    private final List<IbvMr> regions = new ArrayList<>();

    RawEnd(RdmaCmId id) throws IOException {
        this.id = id;
        pd = id.getVerbs().allocPd();
        completions = id.getVerbs().createCompChannel();
        cq = id.getVerbs().createCQ(completions, 2 * DEPTH, 0);
        IbvQPInitAttr attributes = new IbvQPInitAttr();
        attributes.cap().setMax_send_wr(DEPTH);
        attributes.cap().setMax_recv_wr(DEPTH);
        attributes.setQp_type(IbvQP.IBV_QPT_RC);
        attributes.setSend_cq(cq);
        attributes.setRecv_cq(cq);
        qp = id.createQP(pd, attributes);
        polled = new IbvWC[DEPTH];
        for (int index = 0; index < polled.length; index++) {
            polled[index] = new IbvWC();
        }
        poll = cq.poll(polled, polled.length);
        arm = cq.reqNotification(false);
    }

    static RdmaConnParam parameters() throws IOException {
        RdmaConnParam parameters = new RdmaConnParam();
        parameters.setRetry_count(RETRIES);
        parameters.setRnr_retry_count((byte) 7);
        return parameters;
    }

    /** Returns the id of the next event, which must be of the type: DiSNI's number of an event is the ordinal. */
    @SuppressWarnings("EnumOrdinal")
    static RdmaCmId expect(RdmaEventChannel channel, RdmaCmEvent.EventType type) throws IOException {
        RdmaCmEvent event = channel.getCmEvent(DEADLINE_MS);
        assertThat(event).as("event %s", type).isNotNull();
        assertThat(RdmaCmEvent.EventType.values()[event.getEvent()]).isEqualTo(type);
        event.ackEvent();
        return event.getConnIdPriv();
    }

    IbvMr register(ByteBuffer buffer, int access) throws IOException {
        IbvMr mr = pd.regMr(buffer, access).execute().free().getMr();
        regions.add(mr);
        return mr;
    }

    /** Returns a list of one, of the type that DiSNI asks for. */
    @SuppressWarnings({"JdkObsolete", "NonApiType"})
    static LinkedList<IbvSge> entry(IbvMr mr, long offset, int length) {
        IbvSge entry = new IbvSge();
        entry.setAddr(mr.getAddr() + offset);
        entry.setLength(length);
        entry.setLkey(mr.getLkey());
        return new LinkedList<>(List.of(entry));
    }

    void receive(long wrId, IbvMr mr) throws IOException {
        IbvRecvWR wr = new IbvRecvWR();
        wr.setWr_id(wrId);
        wr.setSg_list(entry(mr, 0, mr.getLength()));
        wr.setNum_sge(1);
        qp.postRecv(new ArrayList<>(List.of(wr)), null).execute().free();
    }

    void send(long wrId, IbvMr mr) throws IOException {
        IbvSendWR wr = new IbvSendWR();
        wr.setWr_id(wrId);
        wr.setOpcode(IbvSendWR.IBV_WR_SEND);
        wr.setSend_flags(IbvSendWR.IBV_SEND_SIGNALED);
        wr.setSg_list(entry(mr, 0, mr.getLength()));
        wr.setNum_sge(1);
        qp.postSend(new ArrayList<>(List.of(wr)), null).execute().free();
    }

    /** Waits for one completion, a success of this work request, by an event. */
    void complete(long wrId) throws IOException {
        int count = poll.execute().getPolls();
        while (count == 0) {
            arm.execute();
            count = poll.execute().getPolls();
            if (count == 0) {
                assertThat(completions.getCqEvent(cq, DEADLINE_MS))
                        .as("completion of %d", wrId)
                        .isTrue();
                cq.ackEvents(1);
                count = poll.execute().getPolls();
            }
        }
        assertThat(count).isEqualTo(1);
        assertThat(polled[0].getStatus())
                .as("status of %d", polled[0].getWr_id())
                .isZero();
        assertThat(polled[0].getWr_id()).isEqualTo(wrId);
    }

    /** Destroys all; the return codes of DiSNI must say that it was possible. */
    void close() throws Exception {
        poll.free();
        arm.free();
        for (IbvMr mr : regions) {
            mr.deregMr().execute().free();
        }
        id.destroyQP();
        cq.destroyCQ();
        completions.destroyCompChannel();
        assertThat(pd.deallocPd()).isZero();
        id.destroyId();
    }
}
