/*
 * A stand-in for libibverbs and librdmacm: it records calls, returns what a test has scripted, and counts what is alive. One
 * device, fake0. Tests drive it through io.verbena.verbs.fake.FakeVerbs. Not thread-safe: one test thread.
 */
#ifndef VERBENA_FAKE_H
#define VERBENA_FAKE_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>

#define FAKE __attribute__((visibility("default")))

/* Appends a line to the record of calls. */
FAKE void fake_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns what is scripted for the next call of a function, with errno set, or 0. */
FAKE int fake_outcome(const char *function);

/* As fake_outcome, for a function that returns a pointer. */
FAKE bool fake_fails(const char *function);

/* Counts an object that was made (1) or destroyed (-1). */
FAKE void fake_live(int delta);

/* calloc that does not fail, counted as alive; and its free. */
FAKE void *fake_new(size_t size);
FAKE void fake_free(void *object);

/* A descriptor that is readable as often as fake_notify was called more than fake_take. */
FAKE int fake_fd(void);
FAKE void fake_notify(int fd);
FAKE bool fake_take(int fd);

FAKE struct ibv_context *fake_context(void);

/* Takes the next scripted event of a channel, NULL if there is none. */
FAKE struct rdma_cm_event *fake_next_cm_event(const struct rdma_event_channel *channel);

/* Scripts, read by the calls. */
struct fake_script {
    int accept;             /* how many of the next list are accepted, -1 all, -2 none and the bad one is not named */
    int accept_result;      /* what that post returns */
    int poll_result;        /* what a poll of an empty CQ returns */
    struct ibv_wc completions[128];
    int completion_count;
    struct ibv_async_event async_event;
    struct ibv_cq *event_cq;
};
FAKE extern struct fake_script fake_script;

#endif
