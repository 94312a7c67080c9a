#include "config/keys/key_alias.h"

#include <stdio.h>
#include <string.h>

/* The names are those of Megatron, DeepSpeed, torchtitan, Hugging Face and torchrun, and the short ones of talks. */
static const struct {
    const char *path, *names; /* a blank before and after each name */
} ALIASES[] = {
    {"parallelism.tensor", " tp tp_size tensor_parallel tensor_parallelism tensor_parallel_size tensor_parallel_degree "
                           "tensor_model_parallel_size model_parallel mp "},
    {"parallelism.pipeline", " pp pp_size pipeline_parallel pipeline_parallelism pipeline_parallel_size "
                             "pipeline_parallel_degree pipeline_model_parallel_size pipeline_stages stages "},
    {"parallelism.virtual_pipeline", " vp vpp virtual_pipeline_size virtual_pipeline_model_parallel_size chunks "},
    {"parallelism.context", " cp cp_size context_parallel context_parallelism context_parallel_size "
                            "context_parallel_degree "},
    {"parallelism.expert", " ep ep_size expert_parallel expert_parallelism expert_parallel_size expert_parallel_degree "
                           "expert_model_parallel_size "},
    {"parallelism.data", " dp dp_size data_parallel data_parallelism data_parallel_size replicas "},
    {"parallelism.sequence", " sp sequence_parallel sequence_parallelism "},
    {"parallelism.zero", " zero_stage zero_optimization fsdp "},
    {"training.global_batch_size", " gbs global_batch globalbatch batch batch_size train_batch_size "},
    {"training.micro_batch_size", " mbs micro_batch microbatch microbatch_size local_batch_size device_batch_size "
                                  "train_micro_batch_size_per_gpu per_device_train_batch_size "},
    {"training.sequence_length", " seq seqlen seq_len seq_length sequence_len max_seq_len max_seq_length "
                                 "max_sequence_length context_length block_size "},
    {"training.precision", " dtype data_type mixed_precision "},
    {"training.gradient_precision", " grad_precision grad_dtype main_grad_dtype main_grads_dtype "},
    {"training.optimizer", " optim optimizer_type optimizer_name "},
    {"training.recompute", " activation_checkpoint activation_checkpointing gradient_checkpointing checkpointing "
                           "recompute_granularity recompute_method "},
    {"training.steps", " iterations iters train_iters max_steps num_steps n_steps "},
    {"training.tokens", " train_tokens num_tokens n_tokens total_tokens "},
    {"training.samples", " train_samples num_samples n_samples "},
    {"training.epochs", " num_epochs n_epochs num_train_epochs "},
    {"cluster.node", " gpu gpu_type accelerator machine instance instance_type "},
    {"node.accelerator", " gpu gpu_type device "},
    {"cluster.nodes", " nnodes n_nodes num_nodes node_count gpus num_gpus n_gpus world_size "},
    {"cluster.accelerators_per_node", " gpus_per_node devices_per_node nproc_per_node "},
    {"cluster.fabric", " network interconnect "},
    {"model.layers", " num_layers n_layers n_layer num_hidden_layers "},
    {"model.hidden", " hidden_size hidden_dim d_model n_embd dim "},
    {"model.heads", " num_heads n_heads n_head num_attention_heads "},
    {"model.kv_heads", " num_kv_heads n_kv_heads num_key_value_heads num_query_groups "},
    {"model.ffn_hidden", " intermediate_size ffn_hidden_size ffn_size ffn_dim d_ff "},
    {"model.vocab", " vocab_size n_vocab padded_vocab_size "},
    {"reliability.node_mtbf", " mtbf "},
    {"checkpoint.interval", " frequency save_interval checkpoint_interval "},
    {"measured.step_time", " time_per_step iteration_time seconds_per_step "},
    {"measured.tokens_per_s", " tokens_per_second tokens_per_sec "},
    {"measured.model_tflops_per_gpu", " tflops tflops_per_gpu "},
    {"cost.rent", " hourly_rate price_per_hour gpu_hour_price "},
    {"energy.price", " electricity electricity_price "},
    {"energy.carbon", " carbon_intensity co2 "},
};

const char *tsim_key_alias(const char *name, size_t nth) {
    char word[64];
    if (snprintf(word, sizeof word, " %s ", name) >= (int)sizeof word || strchr(name, ' ') || !*name)
        return NULL;
    for (size_t i = 0; i < sizeof ALIASES / sizeof ALIASES[0]; i++)
        if (strstr(ALIASES[i].names, word) && nth-- == 0)
            return ALIASES[i].path;
    return NULL;
}
