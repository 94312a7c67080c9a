#include "report/terminal/decision_output.h"

#include "base/version.h"
#include "config/provenance.h"
#include "model/model.h"
#include "report/terminal/plan_output.h"
#include "results/format.h"
#include "study/search/buy_judgements.h"

#include <math.h>
#include <string.h>

static const struct tsim_scenario *job_of(const struct tsim_offer *offer) {
    return offer->plan->candidate->job;
}

/* ---- numbers with as many digits as their interval supports ---- */

static const char *supported(struct tsim_arena *arena, const struct tsim_percentiles *range, double value,
                             const char *unit) {
    char text[64];
    return tsim_arena_strdup(arena, tsim_supported_text(range, value, unit, text, sizeof text));
}

static const char *days_text(struct tsim_arena *arena, const struct tsim_percentiles *range, double days) {
    char text[64];
    return tsim_arena_strdup(arena, tsim_supported_days_text(range, days, "", text, sizeof text));
}

/* Writes a rounded value with no more digits than it was rounded to. */
static const char *short_text(struct tsim_arena *arena, double value, const char *unit) {
    const char *prefix = fabs(value) < 1 ? "" : tsim_quantity_prefix(&value, 1000);
    return tsim_arena_printf(arena, "%.3g %s%s", value, prefix, unit);
}

static const char *money(struct tsim_arena *arena, double usd) {
    const char *prefix = tsim_money_prefix(usd < 1 ? "" : tsim_quantity_prefix(&usd, 1000));
    return tsim_arena_printf(arena, "%.3g %s%sUSD", usd, prefix, *prefix ? " " : "");
}

/* Prices of a whole cluster are known to two digits at most. */
static const char *rough_money(struct tsim_arena *arena, double usd) {
    return supported(arena, &(struct tsim_percentiles){0.9 * usd, usd, 1.1 * usd}, usd, "USD");
}

static const char *chance_text(struct tsim_arena *arena, double chance) {
    return isnan(chance) ? "-" : tsim_chance_text(arena, chance);
}

static const char *plan_text(struct tsim_arena *arena, const struct tsim_plan *plan) {
    return tsim_arena_printf(arena, "%s, micro-batch %lld", tsim_plan_text(arena, plan),
                             (long long)plan->choice.value[TSIM_PLAN_MICRO_BATCH]);
}

/* ---- the page ---- */

static void line(const char *head, const char *text, const struct tsim_style *style, FILE *out) {
    enum { HEAD_COLUMNS = 12 };
    fputs("  ", out);
    tsim_text_pad(out, head, HEAD_COLUMNS - 2);
    tsim_text_wrap(out, style, HEAD_COLUMNS, text);
}

static const char *goal_text(struct tsim_arena *arena, const struct tsim_decision *decision) {
    const struct tsim_scenario *job = decision->job;
    const struct tsim_goal_spec *goal = &job->goal;
    char length[96], time[96];
    const char *text = job->model->name;
    if (goal->loss_nats > 0)
        text = tsim_arena_printf(arena, "%s to a loss of %.4g", text, goal->loss_nats);
    else if (job->training.length_kind == TSIM_LENGTH_TOKENS)
        text = tsim_arena_printf(arena, "%s on %s tokens", text,
                                 tsim_rate_text(job->training.length, length, sizeof length));
    if (goal->deadline_s > 0)
        text = goal->deadline_s < TSIM_DAY_S
                   ? tsim_arena_printf(arena, "%s in %s", text,
                                       tsim_quantity_human(goal->deadline_s, TSIM_TIME_S, time, sizeof time))
                   : tsim_arena_printf(arena, "%s in %.4g day%s", text, goal->deadline_s / TSIM_DAY_S,
                                       goal->deadline_s == TSIM_DAY_S ? "" : "s");
    if (goal->budget_usd > 0)
        text = tsim_arena_printf(arena, "%s for %s", text, money(arena, goal->budget_usd));
    return text;
}

static void print_ranges(struct tsim_arena *arena, const struct tsim_offer *offer, const struct tsim_style *style,
                         FILE *out) {
    static const struct tsim_column COLUMNS[] = {
        {"", false}, {"one in ten below", true}, {"middle", true}, {"one in ten above", true}};
    const double days[] = {offer->days.p10, offer->days.p50, offer->days.p90};
    const double costs[] = {offer->cost_usd.p10, offer->cost_usd.p50, offer->cost_usd.p90};
    const struct tsim_percentiles wh = {1e3 * offer->energy_kwh.p10, 1e3 * offer->energy_kwh.p50,
                                        1e3 * offer->energy_kwh.p90};
    const double energies[] = {wh.p10, wh.p50, wh.p90};
    struct tsim_text_table table;
    tsim_text_table_init(&table, arena, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    tsim_text_table_add(&table, offer->delivery_days > 0 ? "  days, delivery included" : "  days");
    for (int i = 0; i < 3; i++)
        tsim_text_table_add(&table, days_text(arena, &offer->days, days[i]));
    tsim_text_table_add(&table, "  cost");
    for (int i = 0; i < 3; i++)
        tsim_text_table_add(&table, supported(arena, &offer->cost_usd, costs[i], "USD"));
    if (!isnan(energies[1])) {
        tsim_text_table_add(&table, "  energy");
        for (int i = 0; i < 3; i++)
            tsim_text_table_add(&table, supported(arena, &wh, energies[i], "Wh"));
    }
    tsim_text_table_print(&table, style, out);
}

/* People read "partial": `run` may say of the same plan that there is no similar run. */
static const char *evidence_word(const struct tsim_offer *offer) {
    return offer->evidence == TSIM_GROUNDS_SIMILAR ? "partial" : TSIM_GROUNDS_WORDS[offer->evidence];
}

static const char *evidence_text(struct tsim_arena *arena, const struct tsim_offer *offer) {
    const struct tsim_plan *plan = offer->plan;
    const char *accelerator = job_of(offer)->cluster.node->accelerator->name;
    if (offer->evidence == TSIM_GROUNDS_ESTIMATE)
        return tsim_arena_printf(arena, "an estimate: no run was measured on %s, and none like this one", accelerator);
    return tsim_arena_printf(
        arena, "%s: %d measured run%s on %s in this class of precision, %d of them with such a model and this software",
        evidence_word(offer), (int)plan->n_own_runs, plan->n_own_runs == 1 ? "" : "s", accelerator,
        (int)plan->n_similar_runs);
}

static const char *capital_text(struct tsim_arena *arena, const struct tsim_offer *offer) {
    const struct tsim_capital *c = &offer->capital;
    if (!(c->usd > 0))
        return "not known: it cannot be bought";
    const char *network =
        c->network_usd > 0 ? tsim_arena_printf(arena, "network %s, ", rough_money(arena, c->network_usd)) : "";
    return tsim_arena_printf(
        arena, "%s%s: nodes %s, %sstorage %s, its share of the facility's lifetime %s", rough_money(arena, c->usd),
        offer->purchase == TSIM_PURCHASE_BUY ? "" : " if it were bought", rough_money(arena, c->nodes_usd), network,
        rough_money(arena, c->storage_usd), rough_money(arena, c->facility_usd));
}

static const char *terms_text(struct tsim_arena *arena, const struct tsim_offer *offer) {
    const struct tsim_cost_spec *c = &job_of(offer)->cost;
    char spread[64] = "", price[48], commitment[48];
    const struct tsim_accelerator *a = job_of(offer)->cluster.node->accelerator;
    if (c->price_spread > 1)
        snprintf(spread, sizeof spread, " (in eight of ten cases within a factor of %.2g of that)", c->price_spread);
    if (offer->purchase == TSIM_PURCHASE_BUY)
        return tsim_arena_printf(arena, "%s an accelerator%s; the whole price counts, without a resale value",
                                 money(arena, c->purchase_usd), spread);
    double rate = offer->purchase == TSIM_PURCHASE_RENT ? c->rent_usd_per_s
                  : c->reserved_usd_per_s > 0           ? c->reserved_usd_per_s
                                                        : a->reserved_usd_per_s;
    const char *least =
        offer->purchase == TSIM_PURCHASE_RESERVE
            ? tsim_arena_printf(arena, ", for at least %s",
                                tsim_quantity_human(c->commitment_s, TSIM_TIME_S, commitment, sizeof commitment))
            : ", electricity included";
    return tsim_arena_printf(arena, "%s for an accelerator%s%s",
                             tsim_quantity_human(rate, TSIM_USD_PER_S, price, sizeof price), spread, least);
}

static const char *proposal_text(struct tsim_arena *arena, const struct tsim_decision *decision) {
    const struct tsim_proposal *p = decision->proposal;
    char width[96];
    const char *expected =
        decision->job->goal.loss_nats > 0
            ? ""
            : tsim_arena_printf(arena,
                                ". Scaling laws expect a loss of %.3g, %.3g to %.3g in eight of ten cases, of "
                                "Chinchilla's data with its tokenizer",
                                p->loss.p50, p->loss.p10, p->loss.p90);
    double parameters = tsim_model_parameters(decision->job->model);
    const char *changed = fabs(parameters / p->parameters - 1) < 0.001
                              ? ""
                              : tsim_arena_printf(arena, ". With what --set changes in it, it has %sparameters",
                                                  short_text(arena, parameters, " "));
    return tsim_arena_printf(arena,
                             "none was named, so tsim proposes one: %sparameters in the shape of Llama 3 (%lld layers "
                             "of width %s, %lld heads) "
                             "on %stokens, so that the compute has the least loss (Besiroglu et al. 2024)%s%s",
                             short_text(arena, p->parameters, " "), (long long)p->layers,
                             tsim_count_text((double)p->hidden, width, sizeof width), (long long)p->heads,
                             short_text(arena, p->tokens, " "), expected, changed);
}

static const char *trillions(struct tsim_arena *arena, double tokens) {
    return tokens < 1e15 ? short_text(arena, tokens, "") : isfinite(tokens) ? "above 1,000 T" : "never";
}

static const char *tokens_text(struct tsim_arena *arena, const struct tsim_decision *decision) {
    const struct tsim_tokens_needed *needed = &decision->needed;
    double parameters = tsim_model_active_parameters(decision->job->model), loss = decision->job->goal.loss_nats;
    struct tsim_percentiles tokens = tsim_points_percentiles(needed->at, TSIM_LOSS_CASES);
    const char *fits[TSIM_N_LOSS_FITS];
    for (int i = 0; i < TSIM_N_LOSS_FITS; i++)
        fits[i] = trillions(arena, tsim_tokens_to_loss(&TSIM_LOSS_FITS[i], parameters, loss));
    const char *most = isfinite(tokens.p90)
                           ? tsim_arena_printf(arena, "in one above %s", short_text(arena, tokens.p90, ""))
                           : tsim_arena_printf(arena, "never in %.1g", 10 * (1 - needed->reached_frac));
    return tsim_arena_printf(
        arena,
        "%s to this loss in the middle case, in one of ten cases below %s, %s. Scaling laws say "
        "%s (Hoffmann et al. 2022) and %s (its refit, Besiroglu et al. 2024) with small batches, on "
        "Chinchilla's data with its tokenizer",
        trillions(arena, needed->middle), trillions(arena, tokens.p10), most, fits[TSIM_LOSS_FIT_HOFFMANN],
        fits[TSIM_LOSS_FIT_BESIROGLU]);
}

static void print_choice(struct tsim_arena *arena, const struct tsim_decision *decision, const struct tsim_style *style,
                         FILE *out) {
    const struct tsim_offer *offer = &decision->offers[0];
    const struct tsim_scenario *job = job_of(offer);
    char count[96];
    const char *most = offer->chance_of_both < tsim_most_chance(offer->evidence)
                           ? ""
                           : "; tsim claims no higher chance with such evidence";
    fprintf(out, "%s%s%s %s%s%s (%s %s)\n", tsim_tint_on(style, TSIM_TINT_BOLD),
            decision->is_met ? "" : "nearest: ", TSIM_PURCHASE_WORDS[offer->purchase], tsim_offer_cluster(arena, offer),
            tsim_tint_off(style), "", tsim_count_text(tsim_accelerators_of(NULL, job).value, count, sizeof count),
            job->cluster.node->accelerator->name);
    if (decision->proposal)
        line("model", proposal_text(arena, decision), style, out);
    if (job->goal.loss_nats > 0)
        line("tokens", tokens_text(arena, decision), style, out);
    line("plan", tsim_arena_printf(arena, "%s, with %s", plan_text(arena, offer->plan), job->software->name), style,
         out);
    if (!isnan(offer->chance_in_time) && !isnan(offer->chance_in_budget))
        line("chance",
             tsim_arena_printf(arena, "%s of meeting both goals: %s the date, %s the budget%s",
                               chance_text(arena, offer->chance_of_both), chance_text(arena, offer->chance_in_time),
                               chance_text(arena, offer->chance_in_budget), most),
             style, out);
    else
        line("chance",
             tsim_arena_printf(arena, "%s of %s%s", chance_text(arena, offer->chance_of_both),
                               isnan(offer->chance_in_time) ? "keeping the budget" : "making the date", most),
             style, out);
    line("price", terms_text(arena, offer), style, out);
    line("capital", capital_text(arena, offer), style, out);
    line("evidence", evidence_text(arena, offer), style, out);
    print_ranges(arena, offer, style, out);
}

static bool is_estimate(const struct tsim_priced_network *network) {
    return network->status && strcmp(network->status, "estimate") == 0;
}

/* Returns "6.5 to 7.6 M USD": as far as sources lie apart; of an estimate with a mark. */
static const char *network_price(struct tsim_arena *arena, const struct tsim_priced_network *network) {
    const char *mark = is_estimate(network) ? "*" : "";
    if (!(network->high_usd > 1.02 * network->low_usd))
        return tsim_arena_printf(arena, "%s%s", rough_money(arena, network->bill.usd), mark);
    return tsim_arena_printf(arena, "%s to %s%s", rough_money(arena, network->low_usd),
                             rough_money(arena, network->high_usd), mark);
}

static void add_bill(struct tsim_arena *arena, struct tsim_text_table *table,
                     const struct tsim_priced_network *network) {
    const struct tsim_network_bill *bill = &network->bill;
    char count[96];
    tsim_text_table_add(table, tsim_arena_printf(arena, "%d", bill->tiers));
    tsim_text_table_add(table, tsim_count_text(ceil(bill->switches), count, sizeof count));
    tsim_text_table_add(table, tsim_count_text(ceil(bill->links), count, sizeof count));
    tsim_text_table_add(table, network_price(arena, network));
}

static const char *step_text(struct tsim_arena *arena, double ratio) {
    if (isnan(ratio))
        return "not simulated";
    return fabs(ratio - 1) < 5e-4 ? "the same" : tsim_arena_printf(arena, "%+.1f %%", 100 * (ratio - 1));
}

/* Prints what the step takes on other fabrics of its speed, with the same cluster and plan, and what each network is made of. */
static void print_rivals(struct tsim_arena *arena, const struct tsim_decision *decision, const struct tsim_style *style,
                         FILE *out) {
    static const struct tsim_column COLUMNS[] = {{"fabric", false},  {"step", true},  {"tiers", true},
                                                 {"switches", true}, {"links", true}, {"price", true}};
    struct tsim_text_table table;
    bool has_estimate = is_estimate(&decision->network), lacks_step = false;
    if (decision->n_rivals == 0)
        return;
    fputs("\nthe network, and other fabrics of the same speed\n", out);
    tsim_text_table_init(&table, arena, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    tsim_text_table_add(&table, job_of(&decision->offers[0])->cluster.fabric->name);
    tsim_text_table_add(&table, "");
    add_bill(arena, &table, &decision->network);
    for (size_t i = 0; i < decision->n_rivals; i++) {
        tsim_text_table_add(&table, decision->rivals[i].fabric->name);
        tsim_text_table_add(&table, step_text(arena, decision->rivals[i].step_ratio));
        add_bill(arena, &table, &decision->rivals[i].network);
        has_estimate |= is_estimate(&decision->rivals[i].network);
        lacks_step |= isnan(decision->rivals[i].step_ratio);
    }
    tsim_text_table_print(&table, style, out);
    if (lacks_step) {
        fputs("  ", out);
        tsim_text_wrap(out, style, 4, "not simulated: every rank would have to be simulated, and there are too many");
    }
    if (has_estimate) {
        fputs("  ", out);
        tsim_text_wrap(
            out, style, 4,
            "*: an estimate: no dated price of such a switch is in the catalogue; --json has the source of each");
    }
}

static void print_alternatives(struct tsim_arena *arena, const struct tsim_decision *decision,
                               const struct tsim_style *style, FILE *out) {
    static const struct tsim_column COLUMNS[] = {{"", false},    {"", false},      {"cluster", false}, {"days", true},
                                                 {"cost", true}, {"chance", true}, {"evidence", false}};
    struct tsim_text_table table;
    size_t first = !decision->is_met; /* the nearest is shown above */
    if (decision->n_alternatives <= first)
        return;
    fputs("\nthe runners-up: other machines, another size, other ways to get it\n", out);
    tsim_text_table_init(&table, arena, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (size_t i = first; i < decision->n_alternatives; i++) {
        const struct tsim_offer *offer = decision->alternatives[i].offer;
        tsim_text_table_add(&table, tsim_arena_printf(arena, "%zu", i + 1 - first));
        tsim_text_table_add(&table, TSIM_PURCHASE_WORDS[offer->purchase]);
        tsim_text_table_add(&table, tsim_offer_cluster(arena, offer));
        tsim_text_table_add(&table, days_text(arena, &offer->days, offer->days.p50));
        tsim_text_table_add(&table, supported(arena, &offer->cost_usd, offer->cost_usd.p50, "USD"));
        tsim_text_table_add(&table, chance_text(arena, offer->chance_of_both));
        tsim_text_table_add(&table, evidence_word(offer));
    }
    tsim_text_table_print(&table, style, out);
    for (size_t i = first; i < decision->n_alternatives; i++) {
        fputs("  ", out);
        tsim_text_wrap(out, style, 4,
                       tsim_arena_printf(arena, "%zu: %s", i + 1 - first, decision->alternatives[i].why_not));
    }
}

static void print_sentences(const char *head, const char *const *sentences, size_t n, const struct tsim_style *style,
                            FILE *out) {
    if (n == 0)
        return;
    fprintf(out, "\n%s\n", head);
    for (size_t i = 0; i < n; i++) {
        fputs("  ", out);
        tsim_text_wrap(out, style, 4, sentences[i]);
    }
}

static void print_searched(struct tsim_arena *arena, const struct tsim_decision *decision,
                           const struct tsim_style *style, FILE *out) {
    char plans[96], simulated[96];
    size_t n_left_out = 0, n_dear = 0, n_unasked = 0;
    for (size_t i = 0; i < decision->n_machines; i++) {
        n_left_out += decision->machines[i].left_out != NULL;
        n_dear += decision->machines[i].is_dear;
        n_unasked += decision->machines[i].is_unasked;
    }
    const char *dear = n_dear == 0 ? ""
                       : decision->is_interrupted
                           ? tsim_arena_printf(arena, "%zu whose matrix products are dear, ", n_dear)
                           : tsim_arena_printf(arena, "%zu that lose even at their peak, ", n_dear);
    size_t n_others = n_left_out - n_dear - n_unasked;
    const char *others =
        n_others > 0
            ? tsim_arena_printf(arena, "%zu without a price or a network, or that cannot run the job; ", n_others)
            : "";
    const char *unasked = n_unasked > 0 ? tsim_arena_printf(arena, "%zu for which cluster.node does not ask%s",
                                                            n_unasked, n_others > 0 ? ", " : "; ")
                                        : "";
    const char *of =
        decision->n_machines > 0
            ? tsim_arena_printf(arena, " of %zu machine%s of the catalogue (left out: %s%s%s--json says which)",
                                decision->n_machines - n_left_out, decision->n_machines - n_left_out == 1 ? "" : "s",
                                dear, unasked, others)
            : " (only those given by sweep or --vary, in no other sizes)";
    fputc('\n', out);
    tsim_text_wrap(
        out, style, 0,
        tsim_arena_printf(arena, "searched: %zu cluster%s%s, %s valid plans, %s of them simulated%s",
                          decision->n_clusters, decision->n_clusters == 1 ? "" : "s", of,
                          tsim_count_text((double)decision->n_plans, plans, sizeof plans),
                          tsim_count_text((double)decision->n_simulated, simulated, sizeof simulated),
                          decision->is_interrupted ? "; it was interrupted, and this is the best so far" : ""));
}

/* Prints, if there is no plan at all, what nothing divides, or what single nodes cannot have. */
static void print_indivisible(struct tsim_arena *arena, const struct tsim_decision *decision,
                              const struct tsim_style *style, FILE *out) {
    const struct tsim_scenario *job = decision->job;
    int64_t workers = job->parallelism.local_sgd.workers;
    char batch[96], each[96];
    if (decision->n_plans > 0 || decision->n_clusters == 0)
        return;
    fputs("  ", out);
    if (job->parallelism.parameter_server.servers > 0) {
        tsim_text_wrap(out, style, 4,
                       "parameter servers need several nodes, and the search began with single ones: --vary "
                       "cluster.nodes=2,4,8 says how many to try");
        return;
    }
    tsim_text_wrap(
        out, style, 4,
        tsim_arena_printf(
            arena, "none of the clusters can divide %s samples of a step%s among its accelerators%s",
            tsim_count_text((double)job->training.global_batch_size, batch, sizeof batch),
            workers > 0
                ? tsim_arena_printf(arena, " and %s workers", tsim_count_text((double)workers, each, sizeof each))
                : "",
            workers > 0 ? ": parallelism.local_sgd.workers is a number of the job's own machines, so name them with "
                          "--set cluster.node, or let the number of workers be a power of 2"
                        : ": a training.global_batch_size that is a multiple of a power of 2 is easier to divide"));
}

void tsim_decision_print(struct tsim_arena *arena, const struct tsim_decision *decision,
                         enum tsim_decision_objective objective, const struct tsim_style *style, FILE *out) {
    fprintf(out, "%s%s\n\n", goal_text(arena, decision),
            objective == TSIM_DECIDE_BY_CHANCE
                ? ""
                : tsim_arena_printf(arena, "; by %s", TSIM_DECISION_OBJECTIVES[objective]));
    if (decision->n_offers == 0) {
        fputs(decision->is_interrupted ? "interrupted before a plan of any cluster had been simulated\n"
                                       : "no cluster has both a plan that fits and a price\n",
              out);
        if (!decision->is_interrupted)
            print_indivisible(arena, decision, style, out);
        print_searched(arena, decision, style, out);
        return;
    }
    if (!decision->is_met)
        tsim_text_wrap(out, style, 0,
                       decision->is_interrupted ? "no cluster that was tried before the interrupt is more likely than "
                                                  "not to reach the goal"
                                                : "no cluster is more likely than not to reach the goal");
    if (!(decision->job->goal.deadline_s > 0) && decision->n_machines > 0 && objective != TSIM_DECIDE_BY_DAYS)
        tsim_text_wrap(
            out, style, 0,
            tsim_arena_printf(arena,
                              "no date was given: each machine comes in sizes that take up to about %.0f days; "
                              "--deadline says another time, --objective days the shortest that the budget "
                              "pays for",
                              TSIM_DAYS_WITHOUT_DATE));
    for (size_t i = 0; i < decision->n_misses; i++) {
        fputs("  ", out);
        tsim_text_wrap(out, style, 4, decision->misses[i]);
    }
    print_choice(arena, decision, style, out);
    print_alternatives(arena, decision, style, out);
    print_rivals(arena, decision, style, out);
    print_sentences("what would change the decision", decision->flips, decision->n_flips, style, out);
    print_searched(arena, decision, style, out);
    tsim_text_wrap(out, style, 0,
                   "to run it, write it as a scenario with --output FILE, or give your own scenario these settings");
    tsim_plan_print_settings(arena, decision->offers[0].plan->set_json, style, out);
}

/* ---- JSON ---- */

static void add_range(struct tsim_json *parent, const char *key, const struct tsim_percentiles *range) {
    if (isnan(range->p50))
        return;
    struct tsim_json *object = tsim_json_object(parent, key);
    tsim_json_number(object, "p10", range->p10);
    tsim_json_number(object, "p50", range->p50);
    tsim_json_number(object, "p90", range->p90);
}

static void fill_offer(struct tsim_arena *arena, struct tsim_json *object, const struct tsim_offer *offer,
                       const char *action) {
    const struct tsim_scenario *job = job_of(offer);
    tsim_json_text(object, "action", action);
    tsim_json_text(object, "node", job->cluster.node->name);
    tsim_json_integer(object, "nodes", job->cluster.nodes);
    if (job->cluster.fabric)
        tsim_json_text(object, "fabric", job->cluster.fabric->name);
    tsim_json_integer(object, "accelerators", (int64_t)tsim_accelerators_of(NULL, job).value);
    tsim_json_text(object, "plan", plan_text(arena, offer->plan));
    tsim_json_parsed(object, "set", offer->plan->set_json);
    add_range(object, "days", &offer->days);
    add_range(object, "cost_usd", &offer->cost_usd);
    add_range(object, "energy_kwh", &offer->energy_kwh);
    tsim_json_number(object, "chance_in_time", offer->chance_in_time);
    tsim_json_number(object, "chance_in_budget", offer->chance_in_budget);
    tsim_json_number(object, "chance_of_both", offer->chance_of_both);
    tsim_json_number(object, "expected_cost_usd", offer->mean_usd);
    tsim_json_text(object, "price", terms_text(arena, offer));
    if (offer->capital.usd > 0) {
        tsim_json_number(object, "capital_usd", offer->capital.usd);
        struct tsim_json *parts = tsim_json_object(object, "capital");
        tsim_json_number(parts, "nodes_usd", offer->capital.nodes_usd);
        tsim_json_number(parts, "network_usd", offer->capital.network_usd);
        tsim_json_number(parts, "storage_usd", offer->capital.storage_usd);
        tsim_json_number(parts, "facility_usd", offer->capital.facility_usd);
    }
    tsim_json_text(object, "evidence", TSIM_GROUNDS_WORDS[offer->evidence]);
    tsim_json_integer(object, "measured_runs", offer->plan->n_own_runs > 0 ? offer->plan->n_own_runs : 0);
    tsim_json_integer(object, "similar_runs", offer->plan->n_similar_runs > 0 ? offer->plan->n_similar_runs : 0);
}

static void add_network(struct tsim_json *object, const struct tsim_priced_network *network) {
    const struct tsim_network_bill *bill = &network->bill;
    tsim_json_integer(object, "tiers", bill->tiers);
    tsim_json_number(object, "switches", bill->switches);
    tsim_json_number(object, "links", bill->links);
    tsim_json_number(object, "network_usd", bill->usd);
    tsim_json_number(object, "network_low_usd", network->low_usd);
    tsim_json_number(object, "network_high_usd", network->high_usd);
    if (network->source) {
        tsim_json_text(object, "price_status", network->status);
        tsim_json_text(object, "price_source", network->source);
    }
}

static void add_rivals(struct tsim_json *root, const struct tsim_decision *decision) {
    struct tsim_json *list = tsim_json_array(root, "fabrics");
    for (size_t i = 0; i < decision->n_rivals; i++) {
        struct tsim_json *object = tsim_json_object(list, NULL);
        tsim_json_text(object, "fabric", decision->rivals[i].fabric->name);
        tsim_json_number(object, "step_ratio", decision->rivals[i].step_ratio);
        add_network(object, &decision->rivals[i].network);
    }
}

static void add_texts(struct tsim_json *root, const char *key, const char *const *texts, size_t n) {
    struct tsim_json *list = tsim_json_array(root, key);
    for (size_t i = 0; i < n; i++)
        tsim_json_text(list, NULL, texts[i]);
}

static void add_proposal(struct tsim_arena *arena, struct tsim_json *root, const struct tsim_proposal *proposal) {
    struct tsim_json *object = tsim_json_object(root, "proposal");
    tsim_json_text(object, "model", tsim_proposal_text(arena, proposal));
    tsim_json_number(object, "parameters", proposal->parameters);
    tsim_json_number(object, "tokens", proposal->tokens);
    add_range(object, "loss", &proposal->loss);
}

static void add_tokens_needed(struct tsim_json *root, const struct tsim_tokens_needed *needed) {
    struct tsim_percentiles tokens = tsim_points_percentiles(needed->at, TSIM_LOSS_CASES);
    struct tsim_json *object = tsim_json_object(root, "tokens_to_loss");
    tsim_json_number(object, "p10", tokens.p10);
    tsim_json_number(object, "p50", needed->middle);
    tsim_json_number(object, "p90", isfinite(tokens.p90) ? tokens.p90 : (double)NAN);
    tsim_json_number(object, "reached_frac", needed->reached_frac);
}

struct tsim_json *tsim_decision_json(struct tsim_arena *arena, const struct tsim_decision *decision,
                                     enum tsim_decision_objective objective) {
    const struct tsim_goal_spec *goal = &decision->job->goal;
    struct tsim_json *root = tsim_json_new_object();
    tsim_json_text(root, "schema", "tsim/decision/v1");
    tsim_json_text(root, "scenario", decision->job->name);
    struct tsim_json *said = tsim_json_object(root, "goal");
    tsim_json_text(said, "text", goal_text(arena, decision));
    if (decision->job->training.length_kind == TSIM_LENGTH_TOKENS)
        tsim_json_number(said, "tokens", decision->job->training.length);
    tsim_json_number(said, "loss", goal->loss_nats > 0 ? goal->loss_nats : (double)NAN);
    tsim_json_number(said, "deadline_s", goal->deadline_s > 0 ? goal->deadline_s : (double)NAN);
    tsim_json_number(said, "budget_usd", goal->budget_usd > 0 ? goal->budget_usd : (double)NAN);
    if (decision->proposal)
        add_proposal(arena, root, decision->proposal);
    if (goal->loss_nats > 0)
        add_tokens_needed(root, &decision->needed);
    tsim_json_text(root, "objective", TSIM_DECISION_OBJECTIVES[objective]);
    struct tsim_json *choice = tsim_json_object(root, "decision");
    if (decision->n_offers == 0)
        tsim_json_text(choice, "action", "none");
    else
        fill_offer(arena, choice, &decision->offers[0],
                   decision->is_met ? TSIM_PURCHASE_WORDS[decision->offers[0].purchase] : "none");
    struct tsim_json *list = tsim_json_array(root, "alternatives");
    for (size_t i = 0; i < decision->n_alternatives; i++) {
        struct tsim_json *object = tsim_json_object(list, NULL);
        fill_offer(arena, object, decision->alternatives[i].offer,
                   TSIM_PURCHASE_WORDS[decision->alternatives[i].offer->purchase]);
        tsim_json_text(object, "why_not", decision->alternatives[i].why_not);
    }
    if (decision->network.bill.tiers > 0)
        add_network(tsim_json_object(root, "network"), &decision->network);
    add_rivals(root, decision);
    add_texts(root, "flips", decision->flips, decision->n_flips);
    if (decision->n_misses > 0)
        add_texts(root, "misses", decision->misses, decision->n_misses);
    struct tsim_json *left_out = tsim_json_array(root, "left_out");
    for (size_t i = 0; i < decision->n_machines; i++)
        if (decision->machines[i].left_out) {
            struct tsim_json *object = tsim_json_object(left_out, NULL);
            tsim_json_text(object, "node", decision->machines[i].node);
            tsim_json_text(object, "why", decision->machines[i].left_out);
        }
    tsim_json_integer(root, "clusters", (int64_t)decision->n_clusters);
    tsim_json_integer(root, "plans", decision->n_plans);
    tsim_json_integer(root, "evaluated", decision->n_simulated);
    if (decision->is_interrupted)
        tsim_json_bool(root, "interrupted", true);
    tsim_json_text(tsim_json_object(root, "simulator"), "version", TSIM_VERSION);
    return root;
}
