/* Handles are raw pointers of the ibv_ and rdma_ structures, as a user's own libdisni passes them too. */
#ifndef VERBENA_HANDLES_H
#define VERBENA_HANDLES_H

#include <jni.h>
#include <stdint.h>

static inline void *pointer(jlong handle)
{
    return (void *)(intptr_t)handle;
}

static inline jlong handle(const void *pointer)
{
    return (jlong)(intptr_t)pointer;
}

#endif
