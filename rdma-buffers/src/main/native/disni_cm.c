/* DiSNI's connection manager calls. */
#include "disni.h"

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

/* What Java expects in place of a handle that does not exist. */
#define NO_HANDLE ((jlong)-1)

DISPATCHER(jlong, createEventChannel)
{
    const char *reason = libraries_open(IBVERBS_FILE, RDMACM_FILE);
    if (reason != NULL) {
        throw_io(env, "rdma_create_event_channel: %s", reason);
        return NO_HANDLE;
    }
    struct rdma_event_channel *channel = cm.create_event_channel();
    if (channel == NULL) {
        throw_errno(env, "rdma_create_event_channel", errno);
        return NO_HANDLE;
    }
    int error = set_nonblocking(channel->fd);
    if (error != 0) {
        cm.destroy_event_channel(channel);
        throw_errno(env, "rdma_create_event_channel: fcntl", error);
        return NO_HANDLE;
    }
    return handle(channel);
}

DISPATCHER(jint, destroyEventChannel, jlong channel)
{
    cm.destroy_event_channel(pointer(channel));
    return 0;
}

DISPATCHER(jlong, createId, jlong channel, jshort port_space)
{
    struct rdma_cm_id *id = NULL;
    enum rdma_port_space space = port_space == 0 ? RDMA_PS_TCP : (enum rdma_port_space)port_space;
    if (!check(env, "rdma_create_id", cm.create_id(pointer(channel), &id, NULL, space))) {
        return NO_HANDLE;
    }
    return handle(id);
}

DISPATCHER(jint, destroyCmId, jlong id)
{
    return cm.destroy_id(pointer(id));
}

DISPATCHER(jint, destroyEp, jlong id)
{
    cm.destroy_ep(pointer(id));
    return 0;
}

DISPATCHER(void, bindAddr, jlong id, jlong address)
{
    check(env, "rdma_bind_addr", cm.bind_addr(pointer(id), pointer(address)));
}

DISPATCHER(void, listen, jlong id, jint backlog)
{
    check(env, "rdma_listen", cm.listen(pointer(id), backlog));
}

DISPATCHER(void, resolveAddr, jlong id, jlong source, jlong destination, jint timeout_ms)
{
    check(env, "rdma_resolve_addr", cm.resolve_addr(pointer(id), pointer(source), pointer(destination), timeout_ms));
}

DISPATCHER(void, resolveRoute, jlong id, jint timeout_ms)
{
    check(env, "rdma_resolve_route", cm.resolve_route(pointer(id), timeout_ms));
}

/* Java acknowledges by type only, so the event is consumed and acknowledged here. */
DISPATCHER(jint, getCmEvent, jlong channel, jlong listen_id_address, jlong id_address, jint timeout_ms)
{
    struct rdma_event_channel *events = pointer(channel);
    if (wait_readable(events->fd, timeout_ms) <= 0) {
        return -1;
    }
    struct rdma_cm_event *event = NULL;
    if (cm.get_cm_event(events, &event) != 0) {
        return -1;
    }
    jlong listen_id = event->listen_id != NULL ? handle(event->listen_id) : NO_HANDLE;
    jlong id = event->id != NULL ? handle(event->id) : NO_HANDLE;
    jint type = (jint)event->event;
    memcpy(pointer(listen_id_address), &listen_id, sizeof listen_id);
    memcpy(pointer(id_address), &id, sizeof id);
    return cm.ack_cm_event(event) == 0 ? type : -1;
}

DISPATCHER(jint, ackCmEvent, __attribute__((unused)) jint type)
{
    return 0;
}

/* Depths: what the device can do at most. */
static struct rdma_conn_param parameters(jint retry, jint rnr_retry)
{
    return (struct rdma_conn_param){
        .responder_resources = RDMA_MAX_RESP_RES,
        .initiator_depth = RDMA_MAX_INIT_DEPTH,
        .flow_control = 1,
        .retry_count = (uint8_t)(retry & 7),
        .rnr_retry_count = (uint8_t)(rnr_retry & 7),
    };
}

DISPATCHER(void, connect, jlong id, jint retry, jint rnr_retry, jlong private_data, jbyte private_length)
{
    if (!require_device(env, "rdma_connect", pointer(id))) {
        return;
    }
    struct rdma_conn_param param = parameters(retry, rnr_retry);
    param.private_data = pointer(private_data);
    param.private_data_len = private_data != 0 ? (uint8_t)private_length : 0;
    if (param.private_data_len > REQUEST_PRIVATE_BYTES) {
        throw_io(env, "rdma_connect: privateDataBytes=%d is more than %d [EINVAL %d]", param.private_data_len,
                 REQUEST_PRIVATE_BYTES, EINVAL);
        return;
    }
    check(env, "rdma_connect", cm.connect(pointer(id), &param));
}

DISPATCHER(void, accept, jlong id, jint retry, jint rnr_retry)
{
    if (!require_device(env, "rdma_accept", pointer(id))) {
        return;
    }
    struct rdma_conn_param param = parameters(retry, rnr_retry);
    check(env, "rdma_accept", cm.accept(pointer(id), &param));
}

DISPATCHER(jint, disconnect, jlong id)
{
    struct rdma_cm_id *connection = pointer(id);
    return connection->verbs == NULL ? -1 : cm.disconnect(connection);
}

/* DiSNI knows IPv4 only and hands over a buffer for one sockaddr_in. */
static jint copy_ipv4(jlong target, const struct sockaddr *address)
{
    if (address == NULL || address->sa_family != AF_INET) {
        return -1;
    }
    memcpy(pointer(target), address, sizeof(struct sockaddr_in));
    return 0;
}

DISPATCHER(jint, getSrcAddr, jlong id, jlong target)
{
    return copy_ipv4(target, rdma_get_local_addr(pointer(id)));
}

DISPATCHER(jint, getDstAddr, jlong id, jlong target)
{
    return copy_ipv4(target, rdma_get_peer_addr(pointer(id)));
}

DISPATCHER(jlong, getContext, jlong id)
{
    struct rdma_cm_id *connection = pointer(id);
    return connection->verbs != NULL ? handle(connection->verbs) : NO_HANDLE;
}
