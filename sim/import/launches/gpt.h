/* gpt.h - private to import: makes a transformer's training run from the settings that Megatron-LM and what is built on
 * it (NeMo, Megatron-DeepSpeed) share. Keys are Megatron's argument names with underscores; NeMo's names are also
 * known.
 *
 * Defaults are those of the programs: dropout 0.1, ffn_hidden_size 4 x hidden_size, or with --swiglu two thirds of it
 * in multiples of 64, learned positions, tied embeddings, biases, and vocabularies padded to
 * make_vocab_size_divisible_by x tensor (megatron/training/arguments.py, megatron/training/tokenizer). */
#pragma once

#include "import/launches/recipe.h"

enum { TSIM_MOST_IDLE_LAYERS = 4096, TSIM_MOST_LAYOUT_STAGES = 1024 };
enum tsim_gpt_program { TSIM_GPT_MEGATRON, TSIM_GPT_NEMO };

struct tsim_gpt {
    struct tsim_recipe *r;
    enum tsim_gpt_program program;
    bool is_bridge;                        /* Megatron-Bridge, with NeMo's names and defaults */
    bool is_bidirectional;                 /* true for pretrain_bert */
    const char *software;                  /* a profile that has the overlaps; NULL: the settings have them */
    bool says_overlaps;                    /* the settings have the overlaps all the same */
    bool is_given;                         /* the user gives the model, whose sizes the file does not have */
    const char *named;                     /* a model of the catalogue in place of sizes; NULL: none */
    const struct tsim_setting *named_from; /* the setting that names it */
    const struct tsim_model *named_model;
    const struct tsim_setting *noop; /* MindSpeed-LLM's layers that do nothing and make stages even; NULL: none */
    const bool *idle;                /* which layers they are: TSIM_MOST_IDLE_LAYERS flags */
    int64_t counted_layers;          /* number of layers including them */
    int64_t further;                 /* layers at the end that predict further tokens, beside `layers` */
    int64_t least_world;             /* accelerators that something besides the degrees needs */
    int64_t layers, hidden, tensor, pipeline, virtual_pipeline, context, expert, expert_tensor, nodes, per_node;
};

/* Puts model, cluster, training, software and parallelism of a scenario, then calls tsim_recipe_finish. */
void tsim_gpt_build(struct tsim_gpt *g);

/* ---- shared by its files ---- */
void tsim_gpt_put_model(struct tsim_gpt *g);
/* Puts the sizes that the settings give beside a model of the catalogue, if they differ from its own. */
void tsim_gpt_put_changes(struct tsim_gpt *g, const struct tsim_model *model);
/* Reads the number of layers of each stage from pipeline_model_parallel_layout into `layers`, an array of
 * TSIM_MOST_LAYOUT_STAGES. Returns the number of stages; 0 if the setting is missing, or is wrong, which it reports. */
size_t tsim_gpt_layout(struct tsim_gpt *g, int *layers);
/* Returns the setting that gives the number of experts of a layer; NULL if there are none. */
const struct tsim_setting *tsim_gpt_experts(const struct tsim_gpt *g);
/* Puts windows of attention with this width. Every `period`-th layer has none; with 0 all layers have one. */
void tsim_recipe_put_window(struct tsim_recipe *r, const struct tsim_setting *from, int64_t width, int64_t period);
/* Puts the batch of a step on `world` accelerators. */
void tsim_gpt_put_batch(struct tsim_gpt *g, int64_t world, int64_t sequence_length);

/* Puts the cluster of a run. `nodes` and `per_node` may be NULL; then `least_world` accelerators are assumed, and a
 * machine if none is named. Overrides of cluster.nodes count. Returns nodes x accelerators per node. */
int64_t tsim_recipe_put_cluster(struct tsim_recipe *r, const struct tsim_setting *nodes,
                                const struct tsim_setting *per_node, const struct tsim_setting *machine,
                                int64_t least_world);
