/* No legal input reaches an assertion: every key of the schema tables (support/every_key.h), at both ends of its range, in
 * small scenarios of every kind. Whatever is set is refused with a message, by the reader or by the run, or runs and gives
 * finite results. First every value alone (without TSIM_CASES of a key the values up to one that runs), in the first
 * scenario that takes it; then several values at once, drawn, in these and in random scenarios of the catalogue.
 *
 * A key that no scenario takes at any value fails the test: here a scenario is missing in which it means something.
 * TSIM_CASES says how many draws (24), TSIM_SEED from which seed. A bug prints the scenario and what was set. */
#include "results/outcome.h"
#include "study/search/advice.h"
#include "support/every_key.h"
#include "support/random.h"
#include "support/random_scenario.h"
#include "support/run_laws.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_SETTINGS = 5, HANGS_S = 60 };

/* ---- scenarios ---- */

#define HEAD "schema: tsim/v1\nname: ends\n"
#define FAILS "reliability: {replications: 2, spares: 1, checkpoint: {interval: 1 h}}\n"
#define ALL_OF_IT                                                                                                      \
    "data: {storage: nvme, sample_cpu_time: 1 ms}\n"                                                                   \
    "variability: {compute_cv: 0.01, stragglers: {fraction: 0.1, slowdown: 1.2}}\n"                                    \
    "reliability: {replications: 2, spares: 1, stragglers: {mtbf: 20000 h}, maintenance: {interval: 10 d, time: 2 "    \
    "h},\n"                                                                                                            \
    "  preemption: {rate: 0.001 /h}, checkpoint: {mode: async}}\n"                                                     \
    "energy: {region: france}\ncost: {rent: 2 USD/h}\nmeasured: {source: x, step_time: 1 s}\n"
static const char *const BASES[] = {
    HEAD "model: {extends: gpt2-small, layers: 2}\ncluster: {node: single-h100-sxm}\n"
         "training: {global_batch_size: 4, steps: 1000, sequence_length: 512, evaluation: {interval: 100, samples: "
         "64}}\n" FAILS,
    HEAD "model: {extends: llama2-7b, layers: 4}\ncluster: {node: dgx-h100}\n"
         "training: {global_batch_size: 16, steps: 1000, sequence_length: 1024, precision: fp8,\n"
         "  evaluation: {interval: 100, steps: 2}}\n"
         "parallelism: {tensor: 2, pipeline: 2, data: auto}\n" FAILS,
    HEAD "model: {extends: llama2-7b, layers: 4}\n"
         "cluster: {node: dgx-a100, nodes: 2, fabric: ib-hdr, degraded: [{link: nic, rate: 0.5}],\n"
         "  background: [{rate: 1 GB/s, bytes: 1 GB}]}\n"
         "training: {global_batch_size: 64, tokens: 1 G, sequence_length: 1024, offload: {optimizer: true},\n"
         "  batch_ramp: {from: 1, increment: 1, samples: 1000}}\n"
         "parallelism: {tensor: 4, data: auto, zero: 1}\n" ALL_OF_IT,
    HEAD "model: {extends: gpt2-medium, layers: 4}\ncluster: {node: dgx-a100, nodes: 2, fabric: ib-hdr}\n"
         "training: {global_batch_size: 64, samples: 1 M, sequence_length: 1024, recompute: full}\n"
         "parallelism: {zero: 3, data: auto, zero_group: node}\nsoftware: torchtitan-2024\n"
         "reliability: {replications: 2, node_mtbf: 5000 h, checkpoint: {mode: async, local: {copies: 1}}}\n",
    HEAD "model: {extends: mixtral-8x7b, layers: 2}\ncluster: {node: dgx-h100, nodes: 2, fabric: ib-ndr}\n"
         "training: {global_batch_size: 32, tokens: 1 G, sequence_length: 512}\nparallelism: {expert: 8, data: "
         "auto}\n" FAILS,
    HEAD "model: {extends: nemotron-h-8b, layers: 4, pattern: [{kind: mamba2}, {kind: attention}]}\n"
         "cluster: {node: dgx-h100}\ntraining: {global_batch_size: 16, tokens: 1 G, sequence_length: 512}\n"
         "parallelism: {tensor: 2, data: auto}\n",
    HEAD "model: {extends: qwen3-next-80b-a3b, layers: 4}\ncluster: {node: dgx-h100}\n"
         "training: {global_batch_size: 16, tokens: 1 G, sequence_length: 512}\n"
         "parallelism: {tensor: 2, expert: 4, data: auto}\n",
    HEAD "model: {extends: gpt-oss-20b, layers: 4, pattern: [{kind: window}, {kind: attention}]}\ncluster: {node: "
         "dgx-b200}\n"
         "training: {global_batch_size: 16, tokens: 1 G, sequence_length: 512}\nparallelism: {expert: 8, data: auto}\n",
    HEAD "model: {extends: llama2-7b, layers: 4}\ncluster: {node: dgx-h100}\n"
         "training: {global_batch_size: 16, tokens: 1 G, sequence_length: 512, adapter: {kind: qlora},\n"
         "  kind: sft, lengths: {mean: 100, cv: 1}}\n"
         "parallelism: {tensor: 2, data: auto}\n",
    HEAD "model: {extends: gpt2-medium, layers: 8}\ncluster: {node: dgx-h100, nodes: 2, fabric: ib-ndr}\n"
         "training: {global_batch_size: 32, tokens: 1 G, sequence_length: 512}\n"
         "parallelism: {pipeline: 4, virtual_pipeline: 2, data: auto, context: 2}\n" FAILS,
    HEAD "model: {extends: gpt2-medium, layers: 8}\ncluster: {node: dgx-h100}\n"
         "training: {global_batch_size: 16, tokens: 1 G, sequence_length: 512}\n"
         "parallelism: {pipeline: 4, schedule: zb-h1, data: auto}\n" FAILS,
    HEAD "model: {extends: gpt2-medium, layers: 2}\ncluster: {node: dgx-h100, nodes: 2, fabric: ib-ndr,\n"
         "  accelerators_per_node: 4}\n"
         "training: {global_batch_size: 8, tokens: 1 G, sequence_length: 512}\n"
         "parallelism: {tensor: 2, pipeline: 2, data: auto}\nsimulation: {network: steps}\n",
    HEAD "model: {extends: gpt2-medium, layers: 4}\ncluster: {node: tpu-v4-host, nodes: 4, fabric: tpu-v4-torus}\n"
         "training: {global_batch_size: 32, tokens: 1 G, sequence_length: 512}\n"
         "parallelism: {tensor: 2, data: auto}\nsoftware: maxtext-2024\n",
    HEAD "model: {extends: gpt2-medium, layers: 2}\n"
         "cluster: {node: dgx-h100, nodes: 4, accelerators_per_node: 2, fabric: {extends: ib-ndr, topology: fat-tree,\n"
         "  tiers: [{ports: 4}, {ports: 8, oversubscription: 2}]}, degraded: [{link: fabric, rate: 0.5}]}\n"
         "training: {global_batch_size: 16, tokens: 1 G, sequence_length: 512}\nparallelism: {tensor: 2, data: auto}\n"
         "simulation: {fold: off}\n",
    HEAD "model: {extends: bert-base, layers: 2}\ncluster: {node: mi250x-node, nodes: 4, fabric: slingshot-200}\n"
         "training: {global_batch_size: 64, tokens: 1 G, attention: standard, precision: fp16,\n"
         "  loss_scaling: {growth_interval: 100, skipped: 2}}\nparallelism: {data: auto}\n" FAILS,
    HEAD "model: dlrm\ncluster: {node: dgx-a100}\n"
         "training: {global_batch_size: 65536, micro_batch_size: 8192, steps: 1000, precision: fp32}\n" ALL_OF_IT,
    HEAD "model: {kind: dlrm, name: small, dense_features: 1, bottom_mlp: [1], top_mlp: [1],\n"
         "  tables: [{rows: 10, dim: 1, pooling: 1}]}\ncluster: {node: dgx-a100}\n"
         "training: {global_batch_size: 1024, micro_batch_size: 128, steps: 1000, precision: fp32}\n",
    HEAD "model: {kind: cnn, name: small, input: {channels: 3, height: 32, width: 32}, list: [{kind: conv, out: 8,\n"
         "  kernel: 3, norm: true, relu: true}, {kind: max-pool, kernel: 2, stride: 2}, {kind: linear, out: 10}]}\n"
         "cluster: {node: dgx-1v, nodes: 2, fabric: ib-edr}\n"
         "training: {global_batch_size: 512, micro_batch_size: 32, epochs: 3, precision: fp16, optimizer: momentum}\n"
         "data: {samples: 1281167, storage: {extends: nvme, shared: true}}\n",
    HEAD
    "model: {kind: cnn, name: small, input: {channels: 3, height: 8, width: 8}, list: [{kind: conv, out: 4,\n"
    "  fixed_norm: true, frozen: true, name: a}, {kind: conv, out: 4, stride: 2, name: b}, {kind: conv, from: a b,\n"
    "  out: 2}, {kind: conv, from: a, out: 4, join: a, add: b}]}\n"
    "cluster: {node: dgx-1v}\ntraining: {global_batch_size: 512, steps: 10, precision: fp16}\n",
    HEAD
    "model: {kind: cnn, name: small, input: {channels: 8}, list: [{kind: transposed, out: 4, kernel: 3, bias: true}],\n"
    "  discriminator: [{kind: conv, out: 2, kernel: 3, norm: true, relu: true}]}\n"
    "cluster: {node: dgx-1v}\ntraining: {global_batch_size: 512, steps: 10, precision: fp32}\n",
    HEAD "model: gpt2-small\ncluster: {node: single-a100-80gb}\n"
         "training: {global_batch_size: 64, tokens: 1 G, stages: [{sequence_length: 512, steps: 10}]}\n",
    HEAD "model: gpt2-small\ncluster: {node: single-a100-80gb}\n"
         "training: {global_batch_size: 64, tokens: 1 G, stages: [{sequence_length: 512, tokens: 1 M}]}\n",
    HEAD "model: gpt2-small\ncluster: {node: single-a100-80gb}\n"
         "training: {global_batch_size: 64, tokens: 1 G, stages: [{sequence_length: 512, samples: 100}]}\n",
    HEAD "model: {extends: t5-11b, layers: 4, encoder_layers: 2}\ncluster: {node: trn1-32xlarge}\n"
         "training: {global_batch_size: 16, tokens: 1 G, sequence_length: 512, recompute: {every: 2}}\n"
         "parallelism: {tensor: 4, data: auto}\n" FAILS,
    HEAD "model: {extends: vit-large, layers: 2}\ncluster: {node: pcie-a100x8}\ntraining: {global_batch_size: 64, "
         "steps: 100}\n"
         "parallelism: {data: auto, zero: 2}\n" ALL_OF_IT,
    HEAD
    "model: {extends: gpt2-small, layers: 2}\ncluster: {node: cs2}\ntraining: {global_batch_size: 16, steps: 100}\n",
    HEAD "model: {extends: bert-base, layers: 2}\ncluster: {node: ipu-pod4}\n"
         "training: {global_batch_size: 16, steps: 100, precision: fp16}\n",
    HEAD "model: {extends: deepseek-v3, layers: 6}\ncluster: {node: gb200-nvl72, accelerators_per_node: 8}\n"
         "training: {global_batch_size: 16, tokens: 1 G, sequence_length: 512, precision: fp8}\n"
         "parallelism: {expert: 8, data: auto}\n" FAILS,
    HEAD "model: {extends: gpt2-small, layers: 2}\ncluster: {node: dgx-h100}\n"
         "training: {kind: grpo, global_batch_size: 16, steps: 100, sequence_length: 512}\n"
         "parallelism: {data: auto}\ngeneration: {software: {extends: vllm-2025}}\n",
    HEAD "model: {extends: gpt2-small, layers: 2}\ncluster: {node: dgx-h100, nodes: 2, fabric: ib-ndr}\n"
         "training: {kind: grpo, global_batch_size: 16, steps: 100, sequence_length: 512}\n"
         "parallelism: {data: auto}\ngeneration: {nodes: 1, ahead: 1}\n",
    HEAD "model: {extends: gpt2-small, layers: 2}\ncluster: {node: dgx-h100, nodes: 2, fabric: ib-ndr}\n"
         "training: {global_batch_size: 64, tokens: 1 G, sequence_length: 512}\n"
         "parallelism: {data: auto, zero: 0, parameter_server: {servers: 2}}\n",
    HEAD "model: {extends: gpt2-small, layers: 2}\ncluster: {node: dgx-h100}\n"
         "training: {global_batch_size: 64, tokens: 1 G, sequence_length: 512}\nparallelism: {data: auto}\n"
         "search: {method: halving, trials: 9}\n",
    HEAD "model: {extends: gpt2-small, layers: 2}\ncluster: {node: dgx-h100}\n"
         "training: {kind: distill, teacher: gpt2-medium, global_batch_size: 16, steps: 100, sequence_length: 512}\n"
         "parallelism: {data: auto}\n",
};
enum { N_BASES = sizeof BASES / sizeof *BASES };

/* ---- one case ---- */

/* The case under way, for the report of a bug, which leaves by exit. */
static const char *text_under_way;
static struct tsim_override set_under_way[MOST_SETTINGS];
static size_t n_under_way;

static void tell(void) {
    if (!text_under_way)
        return;
    fprintf(stderr, "%s", text_under_way);
    for (size_t i = 0; i < n_under_way; i++)
        fprintf(stderr, " --set '%s=%s'", set_under_way[i].path, set_under_way[i].value);
    fputc('\n', stderr);
    text_under_way = NULL;
}

static void hang(int signal_number) {
    (void)signal_number;
    tell();
    _exit(EXIT_FAILURE);
}

/* Figures that have no value are NAN; none is infinite, and a step takes some time. */
static void check_finite(const char *text, const struct run *run) {
    struct tsim_outcome outcome;
    const struct tsim_prediction prediction = {.result = run->result};
    const struct tsim_result *r = &run->result;
    tsim_outcome_of(&prediction, &outcome);
    for (int i = 0; i < TSIM_N_OUTCOMES; i++)
        LAW(!isinf(outcome.value[i]), "%s is infinite", tsim_outcome_spec((enum tsim_outcome_figure)i)->name);
    LAW(isfinite(r->step.terms.time_s) && r->step.terms.time_s > 0, "a step of %g s", r->step.terms.time_s);
    LAW(isfinite(r->step.energy_j) && r->step.energy_j >= 0, "a step of %g J", r->step.energy_j);
    LAW(isfinite(r->step.memory.peak_bytes) && r->step.memory.peak_bytes > 0, "memory of %g bytes",
        r->step.memory.peak_bytes);
    LAW(!r->campaign.has || (isfinite(r->campaign.days) && r->campaign.days > 0), "%g days", r->campaign.days);
}

enum outcome { REFUSED, REFUSED_BY_THE_RUN, TOO_LARGE, RAN };

/* Advice, which runs its scenario several times over, is asked of every twelfth; with TSIM_CASES of all. */
static long advice_every = 12, n_ran;
static bool tries_all_values;

/* Plays a scenario. Some legal numbers of steps, replications, ranks or micro-batches take long to simulate, as they
 * should. */
static enum outcome play(const char *text, const struct tsim_override *overrides, size_t n) {
    struct run run = {0};
    text_under_way = text;
    memcpy(set_under_way, overrides, n * sizeof *overrides);
    n_under_way = n;
    alarm(HANGS_S);
    enum outcome outcome = RAN;
    if (run_start(&run, text, overrides, n)) {
        struct tsim_prediction prediction = {.result = run.result};
        if (n_ran++ % advice_every == 0)
            tsim_advise(&run.arena, run.scenario, &prediction);
        check_finite(text, &run);
    } else {
        outcome = !run.scenario ? REFUSED : run.diags.n_items > run.diags.n_warnings ? REFUSED_BY_THE_RUN : TOO_LARGE;
    }
    alarm(0);
    run_end(&run);
    text_under_way = NULL;
    return outcome;
}

/* ---- every value alone ---- */

struct outcomes {
    long n[4];
};

/* Plays the first scenario that takes the value, beginning with the one that took the key's last value. */
static enum outcome play_somewhere(const char *path, const char *value, size_t *base) {
    const struct tsim_override override = {path, value};
    enum outcome best = REFUSED;
    for (size_t i = 0; i < N_BASES && best != RAN; i++) {
        enum outcome outcome = play(BASES[(*base + i) % N_BASES], &override, 1);
        if (outcome > best) {
            best = outcome;
            *base = (*base + i) % N_BASES;
            i = 0;
        }
    }
    return best;
}

TSIM_TEST(every_value_alone) {
    struct tsim_arena arena;
    struct outcomes outcomes = {{0}};
    size_t n_keys, n_untaken = 0;
    tsim_arena_init(&arena);
    const struct every_key *keys = every_key(&arena, &n_keys);
    for (size_t k = 0; k < n_keys; k++) {
        enum outcome best = REFUSED;
        size_t base = 0;
        for (size_t v = 0; v < keys[k].n_values && (best != RAN || tries_all_values); v++) {
            enum outcome outcome = play_somewhere(keys[k].path, keys[k].values[v], &base);
            best = outcome > best ? outcome : best;
            outcomes.n[outcome]++;
        }
        if (best == REFUSED)
            fprintf(stderr, "%s: no scenario of this test takes it\n", keys[k].path);
        n_untaken += best == REFUSED;
    }
    printf("%zu keys; values: %ld refused, %ld refused by the run, %ld too large for a test, %ld ran\n", n_keys,
           outcomes.n[REFUSED], outcomes.n[REFUSED_BY_THE_RUN], outcomes.n[TOO_LARGE], outcomes.n[RAN]);
    fflush(stdout);
    tsim_arena_release(&arena);
    ck_assert_uint_eq(n_untaken, 0);
}

/* ---- several at once ---- */

static struct random_source source;
static long n_cases = 24;

TSIM_TEST(several_at_once) {
    struct tsim_arena arena;
    struct outcomes outcomes = {{0}};
    size_t n_keys;
    tsim_arena_init(&arena);
    const struct every_key *keys = every_key(&arena, &n_keys);
    for (long i = 0; i < n_cases; i++) {
        enum outcome outcome = REFUSED;
        /* Most values at the end of a range are refused beside others: that takes no time, and others are drawn. */
        for (int tries = 0; outcome == REFUSED && tries < 10; tries++) {
            struct tsim_override overrides[MOST_SETTINGS];
            size_t n = (size_t)random_between(&source, 2, MOST_SETTINGS);
            for (size_t s = 0; s < n; s++) {
                const struct every_key *key = &keys[random_between(&source, 0, (int32_t)n_keys - 1)];
                overrides[s] = (struct tsim_override){
                    key->path, key->values[random_between(&source, 0, (int32_t)key->n_values - 1)]};
            }
            char *drawn = random_between(&source, 0, 2) == 0 ? random_scenario(&source) : NULL;
            outcome = play(drawn ? drawn : BASES[random_between(&source, 0, N_BASES - 1)], overrides, n);
            free(drawn);
        }
        outcomes.n[outcome]++;
    }
    printf("several at once: %ld refused, %ld refused by the run, %ld too large for a test, %ld ran\n",
           outcomes.n[REFUSED], outcomes.n[REFUSED_BY_THE_RUN], outcomes.n[TOO_LARGE], outcomes.n[RAN]);
    fflush(stdout);
    tsim_arena_release(&arena);
    ck_assert_msg(outcomes.n[RAN] > n_cases / 10, "hardly any was legal");
}

static void set_up(void) {
    n_cases = random_cases(n_cases);
    tries_all_values = getenv("TSIM_CASES");
    advice_every = tries_all_values ? 1 : advice_every;
    source = random_start(20261123u);
    fflush(stdout);
    atexit(tell);
    signal(SIGALRM, hang);
}

TSIM_MAIN(3600, set_up, NULL)
