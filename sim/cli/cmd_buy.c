#include "cli/command.h"

#include "cli/search_bar.h"
#include "config/recognize.h"
#include "report/page/page.h"
#include "report/terminal/decision_output.h"
#include "study/curves/section.h"
#include "study/judge/proposal.h"

#include <math.h>
#include <string.h>

struct buy {
    const struct tsim_arguments *arguments;
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    struct tsim_scenario_source source;
    struct tsim_override *overrides; /* of the search, and room for tokens */
    struct tsim_goal_spec goal;
    struct tsim_proposal proposal;
    struct tsim_decision_search search;
    struct tsim_decision decision;
};

/* ---- what is asked ---- */

/* A multiple of 576 divides over 2^k, 3 x 2^k and 9 x 2^k replicas. */
enum { BATCH_MULTIPLE = 576 };

/* Writes the scenario, with `model` as an id, a path or a mapping. */
static const char *scenario_text(struct buy *buy, const char *name, const char *model, int64_t batch) {
    const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
    const char *fabric = tsim_override_of(buy->search.overrides, buy->search.n_overrides, "cluster.fabric"),
               *nodes = tsim_override_of(buy->search.overrides, buy->search.n_overrides, "cluster.nodes");
    bool is_one = nodes && strcmp(nodes, "1") == 0; /* then a fabric has no effect, and is warned of */
    bool is_given = buy->arguments->n_vary + buy->arguments->n_zip > 0; /* how many nodes, perhaps */
    const char *cluster = !fabric && !nodes && !is_given ? ""
                          : is_one                       ? ", nodes: 1"
                          : fabric                       ? ", nodes: 2"
                                                         : ", nodes: 2, fabric: ib-ndr";
    size_t length = strspn(last, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
    return tsim_arena_printf(buy->arena,
                             "schema: tsim/v1\nname: buy-%.*s\nmodel: %s\ncluster: {node: %s%s}\n"
                             "training: {global_batch_size: %lld}\nreliability: {}\n",
                             (int)length, last, model, TSIM_DEFAULT_NODE, cluster, (long long)batch);
}

static int64_t batch_of(const struct tsim_scenario *job, double loss) {
    double samples = tsim_usual_batch_tokens(loss) / (double)job->training.sequence_length;
    int64_t multiples = (int64_t)(samples / BATCH_MULTIPLE + 0.5);
    return BATCH_MULTIPLE * (multiples > 1 ? multiples : 1);
}

/* Nobody wrote the lines of the scenario that --model stands for: errors in it are errors of --model, and its warnings
 * are about text that tsim wrote. */
static void hide_lines(struct buy *buy, const char *model) {
    size_t n = 0;
    for (size_t i = 0; i < buy->diags->n_items; i++) {
        struct tsim_diag diag = buy->diags->items[i];
        if (diag.at.file && strcmp(diag.at.file, "--model") == 0) {
            if (diag.is_warning) {
                buy->diags->n_warnings--;
                continue;
            }
            diag.at = (struct tsim_place){.file = tsim_arena_printf(buy->arena, "--model %s", model)};
            diag.source_line = NULL;
        }
        buy->diags->items[n++] = diag;
    }
    buy->diags->n_items = n;
}

/* Opens the scenario that --model stands for, with failures as frequent as the machines have them, and a batch that any
 * cluster can divide, for `loss` unless it is 0. Its cluster does not matter: candidates replace it. */
static enum tsim_status open_model(struct buy *buy, const char *name, const char *model, double loss) {
    const struct tsim_scenario *job;
    struct tsim_scenario_source first;
    const struct tsim_diags before = *buy->diags;
    const char *text = scenario_text(buy, name, model, BATCH_MULTIPLE);
    TSIM_TRY(tsim_scenario_open_text(buy->arena, "--model", text, &first, buy->diags));
    enum tsim_status status =
        tsim_scenario_load_job(buy->arena, &first, buy->search.overrides, buy->search.n_overrides, &job, buy->diags);
    if (status != TSIM_OK) {
        hide_lines(buy, model);
        return status;
    }
    tsim_diags_take_back(buy->diags, &before); /* its warnings come again */
    buy->goal = job->goal;
    text = scenario_text(buy, name, model, batch_of(job, loss > 0 ? loss : job->goal.loss_nats));
    return tsim_scenario_open_text(buy->arena, "--model", text, &buy->source, buy->diags);
}

static void take_model(struct buy *buy, const char *model) {
    const struct tsim_arguments *arguments = buy->arguments;
    struct tsim_override *all = TSIM_NEW_ARRAY(buy->arena, arguments->n_overrides + 2, struct tsim_override);
    for (size_t i = 0; i < arguments->n_overrides; i++)
        all[i] = arguments->overrides[i];
    buy->search.overrides = buy->overrides = all;
    buy->search.n_overrides = arguments->n_overrides;
    if (arguments->n_operands > 0 && model)
        all[buy->search.n_overrides++] = (struct tsim_override){"model", model};
}

/* Reads the candidates of the command line, or of the scenario's `sweep:`; NULL: those of the catalogue. */
static enum tsim_status read_axes(struct buy *buy, const struct tsim_space **axes) {
    const struct tsim_arguments *arguments = buy->arguments;
    const struct tsim_space_words words = {arguments->vary, arguments->n_vary, arguments->zip, arguments->n_zip};
    const struct tsim_value *section;
    *axes = NULL;
    TSIM_TRY(tsim_section_find(buy->arena, &buy->source, buy->search.overrides, buy->search.n_overrides, &section,
                               buy->diags));
    if (words.n_vary + words.n_zip == 0 && !tsim_value_find(section, "axes") && !tsim_value_find(section, "zip") &&
        !tsim_value_find(section, "points"))
        return TSIM_OK;
    struct tsim_space *space = TSIM_NEW(buy->arena, struct tsim_space);
    *axes = space;
    return tsim_space_read(buy->arena, section, &words, space, buy->diags);
}

static enum tsim_status search(struct buy *buy) {
    struct tsim_search_bar bar;
    TSIM_TRY(read_axes(buy, &buy->search.axes));
    buy->search.source = &buy->source;
    buy->search.has_fabrics = /* nobody who names a model alone says a fabric */
        buy->arguments->n_operands == 0 &&
        !tsim_override_of(buy->search.overrides, buy->search.n_overrides, "cluster.fabric");
    buy->search.n_threads = tsim_n_jobs(buy->arguments);
    buy->search.heeds_interrupt = true;
    tsim_search_bar_init(&bar, buy->arguments);
    if (!buy->arguments->answer || !buy->arguments->answer->is_library)
        tsim_memory_keep();
    enum tsim_status status =
        tsim_decide(buy->arena, &buy->search, tsim_search_bar_show, &bar, &buy->decision, buy->diags);
    tsim_search_bar_clear(&bar);
    return status;
}

/* ---- a model for the money ---- */

static enum tsim_status open_proposal(struct buy *buy, double flops) {
    if (!tsim_propose(flops, &buy->proposal)) {
        tsim_diag_hint(tsim_diags_error(buy->diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){0}, "goal",
                                        isfinite(flops)
                                            ? "it suffices for a model of less than half a billion parameters"
                                            : "no compute is expected to reach this loss"),
                       "another --budget or --loss, or a --model of your own");
        return TSIM_ERR_INFEASIBLE;
    }
    return open_model(buy, tsim_arena_printf(buy->arena, "llama-like-%.3gb", buy->proposal.parameters / 1e9),
                      tsim_proposal_text(buy->arena, &buy->proposal), buy->proposal.loss.p50);
}

/* Returns how many times the compute could be paid for and be done in time, in nine cases of ten, by the best offer
 * that was tried, whose days grow with the compute. */
static double affordable_ratio(const struct tsim_decision *decision) {
    const struct tsim_goal_spec *goal = &decision->job->goal;
    double most = 0;
    for (size_t i = 0; i < decision->n_offers; i++) {
        const struct tsim_offer *offer = &decision->offers[i];
        double in_time = goal->deadline_s > 0 ? goal->deadline_s / (offer->days.p90 * TSIM_DAY_S) : (double)INFINITY;
        double in_budget = goal->budget_usd / offer->cost_usd.p90;
        most = fmax(most, in_time < 1 ? fmin(in_time, in_budget) : in_budget);
    }
    return most;
}

/* Decides for the largest model that the money trains well: first by the price of products, then by the cost of the
 * best plans. */
static enum tsim_status decide_for_money(struct buy *buy, struct tsim_override *tokens) {
    enum { MOST_ROUNDS = 3 };
    struct tsim_catalogue_machine *machines;
    size_t n_machines;
    TSIM_TRY(tsim_machines_list(buy->arena, &buy->source, buy->search.overrides, buy->search.n_overrides, &machines,
                                &n_machines, buy->diags));
    double flops = tsim_affordable_flops(machines, n_machines, &buy->goal), ratio = 1;
    buy->search.n_overrides++; /* the tokens */
    for (int round = 0; round < MOST_ROUNDS; round++) {
        char text[48];
        flops *= ratio;
        *tokens = (struct tsim_override){"goal.tokens", "1e9"}; /* while the model is opened */
        TSIM_TRY(open_proposal(buy, flops));
        tsim_quantity_si(buy->proposal.tokens, TSIM_COUNT, text, sizeof text);
        tokens->value = tsim_arena_strdup(buy->arena, text);
        TSIM_TRY(search(buy));
        ratio = affordable_ratio(&buy->decision);
        if (buy->decision.is_interrupted || (ratio >= 1 && ratio < 1.2))
            break;
        ratio = fmin(10, fmax(0.1, 0.95 * ratio));
    }
    return TSIM_OK;
}

/* Proposes a model for the loss or for the money, since nobody named one. */
static enum tsim_status decide_model(struct buy *buy) {
    static const char STAND_IN[] = "llama3-8b"; /* while machines and prices are looked at */
    struct tsim_override *tokens = &buy->overrides[buy->search.n_overrides];
    TSIM_TRY(open_model(buy, STAND_IN, STAND_IN, 0));
    if (buy->goal.loss_nats > 0)
        TSIM_TRY(open_proposal(buy, tsim_flops_to_loss(buy->goal.loss_nats)));
    TSIM_TRY(buy->goal.loss_nats > 0 ? search(buy) : decide_for_money(buy, tokens));
    if (buy->goal.loss_nats > 0) /* with the batch that it has */
        buy->proposal.tokens = buy->decision.needed.middle;
    buy->decision.proposal = &buy->proposal;
    return TSIM_OK;
}

static enum tsim_status decide(struct buy *buy) {
    const struct tsim_arguments *arguments = buy->arguments;
    const char *model = arguments->value[TSIM_OPTION_MODEL];
    take_model(buy, model);
    if (arguments->n_operands == 0 && !model)
        return decide_model(buy);
    TSIM_TRY(arguments->n_operands > 0
                 ? tsim_scenario_open(buy->arena, arguments->operands[0], &buy->source, buy->diags)
                 : open_model(buy, model, model, 0));
    return search(buy);
}

/* ---- what is said ---- */

/* Loads the choice as it would be run: with every operator, some of which a search may leave out, and with the user's
 * settings. */
static enum tsim_status load_choice(struct buy *buy, const struct tsim_scenario **choice) {
    const struct tsim_diags before = *buy->diags;
    const struct tsim_decision *decision = &buy->decision;
    struct tsim_override *set = TSIM_NEW_ARRAY(buy->arena, decision->n_overrides + 1, struct tsim_override);
    const char *detail = tsim_override_of(buy->search.overrides, buy->search.n_overrides, "simulation.detail");
    size_t n = 0;
    for (size_t i = 0; i < decision->n_overrides; i++)
        if (detail || strcmp(decision->overrides[i].path, "simulation.detail") != 0)
            set[n++] = decision->overrides[i];
    TSIM_TRY(tsim_load_plan(buy->arena, &buy->source, set, n, decision->offers[0].plan->set_json, choice, buy->diags));
    tsim_diags_take_back(buy->diags, &before); /* warnings have been given for the candidates */
    return TSIM_OK;
}

/* Writes the choice as a scenario with the goal, so that `tsim buy` and `tsim run` say the same of it. */
static enum tsim_exit write_choice(struct buy *buy) {
    const struct tsim_scenario *choice;
    enum tsim_status status = load_choice(buy, &choice);
    if (status == TSIM_OK)
        status = tsim_write_plan(buy->arena, buy->arguments->value[TSIM_OPTION_OUTPUT],
                                 tsim_arena_printf(buy->arena, "%s %s: the choice of tsim buy.",
                                                   TSIM_PURCHASE_WORDS[buy->decision.offers[0].purchase],
                                                   tsim_offer_cluster(buy->arena, &buy->decision.offers[0])),
                                 choice, buy->diags);
    if (status != TSIM_OK)
        tsim_report_diags(buy->arguments, buy->diags);
    return tsim_exit_of(status);
}

static enum tsim_exit write_report(struct buy *buy) {
    enum { MOST_SLICES = 3000 };
    const struct tsim_decision *decision = &buy->decision;
    const struct tsim_scenario *choice;
    struct tsim_json *page = tsim_page_new();
    enum tsim_status status = TSIM_OK;
    tsim_page_add_decision(page, tsim_decision_json(buy->arena, decision, buy->search.objective));
    if (decision->n_offers > 0)
        status = load_choice(buy, &choice);
    if (decision->n_offers > 0 && status == TSIM_OK)
        status = tsim_page_add_run(buy->arena, page, choice, &(struct tsim_page_extent){.most_slices = MOST_SLICES},
                                   buy->diags);
    if (status != TSIM_OK)
        tsim_report_diags(buy->arguments, buy->diags);
    enum tsim_exit code = tsim_exit_of(status);
    if (code == TSIM_EXIT_OK)
        code = tsim_write_page(buy->arguments, buy->arguments->value[TSIM_OPTION_REPORT], page);
    tsim_json_release(page);
    return code;
}

static enum tsim_exit write_results(struct buy *buy) {
    const struct tsim_arguments *arguments = buy->arguments;
    const struct tsim_decision *decision = &buy->decision;
    enum tsim_exit code = TSIM_EXIT_OK;
    if (!tsim_is_json_on_stdout(arguments)) {
        struct tsim_style style = tsim_style_of(stdout);
        tsim_decision_print(buy->arena, decision, buy->search.objective, &style, stdout);
    }
    if (arguments->has[TSIM_OPTION_JSON])
        code = tsim_write_json(arguments, tsim_decision_json(buy->arena, decision, buy->search.objective));
    if (arguments->has[TSIM_OPTION_REPORT])
        code = tsim_exit_worse(code, write_report(buy));
    if (arguments->has[TSIM_OPTION_OUTPUT] && decision->n_offers > 0)
        code = tsim_exit_worse(code, write_choice(buy));
    if (decision->is_interrupted)
        return code == TSIM_EXIT_OK ? TSIM_EXIT_INTERRUPTED : code;
    return decision->is_met ? code : tsim_exit_worse(code, TSIM_EXIT_INVALID);
}

static bool read_objective(struct buy *buy) {
    const char *word = buy->arguments->value[TSIM_OPTION_OBJECTIVE];
    for (int i = 0; i < TSIM_N_DECISION_OBJECTIVES; i++)
        if (!word || strcmp(word, TSIM_DECISION_OBJECTIVES[i]) == 0) {
            buy->search.objective = (enum tsim_decision_objective)i;
            return true;
        }
    fprintf(tsim_messages(),
            "tsim buy: --objective is chance, cost, days or energy, not '%s'\nTry 'tsim buy --help'.\n", word);
    return false;
}

enum tsim_exit tsim_cmd_buy(const struct tsim_arguments *arguments) {
    struct buy buy = {.arguments = arguments, .arena = arguments->arena, .diags = arguments->diags};
    if (!read_objective(&buy))
        return TSIM_EXIT_USAGE;
    if (arguments->n_operands == 0 && !arguments->has[TSIM_OPTION_MODEL] && arguments->has[TSIM_OPTION_TOKENS]) {
        fputs("tsim buy: --tokens needs --model ID, or a SCENARIO\nTry 'tsim buy --help'.\n", tsim_messages());
        return TSIM_EXIT_USAGE;
    }
    if (arguments->n_operands == 0 && !arguments->has[TSIM_OPTION_MODEL] && !arguments->has[TSIM_OPTION_LOSS] &&
        !arguments->has[TSIM_OPTION_BUDGET]) {
        fputs("tsim buy: needs --model ID, or a SCENARIO, or a --budget or a --loss to propose a model for\n"
              "Try 'tsim buy --help'.\n",
              tsim_messages());
        return TSIM_EXIT_USAGE;
    }
    enum tsim_exit code = tsim_exit_of(decide(&buy));
    tsim_report_diags(arguments, buy.diags);
    if (code == TSIM_EXIT_OK)
        code = write_results(&buy);
    return code;
}
