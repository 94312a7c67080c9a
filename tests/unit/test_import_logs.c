/* Tests logs: Megatron-LM's list of arguments, configurations as JSON, and times of steps. */
#include "import/formats.h"
#include "import/launches/launch_log.h"
#include "support/training_rig.h"

#include <string.h>

static enum tsim_status import_text(const char *format, const char *text, struct tsim_import_result *result) {
    struct tsim_import_input input = {.file = "run.log", .text = text, .size = strlen(text)};
    return tsim_import_format_find(format)->read(&arena, &input, result, &diags);
}

static const struct tsim_scenario *imported(const char *format, const char *text) {
    struct tsim_import_result result = {0};
    enum tsim_status status = import_text(format, text, &result);
    ck_assert_msg(status == TSIM_OK, "%s", diags.n_items > 0 ? diags.items[diags.n_items - 1].message : "");
    return load_text(result.yaml);
}

/* Defaults of arguments that other jobs than training a GPT have, as Megatron-LM prints them all. */
#define OTHERS                                                                                                         \
    "  dino_bottleneck_size ............ 256\n  encoder_num_layers .............. 8\n"                                 \
    "  img_h ........................... 224\n  mamba_state_dim ................. 128\n"                               \
    "  retro_encoder_layers ............ 2\n  tp_comm_overlap_ag .............. True\n"                                \
    "  params_dtype .................... torch.bfloat16\n  exp_avg_dtype ................... torch.float32\n"
#define LIST(more)                                                                                                     \
    "using world size: 16\n------------------------ arguments ------------------------\n"                              \
    "  attention_backend ............... AttnBackend.flash\n  bf16 ............................ True\n"                \
    "  hidden_size ..................... 1024\n  max_position_embeddings ......... 2048\n"                             \
    "  micro_batch_size ................ 2\n  global_batch_size ............... 64\n"                                  \
    "  num_attention_heads ............. 16\n  num_layers ...................... 8\n"                                  \
    "  num_query_groups ................ 1\n  group_query_attention ........... False\n"                               \
    "  seq_length ...................... 2048\n  tensor_model_parallel_size ...... 2\n"                                \
    "  sequence_parallel ............... True\n  num_experts ..................... None\n"                             \
    "  expert_tensor_parallel_size ..... 1\n  add_bias_linear ................. True\n"                                \
    "  add_qkv_bias .................... True\n  world_size ...................... 16\n" OTHERS more                   \
    "-------------------- end of arguments ---------------------\n"

TSIM_TEST(arguments_as_they_are_printed) {
    const struct tsim_scenario *sc = imported(
        "megatron", LIST("  virtual_pipeline_model_parallel_size ............ None\n"
                         "  recompute_modules ............... ['core_attn', 'mlp']\n"
                         "  recompute_granularity ........... selective\n") " > padded vocab (size: 50257) with 47 "
                                                                            "dummy tokens (new size: 50304)\n");
    ck_assert_int_eq(sc->model->layers, 8);
    ck_assert_int_eq(sc->model->kv_heads, 16); /* one group is the default of what is off */
    ck_assert(!sc->model->qkv_bias);           /* it has them with all others */
    ck_assert_int_eq(sc->model->vocab, 50304);
    ck_assert_int_eq(sc->n_accelerators, 16);
    ck_assert_int_eq(sc->cluster.nodes, 2);
    ck_assert_int_eq(sc->parallelism.tensor, 2);
    ck_assert(sc->parallelism.sequence);
    ck_assert_int_eq(sc->training.precision, TSIM_BF16);
    ck_assert_int_eq(sc->training.recompute_parts, TSIM_RECOMPUTE_ATTENTION | TSIM_RECOMPUTE_FFN);
    ck_assert_int_eq(sc->software->attention_kernel, TSIM_ATTENTION_FLASH2);
    ck_assert_uint_eq(diags.n_items, 0); /* no warning of what is a default */
}

/* Primus' names in the list say which program printed it. */
TSIM_TEST(a_list_that_primus_prints) {
    const char *formats[] = {"primus", "megatron"};
    for (size_t i = 0; i < 2; i++) {
        const struct tsim_scenario *sc =
            imported(formats[i], "on 2 nodes of MI355X\n" LIST("  auto_continue_train ............. False\n"
                                                               "  use_turbo_attention ............. True\n"));
        ck_assert_str_eq(sc->software->name, "primus-2025");
        ck_assert_str_eq(sc->cluster.node->accelerator->name, "mi355x");
    }
}

/* A switch that is on is told; a name of next year is a warning, for the list has the defaults of all. */
TSIM_TEST(what_a_list_tells) {
    struct tsim_import_result result = {0};
    imported("megatron", LIST("  next_years_option ............... 7\n  and_another .....................\n"));
    ck_assert_uint_eq(diags.n_items, 1);
    ck_assert(diags.items[0].is_warning);
    ck_assert_ptr_nonnull(strstr(diags.items[0].message, "next_years_option"));
    imported("megatron", LIST("  deterministic_mode .............. True\n"));
    ck_assert_str_eq(diags.items[1].field, "deterministic_mode");
    static const char *const REFUSED[] = {LIST("  hybrid_override_pattern ......... M*M-\n"),
                                          LIST("  exp_avg_dtype ................... torch.float8_e4m3fn\n"),
                                          LIST("  main_params_dtype ............... torch.float16\n"),
                                          LIST("  perform_rl_step ................. True\n")};
    for (size_t i = 0; i < sizeof REFUSED / sizeof REFUSED[0]; i++)
        ck_assert_int_ne(import_text("megatron", REFUSED[i], &result), TSIM_OK);
}

#define STEP(n, batch, ms)                                                                                             \
    "[default0]: iteration " #n "/ 100 | consumed samples: 1 | elapsed time per iteration (ms): " #ms                  \
    " | learning rate: 1E-4 | global batch size: " #batch " | lm loss: 1\n"

/* Steps of the last batch, without the first of them; the median of an even number lies between two. */
TSIM_TEST(times_become_measured) {
    const struct tsim_scenario *sc = imported(
        "megatron", LIST("") STEP(1, 32, 9000) STEP(2, 32, 100.5) STEP(3, 64, 8000) STEP(4, 64, 210) STEP(5, 64, 190)
                        STEP(6, 64, 250) STEP(7, 64, 200) "[Rank 3] (after 2 iterations) memory (MB) | "
                                                          "allocated: 1.0 | max allocated: 2048.5 | x\n");
    ck_assert_double_eq(sc->measured.value[TSIM_METRIC_STEP_TIME], 0.205);
    ck_assert_double_eq(sc->measured.value[TSIM_METRIC_MEMORY_PEAK], 2048.5 * 1048576);
    ck_assert_str_eq(sc->measured.source, "run.log");
    sc = imported("megatron", LIST(""));
    ck_assert(!sc->measured.has[TSIM_METRIC_STEP_TIME]);
}

TSIM_TEST(series_of_numbers) {
    static const char TEXT[] = "x: 9\nx: 1,000 y: 1\nno\nx: 3\r\nx: a\nx: -4\nx: 2\nx: 1e1";
    struct tsim_log_series series;
    ck_assert(tsim_log_series(TEXT, strlen(TEXT), "x: ", NULL, &series));
    ck_assert_uint_eq(series.n, 4);
    ck_assert_uint_eq(series.n_warmup, 1);
    ck_assert_int_eq(series.line, 1);
    ck_assert_double_eq(series.median, 6.5);
    ck_assert(!tsim_log_series(TEXT, strlen(TEXT), "z: ", NULL, &series));
    ck_assert_double_eq(tsim_log_largest("  world_size ....... 12\n", 23, "  world_size "), 12);
    ck_assert_double_eq(tsim_log_mesh("a 2-D device mesh with ['dp', 'tp'], [16, 4]\n", 45), 64);
}

/* The JSON of a log is read line by line behind whatever launchers write, with places of the log. */
TSIM_TEST(configurations_as_json) {
    const struct tsim_scenario *sc = imported(
        "torchtitan", "[rank0]:[titan] - INFO - Running with args: {\n[rank0]:  \"model\": {\"name\": \"llama3\", "
                      "\"flavor\": \"8B\"},\n[rank0]:  \"training\": {\"local_batch_size\": 2, \"seq_len\": "
                      "4096, \"new_one\": \"}\"}\n[rank0]:}\n[rank0]:- INFO - step:  1  loss: 1  tps: 1,000  "
                      "mfu: 3%\n");
    ck_assert_int_eq(sc->training.sequence_length, 4096);
    ck_assert_int_eq(sc->training.micro_batch_size, 2);
    ck_assert_double_eq(sc->measured.value[TSIM_METRIC_TOKENS_PER_S_PER_GPU], 1000);
    sc = imported("deepspeed",
                  "12: print]   world_size ................... 16\n12:   json = {\n12:   \"train_batch_size\": "
                  "64, \"train_micro_batch_size_per_gpu\": 2,\n12:   \"bf16\": {\"enabled\": true}, "
                  "\"zero_optimization\": {\"stage\": 3}\n12: }\nx=1, CurrSamplesPerSec=8.5, y\n");
    ck_assert_int_eq(sc->n_accelerators, 16);
    ck_assert_int_eq(sc->parallelism.zero, 3);
    ck_assert_double_eq(sc->measured.value[TSIM_METRIC_SAMPLES_PER_S], 8.5);
    struct tsim_import_result result = {0};
    size_t before = diags.n_errors;
    ck_assert_int_ne(import_text("deepspeed", "a\n  json = {\n\"zero_optimization\": {\"stage\": 7}}\n", &result),
                     TSIM_OK);
    ck_assert_uint_gt(diags.n_errors, before);
    ck_assert_int_eq(diags.items[diags.n_items - 1].at.line, 3);
    ck_assert_int_ne(import_text("torchtitan", "Running with args: {\"a\": \n", &result), TSIM_OK);
}

/* Megatron-Bridge's: objects stand for data types and attention's backend, the data's length counts. */
#define BRIDGE(model, more)                                                                                            \
    "setting number of microbatches to constant 4\n------- Task Configuration -------\n"                               \
    "_target_: megatron.bridge.training.config.ConfigContainer\ndataset: {sequence_length: 1024, tokenizer: {a: 1}}\n" \
    "ddp: {use_distributed_optimizer: true, grad_reduce_in_fp32: false}\nmodel:\n  num_layers: 4\n  hidden_size: "     \
    "256\n"                                                                                                            \
    "  num_attention_heads: 4\n  seq_length: 9999\n  position_embedding_type: rope\n  bf16: true\n  mamba_state_dim: " \
    "128\n"                                                                                                            \
    "  attention_backend: {_args_: [3], _call_: true, _target_: megatron.core.transformer.enums.AttnBackend}\n" model  \
    "train: {global_batch_size: 64, micro_batch_size: 2}\noptimizer: {main_params_dtype: {_target_: "                  \
    "torch.float32}}\n" more "----------------------------------\nno: [yaml\n"

TSIM_TEST(configurations_of_bridge) {
    const struct tsim_scenario *sc = imported(
        "nemo", BRIDGE("  tensor_model_parallel_size: 2\n  vocab_size: 1000\n  should_pad_vocab: false\n", ""));
    ck_assert_int_eq(sc->training.sequence_length, 1024);
    ck_assert_int_eq(sc->n_accelerators, 16); /* 64 / (2 x 4) replicas of 2 */
    ck_assert_int_eq(sc->model->vocab, 1000);
    ck_assert_int_eq(sc->training.gradient_precision, TSIM_BF16);
    ck_assert_int_eq(sc->software->attention_kernel, TSIM_ATTENTION_UNFUSED);
    ck_assert_str_eq(sc->software->name, "megatron-core-2025");
    sc = imported("nemo",
                  BRIDGE("  window_size: [127, 0]\n  window_attn_skip_freq: 2\n",
                         "peft: {_target_: megatron.bridge.peft.lora.LoRA, dim: 16, target_modules: [linear_qkv]}\n"));
    ck_assert_int_eq(sc->model->attention_window, 128);
    ck_assert_int_eq(sc->training.adapter.rank, 16);
    static const char *const REFUSED[] = {
        BRIDGE("", "peft: {_target_: megatron.bridge.peft.dora.DoRA}\n"),
        BRIDGE("  window_size: [128, 0]\n  window_attn_skip_freq: [0, 1, 0, 1]\n", ""),
        BRIDGE("  is_hybrid_model: true\n", "")};
    struct tsim_import_result result = {0};
    for (size_t i = 0; i < sizeof REFUSED / sizeof REFUSED[0]; i++)
        ck_assert_msg(import_text("megatron", REFUSED[i], &result) != TSIM_OK, "%d", (int)i);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
