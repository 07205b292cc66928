/* The calls that DiSNI lacks, on its handles. The prototypes come from VerbsNative by javac -h. */
#ifndef VERBENA_VERBENA_H
#define VERBENA_VERBENA_H

#include "errors.h"
#include "handles.h"
#include "io_verbena_verbs_bound_VerbsNative.h"
#include "verbs.h"

#include <errno.h>

/* NATIVE(result, name, parameters...): the definition of VerbsNative.name. */
#define NATIVE(result, name, ...)                                             \
    JNIEXPORT result JNICALL Java_io_verbena_verbs_bound_VerbsNative_##name(  \
        __attribute__((unused)) JNIEnv *env, __attribute__((unused)) jclass self, ##__VA_ARGS__)

/* Copies count values into a Java array; a shorter one throws ArrayIndexOutOfBoundsException. */
static inline void put_longs(JNIEnv *env, jlongArray array, jsize count, const jlong *values)
{
    (*env)->SetLongArrayRegion(env, array, 0, count, values);
}

/* Returns a new byte[], or NULL with OutOfMemoryError thrown. */
static inline jbyteArray new_bytes(JNIEnv *env, const void *bytes, jsize count)
{
    jbyteArray array = (*env)->NewByteArray(env, count);
    if (array != NULL) {
        (*env)->SetByteArrayRegion(env, array, 0, count, bytes);
    }
    return array;
}

#endif
