/* Failures as java.io.IOException: "function: text [NAME number]". */
#ifndef VERBENA_ERRORS_H
#define VERBENA_ERRORS_H

#include <jni.h>
#include <stdbool.h>

/* Throws IOException with the text of errno value "number" (taken by absolute value: some drivers return it negative). */
void throw_errno(JNIEnv *env, const char *function, int number);

/* Throws IOException with a printf text. */
void throw_io(JNIEnv *env, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The errno value of a verbs call that returned "result": libibverbs returns errno values or their negatives, librdmacm -1 with
 * errno set, old providers -1 in place of a value. Never 0 for a result that is not 0.
 */
int errno_of(int result);

/* Throws unless result is 0; returns whether it was. */
bool check(JNIEnv *env, const char *function, int result);

#endif
