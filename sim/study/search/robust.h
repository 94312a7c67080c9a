/* robust.h - whether the order of two predictions survives an error of a tenth in any one of their inputs. Each
 * capacity and latency of the hardware of one side (sensitivity.h) is changed alone, and the other side stays as it is;
 * for the cost, so is each side's rent. An input of a part that both sides have (the same accelerator with the same
 * peak, the same node's links, fabric, software) is off for both or for neither, so both are changed. Time and rent per
 * token are compared. */
#pragma once

#include "results/prediction.h"
#include "study/curves/sensitivity.h"

enum { TSIM_BOTH_SIDES = 2 };

struct tsim_robust_row {
    int side;               /* 0: A, 1: B, or both: the changes are then those of B's time per token over A's */
    const char *name, *key; /* "HBM bandwidth", "memory_bandwidth" */
    /* The change of the side's time per token (for "rent": of its cost) with 0.9 and with 1.1 times the input. */
    double less_frac, more_frac;
    bool flips_time, flips_cost; /* either of the two turns the order round */
};

struct tsim_robust {
    struct tsim_robust_row *rows; /* those of both, of A and of B, each the strongest first; then the rents */
    int32_t n;
    double time_frac, cost_frac; /* B / A - 1 of time and rent per token; the cost is NAN if a rent is not known */
    bool time_survives, cost_survives;
    bool has_intervals, intervals_overlap; /* of the times per token, if both predictions have one */
    double rent_usd_per_s[2];              /* of one accelerator; 0: not known */
    double even_rent_usd_per_s;            /* B's rent at which both cost the same per token; NAN with cost_frac */
};

/* Runs both sides with each input changed; both have been simulated once. Rows are allocated from `arena`. It fails
 * only as tsim_train_run does. */
enum tsim_status tsim_robust_run(struct tsim_arena *arena, const struct tsim_prediction *a,
                                 const struct tsim_prediction *b, struct tsim_robust *robust, struct tsim_diags *diags);
