#include "config/files/catalogue_keys.h"
#include "config/files/catalogue_read.h"
#include "config/keys/enum_words.h"
#include "config/scenario.h"

/* clang-format off */
static const struct tsim_word SOFTWARE_SCHEMA[] = {{"tsim/software/v1", 0}, {NULL, 0}};
static const struct tsim_word LAUNCHES[] = {
    {"none", TSIM_LAUNCH_NONE}, {"megatron-2021", TSIM_LAUNCH_MEGATRON_2021}, {"megatron-2022", TSIM_LAUNCH_MEGATRON_2022},
    {"megatron-core", TSIM_LAUNCH_MEGATRON_CORE}, {"megatron-deepspeed", TSIM_LAUNCH_MEGATRON_DEEPSPEED},
    {"nemo", TSIM_LAUNCH_NEMO}, {"torchtitan-2024", TSIM_LAUNCH_TORCHTITAN_2024}, {"torchtitan", TSIM_LAUNCH_TORCHTITAN},
    {"deepspeed", TSIM_LAUNCH_DEEPSPEED}, {NULL, 0}};
static const struct tsim_word ATTENTION_KERNELS[] = {
    {"unfused", TSIM_ATTENTION_UNFUSED}, {"fused-softmax", TSIM_ATTENTION_FUSED_SOFTMAX},
    {"flash-triton", TSIM_ATTENTION_FLASH_TRITON}, {"flash1", TSIM_ATTENTION_FLASH1}, {"flash2", TSIM_ATTENTION_FLASH2},
    {"flash3", TSIM_ATTENTION_FLASH3}, {"cudnn", TSIM_ATTENTION_CUDNN}, {"splash", TSIM_ATTENTION_SPLASH},
    {NULL, 0}};
static const struct tsim_word ATTENTION_LAYOUTS[] = {
    {"in-place", TSIM_LAYOUT_IN_PLACE}, {"split", TSIM_LAYOUT_SPLIT}, {"grouped", TSIM_LAYOUT_GROUPED},
    {"sequence-first", TSIM_LAYOUT_SEQUENCE_FIRST}, {"packed", TSIM_LAYOUT_PACKED},
    {"heads-first", TSIM_LAYOUT_HEADS_FIRST}, {"repeated", TSIM_LAYOUT_REPEATED}, {NULL, 0}};
static const struct tsim_word NORM_KERNELS[] = {
    {"by-fusion", TSIM_NORMS_BY_FUSION},     {"fused", TSIM_NORMS_FUSED},
    {"fused-fp32", TSIM_NORMS_FUSED_FP32},   {"one-pass", TSIM_NORMS_ONE_PASS}, {NULL, 0}};
static const struct tsim_word GATE_PRODUCTS[] = {{"two", TSIM_GATE_TWO}, {"one", TSIM_GATE_ONE}, {NULL, 0}};
static const struct tsim_word ROTARIES[] = {
    {"by-fusion", TSIM_ROTARY_BY_FUSION},
    {"fused", TSIM_ROTARY_FUSED},
    {"complex", TSIM_ROTARY_COMPLEX},
    {"matrix", TSIM_ROTARY_MATRIX},
    {NULL, 0}};
static const struct tsim_word LATENT_HEADS[] = {
    {"fused", TSIM_LATENT_HEADS_FUSED}, {"joined", TSIM_LATENT_HEADS_JOINED}, {NULL, 0}};
static const struct tsim_word FUSIONS[] = {{"none", TSIM_FUSION_NONE}, {"megatron", TSIM_FUSION_MEGATRON},
                                           {"te", TSIM_FUSION_TE}, {"compile", TSIM_FUSION_COMPILE}, {NULL, 0}};
static const struct tsim_word PIPELINE_OVERLAPS[] = {
    {"always", TSIM_PIPELINE_OVERLAP_ALWAYS}, {"interleaved", TSIM_PIPELINE_OVERLAP_INTERLEAVED}, {NULL, 0}};
static const struct tsim_word DISPATCHES[] = {
    {"all-to-all", TSIM_DISPATCH_ALL_TO_ALL}, {"per-node", TSIM_DISPATCH_PER_NODE},
    {"by-width", TSIM_DISPATCH_BY_WIDTH}, {NULL, 0}};
static const struct tsim_word EXPERT_PRODUCTS[] = {
    {"grouped", TSIM_PRODUCTS_GROUPED}, {"sequential", TSIM_PRODUCTS_SEQUENTIAL}, {NULL, 0}};
static const struct tsim_word SCALINGS[] = {
    {"delayed", TSIM_SCALING_DELAYED}, {"current", TSIM_SCALING_CURRENT}, {"block", TSIM_SCALING_BLOCK}, {"rows", TSIM_SCALING_ROWS}, {NULL, 0}};
static const struct tsim_word EPILOGUES[] = {
    {"fused", TSIM_EPILOGUE_FUSED}, {"written-out", TSIM_EPILOGUE_WRITTEN_OUT}, {NULL, 0}};
static const struct tsim_word PERMUTATIONS[] = {
    {"fused", TSIM_PERMUTATION_FUSED}, {"written-out", TSIM_PERMUTATION_WRITTEN_OUT},
    {"products", TSIM_PERMUTATION_PRODUCTS}, {NULL, 0}};
static const struct tsim_word BATCH_NORMS[] = {{"apart", TSIM_BATCH_NORM_APART},
                                               {"sums-fused", TSIM_BATCH_NORM_SUMS_FUSED},
                                               {"fused", TSIM_BATCH_NORM_FUSED}, {NULL, 0}};
static const struct tsim_word PLACEMENTS[] = {
    {"capacity", TSIM_TABLES_BY_CAPACITY}, {"whole", TSIM_TABLES_WHOLE}, {"lookups", TSIM_TABLES_BY_LOOKUPS},
    {"nodes", TSIM_TABLES_BY_NODES}, {NULL, 0}};
static const struct tsim_word UPDATES[] = {
    {"fused", TSIM_UPDATE_FUSED}, {"sparse", TSIM_UPDATE_SPARSE}, {"reduced", TSIM_UPDATE_REDUCED}, {NULL, 0}};
static const struct tsim_word BOTTOMS[] = {
    {"replicated", TSIM_BOTTOM_REPLICATED}, {"first-rank", TSIM_BOTTOM_FIRST_RANK}, {NULL, 0}};
static const struct tsim_word BIAS_ACTIVATIONS[] = {
    {"in-product", TSIM_BIAS_IN_PRODUCT}, {"pass", TSIM_BIAS_PASS}, {NULL, 0}};
static const struct tsim_word UNALIGNED_PRODUCTS[] = {
    {"matrix-units", TSIM_UNALIGNED_MATRIX}, {"vector-units", TSIM_UNALIGNED_VECTOR}, {NULL, 0}};
static const struct tsim_word GRAPHS[] = {
    {"none", TSIM_GRAPHS_NONE}, {"layers", TSIM_GRAPHS_LAYERS}, {"step", TSIM_GRAPHS_STEP}, {NULL, 0}};
static const struct tsim_word ACCUMULATIONS[] = {
    {"fused", TSIM_ACCUMULATION_FUSED}, {"separate", TSIM_ACCUMULATION_SEPARATE}, {NULL, 0}};
static const struct tsim_word REDUCTIONS[] = {
    {"scatter", TSIM_REDUCTION_SCATTER}, {"all-reduce", TSIM_REDUCTION_ALL_REDUCE}, {NULL, 0}};
static const struct tsim_word PIECES[] = {
    {"bucket", TSIM_PIECES_BUCKET}, {"tensor", TSIM_PIECES_TENSOR}, {NULL, 0}};
static const struct tsim_word WEIGHT_RETURNS[] = {
    {"all-gather", TSIM_RETURN_GATHER}, {"broadcasts", TSIM_RETURN_BROADCASTS}, {NULL, 0}};
static const struct tsim_word UNITS[] = {{"layer", TSIM_UNIT_LAYER}, {"product", TSIM_UNIT_PRODUCT}, {NULL, 0}};
static const struct tsim_word CONTEXT_MERGES[] = {
    {"operands", TSIM_MERGE_AS_OPERANDS}, {"fp32", TSIM_MERGE_FP32}, {NULL, 0}};
static const struct tsim_word SHARD_COPIES[] = {{"flat", TSIM_COPIES_FLAT},
                                                {"per-parameter", TSIM_COPIES_PER_PARAMETER},
                                                {"in-place", TSIM_COPIES_IN_PLACE},
                                                {"none", TSIM_COPIES_NONE}, {NULL, 0}};
static const struct tsim_word SELECTIVES[] = {
    {"attention", TSIM_SELECTIVE_ATTENTION}, {"operators", TSIM_SELECTIVE_OPERATORS}, {NULL, 0}};
static const struct tsim_word CROSS_ENTROPIES[] = {
    {"by-fusion", TSIM_LOSS_BY_FUSION}, {"written-out", TSIM_LOSS_WRITTEN_OUT}, {"fused", TSIM_LOSS_FUSED},
    {"fused-fp32", TSIM_LOSS_FUSED_FP32},
    {"shifted", TSIM_LOSS_SHIFTED}, {NULL, 0}};
static const struct tsim_word INTERLEAVINGS[] = {
    {"groups-of-pipeline", TSIM_INTERLEAVING_OF_PIPELINE}, {"groups-of-any-size", TSIM_INTERLEAVING_OF_ANY}, {NULL, 0}};
static const struct tsim_word SPLITS[] = {
    {"data", TSIM_SPLIT_DATA}, {"tensor", TSIM_SPLIT_TENSOR}, {"sequence", TSIM_SPLIT_SEQUENCE}, {"pipeline", TSIM_SPLIT_PIPELINE},
    {"uneven-stages", TSIM_SPLIT_UNEVEN_STAGES}, {"context", TSIM_SPLIT_CONTEXT}, {"expert", TSIM_SPLIT_EXPERT},
    {"expert-tensor", TSIM_SPLIT_EXPERT_TENSOR}, {"pipeline-inside", TSIM_SPLIT_PIPELINE_INSIDE},
    {"uneven-ends", TSIM_SPLIT_UNEVEN_ENDS}, {NULL, 0}};
static const struct tsim_word OFFLOADS[] = {
    {"optimizer", TSIM_OFFLOAD_OPTIMIZER}, {"activations", TSIM_OFFLOAD_ACTIVATIONS}, {NULL, 0}};
static const struct tsim_word MODEL_CLASSES[] = {
    {"dense", TSIM_MODELS_DENSE}, {"experts", TSIM_MODELS_WITH_EXPERTS}, {NULL, 0}};
static const struct tsim_word ZEROS[] = {{"0", 0}, {"1", 1}, {"2", 2}, {"3", 3}, {NULL, 0}};
static const struct tsim_word RECOMPUTES[] = {
    {"none", TSIM_RECOMPUTE_NONE}, {"selective", TSIM_RECOMPUTE_SELECTIVE}, {"full", TSIM_RECOMPUTE_FULL},
    {"every", TSIM_RECOMPUTE_EVERY}, {NULL, 0}};
static const struct tsim_word USUAL_RECOMPUTES[] = {
    {"none", TSIM_RECOMPUTE_NONE}, {"selective", TSIM_RECOMPUTE_SELECTIVE}, {"full", TSIM_RECOMPUTE_FULL}, {NULL, 0}};
static const struct tsim_word FP16_GRADIENTS[] = {{"fp32", TSIM_FP32}, {"fp16", TSIM_FP16}, {NULL, 0}};
static const struct tsim_word BF16_GRADIENTS[] = {{"fp32", TSIM_FP32}, {"bf16", TSIM_BF16}, {NULL, 0}};
static const struct tsim_word SHARING[] = {{"all", 0}, {"node", -1}, {NULL, 0}};
static const struct tsim_word ALL_NICS[] = {{"all", 0}, {NULL, 0}};

#define OVERLAP(name_, help_)                                                                                          \
    {.key = #name_, .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_overlap, name_), .help = (help_)}
static const struct tsim_key OVERLAP_KEYS[] = {
    OVERLAP(gradients, "gradient reduction under the backward pass"),
    OVERLAP(parameters, "gathers of sharded parameters under the forward pass"),
    OVERLAP(tensor, "tensor-parallel gathers and scatters pipelined with their products"),
    OVERLAP(tensor_backward, "tensor all-reduce of the input gradient under the weight-gradient product"),
    OVERLAP(pipeline, "asynchronous point-to-point messages between stages"),
    OVERLAP(expert, "all-to-all of one micro-batch's experts under the kernels of another micro-batch"),
};
const struct tsim_table tsim_overlap_table = {OVERLAP_KEYS, sizeof OVERLAP_KEYS / sizeof OVERLAP_KEYS[0], true};

#define BLOCK(name_, help_)                                                                                            \
    {INTEGER(struct tsim_attention_blocks, #name_, name_, 1e9, help_), .is_omitted_when_zero = true, .default_text = "0"}
static const struct tsim_key BLOCK_KEYS[] = {
    BLOCK(queries, "tokens of a block of queries, forward; 0: the whole sequence"),
    BLOCK(keys, "tokens of a block of keys, forward"),
    BLOCK(backward_queries, "tokens of a block of queries, backward"),
    BLOCK(backward_keys, "tokens of a block of keys, backward"),
};
static const struct tsim_table BLOCKS = {BLOCK_KEYS, sizeof BLOCK_KEYS / sizeof BLOCK_KEYS[0], true};

#define TILE(name_, help_)                                                                                             \
    {INTEGER(struct tsim_expert_tiles, #name_, name_, 1e6, help_), .is_omitted_when_zero = true, .default_text = "0"}
static const struct tsim_key TILE_KEYS[] = {
    TILE(rows, "rows of a tile, forward and for input gradients; 0: each expert's rows begin a tile"),
    TILE(weight_gradient_rows, "rows of a tile, for weight gradients"),
    TILE(devices, "devices that the software sees in an accelerator, each with rows of its own; 0: one"),
};
static const struct tsim_table TILES = {TILE_KEYS, sizeof TILE_KEYS / sizeof TILE_KEYS[0], true};

static const struct tsim_key CAVEAT_KEYS[] = {
    {.key = "tensor", .kind = TSIM_KEY_STRING, .offset = offsetof(struct tsim_caveats, tensor), .help = "tensor ranks"},
    {.key = "pipeline", .kind = TSIM_KEY_STRING, .offset = offsetof(struct tsim_caveats, pipeline), .help = "pipeline stages"},
    {.key = "context", .kind = TSIM_KEY_STRING, .offset = offsetof(struct tsim_caveats, context), .help = "context ranks"}};
static const struct tsim_table CAVEATS = {CAVEAT_KEYS, sizeof CAVEAT_KEYS / sizeof CAVEAT_KEYS[0], false};

static const struct tsim_key INSTEAD_KEYS[] = {
    {.key = "recommendation", .kind = TSIM_KEY_STRING, .offset = offsetof(struct tsim_instead, recommendation), .help = "models with embedding tables"},
    {.key = "encoder_lamb", .kind = TSIM_KEY_STRING, .offset = offsetof(struct tsim_instead, encoder_lamb), .help = "encoders that LAMB trains"},
    {.key = "newer", .kind = TSIM_KEY_STRING, .offset = offsetof(struct tsim_instead, newer), .help = "accelerators above newest_capability or after newest_year"},
    {QUANTITY(struct tsim_instead, "newest_capability", TSIM_COUNT, newest_capability, "compute capability of the newest GPU that it has kernels for; 0: of all"),
     .default_text = "0", .is_omitted_when_zero = true},
    {INTEGER(struct tsim_instead, "newest_year", newest_year, 3000, "year of the newest accelerator that it has kernels for; 0: of all"),
     .default_text = "0", .is_omitted_when_zero = true},
    {.key = "source", .kind = TSIM_KEY_STRING, .offset = offsetof(struct tsim_instead, source), .help = "where it was read"}};
static const struct tsim_table INSTEAD = {INSTEAD_KEYS, sizeof INSTEAD_KEYS / sizeof INSTEAD_KEYS[0], false};

#define SUPPORT(name_, field_, words_, help_)                                                                          \
    {.key = (name_), .kind = TSIM_KEY_WORDS, .offset = offsetof(struct tsim_supports, field_), .words = (words_),      \
     .is_omitted_when_zero = true, .may_be_empty = true, .help = (help_)}
static const struct tsim_key SUPPORT_KEYS[] = {
    SUPPORT("splits", splits, SPLITS, "degrees that may be above one, stages of unequal length, experts that tensor ranks do not divide, pipelines inside replicas"),
    SUPPORT("schedules", schedules, tsim_schedule_words, "schedules of pipelines"),
    SUPPORT("zero", zero, ZEROS, "stages of ZeRO; 3: fully sharded"),
    SUPPORT("zero_with_pipeline", zero_staged, ZEROS, "stages of ZeRO that go with a pipeline; default: the same"),
    SUPPORT("recompute", recompute, RECOMPUTES,
            "modes of recomputation: sqrt and {every: N} are kinds of full (a search tries N with every), lists of parts are kinds of selective"),
    SUPPORT("recompute_parts", recompute_parts, tsim_recompute_part_words, "parts of a layer that can be recomputed one by one; a search tries them"),
    SUPPORT("offload", offload, OFFLOADS, "what can lie in the host's memory; a search tries it"),
    SUPPORT("precisions", precisions, tsim_precision_words, "precisions of the matrix products"),
    SUPPORT("sequence_needed", sequence_needed, MODEL_CLASSES, "models that need sequence parallelism with tensor ranks; default: none"),
    {.key = "overlap", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_supports, overlap), .table = &tsim_overlap_table,
     .is_omitted_when_zero = true, .help = "what can be hidden besides what `overlap` says; a search tries it"},
    {.key = "source", .kind = TSIM_KEY_STRING, .offset = offsetof(struct tsim_supports, source), .help = "where it was read"}};
static const struct tsim_table SUPPORTS = {SUPPORT_KEYS, sizeof SUPPORT_KEYS / sizeof SUPPORT_KEYS[0], false};

#define DEFAULT(name_, field_, words_, default_, help_)                                                                \
    {.key = (name_), .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_software_defaults, field_), .words = (words_),  \
     .default_text = (default_), .help = (help_)}
static const struct tsim_key DEFAULT_KEYS[] = {
    DEFAULT("fp16_gradients", fp16_gradients, FP16_GRADIENTS, "fp32", "training.gradient_precision of training in fp16"),
    DEFAULT("bf16_gradients", bf16_gradients, BF16_GRADIENTS, "fp32", "the same for training in bf16 or fewer bits"),
    {.key = "halves_sharded_gradients", .kind = TSIM_KEY_BOOL,
     .offset = offsetof(struct tsim_software_defaults, halves_sharded_gradients), .default_text = "false",
     .help = "with zero: 2 or 3 gradients have the training's 16 bits, whatever the two keys before say"},
    DEFAULT("optimizer", optimizer, tsim_optimizer_words, "adamw", "training.optimizer"),
    DEFAULT("recompute", recompute, USUAL_RECOMPUTES, "none", "training.recompute"),
    {INTEGER(struct tsim_software_defaults, "zero", zero, 3, "parallelism.zero"), .default_text = "1"},
    {INTEGER(struct tsim_software_defaults, "zero_with_pipeline", zero_staged, 2, "the same beside a pipeline"),
     .default_text = "1"},
    {INTEGER(struct tsim_software_defaults, "zero_group", zero_group, 1e9,
             "parallelism.zero_group, where it divides the ranks"), .words = SHARING, .default_text = "all"},
    {.key = "sequence", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_software_defaults, sequence),
     .default_text = "true", .help = "parallelism.sequence beside tensor ranks, if supports.splits has it"},
    DEFAULT("schedule", schedule, tsim_schedule_words, "1f1b", "parallelism.schedule with one chunk a stage"),
    DEFAULT("context_exchange", context_exchange, tsim_context_exchange_words, "ring", "parallelism.context_exchange"),
    {.key = "source", .kind = TSIM_KEY_STRING, .offset = offsetof(struct tsim_software_defaults, source),
     .help = "where they were read"}};
static const struct tsim_table DEFAULTS = {DEFAULT_KEYS, sizeof DEFAULT_KEYS / sizeof DEFAULT_KEYS[0], false};

#define SOFTWARE_TIME(...) {QUANTITY(struct tsim_software, __VA_ARGS__), .default_text = "0", .unit = "us", .max = 10}
/* The key of a flag or a choice is called as its field. Rare ones are not written unless they differ from the default. */
#define CHOICE(name_, words_, default_, help_)                                                                         \
    .key = #name_, .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_software, name_), .words = (words_),          \
    .default_text = (default_), .help = (help_)
#define FLAG(name_, help_)                                                                                             \
    .key = #name_, .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_software, name_), .default_text = "false",    \
    .help = (help_)
#define RARE .is_omitted_when_zero = true
static const struct tsim_key SOFTWARE_KEYS[] = {
    SCHEMA_KEY(SOFTWARE_SCHEMA),
    NAME_KEY(struct tsim_software),
    SOURCE_KEY(struct tsim_software),
    {.key = "supports", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_software, supports), .table = &SUPPORTS,
     .is_omitted_when_zero = true,
     .help = "what the software can run: plans and advice keep to it, and a scenario that asks for more gets a warning"},
    {.key = "defaults", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_software, defaults), .table = &DEFAULTS,
     .help = "settings that apply unless the scenario says otherwise"},
    {.key = "caveats", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_software, caveats), .table = &CAVEATS,
     .help = "where predictions with this software are known to be off: a warning for scenarios with such ranks"},
    {.key = "instead", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_software, instead), .table = &INSTEAD,
     .is_omitted_when_zero = true,
     .help = "profiles for what this one does not run: a scenario that asks for it gets that profile, with a warning"},
    {FLAG(for_gpus, "true: accelerators with software of their own (their key `software`) run that instead"), RARE},
    {CHOICE(launch, LAUNCHES, "none",
                "launch files that tsim export writes for it, in the words of its version; none: no launch files"), RARE},
    {.key = "attention_kernel", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_software, attention_kernel),
     .words = ATTENTION_KERNELS, .is_required = true, .help = "which kernel computes attention"},
    {.key = "attention_blocks", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_software, attention_blocks),
     .table = &BLOCKS, .is_omitted_when_zero = true,
     .help = "tokens of the blocks that splash attention computes whole, whatever is masked in them"},
    {CHOICE(attention_layout, ATTENTION_LAYOUTS, "in-place",
           "copies of queries, keys, values and result around attention's kernels, as in the code of: compilers "
           "(in-place), llm-foundry (split), Megatron-Core (grouped), Megatron-LM (sequence-first), GPT-NeoX "
           "(packed), BERT (heads-first), torchtitan (repeated)")},
    {CHOICE(rotary, ROTARIES, "by-fusion",
           "rotary positions: as fusion says, in one pass, as complex numbers of fp32, or by 2 x 2 matrices of fp32")},
    {CHOICE(latent_heads, LATENT_HEADS, "fused",
           "queries, keys and values of latent attention are put together in the pass that rotates (fused), or by PyTorch's cat (joined)")},
    {CHOICE(gate_products, GATE_PRODUCTS, "two",
           "matrices of a gated block if nothing is fused: two, whose input gradients are added, or one, whose gradients are joined")},
    {CHOICE(norms, NORM_KERNELS, "by-fusion",
           "norms: as fusion says (RMS norms written out with none, in one kernel with the residual's sum with "
           "compile), or kernels of their own: fused, fused-fp32 on a copy of the input in fp32, or one-pass, which "
           "read each tensor once, backward, too")},
    {.key = "fusion", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_software, fusion), .words = FUSIONS,
     .is_required = true, .help = "which element-wise operators are fused"},
    {QUANTITY(struct tsim_software, "dropout", TSIM_FRACTION, dropout, "probability; 0: no traffic and no masks"),
     .default_text = "0", .max = 1},
    SOFTWARE_TIME("host_time_per_op", TSIM_TIME_S, host_time_per_op_s, "time that the host needs to launch one operator"),
    {QUANTITY(struct tsim_software, "host_time_per_fp8_op", TSIM_TIME_S, host_time_per_fp8_op_s,
              "the same for training in fp8, whose modules keep scales and quantize; 0: as host_time_per_op"),
     .default_text = "0", .unit = "us", .max = 10, .is_omitted_when_zero = true},
    {CHOICE(cuda_graphs, GRAPHS, "none",
                "what is launched as one CUDA graph: nothing, each pass of a layer (not of a decoder beside an encoder, "
                "nor the rows of experts without capacity_factor), or the whole step"), RARE},
    {FLAG(launch_blocking,
         "the host waits for each kernel (CUDA_LAUNCH_BLOCKING=1): its time is added to the kernels', not hidden by "
         "them")},
    SOFTWARE_TIME("host_time_per_collective", TSIM_TIME_S, host_time_per_collective_s,
                      "time added to each tensor-parallel collective"),
    SOFTWARE_TIME("host_time_per_checkpoint", TSIM_TIME_S, host_time_per_checkpoint_s,
                      "time added to each recomputed layer"),
    {QUANTITY(struct tsim_software, "host_time_per_sample", TSIM_TIME_S, host_time_per_sample_s,
              "time that the host prepares each sample of the next batch for between a forward and its backward pass, "
              "while the accelerator waits"),
     .default_text = "0", .unit = "us", .max = 10, .is_omitted_when_zero = true},
    {QUANTITY(struct tsim_software, "host_time_per_pass", TSIM_TIME_S, host_time_per_pass_s,
              "post-training: time of an engine between two decode passes: scheduling, sampling, inputs of the next"),
     .default_text = "0", .unit = "ms", .max = 10, .is_omitted_when_zero = true},
    {QUANTITY(struct tsim_software, "refit_rate", TSIM_BYTES_PER_S, refit_bytes_per_s,
              "post-training: rate at which the whole model is gathered, tensor after tensor, and loaded by the engines; 0: the "
              "links alone, each rank's own part"),
     .default_text = "0", .unit = "GB/s", .is_omitted_when_zero = true},
    {QUANTITY(struct tsim_software, "offload_rate", TSIM_BYTES_PER_S, offload_bytes_per_s,
              "post-training: rate at which an accelerator's weights and states leave for the host's memory; 0: the host_link's"),
     .default_text = "0", .unit = "GB/s", .is_omitted_when_zero = true},
    {QUANTITY(struct tsim_software, "onload_rate", TSIM_BYTES_PER_S, onload_bytes_per_s,
              "the same on the way back from the host"),
     .default_text = "0", .unit = "GB/s", .is_omitted_when_zero = true},
    {FLAG(checkpoint_early_stop, "recomputation stops at the last tensor that is needed")},
    {CHOICE(selective_recompute, SELECTIVES, "attention",
           "parts that recompute: selective covers: the core of attention, or operators (every second matrix product, and cheap operators)")},
    {CHOICE(cross_entropy, CROSS_ENTROPIES, "by-fusion",
           "the loss: operator by operator in fp32, on a shifted copy of the logits (shifted), or one kernel (fused-fp32: "
           "on a copy of the logits in fp32); "
           "by-fusion: one kernel with fusion: te")},
    {INTEGER(struct tsim_software, "loss_metrics", loss_metrics, 100,
             "metrics that compute cross-entropy again from the logits of each training step"), .default_text = "0"},
    {INTEGER(struct tsim_software, "head_tokens", head_tokens, 1e9,
             "tokens of each sample that the head takes at once, each time with all of its weight; 0: all of them"),
     .default_text = "0", .is_omitted_when_zero = true},
    {QUANTITY(struct tsim_software, "optimizer_traffic", TSIM_COUNT, optimizer_traffic_bytes,
              "bytes that Adam moves per parameter and step; other optimizers in proportion to the least that they must move"), .default_text = "44", .is_positive = true, .min = 1, .max = 1e4},
    {INTEGER(struct tsim_software, "update_ops_per_tensor", update_ops_per_tensor, 1000,
             "operators of the update that the host launches for each tensor, one after the other; 0: a few kernels update all tensors"),
     .default_text = "0", .is_omitted_when_zero = true},
    {CHOICE(unaligned_products, UNALIGNED_PRODUCTS, "matrix-units",
           "units for products whose rows are not a multiple of 16 bytes: matrix units at a lower rate, or vector units")},
    {CHOICE(accumulation, ACCUMULATIONS, "fused",
           "gradients are added by the weight gradient's product (fused) or by a kernel after it (separate)")},
    {CHOICE(gradient_reduction, REDUCTIONS, "scatter", "with ZeRO-1 gradients are scattered over the shards, or all-reduced whole")},
    {CHOICE(data_pieces, PIECES, "bucket",
           "unit of one data-parallel collective (unless fully sharded): a bucket, or a tensor of parameters")},
    {CHOICE(weight_return, WEIGHT_RETURNS, "all-gather",
                "with ZeRO-1 and -2 updated weights come back by an all-gather of slices, or by a broadcast from each "
                "rank that owns whole tensors, one after the other"), RARE},
    {CHOICE(gather_unit, UNITS, "layer",
           "fully sharded: what is gathered at once, a layer or the weights of one of its products (in plain "
           "transformer layers, or where each has experts that no ranks divide and none are shared)")},
    {CHOICE(context_merge, CONTEXT_MERGES, "operands",
                "results and gradients of a ring's pieces are added up in the precision of the operands, a kernel each; or in "
                "fp32, operator by operator, where gradients of keys and values go around in fp32, too"), RARE},
    {CHOICE(shard_copies, SHARD_COPIES, "flat",
           "fully sharded: gradients joined, converted and divided (flat); copied out of and into buffers "
           "(per-parameter); divided where they are (in-place); none")},
    {FLAG(adapter_scale_inside, "adapters scale A x, of the rank's width, and not their result"), RARE},
    {FLAG(restores_in_fp16, "quantized frozen weights are restored in fp16, and converted where training is in bf16"), RARE},
    {FLAG(quantizes_head, "quantized frozen weights include the head's"), RARE},
    {FLAG(recomputes_logits, "the backward pass computes the logits of each piece of head_tokens again, and none are kept"), RARE},
    {FLAG(unties_embeddings, "embedding and head are two matrices, also in models in which they share one"), RARE},
    {FLAG(fp32_scales, "scales of frozen weights in nf4 are in fp32 and not quantized in turn: 4.5 bits a weight"), RARE},
    {FLAG(quantized_keep_inputs,
              "products of quantized weights keep their inputs for a gradient that is never computed (bitsandbytes before 0.43.2)"), RARE},
    {FLAG(keeps_graph,
              "the graph of a micro-batch, and what products of quantized weights keep in it, lives until the next one's loss"), RARE},
    {FLAG(adapters_share_dropout, "adapters of one product share one copy of its input after dropout; otherwise each has its own"), RARE},
    {FLAG(sequence_copies,
              "sequence parallelism cuts the tokens of each sample: what is gathered is copied into samples, what is "
              "scattered out of them; with overlap.tensor pieces of sums are summed at the end, and the sum of several products is waited for"), RARE},
    {.key = "overlap", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_software, overlap),
     .table = &tsim_overlap_table, .help = "communication under computation; absent: false"},
    {CHOICE(pipeline_overlap, PIPELINE_OVERLAPS, "always",
           "schedules in which overlap.pipeline takes effect: always, or interleaved alone")},
    {CHOICE(interleaving, INTERLEAVINGS, "groups-of-pipeline",
           "how many micro-batches a chunk takes before the next: as many as there are stages, so that a replica "
           "needs a multiple of pipeline; or the fewest, not below pipeline, that divide its micro-batches")},
    {CHOICE(fp8_scaling, SCALINGS, "delayed",
           "scales of fp8 operands: of earlier steps, of the tensor itself (a pass more), of each tile, or of each row along "
           "a product's depth (torchao's rowwise: cast twice, sent in 16 bits)")},
    {FLAG(fp8_activation_input, "training in fp8, inputs of the activation function are kept in fp8 for the backward pass")},
    {FLAG(fp8_attention,
         "training in fp8 with the scales of earlier steps, queries, keys, values, attention's result and their "
         "gradients are fp8, too")},
    {FLAG(bias_gradient_in_cast,
         "training in fp8 with the scales of earlier steps, the pass that casts a gradient also sums it for the bias")},
    {FLAG(activation_in_product,
         "without a gate, the product before applies the activation and writes input and result; in fp8 the pass "
         "that casts its gradient applies its derivative")},
    {CHOICE(expert_dispatch, DISPATCHES, "all-to-all",
           "all-to-all: a copy of a token for each of its experts; per-node: one for each node; by-width: as "
           "all-to-all, tensor ranks each take a part of the width of all their tokens")},
    {FLAG(fp8_dispatch, "training in fp8, tokens and gradients travel to experts in fp8, and back in 16 bits")},
    {CHOICE(expert_permutation, PERMUTATIONS, "fused",
           "how rows of tokens are brought into the order of their experts and back: by one kernel each, operator by operator, or by products with masks into buffers of a capacity_factor")},
    {CHOICE(expert_epilogue, EPILOGUES, "fused",
                "where limits (experts.limited) and last biases of experts are applied: in the kernels beside them, or by PyTorch's operators one after another"), RARE},
    {CHOICE(batch_norm, BATCH_NORMS, "apart",
           "batch norms with their activations: passes of their own; sums in the convolution before, and the rest in "
           "the addition after it; or also the rest in the convolution after it (fusion other than none)")},
    {CHOICE(table_placement, PLACEMENTS, "capacity",
           "embedding tables over ranks: by capacity, those above an even share cut by rows; whole, as many to each "
           "rank; by lookups, those with most of them cut by rows; or over nodes by lookups, and evenly on each node")},
    {CHOICE(table_update, UPDATES, "fused",
           "rows of embedding tables: updated from the vectors' gradients at once; through a tensor of gradients, "
           "one for each lookup; or through one summed gradient a row, with a state for each of its elements")},
    {CHOICE(bottom_mlp, BOTTOMS, "replicated", "recommendation models: on every rank, or on the first for the samples of all")},
    {CHOICE(bias_activation, BIAS_ACTIVATIONS, "in-product",
           "bias and activation of linear layers of lists: in the product's kernel, or in one pass after it (fusion "
           "other than none)")},
    {FLAG(fp32_tables, "embedding tables are in fp32 and give vectors in the training's precision")},
    {QUANTITY(struct tsim_software, "replicated_tables", TSIM_BYTES, replicated_tables_bytes,
              "embedding tables below this, in fp32, are on every rank, and their gradients are summed over all"),
     .default_text = "0"},
    {CHOICE(expert_products, EXPERT_PRODUCTS, "grouped",
           "the experts of a rank: their products side by side, or one expert after the other")},
    {.key = "expert_tiles", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_software, expert_tiles),
     .table = &TILES, .is_omitted_when_zero = true,
     .help = "grouped products without a capacity: rows of tiles that are computed once for each expert that has some of them"},
    {INTEGER(struct tsim_software, "nics_used", nics_used, 1e5, "network ports used in each node, or all"),
     .words = ALL_NICS, .default_text = "all"},
    {INTEGER(struct tsim_software, "data_blocks", data_blocks, 1e5,
             "thread blocks that a data-parallel collective holds at most: buffers registered with NCCL, NCCL_MAX_CTAS; "
             "0: as many as it takes"),
     .is_omitted_when_zero = true, .default_text = "0"},
    {FLAG(casts_weights,
         "fully sharded, with an fp32 copy: weights in the training's precision are made from that copy when they are gathered, and not kept")},
    {FLAG(reduces_once,
              "zero: 2 within a pipeline: whole gradients are summed up over the micro-batches, and reduced behind the last backward pass"), RARE},
    {FLAG(keeps_gradients, "gradients that are summed up in fp32 stay in the weights' precision as well")},
    {FLAG(copies_buckets, "gradients are copied into a bucket to be reduced, and back (unless fully sharded)"), RARE},
    {FLAG(converts_sums, "gradients that are summed up in fp32 are converted to the training's precision, all at once, and sent in it")},
    {FLAG(splits_attention_backward,
              "flash attention's backward pass is one kernel for the gradients of keys and values and one for those of "
              "queries: each makes the scores and their gradients, seven products in place of five"), RARE},
    {FLAG(recomputes_inputs,
              "selective recomputation: the result of a recomputed part is computed again for the product that takes it, and not kept"), RARE},
    {FLAG(keeps_outputs, "pipeline: the tensor that a stage sent on is kept until that micro-batch's backward pass")},
    {QUANTITY(struct tsim_software, "flat_bucket", TSIM_COUNT, flat_bucket_elements,
              "elements of a flat tensor to reduce gradients in, and of one to gather weights in; gradients are joined "
              "and converted for the update"),
     .min = 1, .max = 1e15, .is_omitted_when_zero = true, .default_text = "0"},
    {QUANTITY(struct tsim_software, "update_memory", TSIM_COUNT, update_bytes,
              "bytes per parameter that the update writes beside the optimizer's state, in memory that activations have left: gradients in fp32, and the results of each operator of an unfused optimizer"),
     .max = 64, .is_omitted_when_zero = true, .default_text = "0"},
    {QUANTITY(struct tsim_software, "gather_ahead", TSIM_COUNT, gather_ahead_parameters,
              "fully sharded, product by product: the most parameters that are gathered ahead; 0: parallelism.prefetch"),
     .min = 1, .max = 1e15, .is_omitted_when_zero = true, .default_text = "0"},
    {QUANTITY(struct tsim_software, "gather_reuse", TSIM_COUNT, gather_reuse_parameters,
              "fully sharded: weights that are not needed again within this number of parameters are dropped, and gathered again"),
     .min = 1, .max = 1e15, .is_omitted_when_zero = true, .default_text = "0"},
    {INTEGER(struct tsim_software, "bucket", bucket_elements, 1e15,
             "gradients reduced at once; default: max(40 M, 1 M x data-parallel size)"), .is_omitted_when_zero = true},
    {QUANTITY(struct tsim_software, "bucket_bytes", TSIM_BYTES, bucket_bytes,
              "the same in bytes of gradients, as PyTorch's bucket_cap_mb; not zero: in place of bucket"),
     .default_text = "0", .is_omitted_when_zero = true},
    {INTEGER(struct tsim_software, "year", year, 3000,
             "year of the newest release that the profile describes; a warning names accelerators that came more than a year later"),
     .is_omitted_when_zero = true},
};
const struct tsim_table tsim_software_table = {SOFTWARE_KEYS, sizeof SOFTWARE_KEYS / sizeof SOFTWARE_KEYS[0], true};
/* clang-format on */
