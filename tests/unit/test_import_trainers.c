/* AutoModel, llm-foundry, accelerate and InternEvo: what their settings are in a scenario, and which are refused. */
#include "model/model.h"
#include "support/import_rig.h"

#include <string.h>

/* ---- AutoModel ---- */

#define MODEL(id)                                                                                                      \
    "model:\n  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained\n  "                                  \
    "pretrained_model_name_or_path: " id "\n"
#define STEPS "step_scheduler: {global_batch_size: 128, local_batch_size: 4, max_steps: 60}\n"

/* 80 layers, four to a virtual stage, are five rounds of four stages; a pass has pp_microbatch_size samples. */
TSIM_TEST(automodel_pipeline) {
    const struct tsim_scenario *sc = imported(
        "automodel",
        STEPS MODEL(
            "meta-llama/Llama-3.1-70B") "  torch_dtype: float32\ndistributed:\n  strategy: fsdp2\n  tp_size: 4\n  "
                                        "pp_size: 4\n"
                                        "  activation_checkpointing: true\n  pipeline: {pp_schedule: interleaved1f1b, "
                                        "pp_microbatch_size: 1, layers_per_stage: 4}\n"
                                        "packed_sequence: {packed_sequence_size: 4096}\n",
        32);
    ck_assert_int_eq(sc->model->layers, 80);
    ck_assert_int_eq(sc->parallelism.tensor, 4);
    ck_assert_int_eq(sc->parallelism.pipeline, 4);
    ck_assert_int_eq(sc->parallelism.virtual_pipeline, 5);
    ck_assert_int_eq(sc->parallelism.zero, 2);
    ck_assert_int_eq(sc->training.micro_batch_size, 1);
    ck_assert_int_eq(sc->training.global_batch_size, 128);
    ck_assert_int_eq(sc->training.sequence_length, 4096);
}

/* The file has older sections, experts over all ranks, and an adapter by patterns of names. */
TSIM_TEST(automodel_experts_and_adapters) {
    const struct tsim_scenario *sc = imported(
        "automodel",
        STEPS
        "model:\n  config: {pretrained_model_name_or_path: Qwen/Qwen3-30B-A3B}\n"
        "distributed: {_target_: nemo_automodel.components.distributed.fsdp2.FSDP2Manager, ep_size: 8, dp_size: none}\n"
        "autopipeline: {pp_microbatch_size: 2}\nparallelizer: {activation_checkpointing: true}\n"
        "dataset: {_target_: x.mock_iterable_dataset.Mock, seq_len: 2048}\n"
        "peft: {dim: 16, target_modules: ['*.q_proj', '*v_proj']}\n",
        0);
    ck_assert_int_eq(sc->parallelism.expert, 8);
    ck_assert_int_eq(sc->parallelism.zero, 3);
    ck_assert_int_eq(sc->training.micro_batch_size, 4);
    ck_assert_int_eq(sc->training.adapter.rank, 16);
    ck_assert_int_eq(sc->n_accelerators, 8);
}

TSIM_TEST(what_automodel_does_that_is_refused) {
    static const char *const CASES[][2] = {{"recipe: FinetuneRecipeForVLM\n", "recipe"},
                                           {"teacher_model: {a: b}\n", "teacher_model.a"},
                                           {"optimizer: {_target_: x.Dion}\n", "optimizer._target_"},
                                           {"distributed: {dp_replicate_size: 3}\n", "distributed.dp_replicate_size"},
                                           {"distributed: {shard_twice: true}\n", "distributed.shard_twice"},
                                           {"distributed: {zero_dp_strategy: 1}\n", "distributed.zero_dp_strategy"},
                                           {"new_schedule: 3\n", "new_schedule"}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        check_refused("automodel", tsim_arena_printf(&arena, "%s" STEPS MODEL("Qwen/Qwen3-8B"), CASES[i][0]),
                      CASES[i][1]);
    check_refused("automodel", STEPS MODEL("nobody/knows-this"), "model.pretrained_model_name_or_path");
    check_refused("automodel", "model: {a: b}\n", "");
}

/* ---- llm-foundry ---- */

#define MPT                                                                                                            \
    "max_seq_len: 2048\nmodel: {name: mpt_causal_lm, d_model: 4096, n_heads: 32, n_layers: 32, max_seq_len: "          \
    "\"${max_seq_len}\", "
#define RUN                                                                                                            \
    "global_train_batch_size: 1024\ndevice_train_microbatch_size: 8\nprecision: amp_bf16\nmax_duration: 63900ba\n"

/* MPT-7B has no biases and alibi: 6.6 B parameters. */
TSIM_TEST(llm_foundry) {
    const struct tsim_scenario *sc = imported(
        "llm-foundry",
        MPT "no_bias: true, vocab_size: 50432, attn_config: {alibi: true}}\n" RUN
            "fsdp_config: {sharding_strategy: FULL_SHARD, mixed_precision: PURE, activation_checkpointing: true}\n",
        64);
    ck_assert_int_eq(sc->parallelism.zero, 3);
    ck_assert_int_eq(sc->training.gradient_precision, TSIM_BF16);
    ck_assert_double_eq(sc->training.length, 63900);
    ck_assert_int_eq(sc->training.sequence_length, 2048);
    ck_assert_double_eq_tol(tsim_model_parameters(sc->model), 32.0 * 12 * 4096 * 4096 + 50432.0 * 4096, 1e6);
    sc = imported(
        "llm-foundry",
        "parameters:\n  max_seq_len: 4096\n  model: {name: hf_causal_lm, pretrained_model_name_or_path: "
        "meta-llama/Llama-2-7b-hf}\n  global_train_batch_size: 64\n  device_train_microbatch_size: auto\n"
        "  precision: amp_bf16\n  optimizer: {name: decoupled_lionw}\ncompute: {gpus: 16, gpu_type: a100_80gb}\n",
        0);
    ck_assert_int_eq(sc->n_accelerators, 16);
    ck_assert_str_eq(sc->cluster.node->accelerator->name, "a100-80gb");
    ck_assert_int_eq(sc->model->layers, 32);
    ck_assert_int_eq(sc->parallelism.zero, 0);
    sc = imported("llm-foundry",
                  "model: {name: hf_causal_lm, pretrained_model_name_or_path: mistralai/Mistral-7B-v0.1, "
                  "config_overrides: {vocab_size: 51200, sliding_window: null, model_type: mistral, hidden_act: silu, "
                  "bos_token_id: 1, attention_dropout: 0.0}}\nglobal_train_batch_size: 64\n"
                  "max_seq_len: 4096\n",
                  8);
    ck_assert_int_eq(sc->model->vocab, 51200);
    ck_assert_int_eq(sc->model->attention_window, 0);
    check_refused("llm-foundry",
                  "model: {name: hf_causal_lm, pretrained_model_name_or_path: mistralai/Mistral-7B-v0.1, "
                  "config_overrides: {hidden_act: relu}}\n" RUN,
                  "model.config_overrides.hidden_act");
    check_refused("llm-foundry", "model: {name: hf_t5}\n" RUN, "model.name");
    check_refused("llm-foundry", MPT "attn_config: {sliding_window_size: 128}}\n" RUN,
                  "model.attn_config.sliding_window_size");
    check_refused("llm-foundry", MPT "}\n" RUN "width_of_something: 3\n", "width_of_something");
}

/* ---- accelerate ---- */

TSIM_TEST(accelerate) {
    const struct tsim_scenario *sc =
        imported("accelerate",
                 "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: bf16\nnum_machines: 2\n"
                 "num_processes: 16\nfsdp_config: {fsdp_sharding_strategy: 4, fsdp_activation_checkpointing: true}\n",
                 0);
    ck_assert_int_eq(sc->n_accelerators, 16);
    ck_assert_int_eq(sc->parallelism.zero, 3);
    ck_assert_int_eq(sc->training.precision, TSIM_BF16);
    sc = imported("accelerate",
                  "distributed_type: DEEPSPEED\nmixed_precision: fp16\nnum_machines: 1\nnum_processes: 2\n"
                  "deepspeed_config: {zero_stage: 2, gradient_accumulation_steps: 4, offload_optimizer_device: cpu}\n",
                  0);
    ck_assert_int_eq(sc->n_accelerators, 2);
    ck_assert_int_eq(sc->parallelism.zero, 2);
    ck_assert_int_eq(sc->training.global_batch_size, 8);
    ck_assert(sc->training.offload.optimizer);
    sc = imported(
        "accelerate",
        "distributed_type: MEGATRON_LM\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n"
        "megatron_lm_config: {megatron_lm_tp_degree: 2, megatron_lm_pp_degree: 2, megatron_lm_num_micro_batches: 4, "
        "megatron_lm_use_distributed_optimizer: true}\n",
        0);
    ck_assert_int_eq(sc->parallelism.tensor, 2);
    ck_assert_int_eq(sc->parallelism.pipeline, 2);
    ck_assert_int_eq(sc->training.global_batch_size, 8);
    ck_assert_int_eq(sc->parallelism.zero, 1);
    check_refused("accelerate", "distributed_type: FSDP\nnum_processes: 3\nnum_machines: 2\n", "num_processes");
    check_refused("accelerate", "distributed_type: FSDP\nfsdp_config: {fsdp_sharding_strategy: 7}\n",
                  "fsdp_config.fsdp_sharding_strategy");
    check_refused("accelerate", "distributed_type: MULTI_CPU\n", "distributed_type");
    check_refused("accelerate", "debug: false\n", "");
}

/* ---- InternEvo ---- */

#define DATA                                                                                                           \
    "SEQ_LEN = 2048\nLAYERS = 32\ndata = dict(seq_len=SEQ_LEN, micro_num=4, micro_bsz=2, rampup_batch_size=\"\")\n"
#define INTERN                                                                                                         \
    "model = dict(checkpoint=False, num_attention_heads=32, vocab_size=103168, hidden_size=4096, num_layers=LAYERS,\n" \
    "    mlp_ratio=8 / 3, dtype=\"torch.bfloat16\", num_chunks=1)\n"

/* The rule of the width: int(4,096 x 8 / 3) in whole 256 is 11,008. InternLM's biases and norms; weights over four
 * ranks. */
TSIM_TEST(internevo) {
    const struct tsim_scenario *sc =
        imported("internevo",
                 DATA INTERN "parallel = dict(zero1=8, tensor=2, pipeline=dict(size=2), sequence_parallel=True)\n", 32);
    ck_assert_int_eq(sc->model->ffn_hidden, 11008);
    ck_assert_int_eq(sc->parallelism.tensor, 2);
    ck_assert_int_eq(sc->parallelism.pipeline, 2);
    ck_assert(sc->parallelism.sequence);
    ck_assert_int_eq(sc->parallelism.zero, 1);
    ck_assert_int_eq(sc->training.micro_batch_size, 2);
    ck_assert_int_eq(sc->training.global_batch_size, 2 * 4 * 8);
    sc =
        imported("internevo",
                 DATA "model_type = \"INTERNLM2\"\n" INTERN
                      "parallel = dict(zero1=dict(size=-1), tensor=dict(size=2, mode=\"isp\"), pipeline=dict(size=1),\n"
                      "    weight=dict(size=4, overlap=True))\n",
                 0);
    ck_assert_int_eq(sc->n_accelerators, 4);
    ck_assert_int_eq(sc->parallelism.context, 2);
    ck_assert_int_eq(sc->parallelism.tensor, 1);
    ck_assert_int_eq(sc->parallelism.zero, 3);
    ck_assert_int_eq(sc->training.global_batch_size, 2 * 4 * 2);
    check_refused("internevo", DATA INTERN "parallel = dict(tensor=dict(size=2, mode=\"2d\"))\n",
                  "parallel.tensor.mode");
    check_refused("internevo", DATA "model_type = \"LLAVA\"\n" INTERN "parallel = dict(zero1=8)\n", "model_type");
    check_refused("internevo", DATA INTERN "parallel = dict(zero1=dict(size=-1, fsdp=True))\n", "parallel.zero1.fsdp");
    check_refused("internevo", "x = 3\n", "");
}

/* ---- axolotl, LLaMA-Factory, nanotron ---- */

#define AXOLOTL "micro_batch_size: 1\nsequence_len: 2048\nsample_packing: true\n"

TSIM_TEST(axolotl) {
    /* a rank without an adapter says nothing; batch_size was that of an accelerator */
    const struct tsim_scenario *sc = imported(
        "axolotl",
        "base_model: tiiuae/falcon-7b\nadapter:\nlora_r: 64\nlora_target_linear: true\nbatch_size: 2\n" AXOLOTL, 8);
    ck_assert_int_eq(sc->training.adapter.rank, 0);
    ck_assert_int_eq(sc->training.global_batch_size, 16);
    /* where auto takes bf16, fp16 is off */
    sc = imported("axolotl", "base_model: tiiuae/falcon-7b\nbf16: auto\nfp16: true\n" AXOLOTL, 8);
    ck_assert_int_eq(sc->training.precision, TSIM_BF16);
    /* of experts adapters are those of attention; FSDP of the second version needs no further word */
    sc = imported("axolotl",
                  "base_model: mistralai/Mixtral-8x7B-v0.1\nadapter: qlora\nlora_r: 32\nlora_target_linear: true\n"
                  "fsdp_config: {fsdp_version: 2, fsdp_activation_checkpointing: true}\n" AXOLOTL,
                  8);
    ck_assert_int_eq(sc->training.adapter.rank, 32);
    ck_assert_int_eq(sc->parallelism.zero, 3);
    ck_assert_int_eq(sc->model->experts.count, 8);
    /* no gate in a block that has none */
    imported("axolotl", "base_model: microsoft/phi-1_5\nadapter: lora\nlora_target_linear: true\n" AXOLOTL, 8);
    /* a file whose weights have four bits */
    sc = imported(
        "llamafactory",
        "model_name_or_path: a/Meta-Llama-3-8B-Instruct-AWQ\nstage: sft\nfinetuning_type: lora\nlora_target: all\n", 8);
    ck_assert_int_eq(sc->training.adapter.rank, 8);
    sc = imported(
        "llamafactory",
        "model_name_or_path: Qwen/Qwen2-7B\nstage: sft\nfinetuning_type: full\nlora_rank: 8\npure_bf16: true\n", 8);
    ck_assert_int_eq(sc->training.adapter.rank, 0);
    ck_assert_int_eq(sc->training.precision, TSIM_BF16);
}

TSIM_TEST(nanotron) {
    const struct tsim_scenario *sc = imported(
        "nanotron",
        "model:\n  dtype: bfloat16\n  model_config: {hidden_size: 256, num_hidden_layers: 4, num_attention_heads: 4, "
        "num_key_value_heads: 4, intermediate_size: 768, vocab_size: 1024, is_qwen2_config: true, sliding_window_size: "
        "20, "
        "moe_config: {num_experts: 8, top_k: 2, moe_intermediate_size: 128}}\n"
        "parallelism: {dp: 4, tp: 1, pp: 1, expert_parallel_size: 2}\n"
        "tokens: {micro_batch_size: 2, batch_accumulation_per_replica: 3, sequence_length: 512, train_steps: 5}\n",
        0);
    ck_assert_int_eq(sc->model->experts.count, 8);
    ck_assert_int_eq(sc->model->experts.ffn_hidden, 128);
    ck_assert_int_eq(sc->model->attention_window, 20);
    ck_assert_int_eq(sc->parallelism.expert, 2);
    ck_assert_int_eq(sc->training.global_batch_size, 24);
}

/* ---- launch scripts ---- */

/* torchrun: ranks, FSDP, a model by the name of its folder; arguments of the program's own share one warning. */
TSIM_TEST(script_of_torchrun) {
    const struct tsim_scenario *sc = imported(
        "hf-trainer",
        "torchrun --nproc_per_node=4 --master_port=3389 train.py --model_name_or_path \"models/bigscience_bloom-3b\" "
        "\\\n"
        "  --my_own_corpus ./x.json --fp16 True --per_device_train_batch_size 2 --gradient_accumulation_steps 16 \\\n"
        "  --fsdp \"full_shard auto_wrap\" --model_max_length 512 --gradient_checkpointing False\n",
        0);
    ck_assert_int_eq(sc->model->layers, 30);
    ck_assert_int_eq(sc->n_accelerators, 4);
    ck_assert_int_eq(sc->parallelism.zero, 3);
    ck_assert_int_eq(sc->training.global_batch_size, 128);
    ck_assert_int_eq(sc->training.sequence_length, 512);
    ck_assert_int_eq(sc->training.precision, TSIM_FP16);
}

/* The script of accelerate launch has DeepSpeed's stage in the name of its file, an adapter of peft, and a quantized
 * model. */
TSIM_TEST(script_of_accelerate) {
    const struct tsim_scenario *sc =
        imported("hf-trainer",
                 "accelerate launch --config_file cfg/deepspeed_zero3.yaml --num_processes 4 sft.py --packing "
                 "--use_peft --lora_r=64 "
                 "--model_name_or_path=meta-llama/Llama-2-7b-hf --per_device_train_batch_size=4 --max_seq_length=1024 "
                 "--load_in_4bit --bf16 --gradient_checkpointing\n",
                 0);
    ck_assert_int_eq(sc->n_accelerators, 4);
    ck_assert_int_eq(sc->parallelism.zero, 3);
    ck_assert_int_eq(sc->training.adapter.kind, TSIM_ADAPTER_QLORA);
    ck_assert_int_eq(sc->training.adapter.rank, 64);
    ck_assert_int_eq(sc->training.recompute, TSIM_RECOMPUTE_FULL);
    check_refused(
        "hf-trainer", /* the file has the rank */
        "torchrun --nproc_per_node 1 sft.py --use_lora True --lora_config cfg/lora.json --bf16 "
        "--model_name_or_path meta-llama/Llama-2-7b-hf --per_device_train_batch_size 4 --model_max_length 1024\n",
        "--lora_config");
}

/* The scripts have deepspeed --include, pairs of dpo, lengths of a source and a target, and a batch of all accelerators
 * (alpaca-lora). */
TSIM_TEST(scripts_of_others) {
    const struct tsim_scenario *sc =
        imported("hf-trainer",
                 "deepspeed --include localhost:0,1 dpo.py --deepspeed ds_z2.json --model_name_or_path gpt2-xl "
                 "--per_device_train_batch_size 2 --max_source_length 512 --max_target_length 128 --bf16\n",
                 0);
    ck_assert_int_eq(sc->n_accelerators, 2);
    ck_assert_int_eq(sc->parallelism.zero, 2);
    ck_assert_int_eq(sc->training.sequence_length, 640);
    ck_assert_int_eq(sc->training.global_batch_size, 8);
    sc = imported(
        "hf-trainer",
        "#CUDA_VISIBLE_DEVICES=0,1,2 python old.py\nCUDA_VISIBLE_DEVICES=0,1 python finetune.py --base_model "
        "llama-7b-hf "
        "--batch_size 256 --micro_batch_size=8 --cutoff_len=512 --lora_r=16 --lora_target_modules='[q_proj,v_proj]'\n",
        0);
    ck_assert_int_eq(sc->n_accelerators, 2);
    ck_assert_int_eq(sc->training.micro_batch_size, 8);
    ck_assert_int_eq(sc->training.global_batch_size, 256);
    sc = imported(/* alpaca-lora's code says the rest, and its devices work one after another */
                  "hf-trainer",
                  "CUDA_VISIBLE_DEVICES=0,1 python finetune.py --base_model llama-7b-hf --data_path d --batch_size 64 "
                  "--micro_batch_size 8 --lora_r 8\n",
                  0);
    ck_assert_int_eq(sc->n_accelerators, 1);
    ck_assert_int_eq(sc->training.precision, TSIM_FP16);
    ck_assert_int_eq(sc->training.recompute, TSIM_RECOMPUTE_FULL);
    ck_assert_int_eq(sc->training.adapter.kind, TSIM_ADAPTER_QLORA);
    sc = imported(/* a module is a program, too */
                  "hf-trainer",
                  "deepspeed --num_gpus 2 --module safe_rlhf.finetune --model_name_or_path llama-7b --zero_stage 2 "
                  "--deepspeed "
                  "--flash_attn False --per_device_train_batch_size 4 --bf16 True\n",
                  0);
    ck_assert_int_eq(sc->n_accelerators, 2);
    ck_assert_int_eq(sc->parallelism.zero, 2);
    ck_assert_int_eq(sc->training.attention, TSIM_ATTENTION_STANDARD);
    sc = imported(
        "llamafactory",
        "deepspeed --num_gpus 8 src/train_bash.py --deepspeed ds_z3.json --stage sft --do_train --finetuning_type lora "
        "--model_name_or_path Qwen/Qwen1.5-1.8B --lora_target q_proj,v_proj,lm_head --per_device_train_batch_size 8 "
        "--fp16\n",
        0);
    ck_assert_int_eq(sc->model->layers, 24);
    ck_assert_int_eq(sc->parallelism.zero, 3);
    ck_assert_int_eq(sc->training.global_batch_size, 64);
}

/* swift recomputes unless it is told not to, and its launcher reads the command's own environment; OpenRLHF's batch is
 * that of a step. */
TSIM_TEST(scripts_of_swift_and_openrlhf) {
    const struct tsim_scenario *sc =
        imported("hf-trainer",
                 "CUDA_VISIBLE_DEVICES=0,1 NPROC_PER_NODE=2 swift sft --model_name robot --model Qwen/Qwen3-8B "
                 "--gradient_accumulation_steps 4 --max_length 2048\n"
                 "CUDA_VISIBLE_DEVICES=0,1,2,3 swift infer --model x\n",
                 0);
    ck_assert_int_eq(sc->n_accelerators, 2);
    ck_assert_int_eq(sc->training.recompute, TSIM_RECOMPUTE_FULL);
    ck_assert_int_eq(sc->training.global_batch_size, 8);
    ck_assert_int_eq(sc->training.precision, TSIM_BF16);
    ck_assert_int_eq(sc->training.adapter.rank, 8);
    sc = imported(
        "hf-trainer",
        "read -r -d '' C <<E\nopenrlhf.cli.train_sft --max_len 2048 --train_batch_size 128 "
        "--micro_train_batch_size 2 --pretrain meta-llama/Llama-2-7b-hf --zero_stage 3 --bf16 --learning_rate 1 "
        "--packing_samples --ring_attn_size 2\nE\nif [[ ${1} != slurm ]]; then deepspeed --module $C; fi\n",
        8);
    ck_assert_int_eq(sc->model->layers, 32);
    ck_assert_int_eq(sc->parallelism.zero, 3);
    ck_assert_int_eq(sc->parallelism.context, 2);
    ck_assert_int_eq(sc->training.micro_batch_size, 2);
    ck_assert_int_eq(sc->training.global_batch_size, 128);
    sc = imported("hf-trainer",
                  "torchrun --nproc_per_node 2 -m openrlhf.cli.train_sft --max_len 512 --micro_train_batch_size 2 "
                  "--pretrain meta-llama/Llama-2-7b-hf --bf16 --learning_rate 1 --backend fsdp2\n",
                  0);
    ck_assert_int_eq(sc->parallelism.zero, 3);
}

TSIM_TEST_LOOP(scripts_that_are_refused, 0, 8) {
    static const char *const CASES[][2] = {
        {"python run_glue.py --model_name_or_path gpt2 --per_device_train_batch_size 2\n", "program"},
        {"python train.py --model_name_or_path gpt2 --learning_rate 1 --vision_tower clip\n", "--vision_tower"},
        {"python grpo.py --model_name_or_path gpt2 --learning_rate 1\n", "program"},
        {"python train.py --per_device_train_batch_size 2\n", ""},
        {"python serve.py --port 80\n", ""},
        {"python train.py --model_name_or_path gpt2 --learning_rate 1 --exit_layer_list 3\n", "--exit_layer_list"},
        {"python train.py --model_name_or_path gpt2 --learning_rate 1 --CL_method lora\n", "--CL_method"},
        {"python t.py --model_name_or_path gpt2 --learning_rate 1 --use_lora True\n", "--use_lora"}}; /* no rank */
    check_refused("hf-trainer", CASES[_i][0], CASES[_i][1]);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
