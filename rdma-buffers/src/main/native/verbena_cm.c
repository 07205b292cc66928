/* The connection manager with addresses of both families, private data, depths and statuses. */
#include "addresses.h"
#include "verbena.h"

#include <rdma/rdma_cma.h>
#include <stddef.h>

NATIVE(jint, cmFd, jlong channel)
{
    int fd = ((struct rdma_event_channel *)pointer(channel))->fd;
    int error = set_nonblocking(fd);
    if (error != 0) {
        throw_errno(env, "rdma_event_channel: fcntl", error);
        return -1;
    }
    return fd;
}

NATIVE(jlong, createId, jlong channel)
{
    struct rdma_cm_id *id = NULL;
    check(env, "rdma_create_id", cm.create_id(pointer(channel), &id, NULL, RDMA_PS_TCP));
    return handle(id);
}

NATIVE(void, destroyId, jlong id)
{
    check(env, "rdma_destroy_id", cm.destroy_id(pointer(id)));
}

NATIVE(void, bindAddress, jlong id, jbyteArray bytes, jint scope_id, jint port)
{
    union address address;
    if (read_address(env, bytes, scope_id, port, &address)) {
        check(env, "rdma_bind_addr", cm.bind_addr(pointer(id), &address.any));
    }
}

NATIVE(void, resolveAddress, jlong id, jbyteArray source_bytes, jbyteArray destination_bytes, jint scope_id, jint port,
       jint timeout_ms)
{
    union address source;
    union address destination;
    if (source_bytes != NULL && !read_address(env, source_bytes, scope_id, 0, &source)) {
        return;
    }
    if (read_address(env, destination_bytes, scope_id, port, &destination)) {
        check(env, "rdma_resolve_addr",
              cm.resolve_addr(pointer(id), source_bytes != NULL ? &source.any : NULL, &destination.any, timeout_ms));
    }
}

NATIVE(void, resolveRoute, jlong id, jint timeout_ms)
{
    if (require_device(env, "rdma_resolve_route", pointer(id))) {
        check(env, "rdma_resolve_route", cm.resolve_route(pointer(id), timeout_ms));
    }
}

NATIVE(jint, localPort, jlong id)
{
    const struct rdma_cm_id *connection = pointer(id);
    switch (connection->route.addr.src_addr.sa_family) {
    case AF_INET:
        return ntohs(connection->route.addr.src_sin.sin_port);
    case AF_INET6:
        return ntohs(connection->route.addr.src_sin6.sin6_port);
    default:
        return 0;
    }
}

NATIVE(jbyteArray, localAddress, jlong id)
{
    return address_bytes(env, rdma_get_local_addr(pointer(id)));
}

NATIVE(jbyteArray, peerAddress, jlong id)
{
    return address_bytes(env, rdma_get_peer_addr(pointer(id)));
}

NATIVE(jlong, context, jlong id)
{
    return handle(((struct rdma_cm_id *)pointer(id))->verbs);
}

NATIVE(jint, port, jlong id)
{
    return ((struct rdma_cm_id *)pointer(id))->port_num;
}

NATIVE(void, listen, jlong id, jint backlog)
{
    check(env, "rdma_listen", cm.listen(pointer(id), backlog));
}

/* Copies private data of at most limit bytes; returns its length, or -1 with IOException thrown. Null is no data. */
static int read_private(JNIEnv *env, const char *function, jbyteArray array, int limit, uint8_t *buffer)
{
    if (array == NULL) {
        return 0;
    }
    jsize length = (*env)->GetArrayLength(env, array);
    if (length > limit) {
        throw_io(env, "%s: privateDataBytes=%d is more than %d [EINVAL %d]", function, (int)length, limit, EINVAL);
        return -1;
    }
    (*env)->GetByteArrayRegion(env, array, 0, length, (jbyte *)buffer);
    return length;
}

NATIVE(void, connect, jlong id, jbyteArray private_data, jint retry, jint rnr_retry, jint initiator_depth,
       jint responder_resources)
{
    uint8_t data[REQUEST_PRIVATE_BYTES];
    if (!require_device(env, "rdma_connect", pointer(id))) {
        return;
    }
    int length = read_private(env, "rdma_connect", private_data, REQUEST_PRIVATE_BYTES, data);
    if (length < 0) {
        return;
    }
    struct rdma_conn_param param = {
        .private_data = length > 0 ? data : NULL,
        .private_data_len = (uint8_t)length,
        .responder_resources = (uint8_t)responder_resources,
        .initiator_depth = (uint8_t)initiator_depth,
        .flow_control = 1,
        .retry_count = (uint8_t)(retry & 7),
        .rnr_retry_count = (uint8_t)(rnr_retry & 7),
    };
    check(env, "rdma_connect", cm.connect(pointer(id), &param));
}

NATIVE(void, accept, jlong id, jbyteArray private_data, jint rnr_retry, jint initiator_depth, jint responder_resources)
{
    uint8_t data[REPLY_PRIVATE_BYTES];
    if (!require_device(env, "rdma_accept", pointer(id))) {
        return;
    }
    int length = read_private(env, "rdma_accept", private_data, REPLY_PRIVATE_BYTES, data);
    if (length < 0) {
        return;
    }
    struct rdma_conn_param param = {
        .private_data = length > 0 ? data : NULL,
        .private_data_len = (uint8_t)length,
        .responder_resources = (uint8_t)responder_resources,
        .initiator_depth = (uint8_t)initiator_depth,
        .flow_control = 1,
        .rnr_retry_count = (uint8_t)(rnr_retry & 7),
    };
    check(env, "rdma_accept", cm.accept(pointer(id), &param));
}

NATIVE(void, reject, jlong id, jbyteArray private_data)
{
    uint8_t data[REJECT_PRIVATE_BYTES];
    int length = read_private(env, "rdma_reject", private_data, REJECT_PRIVATE_BYTES, data);
    if (length >= 0) {
        check(env, "rdma_reject", cm.reject(pointer(id), length > 0 ? data : NULL, (uint8_t)length));
    }
}

NATIVE(void, disconnect, jlong id)
{
    if (require_device(env, "rdma_disconnect", pointer(id))) {
        check(env, "rdma_disconnect", cm.disconnect(pointer(id)));
    }
}

static void set_byte(JNIEnv *env, const char *function, jlong id, int option, jint value)
{
    uint8_t byte = (uint8_t)value;
    if (value < 0 || value > UINT8_MAX) {
        throw_io(env, "%s: value=%d is not 0..255 [EINVAL %d]", function, (int)value, EINVAL);
        return;
    }
    check(env, function, cm.set_option(pointer(id), RDMA_OPTION_ID, option, &byte, sizeof byte));
}

NATIVE(void, setTypeOfService, jlong id, jint tos)
{
    set_byte(env, "rdma_set_option(TOS)", id, RDMA_OPTION_ID_TOS, tos);
}

NATIVE(void, setAckTimeout, jlong id, jint exponent)
{
    set_byte(env, "rdma_set_option(ACK_TIMEOUT)", id, RDMA_OPTION_ID_ACK_TIMEOUT, exponent);
}

/* The other types leave the union undefined. */
static bool has_parameters(enum rdma_cm_event_type type)
{
    return type == RDMA_CM_EVENT_CONNECT_REQUEST || type == RDMA_CM_EVENT_CONNECT_RESPONSE ||
           type == RDMA_CM_EVENT_ESTABLISHED || type == RDMA_CM_EVENT_REJECTED;
}

NATIVE(jint, nextCmEvent, jlong channel, jlongArray out, jbyteArray private_data)
{
    struct rdma_event_channel *events = pointer(channel);
    int ready = wait_readable(events->fd, 0);
    if (ready < 0) {
        throw_errno(env, "rdma_get_cm_event: poll", errno);
        return -1;
    }
    struct rdma_cm_event *event = NULL;
    if (ready == 0) {
        return -1;
    }
    if (cm.get_cm_event(events, &event) != 0) {
        if (errno != EAGAIN) {
            throw_errno(env, "rdma_get_cm_event", errno);
        }
        return -1;
    }
    jlong values[6] = {handle(event->id), handle(event->listen_id), event->status, 0, 0, 0};
    if (has_parameters(event->event)) {
        const struct rdma_conn_param *param = &event->param.conn;
        jsize room = (*env)->GetArrayLength(env, private_data);
        jsize length = param->private_data != NULL ? param->private_data_len : 0;
        jsize copied = length < room ? length : room;
        if (copied > 0) {
            (*env)->SetByteArrayRegion(env, private_data, 0, copied, param->private_data);
        }
        values[3] = copied;
        values[4] = param->initiator_depth;
        values[5] = param->responder_resources;
    }
    jint type = (jint)event->event;
    if (check(env, "rdma_ack_cm_event", cm.ack_cm_event(event))) {
        put_longs(env, out, 6, values);
    }
    return type;
}
