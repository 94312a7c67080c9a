#include "report/page/page_kernels.h"

#include "partition/partition.h"
#include "results/verdict.h"

#include <math.h>

/* The most stages and operators that are shown. Pictures of more would be no clearer, and larger than all others. */
enum { MOST_STAGES = 64, MOST_OPERATORS = 3000 };

struct kept {
    struct tsim_step_operator op;
    enum tsim_pass_kind pass;
    double begin_s, end_s, flops, sent_bytes;
};

struct tsim_page_stage {
    struct kept *items; /* heap */
    size_t n, capacity;
    int64_t layer; /* -2: none so far */
    int32_t n_layers;
};

void tsim_page_kernels_begin(struct tsim_page_kernels *k, struct tsim_arena *arena, const struct tsim_scenario *sc) {
    struct tsim_schedule_shape shape = tsim_scenario_schedule(sc);
    *k = (struct tsim_page_kernels){.arena = arena,
                                    .n_stages = shape.stages,
                                    .microbatch = tsim_schedule_chunk_microbatches(&shape) / 2,
                                    .stages = TSIM_NEW_ARRAY(arena, (size_t)shape.stages, struct tsim_page_stage)};
    for (int32_t s = 0; s < k->n_stages; s++)
        k->stages[s].layer = -2;
}

bool tsim_page_kernels_want(const struct tsim_page_kernels *k, int32_t stage_group) {
    return stage_group < k->n_stages && k->n_stages <= MOST_STAGES;
}

bool tsim_page_kernels_want_item(const struct tsim_page_kernels *k, const struct tsim_pass_item *item) {
    return item->microbatch == k->microbatch && item->chunk == 0;
}

static bool is_of_layer(const struct tsim_step_operator *op) {
    return op->part != TSIM_PART_EMBEDDING && op->part != TSIM_PART_HEAD;
}

void tsim_page_kernels_take(struct tsim_page_kernels *k, const struct tsim_step_task *task) {
    struct tsim_page_stage *stage = &k->stages[task->stage_group];
    const struct tsim_step_operator *op = task->op;
    if (stage->n == MOST_OPERATORS)
        return;
    if (is_of_layer(op) && op->layer != stage->layer && stage->n_layers < 2) {
        stage->layer = op->layer;
        stage->n_layers++;
    }
    stage->items = tsim_heap_grow(stage->items, &stage->capacity, stage->n + 1, sizeof *stage->items);
    stage->items[stage->n++] = (struct kept){.op = *op,
                                             .pass = task->item->kind,
                                             .begin_s = task->begin_s,
                                             .end_s = task->end_s,
                                             .flops = task->flops,
                                             .sent_bytes = fmax(task->scale_up_bytes, task->nic_bytes)};
}

void tsim_page_kernels_json(const struct tsim_page_kernels *k, int32_t stage, bool of_layer_alone,
                            struct tsim_json *run) {
    static const char *const PASSES[TSIM_N_PASS_KINDS] = {"forward", "backward", "input gradient", "weight gradient"},
                             *const AXES[TSIM_N_AXES] = {"tensor", "context", "expert", "exchange"};
    const struct tsim_page_stage *kept = &k->stages[stage];
    if (kept->n == 0)
        return;
    struct tsim_json *kernels = tsim_json_object(run, "kernels");
    tsim_json_integer(kernels, "stage", stage);
    tsim_json_integer(kernels, "microbatch", k->microbatch);
    tsim_json_integer(kernels, "layer", kept->layer);
    tsim_json_number(kernels, "begin_s", kept->items[0].begin_s);
    double end_s = 0;
    struct tsim_json *operators = tsim_json_array(kernels, "operators");
    for (size_t i = 0; i < kept->n; i++) {
        const struct kept *item = &kept->items[i];
        bool in_layer = is_of_layer(&item->op) && item->op.layer == kept->layer;
        if (item->pass == kept->items[0].pass)
            end_s = fmax(end_s, item->end_s);
        if (of_layer_alone && !in_layer)
            continue;
        struct tsim_json *row = tsim_json_object(operators, NULL);
        tsim_json_text(row, "operator", item->op.name);
        tsim_json_text(row, "phase", item->op.phase);
        tsim_json_text(row, "pass", PASSES[item->pass]);
        tsim_json_text(row, "stream", item->op.is_collective ? AXES[item->op.axis] : "compute");
        tsim_json_text(row, "bound", tsim_bound_name(item->op.bound));
        tsim_json_bool(row, "in_layer", in_layer);
        tsim_json_number(row, "begin_s", item->begin_s);
        tsim_json_number(row, "end_s", item->end_s);
        tsim_json_number(row, "flops", item->flops);
        tsim_json_number(row, "hbm_bytes", item->op.hbm_bytes);
        tsim_json_number(row, "sent_bytes", item->sent_bytes);
    }
    tsim_json_number(kernels, "end_s", end_s);
}

void tsim_page_kernels_release(struct tsim_page_kernels *k) {
    for (int32_t s = 0; s < k->n_stages; s++)
        tsim_heap_free(k->stages[s].items);
}
