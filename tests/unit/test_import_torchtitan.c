/* Recipes of torchtitan: what its settings are in a scenario, and which are refused. */
#include "import/formats.h"
#include "support/training_rig.h"

#include <string.h>

static enum tsim_status import_text(const char *text, struct tsim_import_result *result) {
    struct tsim_import_input input = {.file = "file", .text = text, .size = strlen(text)};
    return tsim_import_format_find("torchtitan")->read(&arena, &input, result, &diags);
}

/* Llama 3 8B on eight accelerators, with more lines behind [training]. */
#define RECIPE(more) "[model]\nflavor = \"8B\"\n[training]\nlocal_batch_size = 2\nseq_len = 8192\n" more

static const struct tsim_scenario *imported(const char *text) {
    struct tsim_import_result result = {0};
    ck_assert_int_eq(import_text(text, &result), TSIM_OK);
    return load_text(result.yaml);
}

/* Checks the place and the setting of the first mistake. */
static void check_refused(const char *text, int line, const char *setting) {
    struct tsim_import_result result = {0};
    diags.n_items = diags.n_errors = diags.n_warnings = 0;
    ck_assert_int_ne(import_text(text, &result), TSIM_OK);
    size_t i = 0;
    while (i < diags.n_items && diags.items[i].is_warning)
        i++;
    ck_assert_uint_lt(i, diags.n_items);
    ck_assert_int_eq(diags.items[i].at.line, line);
    ck_assert_str_eq(diags.items[i].field, setting);
}

/* compile.components, by default ["model", "loss"], are compiled. */
TSIM_TEST(what_is_compiled) {
    static const struct {
        const char *text;
        enum tsim_fusion fusion;
    } CASES[] = {
        {RECIPE(""), TSIM_FUSION_NONE},
        {RECIPE("compile = true\n"), TSIM_FUSION_COMPILE},
        {RECIPE("[compile]\nenable = true\n"), TSIM_FUSION_COMPILE},
        {RECIPE("[compile]\nenable = true\ncomponents = [\"model\", \"loss\"]\n"), TSIM_FUSION_COMPILE},
        {RECIPE("[compile]\nenable = true\ncomponents = [\"model\"]\n"), TSIM_FUSION_COMPILE},
        {RECIPE("[compile]\nenable = true\ncomponents = [\"loss\"]\n"), TSIM_FUSION_NONE},
        {RECIPE("[compile]\nenable = false\ncomponents = [\"model\", \"loss\"]\n"), TSIM_FUSION_NONE},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        ck_assert_msg(imported(CASES[i].text)->software->fusion == CASES[i].fusion, "%s", CASES[i].text);
}

/* A preset's comment says which memory: 96 GiB are no usual H100's 80, 40 GB no A100's of 80. */
TSIM_TEST(memory_that_a_comment_says) {
    const struct tsim_scenario *sc =
        imported("# NOTE: this toml config is a preset for 8 H100 GPUs (with 96GiB memory).\n" RECIPE(""));
    ck_assert_str_eq(sc->cluster.node->accelerator->name, "h100-96gb");
    ck_assert_double_eq(sc->cluster.node->accelerator->memory_bytes, 96e9);
    sc = imported("# preset for 8 H100 GPUs.\n" RECIPE(""));
    ck_assert_str_eq(sc->cluster.node->accelerator->name, "h100-sxm");
    sc = imported("# preset for 8 H100 GPUs (80GB)\n" RECIPE(""));
    ck_assert_str_eq(sc->cluster.node->accelerator->name, "h100-sxm");
    sc = imported("# preset for 8 A100 GPUs (40 GB)\n" RECIPE(""));
    ck_assert_str_eq(sc->cluster.node->accelerator->name, "a100-40gb");
    check_refused("# preset for 8 H100 GPUs (with 64GiB memory)\n" RECIPE(""), 1, "comment");
    sc = imported("# preset for 8 A100 GPUs\n[model]\nflavor = \"8B\"\nconverters = [\"float8\"]\n");
    ck_assert_str_eq(sc->cluster.node->accelerator->name, "h100-sxm");
}

/* Forks name their kernels in the flavor: these have the sizes of the flavor alone. Another size, or another network,
 * is not known. */
TSIM_TEST(flavors_of_forks) {
    static const char *const SAME[] = {"30B-A3B", "30B-A3B-deepep", "opt-30B-A3B", "30B-A3B_hf", "30B-A3B-deepep-fp8"},
                             *const OTHERS[] = {"30B-A3B-vl", "30B", "30B-A3B2", "mini-30B-A3B"};
    for (size_t i = 0; i < sizeof SAME / sizeof SAME[0]; i++)
        ck_assert_int_eq(
            imported(tsim_arena_printf(&arena,
                                       "[model]\nname = \"qwen3\"\nflavor = \"%s\"\n[training]\nseq_len = 4096\n"
                                       "[infra]\nset_gpu_affinity = true\n[parallelism]\nprefetch_before_data = true\n",
                                       SAME[i]))
                ->model->hidden,
            2048);
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++)
        check_refused(tsim_arena_printf(&arena, "[model]\nname = \"qwen3\"\nflavor = \"%s\"\n", OTHERS[i]), 3,
                      "model.flavor");
}

TSIM_TEST(data_types) {
    ck_assert_int_eq(imported(RECIPE(""))->training.gradient_precision, TSIM_FP32);
    ck_assert_int_eq(imported(RECIPE("mixed_precision_reduce = \"bfloat16\"\n"))->training.gradient_precision,
                     TSIM_BF16);
    ck_assert_int_eq(imported("[float8]\nrecipe_name = \"rowwise\"\n" RECIPE(""))->training.precision, TSIM_BF16);
    ck_assert_int_eq(imported(RECIPE("[float8]\nenable_fsdp_float8_all_gather = true\n[model]\n"
                                     "converters = [\"quantize.linear.float8\"]\n"))
                         ->training.precision,
                     TSIM_FP8);
    ck_assert_int_eq(imported(RECIPE("[float8]\nrecipe_name = \"rowwise\"\n[model]\nconverters = [\"float8\"]\n"))
                         ->software->fp8_scaling,
                     TSIM_SCALING_ROWS);
    check_refused(RECIPE("dtype = \"float16\"\n"), 6, "training.dtype");
    check_refused("[model]\nflavor = \"8B\"\nconverters = [\"float8\", \"lora\"]\n", 3, "model.converters");
}

/* 32 layers, the embedding and the head: 34, of 9 each are four stages, two for each of two ranks; of 17 each only one,
 * where interleaving needs two. */
TSIM_TEST(stages) {
#define PIPELINE(rest)                                                                                                 \
    RECIPE("[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_schedule = \"Interleaved1F1B\"\n" rest)
    ck_assert_int_eq(imported(PIPELINE(""))->parallelism.virtual_pipeline, 2);
    ck_assert_int_eq(imported(PIPELINE("pipeline_parallel_layers_per_stage = 9\n"))->parallelism.virtual_pipeline, 2);
    check_refused(PIPELINE("pipeline_parallel_layers_per_stage = 17\n"), 9,
                  "parallelism.pipeline_parallel_layers_per_stage");
    check_refused(PIPELINE("pipeline_parallel_split_points = [\"layers.3\"]\n"), 9,
                  "parallelism.pipeline_parallel_split_points");
}

TSIM_TEST(what_is_not_known) {
    check_refused(RECIPE("[parallelism]\nring_degree = 4\n"), 7, "parallelism.ring_degree");
    check_refused(RECIPE("window = 4\n"), 6, "training.window");
    check_refused(RECIPE("[experimental]\ncustom_args_module = \"mine\"\n"), 7, "experimental.custom_args_module");
}

/* A function of config_registry.py calls another and changes what it returns. */
#define REGISTRY                                                                                                       \
    "from torchtitan.config import TrainingConfig\n\nLENGTH = 2 * 4096\n\n"                                            \
    "def llama3_8b() -> Trainer.Config:\n"                                                                             \
    "    parts = CompileConfig(enable=True, components=[\"loss\"])\n"                                                  \
    "    return Trainer.Config(\n        model_spec=model_registry(\"8B\"),\n"                                         \
    "        training=TrainingConfig(local_batch_size=4, seq_len=LENGTH),\n        compile=parts,\n    )\n\n"          \
    "def llama3_8b_tp() -> Trainer.Config:\n    \"\"\"Says (nothing.\"\"\"\n    config = llama3_8b()\n"                \
    "    config.parallelism = ParallelismConfig(tensor_parallel_degree=2)\n"                                           \
    "    config.compile.components = [\"model\", \"loss\"]\n"                                                          \
    "    config.training.seq_len = config.training.seq_len // 4\n    return config\n\n"                                \
    "def llama3_8b_ring() -> Trainer.Config:\n    config = llama3_8b()\n    config.training.window = 5\n"              \
    "    return config\n\ndef qwen3_loop() -> Trainer.Config:\n    return qwen3_loop()\n"

static enum tsim_status import_function(const char *text, const char *function, struct tsim_import_result *result) {
    struct tsim_import_input input = {
        .file = "file", .text = text, .size = strlen(text), .arguments = &function, .n_arguments = function ? 1 : 0};
    return tsim_import_format_find("torchtitan")->read(&arena, &input, result, &diags);
}

/* Converters are the job's or, since 2026, arguments of the model's registry; the debug model is known by its sizes. */
TSIM_TEST(arguments_of_the_registry) {
    struct tsim_import_result result = {0};
    ck_assert_int_eq(import_function("def llama3_debugmodel():\n    return Trainer.Config(\n"
                                     "        model_spec=model_registry(\"debugmodel\", quantization=[\n"
                                     "            Float8LinearConverter.Config(filter_fqns=[\"output\"])]),\n"
                                     "        training=TrainingConfig(local_batch_size=8, seq_len=2048),\n    )\n",
                                     "llama3_debugmodel", &result),
                     TSIM_OK);
    const struct tsim_scenario *sc = load_text(result.yaml);
    ck_assert_int_eq(sc->training.precision, TSIM_FP8);
    ck_assert_int_eq(sc->model->layers, 6);
}

TSIM_TEST(configurations_in_python) {
    struct tsim_import_result result = {0};
    ck_assert_int_eq(import_function(REGISTRY, "llama3_8b", &result), TSIM_OK);
    const struct tsim_scenario *sc = load_text(result.yaml);
    ck_assert_str_eq(sc->name, "llama3_8b");
    ck_assert_int_eq(sc->model->layers, 32);
    ck_assert_int_eq(sc->training.sequence_length, 8192);
    ck_assert_int_eq(sc->training.micro_batch_size, 4);
    ck_assert_int_eq(sc->software->fusion, TSIM_FUSION_NONE);
    ck_assert_int_eq(import_function(REGISTRY, "llama3_8b_tp", &result), TSIM_OK);
    sc = load_text(result.yaml);
    ck_assert_int_eq(sc->parallelism.tensor, 2);
    ck_assert_int_eq(sc->training.sequence_length, 2048);
    ck_assert_int_eq(sc->software->fusion, TSIM_FUSION_COMPILE);
}

/* The one of several functions that is meant has to be said; a setting that nobody knows is an error at its place;
 * circles end. */
TSIM_TEST(configurations_in_python_that_are_refused) {
    static const struct {
        const char *function, *text;
        int line;
    } CASES[] = {{NULL, "4 functions", 0},
                 {"llama3_9b", "no function", 0},
                 {"llama3_8b_ring", "nor whether", 23},
                 {"qwen3_loop", "too deep", 27}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct tsim_import_result result = {0};
        diags.n_items = diags.n_errors = diags.n_warnings = 0;
        ck_assert_int_ne(import_function(REGISTRY, CASES[i].function, &result), TSIM_OK);
        size_t k = 0;
        while (k < diags.n_items && diags.items[k].is_warning)
            k++;
        ck_assert_uint_lt(k, diags.n_items);
        ck_assert_msg(strstr(diags.items[k].message, CASES[i].text), "%s", diags.items[k].message);
        ck_assert_msg(CASES[i].line == 0 || diags.items[k].at.line == CASES[i].line, "%d", diags.items[k].at.line);
    }
}

/* A script names the configuration, which stands in its tree; its arguments and its number of processes count. */
static const char *in_tree(struct tsim_arena *a, const char *file, const char *path, size_t *size) {
    static const char *const FILES[][2] = {{"../train_configs/llama3_8b.toml", RECIPE("")},
                                           {"torchtitan/models/llama3/config_registry.py", REGISTRY}};
    (void)file;
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++)
        if (strcmp(FILES[i][0], path) == 0) {
            *size = strlen(FILES[i][1]);
            return tsim_arena_strdup(a, FILES[i][1]);
        }
    return NULL;
}

static enum tsim_status import_script(const char *text, struct tsim_import_result *result) {
    struct tsim_import_input input = {.file = "run.sh", .text = text, .size = strlen(text), .read_beside = in_tree};
    diags.n_items = diags.n_errors = diags.n_warnings = 0;
    return tsim_import_format_find("torchtitan")->read(&arena, &input, result, &diags);
}

TSIM_TEST(scripts_that_name_a_configuration) {
    struct tsim_import_result result = {0};
    ck_assert_int_eq(import_script("NGPU=4 CONFIG_FILE=\"./train_configs/llama3_8b.toml\" ./run_train.sh "
                                   "--parallelism.tensor_parallel_degree 2 --training.seq-len=4096\n",
                                   &result),
                     TSIM_OK);
    const struct tsim_scenario *sc = load_text(result.yaml);
    ck_assert_int_eq(sc->n_accelerators, 4);
    ck_assert_int_eq(sc->parallelism.tensor, 2);
    ck_assert_int_eq(sc->training.sequence_length, 4096);
    ck_assert_int_eq(sc->training.micro_batch_size, 2);
    ck_assert_int_eq(import_script("#SBATCH --nodes=2\ntorchrun --nnodes 2 --nproc_per_node 8 -m torchtitan.train "
                                   "--module llama3 --config llama3_8b_tp\n",
                                   &result),
                     TSIM_OK);
    sc = load_text(result.yaml);
    ck_assert_int_eq(sc->n_accelerators, 16);
    ck_assert_int_eq(sc->parallelism.tensor, 2);
    ck_assert_int_ne(import_script("CONFIG_FILE=nowhere.toml ./run_train.sh\n", &result), TSIM_OK);
    ck_assert_msg(strstr(diags.items[0].message, "'nowhere.toml' is not beside"), "%s", diags.items[0].message);
    ck_assert_int_ne(import_script("CONFIG_FILE=$WHICH ./run_train.sh\n", &result), TSIM_OK);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
