/* The library itself: build, opening, and the layout of what Java writes. */
#include "verbena.h"

#include <stddef.h>

NATIVE(jstring, buildHash)
{
    return (*env)->NewStringUTF(env, VERBENA_BUILD_HASH);
}

NATIVE(jstring, openNamed, jstring ibverbs_file, jstring rdmacm_file)
{
    const char *ibverbs = (*env)->GetStringUTFChars(env, ibverbs_file, NULL);
    if (ibverbs == NULL) {
        return NULL;
    }
    jstring result = NULL;
    const char *rdmacm = (*env)->GetStringUTFChars(env, rdmacm_file, NULL);
    if (rdmacm != NULL) {
        const char *reason = libraries_open(ibverbs, rdmacm);
        result = reason != NULL ? (*env)->NewStringUTF(env, reason) : NULL;
        (*env)->ReleaseStringUTFChars(env, rdmacm_file, rdmacm);
    }
    (*env)->ReleaseStringUTFChars(env, ibverbs_file, ibverbs);
    return result;
}

#define LAYOUT(constant) io_verbena_verbs_bound_VerbsNative_##constant
#define SAME(constant, value) _Static_assert(LAYOUT(constant) == (value), #constant)

/* The constants of VerbsNative against the headers of this machine's architecture. */
SAME(SEND_WR_BYTES, sizeof(struct ibv_send_wr));
SAME(SEND_WR_ID, offsetof(struct ibv_send_wr, wr_id));
SAME(SEND_WR_NEXT, offsetof(struct ibv_send_wr, next));
SAME(SEND_WR_SG_LIST, offsetof(struct ibv_send_wr, sg_list));
SAME(SEND_WR_NUM_SGE, offsetof(struct ibv_send_wr, num_sge));
SAME(SEND_WR_OPCODE, offsetof(struct ibv_send_wr, opcode));
SAME(SEND_WR_FLAGS, offsetof(struct ibv_send_wr, send_flags));
SAME(SEND_WR_REMOTE_ADDRESS, offsetof(struct ibv_send_wr, wr.rdma.remote_addr));
SAME(SEND_WR_RKEY, offsetof(struct ibv_send_wr, wr.rdma.rkey));
SAME(RECV_WR_BYTES, sizeof(struct ibv_recv_wr));
SAME(RECV_WR_ID, offsetof(struct ibv_recv_wr, wr_id));
SAME(RECV_WR_NEXT, offsetof(struct ibv_recv_wr, next));
SAME(RECV_WR_SG_LIST, offsetof(struct ibv_recv_wr, sg_list));
SAME(RECV_WR_NUM_SGE, offsetof(struct ibv_recv_wr, num_sge));
SAME(SGE_BYTES, sizeof(struct ibv_sge));
SAME(SGE_ADDRESS, offsetof(struct ibv_sge, addr));
SAME(SGE_LENGTH, offsetof(struct ibv_sge, length));
SAME(SGE_LKEY, offsetof(struct ibv_sge, lkey));

NATIVE(jint, sendWrBytes)
{
    return (jint)sizeof(struct ibv_send_wr);
}

NATIVE(jint, recvWrBytes)
{
    return (jint)sizeof(struct ibv_recv_wr);
}

NATIVE(jint, sgeBytes)
{
    return (jint)sizeof(struct ibv_sge);
}
