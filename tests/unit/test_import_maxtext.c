/* Files of MaxText and of Primus: what their settings are in a scenario, and which are refused. */
#include "model/model.h"
#include "support/import_rig.h"

#include <string.h>

#define JOB "base_config: base.yml\nmodel_name: llama3.1-70b\nhardware: gpu\n"

/* Axes within and between nodes multiply; the batch is that of a device. Llama 3.1 70B on 256: two replicas of 128 shards. The
 * head's logits in sixteen pieces are computed twice. */
TSIM_TEST(axes_of_a_mesh) {
    const struct tsim_scenario *sc =
        imported("maxtext",
                 JOB "dcn_data_parallelism: 2\ndcn_fsdp_parallelism: 16\nici_fsdp_parallelism: 8\n"
                     "per_device_batch_size: 2\nmax_target_length: 8_192\nquantization: fp8\n"
                     "remat_policy: save_dot_with_context_except_mlp\nnum_vocab_tiling: 16\n",
                 0);
    ck_assert_int_eq(sc->n_accelerators, 256);
    ck_assert_int_eq(sc->training.global_batch_size, 512);
    ck_assert_int_eq(sc->training.micro_batch_size, 2);
    ck_assert_int_eq(sc->training.sequence_length, 8192);
    ck_assert_int_eq(sc->training.precision, TSIM_FP8);
    ck_assert_int_eq(sc->parallelism.zero, 3);
    ck_assert_int_eq(sc->model->layers, 80);
    ck_assert_int_eq(sc->software->head_tokens, 512);
    ck_assert(sc->software->recomputes_logits);
    sc = imported("maxtext",
                  JOB "ici_tensor_parallelism: 4\nici_context_parallelism: 2\nper_device_batch_size: 0.25\n"
                      "gradient_accumulation_steps: 3\n",
                  64);
    ck_assert_int_eq(sc->parallelism.tensor, 4);
    ck_assert_int_eq(sc->parallelism.context, 2);
    ck_assert_int_eq(sc->training.micro_batch_size, 2); /* a quarter on each of eight */
    ck_assert_int_eq(sc->training.global_batch_size, 3 * 2 * 8);
}

/* The sizes of a model of MaxText's are the catalogue's of that model: layers of gemma2 count double. */
TSIM_TEST(sizes_of_models) {
    static const struct {
        const char *text;
        double parameters; /* 0: refused */
    } CASES[] = {
        {"base_emb_dim: 8192\nbase_num_query_heads: 64\nbase_num_kv_heads: 8\nbase_num_decoder_layers: 80\n"
         "base_mlp_dim: 28672\nhead_dim: 128\nmlp_activations: [\"silu\",\"linear\"]\nvocab_size: 128256\n"
         "decoder_block: \"llama2\"\n",
         70553706496},
        {"base_emb_dim: 3584\nbase_num_query_heads: 16\nbase_num_kv_heads: 8\nbase_mlp_dim: 14336\n"
         "base_num_decoder_layers: 21\nhead_dim: 256\nmlp_activations: [\"gelu\",\"linear\"]\nvocab_size: 256000\n"
         "decoder_block: \"gemma2\"\nlogits_via_embedding: True\nsliding_window_size: 4096\n",
         9241705984},
        {"base_emb_dim: 4096\nbase_num_query_heads: 32\nbase_num_kv_heads: 8\nbase_mlp_dim: 14336\n"
         "base_num_decoder_layers: 32\nvocab_size: 32000\nnum_experts: 8\nnum_experts_per_tok: 2\n"
         "base_moe_mlp_dim: 14336\ndecoder_block: \"mixtral\"\n",
         46702792704},
        {"base_emb_dim: 7168\nbase_num_query_heads: 128\nbase_num_kv_heads: 128\nbase_mlp_dim: 18432\n"
         "base_moe_mlp_dim: 2048\nbase_num_decoder_layers: 61\nfirst_num_dense_layers: 3\nvocab_size: 129280\n"
         "num_experts: 256\nnum_experts_per_tok: 8\nshared_experts: 1\nrouted_bias: True\ndecoder_block: deepseek\n"
         "attention_type: mla\nq_lora_rank: 1536\nkv_lora_rank: 512\nqk_nope_head_dim: 128\nqk_rope_head_dim: 64\n"
         "v_head_dim: 128\n",
         671026419200},
        {"base_emb_dim: 64\ndecoder_block: llama4\n", 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        if (CASES[i].parameters > 0)
            ck_assert_double_eq(tsim_model_parameters(imported("maxtext", CASES[i].text, 64)->model),
                                CASES[i].parameters);
        else
            check_refused("maxtext", CASES[i].text, "decoder_block");
}

TSIM_TEST(commands_of_maxtext) {
    static const char SCRIPT[] =
        "export COMMAND=\"python3 -m MaxText.train MaxText/configs/base.yml run_name=$1 steps=20 \\\n"
        "  model_name=llama3-8b per_device_batch_size=4 ici_fsdp_parallelism=%s max_target_length=4096\"\n"
        "xpk workload create --command \"$COMMAND\"\n";
    const struct tsim_scenario *sc = imported("maxtext", tsim_arena_printf(&arena, SCRIPT, "8"), 0);
    ck_assert_str_eq(sc->model->name, "llama3-8b");
    ck_assert_int_eq(sc->training.sequence_length, 4096);
    ck_assert_int_eq(sc->training.micro_batch_size, 4);
    ck_assert_int_eq(sc->training.global_batch_size, 32);
    ck_assert_int_eq(sc->parallelism.zero, 3);
    check_refused("maxtext", tsim_arena_printf(&arena, SCRIPT, "$FSDP"), "ici_fsdp_parallelism");
    check_refused("maxtext", "python3 MaxText/train.py MaxText/configs/base.yml steps=3 scale=3\n", "scale");
    check_refused("maxtext", "python3 MaxText/train.py configs/mine.yml steps=3 per_device_batch_size=1\n", "config");
}

TSIM_TEST(what_maxtext_does_that_is_refused) {
    static const char *const CASES[][2] = {{"quantization: int8\n", "quantization"},
                                           {"base_num_decoder_layers: 4\n", "base_num_decoder_layers"},
                                           {"use_dpo: true\n", "use_dpo"},
                                           {"ici_sequence_parallelism: 2\n", "ici_sequence_parallelism"},
                                           {"ici_tensor_parallelism: 0\n", "ici_tensor_parallelism"},
                                           {"per_device_batch_size: 0.3\n", "per_device_batch_size"},
                                           {"remat_policy: custom\nout_proj: offload\n", "remat_policy"},
                                           {"opt_type: adagrad\n", "opt_type"},
                                           {"optimizer_memory_host_offload: true\n", "optimizer_memory_host_offload"},
                                           {"width_of_something: 3\n", "width_of_something"}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        check_refused("maxtext", tsim_arena_printf(&arena, JOB "%s", CASES[i][0]), CASES[i][1]);
    check_refused("maxtext", "base_config: inference.yml\nmodel_name: llama3-8b\n", "base_config");
}

/* A log has every setting, the devices and the time of each step; the first is of the warm-up. */
TSIM_TEST(a_log) {
    const struct tsim_scenario *sc =
        imported("maxtext",
                 "I0101 pyconfig.py:1] Config param base_emb_dim: 4096\nConfig param model_name: llama3-8b\nConfig "
                 "param hardware: gpu\n"
                 "Config param per_device_batch_size: 4.0\nConfig param max_target_length: 4096\nConfig param "
                 "some_new_thing: 7\n"
                 "Num_devices: 16, shape (1, 1, 16)\ncompleted step: 0, seconds: 90.5, TFLOP/s/device: 1.0, loss: 12\n"
                 "completed step: 1, seconds: 2.5, TFLOP/s/device: 400.0, loss: 11\n"
                 "completed step: 2, seconds: 2.5, TFLOP/s/device: 400.0, loss: 10\n",
                 0);
    ck_assert_int_eq(sc->n_accelerators, 16);
    ck_assert_int_eq(sc->training.global_batch_size, 64);
    ck_assert_int_eq(sc->model->layers, 32);
    ck_assert_double_eq(sc->measured.value[TSIM_METRIC_STEP_TIME], 2.5);
}

#define PRIMUS(framework, model, more)                                                                                 \
    "work_group: ${TEAM:amd}\nmodules:\n  pre_trainer:\n    framework: " framework "\n    config: pre_trainer.yaml\n"  \
    "    model: " model "\n    overrides:\n      stderr_sink_level: DEBUG\n" more

/* Each framework's settings, with values of the environment as their defaults. */
TSIM_TEST(primus) {
    const struct tsim_scenario *sc = imported(
        "primus",
        PRIMUS("megatron", "${PRIMUS_MODEL:llama3.1_8B}.yaml",
               "      micro_batch_size: 2\n      global_batch_size: 128\n      seq_length: ${PRIMUS_SEQ_LENGTH:8192}\n"
               "      overlap_grad_reduce: true\n      tensor_model_parallel_size: ${PRIMUS_TP:2}\n"),
        8);
    ck_assert_int_eq(sc->model->layers, 32);
    ck_assert_int_eq(sc->training.sequence_length, 8192);
    ck_assert_int_eq(sc->training.global_batch_size, 128);
    ck_assert_int_eq(sc->parallelism.tensor, 2);
    ck_assert_int_eq(sc->parallelism.zero, 1);
    ck_assert_str_eq(sc->cluster.node->accelerator->name, "mi300x");
    sc = imported("primus",
                  PRIMUS("megatron", "deepseek_v2_lite.yaml",
                         "      multi_latent_attention: false\n      expert_model_parallel_size: 8\n"),
                  8);
    ck_assert_int_eq(sc->model->latent.kv_rank, 0);
    ck_assert_int_eq(sc->model->layers, 27);
    /* a preset that is changed in its sizes */
    sc = imported("primus", PRIMUS("megatron", "gpt_oss_20B.yaml", "      sink_sliding_window: 0\n"), 8);
    ck_assert_int_eq(sc->model->attention_window, 0);
    ck_assert_int_eq(sc->model->experts.shared, 1);
    sc = imported("primus", PRIMUS("megatron", "llama3_8B.yaml", "      num_layers: 4\n      ffn_hidden_size: 1024\n"),
                  8);
    ck_assert_int_eq(sc->model->layers, 4);
    ck_assert_int_eq(sc->model->ffn_hidden, 1024);
    ck_assert_int_eq(sc->model->hidden, 4096);
    sc = imported("primus",
                  PRIMUS("torchtitan", "llama3.1_70B-fp8.yaml",
                         "      training:\n        local_batch_size: 3\n        seq_len: 8192\n"
                         "      quantize: {linear: {float8: {enable_fsdp_float8_all_gather: true}}}\n"),
                  16);
    ck_assert_int_eq(sc->model->layers, 80);
    ck_assert_int_eq(sc->training.precision, TSIM_FP8);
    ck_assert_int_eq(sc->training.global_batch_size, 48);
    sc = imported(
        "primus",
        PRIMUS("maxtext", "llama3_70B.yaml", "      per_device_batch_size: 7\n      max_target_length: 8192\n"), 8);
    ck_assert_int_eq(sc->training.global_batch_size, 56);
    ck_assert_int_eq(sc->model->layers, 80);
}

TSIM_TEST(what_primus_does_that_is_refused) {
    check_refused("primus", PRIMUS("megatron", "llama3_8B.yaml", "      kv_channels: 64\n"), "kv_channels");
    check_refused("primus", PRIMUS("megatron", "of_our_own.yaml", ""), "model");
    check_refused("primus", PRIMUS("diffusion", "flux.yaml", ""), "");
    check_refused("primus", "modules:\n  post_trainer:\n    framework: megatron\n", "");
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
