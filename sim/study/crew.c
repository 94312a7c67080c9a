#include "study/crew.h"

#include "base/caller.h"

#include <pthread.h>

struct pieces {
    const struct tsim_crew *crew;
    struct tsim_caller *caller;
    pthread_mutex_t mutex; /* guards next */
    size_t next, n;
};

struct worker {
    struct pieces *pieces;
    int32_t number;
    pthread_t thread;
    bool is_started;
};

static bool take(struct pieces *pieces, size_t *piece) {
    pthread_mutex_lock(&pieces->mutex);
    bool has = pieces->next < pieces->n;
    *piece = pieces->next;
    pieces->next += has;
    pthread_mutex_unlock(&pieces->mutex);
    return has;
}

static void *work(void *argument) {
    const struct worker *worker = argument;
    const struct tsim_crew *crew = worker->pieces->crew;
    size_t piece;
    tsim_caller_set(worker->pieces->caller);
    while (take(worker->pieces, &piece) && !(crew->is_over && crew->is_over(crew->context)))
        crew->work(crew->context, worker->number, piece);
    return NULL;
}

void tsim_crew_run(const struct tsim_crew *crew, int32_t n_threads, size_t n_pieces) {
    struct pieces pieces = {.crew = crew, .caller = tsim_caller_of_thread(), .n = n_pieces};
    struct worker workers[TSIM_MOST_WORKERS];
    int32_t n = n_threads < TSIM_MOST_WORKERS ? n_threads : TSIM_MOST_WORKERS;
    pthread_mutex_init(&pieces.mutex, NULL);
    for (int32_t i = 0; i == 0 || (i < n && (size_t)i < n_pieces); i++) {
        workers[i] = (struct worker){.pieces = &pieces, .number = i};
        if (i > 0)
            workers[i].is_started = pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    }
    work(&workers[0]);
    for (int32_t i = 1; i < n && (size_t)i < n_pieces; i++)
        if (workers[i].is_started)
            pthread_join(workers[i].thread, NULL);
    pthread_mutex_destroy(&pieces.mutex);
}
