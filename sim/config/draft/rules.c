#include "config/draft/rules.h"

#include "base/date.h"
#include "config/keys/enum_words.h"
#include "config/keys/schema.h"
#include "config/lengths.h"
#include "config/supports.h"

#include <stdio.h>
#include <string.h>

/* The checks of a draft, one after another. Each names the key that it would change first. */
struct check {
    const struct tsim_draft *draft;
    const struct tsim_scenario *sc;
    struct tsim_reader *reader;
};

#define FAIL(c, path, ...) FAIL_IN((c)->draft, (c)->reader, path, __VA_ARGS__)
#define WARN(c, path, ...) WARN_IN((c)->draft, (c)->reader, path, __VA_ARGS__)

static long long num(int64_t value) {
    return (long long)value;
}

/* ---- nearest settings that work ---- */

typedef bool (*works_fn)(const struct check *c, int64_t value);

/* Finds the nearest values below and above `wanted`, up to `limit`, that work best, or otherwise at all: "4", "4 or 8",
 * or "" if there is none. */
static void nearest_values(const struct check *c, works_fn works_best, works_fn works, int64_t wanted, int64_t limit,
                           char text[64]) {
    int64_t below = (wanted < limit ? wanted : limit + 1) - 1, above = wanted + 1;
    text[0] = '\0';
    if (c->reader->diags->is_mute)
        return;
    while (below > 0 && !works_best(c, below))
        below--;
    while (above <= limit && !works_best(c, above))
        above++;
    if (below > 0 && above <= limit)
        snprintf(text, 64, "%lld or %lld", num(below), num(above));
    else if (below > 0 || above <= limit)
        snprintf(text, 64, "%lld", num(below > 0 ? below : above));
    else if (works != works_best)
        nearest_values(c, works, works, wanted, limit, text);
}

/* Adds a hint with the nearest multiples of `unit` around `wanted`, from `least` on: "992 or 1024". */
static void hint_multiples_from(struct tsim_diag *diag, const char *key, int64_t wanted, int64_t unit, int64_t least) {
    int64_t below = wanted / unit * unit, first = (least + unit - 1) / unit * unit;
    if (below >= first)
        tsim_diag_hint(diag, "nearest that works: %s %lld or %lld", key, num(below), num(below + unit));
    else
        tsim_diag_hint(diag, "nearest that works: %s %lld", key, num(first));
}

static void hint_multiples(struct tsim_diag *diag, const char *key, int64_t wanted, int64_t unit) {
    hint_multiples_from(diag, key, wanted, unit, unit);
}

/* ---- what this version does not simulate ---- */

static void refuse(const struct check *c, const char *path, const char *what, const char *hint) {
    tsim_diag_hint(FAIL(c, path, "this version does not simulate %s", what), "%s", hint);
}

/* A layer list trains on samples, in data-parallel replicas and, unless it has tables, a discriminator or branches, in
 * stages of whole blocks. */
static bool check_listed_model(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    const struct tsim_training_spec *t = &c->sc->training;
    bool has_tables = c->sc->model->n_tables > 0, has_judges = c->sc->model->n_judges > 0,
         is_whole = has_tables || has_judges || c->sc->model->has_branches;
    static const char *const PATHS[] = {"parallelism.tensor", "parallelism.context", "parallelism.virtual_pipeline",
                                        "parallelism.pipeline"};
    const int64_t degrees[] = {p->tensor, p->context, p->virtual_pipeline, is_whole ? p->pipeline : 1};
    size_t n_errors = c->reader->diags->n_errors;
    if (!c->sc->model->list)
        return true;
    for (int i = 0; i < 4; i++)
        if (degrees[i] > 1 && !c->draft->is_job) /* the plan of a job is another one */
            tsim_diag_hint(FAIL(c, PATHS[i], "%lld, but %s", num(degrees[i]),
                                has_tables   ? "models with embedding tables are only split by data"
                                : has_judges ? "the networks of a GAN are only split by data"
                                : is_whole   ? "lists with branches (from, join, add) are only split by data"
                                             : "layer lists are only split by data, and by blocks into a pipeline"),
                           "1: only %s %.40s", is_whole ? "data and zero split" : "data, zero and pipeline split",
                           c->sc->model->name);
    if (p->pipeline > 1 && p->balances)
        refuse(c, "parallelism.layers_per_stage", "balancing the stages of a layer list",
               "a list of blocks for each stage");
    if (p->pipeline > 1 && p->schedule > TSIM_SCHEDULE_1F1B)
        refuse(c, "parallelism.schedule", "a layer list under this schedule", "sequential, gpipe or 1f1b");
    if (t->sequence_length > 1)
        tsim_diag_hint(FAIL(c, "training.sequence_length", "%lld, but %.40s has no sequences", num(t->sequence_length),
                            c->sc->model->name),
                       "leave it out: batches are counted in samples");
    if (t->recompute != TSIM_RECOMPUTE_NONE)
        refuse(c, "training.recompute", "recomputation of a layer list", "recompute: none");
    if (tsim_is_quantized(t->precision))
        refuse(c, "training.precision", "a layer list in 8 or 4 bits", "fp16, bf16, tf32 or fp32");
    return c->reader->diags->n_errors == n_errors;
}

static void check_recomputed_operators(const struct check *c) {
    unsigned parts = c->sc->training.recompute_parts;
    if (parts & TSIM_RECOMPUTE_OPERATORS && !tsim_has_plain_layers(c->sc->model))
        refuse(c, "training.recompute",
               "recomputation by operator in models with experts, latent attention or two stacks",
               "recompute: none, selective, full, sqrt, {every: N} or a list of other parts");
    if (parts > TSIM_RECOMPUTE_OPERATORS)
        refuse(c, "training.recompute", "recomputation of other parts beside operators",
               "recompute: [operators] alone");
}

/* A tower's images are tokens of each sample, and its heads are divided as the language model's. */
static void check_tower(const struct check *c) {
    const struct tsim_tower *t = &c->sc->model->tower;
    int64_t squares = t->layers > 0 ? t->image.size / t->image.patch / t->merge : 0,
            tokens = t->images * squares * squares;
    if (t->layers == 0)
        return;
    if (tokens > c->sc->training.sequence_length)
        tsim_diag_hint(FAIL(c, "training.sequence_length", "%lld, but the images of a sample are %lld tokens",
                            num(c->sc->training.sequence_length), num(tokens)),
                       "a longer sequence, or fewer or smaller images (model.tower.images, model.tower.image.size)");
    if (t->heads % c->sc->parallelism.tensor != 0)
        tsim_diag_hint(FAIL(c, "parallelism.tensor", "%lld does not divide the %lld heads of the tower",
                            num(c->sc->parallelism.tensor), num(t->heads)),
                       "a divisor of model.tower.heads");
    if (c->sc->training.kind != TSIM_PRETRAIN && c->sc->training.kind != TSIM_SFT)
        refuse(c, "training.kind", "other training of vision-language models", "kind: pretrain or sft");
    if (c->sc->training.lengths.mean > 0)
        refuse(c, "training.lengths", "samples of many lengths with images", "no lengths");
}

/* Cells of a recurrent network are on one accelerator, and go through a sample token by token. */
static void check_cells(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    const struct tsim_training_spec *t = &c->sc->training;
    if (!c->sc->model->recurrent)
        return;
    if (p->tensor > 1)
        refuse(c, "parallelism.tensor", "LSTM cells that are divided", "tensor: 1");
    if (p->context > 1)
        refuse(c, "parallelism.context", "sequences of recurrent networks that are cut over several ranks",
               "context: 1");
    if (t->kind != TSIM_PRETRAIN || t->adapter.kind != TSIM_ADAPTER_NONE)
        refuse(c, "training.kind", "fine-tuning of recurrent networks", "kind: pretrain, without an adapter");
    if (t->recompute_parts)
        refuse(c, "training.recompute", "recomputation of parts of LSTM layers", "recompute: none or full");
    if (t->precision != TSIM_FP32 && t->precision != TSIM_TF32 && t->precision != TSIM_FP16 &&
        t->precision != TSIM_BF16)
        refuse(c, "training.precision", "LSTM cells in 8 bits or less", "precision: fp16 or bf16");
}

/* Segments and generators are of whole sequences, and a generator's heads are divided as the model's. */
static void check_segments(const struct check *c) {
    const struct tsim_model *m = c->sc->model;
    const struct tsim_training_spec *t = &c->sc->training;
    if (m->memory == 0 && m->generator.layers == 0)
        return;
    if (c->sc->parallelism.context > 1)
        refuse(c, "parallelism.context", "sequences that are cut, of models with a memory or a generator",
               "context: 1");
    if (t->kind != TSIM_PRETRAIN)
        refuse(c, "training.kind", "fine-tuning of models with a memory or a generator", "kind: pretrain");
    if (m->generator.layers > 0 && m->generator.heads % c->sc->parallelism.tensor != 0)
        tsim_diag_hint(FAIL(c, "parallelism.tensor", "%lld does not divide the %lld heads of the generator",
                            num(c->sc->parallelism.tensor), num(m->generator.heads)),
                       "a divisor of model.generator.heads");
}

/* Checks that a model with two stacks has no context parallelism and no split backward passes. */
static void check_stacks(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    const struct tsim_training_spec *t = &c->sc->training;
    const char *name = c->sc->model->name;
    if (c->sc->model->encoder_layers == 0) {
        if (t->decoder_sequence_length > 0)
            tsim_diag_hint(FAIL(c, "training.decoder_sequence_length",
                                "%lld, but %.40s has no decoder beside an encoder", num(t->decoder_sequence_length),
                                name),
                           "leave it out");
        return;
    }
    if (p->context > 1)
        refuse(c, "parallelism.context", "sequences of an encoder-decoder model that are cut over several ranks",
               "context: 1");
    if (p->schedule >= TSIM_SCHEDULE_ZB_H1 && p->pipeline > 1)
        refuse(c, "parallelism.schedule", "split backward passes of an encoder-decoder model",
               "schedule: 1f1b, interleaved, gpipe or sequential");
    if (t->recompute_parts)
        refuse(c, "training.recompute", "recomputation of parts of an encoder-decoder model's layers",
               "recompute: none, selective, full, sqrt or {every: N}");
    if (p->sequence && p->tensor > 1 && t->decoder_sequence_length % p->tensor != 0)
        hint_multiples(FAIL(c, "training.decoder_sequence_length",
                            "%lld is not divisible by tensor %lld (sequence parallelism)",
                            num(t->decoder_sequence_length), num(p->tensor)),
                       "decoder_sequence_length", t->decoder_sequence_length, p->tensor);
}

/* ---- single keys that a table cannot judge ---- */

static void check_name(const struct check *c) {
    static const char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    const char *name = c->sc->name;
    size_t length = strlen(name);
    if (length == 0 || length > 128 || strspn(name, LETTERS) != length)
        tsim_diag_hint(tsim_value_error(c->reader->diags, TSIM_ERR_SCHEMA, tsim_draft_place(c->draft, "name"), "name",
                                        "'%.60s' is not a name", name),
                       "letters, digits, '-', '_' and '.', at most 128 of them");
}

static void check_length(const struct check *c) {
    static const char *const paths[] = {"training.tokens", "training.samples", "training.steps", "training.epochs"};
    const double given[] = {c->draft->tokens, c->draft->samples, c->draft->steps, c->draft->epochs};
    int first = -1;
    for (int i = 0; i < 4; i++) {
        if (given[i] > 0 && first >= 0)
            tsim_diag_hint(FAIL(c, paths[i], "the length of the run is given twice"), "%s states it already",
                           paths[first]);
        else if (given[i] > 0)
            first = i;
    }
}

static void check_goal(const struct check *c) {
    const struct tsim_goal_spec *goal = &c->sc->goal;
    const struct tsim_model *model = c->sc->model;
    if (goal->loss_nats > 0 && goal->tokens > 0)
        tsim_diag_hint(FAIL(c, "goal.loss", "the goal has both a loss and a number of tokens"),
                       "give one of them: the tokens to a loss follow from scaling laws");
    else if (goal->loss_nats > 0 && !(model->kind == TSIM_MODEL_TRANSFORMER && model->causal))
        tsim_diag_hint(FAIL(c, "goal.loss",
                            "scaling laws are known for decoders of language only, and %.40s is not one", model->name),
                       "goal.tokens, or a length in training");
}

static void check_prices(const struct check *c) {
    const struct tsim_cost_spec *cost = &c->sc->cost;
    char date[24];
    size_t length = strlen(cost->date);
    const char *rest = length == 4 ? "-01-01" : length == 7 ? "-01" : "";
    int64_t day;
    snprintf(date, sizeof date, "%.11s%s", cost->date, rest);
    if (!tsim_date_days(date, &day))
        tsim_diag_hint(FAIL(c, "cost.date", "'%.40s' is not a date", cost->date), "2026, 2026-05 or 2026-05-31");
    if (tsim_draft_has(c->draft, "cost.rent") && tsim_draft_has(c->draft, "cost.reserved") &&
        cost->reserved_usd_per_s > cost->rent_usd_per_s && cost->rent_usd_per_s > 0)
        WARN(c, "cost.reserved", "a contract at this price costs more than the rent on demand, whatever the run");
}

static void check_simulation(const struct check *c) {
    const struct tsim_simulation_spec *s = &c->sc->simulation;
    if (s->warmup >= s->steps)
        tsim_diag_hint(FAIL(c, "simulation.warmup", "a warmup of %lld steps leaves nothing of the %lld steps",
                            num(s->warmup), num(s->steps)),
                       "warmup must be below steps");
}

/* ---- the machine ---- */

/* Returns false if the number of accelerators itself is wrong. */
static bool check_cluster(const struct check *c) {
    const struct tsim_cluster_spec *cluster = &c->sc->cluster;
    const struct tsim_node *node = cluster->node;
    if (cluster->accelerators_per_node > node->accelerators)
        tsim_diag_hint(FAIL(c, "cluster.accelerators_per_node", "%lld accelerators are asked for, but a %.40s has %lld",
                            num(cluster->accelerators_per_node), node->name, num(node->accelerators)),
                       "at most %lld", num(node->accelerators));
    if (cluster->nodes > 1 && !cluster->fabric)
        tsim_diag_hint(FAIL(c, "cluster", "%lld nodes need a fabric between them", num(cluster->nodes)),
                       "fabric: ib-ndr, or another of 'tsim list fabrics'");
    if (cluster->nodes > 1 && node->nics == 0)
        tsim_diag_hint(
            FAIL(c, "cluster.node", "%.40s has no network port to connect %lld nodes", node->name, num(cluster->nodes)),
            "nodes: 1, or a node with 'nics' and 'nic_bandwidth'");
    bool is_torus = cluster->fabric && cluster->fabric->topology == TSIM_TOPOLOGY_TORUS; /* joins accelerators */
    if (tsim_draft_has(c->draft, "cluster.fabric") && cluster->nodes == 1 && !is_torus)
        WARN(c, "cluster.fabric", "this has no effect, because there is only one node");
    if (c->sc->software->nics_used > node->nics && cluster->nodes > 1)
        tsim_diag_hint(FAIL(c, "software", "nics_used %lld, but a %.40s has %lld", num(c->sc->software->nics_used),
                            node->name, num(node->nics)),
                       "at most %lld, or all", num(node->nics));
    return cluster->accelerators_per_node <= node->accelerators;
}

static void precisions_of(const struct tsim_accelerator *a, char text[64]) {
    text[0] = '\0';
    for (int p = 0; p < TSIM_N_PRECISIONS; p++)
        if (a->peak_flops_per_s[p] > 0)
            snprintf(text + strlen(text), 64 - strlen(text), "%s%s", text[0] ? ", " : "",
                     tsim_word_of(tsim_precision_words, p));
}

static void check_precision_of(const struct check *c, const char *path, enum tsim_precision precision) {
    const struct tsim_accelerator *a = c->sc->cluster.node->accelerator;
    if (a->peak_flops_per_s[precision] > 0)
        precision = tsim_unquantized(precision); /* attention's and the head's */
    if (a->peak_flops_per_s[precision] > 0)
        return;
    char has[64];
    precisions_of(a, has);
    tsim_diag_hint(FAIL(c, path, "%.40s has no %s", a->name, tsim_precision_name(precision)), "it has %s", has);
}

static void check_precision(const struct check *c) {
    check_precision_of(c, "training.precision", c->sc->training.precision);
    if (tsim_generates(c->sc) && c->sc->generation.precision != c->sc->training.precision)
        check_precision_of(c, "generation.precision", c->sc->generation.precision);
}

/* Refuses what makes no sense on an accelerator that streams weights in. */
static void check_streaming(const struct check *c, const char *name) {
    static const char *const PATHS[] = {"parallelism.tensor", "parallelism.pipeline", "parallelism.context",
                                        "parallelism.expert"};
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    const struct tsim_offload_spec *offload = &c->sc->training.offload;
    const int64_t degrees[] = {p->tensor, p->pipeline, p->context, p->expert};
    for (int i = 0; i < 4; i++)
        if (degrees[i] > 1 && !c->draft->is_job)
            tsim_diag_hint(
                FAIL(c, PATHS[i],
                     "%lld, but the weights of every layer are streamed to a whole %.40s, so no model is split",
                     num(degrees[i]), name),
                "1; several of them share the batch (data)");
    if (offload->optimizer || offload->activations_frac > 0)
        tsim_diag_hint(FAIL(c, "training.offload", "weights and optimizer state never lie on a %.40s", name),
                       "leave it out");
    if (!(c->sc->cluster.node->host_link_bytes_per_s > 0))
        tsim_diag_hint(WARN(c, "cluster.node", "%.40s has no host_link: weights are assumed to arrive in time",
                            c->sc->cluster.node->name),
                       "a node with host_link, such as cs2");
    if (c->draft->zero > 0 && tsim_draft_has(c->draft, "parallelism.zero"))
        WARN(c, "parallelism.zero", "this has no effect, because a %.40s holds no optimizer state", name);
}

static bool is_standard_kernel(enum tsim_attention_kernel kernel) {
    return kernel == TSIM_ATTENTION_UNFUSED || kernel == TSIM_ATTENTION_FUSED_SOFTMAX;
}

/* Warns if a profile writes attention's scores out, as on GPUs, although the accelerator has software of its own. */
static void check_own_software(const struct check *c) {
    const struct tsim_accelerator *a = c->sc->cluster.node->accelerator;
    const struct tsim_software *software = c->sc->software;
    if (a->software && is_standard_kernel(software->attention_kernel) && !c->sc->model->list)
        tsim_diag_hint(WARN(c, "software",
                            "%.40s computes attention as on GPUs, but the software of a %.40s need not "
                            "write the scores out",
                            software->name, a->name),
                       "software: %.60s", a->software);
}

static void check_execution(const struct check *c) {
    const struct tsim_accelerator *a = c->sc->cluster.node->accelerator;
    if (a->execution == TSIM_EXECUTION_WEIGHT_STREAMING)
        check_streaming(c, a->name);
    if (a->dies > 1)
        tsim_diag_hint(WARN(c, "cluster.node",
                            "a %.40s is a package of %lld devices, and one product runs on one of them", a->name,
                            num(a->dies)),
                       "a node of its dies, such as mi250x-node");
    const char *name;
    for (size_t i = 0; a->execution == TSIM_EXECUTION_BULK_SYNCHRONOUS && (name = tsim_overlap_name(i)); i++) {
        char path[64];
        snprintf(path, sizeof path, "parallelism.overlap.%s", name);
        const struct tsim_value *value = tsim_value_find_path(c->draft->root, path);
        if (value && value->text && strcmp(value->text, "true") == 0)
            tsim_value_warning(c->reader->diags, value, path,
                               "this has no effect, because computing and exchanging take turns on a %.40s", a->name);
    }
}

static void check_attention(const struct check *c) {
    enum tsim_attention_kernel kernel = c->sc->software->attention_kernel;
    if (c->sc->training.attention != TSIM_ATTENTION_FLASH || c->sc->model->list)
        return;
    if (is_standard_kernel(kernel))
        tsim_diag_hint(WARN(c, "training.attention", "%.40s has no flash attention of its own, so flash2 is taken",
                            c->sc->software->name),
                       "choose another with software: {extends: %.60s, attention_kernel: ...}", c->sc->software->name);
    const struct tsim_accelerator *a = c->sc->cluster.node->accelerator;
    if (!tsim_has_flash(a, kernel))
        tsim_diag_hint(FAIL(c, "training.attention", "%.40s has no efficiency for the attention kernel of %.40s",
                            a->name, c->sc->software->name),
                       "attention: standard, or give efficiency.attention in the accelerator");
}

/* ---- the model ---- */

static bool tensor_works(const struct check *c, int64_t tensor) {
    const struct tsim_model *m = c->sc->model;
    bool kv_works = m->kv_heads >= tensor ? m->kv_heads % tensor == 0 : tensor % m->kv_heads == 0;
    return m->heads % tensor == 0 && kv_works && m->ffn_hidden % tensor == 0 &&
           (c->sc->parallelism.expert_tensor == 1 || m->experts.ffn_hidden % tensor == 0);
}

static bool tensor_fits_cluster(const struct check *c, int64_t tensor) {
    struct tsim_parallelism_spec p = c->sc->parallelism;
    p.tensor = tensor;
    return tensor_works(c, tensor) && tsim_ranks_divide(&p, c->sc->n_accelerators);
}

static bool check_tensor(const struct check *c) {
    const struct tsim_model *m = c->sc->model;
    int64_t tensor = c->sc->parallelism.tensor;
    if (tensor_works(c, tensor))
        return true;
    struct tsim_diag *diag;
    if (m->heads % tensor != 0)
        diag = FAIL(c, "parallelism.tensor", "%lld does not divide the %lld heads of %.40s", num(tensor), num(m->heads),
                    m->name);
    else if (m->ffn_hidden % tensor != 0)
        diag = FAIL(c, "parallelism.tensor", "%lld does not divide ffn_hidden %lld of %.40s", num(tensor),
                    num(m->ffn_hidden), m->name);
    else if (m->experts.ffn_hidden % tensor != 0)
        diag = FAIL(c, "parallelism.tensor", "%lld does not divide experts.ffn_hidden %lld of %.40s", num(tensor),
                    num(m->experts.ffn_hidden), m->name);
    else
        diag = FAIL(c, "parallelism.tensor", "neither %lld nor the %lld kv_heads of %.40s divides the other",
                    num(tensor), num(m->kv_heads), m->name);
    char text[64];
    nearest_values(c, tensor_fits_cluster, tensor_works, tensor, m->heads, text);
    tsim_diag_hint(diag, "nearest that works: tensor %s", text); /* 1 always does */
    return false;
}

/* Checks that an all-to-all can give each rank whole heads, of keys and values too. */
static void check_context_heads(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    int64_t heads = c->sc->model->kv_heads, per_rank = heads % p->tensor == 0 ? heads / p->tensor : heads, most = 1;
    if (per_rank % p->context == 0)
        return;
    for (int64_t context = 1; context < p->context; context++)
        most = per_rank % context == 0 ? context : most;
    tsim_diag_hint(
        FAIL(c, "parallelism.context", "%lld key and value heads of a tensor rank do not divide over context %lld",
             num(per_rank), num(p->context)),
        "context_exchange: all-to-all needs whole heads; nearest that works: context %lld, or context_exchange: ring",
        num(most));
}

static bool has_windows(const struct check *c) {
    int64_t window = c->sc->model->attention_window;
    return window > 0 && window < c->sc->training.sequence_length;
}

/* The sequences of these layers are not cut over context ranks, and tensor ranks divide what they work on. */
static void check_mixers(const struct check *c) {
    const struct tsim_model *m = c->sc->model;
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    const struct {
        const char *layers;
        int64_t is_there, n; /* n: what tensor ranks divide */
        const char *divided, *key;
    } MIXERS[] = {{"Mamba-1", m->mamba1.width, m->mamba1.width, "channels", "mamba1.width"},
                  {"Mamba", m->mamba.heads, m->mamba.heads, "heads", "mamba.heads"},
                  {"sparse", m->index.heads, 0, "", ""},
                  {"gated-delta", m->delta.value_heads, m->delta.key_heads, "key heads", "delta.key_heads"},
                  {"lightning", m->lightning.heads, m->lightning.heads, "heads", "lightning.heads"}};
    for (size_t i = 0; i < sizeof MIXERS / sizeof MIXERS[0]; i++) {
        if (MIXERS[i].is_there == 0)
            continue;
        if (p->context > 1)
            refuse(c, "parallelism.context",
                   tsim_arena_printf(c->reader->arena, "%s layers whose sequences are cut over context ranks",
                                     MIXERS[i].layers),
                   "context: 1");
        if (MIXERS[i].n % p->tensor != 0)
            tsim_diag_hint(FAIL(c, "parallelism.tensor", "%lld does not divide the %lld %s of %s layers",
                                num(p->tensor), num(MIXERS[i].n), MIXERS[i].divided, MIXERS[i].layers),
                           "a divisor of %s", MIXERS[i].key);
    }
}

static void check_sequence(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    int64_t s = c->sc->training.sequence_length;
    bool is_image = c->sc->model->image.patch > 0;
    if (!is_image && c->sc->model->position == TSIM_POSITION_LEARNED && s > c->sc->model->positions)
        tsim_diag_hint(FAIL(c, "training.sequence_length", "%lld, but %.40s has %lld learned positions", num(s),
                            c->sc->model->name, num(c->sc->model->positions)),
                       "at most %lld", num(c->sc->model->positions));
    if (is_image && s != c->sc->model->image.tokens)
        tsim_diag_hint(FAIL(c, "training.sequence_length", "%lld, but an image of %.40s is %lld tokens", num(s),
                            c->sc->model->name, num(c->sc->model->image.tokens)),
                       "leave it out: batches are counted in images");
    if (p->context > 1 && p->context_exchange == TSIM_CONTEXT_ALL_TO_ALL)
        check_context_heads(c);
    check_mixers(c);
    if (p->context > 1 && p->context_exchange == TSIM_CONTEXT_RING && has_windows(c))
        tsim_diag_hint(FAIL(c, "parallelism.context_exchange",
                            "the ring exchange cannot carry windows of attention, which %.40s has", c->sc->model->name),
                       "all-to-all or all-gather, as Transformer Engine asks for");
    if (p->context > 1 && s % (2 * p->context) != 0)
        hint_multiples(FAIL(c, "training.sequence_length",
                            "%lld is not divisible by 2 x context %lld (each rank takes an early and a late piece)",
                            num(s), num(p->context)),
                       "sequence_length", s, 2 * p->context);
    else if (p->sequence && tensor_works(c, p->tensor) && s % (p->tensor * p->context) != 0)
        hint_multiples(FAIL(c, "training.sequence_length",
                            "%lld is not divisible by tensor %lld x context %lld (sequence parallelism)", num(s),
                            num(p->tensor), num(p->context)),
                       "sequence_length", s, p->tensor * p->context);
}

/* ---- the split ---- */

static bool pipeline_divides_layers(const struct check *c, int64_t pipeline) {
    struct tsim_parallelism_spec p = c->sc->parallelism;
    p.pipeline = pipeline;
    int64_t ends, others, n_chunks = tsim_n_model_parts(&p);
    if (p.schedule == TSIM_SCHEDULE_DUALPIPE && pipeline % 2 != 0)
        return false;
    return n_chunks <= c->sc->model->layers + 2 && tsim_layers_even(c->sc->model->layers, n_chunks, &ends, &others);
}

static bool pipeline_works(const struct check *c, int64_t pipeline) {
    struct tsim_parallelism_spec p = c->sc->parallelism;
    p.pipeline = pipeline;
    return tsim_ranks_divide(&p, c->sc->n_accelerators) && pipeline_divides_layers(c, pipeline);
}

static void hint_degrees(const struct check *c, struct tsim_diag *diag) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    char pipelines[64], tensors[64];
    nearest_values(c, pipeline_works, pipeline_works, p->pipeline, c->sc->model->layers, pipelines);
    nearest_values(c, tensor_fits_cluster, tensor_fits_cluster, p->tensor, c->sc->model->heads, tensors);
    if (pipelines[0] && tensors[0])
        tsim_diag_hint(diag, "nearest that works: pipeline %s; or tensor %s", pipelines, tensors);
    else if (pipelines[0] || tensors[0])
        tsim_diag_hint(diag, "nearest that works: %s %s", pipelines[0] ? "pipeline" : "tensor",
                       pipelines[0] ? pipelines : tensors);
    else
        tsim_diag_hint(diag, "tensor x context x pipeline x data must be the number of accelerators");
}

static bool check_degrees(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    int64_t n = c->sc->n_accelerators, ranks = tsim_n_model_ranks(p);
    if (tsim_ranks_divide(p, n) && c->draft->data == n / ranks)
        return true;
    struct tsim_diag *diag;
    if (c->draft->data > 0)
        diag = FAIL(
            c, "parallelism.data",
            "tensor %lld x context %lld x pipeline %lld x data %lld is %.15g, but the cluster has %lld accelerators",
            num(p->tensor), num(p->context), num(p->pipeline), num(c->draft->data),
            (double)ranks * (double)c->draft->data, num(n));
    else
        diag = FAIL(c,
                    p->tensor > 1     ? "parallelism.tensor"
                    : p->pipeline > 1 ? "parallelism.pipeline"
                                      : "parallelism.context",
                    "tensor %lld x context %lld x pipeline %lld is %lld, which does not divide the %lld accelerators",
                    num(p->tensor), num(p->context), num(p->pipeline), num(ranks), num(n));
    if (tsim_ranks_divide(p, n))
        tsim_diag_hint(diag, "data: %lld takes them all, and so does 'data: auto'", num(n / ranks));
    else
        hint_degrees(c, diag);
    return false;
}

static void check_schedule(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    if (tsim_chunks_work(p))
        return;
    if (p->pipeline == 1)
        tsim_diag_hint(FAIL(c, "parallelism.virtual_pipeline", "there are %lld chunks per stage, but only one stage",
                            num(p->virtual_pipeline)),
                       "virtual_pipeline: 1, or pipeline above 1");
    else if (p->schedule == TSIM_SCHEDULE_ZB_V || p->schedule == TSIM_SCHEDULE_DUALPIPE)
        tsim_diag_hint(FAIL(c, "parallelism.virtual_pipeline", "%s has two chunks per stage of its own, not %lld",
                            tsim_schedule_name(p->schedule), num(p->virtual_pipeline)),
                       "leave virtual_pipeline out, or schedule: interleaved");
    else
        tsim_diag_hint(FAIL(c, "parallelism.schedule", "%s takes one chunk per stage, not virtual_pipeline %lld",
                            tsim_schedule_name(p->schedule), num(p->virtual_pipeline)),
                       "schedule: interleaved, or virtual_pipeline: 1");
}

static void check_runs(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    if (tsim_runs_work(c->sc->software, p))
        return;
    bool is_chunked = p->virtual_pipeline > 1;
    tsim_diag_hint(FAIL(c, "parallelism.schedule_microbatches",
                        is_chunked
                            ? "runs of %lld micro-batches fill no interleaved pipeline of %lld stages"
                            : "runs of %lld micro-batches cannot follow each other on %lld stages in this schedule",
                        num(p->schedule_microbatches), num(p->pipeline)),
                   is_chunked ? "a multiple of pipeline" : "schedule: 1f1b, gpipe or sequential, or leave it out");
}

/* A stage has at most so many passes of one direction: schedules count them, twice and more, in 32 bits. */
#define MOST_PASSES (INT64_C(1) << 27)

static void check_batch(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    int64_t batch = c->sc->training.global_batch_size, micro = c->sc->training.micro_batch_size;
    int64_t unit = micro * c->draft->data, n = batch / unit;
    struct tsim_microbatch_rule rule = tsim_microbatch_rule(c->sc);
    struct tsim_diag *diag = NULL;
    if (!tsim_batch_divides(batch, micro, c->draft->data))
        diag =
            FAIL(c, "training.global_batch_size", "%lld is not divisible by micro_batch_size %lld x data %lld = %lld",
                 num(batch), num(micro), num(c->draft->data), num(unit));
    else if (n % rule.unit != 0 && p->schedule == TSIM_SCHEDULE_DUALPIPE)
        diag = FAIL(c, "training.global_batch_size",
                    "%lld gives %lld micro-batches to each replica; dualpipe needs an even number", num(batch), num(n));
    else if (n % rule.unit != 0 && p->schedule_microbatches > 0)
        diag = FAIL(c, "training.global_batch_size",
                    "%lld gives %lld micro-batches to each replica; runs of the schedule take %lld", num(batch), num(n),
                    num(rule.unit));
    else if (n % rule.unit != 0)
        diag = FAIL(
            c, "training.global_batch_size",
            "%lld gives %lld micro-batches to each replica; interleaving in %.40s needs a multiple of pipeline %lld",
            num(batch), num(n), c->sc->software->name, num(p->pipeline));
    else if (n < rule.least)
        diag = FAIL(c, "training.global_batch_size",
                    "%lld gives %lld micro-batches to each replica; %s with pipeline %lld needs at least %lld",
                    num(batch), num(n), tsim_schedule_name(p->schedule), num(p->pipeline), num(rule.least));
    if (diag)
        hint_multiples_from(diag, "global_batch_size", batch, unit * rule.unit, unit * rule.least);
    else if (n > MOST_PASSES / p->virtual_pipeline)
        tsim_diag_hint(
            FAIL(c, "training.global_batch_size", "%lld gives %lld micro-batches to each replica", num(batch), num(n)),
            "at most %lld", num(MOST_PASSES / p->virtual_pipeline));
}

static void check_offload(const struct check *c) {
    const struct tsim_offload_spec *o = &c->sc->training.offload;
    const struct tsim_node *node = c->sc->cluster.node;
    if (!o->optimizer && !(o->activations_frac > 0))
        return;
    if (!(node->host_link_bytes_per_s > 0))
        tsim_diag_hint(FAIL(c, "training.offload", "the link to the host is not known for %.40s", node->name),
                       "host_link in the node, for example 31.5 GB/s");
    if (o->optimizer && !(node->host_memory_bytes_per_s > 0))
        tsim_diag_hint(FAIL(c, "training.offload", "the host's memory bandwidth is not known for %.40s", node->name),
                       "host_memory_bandwidth in the node, for example 409.6 GB/s");
    bool has_products = c->sc->training.optimizer == TSIM_GALORE_8BIT || c->sc->training.optimizer == TSIM_MUON;
    if (o->optimizer && (has_products || c->sc->training.updates_by_layer))
        tsim_diag_hint(
            FAIL(c, "training.offload", "the host can only update all parameters together, element by element"),
            "an optimizer without products, and per_layer_updates: false");
    if (o->activations_frac > 0 && c->sc->parallelism.schedule >= TSIM_SCHEDULE_ZB_H1)
        refuse(c, "training.offload", "split backward passes whose activations go to the host's memory",
               "schedule: 1f1b or interleaved, or activations: 0");
}

static void check_generating_nodes(const struct check *c) {
    const struct tsim_generation_spec *g = &c->sc->generation;
    const struct tsim_cluster_spec *cluster = &c->sc->cluster;
    if (g->nodes > 0 && g->nodes >= cluster->nodes)
        tsim_diag_hint(FAIL(c, "generation.nodes", "%lld of %lld nodes generate, and none is left to train",
                            num(g->nodes), num(cluster->nodes)),
                       "fewer than cluster.nodes, which counts both");
    if (g->nodes > 0 && cluster->fabric && cluster->fabric->topology == TSIM_TOPOLOGY_TORUS)
        refuse(c, "generation.nodes", "a torus of which some nodes generate alone",
               "a fabric with switches, or nodes: 0");
    if (g->ahead > 0 && g->nodes == 0)
        tsim_diag_hint(
            FAIL(c, "generation.ahead", "accelerators that generate and train in turn do not do both at once"),
            "generation.nodes says how many generate alone");
}

/* Checks that a text that is sampled with each evaluation can be: token by token, by the plan that trains. */
static void check_sampled_text(const struct check *c) {
    const struct tsim_model *model = c->sc->model;
    bool writes = model->kind == TSIM_MODEL_TRANSFORMER && model->causal && !model->list && !model->recurrent &&
                  model->memory == 0;
    if (c->sc->training.evaluation.tokens > 0 && (!writes || c->sc->parallelism.context > 1))
        refuse(c, "training.evaluation.tokens",
               writes ? "text that context ranks sample" : "text that this kind of model samples",
               "training.evaluation.samples alone, or training.evaluation.time");
}

/* Checks that whole steps train on the samples of a round. */
static void check_generation(const struct check *c) {
    const struct tsim_generation_spec *g = &c->sc->generation;
    const struct tsim_training_spec *t = &c->sc->training;
    if (!tsim_generates(c->sc)) {
        if (g->nodes || g->ahead || g->tensor || g->expert || g->rollouts || g->samples_per_prompt ||
            g->max_sequences || g->prompt > 0 || g->software || tsim_draft_has(c->draft, "generation.precision"))
            tsim_diag_hint(FAIL(c, "generation", "only grpo and ppo train on what the policy generates"),
                           "training.kind: grpo");
        return;
    }
    if (c->sc->model->recurrent || c->sc->model->memory > 0)
        refuse(c, "training.kind",
               c->sc->model->recurrent ? "generation with LSTM cells" : "generation with segments of earlier tokens",
               "a model of other layers, or kind: sft");
    check_generating_nodes(c);
    if (tsim_generating_accelerators(c->sc) % g->tensor != 0)
        tsim_diag_hint(FAIL(c, "generation.tensor", "%lld ranks do not divide %lld accelerators", num(g->tensor),
                            num(tsim_generating_accelerators(c->sc))),
                       "a divisor of the number of accelerators that generate");
    if (c->sc->model->heads % g->tensor != 0)
        tsim_diag_hint(FAIL(c, "generation.tensor", "%lld ranks do not divide the %lld heads of %.40s", num(g->tensor),
                            num(c->sc->model->heads), c->sc->model->name),
                       "a divisor of both heads and accelerators");
    int64_t engines = tsim_generating_accelerators(c->sc) / g->tensor, experts = c->sc->model->experts.count;
    if (g->expert > 1 && (experts % g->expert != 0 || experts == 0 || engines % g->expert != 0))
        tsim_diag_hint(FAIL(c, "generation.expert", "%lld engines cannot share %lld experts, of %lld engines",
                            num(g->expert), num(experts), num(engines)),
                       "a divisor of the number of experts and of the engines, which are accelerators / "
                       "generation.tensor");
    int64_t of_step = tsim_is_packed(c->sc) ? 1 : t->global_batch_size,
            rollouts = g->rollouts > 0 ? g->rollouts : of_step;
    if (rollouts % of_step != 0)
        tsim_diag_hint(
            FAIL(c, "generation.rollouts", "%lld samples are not whole batches of %lld", num(rollouts), num(of_step)),
            "a multiple of training.global_batch_size");
    bool is_known = g->rollouts > 0 || !tsim_is_packed(c->sc);
    if (is_known && g->samples_per_prompt > 0 && rollouts % g->samples_per_prompt != 0)
        tsim_diag_hint(FAIL(c, "generation.samples_per_prompt", "%lld samples are not whole prompts of %lld",
                            num(rollouts), num(g->samples_per_prompt)),
                       "a divisor of generation.rollouts, which is training.global_batch_size unless set");
    if (!(g->prompt < (double)t->sequence_length) || (t->lengths.mean > 0 && !(g->prompt < t->lengths.mean)))
        tsim_diag_hint(FAIL(c, "generation.prompt", "a prompt of %g tokens leaves nothing to generate", g->prompt),
                       "less than the tokens of a sample (training.lengths.mean, training.sequence_length)");
}

/* A teacher runs forward over the same samples, divided as the student is. */
static void check_teacher(const struct check *c) {
    const struct tsim_training_spec *t = &c->sc->training;
    const struct tsim_model *student = c->sc->model, *teacher = t->teacher;
    if (t->kind == TSIM_DISTILL && !teacher)
        tsim_diag_hint(FAIL(c, "training.kind", "no teacher is named"), "training.teacher: a model");
    if (t->kind != TSIM_DISTILL && teacher)
        tsim_diag_hint(FAIL(c, "training.teacher", "only distill has a teacher"), "training.kind: distill");
    if (t->kind != TSIM_DISTILL || !teacher)
        return;
    bool are_alike = (student->list || student->image.patch > 0) == (teacher->list || teacher->image.patch > 0) &&
                     (student->diffusion.values > 0) == (teacher->diffusion.values > 0) &&
                     student->encoder_layers == 0 && teacher->encoder_layers == 0;
    if (!are_alike)
        tsim_diag_hint(
            FAIL(c, "training.teacher", "%.40s and %.40s do not take the same samples", student->name, teacher->name),
            "both models of one stack on tokens, or both on images or records");
    if (c->sc->parallelism.expert > 1 && (teacher->experts.count == 0 || !student->experts.count ||
                                          teacher->experts.count % c->sc->parallelism.expert != 0))
        refuse(c, "training.teacher", "a teacher whose experts do not divide over the expert ranks", "expert: 1");
    if (teacher->layers < tsim_n_model_parts(&c->sc->parallelism))
        tsim_diag_hint(FAIL(c, "training.teacher", "%.40s has fewer layers than the pipeline has parts", teacher->name),
                       "a shorter pipeline");
    struct tsim_draft draft = *c->draft;
    draft.scenario.model = teacher;
    struct check of_teacher = {&draft, &draft.scenario, c->reader};
    if (are_alike && !teacher->list && !(teacher->image.patch > 0) && check_tensor(&of_teacher))
        check_sequence(&of_teacher);
}

/* Post-training is for decoders of language alone. */
static void check_kind(const struct check *c) {
    const struct tsim_training_spec *t = &c->sc->training;
    const struct tsim_model *model = c->sc->model;
    check_teacher(c);
    if ((t->kind <= TSIM_SFT || t->kind == TSIM_DISTILL) && t->scoring)
        tsim_diag_hint(FAIL(c, "training.scoring", "only dpo, grpo and ppo score their samples"),
                       "training.kind: grpo");
    if (t->kind == TSIM_DPO && t->scoring != 1u << TSIM_SCORER_REFERENCE)
        tsim_diag_hint(FAIL(c, "training.scoring", "dpo compares the policy with one reference"), "[reference]");
    if (t->kind == TSIM_GRPO && t->scoring & 1u << TSIM_SCORER_CRITIC)
        tsim_diag_hint(
            FAIL(c, "training.scoring", "grpo has no critic: it uses the mean of a prompt's samples instead"),
            "training.kind: ppo");
    if (t->kind == TSIM_PPO && !(t->scoring & 1u << TSIM_SCORER_CRITIC))
        tsim_diag_hint(WARN(c, "training.scoring", "ppo without a critic takes what grpo takes"),
                       "add critic, which is trained, too");
    bool is_of_decoders = t->kind > TSIM_SFT && t->kind != TSIM_DISTILL;
    if (is_of_decoders && (model->kind != TSIM_MODEL_TRANSFORMER || !model->causal || model->list ||
                           model->encoder_layers > 0 || model->image.patch > 0 || model->diffusion.values > 0))
        tsim_diag_hint(FAIL(c, "training.kind", "%.40s is not a decoder of language", model->name),
                       "training.kind: pretrain");
    if (t->kind > TSIM_SFT && t->batch_ramp.from > 0)
        refuse(c, "training.batch_ramp", "a batch that grows in post-training", "no batch_ramp");
    if (t->kind == TSIM_DPO && t->global_batch_size % 2 != 0)
        tsim_diag_hint(
            FAIL(c, "training.global_batch_size", "%lld samples are not whole pairs", num(t->global_batch_size)),
            "an even number: a chosen and a rejected sample for each pair");
    check_generation(c);
    check_sampled_text(c);
    if (!(t->lengths.mean > 0)) {
        if (t->lengths.cv > 0 || t->lengths.batching != TSIM_BATCHING_PACKED)
            tsim_diag_hint(FAIL(c, "training.lengths", "the mean is missing"),
                           "mean: the average number of tokens of a sample");
        return;
    }
    if (t->kind == TSIM_PRETRAIN)
        tsim_diag_hint(FAIL(c, "training.lengths", "samples of many lengths are for fine-tuning only"),
                       "training.kind: sft");
    if (c->sc->model->list || c->sc->model->encoder_layers > 0 || c->sc->model->image.patch > 0 ||
        c->sc->model->diffusion.values > 0)
        tsim_diag_hint(FAIL(c, "training.lengths", "the samples of %.40s all have the same length", c->sc->model->name),
                       "only language models of one stack have samples of many lengths");
    if (t->lengths.mean > (double)t->sequence_length)
        tsim_diag_hint(FAIL(c, "training.lengths.mean", "%g, but samples are cut at %lld tokens", t->lengths.mean,
                            num(t->sequence_length)),
                       "sequence_length: the longest sample that is taken");
}

/* Adapters stand beside products of a transformer that each token meets. */
static void check_adapter(const struct check *c) {
    enum {
        OF_FFN = 1u << TSIM_TARGET_GATE_UP | 1u << TSIM_TARGET_GATE | 1u << TSIM_TARGET_UP | 1u << TSIM_TARGET_DOWN
    };
    const struct tsim_training_spec *t = &c->sc->training;
    const struct tsim_adapter_spec *a = &t->adapter;
    const struct tsim_model *m = c->sc->model;
    if (a->kind == TSIM_ADAPTER_NONE) {
        if (a->rank > 0 || a->targets || a->base_precision != TSIM_BASE_AS_TRAINING || a->dropout_frac > 0)
            tsim_diag_hint(FAIL(c, "training.adapter", "its other keys need a kind"), "kind: lora, or qlora");
        return;
    }
    if (m->list || m->encoder_layers > 0)
        tsim_diag_hint(FAIL(c, "training.adapter", "adapters of %.40s are not modelled", m->name),
                       "adapters need a transformer with a single stack of layers");
    if (a->experts != TSIM_ADAPTERS_OF_EACH && !(m->experts.count > 0 && a->targets & OF_FFN))
        WARN(c, "training.adapter.experts", "this has no effect, because no product of experts is among the targets");
    if (m->memory > 0 || m->generator.layers > 0)
        tsim_diag_hint(FAIL(c, "training.adapter", "adapters of %.40s are not modelled", m->name), "kind: none");
    if (a->targets & ~tsim_adapter_targets(m))
        tsim_diag_hint(FAIL(c, "training.adapter.targets", "no layer of %.40s has some of these products", m->name),
                       "without targets, all products that its layers have");
    if (!m->gated_mlp && a->targets & 1u << TSIM_TARGET_GATE)
        tsim_diag_hint(FAIL(c, "training.adapter.targets", "%.40s has no gate", m->name), "up is its first product");
    if (a->kind == TSIM_ADAPTER_LORA && a->base_precision != TSIM_BASE_AS_TRAINING)
        tsim_diag_hint(FAIL(c, "training.adapter.base_precision", "with lora the weights are as in training"),
                       "kind: qlora");
    if (a->kind == TSIM_ADAPTER_QLORA && a->base_precision == TSIM_BASE_AS_TRAINING)
        tsim_diag_hint(FAIL(c, "training.adapter.base_precision", "with qlora the weights are quantized"),
                       "nf4 or int8, or kind: lora");
    if (t->optimizer == TSIM_GALORE_8BIT || t->optimizer == TSIM_ADAFACTOR || t->optimizer == TSIM_MUON)
        refuse(c, "training.optimizer", "optimizers that work on the matrices of adapters", "optimizer: adamw");
    if (c->sc->parallelism.schedule >= TSIM_SCHEDULE_ZB_H1)
        refuse(c, "training.adapter", "split backward passes of a frozen model", "schedule: 1f1b or interleaved");
    if (tsim_streams_weights(c->sc))
        refuse(c, "training.adapter", "a frozen model whose weights are streamed", "another accelerator");
}

/* Stages would each have a copy of the blocks that their layers share. */
static void check_shared(const struct check *c) {
    if (c->sc->model->shared.blocks > 0 && c->sc->parallelism.pipeline > 1)
        refuse(c, "parallelism.pipeline", "stages whose layers share weights", "pipeline: 1");
}

/* Each rank needs whole gradients to compress, and keeps the part of each that it did not send. */
static void check_compression(const struct check *c) {
    const struct tsim_training_spec *t = &c->sc->training;
    const struct tsim_compression_spec *compression = &t->compression;
    bool is_adam = t->optimizer == TSIM_ADAM || t->optimizer == TSIM_ADAMW || t->optimizer == TSIM_LAMB;
    if (compression->fraction > 0 && compression->kind != TSIM_TOP_K)
        WARN(c, "training.compression.fraction", "this has no effect, because kind is not top-k");
    if (compression->rank > 0 && compression->kind != TSIM_POWERSGD)
        WARN(c, "training.compression.rank", "this has no effect, because kind is not powersgd");
    if (compression->kind == TSIM_UNCOMPRESSED)
        return;
    if (c->draft->zero > 0)
        tsim_diag_hint(
            FAIL(c, "parallelism.zero", "%lld, but only whole gradients are compressed", num(c->draft->zero)),
            "zero: 0, or no training.compression");
    if (compression->kind == TSIM_ONE_BIT && !is_adam)
        tsim_diag_hint(FAIL(c, "training.optimizer", "1-bit compression works on Adam's momentum"),
                       "adam, adamw or lamb; or training.compression.kind: top-k");
    if (compression->kind == TSIM_POWERSGD && c->sc->parallelism.tensor > 1)
        refuse(c, "training.compression", "PowerSGD of matrices that tensor ranks divide", "tensor: 1, or kind: top-k");
    if (t->updates_by_layer)
        refuse(c, "training.compression", "compressed gradients that are freed layer by layer",
               "per_layer_updates: false");
    if (t->adapter.kind != TSIM_ADAPTER_NONE)
        refuse(c, "training.compression", "compressed gradients of adapters", "no training.compression");
    if (tsim_streams_weights(c->sc))
        refuse(c, "training.compression", "compressed gradients that are summed on their way out",
               "another accelerator, or no training.compression");
    if (!tsim_is_replicated(&c->sc->parallelism, c->draft->data))
        WARN(c, "training.compression", "this has no effect, because there is only one replica");
}

/* Gradients are gone before they could be added up, clipped by their norm or sharded. */
static void check_updates(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    const struct tsim_training_spec *t = &c->sc->training;
    bool is_wide = t->precision == TSIM_FP32 || t->precision == TSIM_TF32;
    if (is_wide && tsim_draft_has(c->draft, "training.master_weights"))
        WARN(c, "training.master_weights", "this has no effect, because the weights themselves have 32 bits");
    if (t->state_precision != TSIM_FP32 && !tsim_keeps_whole_moments(t->optimizer))
        WARN(c, "training.state_precision", "this has no effect, because this optimizer keeps no full moments");
    if (t->precision != TSIM_FP16 && (t->loss_scaling.growth_interval > 0 || t->loss_scaling.skipped > 0))
        WARN(c, "training.loss_scaling", "this has no effect, because precision is %s",
             tsim_precision_name(t->precision));
    if (!t->updates_by_layer)
        return;
    if (p->pipeline > 1)
        tsim_diag_hint(FAIL(c, "training.per_layer_updates",
                            "with pipeline %lld other micro-batches are still under way", num(p->pipeline)),
                       "pipeline: 1");
    if (t->global_batch_size > t->micro_batch_size * c->draft->data)
        tsim_diag_hint(FAIL(c, "training.per_layer_updates", "gradients of several micro-batches cannot be added up"),
                       "micro_batch_size: %lld, or per_layer_updates: false",
                       num(t->global_batch_size / c->draft->data));
    if (c->draft->zero >= 2 && c->draft->data > 1)
        tsim_diag_hint(FAIL(c, "training.per_layer_updates", "zero %lld frees gradients itself", num(c->draft->zero)),
                       "zero: 0 or 1");
}

static void check_layer_list(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    int64_t sum = 0;
    size_t n = c->draft->n_layers, n_empty_between = 0;
    for (size_t i = 0; i < n; i++) {
        sum += c->draft->layers[i];
        n_empty_between += c->draft->layers[i] == 0 && i > 0 && i + 1 < n;
    }
    if ((int64_t)n != tsim_n_model_parts(p) && p->schedule >= TSIM_SCHEDULE_ZB_V)
        tsim_diag_hint(FAIL(c, "parallelism.layers_per_stage",
                            "there are %zu entries for %s, which has %lld parts with pipeline %lld", n,
                            tsim_schedule_name(p->schedule), num(tsim_n_model_parts(p)), num(p->pipeline)),
                       "one entry for each part, in model order");
    else if ((int64_t)n != tsim_n_model_parts(p))
        tsim_diag_hint(FAIL(c, "parallelism.layers_per_stage",
                            "there are %zu entries for pipeline %lld x virtual_pipeline %lld = %lld chunks", n,
                            num(p->pipeline), num(p->virtual_pipeline), num(p->pipeline * p->virtual_pipeline)),
                       "one entry for each chunk, in model order");
    else if (sum != c->sc->model->layers)
        tsim_diag_hint(FAIL(c, "parallelism.layers_per_stage", "the entries add up to %lld, but %.40s has %lld layers",
                            num(sum), c->sc->model->name, num(c->sc->model->layers)),
                       "make them add up, or leave it to 'auto'");
    else if (n_empty_between > 0)
        tsim_diag_hint(FAIL(c, "parallelism.layers_per_stage", "a chunk between the first and the last has no layers"),
                       "only the chunks with the embedding and the head can have none");
}

static struct tsim_diag *fail_split(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    int64_t layers = c->sc->model->layers, n_chunks = tsim_n_model_parts(p);
    if (p->schedule == TSIM_SCHEDULE_ZB_V)
        return FAIL(c, "parallelism.pipeline", "%lld layers do not split into 2 x pipeline %lld = %lld parts of zb-v",
                    num(layers), num(p->pipeline), num(n_chunks));
    return FAIL(c, p->pipeline > 1 ? "parallelism.pipeline" : "parallelism.virtual_pipeline",
                "%lld layers do not split into pipeline %lld x virtual_pipeline %lld = %lld chunks", num(layers),
                num(p->pipeline), num(p->virtual_pipeline), num(n_chunks));
}

/* DualPipe pairs stages: false when their number is odd. */
static bool check_pairs(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    if (p->schedule != TSIM_SCHEDULE_DUALPIPE || p->pipeline % 2 == 0)
        return true;
    char text[64];
    nearest_values(c, pipeline_works, pipeline_divides_layers, p->pipeline, c->sc->model->layers, text);
    tsim_diag_hint(
        FAIL(c, "parallelism.pipeline", "dualpipe needs an even number of stages, not %lld", num(p->pipeline)),
        "nearest that works: %s%s%sschedule: zb-h1", text[0] ? "pipeline " : "", text, text[0] ? "; or " : "");
    return false;
}

/* Returns false if no list gives the layers and they do not split. */
static bool check_layers(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    int64_t layers = c->sc->model->layers;
    if (!check_pairs(c))
        return false;
    if (c->draft->layers) {
        check_layer_list(c);
        return true;
    }
    if (p->balances ? tsim_n_model_parts(p) <= layers : pipeline_divides_layers(c, p->pipeline))
        return true;
    struct tsim_diag *diag = fail_split(c);
    char text[64];
    nearest_values(c, pipeline_works, pipeline_divides_layers, p->pipeline, layers, text);
    tsim_diag_hint(diag, "nearest that works: %s%s%slayers_per_stage: balance, or a list", text[0] ? "pipeline " : "",
                   text, text[0] ? "; or " : "");
    return false;
}

/* ---- experts ---- */

static bool expert_works(const struct check *c, int64_t expert) {
    struct tsim_parallelism_spec p = c->sc->parallelism;
    p.expert = expert;
    p.data = c->draft->data;
    return tsim_experts_divide(c->sc->model->experts.count, &p);
}

static bool check_expert_tensor(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    if (p->expert_tensor == 0 || p->expert_tensor == p->tensor)
        return true;
    if (p->expert_tensor != 1)
        tsim_diag_hint(
            FAIL(c, "parallelism.expert_tensor", "%lld with tensor %lld", num(p->expert_tensor), num(p->tensor)),
            "1 or %lld", num(p->tensor));
    else if (!p->sequence)
        tsim_diag_hint(FAIL(c, "parallelism.expert_tensor",
                            "1 with tensor %lld needs sequence parallelism: each rank routes tokens of its own",
                            num(p->tensor)),
                       "sequence: true, or expert_tensor: %lld", num(p->tensor));
    return p->expert_tensor == 1;
}

/* Experts are divided over ranks that are replicas of everything else, or that share the sequence. */
static void check_experts(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    int64_t expert = p->expert, count = c->sc->model->experts.count;
    struct tsim_diag *diag;
    if (!check_expert_tensor(c))
        return;
    if (expert == 1 || (count > 0 && expert_works(c, expert)))
        return;
    if (count == 0) {
        tsim_diag_hint(FAIL(c, "parallelism.expert", "%lld, but %.40s has no experts", num(expert), c->sc->model->name),
                       "expert: 1");
        return;
    }
    if (expert > count)
        diag = FAIL(c, "parallelism.expert", "%lld ranks are more than the %lld experts of %.40s", num(expert),
                    num(count), c->sc->model->name);
    else if (count % expert != 0)
        diag = FAIL(c, "parallelism.expert", "%lld does not divide the %lld experts of %.40s", num(expert), num(count),
                    c->sc->model->name);
    else
        diag = FAIL(c, "parallelism.expert", "%lld ranks do not fit into tensor %lld x context %lld x data %lld",
                    num(expert), num(p->tensor / tsim_expert_tensor(p)), num(p->context), num(c->draft->data));
    char text[64];
    nearest_values(c, expert_works, expert_works, expert, count, text);
    tsim_diag_hint(diag, "nearest that works: expert %s", text); /* 1 always does */
}

/* ---- sharding ---- */

static void check_zero(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    int64_t ranks = c->draft->data * p->context;
    if (c->draft->zero == 3 && p->pipeline > 1)
        tsim_diag_hint(FAIL(c, "parallelism.zero", "3 cannot be combined with pipeline %lld", num(p->pipeline)),
                       "zero: 1 with the pipeline, or pipeline: 1 with zero: 3");
    /* Ranks that hold the same experts are those of a sharding group, on all tensor ranks that experts lie on. */
    int64_t group = c->draft->zero_group * (p->tensor / tsim_expert_tensor(p)), expert = p->expert;
    if (group > 0 && expert > 1 && group % expert != 0 && expert % group != 0)
        tsim_diag_hint(FAIL(c, "parallelism.zero_group", "%lld and expert %lld: neither divides the other",
                            num(c->draft->zero_group), num(expert)),
                       "all, or a multiple of %lld", num(expert));
    if (c->draft->zero_group > 0 && ranks % c->draft->zero_group != 0)
        tsim_diag_hint(FAIL(c, "parallelism.zero_group", "%lld does not divide data %lld x context %lld = %lld ranks",
                            num(c->draft->zero_group), num(c->draft->data), num(p->context), num(ranks)),
                       "all, node, or a divisor of %lld", num(ranks));
    if (c->draft->zero_group == -1 &&
        (c->sc->cluster.accelerators_per_node % p->tensor != 0 ||
         ranks % (c->sc->cluster.accelerators_per_node / p->tensor) != 0) &&
        ranks > c->sc->cluster.accelerators_per_node / p->tensor)
        tsim_diag_hint(FAIL(c, "parallelism.zero_group",
                            "nodes of %lld with tensor %lld do not cut data %lld x context %lld into equal groups",
                            num(c->sc->cluster.accelerators_per_node), num(p->tensor), num(c->draft->data),
                            num(p->context)),
                       "all, or a divisor of %lld", num(ranks));
}

/* ---- a pipeline that is never flushed ---- */

static void check_asynchronous(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    const char *name = tsim_schedule_name(p->schedule);
    if (!tsim_is_asynchronous(p->schedule) || p->pipeline == 1)
        return;
    if (c->draft->zero > 0)
        tsim_diag_hint(
            FAIL(c, "parallelism.zero", "%lld, but %s keeps versions of whole weights", num(c->draft->zero), name),
            "zero: 0");
    if (c->sc->model->tied_embeddings || c->sc->model->mtp_modules > 0)
        refuse(c, "parallelism.schedule",
               "a table that the first and the last stage share, which are at different steps",
               "schedule: 1f1b, or a model with tied_embeddings: false");
    if (p->local_sgd.workers > 0 || c->sc->training.compression.kind != TSIM_UNCOMPRESSED)
        refuse(c, "parallelism.schedule", "a pipeline without flushes beside local SGD or compressed gradients",
               "schedule: 1f1b");
}

/* ---- workers that train apart ---- */

/* Servers take whole gradients, and keep what the optimizer does. */
static void check_parameter_server(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    const struct tsim_server_spec *s = &p->parameter_server;
    int64_t data = c->draft->data, workers = s->workers > 0 ? s->workers : data;
    if (s->servers == 0) {
        if (s->workers > 0 || s->is_synchronous)
            tsim_diag_hint(FAIL(c, "parallelism.parameter_server", "servers are missing"),
                           "parameter_server: {servers: %lld}", num(c->sc->cluster.nodes));
        return;
    }
    if (data % workers != 0 || workers > 4096)
        tsim_diag_hint(FAIL(c, "parallelism.parameter_server.workers", "%lld replicas do not divide into %lld workers",
                            num(data), num(workers)),
                       "a divisor of data, up to 4096");
    if (c->draft->zero > 0)
        tsim_diag_hint(
            FAIL(c, "parallelism.zero", "%lld, but the optimizer's state lies on the servers", num(c->draft->zero)),
            "zero: 0");
    if (p->local_sgd.workers > 0 || c->sc->training.compression.kind != TSIM_UNCOMPRESSED)
        refuse(c, "parallelism.parameter_server", "servers beside local SGD or compressed gradients", "one of them");
    if (c->sc->training.adapter.kind != TSIM_ADAPTER_NONE || c->sc->training.kind > TSIM_SFT)
        refuse(c, "parallelism.parameter_server", "adapters or post-training with parameter servers",
               "training.kind: pretrain or sft, without an adapter");
    if (c->sc->model->kind == TSIM_MODEL_DLRM)
        refuse(c, "parallelism.parameter_server", "tables of embeddings on parameter servers", "another model");
    if (!c->sc->cluster.fabric || c->sc->cluster.nodes == 1 || tsim_streams_weights(c->sc) ||
        c->sc->training.offload.optimizer)
        refuse(c, "parallelism.parameter_server",
               "servers of one node or of a cluster without a fabric, of streamed weights or of an offloaded optimizer",
               "several nodes with a fabric, whose accelerators hold their weights");
    if (tsim_is_asynchronous(p->schedule) && p->pipeline > 1)
        refuse(c, "parallelism.schedule", "a pipeline without flushes beside parameter servers", "schedule: 1f1b");
    if (c->sc->variability.compute_cv > 0)
        refuse(c, "variability.compute_cv", "noise of workers of parameter servers", "variability.stragglers");
    if (c->sc->reliability.has)
        refuse(c, "reliability", "failures of workers that do not wait for each other", "no reliability");
}

static void check_local_sgd(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    const struct tsim_local_sgd_spec *l = &p->local_sgd;
    int64_t data = c->draft->data, ranks = l->workers > 0 ? data / l->workers * p->context : 0;
    if (l->workers == 0 && l->steps == 0)
        return;
    if (l->workers == 0 || l->steps == 0) {
        tsim_diag_hint(FAIL(c, "parallelism.local_sgd", "%s missing", l->steps == 0 ? "steps are" : "workers are"),
                       "local_sgd: {workers: %lld, steps: 100}", num(data));
        return;
    }
    if (l->workers < 2 || data % l->workers != 0) {
        tsim_diag_hint(
            FAIL(c, "parallelism.local_sgd.workers", "%lld replicas are not %lld workers", num(data), num(l->workers)),
            "a divisor of data, from 2 on");
        return;
    }
    if (c->draft->zero == 3)
        refuse(c, "parallelism.zero", "workers of local SGD that share weights out (zero 3)", "zero: 0, 1 or 2");
    if (c->draft->zero_group != 0 && c->draft->zero_group != ranks)
        refuse(c, "parallelism.zero_group", "workers of local SGD that are not the groups that shard",
               "zero_group: all, which is a worker's ranks");
    if (p->expert > 1 && ranks % p->expert != 0)
        tsim_diag_hint(
            FAIL(c, "parallelism.expert", "%lld ranks are more than a worker of local SGD has", num(p->expert)),
            "a divisor of %lld", num(ranks));
    if (c->sc->training.compression.kind != TSIM_UNCOMPRESSED)
        refuse(c, "training.compression", "compressed gradients of workers of local SGD", "one of the two");
    if (c->sc->training.adapter.kind != TSIM_ADAPTER_NONE)
        refuse(c, "training.adapter", "adapters that workers of local SGD train", "no parallelism.local_sgd");
    if (tsim_streams_weights(c->sc))
        refuse(c, "parallelism.local_sgd", "workers of local SGD whose weights are streamed", "another accelerator");
    if (c->sc->simulation.network == TSIM_NETWORK_STEPS)
        refuse(c, "simulation.network", "the part of an exchange that falls to a step, message by message",
               "network: fluid");
    if (c->sc->variability.compute_cv > 0 || c->sc->variability.straggler_frac > 0)
        refuse(c, "variability", "workers of local SGD that do not wait for slower ones", "no variability");
}

/* ---- settings without effect, and settings that surprise ---- */

static void check_caveat(const struct check *c, const char *path, int64_t degree, const char *caveat) {
    if (degree > 1 && caveat && *caveat)
        WARN(c, path, "with %s, %s", c->sc->software->name, caveat);
}

/* Checks that the software knows the accelerator: it knows those of its year, and those that its makers had before
 * others. */
static void check_year(const struct check *c) {
    const struct tsim_software *software = c->sc->software;
    const struct tsim_accelerator *accelerator = c->sc->cluster.node->accelerator;
    if (software->year > 0 && accelerator->year > software->year + 1)
        tsim_diag_hint(WARN(c, "software",
                            "%s is software of %lld, and %s came in %lld: the software has no kernels made for it",
                            software->name, num(software->year), accelerator->name, num(accelerator->year)),
                       "a later profile (tsim list software), or this one if the job does run old software");
}

static void check_caveats(const struct check *c) {
    const struct tsim_caveats *caveats = &c->sc->software->caveats;
    check_year(c);
    check_caveat(c, "parallelism.tensor", c->sc->parallelism.tensor, caveats->tensor);
    check_caveat(c, "parallelism.pipeline", c->sc->parallelism.pipeline, caveats->pipeline);
    check_caveat(c, "parallelism.context", c->sc->parallelism.context, caveats->context);
}

static void check_gathers(const struct check *c) {
    const char *obstacle = tsim_products_obstacle(c->sc);
    if (obstacle && c->draft->zero == 3 && c->sc->software->gather_unit == TSIM_UNIT_PRODUCT)
        WARN(c, "software", "%s gathers the weights of one product at a time, but %s tsim gathers whole layers",
             c->sc->software->name, obstacle);
}

/* Checks that exchanges of experts have a pass of the other direction, of another micro-batch, under which they
 * hide. */
static void check_hidden_exchanges(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    const struct tsim_training_spec *t = &c->sc->training;
    static const char PATH[] = "parallelism.overlap.expert";
    enum tsim_schedule schedule = tsim_played_schedule(p);
    bool has_one = c->draft->data > 0 && t->global_batch_size == t->micro_batch_size * c->draft->data;
    if (!(p->overlap.expert && p->expert > 1 && tsim_draft_has(c->draft, PATH)))
        return;
    if (schedule == TSIM_SCHEDULE_GPIPE || schedule == TSIM_SCHEDULE_SEQUENTIAL)
        WARN(c, PATH,
             "this has no effect, because forward and backward passes of two micro-batches do not take "
             "turns in %s",
             tsim_schedule_name(schedule));
    else if (has_one)
        WARN(c, PATH, "this has no effect, because a replica has one micro-batch");
}

static void check_effects(const struct check *c) {
    const struct tsim_parallelism_spec *p = &c->sc->parallelism;
    const struct tsim_draft *draft = c->draft;
    if (p->tensor == 1 && p->sequence && tsim_draft_has(draft, "parallelism.sequence"))
        WARN(c, "parallelism.sequence", "this has no effect, because tensor is 1");
    check_hidden_exchanges(c);
    bool is_torus = c->sc->cluster.fabric && c->sc->cluster.fabric->topology == TSIM_TOPOLOGY_TORUS;
    if (p->tensor > c->sc->cluster.accelerators_per_node && !is_torus)
        WARN(c, "parallelism.tensor",
             "tensor groups of %lld ranks are larger than a node of %lld, so their traffic crosses the fabric",
             num(p->tensor), num(c->sc->cluster.accelerators_per_node));
    if (tsim_played_schedule(p) != p->schedule)
        WARN(c, "parallelism.schedule", "%s is 1f1b when %s is 1", tsim_schedule_name(p->schedule),
             p->schedule == TSIM_SCHEDULE_INTERLEAVED ? "virtual_pipeline" : "pipeline");
    if (draft->zero > 0 && !tsim_is_replicated(p, draft->data) && tsim_draft_has(draft, "parallelism.zero"))
        WARN(c, "parallelism.zero", "this has no effect, because there is only one replica");
    if (draft->zero < 3 && p->prefetch != 1)
        WARN(c, "parallelism.prefetch", "this has no effect, because zero is not 3");
    if (draft->zero < 3 && !p->reshard_after_forward)
        WARN(c, "parallelism.reshard_after_forward", "this has no effect, because zero is not 3");
    if (p->context == 1 && p->context_exchange != TSIM_CONTEXT_RING &&
        tsim_draft_has(draft, "parallelism.context_exchange"))
        WARN(c, "parallelism.context_exchange", "this has no effect, because context is 1");
    if (draft->zero == 0 && draft->zero_group != 0 && draft->zero_group != draft->data * p->context)
        WARN(c, "parallelism.zero_group", "this has no effect, because zero is 0");
}

/* Returns false if the number of accelerators is wrong. */
static bool check_job(const struct check *c) {
    check_name(c);
    if (!check_listed_model(c))
        return false;
    check_length(c);
    check_goal(c);
    check_prices(c);
    check_simulation(c);
    tsim_draft_check_links(c->draft, c->reader);
    tsim_draft_check_data(c->draft, c->reader);
    bool can_split = check_cluster(c);
    check_precision(c);
    check_own_software(c);
    check_execution(c);
    check_attention(c);
    tsim_draft_check_reliability(c->draft, c->reader);
    return can_split;
}

void tsim_draft_validate_job(const struct tsim_draft *draft, struct tsim_reader *reader) {
    struct check check = {draft, &draft->scenario, reader};
    check_job(&check);
}

/* A search consists of runs, so it needs their length. */
static void check_search(const struct check *c) {
    const struct tsim_search_spec *s = &c->sc->search;
    if (s->method == TSIM_SEARCH_HALVING && s->trials < 2)
        tsim_diag_hint(FAIL(c, "search.trials", "%lld trials are not a search", num(s->trials)), "trials: 27");
    if (s->method == TSIM_SEARCH_HYPERBAND && s->trials > 0)
        tsim_diag_hint(FAIL(c, "search.trials", "the number of hyperband's trials follows from eta and least"),
                       "method: halving, or no trials");
    if (s->method == TSIM_SEARCH_NONE && (s->trials > 0 || s->at_once > 1))
        tsim_diag_hint(FAIL(c, "search.method", "none, but trials are asked for"), "method: halving");
    if (s->method != TSIM_SEARCH_NONE && c->sc->training.length_kind == TSIM_LENGTH_NONE)
        tsim_diag_hint(FAIL(c, "search", "the trials have no length"), "training.tokens, samples, steps or epochs");
}

void tsim_draft_validate(const struct tsim_draft *draft, struct tsim_reader *reader) {
    struct check check = {draft, &draft->scenario, reader};
    const struct check *c = &check;
    bool can_split = check_job(c);
    if (!can_split && c->sc->model->list)
        return;
    tsim_draft_check_stages(draft, reader);
    can_split &= check_tensor(c);
    check_sequence(c);
    check_recomputed_operators(c);
    check_stacks(c);
    check_tower(c);
    check_segments(c);
    check_cells(c);
    check_schedule(c);
    check_runs(c);
    can_split &= check_layers(c);
    if (can_split && check_degrees(c)) {
        check_batch(c);
        check_updates(c);
        check_offload(c);
        check_adapter(c);
        check_shared(c);
        check_compression(c);
        check_kind(c);
        check_experts(c);
        check_zero(c);
        check_asynchronous(c);
        check_local_sgd(c);
        check_parameter_server(c);
        check_search(c);
        check_effects(c);
        check_gathers(c);
        check_caveats(c);
    }
}

void tsim_draft_check_software(const struct tsim_draft *draft, struct tsim_reader *reader) {
    struct tsim_unsupported list[TSIM_MOST_UNSUPPORTED];
    const char *software = draft->scenario.software->name;
    size_t n = tsim_draft_has(draft, "software") ? tsim_scenario_unsupported(reader->arena, &draft->scenario, list) : 0;
    for (size_t i = 0; i < n; i++) {
        if (!tsim_draft_has(draft, list[i].path))
            continue;
        struct tsim_diag *diag =
            tsim_value_warning(reader->diags, tsim_draft_place(draft, list[i].path), list[i].path,
                               "%.40s does not have %s; the run is simulated as if it had", software, list[i].what);
        if (list[i].has)
            tsim_diag_hint(diag, "it has %s (supports in models/software)", list[i].has);
    }
}
