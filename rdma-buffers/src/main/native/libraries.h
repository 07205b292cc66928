/*
 * libibverbs and librdmacm, opened at run time: this library loads on a host that has neither.
 *
 * Only exported functions are listed. The post, poll and notify calls are inlines of verbs.h over context->ops and need no
 * symbol. Each function is looked up with the version of the ABI that its prototype in the headers belongs to.
 */
#ifndef VERBENA_LIBRARIES_H
#define VERBENA_LIBRARIES_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

/* F(name without prefix, ABI version) */
#define IBV_FUNCTIONS(F)         \
    F(get_device_list, 1.1)      \
    F(free_device_list, 1.1)     \
    F(get_device_name, 1.1)      \
    F(query_device, 1.1)         \
    F(query_port, 1.1)           \
    F(query_gid, 1.1)            \
    F(get_async_event, 1.1)      \
    F(ack_async_event, 1.1)      \
    F(alloc_pd, 1.1)             \
    F(dealloc_pd, 1.1)           \
    F(reg_mr, 1.1)               \
    F(dereg_mr, 1.1)             \
    F(create_comp_channel, 1.0)  \
    F(destroy_comp_channel, 1.0) \
    F(create_cq, 1.1)            \
    F(destroy_cq, 1.1)           \
    F(get_cq_event, 1.1)         \
    F(ack_cq_events, 1.1)        \
    F(query_qp, 1.1)             \
    F(destroy_qp, 1.1)           \
    F(modify_qp, 1.1)

#define RDMA_FUNCTIONS(F)         \
    F(create_event_channel, 1.0)  \
    F(destroy_event_channel, 1.0) \
    F(create_id, 1.0)             \
    F(destroy_id, 1.0)            \
    F(create_qp, 1.0)             \
    F(destroy_qp, 1.0)            \
    F(destroy_ep, 1.0)            \
    F(bind_addr, 1.0)             \
    F(resolve_addr, 1.0)          \
    F(resolve_route, 1.0)         \
    F(listen, 1.0)                \
    F(connect, 1.0)               \
    F(accept, 1.0)                \
    F(reject, 1.0)                \
    F(disconnect, 1.0)            \
    F(get_cm_event, 1.0)          \
    F(ack_cm_event, 1.0)          \
    F(set_option, 1.0)

#define DECLARE_IBV(name, version) __typeof__(&ibv_##name) name;
#define DECLARE_RDMA(name, version) __typeof__(&rdma_##name) name;

struct ibv_library {
    IBV_FUNCTIONS(DECLARE_IBV)
    /* Since rdma-core 27; NULL in an older one, which knows no optional access flags. */
    __typeof__(&ibv_reg_mr_iova2) reg_mr_iova2;
};

struct rdma_library {
    RDMA_FUNCTIONS(DECLARE_RDMA)
};

/* Valid only after libraries_open returned NULL; never written again then. */
extern struct ibv_library ibv;
extern struct rdma_library cm;

#define IBVERBS_FILE "libibverbs.so.1"
#define RDMACM_FILE "librdmacm.so.1"

/*
 * Opens both libraries unless that has been done. Returns NULL, or the reason why not: static text, valid until the next call.
 * Any thread. They stay open until the process ends, since their providers keep state that outlives a dlclose badly.
 */
const char *libraries_open(const char *ibverbs_file, const char *rdmacm_file);

#endif
