/* Scripts that start verl (volcengine/verl, python3 -m verl.trainer.main_ppo KEY=VALUE ...): reinforcement on PyTorch's
 * FSDP, in which the same accelerators generate by an engine and train. Defaults are those of
 * verl/trainer/config/ppo_trainer.yaml of 2025. */
#include "base/among.h"
#include "import/launches/hf_trainer.h"
#include "import/launches/launch_command.h"
#include "import/launches/recipe_short.h"
#include "import/launches/recipes.h"

#define ACTOR "actor_rollout_ref.actor."
#define ROLLOUT "actor_rollout_ref.rollout."
#define MODEL "actor_rollout_ref.model."

static const char WHY[] = "verl's default";
enum { PROMPT = 512, RESPONSE = 512 }; /* its default lengths, in tokens */

/* Hydra puts "+" before a key that it adds. */
static void strip_plus(struct tsim_recipe *r) {
    for (size_t i = 0; i < r->n_settings && i < TSIM_RECIPE_MAX_SETTINGS; i++)
        r->settings[i].key += strspn(r->settings[i].key, "+");
}

/* Refuses what is no reinforcement by groups of responses on FSDP. */
static void check_kind(struct tsim_recipe *r) {
    static const char *const ALIKE[] = {
        "grpo", "rloo", "reinforce_plus_plus", "reinforce_plus_plus_baseline", "grpo_passk", "gpg", "opo"};
    const struct tsim_setting *kind = find(r, "algorithm.adv_estimator"), *engine = find(r, ACTOR "strategy"),
                              *epochs = find(r, ACTOR "ppo_epochs");
    if (!kind)
        tsim_recipe_error(r, NULL, "algorithm.adv_estimator is missing, and gae, the default, is not read");
    else if (!TSIM_IS_AMONG(tsim_setting_text(kind), ALIKE))
        tsim_recipe_refuse(r, kind, "'%.40s' is not read: grpo, rloo and reinforce_plus_plus are",
                           tsim_setting_text(kind));
    if (engine && !tsim_setting_is(engine, "fsdp") && !tsim_setting_is(engine, "fsdp2"))
        tsim_recipe_refuse(r, engine, "'%.40s' is not read: fsdp and fsdp2 are", tsim_setting_text(engine));
    if (epochs && !tsim_setting_is(epochs, "1"))
        tsim_recipe_refuse(r, epochs, "a round trains once on its samples in tsim");
}

/* Returns the samples of a pass: given, or as many of the longest as the tokens of a pass hold. */
static void add_micro_batch(struct tsim_recipe *r, int64_t length, int64_t most) {
    const struct tsim_setting *dynamic = find(r, ACTOR "use_dynamic_bsz"),
                              *tokens = find(r, ACTOR "ppo_max_token_len_per_gpu"),
                              *micro = find(r, ACTOR "ppo_micro_batch_size_per_gpu");
    const bool is_dynamic = dynamic && tsim_setting_flag(r, dynamic);
    const int64_t ranks = tsim_recipe_int(r, ACTOR "ulysses_sequence_parallel_size", 1, 100000, 1);
    if (is_dynamic) {
        int64_t n = (tokens ? tsim_setting_int(r, tokens, 1, INT64_C(1000000000)) : 16384) * ranks / length;
        n = n < 1 ? 1 : n > most ? most : n;
        while (most % n != 0)
            n--;
        add_int(r, tokens ? tokens : dynamic, "per_device_train_batch_size", n);
    } else if (micro) {
        add_as(r, micro, "per_device_train_batch_size");
    } else
        tsim_diag_hint(tsim_recipe_error(r, NULL, ACTOR "ppo_micro_batch_size_per_gpu is missing"),
                       "give it with --set training.micro_batch_size=N");
}

/* Adds the job under the names of Hugging Face's Trainer. Batches count prompts, each of which has n responses. */
static void add_training(struct tsim_recipe *r, int64_t n, int64_t length) {
    static const char *const NAMES[][2] = {{MODEL "path", "model_name_or_path"},
                                           {MODEL "target_modules", "lora_targets"},
                                           {ACTOR "ulysses_sequence_parallel_size", "context_parallel_size"}};
    const struct tsim_setting *mini = find(r, ACTOR "ppo_mini_batch_size"), *rank = find(r, MODEL "lora_rank"),
                              *again = find(r, MODEL "enable_gradient_checkpointing"),
                              *nodes = find(r, "trainer.nnodes"), *each = find(r, "trainer.n_gpus_per_node");
    const int64_t prompts = mini ? tsim_setting_int(r, mini, 1, 1000000) : 256,
                  ranks = (nodes ? tsim_setting_int(r, nodes, 1, 100000) : 1) *
                          (each ? tsim_setting_int(r, each, 1, 10000) : 8),
                  parts = tsim_recipe_int(r, ACTOR "ulysses_sequence_parallel_size", 1, 100000, 1),
                  replicas = ranks / parts > 0 ? ranks / parts : 1, of_rank = prompts * n / replicas;
    add_renamed(r, NAMES, sizeof NAMES / sizeof NAMES[0], true);
    add(r, nodes, "nnodes", nodes ? tsim_setting_text(nodes) : "1");
    add(r, each, "nproc_per_node", each ? tsim_setting_text(each) : "8");
    add_int(r, mini, "train_batch_size", prompts * n);
    add_int(r, find(r, "data.max_response_length"), "max_seq_length", length);
    add_micro_batch(r, length, of_rank > 0 ? of_rank : 1);
    add(r, again, "gradient_checkpointing", again && !tsim_setting_flag(r, again) ? "false" : "true");
    add(r, find(r, ACTOR "strategy"), "fsdp", "full_shard");
    add(r, NULL, "bf16", "true");
    add(r, NULL, "attn_implementation", "flash_attention_2");
    add(r, find(r, "algorithm.adv_estimator"), "kind", "grpo");
    if (rank && tsim_setting_int(r, rank, 0, 100000) > 0) {
        add_as(r, rank, "lora_r");
        if (!find(r, "lora_targets") || tsim_setting_is(find(r, "lora_targets"), "all-linear"))
            add(r, rank, "lora_targets", "all");
    }
}

static void put_number(struct tsim_recipe *r, const char *path, const char *key, int64_t otherwise) {
    const struct tsim_setting *s = find(r, key);
    tsim_recipe_put(r, path, s, s ? NULL : WHY, "%lld",
                    (long long)(s ? tsim_setting_int(r, s, 1, INT64_C(100000000)) : otherwise));
}

/* Puts who scores the samples: the policy itself, and a reference where its distance counts. */
static void put_scoring(struct tsim_recipe *r) {
    const bool has_loss = is_on(r, ACTOR "use_kl_loss"), is_in_reward = is_on(r, "algorithm.use_kl_in_reward");
    const struct tsim_setting *s = find(r, has_loss ? ACTOR "use_kl_loss" : "algorithm.use_kl_in_reward");
    const struct tsim_value *at = s ? s->value : &r->at_top,
                            *items[] = {tsim_value_new_scalar(r->arena, at, "policy"),
                                        tsim_value_new_scalar(r->arena, at, "reference")};
    tsim_recipe_put_value(r, "training.scoring", s,
                          tsim_value_new_list(r->arena, at, items, has_loss || is_in_reward ? 2 : 1));
}

static void put_generation(struct tsim_recipe *r, int64_t n) {
    const struct tsim_setting *memory = find(r, ROLLOUT "gpu_memory_utilization"),
                              *low = find(r, ROLLOUT "quantization"), *all = find(r, "data.train_batch_size"),
                              *engine = find(r, ROLLOUT "name"), *response = find(r, "data.max_response_length");
    const int64_t prompts = all ? tsim_setting_int(r, all, 1, 1000000) : 1024;
    tsim_recipe_put_int(r, "generation.rollouts", all, prompts * n);
    put_number(r, "generation.samples_per_prompt", ROLLOUT "n", 1);
    put_number(r, "generation.prompt", "data.max_prompt_length", PROMPT);
    put_number(r, "generation.tensor", ROLLOUT "tensor_model_parallel_size", 2);
    put_number(r, "generation.max_sequences", ROLLOUT "max_num_seqs", 1024);
    tsim_recipe_put(r, "generation.memory", memory, memory ? NULL : WHY, "%g",
                    memory ? tsim_setting_number(r, memory) : 0.5);
    if (tsim_recipe_int(r, ROLLOUT "expert_parallel_size", 1, 100000, 1) > 1)
        put_number(r, "generation.expert", ROLLOUT "expert_parallel_size", 1);
    if (low && !tsim_value_is_off(low->value)) {
        if (!tsim_setting_is(low, "fp8"))
            tsim_recipe_refuse(r, low, "'%.40s' is not read: fp8 is", tsim_setting_text(low));
        tsim_recipe_put(r, "generation.precision", low, NULL, "fp8");
    }
    if (engine && !tsim_setting_is(engine, "vllm"))
        tsim_recipe_not_modelled(r, engine, "another engine: it is simulated as vLLM");
    tsim_recipe_not_modelled(r, response,
                             "responses are as long as they may be; training.lengths says how long they are");
}

enum tsim_status tsim_import_verl(struct tsim_arena *arena, const struct tsim_import_input *input,
                                  struct tsim_import_result *result, struct tsim_diags *diags) {
    static const char *const ARGUMENTS[] = {"algorithm.adv_estimator",
                                            "data.train_batch_size",
                                            "data.max_response_length",
                                            MODEL "path",
                                            ACTOR "ppo_mini_batch_size",
                                            ROLLOUT "n",
                                            "trainer.n_gpus_per_node",
                                            "trainer.nnodes",
                                            NULL};
    static const struct tsim_command_kind COMMAND = {
        .telling = ARGUMENTS,
        .of = "verl",
        .line = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo trainer.nnodes=1 ...",
        .has_pairs = true};
    static const struct tsim_hf_trainer DEFAULTS = {.why = WHY,
                                                    .micro_batch = 1,
                                                    .optimizer = "adamw_torch",
                                                    .adapter_rank = 8,
                                                    .software = "transformers-2024",
                                                    .needs_model = true};
    struct tsim_recipe r;
    tsim_recipe_init(&r, arena, input, "verl", "verl", diags);
    enum tsim_status status = tsim_recipe_check_size(&r);
    if (status == TSIM_OK)
        status = tsim_command_read(&r, &COMMAND);
    if (status == TSIM_OK) {
        strip_plus(&r);
        if (tsim_recipe_accepts(&r))
            check_kind(&r);
        if (diags->n_errors == r.n_errors_before) {
            const int64_t n = tsim_recipe_int(&r, ROLLOUT "n", 1, 100000, 1),
                          length = tsim_recipe_int(&r, "data.max_prompt_length", 1, INT64_C(100000000), PROMPT) +
                                   tsim_recipe_int(&r, "data.max_response_length", 1, INT64_C(100000000), RESPONSE);
            if (!find(&r, "data.max_response_length"))
                add_int(&r, NULL, "data.max_response_length", RESPONSE);
            add_training(&r, n, length);
            tsim_hf_trainer_build(&r, &DEFAULTS);
            put_scoring(&r);
            put_generation(&r, n);
        }
        status = tsim_recipe_finish(&r, result);
    }
    tsim_recipe_release(&r);
    return status;
}
