/* rules.h - private to config: rules between keys. */
#pragma once

#include "config/draft/scenario_draft.h"

/* Checks the rules between keys in a draft whose accelerator count is resolved; `data` may still be 0 (auto, with a
 * remainder). Reports every broken rule with its numbers and, if there are some, the nearest settings that work. */
void tsim_draft_validate(const struct tsim_draft *draft, struct tsim_reader *reader);

/* Checks the rules that do not depend on the plan. */
void tsim_draft_validate_job(const struct tsim_draft *draft, struct tsim_reader *reader);

/* Warns, in a finished draft, of settings that the named software does not have. */
void tsim_draft_check_software(const struct tsim_draft *draft, struct tsim_reader *reader);

/* Returns whether the schedule and the stages can have so many chunks a stage (virtual_pipeline). */
bool tsim_chunks_work(const struct tsim_parallelism_spec *parallelism);
/* Returns whether the schedule can run several times in a step, over so many micro-batches each
 * (schedule_microbatches), if the scenario asks for it. */
bool tsim_runs_work(const struct tsim_software *software, const struct tsim_parallelism_spec *parallelism);
/* Returns the schedule that is played. An interleaved schedule with one chunk, and a schedule that needs more than the
 * one stage that there is, become 1f1b. */
enum tsim_schedule tsim_played_schedule(const struct tsim_parallelism_spec *parallelism);

/* Returns whether messages between stages of so many chunks take turns with passes under a schedule (-1: not said), in
 * software that hides those of other schedules. */
bool tsim_sends_in_turns(const struct tsim_software *software, int64_t chunks, int schedule);
/* These return whether messages, and exchanges of experts, are hidden if the scenario does not say. */
bool tsim_hides_messages(const struct tsim_software *software, int64_t chunks, int schedule);
bool tsim_hides_exchanges(const struct tsim_software *software, int schedule);

/* Returns whether whole micro-batches of every replica make up the batch. */
bool tsim_batch_divides(int64_t global_batch_size, int64_t micro_batch_size, int64_t data);
/* The micro-batches of a replica must be a multiple of `unit`, and at least `least`. */
struct tsim_microbatch_rule {
    int64_t unit, least;
};
struct tsim_microbatch_rule tsim_microbatch_rule(const struct tsim_scenario *scenario);
