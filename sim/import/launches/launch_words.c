#include "import/launches/launch_words.h"

#include <stddef.h>
#include <string.h>

const struct tsim_launch_word tsim_attention_backends[] = {
    {"flash", "flash2"},    {"flash", "flash3"},        {"flash", "flash1"}, {"fused", "cudnn"},
    {"unfused", "unfused"}, {"local", "fused-softmax"}, {NULL, NULL}};

/* The recipes of fp8, by where their scales come from; mxfp8 is a precision here. */
const struct tsim_launch_word tsim_fp8_recipes[] = {
    {"delayed", "delayed"}, {"tensorwise", "current"}, {"current", "current"}, {"blockwise", "block"}, {NULL, NULL}};

const struct tsim_launch_word tsim_context_kinds[] = {
    {"p2p", "ring"},       {"allgather", "all-gather"},  {"all_gather", "all-gather"},
    {"a2a", "all-to-all"}, {"megatron_cp_algo", "ring"}, {"ulysses_cp_algo", "all-to-all"},
    {NULL, NULL}};

const struct tsim_launch_word tsim_recompute_modules[] = {{"core_attn", "attention"},
                                                          {"layernorm", "norms"},
                                                          {"mla_up_proj", "latent"},
                                                          {"moe_act", "activation"},
                                                          {"mlp", "ffn"},
                                                          {"moe", "experts"},
                                                          {"shared_experts", "ffn"},
                                                          {NULL, NULL}};

const struct tsim_launch_word tsim_sharding_strategies[] = {
    {"no_shard", "0"}, {"optim", "1"}, {"optim_grads", "2"}, {"optim_grads_params", "3"}, {NULL, NULL}};

const struct tsim_launch_word tsim_torch_types[] = {
    {"torch.float32", "fp32"}, {"torch.bfloat16", "bf16"}, {"torch.float16", "fp16"}, {NULL, NULL}};

const struct tsim_launch_word tsim_rotate_methods[] = {{"allgather", "all-gather"}, {"alltoall", "ring"}, {NULL, NULL}};

const struct tsim_launch_word tsim_titan_schedules[] = {{"1F1B", "1f1b"},
                                                        {"GPipe", "gpipe"},
                                                        {"Interleaved1F1B", "interleaved"},
                                                        {"ZBVZeroBubble", "zb-v"},
                                                        {"DualPipeV", "zb-v"},
                                                        {"InterleavedZeroBubble", "zb-h1"},
                                                        {NULL, NULL}};

const struct tsim_hybrid_block tsim_hybrid_blocks[] = {{'M', "mamba2", "none"},
                                                       {'*', "attention", "none"},
                                                       {'-', "none", "dense"},
                                                       {'E', "none", "experts"},
                                                       {'\0', NULL, NULL}};

const enum tsim_axis tsim_tp_pp_dp_order[TSIM_N_AXES] = {TSIM_AXIS_TENSOR, TSIM_AXIS_CONTEXT, TSIM_AXIS_EXPERT,
                                                         TSIM_AXIS_PIPELINE, TSIM_AXIS_DATA};

const char *tsim_launch_ours(const struct tsim_launch_word *words, const char *theirs) {
    while (words->theirs && strcmp(words->theirs, theirs) != 0)
        words++;
    return words->ours;
}

const char *tsim_launch_theirs(const struct tsim_launch_word *words, const char *ours) {
    while (words->ours && strcmp(words->ours, ours) != 0)
        words++;
    return words->theirs;
}

const char *tsim_primus_machine(const char *path, const char *text) {
    static const char *const NAMES[] = {"MI300X", "MI325X", "MI355X", "MI250X"};
    const char *const places[] = {path, text};
    for (int place = 0; place < 2; place++)
        for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
            if (strstr(places[place], NAMES[i]))
                return NAMES[i];
    return NAMES[0];
}
