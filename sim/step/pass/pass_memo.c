#include "model/operators.h"
#include "step/pass/pass.h"

#include <string.h>

/* The key holds everything of a plan that the operators of a pass and the groups of its collectives depend on. 64-bit
 * fields alone: no padding, so that keys are compared as bytes. */
struct key {
    int64_t tensor, context, expert, expert_tensor, expert_axes;
    int64_t strides[3], expert_size; /* of the tensor, context and expert axes */
    int64_t sequence, micro_batch_size, recompute, recompute_parts, recompute_every;
    int64_t splits_backward, overlap_expert, overlap_tensor, overlap_tensor_backward;
    int64_t reduces_at_once, accumulated_microbatches; /* how gradients are kept; 0: their number makes no difference */
};

struct entry {
    struct key key;
    struct tsim_pass_costs costs;
    struct entry *next;
};

enum { N_SLOTS = 128 };

struct tsim_pass_memo {
    struct tsim_arena *arena;
    struct entry *slots[N_SLOTS];
};

struct tsim_pass_memo *tsim_pass_memo_new(struct tsim_arena *arena) {
    struct tsim_pass_memo *memo = TSIM_NEW(arena, struct tsim_pass_memo);
    memo->arena = arena;
    return memo;
}

static struct key key_of(const struct tsim_scenario *sc, const struct tsim_placement *placement) {
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    double accumulated_frac = tsim_separate_accumulation_frac(sc);
    return (struct key){.tensor = p->tensor,
                        .context = p->context,
                        .expert = p->expert,
                        .expert_tensor = p->expert_tensor,
                        .expert_axes = placement->expert_axes,
                        .strides = {placement->stride[TSIM_AXIS_TENSOR], placement->stride[TSIM_AXIS_CONTEXT],
                                    placement->stride[TSIM_AXIS_EXPERT]},
                        .expert_size = placement->size[TSIM_AXIS_EXPERT],
                        .sequence = p->sequence,
                        .micro_batch_size = sc->training.micro_batch_size,
                        .recompute = sc->training.recompute,
                        .recompute_parts = sc->training.recompute_parts,
                        .recompute_every = sc->training.recompute_every,
                        .splits_backward = tsim_schedule_splits_backward(p->schedule),
                        .overlap_expert = p->overlap.expert,
                        .overlap_tensor = p->overlap.tensor,
                        .overlap_tensor_backward = p->overlap.tensor_backward,
                        .reduces_at_once = tsim_reduces_each_microbatch(sc),
                        .accumulated_microbatches =
                            accumulated_frac > 0 && accumulated_frac < 1 ? sc->n_microbatches : 0};
}

/* Returns FNV-1a over the key's fields. */
static size_t slot_of(const struct key *key) {
    const unsigned char *bytes = (const unsigned char *)key;
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < sizeof *key; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    return (size_t)(hash % N_SLOTS);
}

const struct tsim_pass_costs *tsim_pass_memo_find(struct tsim_pass_memo *memo, const struct tsim_scenario *scenario,
                                                  const struct tsim_cluster *cluster,
                                                  const struct tsim_placement *placement) {
    struct key key = key_of(scenario, placement);
    struct entry **slot = &memo->slots[slot_of(&key)];
    for (struct entry *entry = *slot; entry; entry = entry->next)
        if (memcmp(&entry->key, &key, sizeof key) == 0)
            return &entry->costs;
    struct entry *entry = TSIM_NEW(memo->arena, struct entry);
    entry->key = key;
    tsim_pass_costs_build(memo->arena, scenario, cluster, placement, &entry->costs);
    entry->next = *slot;
    *slot = entry;
    return &entry->costs;
}

const struct tsim_pass_costs *tsim_pass_costs_of(struct tsim_arena *arena, struct tsim_pass_memo *memo,
                                                 const struct tsim_scenario *scenario,
                                                 const struct tsim_cluster *cluster,
                                                 const struct tsim_placement *placement) {
    if (memo)
        return tsim_pass_memo_find(memo, scenario, cluster, placement);
    struct tsim_pass_costs *costs = TSIM_NEW(arena, struct tsim_pass_costs);
    tsim_pass_costs_build(arena, scenario, cluster, placement, costs);
    return costs;
}
