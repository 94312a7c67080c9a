/* decision.h - rent, reserve or buy: which cluster trains a model by a date, within a budget, and with what
 * probability. Each cluster and plan is offered in up to three ways (offer.h). */
#pragma once

#include "config/network_bill.h"
#include "results/loss_law.h"
#include "study/judge/offer.h"
#include "study/judge/proposal.h"
#include "study/search/clusters.h"

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
