/* The shipped catalogue: exact parameter counts of its models, and laws that every hardware file must keep. */
#include "config/catalogue_load.h"
#include "model/model.h"
#include "support/check_main.h"

#include <string.h>

static struct tsim_arena arena;
static struct tsim_diags diags;

static void set_up(void) {
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
}

static void tear_down(void) {
    tsim_diags_print(&diags, stderr);
    size_t n_mistakes = diags.n_errors + diags.n_warnings;
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    ck_assert_uint_eq(n_mistakes, 0);
}

/* Counts printed by the released checkpoints (GPT-2, LLaMA, Llama 2 and 3). GPT-3, by hand from table 2.1 of Brown et
 * al.: 96 layers of 12 h^2 weights, 9 h biases and 4 h of norms, 50,257 + 2,048 rows of h, 2 h: h = 12,288. MPT: their
 * tables print 6.6589, 12.854 and 64.8624 B. BERT: the released encoders with their poolers. PaLM: 118 h (q + 2 kv + q
 * + 3 f) + 256,000 h + 2 norms a layer and one at the end: h = 18,432, q = 12,288, kv = 256, f = 73,728. ViT-L/16
 * (torchvision's vit_l_16): 24 layers of 12 h^2 + 13 h, 768 h + h of the patches, h of the class token, 197 positions,
 * 2 h, 1,000 (h + 1): h = 1,024. ResNet-50 and AlexNet: torchvision's; the MLP: 785 x 300 + 301 x 100 + 101 x 10.
 * T5: 24 x (4 x 1,024 x 16,384 + 2 x 1,024 x 65,536 + 2 h) and as many with another attention and norm, the table, 2 x
 * 32 x 128 biases, 2 h. Mixtral and DeepSeek-V3 (without its module for the second next token): their checkpoints. */
static const struct count {
    const char *id;
    double parameters;
} COUNTS[] = {
    {"gpt2-small", 124439808.0},
    {"gpt2-medium", 354823168.0},
    {"gpt2-large", 774030080.0},
    {"gpt2-xl", 1557611200.0},
    {"gpt3-175b", 174604259328.0},
    {"gpt-175b", 174615846912.0},
    {"llama-7b", 6738415616.0},
    {"llama-65b", 65285660672.0},
    {"llama2-7b", 6738415616.0},
    {"llama2-13b", 13015864320.0},
    {"llama2-70b", 68976648192.0},
    {"llama3-8b", 8030261248.0},
    {"llama3-70b", 70553706496.0},
    {"llama3-405b", 405853388800.0},
    {"mpt-7b", 6658859008.0},
    {"mpt-13b", 12853954560.0},
    {"mpt-70b", 64862437376.0},
    {"gpt-22b", 22074273792.0},
    {"gpt-530b", 529600819200.0},
    {"gpt-1t", 1008038758400.0},
    {"bert-base", 109482240.0},
    {"bert-large", 335141888.0},
    {"palm-540b", 540356474880.0},
    {"vit-large", 304326632.0},
    {"mixtral-8x7b", 46702792704.0},
    {"deepseek-v3", 671026419200.0},
    {"resnet50", 25557032.0},
    {"retinanet-resnext50", 37060652.0},
    {"alexnet", 61100840.0},
    {"mlp-mnist", 266610.0},
    {"dcgan", 6342272.0},
    {"dlrm", 24036595969.0},
    /* It has 204,184,588 rows, and cross layers of 2 x 3,456 x 512 with a bias. */
    {"dlrm-dcnv2", 26151671809.0},
    {"t5-11b", 11307321344.0},
};

TSIM_TEST_ROWS(exact_parameters, COUNTS) {
    const struct count *count = &COUNTS[_i];
    const struct tsim_model *model;
    ck_assert_int_eq(tsim_catalogue_load_model(&arena, count->id, &model, &diags), TSIM_OK);
    ck_assert_str_eq(model->name, count->id);
    ck_assert_double_eq(tsim_model_parameters(model), count->parameters);
    if (model->experts.count == 0 && model->n_tables == 0)
        ck_assert_double_eq(tsim_model_active_parameters(model), count->parameters);
}

static void list(enum tsim_catalogue_kind kind, const char *const **ids, size_t *n_ids) {
    ck_assert_int_eq(tsim_catalogue_list(&arena, kind, ids, n_ids, &diags), TSIM_OK);
    ck_assert_uint_gt(*n_ids, 0);
}

/* Returns the first number right before " parameters" in a model's source, which its publisher counts; 0: it says
 * none. */
static double stated_parameters(const char *source) {
    const char *end = NULL, *from = source;
    double stated = 0;
    while ((from = strstr(from, " parameters"))) {
        end = from++;
        if (end > source && end[-1] >= '0' && end[-1] <= '9')
            break;
        end = NULL;
    }
    if (!end)
        return 0;
    for (from = end; from > source && (from[-1] == ',' || (from[-1] >= '0' && from[-1] <= '9')); from--) {
    }
    for (; from < end; from++)
        if (*from != ',')
            stated = 10 * stated + (*from - '0');
    return stated;
}

/* Every model whose source says how many parameters it has, has as many; most say it. */
TSIM_TEST(stated_counts) {
    const char *const *ids;
    size_t n_ids, n_stated = 0;
    ck_assert_double_eq(stated_parameters("a table; 1,234,567 parameters, of which 12 are used"), 1234567);
    ck_assert_double_eq(stated_parameters("parameters of table 2"), 0);
    list(TSIM_CATALOGUE_MODELS, &ids, &n_ids);
    for (size_t i = 0; i < n_ids; i++) {
        const struct tsim_model *model;
        ck_assert_int_eq(tsim_catalogue_load_model(&arena, ids[i], &model, &diags), TSIM_OK);
        double stated = stated_parameters(model->source);
        n_stated += stated > 1e6;
        if (stated > 1e6)
            ck_assert_msg(tsim_model_parameters(model) == stated, "%s: %.0f, its source says %.0f", ids[i],
                          tsim_model_parameters(model), stated);
    }
    ck_assert_uint_ge(n_stated, 60);
}

/* Mixtral uses 2 of 8 experts of 3 x 4,096 x 14,336 in each of 32 layers; DeepSeek-V3 8 of 256 experts of
 * 3 x 7,168 x 2,048 in 58. Their papers say 12.9 B and 37 B. */
TSIM_TEST(active_parameters) {
    static const struct count ACTIVE[] = {{"mixtral-8x7b", 46702792704.0 - 32 * 6 * 176160768.0},
                                          {"deepseek-v3", 671026419200.0 - 58 * 248 * 44040192.0}};
    for (size_t i = 0; i < sizeof ACTIVE / sizeof ACTIVE[0]; i++) {
        const struct tsim_model *model;
        ck_assert_int_eq(tsim_catalogue_load_model(&arena, ACTIVE[i].id, &model, &diags), TSIM_OK);
        ck_assert_double_eq(tsim_model_active_parameters(model), ACTIVE[i].parameters);
    }
}

/* A precision has a peak exactly if it has a sustained fraction; and nothing beats its own limits. */
TSIM_TEST(accelerators) {
    const char *const *ids;
    size_t n_ids;
    list(TSIM_CATALOGUE_ACCELERATORS, &ids, &n_ids);
    for (size_t i = 0; i < n_ids; i++) {
        const struct tsim_accelerator *a;
        ck_assert_int_eq(tsim_catalogue_load_accelerator(&arena, ids[i], &a, &diags), TSIM_OK);
        for (int p = 0; p < TSIM_N_PRECISIONS; p++)
            ck_assert_msg((a->peak_flops_per_s[p] > 0) == (a->matrix_sustained_frac[p] > 0), "%s, precision %d", ids[i],
                          p);
        ck_assert_msg(a->power_idle_w < a->power_limit_w, "%s", ids[i]);
        ck_assert_msg(a->usable_memory_reserve_bytes < 0.3 * a->memory_bytes, "%s", ids[i]);
        /* at full use of everything the limit is reached, so power capping can be seen */
        ck_assert_msg(a->power_compute_frac + a->power_memory_frac + a->power_link_frac >= 1, "%s", ids[i]);
        ck_assert_msg(a->attention_frac[TSIM_FLASH1] <= a->attention_frac[TSIM_FLASH2] &&
                          a->attention_frac[TSIM_FLASH2] <= a->attention_frac[TSIM_FLASH3],
                      "%s: later attention kernels are no slower", ids[i]);
    }
}

/* Peaks follow from units, clock and products per unit and clock (dense): V100 8 tensor cores of 64, A100 and Orin 4 of
 * 256, H100 4 of 512 fused multiply-adds; a core of a Xeon 512 by AMX and two vector units of 16, of an M2 128. The
 * datasheets round to 3 digits. */
TSIM_TEST(peaks_follow_from_clocks) {
    static const struct {
        const char *id;
        double fma_per_unit;
        enum tsim_precision precision;
    } PARTS[] = {{"v100-32gb", 8 * 64, TSIM_FP16},
                 {"a100-80gb", 4 * 256, TSIM_FP16},
                 {"h100-sxm", 4 * 512, TSIM_FP16},
                 {"h200", 4 * 512, TSIM_FP16},
                 {"jetson-agx-orin", 4 * 256, TSIM_FP16},
                 {"xeon-8480", 512, TSIM_BF16},
                 {"xeon-8480", 2 * 16, TSIM_FP32},
                 {"m2", 128, TSIM_FP32},
                 {"m2-ultra", 128, TSIM_FP32},
                 {"raspberry-pi-5", 2 * 4, TSIM_FP32}};
    for (size_t i = 0; i < sizeof PARTS / sizeof PARTS[0]; i++) {
        const struct tsim_accelerator *a;
        ck_assert_int_eq(tsim_catalogue_load_accelerator(&arena, PARTS[i].id, &a, &diags), TSIM_OK);
        double peak = (double)a->compute_units * PARTS[i].fma_per_unit * 2 * a->clock_hz;
        ck_assert_double_eq_tol(peak / a->peak_flops_per_s[PARTS[i].precision], 1, 0.005);
    }
}

TSIM_TEST(nodes) {
    const char *const *ids;
    size_t n_ids;
    list(TSIM_CATALOGUE_NODES, &ids, &n_ids);
    for (size_t i = 0; i < n_ids; i++) {
        const struct tsim_node *node;
        ck_assert_int_eq(tsim_catalogue_load_node(&arena, ids[i], &node, &diags), TSIM_OK);
        ck_assert_msg(node->scale_up_ring_bytes_per_s <= node->scale_up_bytes_per_s, "%s", ids[i]);
        double accelerators_w = (double)node->accelerators * node->accelerator->power_limit_w;
        ck_assert_msg(node->power_limit_w == 0 || accelerators_w < node->power_limit_w, "%s", ids[i]);
        ck_assert_msg(node->power_overhead_idle_w <= node->power_overhead_w, "%s", ids[i]);
    }
}

TSIM_TEST(everything_else_loads) {
    const char *const *ids;
    size_t n_ids;
    list(TSIM_CATALOGUE_MODELS, &ids, &n_ids);
    for (size_t i = 0; i < n_ids; i++) {
        const struct tsim_model *model;
        ck_assert_int_eq(tsim_catalogue_load_model(&arena, ids[i], &model, &diags), TSIM_OK);
    }
    list(TSIM_CATALOGUE_FABRICS, &ids, &n_ids);
    for (size_t i = 0; i < n_ids; i++) {
        const struct tsim_fabric *fabric;
        ck_assert_int_eq(tsim_catalogue_load_fabric(&arena, ids[i], &fabric, &diags), TSIM_OK);
        ck_assert_msg(fabric->efficiency_frac > 0.3 && fabric->efficiency_frac <= 1, "%s", ids[i]);
    }
    list(TSIM_CATALOGUE_SOFTWARE, &ids, &n_ids);
    for (size_t i = 0; i < n_ids; i++) {
        const struct tsim_software *software;
        ck_assert_int_eq(tsim_catalogue_load_software(&arena, ids[i], &software, &diags), TSIM_OK);
    }
}

/* A scenario that names a profile and nothing else runs what that software has. */
TSIM_TEST(defaults_are_supported) {
    const char *const *ids;
    size_t n_ids;
    list(TSIM_CATALOGUE_SOFTWARE, &ids, &n_ids);
    for (size_t i = 0; i < n_ids; i++) {
        const struct tsim_software *s;
        ck_assert_int_eq(tsim_catalogue_load_software(&arena, ids[i], &s, &diags), TSIM_OK);
        const struct tsim_supports *has = &s->supports;
        unsigned staged = has->zero_staged ? has->zero_staged : has->zero;
        ck_assert_msg(tsim_is_in(has->zero, s->defaults.zero), "%s has no ZeRO-%d", ids[i], (int)s->defaults.zero);
        ck_assert_msg(!tsim_is_in(has->splits, TSIM_SPLIT_PIPELINE) || tsim_is_in(staged, s->defaults.zero_staged),
                      "%s has no ZeRO-%d beside a pipeline", ids[i], (int)s->defaults.zero_staged);
        ck_assert_msg(tsim_is_in(has->recompute, s->defaults.recompute), "%s recomputes otherwise", ids[i]);
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
