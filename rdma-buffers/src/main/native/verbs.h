/* What both JNI layers share: calls with the checks that librdmacm lacks, and descriptors that must not block. */
#ifndef VERBENA_VERBS_H
#define VERBENA_VERBS_H

#include "libraries.h"

#include <jni.h>
#include <poll.h>
#include <stdbool.h>

/* Largest private data of the RDMA CM over RC (cma.c of Linux, RDMA_MAX_PRIVATE_DATA is the wire's): request, reply, reject. */
#define REQUEST_PRIVATE_BYTES 56
#define REPLY_PRIVATE_BYTES 196
#define REJECT_PRIVATE_BYTES 148

/* Returns whether the id is bound to a device; throws ENODEV if not. librdmacm dereferences it unchecked (SIGSEGV). */
bool require_device(JNIEnv *env, const char *function, const struct rdma_cm_id *id);

/* Returns 0 or an errno value. */
int set_nonblocking(int fd);

/* poll(2), with EINTR retried within the time. Returns what poll does. -1 ms: no limit. */
int poll_within(struct pollfd *entries, int count, int timeout_ms);

/* poll_within on one descriptor for input: 1 ready, 0 timeout, -1 with errno. */
int wait_readable(int fd, int timeout_ms);

/* ibv_reg_mr as the macro of verbs.h does it: optional access flags need ibv_reg_mr_iova2, or are dropped where it is missing. */
struct ibv_mr *register_memory(struct ibv_pd *pd, void *address, size_t length, unsigned int access);

/* rdma_create_qp for RC with sq_sig_all 0; id must have a device. Returns the QP, or NULL with the exception thrown. */
struct ibv_qp *create_rc_qp(JNIEnv *env, struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_cq *send_cq,
                            struct ibv_cq *recv_cq, struct ibv_qp_cap *capacity);

#endif
