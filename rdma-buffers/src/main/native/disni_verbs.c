/* DiSNI's verbs calls. */
#include "disni.h"

#include <stddef.h>
#include <string.h>

#define NO_HANDLE ((jlong)-1)

/* IbvQP.IBV_QPT_RC of DiSNI and of verbs.h; other types cannot be serialised by its Java half. */
#define TYPE_RC 2

/* DiSNI passes no SGE limits; its own library grants four. */
#define MAX_SGE 4

DISPATCHER(jlong, createQP, jlong id, jlong pd, jlong send_cq, jlong recv_cq, jint type, jint max_send, jint max_recv,
           jint max_inline)
{
    if (type != TYPE_RC) {
        throw_io(env, "rdma_create_qp: type=%d is not RC (%d) [EINVAL %d]", type, TYPE_RC, EINVAL);
        return NO_HANDLE;
    }
    struct rdma_cm_id *connection = pointer(id);
    struct ibv_device_attr device;
    if (!require_device(env, "rdma_create_qp", connection) ||
        !check(env, "ibv_query_device", ibv.query_device(connection->verbs, &device))) {
        return NO_HANDLE;
    }
    uint32_t max_sge = device.max_sge < MAX_SGE ? (uint32_t)device.max_sge : MAX_SGE;
    struct ibv_qp_cap capacity = {
        .max_send_wr = (uint32_t)max_send,
        .max_recv_wr = (uint32_t)max_recv,
        .max_send_sge = max_sge,
        .max_recv_sge = max_sge,
        .max_inline_data = (uint32_t)max_inline,
    };
    struct ibv_qp *qp = create_rc_qp(env, connection, pointer(pd), pointer(send_cq), pointer(recv_cq), &capacity);
    return qp != NULL ? handle(qp) : NO_HANDLE;
}

/* Takes the id, not the QP. */
DISPATCHER(jint, destroyQP, jlong id)
{
    struct rdma_cm_id *connection = pointer(id);
    if (connection->qp == NULL) {
        return EINVAL;
    }
    cm.destroy_qp(connection);
    return 0;
}

/* Java passes no attributes. */
DISPATCHER(jint, modifyQP, __attribute__((unused)) jlong qp, __attribute__((unused)) jlong attributes)
{
    throw_io(env, "ibv_modify_qp: the attributes are not passed by DiSNI's Java half [EOPNOTSUPP %d]", EOPNOTSUPP);
    return -1;
}

DISPATCHER(jlong, allocPd, jlong context)
{
    struct ibv_pd *pd = ibv.alloc_pd(pointer(context));
    if (pd == NULL) {
        throw_errno(env, "ibv_alloc_pd", errno);
        return NO_HANDLE;
    }
    return handle(pd);
}

DISPATCHER(jint, deallocPd, jlong pd)
{
    return ibv.dealloc_pd(pointer(pd));
}

DISPATCHER(jlong, createCompChannel, jlong context)
{
    struct ibv_comp_channel *channel = ibv.create_comp_channel(pointer(context));
    if (channel == NULL) {
        throw_errno(env, "ibv_create_comp_channel", errno);
        return NO_HANDLE;
    }
    int error = set_nonblocking(channel->fd);
    if (error != 0) {
        ibv.destroy_comp_channel(channel);
        throw_errno(env, "ibv_create_comp_channel: fcntl", error);
        return NO_HANDLE;
    }
    return handle(channel);
}

DISPATCHER(jint, destroyCompChannel, jlong channel)
{
    return ibv.destroy_comp_channel(pointer(channel));
}

DISPATCHER(jlong, createCQ, jlong context, jlong channel, jint entries, jint vector)
{
    struct ibv_cq *cq = ibv.create_cq(pointer(context), entries, NULL, pointer(channel), vector);
    if (cq == NULL) {
        throw_errno(env, "ibv_create_cq", errno);
        return NO_HANDLE;
    }
    return handle(cq);
}

DISPATCHER(jint, destroyCQ, jlong cq)
{
    return ibv.destroy_cq(pointer(cq));
}

DISPATCHER(jlong, regMr, jlong pd, jlong address, jint length, jint access, jlong lkey_address, jlong rkey_address,
           jlong handle_address)
{
    if (length < 0) {
        throw_io(env, "ibv_reg_mr: lengthBytes=%d [EINVAL %d]", length, EINVAL);
        return NO_HANDLE;
    }
    struct ibv_mr *mr = register_memory(pointer(pd), pointer(address), (size_t)length, (unsigned int)access);
    if (mr == NULL) {
        throw_errno(env, "ibv_reg_mr", errno);
        return NO_HANDLE;
    }
    memcpy(pointer(lkey_address), &mr->lkey, sizeof mr->lkey);
    memcpy(pointer(rkey_address), &mr->rkey, sizeof mr->rkey);
    memcpy(pointer(handle_address), &mr->handle, sizeof mr->handle);
    return handle(mr);
}

DISPATCHER(void, deregMr, jlong mr)
{
    errno = 0;
    check(env, "ibv_dereg_mr", ibv.dereg_mr(pointer(mr)));
}

DISPATCHER(jint, queryOdpSupport, __attribute__((unused)) jlong context)
{
    return -1;
}

DISPATCHER(jint, expPrefetchMr, __attribute__((unused)) jlong mr, __attribute__((unused)) jlong address,
           __attribute__((unused)) jint length)
{
    return -1;
}

DISPATCHER(void, postSend, jlong qp, jlong first)
{
    struct ibv_send_wr *bad = NULL;
    errno = 0;
    check(env, "ibv_post_send", ibv_post_send(pointer(qp), pointer(first), &bad));
}

DISPATCHER(void, postRecv, jlong qp, jlong first)
{
    struct ibv_recv_wr *bad = NULL;
    errno = 0;
    check(env, "ibv_post_recv", ibv_post_recv(pointer(qp), pointer(first), &bad));
}

/* Java acknowledges later, through ackCqEvent. */
DISPATCHER(jint, getCqEvent, jlong channel, jint timeout_ms)
{
    struct ibv_comp_channel *events = pointer(channel);
    int ready = wait_readable(events->fd, timeout_ms);
    if (ready < 0) {
        throw_errno(env, "ibv_get_cq_event: poll", errno);
        return -1;
    }
    struct ibv_cq *cq = NULL;
    void *context = NULL;
    return ready > 0 && ibv.get_cq_event(events, &cq, &context) == 0 ? 0 : -1;
}

DISPATCHER(jint, ackCqEvent, jlong cq, jint count)
{
    ibv.ack_cq_events(pointer(cq), (unsigned int)count);
    return 0;
}

DISPATCHER(jint, pollCQ, jlong cq, jint max, jlong completions)
{
    return ibv_poll_cq(pointer(cq), max, pointer(completions));
}

DISPATCHER(jint, reqNotifyCQ, jlong cq, jint solicited_only)
{
    return ibv_req_notify_cq(pointer(cq), solicited_only);
}

DISPATCHER(jint, getQpNum, jlong qp)
{
    return (jint)((struct ibv_qp *)pointer(qp))->qp_num;
}

DISPATCHER(jint, getContextFd, jlong context)
{
    return ((struct ibv_context *)pointer(context))->cmd_fd;
}

DISPATCHER(jint, getContextNumCompVectors, jlong context)
{
    return ((struct ibv_context *)pointer(context))->num_comp_vectors;
}

DISPATCHER(jint, getPdHandle, jlong pd)
{
    return (jint)((struct ibv_pd *)pointer(pd))->handle;
}
