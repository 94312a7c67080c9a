/* Throughput, FLOPs, energy and the whole run: what follows from the step's time. */
#include "report/terminal/explain_sections.h"
#include "report/terminal/explain_term_build.h"
#include "workload/executed.h"
#include "workload/local_shape.h"
#include "workload/model.h"

#include <math.h>
#include <string.h>

static const struct tsim_result *result_of(const struct tsim_terms *terms) {
    return terms->explanation->result;
}

/* A figure with a tree of its own, which is not repeated here. */
static const struct tsim_term *elsewhere(struct tsim_terms *terms, const char *name, double value,
                                         enum tsim_dimension dimension) {
    return tsim_term_given(terms, name, value, dimension,
                           tsim_arena_printf(terms->arena, "its own tree: tsim explain SCENARIO %s", name));
}

static const struct tsim_term *step_time(struct tsim_terms *terms) {
    if (!terms->step_time)
        terms->step_time = elsewhere(terms, "step.time_s", result_of(terms)->step.terms.time_s, TSIM_TIME_S);
    return terms->step_time;
}

static const struct tsim_term *batch(struct tsim_terms *terms) {
    return tsim_term_of_scenario(terms, "training.global_batch_size",
                                 (double)terms->scenario->training.global_batch_size, TSIM_COUNT);
}

static const struct tsim_term *sequence(struct tsim_terms *terms) {
    return tsim_term_of_scenario(terms, "training.sequence_length", (double)terms->scenario->training.sequence_length,
                                 TSIM_COUNT);
}

const struct tsim_term *tsim_term_tokens(struct tsim_terms *terms) {
    if (!terms->tokens)
        terms->tokens =
            tsim_term_times(terms, "tokens of a step", "batch x sequence", TSIM_COUNT, batch(terms), sequence(terms));
    return terms->tokens;
}

const struct tsim_term *tsim_term_accelerators(struct tsim_terms *terms) {
    const struct tsim_scenario *sc = terms->scenario;
    return tsim_term_times(terms, "accelerators", "nodes x accelerators of each", TSIM_COUNT,
                           tsim_term_of_scenario(terms, "cluster.nodes", (double)sc->cluster.nodes, TSIM_COUNT),
                           tsim_term_of_scenario(terms, "cluster.accelerators_per_node",
                                                 (double)sc->cluster.accelerators_per_node, TSIM_COUNT));
}

/* ---- the model ---- */

static const struct tsim_term *model_value(struct tsim_terms *terms, const char *key, int64_t value) {
    return tsim_term_of_file(terms, TSIM_CATALOGUE_MODELS, key, (double)value, TSIM_COUNT);
}

/* A part of the model is counted from these, as a set. */
enum { OF_LAYERS = 1, OF_HIDDEN = 2, OF_VOCAB = 4, OF_HEADS = 8, OF_FFN = 16, OF_EXPERTS = 32 };

static void add_part(struct tsim_terms *terms, struct tsim_term *sum, const char *name, const char *formula, double n,
                     unsigned dimensions) {
    const struct tsim_model *m = terms->scenario->model;
    const struct {
        unsigned of;
        const char *key;
        int64_t value;
    } ALL[] = {{OF_VOCAB, "vocab", m->vocab},
               {OF_LAYERS, "layers", m->layers},
               {OF_HIDDEN, "hidden", m->hidden},
               {OF_HEADS, "heads", m->heads},
               {OF_HEADS, "kv_heads", m->kv_heads},
               {OF_HEADS, "head_dim", m->head_dim},
               {OF_FFN, "ffn_hidden", m->ffn_hidden},
               {OF_EXPERTS, "experts.count", m->experts.count},
               {OF_EXPERTS, "experts.active", m->experts.active},
               {OF_EXPERTS, "experts.ffn_hidden", m->experts.ffn_hidden}};
    if (!(n > 0))
        return;
    struct tsim_term *part =
        tsim_term_new(terms, TSIM_TERM_OUTCOME, name,
                      tsim_arena_printf(terms->arena, "%s, counted (sim/workload/model.h)", formula), n, TSIM_COUNT);
    for (size_t i = 0; i < sizeof ALL / sizeof ALL[0]; i++)
        if (dimensions & ALL[i].of)
            tsim_term_add(terms, part, model_value(terms, ALL[i].key, ALL[i].value), 1);
    tsim_term_add(terms, sum, part, 1);
}

static const struct tsim_term *parameters_term(struct tsim_terms *terms, const char *name, double value) {
    const struct tsim_model *m = terms->scenario->model;
    if (m->list)
        return tsim_term_given(terms, name, value, TSIM_COUNT, "the list, layer by layer (sim/workload/layer_list.h)");
    struct tsim_end_parameters ends = tsim_model_ends(m);
    struct tsim_parts layers = tsim_model_layers(m, 0, m->layers);
    struct tsim_layer_parameters all = {0};
    for (int part = 0; part < TSIM_N_PARTS; part++) {
        double n = layers.times[part];
        struct tsim_layer_parameters p = {0};
        if (n > 0)
            p = tsim_layer_count(m, (enum tsim_part)part);
        all.attention += n * (p.attention + p.latent);
        all.norms += n * p.norms;
        all.ffn += n * p.ffn;
        all.cross += n * (p.cross + p.cross_norm);
        all.shared += n * (p.router + p.shared);
        all.experts += n * p.experts;
    }
    bool is_active = strcmp(name, "model.parameters") != 0 && m->experts.count > 0;
    double used_frac = is_active ? (double)m->experts.active / (double)m->experts.count : 1;
    struct tsim_term *sum = tsim_term_new(terms, TSIM_TERM_SUM, name, "part by part", (double)NAN, TSIM_COUNT);
    add_part(terms, sum, "embedding", "vocabulary x hidden, and learned positions", ends.embedding,
             OF_VOCAB | OF_HIDDEN);
    add_part(terms, sum, "attention", "layers x (queries, keys, values, output)", all.attention,
             OF_LAYERS | OF_HIDDEN | OF_HEADS);
    add_part(terms, sum, "feed-forward blocks", "layers without experts x matrices x hidden x inner", all.ffn,
             OF_LAYERS | OF_HIDDEN | OF_FFN);
    add_part(terms, sum, "cross attention", "decoder layers x (queries, keys, values, output, norm)", all.cross,
             OF_LAYERS | OF_HIDDEN | OF_HEADS);
    add_part(terms, sum, "experts", "layers with experts x (router, shared, experts of a token or all)",
             all.shared + used_frac * all.experts, OF_LAYERS | OF_HIDDEN | OF_EXPERTS);
    add_part(terms, sum, "norms", "two of each layer, and the last", all.norms + ends.final_norm,
             OF_LAYERS | OF_HIDDEN);
    add_part(terms, sum, "head", "vocabulary x hidden, unless tied to the embedding", ends.head, OF_VOCAB | OF_HIDDEN);
    add_part(terms, sum, "pooler", "hidden x hidden, and a bias", ends.pooler, OF_HIDDEN);
    return tsim_term_close(terms, sum, NULL);
}

static const struct tsim_term *active(struct tsim_terms *terms) {
    return parameters_term(terms, "model.active_parameters", result_of(terms)->step.active_parameters);
}

static const struct tsim_term *attention_flops(struct tsim_terms *terms, double factor) {
    const struct tsim_model *m = terms->scenario->model;
    double width = (tsim_model_key_dim(m) + (double)m->head_dim) / 2;
    struct tsim_term *term =
        tsim_term_new(terms, TSIM_TERM_PRODUCT, "attention",
                      tsim_arena_printf(terms->arena, "%.0f x layers x heads x dimension x sequence", factor),
                      (double)NAN, TSIM_FLOPS);
    tsim_term_add(terms, term,
                  tsim_term_given(terms, "FLOPs of a score and its use", factor, TSIM_FLOPS,
                                  "Chowdhery et al. 2022 (PaLM), appendix B: the full square"),
                  1);
    tsim_term_add(terms, term, model_value(terms, "layers", m->layers), 1);
    tsim_term_add(terms, term, model_value(terms, "heads", m->heads), 1);
    tsim_term_add(terms, term,
                  tsim_term_given(terms, "head dimension, mean of key and value", width, TSIM_COUNT,
                                  m->source ? m->source : "the scenario"),
                  1);
    tsim_term_add(terms, term, sequence(terms), 1);
    return tsim_term_close(terms, term, NULL);
}

static const struct tsim_term *list_flops(struct tsim_terms *terms, const char *name) {
    const struct tsim_model *m = terms->scenario->model;
    const struct tsim_term *of_sample =
        tsim_term_given(terms, "model FLOPs of a sample", tsim_model_flops_per_token(m, 1), TSIM_FLOPS,
                        "6 for each multiplication with addition of the list's products, 4 in the first layer "
                        "(sim/workload/layer_list.h)");
    return tsim_term_times(terms, name, "samples x FLOPs of each", TSIM_FLOPS, tsim_term_tokens(terms), of_sample);
}

static const struct tsim_term *stacked_flops(struct tsim_terms *terms, const char *name) {
    const struct tsim_training_spec *t = &terms->scenario->training;
    double flops = tsim_model_stacked_flops_per_token(terms->scenario->model, (double)t->sequence_length,
                                                      (double)t->decoder_sequence_length);
    const struct tsim_term *of_token = tsim_term_given(
        terms, "model FLOPs of a token of the encoder", flops, TSIM_FLOPS,
        "6 for each parameter of both stacks and token that meets it, 12 for each score (sim/workload/model.h)");
    return tsim_term_times(terms, name, "tokens x FLOPs of each", TSIM_FLOPS, tsim_term_tokens(terms), of_token);
}

static const struct tsim_term *model_flops(struct tsim_terms *terms, const char *name) {
    if (terms->scenario->model->list)
        return list_flops(terms, name);
    if (terms->scenario->model->encoder_layers > 0)
        return stacked_flops(terms, name);
    struct tsim_term *per_token = tsim_term_new(
        terms, TSIM_TERM_SUM, "model FLOPs of a token", "6 N + 12 L H Q T",
        tsim_model_flops_per_token(terms->scenario->model, (double)terms->scenario->training.sequence_length),
        TSIM_FLOPS);
    tsim_term_add(terms, per_token,
                  tsim_term_times(terms, "parameters", "6 x active parameters", TSIM_FLOPS,
                                  tsim_term_given(terms, "FLOPs of a parameter", 6, TSIM_FLOPS,
                                                  "multiply and add, forward, for inputs and for weights"),
                                  active(terms)),
                  1);
    tsim_term_add(terms, per_token, attention_flops(terms, 12), 1);
    return tsim_term_times(terms, name, "tokens x FLOPs of each", TSIM_FLOPS, tsim_term_tokens(terms),
                           tsim_term_close(terms, per_token, NULL));
}

static const struct tsim_term *hardware_flops(struct tsim_terms *terms, const char *name) {
    struct tsim_term *sum = tsim_term_new(terms, TSIM_TERM_SUM, name, "executed by the products, part by part",
                                          result_of(terms)->step.hardware_flops, TSIM_FLOPS);
    for (int part = 0; part < TSIM_N_PARTS; part++) {
        struct tsim_executed executed = tsim_executed_part(terms->scenario, (enum tsim_part)part);
        const struct {
            const char *name;
            double flops;
        } PHASES[] = {{"forward", executed.forward}, {"recomputed", executed.again}, {"backward", executed.backward}};
        for (size_t i = 0; i < sizeof PHASES / sizeof PHASES[0]; i++)
            if (executed.passes > 0 && PHASES[i].flops > 0)
                tsim_term_add(
                    terms, sum,
                    tsim_term_times(terms,
                                    tsim_arena_printf(terms->arena, "%s, %s",
                                                      tsim_layer_kind((enum tsim_part)part)->word, PHASES[i].name),
                                    "passes x FLOPs of one", TSIM_FLOPS,
                                    tsim_term_given(terms, "passes", executed.passes, TSIM_COUNT,
                                                    "layers x micro-batches x accelerators of a stage"),
                                    tsim_term_given(terms, "FLOPs of one", PHASES[i].flops, TSIM_FLOPS,
                                                    "its products: half the square of causal flash attention "
                                                    "(sim/workload/executed.h)")),
                    1);
    }
    return tsim_term_close(terms, sum, NULL);
}

/* ---- throughput ---- */

static const struct tsim_term *tokens_rate(struct tsim_terms *terms, const char *name) {
    return tsim_term_over(terms, name, "tokens / step time", TSIM_PER_S, tsim_term_tokens(terms), step_time(terms));
}

static const struct tsim_term *flops_rate(struct tsim_terms *terms, const char *name, const struct tsim_term *flops) {
    struct tsim_term *term = tsim_term_new(terms, TSIM_TERM_PRODUCT, name, "FLOPs / step time / accelerators",
                                           (double)NAN, TSIM_FLOPS_PER_S);
    tsim_term_add(terms, term, flops, 1);
    tsim_term_add(terms, term, step_time(terms), -1);
    tsim_term_add(terms, term, tsim_term_accelerators(terms), -1);
    return tsim_term_close(terms, term, NULL);
}

static const struct tsim_term *model_rate(struct tsim_terms *terms, const char *name) {
    return flops_rate(terms, name, model_flops(terms, "model.step_model_flops"));
}

static const struct tsim_term *hardware_rate(struct tsim_terms *terms, const char *name) {
    return flops_rate(terms, name, hardware_flops(terms, "model.step_hardware_flops"));
}

static const struct tsim_term *peak(struct tsim_terms *terms) {
    const struct tsim_accelerator *a = terms->scenario->cluster.node->accelerator;
    enum tsim_precision precision = terms->scenario->training.precision;
    return tsim_of_accelerator(&terms->recorder, a,
                               tsim_arena_printf(terms->arena, "peak.%s", tsim_precision_name(precision)),
                               a->peak_flops_per_s[precision], TSIM_FLOPS_PER_S)
        .term;
}

static const struct tsim_term *of_peak(struct tsim_terms *terms, const char *name, const struct tsim_term *rate) {
    return tsim_term_over(terms, name, "FLOP/s of an accelerator / peak", TSIM_FRACTION, rate, peak(terms));
}

static const struct tsim_term *throughput_term(struct tsim_terms *terms, const char *name) {
    if (strcmp(name, "throughput.tokens_per_s") == 0)
        return tokens_rate(terms, name);
    if (strcmp(name, "throughput.tokens_per_s_per_gpu") == 0)
        return tsim_term_over(terms, name, "tokens/s / accelerators", TSIM_PER_S,
                              tokens_rate(terms, "throughput.tokens_per_s"), tsim_term_accelerators(terms));
    if (strcmp(name, "throughput.samples_per_s") == 0)
        return tsim_term_over(terms, name, "batch / step time", TSIM_PER_S, batch(terms), step_time(terms));
    if (strcmp(name, "throughput.model_tflops_per_gpu") == 0)
        return model_rate(terms, name);
    if (strcmp(name, "throughput.hardware_tflops_per_gpu") == 0)
        return hardware_rate(terms, name);
    if (strcmp(name, "throughput.mfu") == 0)
        return of_peak(terms, name, model_rate(terms, "throughput.model_tflops_per_gpu"));
    if (strcmp(name, "throughput.hfu") != 0)
        return NULL;
    return of_peak(terms, name, hardware_rate(terms, "throughput.hardware_tflops_per_gpu"));
}

static const struct tsim_term *fraction_term(struct tsim_terms *terms, const char *name) {
    const struct tsim_step_terms *t = &result_of(terms)->step.terms;
    bool is_bubble = strcmp(name, "fractions.bubble") == 0, is_stall = strcmp(name, "fractions.data_stall") == 0;
    const char *part = is_bubble ? "step.bubble_s" : is_stall ? "step.data_stall_s" : "step.communication_exposed_s";
    double part_s = is_bubble ? t->bubble_s : is_stall ? t->data_stall_s : t->communication_exposed_s;
    return tsim_term_over(terms, name, "its time / step time", TSIM_FRACTION,
                          elsewhere(terms, part, part_s, TSIM_TIME_S), step_time(terms));
}

/* ---- energy ---- */

void tsim_term_add_port_power(struct tsim_terms *terms, struct tsim_term *term) {
    const struct tsim_fabric *fabric = terms->scenario->cluster.fabric;
    if (fabric)
        tsim_term_add(
            terms, term,
            tsim_term_of_file(terms, TSIM_CATALOGUE_FABRICS, "power_per_port", fabric->power_w_per_port, TSIM_WATTS),
            1);
}

static const struct tsim_term *power_term(struct tsim_terms *terms, const char *name) {
    const struct tsim_node *node = terms->scenario->cluster.node;
    const struct tsim_accelerator *a = node->accelerator;
    struct tsim_term *term = tsim_term_new(terms, TSIM_TERM_OUTCOME, name,
                                           "idle and busy shares of every accelerator, node and port, simulated "
                                           "(sim/cluster/power.h)",
                                           result_of(terms)->step.mean_power_w, TSIM_WATTS);
    const struct {
        enum tsim_catalogue_kind kind;
        const char *key;
        double value;
        enum tsim_dimension dimension;
    } CONSTANTS[] = {{TSIM_CATALOGUE_ACCELERATORS, "power.idle", a->power_idle_w, TSIM_WATTS},
                     {TSIM_CATALOGUE_ACCELERATORS, "power.limit", a->power_limit_w, TSIM_WATTS},
                     {TSIM_CATALOGUE_ACCELERATORS, "power.compute", a->power_compute_frac, TSIM_FRACTION},
                     {TSIM_CATALOGUE_ACCELERATORS, "power.memory", a->power_memory_frac, TSIM_FRACTION},
                     {TSIM_CATALOGUE_ACCELERATORS, "power.link", a->power_link_frac, TSIM_FRACTION},
                     {TSIM_CATALOGUE_NODES, "power.overhead", node->power_overhead_w, TSIM_WATTS},
                     {TSIM_CATALOGUE_NODES, "power.overhead_idle", node->power_overhead_idle_w, TSIM_WATTS}};
    tsim_term_add(terms, term, tsim_term_accelerators(terms), 1);
    for (size_t i = 0; i < sizeof CONSTANTS / sizeof CONSTANTS[0]; i++)
        tsim_term_add(
            terms, term,
            tsim_term_of_file(terms, CONSTANTS[i].kind, CONSTANTS[i].key, CONSTANTS[i].value, CONSTANTS[i].dimension),
            1);
    tsim_term_add_port_power(terms, term);
    return term;
}

static const struct tsim_term *energy_term(struct tsim_terms *terms, const char *name) {
    return tsim_term_times(terms, name, "mean power x step time", TSIM_JOULES, power_term(terms, "energy.mean_power_w"),
                           step_time(terms));
}

/* ---- by name ---- */

static bool is_of(const char *name, const char *group) {
    return strncmp(name, group, strlen(group)) == 0;
}

const struct tsim_term *tsim_term_of_rates(struct tsim_terms *terms, const char *name) {
    if (is_of(name, "throughput."))
        return throughput_term(terms, name);
    if (is_of(name, "fractions."))
        return fraction_term(terms, name);
    if (strcmp(name, "energy.step_j") == 0)
        return energy_term(terms, name);
    if (strcmp(name, "energy.mean_power_w") == 0)
        return power_term(terms, name);
    if (strcmp(name, "model.step_model_flops") == 0)
        return model_flops(terms, name);
    if (strcmp(name, "model.step_hardware_flops") == 0)
        return hardware_flops(terms, name);
    bool is_active = strcmp(name, "model.active_parameters") == 0;
    if (!is_active && strcmp(name, "model.parameters") != 0)
        return NULL;
    return parameters_term(terms, name,
                           is_active ? result_of(terms)->step.active_parameters : result_of(terms)->step.parameters);
}
