/* parallelism.c - what follows from a plan alone: parts of the model, ranks of the experts, micro-batches. */
#include "config/draft/rules.h"

bool tsim_layers_even(int64_t layers, int64_t n_chunks, int64_t *first_and_last, int64_t *others) {
    bool is_even = layers % n_chunks == 0;
    *others = is_even ? layers / n_chunks : (layers + 2) / n_chunks;
    *first_and_last = is_even ? *others : *others - 1;
    return is_even || ((layers + 2) % n_chunks == 0 && *first_and_last >= 0);
}

int64_t tsim_n_model_parts(const struct tsim_parallelism_spec *p) {
    bool is_v = p->schedule == TSIM_SCHEDULE_ZB_V && p->pipeline > 1;
    return p->pipeline * (is_v ? 2 : p->schedule == TSIM_SCHEDULE_DUALPIPE ? 1 : p->virtual_pipeline);
}

int64_t tsim_n_model_ranks(const struct tsim_parallelism_spec *p) {
    return p->tensor * p->context * p->pipeline;
}

bool tsim_ranks_divide(const struct tsim_parallelism_spec *p, int64_t n_accelerators) {
    return n_accelerators % tsim_n_model_ranks(p) == 0;
}

bool tsim_is_replicated(const struct tsim_parallelism_spec *p, int64_t data) {
    return data * p->context > 1;
}

bool tsim_reduces_each_microbatch(const struct tsim_scenario *sc) {
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    return p->zero == 3 || (p->zero == 2 && !(p->pipeline > 1 && sc->software->reduces_once));
}

bool tsim_chunks_work(const struct tsim_parallelism_spec *p) {
    return p->virtual_pipeline == 1 || (p->pipeline > 1 && p->schedule == TSIM_SCHEDULE_INTERLEAVED);
}

enum tsim_schedule tsim_played_schedule(const struct tsim_parallelism_spec *p) {
    bool needs_stages = p->schedule >= TSIM_SCHEDULE_ZB_H1 || tsim_is_asynchronous(p->schedule);
    bool is_plain = p->schedule == TSIM_SCHEDULE_INTERLEAVED || (needs_stages && p->pipeline == 1);
    return p->virtual_pipeline == 1 && is_plain ? TSIM_SCHEDULE_1F1B : p->schedule;
}

int64_t tsim_expert_tensor(const struct tsim_parallelism_spec *p) {
    return p->expert_tensor > 0 ? p->expert_tensor : p->tensor;
}

struct tsim_expert_ranks tsim_expert_ranks(const struct tsim_parallelism_spec *p) {
    struct tsim_expert_ranks ranks = {1, 1, p->expert};
    int64_t tensor = p->tensor / tsim_expert_tensor(p);
    if (ranks.data % tensor == 0)
        ranks.tensor = tensor, ranks.data /= tensor;
    if (ranks.data % p->context == 0)
        ranks.context = p->context, ranks.data /= p->context;
    if (p->data % ranks.data != 0)
        ranks.data = 0;
    return ranks;
}

bool tsim_experts_divide(int64_t n_experts, const struct tsim_parallelism_spec *p) {
    return n_experts % p->expert == 0 && tsim_expert_ranks(p).data > 0;
}

bool tsim_sends_in_turns(const struct tsim_software *software, int64_t chunks, int schedule) {
    return software->pipeline_overlap == TSIM_PIPELINE_OVERLAP_INTERLEAVED && chunks == 1 &&
           schedule < TSIM_SCHEDULE_ZB_H1;
}

bool tsim_hides_messages(const struct tsim_software *software, int64_t chunks, int schedule) {
    return software->overlap.pipeline && !tsim_sends_in_turns(software, chunks, schedule);
}

bool tsim_hides_exchanges(const struct tsim_software *software, int schedule) {
    return software->overlap.expert || schedule == TSIM_SCHEDULE_DUALPIPE; /* its pairs are there to hide them */
}

bool tsim_batch_divides(int64_t global_batch_size, int64_t micro_batch_size, int64_t data) {
    return global_batch_size % (micro_batch_size * data) == 0;
}

/* Returns the rule for the micro-batches of one run of the schedule. */
static struct tsim_microbatch_rule rule_of_run(const struct tsim_software *software,
                                               const struct tsim_parallelism_spec *p) {
    bool is_any = software->interleaving == TSIM_INTERLEAVING_OF_ANY;
    if (p->virtual_pipeline > 1 && p->pipeline > 1)
        return (struct tsim_microbatch_rule){is_any ? 1 : p->pipeline, p->pipeline};
    if (p->schedule == TSIM_SCHEDULE_ZB_V)
        return (struct tsim_microbatch_rule){1, 2 * p->pipeline - 1};
    if (p->schedule == TSIM_SCHEDULE_DUALPIPE)
        return (struct tsim_microbatch_rule){2, 2 * p->pipeline};
    if (tsim_is_asynchronous(p->schedule))
        return (struct tsim_microbatch_rule){1, p->pipeline};
    return (struct tsim_microbatch_rule){1, 1};
}

static bool has_runs(const struct tsim_parallelism_spec *p) {
    return p->schedule_microbatches > 0 && p->pipeline > 1;
}

bool tsim_runs_work(const struct tsim_software *software, const struct tsim_parallelism_spec *p) {
    struct tsim_microbatch_rule rule = rule_of_run(software, p);
    bool is_whole = p->schedule >= TSIM_SCHEDULE_ZB_H1 || tsim_is_asynchronous(p->schedule);
    return !has_runs(p) ||
           (!is_whole && p->schedule_microbatches % rule.unit == 0 && p->schedule_microbatches >= rule.least);
}

struct tsim_microbatch_rule tsim_microbatch_rule(const struct tsim_scenario *sc) {
    struct tsim_microbatch_rule rule = rule_of_run(sc->software, &sc->parallelism);
    if (has_runs(&sc->parallelism))
        rule.unit = rule.least = sc->parallelism.schedule_microbatches;
    return rule;
}

bool tsim_microbatches_work(const struct tsim_scenario *scenario, int64_t n) {
    struct tsim_microbatch_rule rule = tsim_microbatch_rule(scenario);
    return n % rule.unit == 0 && n >= rule.least;
}
