/* Texts that say what a candidate cluster of a search is called, and why it has no plan. */
#include "config/provenance.h"
#include "report/terminal/limit_text.h"
#include "report/terminal/plan_output.h"
#include "results/format.h"

#include <string.h>

/* Returns "256 x b200". */
static const char *accelerators_text(struct tsim_arena *arena, const struct tsim_plan_candidate *candidate) {
    char text[96];
    return tsim_arena_printf(arena, "%s x %s",
                             tsim_count_text(tsim_accelerators_of(NULL, candidate->job).value, text, sizeof text),
                             candidate->job->cluster.node->accelerator->name);
}

/* Accelerators that another candidate has as well. */
static bool is_ambiguous(const struct tsim_plan_space *space, const struct tsim_plan_candidate *candidate) {
    const struct tsim_scenario *job = candidate->job;
    for (size_t i = 0; i < space->n_candidates; i++) {
        const struct tsim_scenario *other = space->candidates[i].job;
        if (&space->candidates[i] != candidate &&
            tsim_accelerators_of(NULL, other).value == tsim_accelerators_of(NULL, job).value &&
            strcmp(other->cluster.node->accelerator->name, job->cluster.node->accelerator->name) == 0)
            return true;
    }
    return false;
}

const char *tsim_plan_cluster_name(struct tsim_arena *arena, const struct tsim_plan_space *space,
                                   const struct tsim_plan_candidate *candidate) {
    const char *name = accelerators_text(arena, candidate);
    bool is_same = is_ambiguous(space, candidate);
    for (size_t i = 0; i < candidate->n_settings && is_same; i++) {
        const char *path = candidate->settings[i]->path;
        if (strcmp(path, "cluster.node") != 0 && strcmp(path, "cluster.nodes") != 0)
            name = tsim_arena_printf(arena, "%s, %s", name, candidate->settings[i]->text);
    }
    return name;
}

/* ---- clusters without a plan ---- */

static const char *batch_text(struct tsim_arena *arena, const struct tsim_plan_gap *gap) {
    const struct tsim_scenario *job = gap->candidate->job;
    char batch[96], below[96], above[96], n[96];
    tsim_count_text((double)job->training.global_batch_size, batch, sizeof batch);
    tsim_count_text((double)gap->batch_below, below, sizeof below);
    tsim_count_text((double)gap->batch_above, above, sizeof above);
    tsim_count_text((double)job->n_accelerators, n, sizeof n);
    if (!gap->batch_below && !gap->batch_above)
        return tsim_arena_printf(arena,
                                 "no plan is valid, whatever the batch: no listed values of the plan's keys divide "
                                 "both the model and %s accelerators",
                                 n);
    return tsim_arena_printf(arena,
                             "no plan is valid: a global batch of %s cannot be divided over %s accelerators in any "
                             "plan; the nearest batch that can is %s%s%s",
                             batch, n, gap->batch_below ? below : above,
                             gap->batch_below && gap->batch_above ? " or " : "",
                             gap->batch_below && gap->batch_above ? above : "");
}

/* Tells what would have to be said for the figure to be known. */
static const char *unknown_text(struct tsim_arena *arena, const struct tsim_plan_gap *gap) {
    const struct tsim_scenario *job = gap->candidate->job;
    const char *name = tsim_outcome_spec(gap->figure)->name;
    bool is_rent = gap->figure == TSIM_OUTCOME_RENT || gap->figure == TSIM_OUTCOME_TRILLION_RENT;
    if (is_rent && !(job->cost.rent_usd_per_s > 0))
        return tsim_arena_printf(arena, "no plan has a %s: no rent of a %.40s is known (cost.rent)", name,
                                 job->cluster.node->accelerator->name);
    if (strncmp(name, "campaign.", 9) == 0 && job->training.length_kind == TSIM_LENGTH_NONE)
        return tsim_arena_printf(arena, "no plan has %s: the run has no length (training.tokens)", name);
    return tsim_arena_printf(arena, "no plan has a value of %s", name);
}

const char *tsim_plan_reason_text(struct tsim_arena *arena, const struct tsim_plan_gap *gap) {
    char lacks[96], has[96];
    if (gap->lack == TSIM_PLAN_LACKS_VALID)
        return batch_text(arena, gap);
    if (gap->lack == TSIM_PLAN_LACKS_MEMORY)
        return tsim_arena_printf(arena, "no plan fits in memory: the smallest needs %s on an accelerator of %s",
                                 tsim_gigabytes_text(gap->capacity_bytes + gap->excess_bytes, lacks, sizeof lacks),
                                 tsim_gigabytes_text(gap->capacity_bytes, has, sizeof has));
    if (gap->lack == TSIM_PLAN_LACKS_FIGURE)
        return unknown_text(arena, gap);
    if (gap->limit)
        return tsim_arena_printf(arena, "no plan is within the limits: %s",
                                 tsim_limit_text(arena, gap->limit, gap->nearest));
    return "no plan is within the limits: each of them is kept by some plan, all of them by none";
}

const char *tsim_plan_gap_text(struct tsim_arena *arena, const struct tsim_plan_output *output,
                               const struct tsim_plan_gap *gap) {
    const struct tsim_plan_space *space = output->search->space;
    const char *text = tsim_plan_reason_text(arena, gap);
    return space->n_candidates < 2
               ? text
               : tsim_arena_printf(arena, "%s: %s", tsim_plan_cluster_name(arena, space, gap->candidate), text);
}
