/* decision.h - rent, reserve or buy: which cluster trains a model by a date, within a budget, and with what
 * probability.
 *
 * An offer is a cluster, the best plan on it, and a way to get it. The plan must still fit if its memory peaks as far
 * above the prediction as it does in one of ten measured runs. An offer costs, in USD,
 *
 *   rent      p R d
 *   reserve   p C max(d, D)
 *   buy       p K + F + (M + E) d
 *
 *   d   how long the run takes, in days: a distribution (forecast.h). A cluster that is bought starts after its
 *       delivery
 *   R   rent of the cluster with its spares, USD a day
 *   C   price of the same cluster under a contract, USD a day; D the contract's least length, in days
 *   K   price of nodes, network and storage, USD; they are paid in full, and are worth nothing afterwards
 *   F   price of the facility, USD: the part of its life that the machine's life takes up
 *   M   maintenance, USD a day
 *   E   electricity, USD a day, within energy.price_spread in eight of ten cases
 *   p   prices paid over known prices: a lognormal that is within cost.price_spread in eight of ten cases, independent
 *       of d
 *
 * The chance of a goal is the share of all pairs of d and p that keep it. It is rounded, and kept below what the
 * measured runs can support (buy_judgements.h). Offers are ranked by the chance that they keep both date and budget.
 * Offers that are equally likely are ranked by expected cost. */
#pragma once

#include "config/network_bill.h"
#include "results/loss_law.h"
#include "study/judge/proposal.h"
#include "study/search/clusters.h"
#include "study/search/plan.h"

enum tsim_purchase { TSIM_PURCHASE_RENT, TSIM_PURCHASE_RESERVE, TSIM_PURCHASE_BUY, TSIM_N_PURCHASES };
extern const char *const TSIM_PURCHASE_WORDS[TSIM_N_PURCHASES]; /* "rent", "reserve", "buy" */

/* Grades how much measured runs say about an offer: enough on its accelerator and some like it, fewer, or none. */
enum tsim_grounds { TSIM_GROUNDS_MEASURED, TSIM_GROUNDS_SIMILAR, TSIM_GROUNDS_ESTIMATE };
extern const char *const TSIM_GROUNDS_WORDS[];

/* The price of the whole cluster, if it is bought; parts are 0 if they are not known. */
struct tsim_capital {
    double nodes_usd, network_usd, storage_usd, facility_usd, usd;
};

struct tsim_offer {
    const struct tsim_plan *plan;
    bool is_screened; /* the plan was played by passes, not by operators */
    enum tsim_purchase purchase;
    double asked_usd_per_day, asked_usd; /* these are multiplied by p */
    double usd_per_day, power_usd_per_day, usd;
    double machines_frac;             /* part of asked_usd: all but the network, if this has a price of its own */
    double least_days, delivery_days; /* least days that are paid for; days before the run begins */
    double failing_frac;              /* part of the days that failures cost */
    const struct tsim_distribution *failing_frac_at; /* the same of each case of days; NULL: failing_frac of all */
    double mean_usd;
    struct tsim_percentiles days, cost_usd, energy_kwh;
    double chance_in_time, chance_in_budget, chance_of_both; /* NAN: there is no such goal */
    struct tsim_capital capital;
    enum tsim_grounds evidence;
};

enum tsim_decision_objective {
    TSIM_DECIDE_BY_CHANCE,
    TSIM_DECIDE_BY_COST, /* from here on, offers that are likelier than not to reach the goal come first */
    TSIM_DECIDE_BY_DAYS,
    TSIM_DECIDE_BY_ENERGY,
    TSIM_N_DECISION_OBJECTIVES
};
extern const char *const TSIM_DECISION_OBJECTIVES[TSIM_N_DECISION_OBJECTIVES]; /* "chance", "cost", "days", "energy" */

/* The world may change; each factor is 1 and the delay is 0 if nothing does. */
struct tsim_changes {
    double rent, purchase, power_price, failures; /* factors; that of purchase is for the machines */
    double slip;                                  /* factor of the days on the accelerator of `slipping` */
    const struct tsim_offer *slipping;
    double delay_days; /* how much later the delivery of what is bought is */
};
extern const struct tsim_changes TSIM_NO_CHANGES;

struct tsim_decision_search {
    const struct tsim_scenario_source *source;
    const struct tsim_override *overrides;
    size_t n_overrides;
    const struct tsim_space *axes; /* the candidates; NULL: those of the catalogue */
    bool has_fabrics;              /* candidates that name a node are on the fabric that its NICs fill */
    enum tsim_decision_objective objective;
    int32_t n_threads;
    bool is_exhaustive; /* no machine that could run the job is left out, and every plan is simulated; for tests */
    bool heeds_interrupt;
};

struct tsim_alternative {
    const struct tsim_offer *offer;
    const char *why_not;
};

/* A network's parts and their cost, within what the catalogue's sources say of switches and links. */
struct tsim_priced_network {
    struct tsim_network_bill bill;
    double low_usd, high_usd;
    const char *status, *source; /* of the switch's price: "read", "estimate"; NULL: the catalogue has none */
};

/* A rival is the choice's cluster and plan on another fabric of its speed. */
struct tsim_fabric_rival {
    const struct tsim_fabric *fabric;
    /* The time of its step over that of the choice's; NAN: its flows meet by hash on too many links to be played
     * here. */
    double step_ratio;
    struct tsim_priced_network network;
};

struct tsim_decision {
    const struct tsim_scenario *job; /* on one of the clusters; it holds the goal */
    struct tsim_offer *offers;       /* best first */
    size_t n_offers;
    bool is_met; /* the first offer is at least as likely to reach the goal as to miss it: it is the choice */
    struct tsim_alternative *alternatives;
    size_t n_alternatives;
    const char **flips; /* sentences on what would change the choice */
    size_t n_flips;
    const char **misses; /* if no goal is met: sentences on which limit fails, by how much, and what could be met */
    size_t n_misses;
    struct tsim_catalogue_machine *machines; /* of the catalogue; none if candidates were given */
    size_t n_machines;
    const struct tsim_override *overrides; /* those of the search, and the goal's length */
    size_t n_overrides;
    struct tsim_priced_network network;     /* that of the choice */
    const struct tsim_fabric_rival *rivals; /* in the order of their ids */
    size_t n_rivals;
    struct tsim_tokens_needed needed;     /* if the goal is a loss */
    const struct tsim_proposal *proposal; /* the model, if nobody named one; NULL: somebody did */
    size_t n_clusters;
    int64_t n_plans, n_simulated;
    bool is_interrupted;
};

/* Decides. A missing goal or length is an error in `diags`. */
enum tsim_status tsim_decide(struct tsim_arena *arena, const struct tsim_decision_search *search,
                             tsim_plan_report_fn report, void *context, struct tsim_decision *decision,
                             struct tsim_diags *diags);

/* Returns "128 x dgx-h100, ib-ndr". */
const char *tsim_offer_cluster(struct tsim_arena *arena, const struct tsim_offer *offer);
/* Returns the highest chance that may be claimed on such evidence. */
double tsim_most_chance(enum tsim_grounds evidence);
/* Returns "85 %" or "under 5 %". */
const char *tsim_chance_text(struct tsim_arena *arena, double chance);

/* The rest is for tests. This fills in an offer's distributions and chances, from the goal and the spread of prices in
 * the plan's scenario. */
void tsim_offer_evaluate(struct tsim_offer *offer, const struct tsim_changes *changes);
bool tsim_offer_is_better(const struct tsim_goal_spec *goal, enum tsim_decision_objective objective,
                          const struct tsim_offer *a, const struct tsim_offer *b);
double tsim_chance_shown(double chance, enum tsim_grounds evidence); /* of full twentieths */
