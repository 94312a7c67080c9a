/* crew.h - threads that share a list of pieces of work: each takes the next piece until there is none. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TSIM_MOST_WORKERS = 256 };

struct tsim_crew {
    /* Workers are counted from 0, which is the caller's thread. */
    void (*work)(void *context, int32_t worker, size_t piece);
    bool (*is_over)(void *context); /* asked before each piece; NULL: the work ends with the last piece */
    void *context;
};

/* Works on n_pieces with at most n_threads threads, of which the calling thread is one. If no other thread can be
 * started, the work only takes longer. */
void tsim_crew_run(const struct tsim_crew *crew, int32_t n_threads, size_t n_pieces);
