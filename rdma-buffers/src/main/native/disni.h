/*
 * The native half of DiSNI 2.1 (com.ibm.disni:disni on Maven Central brings no library): one exported function for each native
 * method of NativeDispatcher and NativeAffinity. Java asks for little: handles are opaque and not negative, failures are
 * IOException where the method declares it and a return value elsewhere.
 */
#ifndef VERBENA_DISNI_H
#define VERBENA_DISNI_H

#include "errors.h"
#include "handles.h"
#include "verbs.h"

#include <errno.h>

#define DISPATCHER(result, name, ...)                                                                       \
    JNIEXPORT result JNICALL Java_com_ibm_disni_verbs_impl_NativeDispatcher__1##name(                       \
        JNIEnv *, jobject, ##__VA_ARGS__);                                                                  \
    JNIEXPORT result JNICALL Java_com_ibm_disni_verbs_impl_NativeDispatcher__1##name(                       \
        __attribute__((unused)) JNIEnv *env, __attribute__((unused)) jobject self, ##__VA_ARGS__)

#endif
