/* deciding.h - private to decision.c and break_evens.c: a decision that is being made. */
#pragma once

#include "study/judge/decision.h"
#include "study/judge/uncertainty.h"

struct tsim_deciding {
    struct tsim_arena *arena;
    const struct tsim_decision_search *search;
    struct tsim_override *overrides; /* with the goal's length */
    size_t n_overrides;
    bool is_screened;                    /* the search plays passes, for which nobody has asked */
    bool heeds;                          /* an interrupt ends what completes the decision */
    const struct tsim_plan_space *space; /* that is being searched */
    tsim_plan_report_fn report;
    void *context;
    struct tsim_decision *decision;
    struct tsim_evidence evidence; /* once the search is over */
    struct tsim_diags *diags;
};

/* From now on an interrupt ends what completes the decision. */
void tsim_deciding_heed(void);
/* Returns a search for the fastest plan of each candidate. */
struct tsim_plan_search tsim_deciding_search(const struct tsim_deciding *d, const struct tsim_plan_space *space);
/* Replaces a bound in all its offers, in their places, by the best plan of its candidate. Offers of a candidate that
 * has none never end. */
enum tsim_status tsim_deciding_know(struct tsim_deciding *d, const struct tsim_plan *bound);
/* Returns the plan played with some detail, and with failures so many times as frequent; NULL if it cannot be. */
const struct tsim_plan *tsim_deciding_play(struct tsim_deciding *d, const struct tsim_plan *screened,
                                           enum tsim_detail detail, double failures);

/* Says what would change the choice, which is the first offer and meets the goal. */
enum tsim_status tsim_find_flips(struct tsim_deciding *d);
/* Says which limit fails, by how much, and what could be met. */
enum tsim_status tsim_find_misses(struct tsim_deciding *d);
