/* Recipes of NeMo: data types, values that stand for others, and jobs that are not plain training of a transformer. */
#include "import/formats.h"
#include "support/training_rig.h"

#include <string.h>

static enum tsim_status import_text(const char *text, struct tsim_import_result *result) {
    struct tsim_import_input input = {.file = "file", .text = text, .size = strlen(text)};
    return tsim_import_format_find("nemo")->read(&arena, &input, result, &diags);
}

static const struct tsim_scenario *imported(const char *text) {
    struct tsim_import_result result = {0};
    ck_assert_int_eq(import_text(text, &result), TSIM_OK);
    return load_text(result.yaml);
}

/* A small GPT as the launcher's files have it, with more lines in its model. */
#define TRAINER "trainer: {num_nodes: 1, devices: 8, precision: bf16, accumulate_grad_batches: 1, max_steps: 100}\n"
#define MODEL                                                                                                          \
    "model:\n  micro_batch_size: 1\n  global_batch_size: 32\n  tensor_model_parallel_size: 2\n"                        \
    "  encoder_seq_length: 2048\n  max_position_embeddings: ${.encoder_seq_length}\n  num_layers: 8\n"                 \
    "  hidden_size: 1024\n  num_attention_heads: 16\n  transformer_block_type: pre_ln\n"
#define GPT(more) "name: megatron_gpt\n" TRAINER MODEL more

/* nemo/collections/nlp/modules/common/megatron/transformer.py asks cfg.fp8 first; the two others choose its format. */
TSIM_TEST(fp8_has_one_switch) {
    static const struct {
        const char *text;
        enum tsim_precision precision;
    } CASES[] = {
        {GPT("  fp8: False\n  fp8_e4m3: False\n  fp8_hybrid: True\n"), TSIM_BF16},
        {GPT("  fp8_hybrid: True\n"), TSIM_BF16},
        {GPT("  fp8: True\n  fp8_hybrid: True\n"), TSIM_FP8},
        {GPT("  fp8: True\n  fp8_e4m3: True\n  fp8_hybrid: False\n"), TSIM_FP8},
        {GPT("  fp8: hybrid\n"), TSIM_FP8},
        {GPT("  fp8: null\n  fp8_hybrid: True\n"), TSIM_BF16},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        ck_assert_msg(imported(CASES[i].text)->training.precision == CASES[i].precision, "%s", CASES[i].text);
}

/* Falcon's customization sets the blocks side by side; a section of Hyena beside a job of another name is nothing. */
TSIM_TEST(blocks_side_by_side) {
    const struct tsim_scenario *sc =
        imported(GPT("  hyena: {order: 2, num_heads: 1}\nmcore_customization_config:\n  parallel_attention: true\n"));
    ck_assert(sc->model->parallel_block);
}

/* OmegaConf's references stand for values beside them, above them, from the root, and for NeMo's products. */
TSIM_TEST(values_that_stand_for_others) {
    const struct tsim_scenario *sc = imported(GPT("  ffn_hidden_size: ${multiply:4, ${.hidden_size}}\n"
                                                  "  data:\n    seq_length: ${model.encoder_seq_length}\n"
                                                  "  num_query_groups: ${.tensor_model_parallel_size}\n"));
    ck_assert_int_eq(sc->model->positions, 2048);
    ck_assert_int_eq(sc->model->ffn_hidden, 4096);
    ck_assert_int_eq(sc->training.sequence_length, 2048);
    ck_assert_int_eq(sc->model->kv_heads, 2);
    sc = imported("name: megatron_gpt\n" TRAINER MODEL
                  "  num_query_groups: ${multiply:${training.model.tensor_model_parallel_size}, 4}\n");
    ck_assert_int_eq(sc->model->kv_heads, 8);
    sc = imported(
        GPT("  ffn_hidden_size: ${subtract:${add:4000, 100}, 4}\n  num_query_groups: ${divide:16,${oc.env:G, 4}}\n"
            "  hidden_dropout: ${oc.env:DROPOUT,0}\n"));
    ck_assert_int_eq(sc->model->ffn_hidden, 4096);
    ck_assert_int_eq(sc->model->kv_heads, 4);
    sc = imported("name: megatron_gpt\n" TRAINER MODEL "  ffn_hidden_size: ${multiply:${divide_ceil:7, 2},"
                  "${divide_floor:3001,2}}\n");
    ck_assert_int_eq(sc->model->ffn_hidden, 6000);
    struct tsim_import_result result = {0}; /* those that go round, and what is nowhere */
    ck_assert_int_ne(
        import_text(GPT("  ffn_hidden_size: ${.kv_channels}\n  kv_channels: ${.ffn_hidden_size}\n"), &result), TSIM_OK);
    static const char *const NOTHING[] = {GPT("  ffn_hidden_size: ${multiply:4, ${.nothing}}\n"),
                                          GPT("  ffn_hidden_size: ${divide:7, 2}\n"),
                                          GPT("  ffn_hidden_size: ${divide_ceil:7, 0}\n"),
                                          GPT("  ffn_hidden_size: ${subtract:1, 2}\n"),
                                          GPT("  ffn_hidden_size: ${oc.env:NAME}\n"),
                                          GPT("  ffn_hidden_size: ${multiply:1000000000000,2}\n")};
    for (size_t i = 0; i < sizeof NOTHING / sizeof NOTHING[0]; i++)
        ck_assert_msg(import_text(NOTHING[i], &result) != TSIM_OK, "%s", NOTHING[i]);
    const char *text = GPT(""); /* products of products: 20 to the 8th of them */
    for (int i = 0; i < 9; i++) {
        text = tsim_arena_printf(&arena, "%s  p%d: ${multiply:1", text, i);
        for (int k = 0; k < 20; k++)
            text = tsim_arena_printf(&arena, "%s,${.p%d}", text, i + 1);
        text = tsim_arena_printf(&arena, "%s}\n", text);
    }
    ck_assert_int_ne(import_text(text, &result), TSIM_OK);
}

/* A job is told by these: the setting that says it, and a part of the sentence. */
static const struct {
    const char *text, *setting, *why;
} OTHER_JOBS[] = {
    {"name: megatron_mamba\n" TRAINER MODEL "  hybrid_override_pattern: null\n", "name", "(Mamba, Griffin, Hyena)"},
    {GPT("  hybrid_override_pattern: 'M-M*'\n"), "model.hybrid_override_pattern", "(Mamba, Griffin, Hyena)"},
    {GPT("  ngroups_mamba: 8\n"), "model.ngroups_mamba", "(Mamba, Griffin, Hyena)"},
    {"exp_manager: {name: megatron_griffin}\n" TRAINER MODEL, "exp_manager.name", "(Mamba, Griffin, Hyena)"},
    {"model: {_target_: nemo.collections.llm.gpt.model.ssm.MambaModel}\n", "model._target_", "(Mamba, Griffin, Hyena)"},
    {GPT("  mm_cfg: {llm: {freeze: True}}\n"), "model.mm_cfg.llm.freeze", "images or sound"},
    {"model: {_target_: nemo.collections.vlm.neva.model.llava.LlavaModel}\n", "model._target_", "images or sound"},
    {GPT("  peft: {peft_scheme: ptuning}\n"), "model.peft.peft_scheme", "an adapter"},
    {"inference: {greedy: False}\n" TRAINER "prompts: ['Q: How are you?']\nport: 5555\n", "prompts",
     "this is inference"},
    {"_target_: nemo.collections.llm.api.evaluate\n", "_target_", "this evaluates a model"},
    {"trainer: {dpo: {max_steps: 3}, num_nodes: 1}\n" MODEL, "trainer.dpo.max_steps", "tuning by preferences"},
    {"exp_manager: {name: megatron_t5}\n" TRAINER MODEL, "exp_manager.name", "encoder and a decoder"},
    {GPT("  quantization: {algorithm: int8_sq}\n"), "model.quantization.algorithm", "distils, prunes, quantizes"},
    {GPT("  fsdp: True\n"), "model.fsdp", "FSDP"},
    {GPT("  window_size: [16, 0]\n  window_attn_skip_freq: [0, 1]\n"), "model.window_attn_skip_freq", "a list"},
    {GPT("  fp32_residual_connection: True\n"), "model.fp32_residual_connection", "different data type"},
    {"name: megatron_gpt\ntrainer: {num_nodes: 1, devices: 8, precision: bf16, accumulate_grad_batches: 4}\n" MODEL,
     "trainer.accumulate_grad_batches", "gradient accumulation"},
    {GPT("  hyper_width: 3\n"), "model.hyper_width", "does not know"},
};

TSIM_TEST_ROWS(jobs_that_are_refused, OTHER_JOBS) {
    struct tsim_import_result result = {0};
    ck_assert_int_ne(import_text(OTHER_JOBS[_i].text, &result), TSIM_OK);
    size_t i = 0;
    while (i < diags.n_items && diags.items[i].is_warning)
        i++;
    ck_assert_uint_lt(i, diags.n_items);
    ck_assert_str_eq(diags.items[i].field, OTHER_JOBS[_i].setting);
    ck_assert_msg(strstr(diags.items[i].message, OTHER_JOBS[_i].why), "%s", diags.items[i].message);
}

/* A setting that is off changes nothing; a BERT looks both ways; the batch of a fine-tuning stands at its data. */
TSIM_TEST(what_is_taken) {
    ck_assert(imported(GPT("  fsdp: False\n  window_size: null\n  hybrid_override_pattern: null\n"
                           "  fp32_residual_connection: False\n  peft: {peft_scheme: none}\n"))
                  ->model->causal);
    ck_assert(
        !imported("exp_manager: {name: megatron_bert}\n" TRAINER MODEL "  bert_binary_head: False\n")->model->causal);
    ck_assert_int_eq(
        imported(GPT("  data: {train_ds: {micro_batch_size: 2, global_batch_size: 64}}\n"))->training.global_batch_size,
        64);
    const struct tsim_scenario *sc =
        imported(GPT("  peft: {peft_scheme: lora, lora_tuning: {adapter_dim: 12, target_modules: [attention_qkv]}}\n"));
    ck_assert_int_eq(sc->training.adapter.rank, 12);
    /* A token attends to 16 tokens to the left beside its own, in one layer of two. */
    sc = imported(GPT("  window_size: [16, 0]\n  window_attn_skip_freq: 2\n"));
    ck_assert_int_eq(sc->model->attention_window, 17);
}

/* ---- lists of defaults ---- */

/* The files that stand beside the one that is read. */
static const char *beside(struct tsim_arena *a, const char *file, const char *path, size_t *size) {
    static const char *const FILES[][2] = {
        {"training/gpt3/5b.yaml",
         "defaults:\n  - base\n  - optional none@model.cfg: no\n" TRAINER
         "model: {global_batch_size: \"${multiply:${training.model.micro_batch_size}, 64}\", num_layers: 24}\n"},
        {"training/gpt3/base.yaml",
         "# @package _global_\nmodel: {micro_batch_size: 2, encoder_seq_length: 512, "
         "max_position_embeddings: 512, num_layers: 12, hidden_size: 256, num_attention_heads: 4}\n"},
        {"training/loop.yaml", "defaults: [loop]\n"}};
    (void)file;
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++)
        if (strcmp(FILES[i][0], path) == 0) {
            *size = strlen(FILES[i][1]);
            return tsim_arena_strdup(a, FILES[i][1]);
        }
    return NULL;
}

static enum tsim_status import_beside(const char *text, const char *recipe, struct tsim_import_result *result) {
    const char *arguments[] = {"--recipe", recipe};
    struct tsim_import_input input = {.file = "config.yaml",
                                      .text = text,
                                      .size = strlen(text),
                                      .read_beside = beside,
                                      .arguments = arguments,
                                      .n_arguments = recipe ? 2 : 0};
    *result = (struct tsim_import_result){0};
    return tsim_import_format_find("nemo")->read(&arena, &input, result, &diags);
}

/* The later value counts; a file's own values come at the place of "_self_", otherwise last. */
TSIM_TEST(lists_of_defaults) {
    struct tsim_import_result result;
    ck_assert_int_eq(import_beside("defaults: [_self_, {training: gpt3/5b}, {cluster: bcm}]\ncluster: {a: b}\n"
                                   "training: {model: {micro_batch_size: 4, num_layers: 6}}\n",
                                   NULL, &result),
                     TSIM_OK);
    const struct tsim_scenario *sc = load_text(result.yaml);
    ck_assert_int_eq(sc->model->layers, 24);
    ck_assert_int_eq(sc->training.micro_batch_size, 2);
    ck_assert_int_eq(sc->training.global_batch_size, 128);
    ck_assert_int_eq(
        import_beside("defaults: [{training: gpt3/5b}]\ntraining: {model: {micro_batch_size: 4, num_layers: 6}}\n",
                      NULL, &result),
        TSIM_OK);
    sc = load_text(result.yaml);
    ck_assert_int_eq(sc->model->layers, 6);
    ck_assert_int_eq(sc->training.global_batch_size, 256);
    ck_assert_int_ne(import_beside("defaults: [{training: loop}]\n", NULL, &result), TSIM_OK); /* ends */
}

/* Llama 3 70B of Megatron-Bridge: TP 4, PP 4, VPP 5, CP 2, a batch of 512; what the file says counts. */
TSIM_TEST(recipes_of_bridge) {
    struct tsim_import_result result;
    ck_assert_int_eq(
        import_beside("train: {global_batch_size: 64}\nmixed_precision: bf16_with_fp8_current_scaling_mixed\n",
                      "llama3_70b_pretrain_config", &result),
        TSIM_OK);
    const struct tsim_scenario *sc = load_text(result.yaml);
    ck_assert_str_eq(sc->model->name, "llama3-70b");
    ck_assert_int_eq(sc->parallelism.tensor, 4);
    ck_assert_int_eq(sc->parallelism.pipeline, 4);
    ck_assert_int_eq(sc->parallelism.virtual_pipeline, 5);
    ck_assert_int_eq(sc->parallelism.context, 2);
    ck_assert_int_eq(sc->training.global_batch_size, 64);
    ck_assert_int_eq(sc->training.sequence_length, 8192);
    ck_assert_int_eq(sc->training.precision, TSIM_FP8);
    ck_assert_int_ne(import_beside("train: {global_batch_size: 64}\n", "nobodys_recipe", &result), TSIM_OK);
    ck_assert_int_ne(import_beside("model: {made_up: 3}\n", "llama3_8b", &result), TSIM_OK);
    ck_assert_int_eq(import_beside("train: {train_iters: 50}\n", "qwen3_235b_a22b_pretrain_config", &result), TSIM_OK);
    sc = load_text(result.yaml);
    ck_assert_str_eq(sc->model->name, "qwen3-235b-a22b");
    ck_assert_int_eq(sc->parallelism.pipeline, 16);
    ck_assert_int_eq(sc->parallelism.context, 2);
    ck_assert_int_eq(sc->parallelism.expert, 8);
    ck_assert_int_eq(sc->training.global_batch_size, 32);
}

/* A script of NeMo 1 has the settings of the file that it names, and its own beside them. */
TSIM_TEST(a_script_and_its_configuration) {
    struct tsim_import_result result;
    ck_assert_int_ne(
        import_beside("python3 megatron_gpt_pretraining.py --config-name gpt trainer.devices=8\n", NULL, &result),
        TSIM_OK);
    ck_assert_ptr_nonnull(strstr(diags.items[0].message, "gpt.yaml"));
    ck_assert_int_eq(import_beside("python3 megatron_gpt_pretraining.py trainer.devices=8 trainer.precision=bf16 "
                                   "model.num_layers=24 ++model.global_batch_size=64\n",
                                   NULL, &result),
                     TSIM_OK);
    const struct tsim_scenario *sc = load_text(result.yaml);
    ck_assert_int_eq(sc->model->layers, 24);
    ck_assert_int_eq(sc->model->hidden, 768);
    ck_assert_int_eq(sc->training.global_batch_size, 64);
    ck_assert_int_eq(sc->training.micro_batch_size, 4);
}

/* run.Partial has all parts of a job, and no recipe of NeMo's. */
TSIM_TEST(a_job_of_parts) {
    const struct tsim_scenario *sc = imported(
        "from nemo.collections import llm\n\ndef job():\n    my_job = run.Partial(\n        llm.pretrain,\n"
        "        model=run.Config(llm.LlamaModel, config=run.Config(llm.Llama3Config8B)),\n"
        "        trainer=run.Config(nl.Trainer, devices=8, num_nodes=2, max_steps=100,\n"
        "            strategy=run.Config(nl.MegatronStrategy, tensor_model_parallel_size=2), plugins=bf16_mixed()),\n"
        "        data=run.Config(llm.MockDataModule, seq_length=4096, global_batch_size=64, micro_batch_size=1),\n"
        "    )\n    return my_job\n");
    ck_assert_int_eq(sc->model->layers, 32);
    ck_assert_int_eq(sc->parallelism.tensor, 2);
    ck_assert_int_eq(sc->training.global_batch_size, 64);
    ck_assert_int_eq(sc->training.sequence_length, 4096);
    ck_assert_int_eq(sc->training.precision, TSIM_BF16);
    ck_assert_int_eq(sc->n_accelerators, 16);
}

/* Fine-tuning begins otherwise than pretraining, and has its model. */
TSIM_TEST(tuning_recipes_of_bridge) {
    struct tsim_import_result result;
    ck_assert_int_eq(import_beside("train: {train_iters: 50}\n", "llama3_8b_peft_config", &result), TSIM_OK);
    const struct tsim_scenario *sc = load_text(result.yaml);
    ck_assert_str_eq(sc->model->name, "llama3-8b");
    ck_assert_int_eq(sc->training.adapter.kind, TSIM_ADAPTER_LORA);
    ck_assert_int_eq(sc->training.adapter.rank, 8);
    ck_assert_int_eq(sc->training.global_batch_size, 8);
    ck_assert_int_eq(sc->training.sequence_length, 4096);
    ck_assert_int_eq(sc->parallelism.context, 1);
    ck_assert_int_eq(sc->parallelism.zero, 0);
    ck_assert_int_eq(import_beside("train: {train_iters: 50}\n", "llama3_70b_sft_config", &result), TSIM_OK);
    sc = load_text(result.yaml);
    ck_assert_int_eq(sc->training.adapter.kind, TSIM_ADAPTER_NONE);
    ck_assert_int_eq(sc->parallelism.tensor, 8);
    ck_assert_int_eq(sc->parallelism.pipeline, 4);
    ck_assert_int_eq(import_beside("train: {train_iters: 50}\n", "kimi_k2_pretrain_config", &result), TSIM_OK);
    sc = load_text(result.yaml);
    ck_assert_int_eq(sc->training.optimizer, TSIM_MUON);
    ck_assert_int_eq(sc->parallelism.expert, 32);
    ck_assert_int_ne(import_beside("train: {train_iters: 50}\n", "llama3_8b_64k_sft", &result), TSIM_OK);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
