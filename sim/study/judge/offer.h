/* offer.h - what it takes to have a cluster that runs a job: its price, and its days, costs and chances as distributions.
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
 * The chance of a goal is the share of all pairs of d and p that keep it. It is rounded down, and kept below what the
 * measured runs can support (buy_judgements.h). Offers are ranked by the chance that they keep both date and budget.
 * Offers that are equally likely are ranked by expected cost. */
#pragma once

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

/* Makes an offer of a plan; returns false if the plan's days or its price are not known. */
bool tsim_offer_make(const struct tsim_plan *plan, enum tsim_purchase purchase, struct tsim_offer *offer);
/* Fills in an offer's distributions and chances, from the goal and the spread of prices in the plan's scenario. */
void tsim_offer_evaluate(struct tsim_offer *offer, const struct tsim_changes *changes);
bool tsim_offer_is_better(const struct tsim_goal_spec *goal, enum tsim_decision_objective objective,
                          const struct tsim_offer *a, const struct tsim_offer *b);
/* Returns the ratio of the middle case to the limit that it misses by most; 1 if it misses neither. */
double tsim_offer_miss_ratio(const struct tsim_goal_spec *goal, const struct tsim_offer *offer);

const struct tsim_scenario *tsim_offer_job(const struct tsim_offer *offer);
double tsim_offer_figure(const struct tsim_offer *offer, enum tsim_outcome_figure which);
double tsim_offer_nodes(const struct tsim_offer *offer); /* with spares */
/* Returns "128 x dgx-h100, ib-ndr". */
const char *tsim_offer_cluster(struct tsim_arena *arena, const struct tsim_offer *offer);
bool tsim_offers_share_node(const struct tsim_offer *a, const struct tsim_offer *b);
/* Returns whether only a bound of the offer's plan is known. */
bool tsim_offer_is_bound(const struct tsim_offer *offer);
/* Returns what an accelerator costs under a contract: the scenario's price, else its own; 0: none is known. */
double tsim_reserved_usd_per_s(const struct tsim_scenario *job);

enum tsim_limit_kind { TSIM_LIMIT_DAYS, TSIM_LIMIT_USD };
double tsim_goal_limit(const struct tsim_goal_spec *goal, enum tsim_limit_kind which); /* INFINITY if it has none */
const struct tsim_percentiles *tsim_offer_range(const struct tsim_offer *offer, enum tsim_limit_kind which);

/* Returns the highest chance that may be claimed on such evidence. */
double tsim_most_chance(enum tsim_grounds evidence);
/* Returns the chance that is told: full twentieths, and no more than may be claimed. */
double tsim_chance_shown(double chance, enum tsim_grounds evidence);
/* Returns "85 %" or "under 5 %". */
const char *tsim_chance_text(struct tsim_arena *arena, double chance);
