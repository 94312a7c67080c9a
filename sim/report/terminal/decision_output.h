/* decision_output.h - a decision (study/judge/decision.h) as one page of text and as JSON. */
#pragma once

#include "report/terminal/table.h"
#include "results/json.h"
#include "study/judge/decision.h"

void tsim_decision_print(struct tsim_arena *arena, const struct tsim_decision *decision,
                         enum tsim_decision_objective objective, const struct tsim_style *style, FILE *out);

/* Returns {"schema": "tsim/decision/v1", "goal", "decision": {"action", "node", "nodes", "fabric", "plan", "set",
 * "days", "cost_usd", "energy_kwh": {"p10", "p50", "p90"}, "chance_in_time", "chance_in_budget", "chance_of_both",
 * "expected_cost_usd", "capital_usd", "capital", "evidence", "measured_runs", ...}, "alternatives": [the same with
 * "why_not"], "flips", "misses", "left_out", ...}; also "proposal" if no model was named, and "tokens_to_loss" if the
 * goal is a loss (without p90 if the loss is never reached in that many cases). If nothing reaches the goal, "action"
 * is "none", and the rest is that of the offer that comes nearest. The caller releases the object. */
struct tsim_json *tsim_decision_json(struct tsim_arena *arena, const struct tsim_decision *decision,
                                     enum tsim_decision_objective objective);
