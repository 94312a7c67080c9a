#include "support/random_scenario.h"

#include "config/catalogue_load.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct draft {
    struct random_source *source;
    FILE *out;
    const char *model;
    bool is_transformer, has_sequence; /* of a length that may be chosen */
    bool is_single;                    /* one accelerator */
};

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define PICK(d, ...) pick(d, (const char *const[]){__VA_ARGS__}, COUNT(((const char *const[]){__VA_ARGS__})))

static const char *pick(const struct draft *d, const char *const *words, size_t n) {
    return words[random_between(d->source, 0, (int32_t)n - 1)];
}

/* The catalogue's folders are read once. */
static const char *pick_id(const struct draft *d, enum tsim_catalogue_kind kind) {
    static struct tsim_arena arena;
    static struct {
        const char *const *ids;
        size_t n;
    } lists[TSIM_N_CATALOGUE_KINDS];
    if (!lists[kind].ids) {
        struct tsim_diags diags;
        tsim_diags_init(&diags);
        if (tsim_catalogue_list(&arena, kind, &lists[kind].ids, &lists[kind].n, &diags) != TSIM_OK)
            abort();
        tsim_diags_release(&diags);
    }
    return pick(d, lists[kind].ids, lists[kind].n);
}

static int power_of_two(const struct draft *d, int most_log) {
    return 1 << random_between(d->source, 0, most_log);
}

static bool once_in(const struct draft *d, int n) {
    return random_between(d->source, 1, n) == 1;
}

static bool is_one_of(const char *word, const char *const *words, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

/* Half of the models are those for which most of a plan means something. */
static void draw_model(struct draft *d) {
    static const char *const LISTS[] = {"alexnet", "resnet50", "mlp-mnist", "dlrm"};
    d->model = once_in(d, 2) ? PICK(d, "gpt2-medium", "llama2-7b", "llama2-13b", "gpt3-175b", "mixtral-8x7b",
                                    "llama3-8b", "bert-large", "t5-11b", "deepseek-v3", "vit-large")
                             : pick_id(d, TSIM_CATALOGUE_MODELS);
    d->is_transformer = !is_one_of(d->model, LISTS, COUNT(LISTS));
    d->has_sequence = d->is_transformer && strcmp(d->model, "vit-large") != 0 && strncmp(d->model, "bert", 4) != 0;
    if (once_in(d, 8) && d->is_transformer)
        fprintf(d->out, "model: {extends: %s, layers: %d}\n", d->model, 2 * power_of_two(d, 4));
    else
        fprintf(d->out, "model: %s\n", d->model);
}

static void draw_links(struct draft *d, int nodes) {
    if (once_in(d, 12))
        fprintf(d->out, ", degraded: [{link: %s, node: %d, index: %s, rate: 0.%d}]",
                PICK(d, "accelerator", "nic", "scale-up"), random_between(d->source, 0, nodes - 1), PICK(d, "0", "all"),
                random_between(d->source, 1, 9));
    if (nodes > 1 && once_in(d, 12))
        fprintf(d->out, ", background: [{direction: %s, rate: %d GB/s, bytes: %s}]", PICK(d, "in", "out", "both"),
                random_between(d->source, 1, 20), PICK(d, "0", "1 GB"));
}

static bool is_single(const char *node) {
    return strncmp(node, "single-", 7) == 0;
}

/* Half of the nodes that there are have one accelerator, with which most plans are valid: they are drawn seldom. */
static const char *draw_node(struct draft *d) {
    const char *node = pick_id(d, TSIM_CATALOGUE_NODES);
    for (bool takes_single = once_in(d, 8); is_single(node) && !takes_single;)
        node = pick_id(d, TSIM_CATALOGUE_NODES);
    return node;
}

static void draw_cluster(struct draft *d) {
    const char *node = draw_node(d);
    d->is_single = is_single(node);
    int nodes = d->is_single ? 1 : once_in(d, 6) ? random_between(d->source, 1, 12) : power_of_two(d, 3);
    fprintf(d->out, "cluster: {node: %s, nodes: %d", node, nodes);
    if (nodes > 1)
        fprintf(d->out, ", fabric: %s", pick_id(d, TSIM_CATALOGUE_FABRICS));
    if (!d->is_single && once_in(d, 8))
        fprintf(d->out, ", accelerators_per_node: %d", power_of_two(d, 2));
    draw_links(d, nodes);
    fputs("}\n", d->out);
}

static void draw_software(struct draft *d) {
    const char *id = pick_id(d, TSIM_CATALOGUE_SOFTWARE);
    if (once_in(d, 4))
        fprintf(d->out,
                "software: {extends: %s, fusion: %s, accumulation: %s, gradient_reduction: %s, dropout: 0.%d}\n", id,
                PICK(d, "none", "megatron", "te", "compile"), PICK(d, "fused", "separate"),
                PICK(d, "scatter", "all-reduce"), random_between(d->source, 0, 3));
    else
        fprintf(d->out, "software: %s\n", id);
}

static void draw_transformer_training(struct draft *d) {
    if (d->has_sequence)
        fprintf(d->out, ", sequence_length: %d", 512 * power_of_two(d, 3));
    fprintf(d->out, ", recompute: %s, attention: %s",
            PICK(d, "none", "none", "selective", "full", "{every: 2}", "{layers: 2}", "sqrt", "[attention, norms]",
                 "[activation, ffn]"),
            PICK(d, "flash", "flash", "standard"));
    if (once_in(d, 12))
        fprintf(d->out, ", offload: {optimizer: %s, activations: %d %%}", PICK(d, "true", "false"),
                random_between(d->source, 0, 100));
}

static void draw_training(struct draft *d) {
    int micro_batch = power_of_two(d, d->is_transformer ? 1 : 5);
    fprintf(d->out, "training: {global_batch_size: %d, micro_batch_size: %d, precision: %s, optimizer: %s",
            64 * micro_batch * power_of_two(d, 3), micro_batch,
            PICK(d, "bf16", "bf16", "bf16", "fp16", "fp16", "fp32", "tf32", "fp8", "mxfp8", "nvfp4"),
            PICK(d, "adamw", "adamw", "sgd", "momentum", "adafactor", "adam-8bit", "lamb", "galore-8bit", "muon"));
    if (once_in(d, 3))
        fprintf(d->out, ", gradient_precision: %s", PICK(d, "fp32", "fp16", "bf16"));
    if (once_in(d, 8))
        fputs(", master_weights: false", d->out);
    if (d->is_transformer)
        draw_transformer_training(d);
    if (once_in(d, 8))
        fprintf(d->out, ", evaluation: {interval: %d, samples: %d}", 10 * power_of_two(d, 6), 256 * power_of_two(d, 3));
    fprintf(d->out, ", steps: %d}\n", 1000 * power_of_two(d, 6));
}

static void draw_experts(struct draft *d) {
    bool has_experts = strstr(d->model, "mixtral") || strstr(d->model, "deepseek");
    if (has_experts && !once_in(d, 3))
        fprintf(d->out, ", expert: %d", power_of_two(d, 3));
    if (has_experts && once_in(d, 3))
        fputs(", expert_tensor: 1", d->out);
}

static void draw_sharding(struct draft *d, int pipeline) {
    int zero = pipeline > 1 ? random_between(d->source, 0, 1) : random_between(d->source, 0, 3);
    fprintf(d->out, ", zero: %d", zero);
    if (zero == 3)
        fprintf(d->out, ", prefetch: %d, reshard_after_forward: %s", random_between(d->source, 0, 3),
                PICK(d, "true", "false"));
    if (zero > 0 && once_in(d, 4))
        fprintf(d->out, ", zero_group: %s", PICK(d, "node", "2", "4"));
}

static void draw_transformer_plan(struct draft *d) {
    int most_log = d->is_single ? 0 : 2, pipeline = power_of_two(d, most_log);
    int context = !d->is_single && once_in(d, 5) ? 2 : 1;
    const char *schedule =
        PICK(d, "1f1b", "1f1b", "sequential", "gpipe", "interleaved", "zb-h1", "zb-h2", "zb-v", "dualpipe");
    fprintf(d->out, ", tensor: %d, pipeline: %d, schedule: %s", power_of_two(d, most_log), pipeline, schedule);
    if (strcmp(schedule, "interleaved") == 0 && pipeline > 1)
        fputs(", virtual_pipeline: 2", d->out);
    if (context > 1)
        fprintf(d->out, ", context: %d, context_exchange: %s", context, PICK(d, "ring", "all-gather", "all-to-all"));
    if (pipeline > 1 && once_in(d, 6))
        fputs(", layers_per_stage: balance", d->out);
    if (!once_in(d, 3))
        fprintf(d->out, ", sequence: %s", PICK(d, "true", "true", "false"));
    draw_sharding(d, pipeline);
    draw_experts(d);
}

static void draw_plan(struct draft *d) {
    fputs("parallelism: {data: auto", d->out);
    if (d->is_transformer)
        draw_transformer_plan(d);
    else if (once_in(d, 2))
        fprintf(d->out, ", zero: %d", random_between(d->source, 0, 3));
    if (once_in(d, 4))
        fprintf(d->out, ", overlap: {gradients: %s, parameters: %s, tensor: %s, pipeline: %s}",
                PICK(d, "true", "false"), PICK(d, "true", "false"), PICK(d, "true", "false"), PICK(d, "true", "false"));
    if (once_in(d, 8))
        fprintf(d->out, ", order: [%s]",
                PICK(d, "tensor, context, expert, pipeline, data", "tensor, data, context, expert, pipeline",
                     "pipeline, tensor, context, expert, data"));
    fputs("}\n", d->out);
}

static void draw_data(struct draft *d) {
    if (once_in(d, 5))
        fprintf(d->out, "data: {storage: %s, access: %s, sample_cpu_time: %d us, workers: %d, prefetch: %d}\n",
                pick_id(d, TSIM_CATALOGUE_STORAGE), PICK(d, "random", "sequential"), random_between(d->source, 0, 5000),
                power_of_two(d, 6), random_between(d->source, 0, 4));
}

static void draw_variability(struct draft *d) {
    if (once_in(d, 8))
        fprintf(d->out, "variability: {compute_cv: 0.0%d, stragglers: {fraction: 0.0%d, slowdown: 1.%d}}\n",
                random_between(d->source, 0, 5), random_between(d->source, 0, 9), random_between(d->source, 0, 5));
}

static void draw_reliability(struct draft *d) {
    if (!once_in(d, 4))
        return;
    fprintf(d->out, "reliability: {node_mtbf: %d h, replications: %d, spares: %d, elastic: %s, shape: %s",
            2000 * power_of_two(d, 5), random_between(d->source, 1, 20), random_between(d->source, 0, 3),
            PICK(d, "true", "false"), PICK(d, "1", "1", "0.8"));
    fprintf(d->out, ", checkpoint: {interval: %s, mode: %s}", PICK(d, "optimal", "1 h", "100"),
            PICK(d, "sync", "async", "async, memory: true"));
    if (once_in(d, 3))
        fprintf(d->out, ", preemption: {rate: 0.00%d /h, notice: %d s, discount: 0.%d}",
                random_between(d->source, 1, 5), random_between(d->source, 0, 300), random_between(d->source, 1, 8));
    if (once_in(d, 4))
        fputs(", stragglers: {mtbf: 20000 h}, maintenance: {interval: 10 d, time: 2 h}", d->out);
    fputs("}\n", d->out);
}

static void draw_money(struct draft *d) {
    if (once_in(d, 4))
        fprintf(d->out, "energy: {pue: 1.%d, region: %s}\n", random_between(d->source, 0, 6),
                pick_id(d, TSIM_CATALOGUE_REGIONS));
    if (once_in(d, 4))
        fprintf(d->out, "cost: {rent: %d USD/h, purchase: %d000 USD}\n", random_between(d->source, 0, 9),
                random_between(d->source, 0, 60));
}

char *random_scenario(struct random_source *source) {
    char *text = NULL;
    size_t n_bytes;
    struct draft d = {.source = source, .out = open_memstream(&text, &n_bytes)};
    if (!d.out)
        abort();
    fputs("schema: tsim/v1\nname: random\n", d.out);
    draw_model(&d);
    draw_cluster(&d);
    draw_software(&d);
    draw_training(&d);
    draw_plan(&d);
    draw_data(&d);
    draw_variability(&d);
    draw_reliability(&d);
    draw_money(&d);
    fprintf(d.out, "simulation: {network: %s, seed: %d, fold: %s}\n",
            PICK(&d, "fluid", "fluid", "fluid", "ideal", "steps"), random_between(source, 0, 1000),
            PICK(&d, "auto", "auto", "auto", "off"));
    if (fclose(d.out) != 0)
        abort();
    return text;
}
