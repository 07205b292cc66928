/* What DiSNI asks before it serialises anything, and the affinity of its threads. */
#include "disni.h"

#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>

/* NativeDispatcher.JVERBS_VERSION of DiSNI 2.1; any other number is refused there. */
#define INTERFACE_VERSION 32
#define MASK_BITS 64

/* The first native call that DiSNI makes: reports here that a library is missing. */
DISPATCHER(jint, getVersion)
{
    const char *reason = libraries_open(IBVERBS_FILE, RDMACM_FILE);
    if (reason != NULL) {
        throw_io(env, "%s", reason);
        return -1;
    }
    return INTERFACE_VERSION;
}

DISPATCHER(jint, getSockAddrInSize)
{
    return (jint)sizeof(struct sockaddr_in);
}

DISPATCHER(jint, getIbvRecvWRSize)
{
    return (jint)sizeof(struct ibv_recv_wr);
}

DISPATCHER(jint, getIbvSendWRSize)
{
    return (jint)sizeof(struct ibv_send_wr);
}

DISPATCHER(jint, getIbvSgeSize)
{
    return (jint)sizeof(struct ibv_sge);
}

DISPATCHER(jint, getIbvWCSize)
{
    return (jint)sizeof(struct ibv_wc);
}

DISPATCHER(jint, getRemoteAddressOffset)
{
    return (jint)offsetof(struct ibv_send_wr, wr.rdma.remote_addr);
}

DISPATCHER(jint, getRKeyOffset)
{
    return (jint)offsetof(struct ibv_send_wr, wr.rdma.rkey);
}

JNIEXPORT void JNICALL Java_com_ibm_disni_util_NativeAffinity__1setAffinity(JNIEnv *, jclass, jlong);
JNIEXPORT void JNICALL Java_com_ibm_disni_util_NativeAffinity__1setAffinity(JNIEnv *env, __attribute__((unused)) jclass self,
                                                                           jlong mask)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (unsigned int cpu = 0; cpu < MASK_BITS; cpu++) {
        if (((uint64_t)mask >> cpu & 1) != 0) {
            CPU_SET(cpu, &set);
        }
    }
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        throw_errno(env, "sched_setaffinity", errno);
    }
}

JNIEXPORT jlong JNICALL Java_com_ibm_disni_util_NativeAffinity__1getAffinity(JNIEnv *, jclass);
JNIEXPORT jlong JNICALL Java_com_ibm_disni_util_NativeAffinity__1getAffinity(JNIEnv *env, __attribute__((unused)) jclass self)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        throw_errno(env, "sched_getaffinity", errno);
        return 0;
    }
    uint64_t mask = 0;
    for (unsigned int cpu = 0; cpu < MASK_BITS; cpu++) {
        if (CPU_ISSET(cpu, &set)) {
            mask |= (uint64_t)1 << cpu;
        }
    }
    return (jlong)mask;
}

/* Not DiSNI's: lets VerbsNative see that this library and the jar are of one build. */
JNIEXPORT jstring JNICALL Java_io_verbena_verbs_bound_VerbsNative_disniBuildHash(JNIEnv *, jclass);
JNIEXPORT jstring JNICALL Java_io_verbena_verbs_bound_VerbsNative_disniBuildHash(JNIEnv *env,
                                                                                 __attribute__((unused)) jclass self)
{
    return (*env)->NewStringUTF(env, VERBENA_BUILD_HASH);
}
