/* A launch file of a scenario, imported, is the scenario again: every default resolved the same, and the step takes as
 * long. Asked of every twelfth shipped scenario whose software has launch files, of all of them with TSIM_CASES; and what
 * options can say of a plan does not stand in a comment. */
#include "import/formats.h"
#include "import/launches/launch_file.h"
#include "support/training_rig.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

static void renew(void) {
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    set_up();
}

static const struct tsim_scenario *load(const char *file) {
    const struct tsim_scenario *scenario;
    return tsim_scenario_load(&arena, file, NULL, 0, &scenario, &diags) == TSIM_OK ? scenario : NULL;
}

/* Returns the file; NULL: the software is not launched so. */
static const char *exported(const struct tsim_scenario *scenario, const char *format) {
    const char *text = NULL;
    size_t first = diags.n_items;
    if (tsim_launch_file(&arena, format, scenario, &text, &diags) == TSIM_OK)
        return text;
    const struct tsim_diag *diag = NULL;
    for (size_t i = first; i < diags.n_items; i++)
        diag = diags.items[i].is_warning ? diag : &diags.items[i];
    ck_assert_ptr_nonnull(diag);
    ck_assert_msg(strstr(diag->message, "launched") || strstr(diag->message, "transformer") ||
                      strstr(diag->message, "attention"),
                  "%s: %s", scenario->name, diag->message);
    return NULL;
}

static const struct tsim_scenario *imported(const char *format, const char *text) {
    const struct tsim_import_input input = {.file = "elsewhere", .text = text, .size = strlen(text)};
    struct tsim_import_result result = {0};
    enum tsim_status status = tsim_import_format_find(format)->read(&arena, &input, &result, &diags);
    ck_assert_msg(status == TSIM_OK, "%s: %s", format, diags.n_items > 0 ? diags.items[diags.n_items - 1].message : "");
    return load_text(result.yaml);
}

/* Returns the length without the list of derived keys, which comes last. */
static size_t compared_length(const char *json) {
    const char *derived = strstr(json, "\"derived\"");
    return derived ? (size_t)(derived - json) : strlen(json);
}

static void check_same(const struct tsim_scenario *scenario, const char *format, const char *text) {
    const struct tsim_scenario *again = imported(format, text);
    const char *own = tsim_scenario_json(&arena, scenario), *other = tsim_scenario_json(&arena, again);
    size_t n = compared_length(own);
    ck_assert_msg(n == compared_length(other) && memcmp(own, other, n) == 0, "%s: another scenario by %s:\n%s\n%s",
                  scenario->name, format, own, other);
}

static void check_step(const struct tsim_scenario *scenario, const char *format, const char *text) {
    const struct tsim_run_options options = {.is_brief = true, .ignore_memory = true};
    struct tsim_result first, second;
    ck_assert_int_eq(tsim_train_run(&arena, scenario, &options, &first, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_train_run(&arena, imported(format, text), &options, &second, &diags), TSIM_OK);
    ck_assert_double_gt(first.step.terms.time_s, 0.0);
    ck_assert_double_eq(first.step.terms.time_s, second.step.terms.time_s);
}

TSIM_TEST(shipped) {
    static const char *const FORMATS[] = {"megatron", "nemo", "torchtitan", "deepspeed"};
    int n_files[4] = {0}, n_all = 0;
    glob_t files = {0};
    ck_assert_int_eq(glob("scenarios/published/*.yaml", 0, NULL, &files), 0);
    ck_assert_int_eq(glob("scenarios/*.yaml", GLOB_APPEND, NULL, &files), 0);
    size_t every = getenv("TSIM_CASES") ? 1 : 17;
    for (size_t i = 0; i < files.gl_pathc; i += every) {
        renew();
        const struct tsim_scenario *scenario = load(files.gl_pathv[i]);
        for (size_t f = 0; scenario && f < 4; f++) {
            const char *text = exported(scenario, FORMATS[f]);
            if (!text)
                continue;
            check_same(scenario, FORMATS[f], text);
            if (n_all++ % 16 == 0)
                check_step(scenario, FORMATS[f], text);
            n_files[f]++;
        }
    }
    globfree(&files);
    printf("%d of Megatron-LM, %d of NeMo, %d of torchtitan, %d of DeepSpeed\n", n_files[0], n_files[1], n_files[2],
           n_files[3]);
    for (size_t f = 0; f < 4; f++)
        ck_assert_int_gt(n_files[f], every == 1 ? 20 : 0); /* of the rarest, NeMo's, there are some thirty in all */
    renew();
}

/* Comments do not launch anything: what options can say stands in them. */
TSIM_TEST(options_say_the_plan) {
    static const struct {
        const char *id, *format, *options[8];
    } CASES[] = {
        {"dgxc-70b-h100-64-021",
         "megatron",
         {"--num-layers 80 ", "--tensor-model-parallel-size 4 ", "--num-virtual-stages-per-pipeline-rank 5 ",
          "--context-parallel-size 2 ", "--sequence-parallel ", "--global-batch-size 128 ", "--grad-reduce-in-bf16 "}},
        {"bloom-176b-a100-384-001",
         "megatron",
         {"--checkpoint-activations ", "--pad-vocab-size-to 250880 ", "--zero-stage 1 ", "--deepspeed_config ",
          "--pp-partition-method 'type:transformer|embedding' ", "export CUDA_LAUNCH_BLOCKING=1"}},
        {"nemo-70b-h100-64-013",
         "nemo",
         {"  num_nodes: 8\n", "  virtual_pipeline_model_parallel_size: 20\n", "  num_query_groups: 8\n",
          "  fp8: true\n", "    name: distributed_fused_adam\n"}},
        {"titan-8b-h100-64-fp8-async-2506",
         "torchtitan",
         {"flavor = \"8B\"\n", "local_batch_size = 12\n", "tensor_parallel_degree = 8\n", "converters = [\"float8\"]\n",
          "enable_async_tensor_parallel = true\n", "compile = true\n"}},
        {"accelerate-7b-a100-4-002",
         "deepspeed",
         {"\"train_batch_size\": 32", "\"bf16\": {\"enabled\": true}", "\"stage\": 3"}},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const char *text = exported(load_shipped(CASES[i].id, NULL, 0), CASES[i].format);
        ck_assert_ptr_nonnull(text);
        for (size_t o = 0; CASES[i].options[o]; o++)
            ck_assert_msg(strstr(text, CASES[i].options[o]) != NULL, "%s: no %s in\n%s", CASES[i].id,
                          CASES[i].options[o], text);
        ck_assert_ptr_null(strstr(text, "--set parallelism.")); /* nothing of the plan is kept in comments alone */
        ck_assert_ptr_null(strstr(text, "--set training.global_batch_size"));
    }
}

/* Models with Mamba-2 layers, which another program of Megatron-LM's starts. */
TSIM_TEST(hybrids) {
    static const struct {
        const char *model, *options[6];
    } CASES[] = {
        {"nemotron-h-8b",
         {" pretrain_mamba.py ", "--hybrid-override-pattern 'M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-' ",
          "mamba_layer_specs mamba_stack_spec ", "--squared-relu ", "--mamba-num-groups 8 "}},
        {"nemotron-nano-9b-v2", {"--mamba-num-heads 128 ", "--mamba-head-dim 80 "}},
        {"nemotron-3-nano-30b-a3b",
         {"MEMEM*EMEMEM*E", "--num-experts 128 ", "--moe-shared-expert-intermediate-size 3712 "}},
        {"codestral-mamba-7b", {"--hybrid-override-pattern MMMMMMMM"}}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        renew();
        const struct tsim_override overrides[] = {{"model", CASES[i].model},
                                                  {"parallelism.virtual_pipeline", "1"},
                                                  {"parallelism.pipeline", "4"},
                                                  {"parallelism.context", "1"}};
        const struct tsim_scenario *scenario = load_shipped("dgxc-70b-h100-64-021", overrides, 4);
        const char *text = exported(scenario, "megatron");
        ck_assert_ptr_nonnull(text);
        for (size_t o = 0; CASES[i].options[o]; o++)
            ck_assert_msg(strstr(text, CASES[i].options[o]) != NULL, "no %s in\n%s", CASES[i].options[o], text);
        ck_assert_ptr_null(strstr(text, "--set model.pattern"));
        check_same(scenario, "megatron", text);
        check_step(scenario, "megatron", text);
    }
}

/* An option that is changed by hand counts. */
TSIM_TEST(options_are_read) {
    const struct tsim_override nodes = {"cluster.nodes", "16"};
    const char *text = exported(load_shipped("dgxc-70b-h100-64-021", NULL, 0), "megatron");
    char *changed = tsim_arena_strdup(&arena, text);
    memcpy(strstr(changed, "--tensor-model-parallel-size 4"), "--tensor-model-parallel-size 8", 30);
    ck_assert_int_eq(imported("megatron", text)->parallelism.tensor, 4);
    ck_assert_int_eq(imported("megatron", changed)->parallelism.tensor, 8);
    text = exported(load_shipped("dgxc-70b-h100-64-021", &nodes, 1), "megatron");
    ck_assert_ptr_nonnull(strstr(text, "--nnodes 16 "));
}

TSIM_MAIN(600, set_up, tear_down)
