/* Devices, ports, GIDs and asynchronous events. */
#include "verbena.h"

#include <stddef.h>
#include <string.h>

#define DEVICE(constant) io_verbena_verbs_bound_VerbsNative_DEVICE_##constant
#define PORT(constant) io_verbena_verbs_bound_VerbsNative_PORT_##constant

static jobjectArray names_of(JNIEnv *env, struct ibv_device **devices, jsize count)
{
    jclass string = (*env)->FindClass(env, "java/lang/String");
    jobjectArray names = string != NULL ? (*env)->NewObjectArray(env, count, string, NULL) : NULL;
    for (jsize index = 0; names != NULL && index < count; index++) {
        jstring name = (*env)->NewStringUTF(env, ibv.get_device_name(devices[index]));
        if (name == NULL) {
            return NULL;
        }
        (*env)->SetObjectArrayElement(env, names, index, name);
        (*env)->DeleteLocalRef(env, name);
    }
    return names;
}

NATIVE(jobjectArray, deviceNames)
{
    int count = 0;
    struct ibv_device **devices = ibv.get_device_list(&count);
    if (devices == NULL) {
        throw_errno(env, "ibv_get_device_list", errno);
        return NULL;
    }
    jobjectArray names = names_of(env, devices, count);
    ibv.free_device_list(devices);
    return names;
}

NATIVE(jstring, deviceName, jlong context)
{
    return (*env)->NewStringUTF(env, ibv.get_device_name(((struct ibv_context *)pointer(context))->device));
}

NATIVE(void, queryDevice, jlong context, jlongArray out)
{
    struct ibv_device_attr device;
    memset(&device, 0, sizeof device);
    errno = 0;
    if (!check(env, "ibv_query_device", ibv.query_device(pointer(context), &device))) {
        return;
    }
    const jlong values[DEVICE(VALUES)] = {
        /* Some drivers say 2^64-1 for no limit. */
        [DEVICE(MAX_MR_SIZE)] = device.max_mr_size <= INT64_MAX ? (jlong)device.max_mr_size : INT64_MAX,
        [DEVICE(MAX_MR)] = device.max_mr,
        [DEVICE(MAX_QP)] = device.max_qp,
        [DEVICE(MAX_QP_WR)] = device.max_qp_wr,
        [DEVICE(MAX_SGE)] = device.max_sge,
        [DEVICE(MAX_SGE_RD)] = device.max_sge_rd,
        [DEVICE(MAX_CQ)] = device.max_cq,
        [DEVICE(MAX_CQE)] = device.max_cqe,
        [DEVICE(MAX_PD)] = device.max_pd,
        [DEVICE(MAX_QP_RD_ATOM)] = device.max_qp_rd_atom,
        [DEVICE(MAX_QP_INIT_RD_ATOM)] = device.max_qp_init_rd_atom,
        [DEVICE(PORTS)] = device.phys_port_cnt,
        [DEVICE(PAGE_SIZE_CAP)] = (jlong)device.page_size_cap,
        [DEVICE(VENDOR_ID)] = device.vendor_id,
    };
    put_longs(env, out, DEVICE(VALUES), values);
}

/* enum ibv_mtu: 1 is 256 bytes, each step doubles. */
static jlong mtu_bytes(enum ibv_mtu mtu)
{
    return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? (jlong)128 << (int)mtu : 0;
}

NATIVE(void, queryPort, jlong context, jint number, jlongArray out)
{
    struct ibv_port_attr port;
    memset(&port, 0, sizeof port);
    errno = 0;
    /* The exported function fills the part of the structure that it knew when its version was made. */
    struct _compat_ibv_port_attr *compatible = (void *)&port;
    if (!check(env, "ibv_query_port", ibv.query_port(pointer(context), (uint8_t)number, compatible))) {
        return;
    }
    const jlong values[PORT(VALUES)] = {
        [PORT(STATE)] = (jlong)port.state,
        [PORT(MAX_MTU)] = mtu_bytes(port.max_mtu),
        [PORT(ACTIVE_MTU)] = mtu_bytes(port.active_mtu),
        [PORT(MAX_MSG_SIZE)] = port.max_msg_sz,
        [PORT(LID)] = port.lid,
        [PORT(LINK_LAYER)] = port.link_layer,
        [PORT(GID_COUNT)] = port.gid_tbl_len,
        [PORT(SPEED)] = port.active_speed,
        [PORT(WIDTH)] = port.active_width,
    };
    put_longs(env, out, PORT(VALUES), values);
}

NATIVE(jbyteArray, queryGid, jlong context, jint port, jint index)
{
    union ibv_gid gid;
    errno = 0;
    if (!check(env, "ibv_query_gid", ibv.query_gid(pointer(context), (uint8_t)port, index, &gid))) {
        return NULL;
    }
    return new_bytes(env, gid.raw, (jsize)sizeof gid.raw);
}

NATIVE(jint, asyncFd, jlong context)
{
    int fd = ((struct ibv_context *)pointer(context))->async_fd;
    int error = set_nonblocking(fd);
    if (error != 0) {
        throw_errno(env, "async_fd: fcntl", error);
        return -1;
    }
    return fd;
}

static jlong subject_of(const struct ibv_async_event *event)
{
    switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
        return handle(event->element.cq);
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        return handle(event->element.qp);
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_GID_CHANGE:
        return event->element.port_num;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
    case IBV_EVENT_DEVICE_FATAL:
    case IBV_EVENT_WQ_FATAL:
    default:
        return 0;
    }
}

NATIVE(jboolean, nextAsyncEvent, jlong context, jlongArray out)
{
    struct ibv_context *device = pointer(context);
    struct ibv_async_event event;
    int ready = wait_readable(device->async_fd, 0);
    if (ready < 0) {
        throw_errno(env, "ibv_get_async_event: poll", errno);
        return JNI_FALSE;
    }
    if (ready == 0) {
        return JNI_FALSE;
    }
    if (ibv.get_async_event(device, &event) != 0) {
        if (errno != EAGAIN) {
            throw_errno(env, "ibv_get_async_event", errno);
        }
        return JNI_FALSE;
    }
    const jlong values[2] = {(jlong)event.event_type, subject_of(&event)};
    ibv.ack_async_event(&event);
    put_longs(env, out, 2, values);
    return JNI_TRUE;
}
