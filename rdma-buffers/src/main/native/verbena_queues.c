/* QPs, CQs and what goes through them. Nothing here allocates between post and poll. */
#include "verbena.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define POLL_BATCH 32

/* One completion as Java reads it, VerbsNative.WC_*. */
struct completion {
    uint64_t wr_id;
    int32_t status;
    int32_t opcode;
    uint32_t vendor_error;
    uint32_t byte_length;
    uint32_t qp_number;
    uint32_t flags;
};

#define WC(constant) io_verbena_verbs_bound_VerbsNative_WC_##constant
#define SAME(constant, value) _Static_assert(WC(constant) == (value), #constant)
SAME(BYTES, sizeof(struct completion));
SAME(WR_ID, offsetof(struct completion, wr_id));
SAME(STATUS, offsetof(struct completion, status));
SAME(OPCODE, offsetof(struct completion, opcode));
SAME(VENDOR_ERROR, offsetof(struct completion, vendor_error));
SAME(BYTE_LENGTH, offsetof(struct completion, byte_length));
SAME(QP_NUMBER, offsetof(struct completion, qp_number));
SAME(FLAGS, offsetof(struct completion, flags));

static _Thread_local int last_post_error;

NATIVE(jlong, createQp, jlong id, jlong pd, jlong send_cq, jlong recv_cq, jint max_send, jint max_recv, jint max_send_sge,
       jint max_recv_sge, jint max_inline, jintArray actual)
{
    struct ibv_qp_cap capacity = {
        .max_send_wr = (uint32_t)max_send,
        .max_recv_wr = (uint32_t)max_recv,
        .max_send_sge = (uint32_t)max_send_sge,
        .max_recv_sge = (uint32_t)max_recv_sge,
        .max_inline_data = (uint32_t)max_inline,
    };
    struct ibv_qp *qp = create_rc_qp(env, pointer(id), pointer(pd), pointer(send_cq), pointer(recv_cq), &capacity);
    if (qp != NULL) {
        const jint values[5] = {(jint)capacity.max_send_wr, (jint)capacity.max_recv_wr, (jint)capacity.max_send_sge,
                                (jint)capacity.max_recv_sge, (jint)capacity.max_inline_data};
        (*env)->SetIntArrayRegion(env, actual, 0, 5, values);
    }
    return handle(qp);
}

/* Not rdma_destroy_qp, which forgets the QP whether or not the device did. */
NATIVE(jint, destroyQp, jlong id)
{
    struct rdma_cm_id *connection = pointer(id);
    int result = 0;
    if (connection->qp != NULL) {
        result = ibv.destroy_qp(connection->qp);
        if (result == 0) {
            connection->qp = NULL;
        }
    }
    return abs(result);
}

NATIVE(jint, qpNumber, jlong qp)
{
    return (jint)((struct ibv_qp *)pointer(qp))->qp_num;
}

NATIVE(jint, qpState, jlong qp)
{
    struct ibv_qp_attr attributes;
    struct ibv_qp_init_attr initial;
    memset(&attributes, 0, sizeof attributes);
    errno = 0;
    if (!check(env, "ibv_query_qp", ibv.query_qp(pointer(qp), &attributes, IBV_QP_STATE, &initial))) {
        return -1;
    }
    return (jint)attributes.qp_state;
}

NATIVE(void, moveToError, jlong qp)
{
    struct ibv_qp_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.qp_state = IBV_QPS_ERR;
    errno = 0;
    check(env, "ibv_modify_qp(ERR)", ibv.modify_qp(pointer(qp), &attributes, IBV_QP_STATE));
}

/* How many were accepted: those before the bad one. A driver that names none is taken to have accepted none. */
NATIVE(jint, postSend, jlong qp, jlong first_wr, jint count)
{
    struct ibv_send_wr *first = pointer(first_wr);
    struct ibv_send_wr *bad = first;
    errno = 0;
    int result = ibv_post_send(pointer(qp), first, &bad);
    if (result == 0) {
        return count;
    }
    last_post_error = errno_of(result);
    jint accepted = 0;
    for (const struct ibv_send_wr *wr = first; wr != NULL && wr != bad && accepted < count; wr = wr->next) {
        accepted++;
    }
    return accepted;
}

NATIVE(jint, postRecv, jlong qp, jlong first_wr, jint count)
{
    struct ibv_recv_wr *first = pointer(first_wr);
    struct ibv_recv_wr *bad = first;
    errno = 0;
    int result = ibv_post_recv(pointer(qp), first, &bad);
    if (result == 0) {
        return count;
    }
    last_post_error = errno_of(result);
    jint accepted = 0;
    for (const struct ibv_recv_wr *wr = first; wr != NULL && wr != bad && accepted < count; wr = wr->next) {
        accepted++;
    }
    return accepted;
}

NATIVE(jint, lastPostError)
{
    return last_post_error;
}

NATIVE(jint, pollCq, jlong cq, jlong buffer, jint max)
{
    struct completion *out = pointer(buffer);
    struct ibv_wc batch[POLL_BATCH];
    int total = 0;
    while (total < max) {
        int wanted = max - total < POLL_BATCH ? max - total : POLL_BATCH;
        int count = ibv_poll_cq(pointer(cq), wanted, batch);
        if (count < 0) {
            /* What has been polled must not be lost; the failure comes again. */
            return total > 0 ? total : count;
        }
        for (int index = 0; index < count; index++) {
            const struct ibv_wc *wc = &batch[index];
            out[total + index] = (struct completion){
                .wr_id = wc->wr_id,
                .status = (int32_t)wc->status,
                .opcode = (int32_t)wc->opcode,
                .vendor_error = wc->vendor_err,
                .byte_length = wc->byte_len,
                .qp_number = wc->qp_num,
                .flags = wc->wc_flags,
            };
        }
        total += count;
        if (count < wanted) {
            break;
        }
    }
    return total;
}

NATIVE(void, requestNotify, jlong cq)
{
    errno = 0;
    check(env, "ibv_req_notify_cq", ibv_req_notify_cq(pointer(cq), 0));
}

NATIVE(jint, takeCqEvents, jlong channel, jint max)
{
    jint count = 0;
    while (count < max) {
        struct ibv_cq *cq = NULL;
        void *context = NULL;
        if (ibv.get_cq_event(pointer(channel), &cq, &context) != 0) {
            return count > 0 || errno == EAGAIN ? count : -errno;
        }
        ibv.ack_cq_events(cq, 1);
        count++;
    }
    return count;
}

NATIVE(jint, compFd, jlong channel)
{
    int fd = ((struct ibv_comp_channel *)pointer(channel))->fd;
    int error = set_nonblocking(fd);
    if (error != 0) {
        throw_errno(env, "ibv_comp_channel: fcntl", error);
        return -1;
    }
    return fd;
}
