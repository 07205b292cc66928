/* The record, the scripts, and their JNI side. */
#include "fake.h"

#include <errno.h>
#include <jni.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io_verbena_verbs_fake_FakeVerbs.h"

#define MAX_OUTCOMES 8
#define NATIVE(result, name, ...)                                            \
    JNIEXPORT result JNICALL Java_io_verbena_verbs_fake_FakeVerbs_##name(    \
        __attribute__((unused)) JNIEnv *env, __attribute__((unused)) jclass self, ##__VA_ARGS__)

struct outcome {
    char function[64];
    int result;
    int error;
};

struct cm_entry {
    struct rdma_cm_event event;
    uint8_t data[256];
    const struct rdma_event_channel *channel;
    struct cm_entry *next;
};

struct fake_script fake_script;

static char record[1 << 16];
static size_t record_length;
static struct outcome outcomes[MAX_OUTCOMES];
static int live;
static struct cm_entry *cm_entries;

void fake_log(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(record + record_length, sizeof record - record_length - 1, format, arguments);
    va_end(arguments);
    if (length < 0 || record_length + (size_t)length + 2 > sizeof record) {
        abort();
    }
    record_length += (size_t)length;
    record[record_length++] = '\n';
    record[record_length] = '\0';
}

int fake_outcome(const char *function)
{
    for (int index = 0; index < MAX_OUTCOMES; index++) {
        struct outcome *outcome = &outcomes[index];
        if (strcmp(outcome->function, function) == 0) {
            outcome->function[0] = '\0';
            errno = outcome->error;
            return outcome->result;
        }
    }
    return 0;
}

bool fake_fails(const char *function)
{
    return fake_outcome(function) != 0;
}

void fake_live(int delta)
{
    live += delta;
}

void *fake_new(size_t size)
{
    void *object = calloc(1, size);
    if (object == NULL) {
        abort();
    }
    fake_live(1);
    return object;
}

void fake_free(void *object)
{
    free(object);
    fake_live(-1);
}

int fake_fd(void)
{
    int fd = eventfd(0, EFD_SEMAPHORE);
    if (fd < 0) {
        abort();
    }
    return fd;
}

void fake_notify(int fd)
{
    eventfd_write(fd, 1);
}

bool fake_take(int fd)
{
    eventfd_t value;
    return eventfd_read(fd, &value) == 0;
}

struct rdma_cm_event *fake_next_cm_event(const struct rdma_event_channel *channel)
{
    for (struct cm_entry **link = &cm_entries; *link != NULL; link = &(*link)->next) {
        struct cm_entry *entry = *link;
        if (entry->channel == channel) {
            *link = entry->next;
            return &entry->event;
        }
    }
    return NULL;
}

NATIVE(void, reset)
{
    memset(outcomes, 0, sizeof outcomes);
    memset(&fake_script, 0, sizeof fake_script);
    fake_script.accept = -1;
    record_length = 0;
    record[0] = '\0';
}

NATIVE(jstring, calls)
{
    jstring text = (*env)->NewStringUTF(env, record);
    record_length = 0;
    record[0] = '\0';
    return text;
}

NATIVE(jint, live)
{
    return live;
}

NATIVE(void, script, jstring function, jint result, jint error)
{
    for (int index = 0; index < MAX_OUTCOMES; index++) {
        struct outcome *outcome = &outcomes[index];
        if (outcome->function[0] == '\0') {
            jsize length = (*env)->GetStringLength(env, function);
            if ((size_t)length >= sizeof outcome->function) {
                abort();
            }
            (*env)->GetStringUTFRegion(env, function, 0, length, outcome->function);
            outcome->function[length] = '\0';
            outcome->result = result;
            outcome->error = error;
            return;
        }
    }
    abort();
}

NATIVE(void, acceptOnly, jint count, jint result)
{
    fake_script.accept = count;
    fake_script.accept_result = result;
}

NATIVE(void, failPoll, jint result)
{
    fake_script.poll_result = result;
}

NATIVE(void, complete, jlong wr_id, jint status, jint opcode, jint vendor_error, jint bytes, jint qp_number, jint flags)
{
    if (fake_script.completion_count >= (int)(sizeof fake_script.completions / sizeof fake_script.completions[0])) {
        abort();
    }
    fake_script.completions[fake_script.completion_count++] = (struct ibv_wc){
        .wr_id = (uint64_t)wr_id,
        .status = (enum ibv_wc_status)status,
        .opcode = (enum ibv_wc_opcode)opcode,
        .vendor_err = (uint32_t)vendor_error,
        .byte_len = (uint32_t)bytes,
        .qp_num = (uint32_t)qp_number,
        .wc_flags = (unsigned int)flags,
    };
}

NATIVE(void, cmEvent, jlong channel, jint type, jlong id, jlong listen_id, jint status, jbyteArray data, jint depth,
       jint resources)
{
    struct cm_entry *entry = fake_new(sizeof *entry);
    jsize length = data != NULL ? (*env)->GetArrayLength(env, data) : 0;
    if ((size_t)length > sizeof entry->data) {
        abort();
    }
    if (length > 0) {
        (*env)->GetByteArrayRegion(env, data, 0, length, (jbyte *)entry->data);
    }
    entry->channel = (const struct rdma_event_channel *)(intptr_t)channel;
    entry->event.event = (enum rdma_cm_event_type)type;
    entry->event.id = (struct rdma_cm_id *)(intptr_t)id;
    entry->event.listen_id = (struct rdma_cm_id *)(intptr_t)listen_id;
    entry->event.status = status;
    entry->event.param.conn.private_data = data != NULL ? entry->data : NULL;
    entry->event.param.conn.private_data_len = (uint8_t)length;
    entry->event.param.conn.initiator_depth = (uint8_t)depth;
    entry->event.param.conn.responder_resources = (uint8_t)resources;
    struct cm_entry **last = &cm_entries;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = entry;
    fake_notify(entry->channel->fd);
}

NATIVE(void, asyncEvent, jint type, jlong element)
{
    fake_script.async_event.event_type = (enum ibv_event_type)type;
    if (element > INT32_MAX) {
        fake_script.async_event.element.qp = (struct ibv_qp *)(intptr_t)element;
    } else {
        fake_script.async_event.element.port_num = (int)element;
    }
    fake_notify(fake_context()->async_fd);
}

NATIVE(void, cqEvent, jlong channel, jlong cq)
{
    fake_script.event_cq = (struct ibv_cq *)(intptr_t)cq;
    fake_notify(((struct ibv_comp_channel *)(intptr_t)channel)->fd);
}

NATIVE(jlong, context)
{
    return (jlong)(intptr_t)fake_context();
}

/* These two show that the sanitizers of this build are at work. */
NATIVE(jint, fill, jint length)
{
    char *array = malloc(4);
    if (array == NULL) {
        abort();
    }
    memset(array, 1, (size_t)length);
    int value = array[0];
    free(array);
    return value;
}

NATIVE(jint, increment, jint value)
{
    return value + 1;
}

static void ignore(__attribute__((unused)) int number)
{
}

NATIVE(jint, threadId)
{
    return (jint)syscall(SYS_gettid);
}

/* A signal with a handler, so that it interrupts a system call. */
NATIVE(void, interrupt, jint thread_id)
{
    struct sigaction action = {.sa_handler = ignore};
    sigaction(SIGWINCH, &action, NULL);
    syscall(SYS_tgkill, getpid(), thread_id, SIGWINCH);
}
