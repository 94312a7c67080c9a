/* Tests rounds of DPO, GRPO and PPO: their parts against sums of steps and passes; generation against closed forms by
 * hand and published sizes of caches. */
#include "cluster/power.h"
#include "run/generation.h"
#include "support/training_rig.h"

#include <math.h>

static const struct tsim_scenario *load(const char *model, const char *cluster, const char *training,
                                        const char *rest) {
    return load_text(tsim_arena_printf(&arena,
                                       "schema: tsim/v1\nname: p\nmodel: %s\ncluster: {%s}\n"
                                       "training: {sequence_length: 1024, micro_batch_size: 2, %s}\n%s\n",
                                       model, cluster, training, rest));
}

#define GPU "node: single-h100-sxm"
#define NODE "node: dgx-h100"

/* Zhao et al. 2025, Insights into DeepSeek-V3 (arXiv:2505.09343), table 1, has the bytes of a token's cache in 16
 * bits. */
TSIM_TEST(caches_are_as_published) {
    static const struct {
        const char *model;
        double bytes;
    } CACHES[] = {{"deepseek-v3", 70272}, {"qwen2.5-72b", 327680}, {"llama3-405b", 516096}};
    for (size_t i = 0; i < sizeof CACHES / sizeof CACHES[0]; i++) {
        const struct tsim_scenario *sc = load(CACHES[i].model, GPU, "global_batch_size: 2", "");
        ck_assert_double_eq(tsim_cache_bytes(sc, 1), CACHES[i].bytes);
        ck_assert_double_eq(tsim_cache_bytes(sc, 1000), 1000 * CACHES[i].bytes);
    }
}

/* Every second layer of gpt-oss keeps its last 128 tokens alone. */
TSIM_TEST(windows_bound_the_cache) {
    const struct tsim_scenario *sc = load("gpt-oss-20b", GPU, "global_batch_size: 2", "");
    double each = 2 * 8 * 64 * 2;
    ck_assert_double_eq(tsim_cache_bytes(sc, 100), 24 * 100 * each);
    ck_assert_double_eq(tsim_cache_bytes(sc, 1000), 12 * (1000 + 128) * each);
}

/* Nemotron-H 8B: 24 layers of Mamba-2 hold 128 heads x 64 x 128 and 3 tokens of 8,192 + 2 x 8 x 128 channels, 4 of
 * attention keys and values of 8 heads of 128. Qwen3-Next: 36 layers hold 32 heads x 128 x 128 in fp32 and 3 tokens of
 * 2 x 2,048 + 4,096 channels, 12 keys and values of 2 heads of 256. Only attention's part grows. Falcon Mamba: 64
 * layers of 8,192 channels x (16 + 3). LFM2: 10 layers of 2,048 channels x 2 tokens, 6 with keys and values of 8 heads
 * of 64. */
TSIM_TEST(states_do_not_grow) {
    static const struct {
        const char *model;
        double state, token;
    } CACHES[] = {{"nemotron-h-8b", 24 * 2 * (128.0 * 64 * 128 + 3 * (8192 + 2048)), 4 * 2 * 2 * 8 * 128},
                  {"qwen3-next-80b-a3b", 36 * (4 * 32.0 * 128 * 128 + 2 * 3 * 8192), 12 * 2 * 2 * 2 * 256},
                  {"falcon-mamba-7b", 64 * 2 * 8192.0 * (16 + 3), 0},
                  {"lfm2-1.2b", 10 * 2 * 2048.0 * 2, 6 * 2 * 2 * 8 * 64}};
    for (size_t i = 0; i < sizeof CACHES / sizeof CACHES[0]; i++) {
        const struct tsim_scenario *sc = load(CACHES[i].model, GPU, "global_batch_size: 2", "");
        ck_assert_double_eq(tsim_cache_bytes(sc, 1), CACHES[i].state + CACHES[i].token);
        ck_assert_double_eq(tsim_cache_bytes(sc, 1000), CACHES[i].state + 1000 * CACHES[i].token);
    }
}

/* Each of tensor ranks has its heads of the cache; all have the whole latent vectors. */
TSIM_TEST(tensor_ranks_share_the_cache) {
    const struct tsim_scenario *sc = load("llama3-405b", NODE, "global_batch_size: 2", "parallelism: {tensor: 8}");
    ck_assert_double_eq(tsim_cache_bytes(sc, 1), 516096 / 8);
    sc = load("deepseek-v3", NODE, "global_batch_size: 2", "parallelism: {tensor: 8}");
    ck_assert_double_eq(tsim_cache_bytes(sc, 1), 70272);
}

static struct tsim_post_training round_of(const struct tsim_scenario *sc) {
    struct tsim_result result = train(sc);
    const struct tsim_post_training *p = &result.post_training;
    ck_assert(p->has);
    SAME(p->time_s, p->generation.time_s + p->scoring_s + p->training_s + p->transfer_s + p->copies_s);
    return *p;
}

static struct tsim_generation_phase generation_of(const char *model, const char *rest) {
    return round_of(
               load(model, GPU,
                    "kind: grpo, global_batch_size: 8, recompute: full, adapter: {kind: lora, targets: [output]}",
                    tsim_arena_printf(&arena,
                                      "generation: {prompt: 24, samples_per_prompt: 1, software: {extends: vllm-2025, "
                                      "host_time_per_pass: 0 s}, %s}",
                                      rest)))
        .generation;
}

/* 1,000 passes of one sequence read all weights and its cache: 16 bits of each parameter but the embedding's, of which
 * one row is looked up. Kernels that are too short to reach the sustained rate, and those that read neither, add up to
 * less than a quarter more. */
TSIM_TEST(one_sequence_reads_the_weights) {
    struct tsim_generation_phase g = generation_of("llama3-8b", "rollouts: 8, max_sequences: 1");
    const struct tsim_scenario *sc = load("llama3-8b", GPU, "global_batch_size: 8", "");
    const struct tsim_accelerator *a = sc->cluster.node->accelerator;
    double rate = a->memory_bytes_per_s * a->memory_sustained_frac, parameters = 8030261248.0 - 128256 * 4096;
    double pass_s = (2 * parameters + tsim_cache_bytes(sc, 24 + 500)) / rate;
    double passes_s = (g.time_s - g.prefill_s) / 8;
    ck_assert_double_eq(g.tokens, 8 * 1000);
    ck_assert_double_gt(passes_s, 1000 * pass_s * a->memory_sustained_frac);
    ck_assert_double_lt(passes_s, 1000 * pass_s * 1.25);
}

/* An engine works on the host between two passes, for each: 1,000 of them for eight responses at once, three times as
 * long on a host that takes three times as long. */
TSIM_TEST(hosts_work_between_passes) {
    double time_s[3];
    static const char *const NODES[] = {"node: single-h100-sxm", "node: single-h100-sxm",
                                        "node: {extends: single-h100-sxm, host_time_factor: 3}"};
    for (int i = 0; i < 3; i++)
        time_s[i] =
            round_of(load("llama3-8b", NODES[i],
                          "kind: grpo, global_batch_size: 8, recompute: full, adapter: {kind: lora, targets: [output]}",
                          tsim_arena_printf(
                              &arena,
                              "generation: {prompt: 24, rollouts: 8, samples_per_prompt: 1, software: {extends: "
                              "vllm-2025, host_time_per_pass: %s}}",
                              i == 0 ? "0 s" : "2 ms")))
                .generation.time_s;
    ck_assert_double_eq_tol(time_s[1] - time_s[0], 1000 * 0.002, 1e-6);
    ck_assert_double_eq_tol(time_s[2] - time_s[0], 1000 * 0.006, 0.01); /* the prefill is launched by the same host */
}

/* Two at a time: the four that come next begin when the first end. All are of one length, and so are the turns. */
TSIM_TEST(slots_are_filled_again) {
    struct tsim_generation_phase one = generation_of("llama3-8b", "rollouts: 8, max_sequences: 1"),
                                 two = generation_of("llama3-8b", "rollouts: 8, max_sequences: 2"),
                                 all = generation_of("llama3-8b", "rollouts: 8, max_sequences: 8"),
                                 more = generation_of("llama3-8b", "rollouts: 16, max_sequences: 8");
    ck_assert_double_eq(two.sequences, 2);
    ck_assert_double_lt(two.time_s, 0.6 * one.time_s);
    ck_assert_double_lt(all.time_s, 0.3 * two.time_s);
    SAME(more.time_s, 2 * all.time_s);
    SAME(one.prefill_s, all.prefill_s);
}

/* One token picks 4 of 32 experts in each layer; the others are not read. A token uses 3.6 G of 20.9 G
 * parameters. */
TSIM_TEST(few_tokens_read_few_experts) {
    struct tsim_generation_phase g = generation_of("gpt-oss-20b", "rollouts: 8, max_sequences: 1");
    const struct tsim_scenario *sc = load("gpt-oss-20b", GPU, "global_batch_size: 8", "");
    const struct tsim_accelerator *a = sc->cluster.node->accelerator;
    double pass_s = (g.time_s - g.prefill_s) / 8 / 1000;
    ck_assert_double_gt(pass_s, 2 * 3.0e9 / a->memory_bytes_per_s);
    ck_assert_double_lt(pass_s, 2 * 20.9e9 / a->memory_bytes_per_s / 2);
}

/* A pass of Falcon Mamba over 8 sequences reads the weights, and reads and writes the states; it takes as long behind
 * few tokens as behind many. */
TSIM_TEST(recurrent_layers_read_and_write_their_states) {
    const char *text = "kind: grpo, global_batch_size: 8, recompute: full";
    struct tsim_generation_phase
        few = round_of(load("mamba-2.8b", GPU, text, "generation: {prompt: 24, samples_per_prompt: 1, rollouts: 8}"))
                  .generation,
        many = round_of(load("mamba-2.8b", GPU, text,
                             "generation: {prompt: 24, samples_per_prompt: 1, rollouts: 512, max_sequences: 512}"))
                   .generation;
    const struct tsim_scenario *sc = load("mamba-2.8b", GPU, "global_batch_size: 8", "");
    const struct tsim_accelerator *a = sc->cluster.node->accelerator;
    double rate = a->memory_bytes_per_s * a->memory_sustained_frac, state = tsim_cache_bytes(sc, 1);
    double few_s = (few.time_s - few.prefill_s) / 1000, many_s = (many.time_s - many.prefill_s) / 1000;
    ck_assert_double_eq(many.sequences, 512);
    ck_assert_double_gt(few_s, 2 * 2.77e9 / a->memory_bytes_per_s);
    ck_assert_double_gt(many_s - few_s, 2 * 504 * state / a->memory_bytes_per_s);
    ck_assert_double_lt(many_s - few_s, 2 * 504 * state / rate * 2); /* the products of 64 times the tokens among it */
}

/* Engines in fp8 hold a byte of each weight but those of the embedding and the head, and a pass of one sequence reads
 * half as much of layers; the weights are sent in 16 bits. */
TSIM_TEST(engines_quantize) {
    struct tsim_generation_phase wide = generation_of("llama3-8b", "rollouts: 8, max_sequences: 1"),
                                 fp8 = generation_of("llama3-8b", "rollouts: 8, max_sequences: 1, precision: fp8");
    double ends = 2 * 128256.0 * 4096;
    ck_assert_double_eq(wide.weights_bytes, 2 * 8030261248.0);
    ck_assert_double_eq(fp8.weights_bytes, 8030261248.0 + ends);
    ck_assert_double_eq(fp8.received_bytes, wide.weights_bytes);
    double saved_s = (wide.time_s - wide.prefill_s - fp8.time_s + fp8.prefill_s) / 8000;
    ck_assert_double_eq_tol(saved_s * 3.35e12, 8030261248.0 - ends, 0.3 * 8030261248.0);
}

/* Scoring is forward passes: those of an evaluation of as many samples. */
TSIM_TEST(models_score_in_forward_passes) {
    const char *batch = "global_batch_size: 16, steps: 100, evaluation: {every: 10, samples: 16}";
    struct tsim_result dpo = train(load("gpt2-medium", GPU, tsim_arena_printf(&arena, "kind: dpo, %s", batch), ""));
    SAME(dpo.post_training.scoring_s, dpo.evaluation.time_s);
    ck_assert(!dpo.post_training.generation.has);
    SAME(dpo.post_training.training_s, dpo.step.terms.time_s);
    for (int n = 1; n <= 2; n++) {
        const char *scoring = n == 1 ? "[reference]" : "[policy, reference]";
        struct tsim_result grpo = train(
            load("gpt2-medium", GPU, tsim_arena_printf(&arena, "kind: grpo, scoring: %s, %s", scoring, batch), ""));
        SAME(grpo.post_training.scoring_s, n * grpo.evaluation.time_s);
    }
}

/* Checks that it takes so many FLOPs at the rate that matrix units sustain, and a little more for what memory
 * bounds. */
static void expect_flops(double time_s, double flops, const struct tsim_scenario *sc, double most) {
    const struct tsim_accelerator *a = sc->cluster.node->accelerator;
    double ratio = time_s * a->peak_flops_per_s[TSIM_BF16] * a->matrix_sustained_frac[TSIM_BF16] / flops;
    ck_assert_msg(ratio > 1 && ratio < most, "%g s are %g of %g FLOPs", time_s, ratio, flops);
}

/* Llama 3.2 1B (its table is its head) on samples of 1,024 tokens: forward 2 FLOPs a parameter and token, and 4 L h s /
 * 2 of attention; a step is three times that. DPO scores with a reference. GRPO with policy and reference. PPO scores
 * with four models and trains two; their engines read each prompt once. One node's links carry the weights to engines
 * of whole models. */
TSIM_TEST(parts_are_closed_forms) {
    const double n = 1235814400, forward = 2 * n + 2 * 16.0 * 2048 * 1024;
    static const struct {
        const char *kind;
        double models, trained;
    } KINDS[] = {{"dpo", 1, 1}, {"grpo", 2, 1}, {"ppo", 4, 2}};
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        const char *rest = i == 0 ? "" : "generation: {prompt: 512, rollouts: 64, samples_per_prompt: 1}";
        const struct tsim_scenario *sc =
            load("llama3.2-1b", GPU, tsim_arena_printf(&arena, "kind: %s, global_batch_size: 64", KINDS[i].kind), rest);
        struct tsim_post_training p = round_of(sc);
        expect_flops(p.scoring_s, KINDS[i].models * 64 * 1024 * forward, sc, 1.5);
        expect_flops(p.training_s, KINDS[i].trained * 3 * 64 * 1024 * forward, sc, 1.5);
        SAME(p.training_s, KINDS[i].trained * train(sc).step.terms.time_s);
        if (i > 0)
            expect_flops(p.generation.prefill_s, 64 * 512 * 2 * n, sc, 1.6);
    }
    const struct tsim_scenario *node = load("llama3.2-1b", NODE, "kind: grpo, global_batch_size: 64", "");
    SAME(round_of(node).transfer_s, 2 * n / tsim_cluster_build(&arena, node)->scale_up_bytes_per_s);
}

/* Adam's 14 bytes a parameter leave for the host and return, 8 ranks with a part each of the 12 that ZeRO-1 divides; a
 * pinned copy of the weights makes room for the reference, which comes in its place and goes again. A software that
 * gathers the whole model takes its bytes by its rate. The link of the node decides where the software has no rates. */
TSIM_TEST(models_wait_in_the_host) {
    const char *training = "kind: grpo, global_batch_size: 64";
    const struct tsim_scenario *sc = load("llama3.2-1b", NODE, training, "");
    const double n = 1235814400, link = sc->cluster.node->host_link_bytes_per_s;
    struct tsim_post_training own = round_of(sc);
    ck_assert_double_eq_tol(own.copies_s, (2 * (2 + 12.0 / 8) + 3 * 2) * n / link, 1e-3 * own.copies_s);
    sc =
        load("llama3.2-1b", NODE, training,
             "software: {extends: megatron-core-2025, offload_rate: 2 GB/s, onload_rate: 10 GB/s, refit_rate: 5 GB/s}");
    struct tsim_post_training slow = round_of(sc);
    ck_assert_double_eq_tol(slow.copies_s, (2 + 12.0 / 8) * n * (1 / 2e9 + 1 / 10e9) + 3 * 2 * n / link,
                            1e-3 * slow.copies_s);
    SAME(slow.transfer_s, 2 * n / 5e9);
    ck_assert_double_gt(slow.energy_j, own.energy_j);
    sc = load("llama3.2-1b", NODE ", nodes: 2, fabric: ib-ndr", training, "generation: {nodes: 1}");
    ck_assert_double_eq_tol(round_of(sc).copies_s, 3 * 2 * n / link, 1e-3 * own.copies_s);
    sc = load("llama3.2-1b", NODE, "kind: grpo, global_batch_size: 64, scoring: [policy]", "");
    ck_assert_double_eq_tol(round_of(sc).copies_s, 2 * (2 + 12.0 / 8) * n / link, 1e-3 * own.copies_s);
}

/* A frozen model reduces nothing but its adapters' gradients: between two nodes, without overlap, a larger rank takes
 * longer by its bytes, once there and once back. All of the model takes more than fifty times that. */
TSIM_TEST(frozen_parts_are_not_reduced) {
    double exposed_s[3], trained[3];
    static const char *const ADAPTERS[] = {"adapter: {kind: lora, rank: 8}, ", "adapter: {kind: lora, rank: 16}, ", ""};
    struct tsim_result r = {0};
    for (int i = 0; i < 3; i++) {
        r = train(load(
            "gpt2-medium", "node: dgx-1v, nodes: 2, accelerators_per_node: 1, fabric: ethernet-10",
            tsim_arena_printf(&arena, "%sglobal_batch_size: 4, precision: fp16, gradient_precision: fp32", ADAPTERS[i]),
            "parallelism: {zero: 0, overlap: {gradients: false}}\nsimulation: {network: ideal}\n"));
        exposed_s[i] = r.step.terms.exposed_data_s;
        trained[i] = r.step.memory.gradients_bytes / 4;
    }
    ck_assert_double_eq(trained[1], 2 * trained[0]);
    ck_assert_double_gt(trained[2], 50 * trained[1]);
    double nic_rate = tsim_cluster_build(&arena, r.scenario)->nic_bytes_per_s;
    SAME(exposed_s[1] - exposed_s[0], 4 * (trained[1] - trained[0]) / nic_rate);
    ck_assert_double_gt(exposed_s[2], 50 * (exposed_s[1] - exposed_s[0]));
}

/* PPO trains its critic by as many steps; the run is made of rounds. */
TSIM_TEST(the_run_counts_rounds) {
    const char *rest = "generation: {prompt: 24, rollouts: 64}";
    struct tsim_result r = train(load("gpt2-medium", GPU, "kind: ppo, global_batch_size: 16, steps: 4000", rest));
    const struct tsim_post_training *p = &r.post_training;
    ck_assert_double_eq(p->steps, 4);
    SAME(p->training_s, 2 * 4 * r.step.terms.time_s);
    ck_assert_double_eq_tol(r.campaign.days * 86400, 1000 * p->time_s, 0.05);
    ck_assert_double_eq_tol(r.campaign.energy_kwh * 3.6e6 / 1.1, 1000 * p->energy_j, 1e-4 * 1000 * p->energy_j);
    SAME(p->samples_per_s, 64 / p->time_s);
}

/* The longest of many responses decides: at the same mean, a spread makes a round longer, and engines idle. */
TSIM_TEST(the_tail_decides) {
    const char *rest = "generation: {prompt: 24, rollouts: 64}";
    const char *text = "kind: grpo, global_batch_size: 64, lengths: {mean: 400, cv: %s, batching: padded-whole}";
    struct tsim_post_training even = round_of(load("gpt2-medium", NODE, tsim_arena_printf(&arena, text, "0"), rest));
    struct tsim_post_training spread =
        round_of(load("gpt2-medium", NODE, tsim_arena_printf(&arena, text, "0.5"), rest));
    ck_assert_double_eq(even.generation.longest_tokens, 400 - 24);
    ck_assert_double_gt(spread.generation.longest_tokens, 1.5 * even.generation.longest_tokens);
    ck_assert_double_gt(spread.generation.time_s, 1.4 * even.generation.time_s);
    ck_assert_double_lt(spread.generation.tokens_per_s_per_gpu, 0.8 * even.generation.tokens_per_s_per_gpu);
}

/* The optimizer's state is sharded over eight replicas; two engines of four ranks generate. */
TSIM_TEST(engines_are_divided_on_their_own) {
    const char *rest = "parallelism: {zero: 1, zero_group: 8}\ngeneration: {tensor: 4, prompt: 24, rollouts: 64}";
    struct tsim_post_training p = round_of(load("gpt2-medium", NODE, "kind: grpo, global_batch_size: 64", rest));
    ck_assert_double_gt(p.generation.time_s, 0);
}

TSIM_TEST(mistakes_are_named) {
    static const struct {
        const char *model, *training, *rest, *message;
    } MISTAKES[] = {
        {"gpt2-medium", "kind: sft", "generation: {tensor: 1}", "only grpo and ppo train on what the policy generates"},
        {"gpt2-medium", "kind: sft, scoring: [policy]", "", "only dpo, grpo and ppo score their samples"},
        {"gpt2-medium", "kind: grpo, global_batch_size: 16", "generation: {rollouts: 24}", "24 samples are not whole"},
        {"gpt2-medium", "kind: grpo, global_batch_size: 24", "generation: {samples_per_prompt: 16}",
         "24 samples are not whole prompts of 16"},
        {"gpt2-medium", "kind: dpo, global_batch_size: 16, scoring: [policy]", "", "dpo compares the policy with one"},
        {"gpt2-medium", "kind: grpo, global_batch_size: 16, scoring: [policy, critic]", "", "grpo has no critic"},
        {"gpt2-medium", "kind: grpo, global_batch_size: 16", "generation: {prompt: 1024}",
         "leaves nothing to generate"},
        {"gpt2-medium", "kind: dpo, global_batch_size: 5, micro_batch_size: 1", "", "5 samples are not whole pairs"},
        {"bert-large", "kind: dpo, global_batch_size: 16", "", "decoder of language"},
        {"gpt2-medium", "kind: grpo, global_batch_size: 16", "generation: {nodes: 1}", "none is left to train"},
        {"gpt2-medium", "kind: grpo, global_batch_size: 16", "generation: {ahead: 1}", "do not do both at once"},
        {"gpt2-medium", "kind: sft, global_batch_size: 16", "generation: {nodes: 1}",
         "only grpo and ppo train on what the policy generates"},
        {"gpt2-medium", "kind: grpo, global_batch_size: 16", "generation: {tensor: 3}", "do not divide"}};
    for (size_t i = 0; i < sizeof MISTAKES / sizeof MISTAKES[0]; i++) {
        size_t first = diags.n_items;
        const char *batch = strstr(MISTAKES[i].training, "micro") ? "" : "micro_batch_size: 2, ";
        const char *yaml = tsim_arena_printf(&arena,
                                             "schema: tsim/v1\nname: p\nmodel: %s\ncluster: {" GPU "}\n"
                                             "training: {sequence_length: 512, %s%s}\n%s\n",
                                             MISTAKES[i].model, batch, MISTAKES[i].training, MISTAKES[i].rest);
        ck_assert_ptr_null(try_text(yaml));
        bool is_named = false;
        for (size_t d = first; d < diags.n_items; d++)
            is_named |= strstr(diags.items[d].message, MISTAKES[i].message) != NULL;
        ck_assert_msg(is_named, "%s", MISTAKES[i].message);
    }
}

/* Engines are divided as they say, however the plan that trains is. */
TSIM_TEST(engines_have_a_plan_of_their_own) {
    static const char *const PLANS[] = {"pipeline: 4", "zero: 3", "tensor: 2, context: 2", "pipeline: 2, tensor: 4"};
    double time_s = 0;
    for (size_t i = 0; i < sizeof PLANS / sizeof PLANS[0]; i++) {
        struct tsim_post_training p = round_of(
            load("llama3.2-3b", NODE, "kind: grpo, global_batch_size: 16, recompute: full",
                 tsim_arena_printf(&arena, "parallelism: {%s}\ngeneration: {tensor: 8, prompt: 24}", PLANS[i])));
        if (i > 0)
            SAME(p.generation.time_s, time_s);
        time_s = p.generation.time_s;
    }
}

/* Mixtral's 93 GB are not in one H100, but with an eighth of the experts are. 32 layers of 8 experts have 45.1 of 46.7
 * G parameters; all of them are sent once to the eight that share them. Prompts that one engine had two at a time are
 * sixteen of eight engines; their tokens go through two exchanges in each layer. */
TSIM_TEST(engines_share_experts) {
    struct tsim_generation_phase by[2];
    double experts = 32 * 8 * 3.0 * 4096 * 14336, others = 46702792704.0 - experts;
    for (int i = 0; i < 2; i++) {
        const struct tsim_scenario *sc =
            load("mixtral-8x7b", i == 0 ? "node: dgx-h100" : "node: dgx-h100, nodes: 2, fabric: ib-ndr",
                 "kind: grpo, global_batch_size: 128, recompute: full, adapter: {kind: lora, targets: [output]}",
                 tsim_arena_printf(&arena,
                                   "parallelism: {expert: 8, tensor: 1}\n"
                                   "generation: {expert: 8, prompt: 24, rollouts: %d, samples_per_prompt: 1, "
                                   "max_sequences: 2, software: {extends: vllm-2025, host_time_per_pass: 0 s}}",
                                   i == 0 ? 128 : 256));
        ck_assert_int_eq(tsim_generation_simulate(&arena, sc, &by[i], &diags), TSIM_OK);
        ck_assert_double_eq(by[i].weights_bytes, 2 * (others + experts / 8));
        ck_assert_double_eq(by[i].model_bytes, 2 * (others + experts));
    }
    ck_assert_double_eq_tol(by[1].time_s, by[0].time_s, 1e-4 * by[0].time_s);
    /* 8 x 2 sequences at a time: 128 take 8 turns of 1,000 passes, each of which reads a rank's weights and more. */
    const struct tsim_accelerator *a = load("mixtral-8x7b", GPU, "global_batch_size: 2", "")->cluster.node->accelerator;
    double passes = (by[0].time_s - by[0].prefill_s) / 8 / 1000;
    ck_assert_double_gt(passes, by[0].weights_bytes / 4 / a->memory_bytes_per_s);
    ck_assert_double_lt(passes, 4 * by[0].weights_bytes / a->memory_bytes_per_s);
}

/* 140 GB of weights are not in one H100. */
TSIM_TEST(an_engine_must_hold_the_model) {
    const struct tsim_scenario *sc = load("llama3-70b", NODE, "kind: grpo, global_batch_size: 8, recompute: full",
                                          "parallelism: {tensor: 8}\ngeneration: {tensor: 1}");
    const struct tsim_run_options options = {.is_brief = true, .ignore_memory = true};
    struct tsim_result result;
    ck_assert_int_eq(tsim_train_run(&arena, sc, &options, &result, &diags), TSIM_ERR_INFEASIBLE);
    ck_assert_ptr_nonnull(strstr(diags.items[diags.n_items - 1].message, "weights and the cache of one sequence"));
}

/* The teacher's passes are those of its evaluation on the batch; its weights stay, 2 bytes each, with logits of a
 * micro-batch. */
TSIM_TEST(teachers_pass_before_each_step) {
    static const char BATCH[] = "global_batch_size: 64, evaluation: {interval: 10, samples: 64}, steps: 10";
    const struct tsim_scenario *alone = load("gpt2-small", NODE, BATCH, ""),
                               *teacher = load("gpt2-medium", NODE, BATCH, ""),
                               *taught = load("gpt2-small", NODE,
                                              "kind: distill, teacher: gpt2-medium, global_batch_size: 64", "");
    struct tsim_result own = train(alone), of_teacher = train(teacher);
    struct tsim_post_training round = round_of(taught);
    SAME(round.training_s, own.step.terms.time_s);
    SAME(round.scoring_s, of_teacher.evaluation.time_s);
    ck_assert_double_eq(round.steps, 1);
    struct tsim_result result = train(taught);
    double logits = 2 * 1024 * 50304.0 * 2; /* the vocabulary padded to a multiple of 128 */
    SAME(result.step.memory.buffers_bytes - own.step.memory.buffers_bytes,
         of_teacher.step.memory.weights_bytes + logits);
    ck_assert_ptr_null(try_text("schema: tsim/v1\nname: p\nmodel: gpt2-small\ncluster: {node: dgx-h100}\n"
                                "training: {kind: distill, teacher: resnet50, sequence_length: 1024}\n"));
}

/* Whatever the plan: no round takes less time or energy than its bound, with engines that were simulated before and
 * without. */
TSIM_TEST(no_round_beats_its_bound) {
    static const char *const KINDS[] = {"kind: dpo", "kind: ppo", "kind: grpo", "kind: distill, teacher: gpt2-medium"};
    static const char *const PLANS[] = {
        "zero: 1", "zero: 3", "tensor: 2", "pipeline: 4", "pipeline: 2, tensor: 2", "pipeline: 4, schedule: zb-h1"};
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0] * (sizeof PLANS / sizeof PLANS[0]); i++) {
        const char *plan = PLANS[i / 4];
        const struct tsim_scenario *sc =
            load("gpt2-small", NODE, tsim_arena_printf(&arena, "global_batch_size: 64, %s", KINDS[i % 4]),
                 tsim_arena_printf(&arena, "parallelism: {%s}", plan));
        struct tsim_run_memo *memo = tsim_run_memo_new(&arena);
        struct tsim_result run = train_by(sc, true), bound;
        for (int of = TSIM_LEAST_ANY_SPLIT; of <= TSIM_LEAST_STEP; of++) {
            tsim_train_bound(&arena, sc, memo, (enum tsim_least)of, &bound);
            const struct tsim_post_training *least = &bound.post_training, *is = &run.post_training;
            ck_assert(least->has && least->scoring_s > 0);
            ck_assert_msg(least->time_s <= is->time_s && least->energy_j <= is->energy_j &&
                              least->scoring_s <= is->scoring_s && least->training_s <= is->training_s,
                          "%s, %s, %d: %g s of %g, %g J of %g", KINDS[i % 4], plan, of, least->time_s, is->time_s,
                          least->energy_j, is->energy_j);
            if (of == TSIM_LEAST_PASSES)
                memo->generation = &run.post_training.generation;
        }
        ck_assert_double_ge(bound.post_training.time_s, 0.6 * run.post_training.time_s);
        const struct tsim_run_options options = {.is_brief = true, .memo = memo};
        struct tsim_result again;
        ck_assert_int_eq(tsim_train_run(&arena, sc, &options, &again, &diags), TSIM_OK);
        SAME(again.post_training.time_s, run.post_training.time_s);
    }
}

/* An engine lacks memory, which is known without simulating it: of 140 GB of weights 60 % of the memory hold a
 * third. */
TSIM_TEST(engines_are_checked_alone) {
    double excess_bytes = 0;
    const struct tsim_scenario *sc = load("llama3-70b", NODE, "kind: grpo, global_batch_size: 8, recompute: full",
                                          "parallelism: {tensor: 8}\ngeneration: {tensor: 1}");
    ck_assert_int_eq(tsim_generation_check(&arena, sc, &excess_bytes, &diags), TSIM_ERR_INFEASIBLE);
    ck_assert_double_gt(excess_bytes, 141e9 / 0.6 - sc->cluster.node->accelerator->memory_bytes);
    ck_assert_double_lt(excess_bytes, 143e9 / 0.6 - sc->cluster.node->accelerator->memory_bytes);
    sc = load("llama3-8b", NODE, "kind: grpo, global_batch_size: 8, recompute: full", "parallelism: {tensor: 8}");
    ck_assert_int_eq(tsim_generation_check(&arena, sc, &excess_bytes, &diags), TSIM_OK);
    ck_assert_double_eq(excess_bytes, 0);
}

static double period_of(double first_s, double second_s, double training_s, double transfer_s, int64_t ahead) {
    double generation_s[TSIM_ROUNDS];
    for (int i = 0; i < TSIM_ROUNDS; i++)
        generation_s[i] = i % 2 ? second_s : first_s;
    return tsim_rounds_ahead_s(generation_s, training_s, transfer_s, ahead);
}

/* A round of rounds that are alike takes the longer of its halves, and the transfer, which both wait for. If lengths
 * alternate, each takes the longer of its own two, one round ahead; more rounds ahead it is the longer of the means. */
TSIM_TEST(the_longer_half_decides) {
    for (int64_t ahead = 1; ahead <= 4; ahead++) {
        SAME(period_of(5, 5, 3, 0.5, ahead), 5.5);
        SAME(period_of(3, 3, 5, 0.5, ahead), 5.5);
    }
    SAME(period_of(2, 0, 1, 0, 1), 1.5);
    SAME(period_of(2, 0, 1, 0, 2), 1);
    SAME(period_of(5, 1, 2, 0, 1), 3.5);
    SAME(period_of(5, 1, 2, 0, 8), 3);
}

/* Two of six nodes generate: as two nodes would that do all in turn, while the step is one of four nodes. All six are
 * paid for, and switched on. */
TSIM_TEST(engines_on_nodes_of_their_own) {
    static const char *const TRAINING = "kind: grpo, global_batch_size: 64, lengths: {mean: 400, cv: 0.5}, steps: 100";
    const char *cost = "energy: {pue: 1}\ncost: {rent: 3 USD/h}";
    const char *text = "generation: {prompt: 24, rollouts: 128, memory: 50 %%%s}\n%s";
    struct tsim_post_training by[2];
    struct tsim_result two = train(load("gpt2-medium", "node: dgx-h100, nodes: 2, fabric: ib-ndr", TRAINING,
                                        tsim_arena_printf(&arena, text, "", cost))),
                       four = train(load("gpt2-medium", "node: dgx-h100, nodes: 4, fabric: ib-ndr", TRAINING,
                                         tsim_arena_printf(&arena, text, "", cost)));
    for (int ahead = 0; ahead <= 1; ahead++) {
        const char *apart = tsim_arena_printf(&arena, ", nodes: 2, ahead: %d", ahead);
        struct tsim_result all = train(load("gpt2-medium", "node: dgx-h100, nodes: 6, fabric: ib-ndr", TRAINING,
                                            tsim_arena_printf(&arena, text, apart, cost)));
        struct tsim_post_training p = by[ahead] = all.post_training;
        SAME(all.step.terms.time_s, four.step.terms.time_s);
        SAME(all.step.throughput.mfu, four.step.throughput.mfu);
        SAME(all.step.mean_power_w, four.step.mean_power_w);
        SAME(p.generation.time_s, two.post_training.generation.time_s);
        SAME(p.scoring_s, four.post_training.scoring_s);
        SAME(p.time_s + p.beside_s, p.generation.time_s + p.scoring_s + p.training_s + p.transfer_s + p.copies_s);
        ck_assert_double_gt(p.transfer_s, 0);
        SAME(all.campaign.rent_usd, all.campaign.days * 24 * 48 * 3);
        double rest_w = tsim_power_at_rest(NULL, tsim_cluster_build(&arena, all.scenario)).value;
        double work_j = p.generation.energy_j + four.post_training.energy_j - four.post_training.generation.energy_j -
                        32 * rest_w * (four.post_training.transfer_s + four.post_training.copies_s);
        SAME(p.energy_j,
             work_j + rest_w * (32 * (p.time_s - p.scoring_s - p.training_s) + 16 * (p.time_s - p.generation.time_s)));
    }
    SAME(by[0].beside_s + 1, 1.0);
    double half_s = by[1].scoring_s + by[1].training_s;
    ck_assert_double_ge(by[1].time_s, fmax(by[1].generation.time_s, half_s) + by[1].transfer_s - 1e-9);
    ck_assert_double_lt(by[1].time_s, by[0].time_s);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
