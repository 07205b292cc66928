#include "addresses.h"

#include "errors.h"

#include <errno.h>
#include <string.h>

#define IPV4_BYTES 4
#define IPV6_BYTES 16
#define MAX_PORT 65535

bool read_address(JNIEnv *env, jbyteArray bytes, jint scope_id, jint port, union address *address)
{
    jsize length = (*env)->GetArrayLength(env, bytes);
    memset(address, 0, sizeof *address);
    if (port < 0 || port > MAX_PORT || (length != IPV4_BYTES && length != IPV6_BYTES)) {
        throw_io(env, "address: addressBytes=%d, port=%d [EINVAL %d]", (int)length, (int)port, EINVAL);
        return false;
    }
    if (length == IPV4_BYTES) {
        address->v4.sin_family = AF_INET;
        address->v4.sin_port = htons((uint16_t)port);
        (*env)->GetByteArrayRegion(env, bytes, 0, length, (jbyte *)&address->v4.sin_addr);
    } else {
        address->v6.sin6_family = AF_INET6;
        address->v6.sin6_port = htons((uint16_t)port);
        address->v6.sin6_scope_id = (uint32_t)scope_id;
        (*env)->GetByteArrayRegion(env, bytes, 0, length, (jbyte *)&address->v6.sin6_addr);
    }
    return true;
}

jbyteArray address_bytes(JNIEnv *env, const struct sockaddr *address)
{
    const void *bytes;
    jsize length;
    if (address->sa_family == AF_INET) {
        bytes = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
        length = IPV4_BYTES;
    } else if (address->sa_family == AF_INET6) {
        bytes = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
        length = IPV6_BYTES;
    } else {
        return NULL;
    }
    jbyteArray array = (*env)->NewByteArray(env, length);
    if (array != NULL) {
        (*env)->SetByteArrayRegion(env, array, 0, length, bytes);
    }
    return array;
}
