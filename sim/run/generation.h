/* generation.h - the responses that the policy generates before it is trained on them (GRPO, PPO): prefill and decode
 * passes of the same operators on the same engine, with a cache of keys and values.
 *
 * The accelerators are engines of `generation.tensor` ranks, each with the whole model, or
 * `generation.expert` engines with one set of experts together (vLLM: data_parallel_size with enable_expert_parallel).
 * The tokens of these go to the experts of one another in each layer, so they go from pass to pass together. Prompts
 * are dealt out evenly.
 * An engine runs as many sequences at a time as its cache holds, at most `max_sequences`, and takes the next prompt
 * when a response is complete (continuous batching: Yu et al. 2022, Orca). A response's length is drawn from
 * training.lengths less the prompt. A decode pass gives every running sequence one token. Its time is played on the
 * engine for batches of powers of two and two lengths of the cache; between these it is a straight line in both, as its
 * weights, cache and products are. Between two passes the engine schedules and samples for software.host_time_per_pass.
 * The round ends with its longest response; engines that have finished wait at rest.
 *
 * Engines are on all accelerators, or on nodes of their own (generation.nodes). Rounds differ by their draws:
 * TSIM_ROUNDS of them are generated, and figures are their means.
 *
 * Not modelled: speculative decoding, and responses that are interrupted and finished later. */
#pragma once

#include "config/scenario.h"

enum { TSIM_ROUNDS = 64 };

struct tsim_generation_phase {
    bool has;
    double rounds_s[TSIM_ROUNDS]; /* of each round */
    double time_s, energy_j;      /* of a round, over all accelerators that generate */
    double prefill_s;             /* part of the time of the slowest engine */
    double tokens;                /* that are generated */
    double longest_tokens;        /* of the longest response */
    double sequences;             /* that an engine runs at once at the beginning */
    double weights_bytes;         /* of each accelerator while it generates */
    double model_bytes;           /* weights of the whole model, as they are sent */
    double received_bytes; /* of the weights as training sends them; engines quantize them (vLLM's load_weights) */
    double tokens_per_s_per_gpu; /* generated tokens, over the whole round */
};

/* Returns the cache of one sequence of this many tokens on one tensor rank: keys and values of all layers, and, for
 * layers that have states in their place (Mamba, the delta rule), these states, which do not grow. */
double tsim_cache_bytes(const struct tsim_scenario *scenario, double tokens);

/* Simulates generation; the scenario must generate (tsim_generates). Returns TSIM_ERR_INFEASIBLE if an engine cannot
 * divide the model, or does not hold the model and a cache. */
enum tsim_status tsim_generation_simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                          struct tsim_generation_phase *generation, struct tsim_diags *diags);

/* Checks the same without simulating. *excess_bytes becomes the memory that an accelerator lacks for the engines' share
 * to suffice. It is 0 if nothing is lacking, and if the model cannot be divided in this way. */
enum tsim_status tsim_generation_check(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                       double *excess_bytes, struct tsim_diags *diags);
