/* decision.h - rent, reserve or buy: which cluster trains a model by a date, within a budget, and how sure that is.
 *
 * An offer is a cluster with its best plan that fits with its peak as far above as one in ten is, and a way to get it.
 *
 *   rent      cost = p R d
 *   reserve   cost = p C max(d, commitment)
 *   buy       cost = p K + F + (M + E) d, and the run ends after delivery + d
 *
 * d days of the run, its whole distribution (forecast.h); R, C rent and contract of the cluster, spares included, a day;
 * K nodes, network and storage; F the machine's lifetime of the facility's; M maintenance, E electricity, a day; p the
 * prices as they are asked over as they are known: lognormal, within cost.price_spread in eight of ten cases, and
 * independent of d. A purchase is paid in full, and its worth afterwards is not taken off.
 *
 * The chance of a goal is the part of all pairs of d and p that keep it, in steps of a twentieth and never above 95 %:
 * the residuals that d is made of say no more. It is never above 90 % where few runs were measured on the accelerator or like
 * this one, nor above 80 % where none was, so that no machine wins by an interval that nothing stands behind. Offers are ranked by the chance of keeping date and budget both, then by
 * expected cost (where no date is set by the days). */
#ifndef TSIM_STUDY_DECISION_H
#define TSIM_STUDY_DECISION_H

#include "study/search/clusters.h"
#include "study/search/plan.h"

enum tsim_purchase { TSIM_PURCHASE_RENT, TSIM_PURCHASE_RESERVE, TSIM_PURCHASE_BUY, TSIM_N_PURCHASES };
extern const char *const TSIM_PURCHASE_WORDS[TSIM_N_PURCHASES]; /* "rent", "reserve", "buy" */

/* How much measured runs say of an offer: enough of them on its accelerator and like it, fewer, none. */
enum tsim_grounds { TSIM_GROUNDS_MEASURED, TSIM_GROUNDS_SIMILAR, TSIM_GROUNDS_ESTIMATE };
extern const char *const TSIM_GROUNDS_WORDS[];

struct tsim_capital { /* of the whole cluster, if it is bought; 0 where the price is not known */
    double nodes_usd, network_usd, storage_usd, facility_usd, usd;
};

struct tsim_offer {
    const struct tsim_plan *plan;
    enum tsim_purchase purchase;
    double asked_usd_per_day, asked_usd; /* both times p */
    double usd_per_day, power_usd_per_day, usd;
    double least_days, delivery_days; /* paid for at least; before the run begins */
    double failing_frac;              /* of the days: what failures are to blame for */
    double mean_usd;
    struct tsim_percentiles days, cost_usd, energy_kwh;
    double chance_in_time, chance_in_budget, chance_of_both; /* NAN: there is no such goal */
    struct tsim_capital capital;
    enum tsim_grounds evidence;
};

enum tsim_decision_objective {
    TSIM_DECIDE_BY_CHANCE,
    TSIM_DECIDE_BY_COST, /* these: among offers that are likelier than not to make the goal */
    TSIM_DECIDE_BY_DAYS,
    TSIM_DECIDE_BY_ENERGY,
    TSIM_N_DECISION_OBJECTIVES
};
extern const char *const TSIM_DECISION_OBJECTIVES[TSIM_N_DECISION_OBJECTIVES]; /* "chance", "cost", "days", "energy" */

/* The world as it might be: each factor 1 and the delay 0 where nothing differs. */
struct tsim_changes {
    double rent, purchase, power_price, failures; /* times as much */
    double slip;                                  /* of the days of `slipping`'s accelerator */
    const struct tsim_offer *slipping;
    double delay_days; /* of what is bought */
};
extern const struct tsim_changes TSIM_NO_CHANGES;

struct tsim_decision_search {
    const struct tsim_scenario_source *source;
    const struct tsim_override *overrides;
    size_t n_overrides;
    const struct tsim_space *axes; /* the candidates; NULL: the catalogue's */
    enum tsim_decision_objective objective;
    int32_t n_threads;
    bool heeds_interrupt;
};

struct tsim_alternative {
    const struct tsim_offer *offer;
    const char *why_not;
};

struct tsim_decision {
    const struct tsim_scenario *job; /* on one of the clusters; its goal */
    struct tsim_offer *offers;       /* best first */
    size_t n_offers;
    bool is_met; /* the first is likelier than not to make the goal: it is the choice */
    struct tsim_alternative *alternatives;
    size_t n_alternatives;
    const char **flips; /* sentences: what would turn the choice round */
    size_t n_flips;
    const char **misses; /* no goal met: sentences on which limit fails, by how much, and what could be met */
    size_t n_misses;
    const struct tsim_machine *machines; /* of the catalogue; n 0 where candidates were given */
    size_t n_machines;
    const struct tsim_override *overrides; /* those of the search, and the goal's length */
    size_t n_overrides;
    size_t n_clusters;
    int64_t n_plans, n_simulated;
    bool is_interrupted;
};

/* A goal or a length that is missing is an error in `diags`. */
enum tsim_status tsim_decide(struct tsim_arena *arena, const struct tsim_decision_search *search,
                             tsim_plan_report_fn report, void *context, struct tsim_decision *decision,
                             struct tsim_diags *diags);

/* Parts, for tests. Fills in an offer's distribution and chances, for the goal and the spread of the plan's scenario. */
void tsim_offer_evaluate(struct tsim_offer *offer, const struct tsim_changes *changes);
bool tsim_offer_is_better(const struct tsim_goal_spec *goal, enum tsim_decision_objective objective,
                          const struct tsim_offer *a, const struct tsim_offer *b);
double tsim_chance_shown(double chance, enum tsim_grounds evidence); /* in steps of a twentieth */

/* "1,024 x h100-sxm in 128 dgx-h100, ib-ndr" */
const char *tsim_offer_cluster(struct tsim_arena *arena, const struct tsim_offer *offer);

#endif
