#include "libraries.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

/*
 * glibc 2.34 moved these into libc under a new version; the old one is still there. With it a library that was built on a new
 * host loads on an older one.
 */
#if defined(__x86_64__)
#define OLDEST_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define OLDEST_GLIBC "GLIBC_2.17"
#endif
#ifdef OLDEST_GLIBC
__asm__(".symver dlopen, dlopen@" OLDEST_GLIBC);
__asm__(".symver dlvsym, dlvsym@" OLDEST_GLIBC);
__asm__(".symver dlerror, dlerror@" OLDEST_GLIBC);
#endif

struct ibv_library ibv;
struct rdma_library cm;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_open;
static char reason[512];

static void keep_reason(const char *fallback)
{
    const char *error = dlerror();
    snprintf(reason, sizeof reason, "%s", error != NULL ? error : fallback);
}

static bool find(void *library, const char *name, const char *version, void *target)
{
    void *symbol = dlvsym(library, name, version);
    if (symbol == NULL) {
        keep_reason(name);
        return false;
    }
    *(void **)target = symbol;
    return true;
}

#define FIND_IBV(name, version) found = found && find(verbs, "ibv_" #name, "IBVERBS_" #version, &ibv.name);
#define FIND_RDMA(name, version) found = found && find(rdmacm, "rdma_" #name, "RDMACM_" #version, &cm.name);

static bool open_locked(const char *ibverbs_file, const char *rdmacm_file)
{
    void *verbs = dlopen(ibverbs_file, RTLD_NOW | RTLD_LOCAL);
    if (verbs == NULL) {
        keep_reason(ibverbs_file);
        return false;
    }
    void *rdmacm = dlopen(rdmacm_file, RTLD_NOW | RTLD_LOCAL);
    if (rdmacm == NULL) {
        keep_reason(rdmacm_file);
        return false;
    }
    bool found = true;
    IBV_FUNCTIONS(FIND_IBV)
    RDMA_FUNCTIONS(FIND_RDMA)
    void *iova2 = dlvsym(verbs, "ibv_reg_mr_iova2", "IBVERBS_1.8");
    *(void **)&ibv.reg_mr_iova2 = iova2;
    return found;
}

const char *libraries_open(const char *ibverbs_file, const char *rdmacm_file)
{
    pthread_mutex_lock(&lock);
    if (!is_open) {
        is_open = open_locked(ibverbs_file, rdmacm_file);
    }
    const char *result = is_open ? NULL : reason;
    pthread_mutex_unlock(&lock);
    return result;
}
