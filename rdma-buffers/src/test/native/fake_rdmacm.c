/* The fake librdmacm.so.1. */
#include "fake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void log_address(const char *call, const struct sockaddr *address)
{
    char text[INET6_ADDRSTRLEN] = "none";
    unsigned int port = 0;
    unsigned int scope = 0;
    if (address != NULL && address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)address;
        inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
        port = ntohs(v4->sin_port);
    } else if (address != NULL) {
        const struct sockaddr_in6 *v6 = (const void *)address;
        inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
        port = ntohs(v6->sin6_port);
        scope = v6->sin6_scope_id;
    }
    fake_log("%s %s port=%u scope=%u", call, text, port, scope);
}

static size_t address_bytes(const struct sockaddr *address)
{
    return address->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

FAKE struct rdma_event_channel *rdma_create_event_channel(void)
{
    if (fake_fails("rdma_create_event_channel")) {
        return NULL;
    }
    struct rdma_event_channel *channel = fake_new(sizeof *channel);
    channel->fd = fake_fd();
    return channel;
}

FAKE void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
    close(channel->fd);
    fake_free(channel);
}

FAKE int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *user, enum rdma_port_space space)
{
    fake_log("rdma_create_id space=%x", (unsigned int)space);
    int outcome = fake_outcome("rdma_create_id");
    if (outcome == 0) {
        *id = fake_new(sizeof **id);
        (*id)->channel = channel;
        (*id)->context = user;
        (*id)->ps = space;
    }
    return outcome;
}

FAKE int rdma_destroy_id(struct rdma_cm_id *id)
{
    int outcome = fake_outcome("rdma_destroy_id");
    if (outcome == 0) {
        fake_free(id);
    }
    return outcome;
}

FAKE int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *address)
{
    log_address("rdma_bind_addr", address);
    int outcome = fake_outcome("rdma_bind_addr");
    if (outcome == 0) {
        memcpy(&id->route.addr.src_storage, address, address_bytes(address));
        id->verbs = fake_context();
        id->port_num = 1;
    }
    return outcome;
}

FAKE int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *source, struct sockaddr *destination, int timeout_ms)
{
    log_address("rdma_resolve_addr source", source);
    log_address("rdma_resolve_addr", destination);
    fake_log("rdma_resolve_addr timeout=%d", timeout_ms);
    int outcome = fake_outcome("rdma_resolve_addr");
    if (outcome == 0) {
        memcpy(&id->route.addr.dst_storage, destination, address_bytes(destination));
        id->verbs = fake_context();
        id->port_num = 2;
    }
    return outcome;
}

FAKE int rdma_resolve_route(__attribute__((unused)) struct rdma_cm_id *id, int timeout_ms)
{
    fake_log("rdma_resolve_route timeout=%d", timeout_ms);
    return fake_outcome("rdma_resolve_route");
}

FAKE int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attributes)
{
    struct ibv_qp_cap *capacity = &attributes->cap;
    fake_log("rdma_create_qp send=%u recv=%u sendSge=%u recvSge=%u inline=%u type=%d all=%d", capacity->max_send_wr,
             capacity->max_recv_wr, capacity->max_send_sge, capacity->max_recv_sge, capacity->max_inline_data,
             (int)attributes->qp_type, attributes->sq_sig_all);
    int outcome = fake_outcome("rdma_create_qp");
    if (outcome == 0) {
        id->qp = fake_new(sizeof *id->qp);
        id->qp->context = id->verbs;
        id->qp->pd = pd;
        id->qp->send_cq = attributes->send_cq;
        id->qp->recv_cq = attributes->recv_cq;
        id->qp->qp_num = 0xabcdef;
        id->qp->state = IBV_QPS_INIT;
        capacity->max_send_wr = 511;
    }
    return outcome;
}

FAKE void rdma_destroy_qp(struct rdma_cm_id *id)
{
    fake_free(id->qp);
    id->qp = NULL;
}

FAKE void rdma_destroy_ep(struct rdma_cm_id *id)
{
    if (id->qp != NULL) {
        rdma_destroy_qp(id);
    }
    fake_free(id);
}

FAKE int rdma_listen(__attribute__((unused)) struct rdma_cm_id *id, int backlog)
{
    fake_log("rdma_listen backlog=%d", backlog);
    return fake_outcome("rdma_listen");
}

static int log_parameters(const char *call, const struct rdma_conn_param *param)
{
    char data[2 * UINT8_MAX + 1] = "";
    for (unsigned int index = 0; index < param->private_data_len; index++) {
        snprintf(data + 2 * index, 3, "%02x", ((const uint8_t *)param->private_data)[index]);
    }
    fake_log("%s data=%s retry=%d rnr=%d depth=%d resources=%d", call, data, param->retry_count, param->rnr_retry_count,
             param->initiator_depth, param->responder_resources);
    return fake_outcome(call);
}

FAKE int rdma_connect(__attribute__((unused)) struct rdma_cm_id *id, struct rdma_conn_param *param)
{
    return log_parameters("rdma_connect", param);
}

FAKE int rdma_accept(__attribute__((unused)) struct rdma_cm_id *id, struct rdma_conn_param *param)
{
    return log_parameters("rdma_accept", param);
}

FAKE int rdma_reject(__attribute__((unused)) struct rdma_cm_id *id, const void *data, uint8_t length)
{
    const struct rdma_conn_param param = {.private_data = data, .private_data_len = length};
    return log_parameters("rdma_reject", &param);
}

FAKE int rdma_disconnect(__attribute__((unused)) struct rdma_cm_id *id)
{
    fake_log("rdma_disconnect");
    return fake_outcome("rdma_disconnect");
}

FAKE int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
    int outcome = fake_outcome("rdma_get_cm_event");
    if (outcome != 0) {
        return outcome;
    }
    if (!fake_take(channel->fd)) {
        return -1;
    }
    *event = fake_next_cm_event(channel);
    return 0;
}

FAKE int rdma_ack_cm_event(struct rdma_cm_event *event)
{
    fake_free(event);
    return fake_outcome("rdma_ack_cm_event");
}

FAKE int rdma_set_option(__attribute__((unused)) struct rdma_cm_id *id, int level, int option, void *value, size_t length)
{
    fake_log("rdma_set_option level=%d option=%d value=%d length=%zu", level, option, *(uint8_t *)value, length);
    return fake_outcome("rdma_set_option");
}
