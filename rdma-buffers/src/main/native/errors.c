#include "errors.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED(symbol) \
    case symbol:      \
        return #symbol;

/* What verbs, the RDMA CM, mmap and open(2) return; other numbers stay numbers. strerrorname_np needs glibc 2.32. */
static const char *name_of(int number)
{
    switch (number) {
        NAMED(EPERM)
        NAMED(ENOENT)
        NAMED(EINTR)
        NAMED(EIO)
        NAMED(ENXIO)
        NAMED(EBADF)
        NAMED(EAGAIN)
        NAMED(ENOMEM)
        NAMED(EACCES)
        NAMED(EFAULT)
        NAMED(EBUSY)
        NAMED(EEXIST)
        NAMED(ENODEV)
        NAMED(ENOTDIR)
        NAMED(EISDIR)
        NAMED(EINVAL)
        NAMED(ENFILE)
        NAMED(EMFILE)
        NAMED(EFBIG)
        NAMED(ENOSPC)
        NAMED(EROFS)
        NAMED(EPIPE)
        NAMED(ERANGE)
        NAMED(EDEADLK)
        NAMED(ENAMETOOLONG)
        NAMED(ENOSYS)
        NAMED(ELOOP)
        NAMED(ENODATA)
        NAMED(ETIME)
        NAMED(EPROTO)
        NAMED(EBADMSG)
        NAMED(EOVERFLOW)
        NAMED(EMSGSIZE)
        NAMED(EPROTONOSUPPORT)
        NAMED(EOPNOTSUPP)
        NAMED(EAFNOSUPPORT)
        NAMED(EADDRINUSE)
        NAMED(EADDRNOTAVAIL)
        NAMED(ENETDOWN)
        NAMED(ENETUNREACH)
        NAMED(ECONNABORTED)
        NAMED(ECONNRESET)
        NAMED(ENOBUFS)
        NAMED(EISCONN)
        NAMED(ENOTCONN)
        NAMED(ETIMEDOUT)
        NAMED(ECONNREFUSED)
        NAMED(EHOSTUNREACH)
        NAMED(EALREADY)
        NAMED(EINPROGRESS)
        NAMED(ESTALE)
        NAMED(EREMOTEIO)
        NAMED(ECANCELED)
    default:
        return "errno";
    }
}

static void throw_text(JNIEnv *env, const char *text)
{
    jclass exception = (*env)->FindClass(env, "java/io/IOException");
    if (exception != NULL) {
        (*env)->ThrowNew(env, exception, text);
    }
}

void throw_io(JNIEnv *env, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    throw_text(env, text);
}

void throw_errno(JNIEnv *env, const char *function, int number)
{
    int value = number == INT_MIN ? INT_MAX : abs(number);
    /* The user's locale might give bytes that are not UTF-8. */
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const char *text = plain != (locale_t)0 ? strerror_l(value, plain) : "error";
    throw_io(env, "%s: %s [%s %d]", function, text, name_of(value), value);
    if (plain != (locale_t)0) {
        freelocale(plain);
    }
}

int errno_of(int result)
{
    if (result == -1 && errno != 0) {
        return errno;
    }
    return result == INT_MIN ? INT_MAX : abs(result);
}

bool check(JNIEnv *env, const char *function, int result)
{
    if (result != 0) {
        throw_errno(env, function, errno_of(result));
        return false;
    }
    return true;
}
