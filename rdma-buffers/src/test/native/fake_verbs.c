/* The fake libibverbs.so.1. */
#include "fake.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#undef ibv_reg_mr
#undef ibv_query_port

/* The part of struct ibv_port_attr that the exported ibv_query_port fills. */
#define COMPATIBLE_PORT_BYTES offsetof(struct ibv_port_attr, flags)

static struct ibv_device device;
static struct ibv_context context;

static int poll_cq(__attribute__((unused)) struct ibv_cq *cq, int count, struct ibv_wc *out)
{
    int available = fake_script.completion_count;
    if (available == 0) {
        return fake_script.poll_result;
    }
    int taken = available < count ? available : count;
    memcpy(out, fake_script.completions, (size_t)taken * sizeof *out);
    memmove(fake_script.completions, fake_script.completions + taken, (size_t)(available - taken) * sizeof *out);
    fake_script.completion_count -= taken;
    return taken;
}

static int req_notify_cq(__attribute__((unused)) struct ibv_cq *cq, int solicited_only)
{
    fake_log("ibv_req_notify_cq solicited=%d", solicited_only);
    return fake_outcome("ibv_req_notify_cq");
}

static int post_send(__attribute__((unused)) struct ibv_qp *qp, struct ibv_send_wr *first, struct ibv_send_wr **bad)
{
    int index = 0;
    for (struct ibv_send_wr *wr = first; wr != NULL; wr = wr->next, index++) {
        if (fake_script.accept == index) {
            *bad = wr;
            return fake_script.accept_result;
        }
        if (fake_script.accept == -2) {
            return fake_script.accept_result;
        }
        fake_log("ibv_post_send id=%llu opcode=%d flags=%u remote=%llx rkey=%x", (unsigned long long)wr->wr_id,
                 (int)wr->opcode, wr->send_flags, (unsigned long long)wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
        for (int sge = 0; sge < wr->num_sge; sge++) {
            fake_log("  sge=%llx+%u lkey=%x", (unsigned long long)wr->sg_list[sge].addr, wr->sg_list[sge].length,
                     wr->sg_list[sge].lkey);
        }
    }
    return 0;
}

static int post_recv(__attribute__((unused)) struct ibv_qp *qp, struct ibv_recv_wr *first, struct ibv_recv_wr **bad)
{
    int index = 0;
    for (struct ibv_recv_wr *wr = first; wr != NULL; wr = wr->next, index++) {
        if (fake_script.accept == index) {
            *bad = wr;
            return fake_script.accept_result;
        }
        fake_log("ibv_post_recv id=%llu sges=%d", (unsigned long long)wr->wr_id, wr->num_sge);
    }
    return 0;
}

struct ibv_context *fake_context(void)
{
    if (context.device == NULL) {
        strcpy(device.name, "fake0");
        context.device = &device;
        context.cmd_fd = 77;
        context.async_fd = fake_fd();
        context.num_comp_vectors = 3;
        context.ops.poll_cq = poll_cq;
        context.ops.req_notify_cq = req_notify_cq;
        context.ops.post_send = post_send;
        context.ops.post_recv = post_recv;
    }
    return &context;
}

FAKE struct ibv_device **ibv_get_device_list(int *count)
{
    if (fake_fails("ibv_get_device_list")) {
        return NULL;
    }
    struct ibv_device **list = fake_new(2 * sizeof *list);
    list[0] = fake_context()->device;
    *count = 1;
    return list;
}

FAKE void ibv_free_device_list(struct ibv_device **list)
{
    fake_free(list);
}

FAKE const char *ibv_get_device_name(struct ibv_device *named)
{
    return named->name;
}

FAKE int ibv_query_device(__attribute__((unused)) struct ibv_context *of, struct ibv_device_attr *attributes)
{
    *attributes = (struct ibv_device_attr){
        .max_mr_size = 1ull << 40,
        .page_size_cap = 0xfffff000,
        .vendor_id = 0x2c9,
        .max_qp = 11,
        .max_qp_wr = 12,
        .max_sge = 2,
        .max_sge_rd = 1,
        .max_cq = 13,
        .max_cqe = 14,
        .max_mr = 15,
        .max_pd = 16,
        .max_qp_rd_atom = 128,
        .max_qp_init_rd_atom = 256,
        .phys_port_cnt = 2,
    };
    return fake_outcome("ibv_query_device");
}

FAKE int ibv_query_port(__attribute__((unused)) struct ibv_context *of, uint8_t number, struct _compat_ibv_port_attr *out)
{
    const struct ibv_port_attr port = {
        .state = IBV_PORT_ACTIVE,
        .max_mtu = IBV_MTU_4096,
        .active_mtu = IBV_MTU_1024,
        .gid_tbl_len = 64,
        .max_msg_sz = 1u << 31,
        .lid = 9,
        .active_width = 2,
        .active_speed = 32,
        .link_layer = IBV_LINK_LAYER_ETHERNET,
    };
    if (number < 1 || number > 2) {
        return EINVAL;
    }
    memcpy(out, &port, COMPATIBLE_PORT_BYTES);
    return fake_outcome("ibv_query_port");
}

FAKE int ibv_query_gid(__attribute__((unused)) struct ibv_context *of, uint8_t port, int index, union ibv_gid *gid)
{
    for (unsigned int byte = 0; byte < sizeof gid->raw; byte++) {
        gid->raw[byte] = (uint8_t)(byte * 16u + port + (unsigned int)index);
    }
    return fake_outcome("ibv_query_gid");
}

FAKE int ibv_get_async_event(struct ibv_context *of, struct ibv_async_event *event)
{
    if (!fake_take(of->async_fd)) {
        return -1;
    }
    *event = fake_script.async_event;
    fake_live(1);
    return 0;
}

FAKE void ibv_ack_async_event(__attribute__((unused)) struct ibv_async_event *event)
{
    fake_live(-1);
}

FAKE struct ibv_pd *ibv_alloc_pd(struct ibv_context *of)
{
    if (fake_fails("ibv_alloc_pd")) {
        return NULL;
    }
    struct ibv_pd *pd = fake_new(sizeof *pd);
    pd->context = of;
    pd->handle = 5;
    return pd;
}

FAKE int ibv_dealloc_pd(struct ibv_pd *pd)
{
    int outcome = fake_outcome("ibv_dealloc_pd");
    if (outcome == 0) {
        fake_free(pd);
    }
    return outcome;
}

static struct ibv_mr *register_memory(struct ibv_pd *pd, void *address, size_t length, unsigned int access, const char *name)
{
    fake_log("%s length=%zu access=%x", name, length, access);
    if (fake_fails("ibv_reg_mr")) {
        return NULL;
    }
    struct ibv_mr *mr = fake_new(sizeof *mr);
    *mr = (struct ibv_mr){
        .context = pd->context, .pd = pd, .addr = address, .length = length, .handle = 3, .lkey = 0x80000001, .rkey = 0x2002};
    return mr;
}

FAKE struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
    return register_memory(pd, address, length, (unsigned int)access, "ibv_reg_mr");
}

FAKE struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova, unsigned int access)
{
    if (iova != (uintptr_t)address) {
        abort();
    }
    return register_memory(pd, address, length, access, "ibv_reg_mr_iova2");
}

FAKE int ibv_dereg_mr(struct ibv_mr *mr)
{
    int outcome = fake_outcome("ibv_dereg_mr");
    if (outcome == 0) {
        fake_free(mr);
    }
    return outcome;
}

FAKE struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *of)
{
    if (fake_fails("ibv_create_comp_channel")) {
        return NULL;
    }
    struct ibv_comp_channel *channel = fake_new(sizeof *channel);
    channel->context = of;
    channel->fd = fake_fd();
    return channel;
}

FAKE int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
    close(channel->fd);
    fake_free(channel);
    return 0;
}

FAKE struct ibv_cq *ibv_create_cq(struct ibv_context *of, int entries, void *cq_context, struct ibv_comp_channel *channel,
                                  int vector)
{
    fake_log("ibv_create_cq entries=%d vector=%d", entries, vector);
    if (fake_fails("ibv_create_cq")) {
        return NULL;
    }
    struct ibv_cq *cq = fake_new(sizeof *cq);
    cq->context = of;
    cq->cq_context = cq_context;
    cq->channel = channel;
    return cq;
}

FAKE int ibv_destroy_qp(struct ibv_qp *qp)
{
    int outcome = fake_outcome("ibv_destroy_qp");
    if (outcome == 0) {
        fake_free(qp);
    }
    return outcome;
}

FAKE int ibv_destroy_cq(struct ibv_cq *cq)
{
    int outcome = fake_outcome("ibv_destroy_cq");
    if (outcome == 0) {
        fake_free(cq);
    }
    return outcome;
}

FAKE int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
    int outcome = fake_outcome("ibv_get_cq_event");
    if (outcome != 0) {
        return outcome;
    }
    if (!fake_take(channel->fd)) {
        return -1;
    }
    *cq = fake_script.event_cq;
    *cq_context = fake_script.event_cq->cq_context;
    fake_live(1);
    return 0;
}

FAKE void ibv_ack_cq_events(__attribute__((unused)) struct ibv_cq *cq, unsigned int count)
{
    fake_live(-(int)count);
}

FAKE int ibv_query_qp(__attribute__((unused)) struct ibv_qp *qp, struct ibv_qp_attr *attributes,
                      __attribute__((unused)) int mask, __attribute__((unused)) struct ibv_qp_init_attr *initial)
{
    attributes->qp_state = qp->state;
    return fake_outcome("ibv_query_qp");
}

FAKE int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask)
{
    fake_log("ibv_modify_qp state=%d mask=%x", (int)attributes->qp_state, (unsigned int)mask);
    int outcome = fake_outcome("ibv_modify_qp");
    if (outcome == 0) {
        qp->state = attributes->qp_state;
    }
    return outcome;
}
