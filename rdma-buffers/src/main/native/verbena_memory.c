/* Registration with long lengths, anonymous files, mappings and limits. */
#include "verbena.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Values of the kernel's ABI that older headers lack: since Linux 5.14 and 3.17. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 0x1U
#endif
#ifndef MFD_HUGETLB
#define MFD_HUGETLB 0x4U
#endif
#define HUGE_SHIFT 26

#define MAX_PATH_BYTES 4096

NATIVE(void, registerMemory, jlong pd, jlong address, jlong length, jint access, jlongArray out)
{
    if (length < 0) {
        throw_io(env, "ibv_reg_mr: lengthBytes=%lld [EINVAL %d]", (long long)length, EINVAL);
        return;
    }
    struct ibv_mr *mr = register_memory(pointer(pd), pointer(address), (size_t)length, (unsigned int)access);
    if (mr == NULL) {
        throw_errno(env, "ibv_reg_mr", errno);
        return;
    }
    const jlong values[3] = {handle(mr), (jint)mr->lkey, (jint)mr->rkey};
    put_longs(env, out, 3, values);
}

NATIVE(void, deregisterMemory, jlong mr)
{
    errno = 0;
    check(env, "ibv_dereg_mr", ibv.dereg_mr(pointer(mr)));
}

static jint advise(jlong address, jlong length, int advice)
{
    return madvise(pointer(address), (size_t)length, advice) == 0 ? 0 : errno;
}

NATIVE(jint, populate, jlong address, jlong length, jboolean write)
{
    return advise(address, length, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
}

NATIVE(jint, adviseHugePages, jlong address, jlong length)
{
    return advise(address, length, MADV_HUGEPAGE);
}

/* Copies a zero-terminated byte array; returns false with IOException thrown if it is too long. */
static bool read_path(JNIEnv *env, const char *function, jbyteArray bytes, char *path)
{
    jsize length = (*env)->GetArrayLength(env, bytes);
    if (length >= MAX_PATH_BYTES) {
        throw_errno(env, function, ENAMETOOLONG);
        return false;
    }
    (*env)->GetByteArrayRegion(env, bytes, 0, length, (jbyte *)path);
    path[length] = '\0';
    return true;
}

NATIVE(jint, createMemfdNamed, jbyteArray name_bytes, jboolean hugetlb, jint huge_page_log2)
{
    char name[MAX_PATH_BYTES];
    if (!read_path(env, "memfd_create", name_bytes, name)) {
        return -ENAMETOOLONG;
    }
    unsigned int flags = MFD_CLOEXEC;
    if (hugetlb) {
        flags |= MFD_HUGETLB | (unsigned int)huge_page_log2 << HUGE_SHIFT;
    }
    long fd = syscall(SYS_memfd_create, name, flags);
    return fd >= 0 ? (jint)fd : -errno;
}

NATIVE(void, setLength, jint fd, jlong length)
{
    errno = 0;
    check(env, "ftruncate", ftruncate(fd, length));
}

NATIVE(jlong, map, jint fd, jlong offset, jlong length, jboolean write)
{
    int protection = write ? PROT_READ | PROT_WRITE : PROT_READ;
    void *address = mmap(NULL, (size_t)length, protection, MAP_SHARED, fd, offset);
    if (address == MAP_FAILED) {
        throw_errno(env, "mmap", errno);
        return 0;
    }
    return handle(address);
}

NATIVE(void, unmap, jlong address, jlong length)
{
    errno = 0;
    check(env, "munmap", munmap(pointer(address), (size_t)length));
}

NATIVE(jint, openPath, jbyteArray path_bytes, jboolean write)
{
    char path[MAX_PATH_BYTES];
    if (!read_path(env, "open", path_bytes, path)) {
        return -1;
    }
    int fd = open(path, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (fd < 0) {
        throw_errno(env, "open", errno);
    }
    return fd;
}

NATIVE(void, closeFd, jint fd)
{
    close(fd);
}

NATIVE(jlong, pageSize)
{
    return sysconf(_SC_PAGESIZE);
}

NATIVE(jlong, memlockLimit)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return -1;
    }
    return (jlong)limit.rlim_cur;
}

NATIVE(jboolean, hasIpcLock)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    memset(data, 0, sizeof data);
    if (syscall(SYS_capget, &header, data) != 0) {
        return JNI_FALSE;
    }
    return (data[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0;
}
