/* crew.h - threads that share a list of pieces of work: each takes the next one until there is none. */
#ifndef TSIM_STUDY_CREW_H
#define TSIM_STUDY_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TSIM_MOST_WORKERS = 256 };

struct tsim_crew {
    void (*work)(void *context, int32_t worker, size_t piece); /* worker: from 0, which is the caller's thread */
    bool (*is_over)(void *context);                            /* asked before each piece; NULL: never */
    void *context;
};

/* Works on n_pieces with at most n_threads. The calling thread works too: where no other one can be started, all only
 * takes longer. */
void tsim_crew_run(const struct tsim_crew *crew, int32_t n_threads, size_t n_pieces);

#endif
