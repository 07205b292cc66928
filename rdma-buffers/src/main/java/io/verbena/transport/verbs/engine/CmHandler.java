package io.verbena.transport.verbs.engine;

/** Owner of a CM id. Threads: called on the CM thread. */
interface CmHandler {
    void onEvent(CmEvent event);
}
