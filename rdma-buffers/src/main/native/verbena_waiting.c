/* Waiting on several descriptors, and waking the thread that waits. */
#include "verbena.h"

#include <stddef.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* One bit of the result for each. */
#define MAX_FDS 31

NATIVE(jint, eventFd)
{
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0) {
        throw_errno(env, "eventfd", errno);
    }
    return fd;
}

/* A full counter is a signal that nobody has cleared yet. */
NATIVE(void, signal, jint fd)
{
    eventfd_write(fd, 1);
}

NATIVE(void, clear, jint fd)
{
    eventfd_t value;
    eventfd_read(fd, &value);
}

NATIVE(jint, pollFds, jintArray fds, jint count, jint timeout_ms)
{
    jint descriptors[MAX_FDS];
    struct pollfd entries[MAX_FDS];
    if (count < 0 || count > MAX_FDS) {
        throw_io(env, "poll: count=%d is not 0..%d [EINVAL %d]", (int)count, MAX_FDS, EINVAL);
        return 0;
    }
    (*env)->GetIntArrayRegion(env, fds, 0, count, descriptors);
    if ((*env)->ExceptionCheck(env)) {
        return 0;
    }
    for (int index = 0; index < count; index++) {
        entries[index] = (struct pollfd){.fd = descriptors[index], .events = POLLIN};
    }
    int ready = poll_within(entries, count, timeout_ms);
    if (ready < 0) {
        throw_errno(env, "poll", errno);
        return 0;
    }
    jint result = 0;
    for (int index = 0; index < count; index++) {
        if ((entries[index].revents & POLLNVAL) != 0) {
            throw_io(env, "poll: fd=%d is not open [EBADF %d]", entries[index].fd, EBADF);
            return 0;
        }
        if (entries[index].revents != 0) {
            result |= (jint)(1u << index);
        }
    }
    return result;
}
