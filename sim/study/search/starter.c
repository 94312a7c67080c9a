#include "study/search/starter.h"

#include "model/local_shape.h"
#include "results/format.h"
#include "results/loss_law.h"
#include "results/scaling_laws.h"
#include "study/search/plan.h"

#include <math.h>
#include <string.h>

/* Models of tens of billions of parameters had about this batch: GPT-3 3.2 M tokens (Brown et al. 2020), Llama 2 4 M
 * (Touvron et al. 2023). */
#define BATCH_TOKENS 4194304
#define BATCH_SAMPLES_EACH 32 /* a CNN or MLP takes so many on each accelerator (He et al. 2016: 256 on 8) */
#define OTHER_STEPS 10000

const char *const TSIM_STARTER_GOALS[TSIM_N_STARTER_GOALS] = {"time", "cost", "energy"};
static const struct {
    const char *objective, *comment;
} GOALS[TSIM_N_STARTER_GOALS] = {{"tokens_per_s", "the fastest"},
                                 {"rent_usd_per_trillion_tokens", "the least rent for the same training"},
                                 {"step_j", "the least energy for the same batch"}};

/* ---- the scenario in pieces ---- */

/* Returns the last part of a path, without its ending; letters that a name may not have become '-'. */
static const char *name_of(struct tsim_arena *arena, const char *id) {
    const char *slash = strrchr(id, '/');
    char *name = tsim_arena_strdup(arena, slash ? slash + 1 : id);
    char *dot = strstr(name, ".yaml");
    if (dot)
        *dot = '\0';
    for (char *at = name; *at; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", *at))
            *at = '-';
    return name;
}

static const char *head_text(struct tsim_arena *arena, const struct tsim_starter *s) {
    const char *fabric =
        s->fabric ? tsim_arena_printf(arena, "  fabric: %-22s # between nodes (tsim list fabrics)\n", s->fabric) : "";
    return tsim_arena_printf(arena,
                             "schema: tsim/v1\n"
                             "name: %s-%lldx-%s\n\n"
                             "model: %-25s # tsim list models; a file of yours: ./my-model.yaml\n\n"
                             "cluster:\n"
                             "  node: %-24s # tsim show node/%s says what is in it\n"
                             "  nodes: %lld\n%s",
                             name_of(arena, s->model), (long long)s->nodes, name_of(arena, s->node), s->model, s->node,
                             name_of(arena, s->node), (long long)s->nodes, fabric);
}

/* A small language model has a smaller critical batch than large ones, and more samples teach it little. */
static double batch_tokens(const struct tsim_model *m) {
    if (!m->causal || tsim_model_stacks(m) > 1)
        return BATCH_TOKENS;
    const struct tsim_amount parameters = {.value = tsim_model_active_parameters(m)},
                             tokens = {.value = TSIM_TOKENS_PER_PARAMETER * parameters.value};
    struct tsim_amount loss = tsim_chinchilla_loss(NULL, parameters, tokens);
    return fmin(BATCH_TOKENS, tsim_critical_batch(NULL, loss).value);
}

/* Returns a usual batch, as a multiple of the accelerators, so that any number of replicas divides it. */
static int64_t batch_of(const struct tsim_scenario *job) {
    int64_t n = job->n_accelerators;
    if (job->model->kind != TSIM_MODEL_TRANSFORMER)
        return n * BATCH_SAMPLES_EACH;
    int64_t samples = (int64_t)batch_tokens(job->model) / job->training.sequence_length;
    return n * ((samples + n - 1) / n > 0 ? (samples + n - 1) / n : 1);
}

/* Returns two significant digits: "140 G". */
static const char *tokens_text(struct tsim_arena *arena, double tokens) {
    double digit = pow(10, floor(log10(tokens)) - 1);
    double rounded = floor(tokens / digit + 0.5) * digit;
    return rounded >= 1e12 ? tsim_arena_printf(arena, "%g T", rounded / 1e12)
                           : tsim_arena_printf(arena, "%g G", rounded / 1e9);
}

/* Returns "  tensor: 8                      # accelerators that share each layer", with the plan's value as --set takes
 * it. */
static const char *line_of(struct tsim_arena *arena, const struct tsim_plan_choice *choice, enum tsim_plan_key key,
                           const char *comment) {
    enum { COMMENT_COLUMN = 33 };
    const char *name = strchr(tsim_plan_key_path(key), '.') + 1,
               *value = tsim_plan_key_text(arena, key, choice->value[key]);
    const char *line = tsim_arena_printf(arena, "  %s: %s", name, value);
    return comment ? tsim_arena_printf(arena, "%-*s # %s\n", COMMENT_COLUMN - 1, line, comment)
                   : tsim_arena_printf(arena, "%s\n", line);
}

static const char *training_text(struct tsim_arena *arena, const struct tsim_scenario *job, double active_parameters,
                                 const struct tsim_plan_choice *choice) {
    const char *precision = tsim_precision_name(job->training.precision);
    int64_t batch = batch_of(job);
    const char *length;
    const char *sequence = "";
    if (job->model->kind == TSIM_MODEL_TRANSFORMER) {
        length = tsim_arena_printf(arena,
                                   "  tokens: %-22s # of the whole run: 20 for each parameter (Hoffmann et al. 2022)\n",
                                   tokens_text(arena, TSIM_TOKENS_PER_PARAMETER * active_parameters));
        sequence = tsim_arena_printf(arena, "  sequence_length: %-13lld # tokens in a sample\n",
                                     (long long)job->training.sequence_length);
    } else {
        length = tsim_arena_printf(arena, "  steps: %-23d # of the whole run\n", OTHER_STEPS);
    }
    return tsim_arena_printf(
        arena,
        "\ntraining:\n%s"
        "  global_batch_size: %-11lld # samples in an optimizer step, whole cluster\n"
        "%s"
        "  precision: %-19s # tsim show accelerator/ID says which it has\n"
        "  optimizer: adamw\n"
        "%s%s",
        sequence, (long long)batch, line_of(arena, choice, TSIM_PLAN_MICRO_BATCH, "samples in one pass of one replica"),
        precision, line_of(arena, choice, TSIM_PLAN_RECOMPUTE, "none | selective | full: trades time for memory"),
        length);
}

/* Leaves out what is as if nobody had said it, but for the degrees that everybody asks for. */
static const char *parallelism_text(struct tsim_arena *arena, const struct tsim_scenario *job,
                                    const struct tsim_plan_choice *choice) {
    static const struct {
        enum tsim_plan_key key;
        int64_t left_out; /* -1: never */
        const char *comment;
    } LINES[] = {
        {TSIM_PLAN_TENSOR, -1, "accelerators that share each layer"},
        {TSIM_PLAN_PIPELINE, -1, "stages that the layers are split into"},
        {TSIM_PLAN_ZERO, -1, "replicas share: 1 optimizer state, 2 gradients, 3 weights"},
        {TSIM_PLAN_VIRTUAL, 1, NULL},
        {TSIM_PLAN_LAYERS, false, "they do not divide evenly"},
        {TSIM_PLAN_CONTEXT, 1, "accelerators that share each sequence"},
        {TSIM_PLAN_EXPERT, 1, "accelerators that share the experts"},
        {TSIM_PLAN_SCHEDULE, -1, NULL},
        {TSIM_PLAN_SEQUENCE, -1, "sequence parallelism over the tensor ranks"},
    };
    const char *text = "\nparallelism:                     # the fastest plan that fits, found by tsim plan\n";
    for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
        enum tsim_plan_key key = LINES[i].key;
        bool is_idle = key != TSIM_PLAN_ZERO && tsim_plan_key_is_idle(job, choice, key);
        if (key == TSIM_PLAN_ZERO)
            text = tsim_arena_printf(arena, "%s  data: auto                     # replicas: the rest of the cluster\n",
                                     text);
        if (choice->value[key] != LINES[i].left_out && !is_idle)
            text = tsim_arena_printf(arena, "%s%s", text, line_of(arena, choice, key, LINES[i].comment));
    }
    return text;
}

static const char *sweep_text(struct tsim_arena *arena, const struct tsim_starter *s, const struct tsim_scenario *job) {
    bool is_fp32 = job->training.precision == TSIM_FP32;
    const char *axes =
        s->nodes > 1 ? tsim_arena_printf(arena, "{cluster.nodes: [%lld, %lld, %lld]}", (long long)(s->nodes + 1) / 2,
                                         (long long)s->nodes, (long long)s->nodes * 2)
                     : tsim_arena_printf(arena, "{training.precision: [%s%s]}",
                                         tsim_precision_name(job->training.precision), is_fp32 ? "" : ", fp32");
    return tsim_arena_printf(arena,
                             "\nsweep:                           # what tsim sweep and tsim plan try, and rank by\n"
                             "  axes: %s\n"
                             "  objective: %-19s # %s\n",
                             axes, GOALS[s->goal].objective, GOALS[s->goal].comment);
}

/* ---- the search ---- */

static void no_plan(const struct tsim_starter *s, const struct tsim_plan_result *result, struct tsim_diags *diags) {
    char lack[32];
    struct tsim_diag *diag =
        tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){0}, "", "no plan of %s fits on %lld x %s",
                         s->model, (long long)s->nodes, s->node);
    if (isnan(result->least_excess_bytes))
        return;
    tsim_gigabytes_text(result->least_excess_bytes, lack, sizeof lack);
    if (s->fabric)
        tsim_diag_hint(diag, "the smallest lacks %s on an accelerator; try more nodes, as in --nodes %lld", lack,
                       (long long)s->nodes * 2);
    else
        tsim_diag_hint(diag,
                       "the smallest lacks %s on an accelerator; take several nodes, as in --nodes 2, or one with more "
                       "memory ('tsim list nodes')",
                       lack);
}

static bool is_of_precision(const struct tsim_diags *diags) {
    return diags->n_items > 0 && strcmp(diags->items[0].field, "training.precision") == 0;
}

/* Chooses the first of these precisions that the rest of the scenario allows: 16 bits if the accelerator has it. Other
 * mistakes, such as a file that cannot be read, are no reason for another precision. */
static enum tsim_status choose_precision(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                         struct tsim_override *precision, const struct tsim_scenario **job,
                                         struct tsim_diags *diags) {
    static const enum tsim_precision ORDER[] = {TSIM_BF16, TSIM_FP16, TSIM_FP32};
    enum tsim_status status = TSIM_ERR_INFEASIBLE;
    bool goes_on = true;
    for (size_t i = 0; i < sizeof ORDER / sizeof ORDER[0] && goes_on; i++) {
        struct tsim_diags tried;
        tsim_diags_init(&tried);
        *precision = (struct tsim_override){"training.precision", tsim_precision_name(ORDER[i])};
        status = tsim_scenario_load_job(arena, source, precision, 1, job, &tried);
        goes_on = status != TSIM_OK && is_of_precision(&tried);
        tsim_diags_release(&tried);
    }
    if (status == TSIM_OK)
        return status;
    *precision = (struct tsim_override){"training.precision", tsim_precision_name(ORDER[0])};
    return tsim_scenario_load_job(arena, source, precision, 1, job, diags);
}

static enum tsim_status find_plan(struct tsim_arena *arena, const struct tsim_starter *s, const char *head,
                                  int32_t n_threads, struct tsim_plan_search *search, struct tsim_plan_result *result,
                                  struct tsim_diags *diags) {
    struct tsim_scenario_source *source = TSIM_NEW(arena, struct tsim_scenario_source);
    struct tsim_plan_space *space = TSIM_NEW(arena, struct tsim_plan_space);
    const struct tsim_scenario *job;
    TSIM_TRY(tsim_scenario_open_text(arena, "answers", head, source, diags));
    struct tsim_override *said = TSIM_NEW_ARRAY(arena, 2, struct tsim_override);
    TSIM_TRY(choose_precision(arena, source, &said[0], &job, diags));
    said[1] = (struct tsim_override){"training.global_batch_size",
                                     tsim_arena_printf(arena, "%lld", (long long)batch_of(job))};
    TSIM_TRY(tsim_ranking_read(arena, NULL, "samples_per_s", &search->ranking, diags));
    TSIM_TRY(tsim_plan_space_read(arena, source, said, 2, NULL, TSIM_PLAN_COARSE, space, diags));
    search->space = space;
    search->n_threads = n_threads;
    TSIM_TRY(tsim_plan_run(arena, search, NULL, NULL, result, diags));
    if (result->n_best == 0)
        no_plan(s, result, diags);
    return TSIM_OK;
}

enum tsim_status tsim_starter_write(struct tsim_arena *arena, const struct tsim_starter *starter, int32_t n_threads,
                                    const char **yaml, struct tsim_diags *diags) {
    struct tsim_plan_search search = {0};
    struct tsim_plan_result result;
    const char *head = head_text(arena, starter);
    TSIM_TRY(find_plan(arena, starter, head, n_threads, &search, &result, diags));
    *yaml = NULL;
    if (result.n_best == 0)
        return TSIM_OK;
    const struct tsim_plan *plan = result.has_safe ? &result.safe : &result.best[0];
    const struct tsim_scenario *job = plan->candidate->job;
    *yaml = tsim_arena_printf(
        arena,
        "# Written by tsim init. Run it: tsim run FILE; change any line, or try a value: --set "
        "parallelism.tensor=4\n%s%s%s%s",
        head, training_text(arena, job, plan->point.outcome.value[TSIM_OUTCOME_ACTIVE_PARAMETERS], &plan->choice),
        parallelism_text(arena, job, &plan->choice), sweep_text(arena, starter, job));
    return TSIM_OK;
}
