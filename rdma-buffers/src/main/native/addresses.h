/* Socket addresses as Java has them: 4 bytes of IPv4 or 16 of IPv6, and the port in host order. */
#ifndef VERBENA_ADDRESSES_H
#define VERBENA_ADDRESSES_H

#include <jni.h>
#include <netinet/in.h>
#include <stdbool.h>

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_storage storage;
};

/* Returns false with IOException thrown if the array has neither 4 nor 16 bytes or the port is no port. */
bool read_address(JNIEnv *env, jbyteArray bytes, jint scope_id, jint port, union address *address);

/* Returns a new byte[], or NULL for no or another family's address. */
jbyteArray address_bytes(JNIEnv *env, const struct sockaddr *address);

#endif
