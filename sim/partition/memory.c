#include "partition/memory.h"

#include "config/provenance.h"
#include "model/adapter.h"
#include "model/compression.h"
#include "model/kept.h"
#include "model/local_shape.h"
#include "model/model.h"
#include "model/optimizer.h"
#include "model/tables.h"
#include "partition/schedule_zero_bubble.h"

#include <math.h>

enum { FEW_CHUNKS = 128 };

/* ---- activations ---- */

/* Returns the layers whose activations exist whole while they are recomputed in the backward pass. */
static double working_layers(const struct tsim_scenario *sc) {
    switch (sc->training.recompute) {
    case TSIM_RECOMPUTE_NONE:
    case TSIM_RECOMPUTE_SELECTIVE:
        return 0;
    case TSIM_RECOMPUTE_FULL:
        return 1;
    case TSIM_RECOMPUTE_SQRT:
    case TSIM_RECOMPUTE_EVERY:
        return (double)sc->training.recompute_every;
    case TSIM_RECOMPUTE_LAYERS:
        return 1;
    }
    TSIM_BUG("recompute %d", (int)sc->training.recompute);
}

static struct tsim_amount tensor(struct tsim_term_recorder *r, const char *name, double bytes) {
    return tsim_given(r, name, bytes, TSIM_BYTES,
                      "shape of the tensor, from model, micro-batch and plan (sim/partition/memory.h)");
}

static struct tsim_amount kept_by_layer(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                        enum tsim_part part) {
    struct tsim_kept kept;
    struct tsim_part_list tensors = {.recorder = r};
    tsim_layer_activations(sc, part, &kept);
    for (int32_t i = 0; i < kept.n; i++)
        tsim_part_add(&tensors, tensor(r, kept.rows[i].name, kept.rows[i].bytes));
    return tsim_sum_of(&tensors, tsim_record_text(r, TSIM_KEPT_BY_ONE "%s", tsim_layer_kind(part)->word),
                       part == TSIM_PART_BLOCK ? "mean of the list's blocks"
                                               : "Korthikanti et al. 2022, equations 1 to 6",
                       TSIM_BYTES);
}

static struct tsim_amount kept_by_layers(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                         enum tsim_part part, double n) {
    return tsim_product(r, tsim_record_text(r, "%ss", tsim_layer_kind(part)->word), "layers x bytes of each",
                        TSIM_BYTES,
                        TSIM_PARTS(tsim_given(r, "layers", n, TSIM_COUNT, TSIM_OF_LAYERS), kept_by_layer(r, sc, part)));
}

/* Adds what n of a chunk's layers of one kind keep. With {layers: N} its first N layers keep their inputs alone, and
 * n_whole others all. */
static void add_layers(struct tsim_part_list *kept, const struct tsim_scenario *sc, enum tsim_part part, double n,
                       double n_whole) {
    struct tsim_scenario whole = *sc;
    if (n > n_whole)
        tsim_part_add(kept, kept_by_layers(kept->recorder, sc, part, n - n_whole));
    whole.training.recompute = TSIM_RECOMPUTE_NONE;
    if (n_whole > 0)
        tsim_part_add(kept, kept_by_layers(kept->recorder, &whole, part, n_whole));
}

/* Returns the tokens of all stacks that this rank's norms and residuals see. */
static double tokens_of_stacks(const struct tsim_op_shape *stacks, int n) {
    double tokens = 0;
    for (int i = 0; i < n; i++)
        tokens += stacks[i].ts;
    return tokens;
}

/* Returns the elements of a hidden state that a module for a further token keeps: the embedding, what is joined, and the
 * result. */
static double further_width(const struct tsim_model *m) {
    return 4 * (double)m->hidden;
}

/* Returns the activations of one micro-batch in one chunk, without the head's logits, which are a buffer of one
 * micro-batch at a time. */
static struct tsim_amount chunk_activations(struct tsim_term_recorder *r, const struct tsim_scenario *sc, int32_t stage,
                                            int32_t chunk) {
    struct tsim_op_shape stacks[TSIM_MAX_STACKS];
    int n_stacks = tsim_op_stacks(sc, stacks);
    const struct tsim_op_shape *first = &stacks[0], *k = &stacks[n_stacks - 1];
    double tokens = tokens_of_stacks(stacks, n_stacks);
    struct tsim_parts there = tsim_chunk_parts(sc, stage, chunk);
    struct tsim_stage_part of_stage;
    const struct tsim_scenario *own = tsim_stage_part(sc, stage, &of_stage);
    struct tsim_part_list kept = {.recorder = r};
    struct tsim_parts whole = tsim_kept_layers(sc, &there, tsim_chunk_first_layer(sc, stage, chunk));
    for (int part = 0; part < TSIM_N_PARTS; part++)
        if (there.times[part] > 0 && !tsim_layer_kind((enum tsim_part)part)->is_end)
            add_layers(&kept, own, (enum tsim_part)part, there.times[part], whole.times[part]);
    if (there.times[TSIM_PART_EMBEDDING] > 0)
        tsim_part_add(&kept, tensor(r, "embedding: mask of dropout", tokens * k->h * k->mask_bytes));
    if (there.times[TSIM_PART_DECODER_LAYER] > 0)
        tsim_part_add(&kept, tensor(r, "encoder's result, for keys and values of every decoder layer",
                                    first->ts * k->h * k->linear_bytes));
    if (there.times[TSIM_PART_HEAD] > 0)
        tsim_part_add(&kept,
                      tensor(r, "input of the encoder's final norm", (tokens - k->ts) * k->h * k->element_bytes));
    if (there.times[TSIM_PART_HEAD] > 0 && sc->model->mtp_modules > 0)
        tsim_part_add(&kept, tensor(r, "modules of further tokens",
                                    (double)sc->model->mtp_modules * k->element_bytes *
                                        (k->ts * further_width(sc->model) + fmin(k->ts, tsim_head_tokens(sc)) * k->h)));
    if (there.times[TSIM_PART_HEAD] > 0)
        tsim_part_add(&kept, tensor(r, "inputs of the final norm and of the head",
                                    (k->ts + fmin(k->ts, tsim_head_tokens(sc))) * k->h * k->element_bytes));
    else if (tsim_model_has_ends(sc->model) && sc->software->keeps_outputs && sc->parallelism.pipeline > 1)
        tsim_part_add(&kept, tensor(r, "what was sent on", tokens * k->h * k->element_bytes));
    return tsim_sum_of(&kept, "kept of a micro-batch by a chunk", "its layers, and the ends of the model", TSIM_BYTES);
}

double tsim_chunk_activation_bytes(const struct tsim_scenario *sc, int32_t stage, int32_t chunk) {
    return chunk_activations(NULL, sc, stage, chunk).value;
}

/* The head's product waits, too: its input and the logits' gradient. */
double tsim_chunk_weight_gradient_bytes(const struct tsim_scenario *sc, int32_t stage, int32_t chunk) {
    struct tsim_op_shape k = tsim_op_shape_last(sc);
    double bytes = tsim_chunk_sum(sc, stage, chunk, tsim_layer_weight_gradient_bytes),
           further = (double)sc->model->mtp_modules;
    if (tsim_chunk_has_head(sc, stage, chunk))
        bytes += k.element_bytes * ((1 + further) * (k.ts * k.h + tsim_head_tokens(sc) * tsim_head_columns(sc)) +
                                    further * 3 * k.ts * k.h);
    return bytes;
}

static const char *name_of_activations(const struct tsim_scenario *sc) {
    return sc->training.offload.activations_frac > 0 ? "activations, wherever they are" : "memory.activations_bytes";
}

/* Returns what a chunk's passes hold when the stage holds most. */
static struct tsim_amount held_of_chunk(struct tsim_term_recorder *r, const struct tsim_schedule_shape *shape,
                                        int32_t chunk, int32_t n, struct tsim_amount kept) {
    return tsim_product(
        r, tsim_record_text(r, "of chunk %d", chunk), "passes held x bytes kept by one", TSIM_BYTES,
        TSIM_PARTS(tsim_given(r, "passes held when the stage holds most", n, TSIM_COUNT,
                              tsim_record_text(r, "schedule %s, pass by pass (sim/partition/schedule.h)",
                                               tsim_schedule_name(shape->schedule))),
                   kept));
}

static struct tsim_amount split_peak_activations(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                                 int32_t stage) {
    struct tsim_schedule_shape shape = tsim_scenario_schedule(sc);
    struct tsim_schedule_program program;
    struct tsim_schedule_held n;
    struct tsim_amount chunks[2] = {{0}};
    struct tsim_part_list held = {.recorder = r};
    double whole[2] = {0}, kept[2] = {0};
    for (int32_t c = 0; c < shape.chunks; c++) {
        chunks[c] = chunk_activations(r, sc, stage, c);
        whole[c] = chunks[c].value;
        kept[c] = tsim_chunk_weight_gradient_bytes(sc, stage, c);
    }
    tsim_schedule_program_build(&shape, stage, &program);
    double peak_bytes = tsim_schedule_program_peak(&program, whole, kept, &n);
    for (int32_t c = 0; c < shape.chunks && r; c++) {
        tsim_part_add(&held, held_of_chunk(r, &shape, c, n.whole[c], chunks[c]));
        tsim_part_add(&held, held_of_chunk(r, &shape, c, n.kept[c], tensor(r, "kept for weight gradients", kept[c])));
    }
    return r ? tsim_sum_of(&held, name_of_activations(sc), "sum over all chunks", TSIM_BYTES)
             : (struct tsim_amount){.value = peak_bytes};
}

static struct tsim_amount unequal_peak(struct tsim_term_recorder *r, const struct tsim_scenario *sc, int32_t stage,
                                       const double *held) {
    struct tsim_schedule_shape shape = tsim_scenario_schedule(sc);
    int32_t *counts = TSIM_NEW_ARRAY(r->arena, (size_t)shape.chunks, int32_t);
    struct tsim_part_list all = {.recorder = r};
    tsim_schedule_peak(&shape, stage, held, counts);
    for (int32_t c = 0; c < shape.chunks; c++)
        tsim_part_add(&all, held_of_chunk(r, &shape, c, counts[c], chunk_activations(r, sc, stage, c)));
    return tsim_sum_of(&all, name_of_activations(sc), "sum over all chunks", TSIM_BYTES);
}

/* Returns the stage's peak: by the closed form if chunks are equal, else by replaying the schedule. */
static struct tsim_amount peak_activations(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                           int32_t stage) {
    struct tsim_schedule_shape shape = tsim_scenario_schedule(sc);
    if (tsim_schedule_splits_backward(shape.schedule))
        return split_peak_activations(r, sc, stage);
    double few[FEW_CHUNKS],
        *many = shape.chunks > FEW_CHUNKS ? tsim_heap_alloc((size_t)shape.chunks * sizeof *many) : NULL;
    double *held = many ? many : few;
    struct tsim_amount chunk = {0}, peak;
    bool equal = true;
    for (int32_t c = 0; c < shape.chunks; c++) {
        chunk = tsim_chunk_is_like_last(sc, stage, c) ? chunk : chunk_activations(r, sc, stage, c);
        held[c] = chunk.value;
        equal = equal && held[c] == held[0];
    }
    if (equal)
        peak = tsim_product(r, name_of_activations(sc), "passes in flight x bytes kept by one", TSIM_BYTES,
                            TSIM_PARTS(tsim_given(r, tsim_record_text(r, "passes in flight on stage %d", stage),
                                                  tsim_schedule_peak_in_flight(&shape, stage), TSIM_COUNT,
                                                  tsim_record_text(r, "schedule %s (sim/partition/schedule.h)",
                                                                   tsim_schedule_name(shape.schedule))),
                                       chunk));
    else if (!r)
        peak = (struct tsim_amount){.value = tsim_schedule_peak(&shape, stage, held, NULL)};
    else
        peak = unequal_peak(r, sc, stage, held);
    tsim_heap_free(many);
    return peak;
}

/* ---- buffers ---- */

/* Returns the bytes that selective recomputation brings back of one layer. */
static double recomputed_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    return tsim_layer_whole_activation_bytes(sc, part) - tsim_layer_activation_bytes(sc, part);
}

/* Returns the bytes of others' keys and values while a layer attends, and of its own that are sent: a piece of each in
 * a ring, all of them gathered, or its own tokens for all heads and all tokens for its own heads. */
static double context_bytes(const struct tsim_scenario *sc, const struct tsim_op_shape *k) {
    double own = k->t * (k->key + k->value) * k->element_bytes;
    if (sc->parallelism.context == 1)
        return 0;
    switch (sc->parallelism.context_exchange) {
    case TSIM_CONTEXT_RING:
        return 2 * own;
    case TSIM_CONTEXT_ALL_GATHER:
        return (double)sc->parallelism.context * own;
    case TSIM_CONTEXT_ALL_TO_ALL:
        return own + k->t * k->query * k->element_bytes;
    }
    return 0;
}

static double largest_layer_parameters(const struct tsim_scenario *sc, int32_t stage) {
    return tsim_largest_layer(sc, stage, tsim_layer_rank_parameters);
}

/* Returns the most that is held at once going forward if products are gathered one by one, and the largest product. */
static double held_products(const struct tsim_scenario *sc, double *largest_product) {
    double of[TSIM_N_LAYER_PRODUCTS], most = 0;
    tsim_layer_product_parameters(sc, of);
    for (int i = 0; i < TSIM_N_LAYER_PRODUCTS; i++) {
        int32_t places = tsim_layer_product_places(sc, (enum tsim_layer_product)i, false);
        double held = places / TSIM_N_LAYER_PRODUCTS * (of[0] + of[1] + of[2] + of[3]);
        for (int32_t k = 0; k < places % TSIM_N_LAYER_PRODUCTS; k++)
            held += of[(i - k + TSIM_N_LAYER_PRODUCTS) % TSIM_N_LAYER_PRODUCTS];
        most = fmax(most, held);
        *largest_product = fmax(*largest_product, of[i]);
    }
    return most;
}

/* Returns what ZeRO-3 holds whole: the unit (layer or product) in use and those gathered ahead, or all if they stay;
 * and the gradients of one unit. */
static double gathered_bytes(const struct tsim_scenario *sc, int32_t stage) {
    bool of_products = tsim_gathers_products(sc);
    double unit = of_products ? 0 : largest_layer_parameters(sc, stage), whole = tsim_stage_parameters(sc, stage);
    double held = of_products ? held_products(sc, &unit) : tsim_unit_places(sc) * unit;
    double reduced = tsim_is_frozen(sc) ? tsim_largest_layer(sc, stage, tsim_layer_adapter_parameters) : unit;
    return (sc->parallelism.reshard_after_forward ? fmin(held, whole) : whole) * tsim_base_weight_bytes(sc) +
           reduced * tsim_gradient_bytes(sc);
}

/* Returns, for gathers by product, by how much less than that is held while attention's scores have their gradients.
 * Then the weight of attention's output is in use, and those after it in the backward pass come ahead. */
static double gathered_less_at_attention(const struct tsim_scenario *sc, int32_t stage) {
    double of[TSIM_N_LAYER_PRODUCTS];
    if (!tsim_gathers_products(sc) || !sc->parallelism.reshard_after_forward)
        return 0;
    tsim_layer_product_parameters(sc, of);
    double held = of[TSIM_PRODUCT_OUT];
    for (int32_t k = 1; k < TSIM_MOST_PLACES; k++) {
        enum tsim_layer_product next =
            (enum tsim_layer_product)((TSIM_PRODUCT_OUT + TSIM_MOST_PLACES - k) % TSIM_N_LAYER_PRODUCTS);
        held += k < tsim_layer_product_places(sc, next, true) ? of[next] : 0;
    }
    double bytes = held * tsim_weight_bytes(sc->training.precision) + of[TSIM_PRODUCT_OUT] * tsim_gradient_bytes(sc);
    return fmax(gathered_bytes(sc, stage) - bytes, 0);
}

/* Returns what ZeRO-2 holds before it is reduced: whole gradients of the layer that is worked on, and, beside the
 * passes, of the one that is being reduced (step/groups/stage_group.c, await_bucket). DeepSpeed's buckets are counted
 * with the flat tensors. */
static double unreduced_bytes(const struct tsim_scenario *sc, int32_t stage) {
    if (sc->parallelism.zero != 2 || !tsim_reduces_each_microbatch(sc) ||
        sc->parallelism.data * sc->parallelism.context == 1 || sc->software->flat_bucket_elements > 0)
        return 0;
    bool is_frozen = tsim_is_frozen(sc);
    double one = is_frozen ? tsim_largest_layer(sc, stage, tsim_layer_adapter_parameters)
                           : largest_layer_parameters(sc, stage),
           all = is_frozen ? tsim_trained_parameters(NULL, sc, stage).all.value : tsim_stage_parameters(sc, stage);
    return fmin((sc->parallelism.overlap.gradients ? 2 : 1) * one, all) * tsim_gradient_bytes(sc);
}

/* Adds the buffers of a layer list: the widest tensor's gradient and what it becomes, what neighbours send, and
 * ZeRO-3's gathered weights. */
static void add_listed_buffers(const struct tsim_scenario *sc, int32_t stage, struct tsim_part_list *buffers) {
    struct tsim_term_recorder *r = buffers->recorder;
    int32_t last = (int32_t)sc->parallelism.pipeline - 1;
    double received = (stage > 0 ? tsim_message_bytes(sc, stage - 1, stage) : 0) +
                      (stage < last ? tsim_message_bytes(sc, stage + 1, stage) : 0);
    tsim_part_add(buffers, tensor(r, "the widest gradient and what it becomes",
                                  2 * tsim_largest_layer(sc, stage, tsim_layer_widest_bytes)));
    tsim_part_add(buffers, tensor(r, "messages from other stages", received));
    tsim_part_add(buffers, tensor(r, "vectors of the tables and their gradients", tsim_tables_buffer_bytes(sc)));
    if (sc->parallelism.zero == 3)
        tsim_part_add(buffers,
                      tensor(r, "gathered parameters, and the gradients of a unit", gathered_bytes(sc, stage)));
}

/* Returns the part of its tokens that the head takes at once. */
static double piece_frac(const struct tsim_scenario *sc) {
    double tokens = (double)sc->software->head_tokens;
    return tokens > 0 ? fmin(tokens / tsim_last_length(sc), 1) : 1;
}

/* Returns the bytes for each logit while the loss is computed: the logit and what the loss makes of it. One kernel
 * writes the gradient in the logit's precision, Transformer Engine's over the logit (since 2.0:
 * pytorch/triton/cross_entropy.py). Before that it and Megatron convert to fp32 and work in place. PyTorch's
 * written-out loss keeps log-softmax and has its gradient and that of the chosen logits beside it, all fp32. If it is
 * that of a shifted copy, the fp32 logits are also held as a result, and in place of the logits. */
static double logit_bytes(const struct tsim_scenario *sc, const struct tsim_op_shape *k) {
    const struct tsim_software *software = sc->software;
    switch (software->cross_entropy) {
    case TSIM_LOSS_SHIFTED:
        return 16;
    case TSIM_LOSS_FUSED:
        return (software->fusion == TSIM_FUSION_TE ? 1 : 2) * k->element_bytes;
    case TSIM_LOSS_FUSED_FP32: /* with the copy, which its gradient takes over, and one more on which a metric works */
        return k->element_bytes + 4 + (software->loss_metrics > 0 ? 4 : 0);
    case TSIM_LOSS_BY_FUSION:
    case TSIM_LOSS_WRITTEN_OUT:
        break;
    }
    /* In pieces there are all logits and log-softmaxes, in 16 bits, and two gradients of a piece. */
    if (software->head_tokens > 0 && !software->recomputes_logits)
        return k->element_bytes * (2 + 2 * piece_frac(sc));
    return k->element_bytes + (software->fusion == TSIM_FUSION_TE || software->fusion == TSIM_FUSION_MEGATRON ? 4 : 12);
}

/* Returns the logits that there are at once. Those of further tokens wait for the backward pass beside the others. */
static double logits(const struct tsim_scenario *sc) {
    return (double)(1 + sc->model->mtp_modules) * tsim_head_tokens(sc) * tsim_head_columns(sc) *
           (sc->software->recomputes_logits ? piece_frac(sc) : 1);
}

/* Returns the elements of the largest weight of a layer that is restored at once. */
static double largest_product(const struct tsim_scenario *sc) {
    double of[TSIM_N_LAYER_PRODUCTS], largest = 0;
    tsim_layer_product_parameters(sc, of);
    of[TSIM_PRODUCT_UP] /= tsim_model_up_products(sc->model);
    for (int i = 0; i < TSIM_N_LAYER_PRODUCTS; i++)
        largest = fmax(largest, of[i]);
    return largest;
}

/* Returns what the graph of the micro-batch before holds until this one's loss. */
static double left_inputs(const struct tsim_scenario *sc, int32_t stage) {
    double bytes = 0;
    for (int32_t c = 0; c < tsim_scenario_schedule(sc).chunks; c++)
        bytes += tsim_chunk_sum(sc, stage, c, tsim_left_inputs_bytes);
    return bytes;
}

/* Returns the gradients of activations while a layer is worked on: the widest one, and the residual stream's; of two
 * stacks the longer one decides. */
static struct tsim_amount working_gradients(struct tsim_term_recorder *r, const struct tsim_scenario *sc, int32_t stage,
                                            const struct tsim_op_shape *k, const struct tsim_op_shape *first) {
    double widest = tsim_largest_layer(sc, stage, tsim_layer_widest_bytes);
    double core = tsim_largest_layer(sc, stage, tsim_layer_core_bytes);
    /* Recomputed activations meet their own gradient, not the block's. */
    if (tsim_recompute_parts(sc) == TSIM_RECOMPUTE_ATTENTION)
        core *= 2;
    struct tsim_amount inner =
        tsim_largest(r, "of the inner tensor or of attention's core", "the larger of the two", TSIM_BYTES,
                     TSIM_PARTS(tensor(r, "inner tensor of the widest block", widest),
                                tensor(r, "attention's core, less the parameters that are not gathered then",
                                       core - gathered_less_at_attention(sc, stage))));
    return tsim_sum(
        r, "gradients of activations", "inner tensor + residual stream", TSIM_BYTES,
        TSIM_PARTS(inner, tensor(r, "of the residual stream", 2 * fmax(k->t, first->t) * k->h * k->element_bytes)));
}

/* Returns the bytes of what is worked on. The loss has ended before the backward pass of the layers. */
static struct tsim_amount working_bytes(struct tsim_term_recorder *r, const struct tsim_scenario *sc, int32_t stage,
                                        const struct tsim_op_shape *k, const struct tsim_op_shape *first) {
    struct tsim_part_list layer = {.recorder = r};
    if (working_layers(sc) > 0)
        tsim_part_add(&layer,
                      tensor(r, "activations of layers that are executed again, whole",
                             working_layers(sc) * tsim_largest_layer(sc, stage, tsim_layer_whole_activation_bytes)));
    if (tsim_recompute_parts(sc) & ~(unsigned)TSIM_RECOMPUTE_ATTENTION)
        tsim_part_add(&layer, tensor(r, "recomputed part of a layer", tsim_largest_layer(sc, stage, recomputed_bytes)));
    tsim_part_add(&layer, working_gradients(r, sc, stage, k, first));
    if (tsim_base_is_quantized(sc))
        tsim_part_add(&layer, tensor(r, "a restored weight", tsim_restored_bytes(sc, largest_product(sc))));
    if (sc->parallelism.expert > 1)
        tsim_part_add(
            &layer, tensor(r, "rows of experts, sent and received", 2 * tsim_expert_rows(k) * k->h * k->element_bytes));
    struct tsim_amount of_layer = tsim_sum_of(&layer, "while a layer is worked on", "the sum of", TSIM_BYTES);
    if (!tsim_stage_has_head(sc, stage))
        return of_layer;
    struct tsim_part_list loss = {.recorder = r};
    tsim_part_add(&loss, tensor(r, "logits, and the loss's copies of them", logits(sc) * logit_bytes(sc, k)));
    if (tsim_base_is_quantized(sc)) {
        double head = sc->software->quantizes_head ? tsim_head_columns(sc) * k->h : 0;
        tsim_part_add(&loss, tensor(r, "the head's restored weight", tsim_restored_bytes(sc, head)));
        tsim_part_add(&loss,
                      tensor(r, "inputs of products, in the graph of the micro-batch before", left_inputs(sc, stage)));
    }
    return tsim_largest(
        r, "while a layer or the loss is worked on", "the larger of the two", TSIM_BYTES,
        TSIM_PARTS(of_layer, tsim_sum_of(&loss, "while the loss is worked on", "the sum of", TSIM_BYTES)));
}

static void add_buffers(const struct tsim_scenario *sc, int32_t stage, struct tsim_part_list *buffers) {
    struct tsim_term_recorder *r = buffers->recorder;
    if (!tsim_model_has_ends(sc->model)) {
        add_listed_buffers(sc, stage, buffers);
        return;
    }
    struct tsim_op_shape stacks[TSIM_MAX_STACKS];
    int n = tsim_op_stacks(sc, stacks);
    const struct tsim_op_shape *k = &stacks[n - 1];
    tsim_part_add(buffers, working_bytes(r, sc, stage, k, &stacks[0]));
    if (sc->parallelism.pipeline > 1)
        tsim_part_add(buffers, tensor(r, "messages from other stages",
                                      2 * tokens_of_stacks(stacks, n) * k->h * k->element_bytes));
    if (sc->parallelism.zero == 3)
        tsim_part_add(buffers,
                      tensor(r, "gathered parameters, and the gradients of a unit", gathered_bytes(sc, stage)));
    tsim_part_add(buffers, tensor(r, "gradients that are not reduced yet", unreduced_bytes(sc, stage)));
    tsim_part_add(buffers, tensor(r, "keys and values of other context ranks", context_bytes(sc, k)));
}

/* Returns the bytes of flat tensors. Frameworks that update from flat tensors (DeepSpeed,
 * runtime/zero/stage_1_and_2.py, runtime/fp16/fused_optimizer.py) hold a bucket into which gradients are copied to be
 * reduced, and, with sharded states, another in which weights are gathered. For the update they hold the gradients of
 * what they update joined, in their own precision and converted to fp32. These are pieces too large for what
 * activations leave to the allocator, so they come on top. The bucket of sharded states is allocated whole however
 * small the model is (stage_1_and_2.py: ipg_buffer), and the others are as large as what they hold (engine.py:
 * allreduce_no_retain; runtime/utils.py: all_gather_dp_groups), so ZeRO-1 may take more than none. fp32 sums are one
 * flat tensor, which is no smaller than a bucket and is converted whole (bf16_optimizer.py: get_grads_for_reduction;
 * engine.py: allreduce_bucket). */
static double flat_bytes(const struct tsim_scenario *sc, double n, double updated) {
    double bucket = sc->software->flat_bucket_elements, gradient_bytes = tsim_gradient_bytes(sc);
    if (!(bucket > 0) || sc->parallelism.zero == 3 || sc->training.updates_by_layer || sc->training.offload.optimizer)
        return 0;
    double joined = tsim_has_master_weights(sc) && gradient_bytes < 4 ? gradient_bytes + 4 : 0;
    bool is_converted = tsim_sent_gradient_bytes(sc) < gradient_bytes;
    double buckets = (is_converted ? n : fmin(bucket, n)) + (sc->parallelism.zero >= 1 ? bucket : 0);
    return updated * joined + buckets * tsim_weight_bytes(sc->training.precision);
}

/* Returns the bytes of an update. One whose operators run one after another (torch.optim.AdamW without `fused`) has the
 * gradients in fp32 and, at its most, the square root of the second moment and the quotient. With ZeRO-1 and -2 the
 * gradients of what a rank updates are joined before, in their own precision (InternEvo,
 * solver/optimizer/hybrid_zero_optim.py). The update begins when activations have gone, and takes their memory. */
static double update_bytes(const struct tsim_scenario *sc, double updated, double activations_bytes) {
    bool is_joined = sc->parallelism.zero > 0 && sc->parallelism.zero < 3;
    double each = sc->software->update_bytes + (is_joined ? tsim_gradient_bytes(sc) : 0);
    if (!(sc->software->update_bytes > 0) || sc->training.updates_by_layer || sc->training.offload.optimizer)
        return 0;
    return fmax(updated * each - activations_bytes, 0);
}

/* Returns the batches of the input pipeline on the device: the one in use, and one that has been copied ahead. */
static double batch_bytes(const struct tsim_scenario *sc, int32_t stage) {
    if (!sc->data.has || !tsim_stage_has_embedding(sc, stage))
        return 0;
    return (sc->data.prefetch > 0 ? 2 : 1) * (double)sc->training.micro_batch_size * sc->data.transfer_bytes;
}

/* Returns the parameters of one unit, whose gradients exist at a time: a layer, or what a stage holds beside its
 * layers. */
static double largest_unit_parameters(const struct tsim_scenario *sc, int32_t stage) {
    if (tsim_is_frozen(sc))
        return tsim_largest_layer(sc, stage, tsim_layer_adapter_parameters);
    double layer = largest_layer_parameters(sc, stage), rest = tsim_stage_parameters(sc, stage);
    for (int32_t c = 0; c < tsim_scenario_schedule(sc).chunks; c++)
        rest -= tsim_chunk_sum(sc, stage, c, tsim_layer_rank_parameters);
    bool has_two_tables =
        !sc->model->tied_embeddings && tsim_model_has_ends(sc->model); /* embedding and head come one after another */
    return fmax(layer, has_two_tables ? rest / 2 : rest);
}

double tsim_chunk_offloaded_bytes(const struct tsim_scenario *sc, int32_t stage, int32_t chunk) {
    double frac = sc->training.offload.activations_frac;
    return frac > 0 ? frac * chunk_activations(NULL, sc, stage, chunk).value : 0;
}

/* Returns the bytes on the host for each parameter that a rank updates: state, master copy and gradient. */
static double host_state_bytes(const struct tsim_scenario *sc) {
    return tsim_optimizer_state_bytes(sc) + (tsim_has_master_weights(sc) ? 4 : 0) + tsim_gradient_bytes(sc);
}

/* ---- all kinds ---- */

static struct tsim_amount state(struct tsim_term_recorder *r, const char *name, struct tsim_amount held, double bytes,
                                const char *source, double tables_bytes) {
    struct tsim_amount each = tsim_given(r, "bytes of each", bytes, TSIM_BYTES, source);
    struct tsim_amount kept = tsim_product(r, tables_bytes > 0 ? "of all but the tables" : name,
                                           "parameters x bytes of each", TSIM_BYTES, TSIM_PARTS(held, each));
    if (!(tables_bytes > 0))
        return kept;
    return tsim_sum(r, name, "embedding tables are cut in their own way", TSIM_BYTES,
                    TSIM_PARTS(kept, tsim_given(r, "of the tables", tables_bytes, TSIM_BYTES,
                                                "the fullest rank (sim/model/tables.h)")));
}

static struct tsim_amount absent(struct tsim_term_recorder *r, const char *name, const char *why) {
    return tsim_given(r, name, 0, TSIM_BYTES, why);
}

static double kept_gradient_bytes(const struct tsim_scenario *sc) {
    double own = tsim_weight_bytes(sc->training.precision), summed = tsim_gradient_bytes(sc);
    return summed + (sc->software->keeps_gradients && summed > own ? own : 0);
}

static struct tsim_amount largest_unit(struct tsim_term_recorder *r, const struct tsim_scenario *sc, int32_t stage) {
    return tsim_given(r, "parameters of the largest layer", largest_unit_parameters(sc, stage), TSIM_COUNT,
                      "counted from the model's dimensions (sim/model/model.h)");
}

static struct tsim_amount gradients(struct tsim_term_recorder *r, const struct tsim_scenario *sc, int32_t stage,
                                    const struct tsim_held_parameters *held) {
    const char *name = "memory.gradients_bytes", *source = "training.gradient_precision of the scenario";
    if (sc->training.updates_by_layer)
        return state(r, name, largest_unit(r, sc, stage), tsim_gradient_bytes(sc), source, 0);
    return state(r, name, tsim_reduces_each_microbatch(sc) ? held->shard : held->all, kept_gradient_bytes(sc), source,
                 0);
}

/* Adds the memory of weight streaming: the weights of the layer in use and of the next, and the gradients of one; the
 * rest lies outside. */
static void stream_weights(struct tsim_term_recorder *r, const struct tsim_scenario *sc, int32_t stage,
                           struct tsim_stage_terms *terms) {
    const char *why = "outside: weights are streamed";
    struct tsim_amount layer = largest_unit(r, sc, stage),
                       two = tsim_given(r, "layers held", 2, TSIM_COUNT, "the one in use and the next");
    terms->host = tsim_sum(r, "outside the accelerator", "weights, gradients, master weights, optimizer state",
                           TSIM_BYTES, TSIM_PARTS(terms->weights, terms->gradients, terms->master, terms->optimizer));
    terms->weights = state(
        r, "memory.weights_bytes",
        tsim_product(r, "parameters held", "layers x parameters of the largest", TSIM_COUNT, TSIM_PARTS(two, layer)),
        tsim_weight_bytes(sc->training.precision), "training.precision of the scenario", 0);
    terms->gradients = state(r, "memory.gradients_bytes", layer, tsim_gradient_bytes(sc),
                             "training.gradient_precision of the scenario", 0);
    terms->master = absent(r, "memory.master_bytes", why);
    terms->optimizer = absent(r, "memory.optimizer_bytes", why);
}

/* Returns the weights of a frozen model: those of products, which may be quantized, the rest of the model as in
 * training, and the adapters in 16 bits. */
static struct tsim_amount frozen_weights(struct tsim_term_recorder *r, const struct tsim_scenario *sc, int32_t stage,
                                         const struct tsim_held_parameters *held,
                                         const struct tsim_held_parameters *trained) {
    bool is_sharded = sc->parallelism.zero >= 3;
    struct tsim_amount all = is_sharded ? held->shard : held->all;
    double of_products = 0;
    for (int32_t c = 0; c < tsim_scenario_schedule(sc).chunks; c++)
        of_products += tsim_chunk_sum(sc, stage, c, tsim_layer_rank_product_parameters);
    if (sc->software->quantizes_head && !sc->model->tied_embeddings && tsim_stage_has_head(sc, stage))
        of_products += tsim_padded_vocab_per_rank(sc) * (double)sc->model->hidden;
    struct tsim_amount products =
        tsim_product(r, "weights of products", "parameters x their part", TSIM_COUNT,
                     TSIM_PARTS(all, tsim_given(r, "part that is in products", of_products / held->all.value,
                                                TSIM_FRACTION, "counted from the model's dimensions")));
    struct tsim_amount rest = tsim_sum(r, "the rest of them", "parameters - those of products", TSIM_COUNT,
                                       TSIM_PARTS(all, tsim_inverse(products)));
    double bytes = tsim_weight_bytes(sc->training.precision),
           of_adapter = tsim_weight_bytes(tsim_unquantized(sc->training.precision));
    return tsim_sum(r, "memory.weights_bytes", "products + the rest + adapters", TSIM_BYTES,
                    TSIM_PARTS(state(r, "frozen products", products, tsim_base_weight_bytes(sc),
                                     "training.adapter.base_precision of the scenario (sim/model/adapter.h)", 0),
                               state(r, "frozen rest", rest, bytes, "training.precision of the scenario", 0),
                               state(r, "adapters", is_sharded ? trained->shard : trained->all, of_adapter,
                                     "16 bits, or fp32", 0)));
}

/* Moves activations to the host's memory, and returns what is under way. */
static struct tsim_amount offload_activations(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                              int32_t stage, struct tsim_stage_terms *terms) {
    double share = sc->training.offload.activations_frac;
    struct tsim_amount frac = tsim_of_scenario(r, "training.offload.activations", share, TSIM_FRACTION);
    terms->host = tsim_product(r, "activations in the host's memory", "share x activations", TSIM_BYTES,
                               TSIM_PARTS(frac, terms->activations));
    terms->activations =
        tsim_sum(r, "memory.activations_bytes", "bytes kept by passes in flight, less the host's share", TSIM_BYTES,
                 TSIM_PARTS(terms->activations, tsim_inverse(terms->host)));
    double layer =
        share * tsim_largest_layer(sc, stage,
                                   sc->training.recompute == TSIM_RECOMPUTE_LAYERS ? tsim_layer_whole_activation_bytes
                                                                                   : tsim_layer_activation_bytes);
    return tsim_smallest(r, "activations on their way to the host", "two layers' at most", TSIM_BYTES,
                         TSIM_PARTS(tensor(r, "of two layers", 2 * layer), terms->host));
}

static void offload_optimizer(struct tsim_term_recorder *r, const struct tsim_scenario *sc, struct tsim_amount updated,
                              struct tsim_stage_terms *terms) {
    const char *why = "in the host's memory (training.offload of the scenario)";
    struct tsim_amount states = state(r, "optimizer in the host's memory", updated, host_state_bytes(sc),
                                      "master weight, state and gradient (training.optimizer of the scenario)", 0);
    terms->host =
        tsim_sum(r, "in the host's memory", "activations + optimizer", TSIM_BYTES, TSIM_PARTS(terms->host, states));
    terms->master = absent(r, "memory.master_bytes", why);
    terms->optimizer = absent(r, "memory.optimizer_bytes", why);
}

/* Adds the teacher: its weights stay, and its logits of each micro-batch do until the student's loss has compared
 * them. */
static void add_teacher(const struct tsim_scenario *sc, int32_t stage, struct tsim_part_list *buffers) {
    const struct tsim_scenario *teaching = sc->teaching;
    struct tsim_held_parameters held = tsim_held_parameters(buffers->recorder, teaching, stage);
    tsim_part_add(buffers,
                  state(buffers->recorder, "the teacher's weights", sc->parallelism.zero >= 3 ? held.shard : held.all,
                        tsim_weight_bytes(tsim_unquantized(sc->training.precision)),
                        "training.precision of the scenario, in 16 bits at least", 0));
    if (tsim_model_has_ends(teaching->model) && tsim_stage_has_head(teaching, stage))
        tsim_part_add(buffers, tensor(buffers->recorder, "the teacher's logits",
                                      tsim_head_tokens(teaching) * tsim_padded_vocab_per_rank(teaching) *
                                          tsim_operand_bytes(tsim_unquantized(sc->training.precision))));
}

/* Returns the scenario with the longest sample, which comes sooner or later. */
static const struct tsim_scenario *of_longest_sample(const struct tsim_scenario *sc, struct tsim_scenario *longest) {
    if (!(sc->training.lengths.mean > 0))
        return sc;
    *longest = *sc;
    longest->training.lengths.pass = sc->training.sequence_length;
    return longest;
}

void tsim_stage_memory_recorded(struct tsim_term_recorder *r, const struct tsim_scenario *scenario, int32_t stage,
                                struct tsim_stage_terms *terms) {
    struct tsim_scenario longest;
    const struct tsim_scenario *sc = of_longest_sample(scenario, &longest);
    int zero = sc->parallelism.zero;
    struct tsim_part_list buffers = {.recorder = r};
    bool trains_all = !tsim_is_frozen(sc) && !sc->model->tower.frozen;
    struct tsim_held_parameters held = tsim_held_parameters(r, sc, stage),
                                trained = trains_all ? held : tsim_trained_parameters(r, sc, stage);
    struct tsim_amount updated = zero >= 1 ? trained.shard : trained.all;
    *terms = (struct tsim_stage_terms){0};
    bool has_weights = zero < 3 || !tsim_has_master_weights(sc) || !sc->software->casts_weights;
    terms->weights = state(r, "memory.weights_bytes", zero >= 3 ? held.shard : held.all,
                           has_weights ? tsim_weight_bytes(sc->training.precision) : 0,
                           has_weights ? "training.precision of the scenario"
                                       : "made of the fp32 copy as they are gathered (software.casts_weights)",
                           tsim_tables_weight_bytes(sc));
    if (tsim_is_frozen(sc))
        terms->weights = frozen_weights(r, sc, stage, &held, &trained);
    terms->gradients = gradients(r, sc, stage, &trained);
    terms->master = state(r, "memory.master_bytes", updated, tsim_has_master_weights(sc) ? 4 : 0,
                          "an fp32 copy where training is in 16 or 8 bits (training.master_weights)", 0);
    terms->optimizer = state(r, "memory.optimizer_bytes", updated, tsim_optimizer_state_bytes(sc),
                             "training.optimizer of the scenario", tsim_tables_state_bytes(sc));
    if (sc->parallelism.parameter_server.servers > 0) {
        static const char ON_SERVERS[] = "on the servers (parallelism.parameter_server of the scenario)";
        terms->master = absent(r, "memory.master_bytes", ON_SERVERS);
        terms->optimizer = absent(r, "memory.optimizer_bytes", ON_SERVERS);
    }
    terms->activations = peak_activations(r, sc, stage);
    add_buffers(sc, stage, &buffers);
    tsim_part_add(&buffers, tensor(r, "batches of the input pipeline", batch_bytes(sc, stage)));
    tsim_part_add(&buffers, tsim_given(r, "buckets and flat tensors of the framework",
                                       flat_bytes(sc, trained.all.value, updated.value), TSIM_BYTES,
                                       "software.flat_bucket; with ZeRO-1 and -2 a bucket is allocated whole, however "
                                       "small the model (sim/partition/memory.c)"));
    double left_bytes = terms->activations.value;
    if (sc->training.offload.activations_frac > 0) {
        struct tsim_amount on_their_way = offload_activations(r, sc, stage, terms);
        tsim_part_add(&buffers, on_their_way);
        left_bytes = terms->activations.value + on_their_way.value;
    }
    tsim_part_add(&buffers,
                  tensor(r, "the update, beyond what activations left", update_bytes(sc, updated.value, left_bytes)));
    if (sc->teaching)
        add_teacher(sc, stage, &buffers);
    struct tsim_schedule_shape shape = tsim_scenario_schedule(sc);
    int32_t versions = tsim_schedule_versions(&shape, stage);
    if (versions > 1)
        tsim_part_add(&buffers, state(r, "older versions of the weights", held.all,
                                      (versions - 1) * tsim_weight_bytes(sc->training.precision),
                                      "parallelism.schedule of the scenario (sim/partition/schedule.h)", 0));
    if (sc->parallelism.local_sgd.workers > 0 && sc->parallelism.local_sgd.outer == TSIM_OUTER_NESTEROV)
        tsim_part_add(&buffers, state(r, "the last exchange's weights, and the outer momentum", updated, 4 + 4,
                                      "parallelism.local_sgd of the scenario, both in fp32", 0));
    if (sc->training.compression.kind != TSIM_UNCOMPRESSED) {
        struct tsim_compression_cost each;
        tsim_compression_cost(sc, (double)(sc->parallelism.data * sc->parallelism.context), &each);
        tsim_part_add(&buffers, state(r, "error feedback of compressed gradients", trained.all, each.kept_bytes,
                                      "training.compression (sim/model/compression.h)", 0));
    }
    if (sc->training.offload.optimizer)
        offload_optimizer(r, sc, updated, terms);
    if (tsim_streams_weights(sc))
        stream_weights(r, sc, stage, terms);
    terms->buffers = tsim_sum_of(&buffers, "buffers", "the sum of", TSIM_BYTES);
}

void tsim_stage_memory(const struct tsim_scenario *sc, int32_t stage, struct tsim_stage_memory *memory) {
    struct tsim_stage_terms terms;
    tsim_stage_memory_recorded(NULL, sc, stage, &terms);
    *memory = (struct tsim_stage_memory){.weights_bytes = terms.weights.value,
                                         .gradients_bytes = terms.gradients.value,
                                         .master_bytes = terms.master.value,
                                         .optimizer_bytes = terms.optimizer.value,
                                         .activations_bytes = terms.activations.value,
                                         .buffers_bytes = terms.buffers.value,
                                         .host_bytes = terms.host.value};
    memory->total_bytes = memory->weights_bytes + memory->gradients_bytes + memory->master_bytes +
                          memory->optimizer_bytes + memory->activations_bytes + memory->buffers_bytes;
}

double tsim_split_state_bytes(const struct tsim_scenario *sc, const struct tsim_stage_memory *memory) {
    bool has_all = !sc->training.updates_by_layer && !tsim_streams_weights(sc);
    return memory->optimizer_bytes + memory->master_bytes +
           (has_all ? memory->weights_bytes + memory->gradients_bytes : 0);
}

double tsim_least_mean_bytes(const struct tsim_scenario *sc, bool has_activations) {
    struct tsim_schedule_shape shape = tsim_scenario_schedule(sc);
    struct tsim_stage_memory memory = {0};
    struct tsim_op_shape stacks[TSIM_MAX_STACKS];
    double sum_bytes = 0, activations_bytes = 0;
    has_activations &= shape.chunks == 1 && !tsim_schedule_splits_backward(shape.schedule) &&
                       sc->training.recompute <= TSIM_RECOMPUTE_FULL && sc->training.recompute_every == 0 &&
                       sc->training.offload.activations_frac == 0 && tsim_op_stacks(sc, stacks) == 1;
    for (int32_t stage = 0; stage < shape.stages; stage++) {
        if (!tsim_stage_is_like_last(sc, stage)) {
            tsim_stage_memory(sc, stage, &memory);
            activations_bytes = has_activations ? tsim_chunk_activation_bytes(sc, stage, 0) : 0;
        }
        sum_bytes += tsim_split_state_bytes(sc, &memory) + activations_bytes;
    }
    return sum_bytes / shape.stages;
}

struct tsim_amount tsim_checkpoint_bytes(struct tsim_term_recorder *recorder, const struct tsim_scenario *scenario) {
    double each = tsim_weight_bytes(scenario->training.precision) + tsim_optimizer_state_bytes(scenario) +
                  (tsim_has_master_weights(scenario) ? 4 : 0);
    return tsim_product(
        recorder, "a checkpoint of the whole model", "parameters x bytes of each", TSIM_BYTES,
        TSIM_PARTS(tsim_is_frozen(scenario)
                       ? tsim_given(recorder, "parameters of the adapters", tsim_model_adapter_parameters(scenario),
                                    TSIM_COUNT, "training.adapter of the scenario (sim/model/adapter.h)")
                       : tsim_figure(recorder, "model.parameters", tsim_model_parameters(scenario->model), TSIM_COUNT),
                   tsim_given(recorder, "weight, master weight and optimizer state", each, TSIM_BYTES,
                              "counted for the precision and the optimizer (sim/partition/memory.h)")));
}
