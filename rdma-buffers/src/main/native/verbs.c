#include "verbs.h"

#include "errors.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* IB_UVERBS_ACCESS_OPTIONAL_RANGE of the kernel's ABI: bits 20 to 29. */
#define OPTIONAL_ACCESS 0x3ff00000u

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

bool require_device(JNIEnv *env, const char *function, const struct rdma_cm_id *id)
{
    if (id->verbs == NULL) {
        throw_io(env, "%s: the id is not bound to a device [ENODEV %d]", function, ENODEV);
        return false;
    }
    return true;
}

int set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
        return errno;
    }
    return 0;
}

static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

int poll_within(struct pollfd *entries, int count, int timeout_ms)
{
    int64_t deadline = timeout_ms < 0 ? 0 : monotonic_ns() + timeout_ms * NS_PER_MS;
    int64_t left = timeout_ms * NS_PER_MS;
    while (true) {
        struct timespec timeout = {.tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S};
        int ready = ppoll(entries, (nfds_t)count, timeout_ms < 0 ? NULL : &timeout, NULL);
        if (ready >= 0 || errno != EINTR) {
            return ready;
        }
        if (timeout_ms >= 0) {
            left = deadline - monotonic_ns();
            left = left > 0 ? left : 0;
        }
    }
}

int wait_readable(int fd, int timeout_ms)
{
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    return poll_within(&entry, 1, timeout_ms);
}

struct ibv_mr *register_memory(struct ibv_pd *pd, void *address, size_t length, unsigned int access)
{
    if ((access & OPTIONAL_ACCESS) != 0 && ibv.reg_mr_iova2 != NULL) {
        return ibv.reg_mr_iova2(pd, address, length, (uintptr_t)address, access);
    }
    return ibv.reg_mr(pd, address, length, (int)(access & ~OPTIONAL_ACCESS));
}

struct ibv_qp *create_rc_qp(JNIEnv *env, struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_cq *send_cq,
                            struct ibv_cq *recv_cq, struct ibv_qp_cap *capacity)
{
    if (!require_device(env, "rdma_create_qp", id)) {
        return NULL;
    }
    struct ibv_qp_init_attr attributes = {
        .send_cq = send_cq,
        .recv_cq = recv_cq,
        .cap = *capacity,
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 0,
    };
    errno = 0;
    if (!check(env, "rdma_create_qp", cm.create_qp(id, pd, &attributes))) {
        return NULL;
    }
    *capacity = attributes.cap;
    return id->qp;
}
