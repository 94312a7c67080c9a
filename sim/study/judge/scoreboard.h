/* scoreboard.h - how far off the predictions of many measured runs are, together and grouped by what they have in
 * common. */
#pragma once

#include "study/judge/validate.h"

enum tsim_score_by { TSIM_BY_SPEED, TSIM_BY_SOURCE, TSIM_BY_ACCELERATOR, TSIM_BY_MEMORY };

struct tsim_scored_group {
    enum tsim_score_by by;
    const char *name; /* of the source or accelerator; "all" for the others */
    struct tsim_score score;
};

struct tsim_scoreboard {
    const struct tsim_scored_group *groups; /* all speeds, sources and accelerators by name, all memories */
    size_t n_groups;
};

/* Scores the cases that ran and have a measured time or rate that is not doubtful. A case's error is that of its step
 * time, predicted / measured - 1, from the first of these: a minus is predicted too fast, whatever was measured. The
 * source is the first word of the scenario's name. Groups without a value are left out. The result is in `arena`. */
void tsim_scoreboard_of(struct tsim_arena *arena, const struct tsim_validation *validation,
                        struct tsim_scoreboard *board);

/* Returns "speed", "source", "accelerator" or "memory". */
const char *tsim_score_by_name(enum tsim_score_by by);
