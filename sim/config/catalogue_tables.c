#include "config/catalogue_read.h"
#include "config/dlrm.h"
#include "config/layer_list.h"

#include <string.h>

/* clang-format off */
const struct tsim_word tsim_precision_words[] = {
    {"fp32", TSIM_FP32}, {"tf32", TSIM_TF32}, {"fp16", TSIM_FP16}, {"bf16", TSIM_BF16}, {"fp8", TSIM_FP8}, {NULL, 0}};

#define SCHEMA_KEY(words_)                                                                                             \
    {.key = "schema", .kind = TSIM_KEY_CONSTANT, .words = (words_), .help = "kind and version of the file"}
#define NAME_KEY(type)                                                                                                 \
    {.key = "name", .kind = TSIM_KEY_STRING, .offset = offsetof(type, name), .default_text = "inline",                 \
     .help = "the file's id"}
#define SOURCE_KEY(type)                                                                                               \
    {.key = "source", .kind = TSIM_KEY_STRING, .offset = offsetof(type, source),                                       \
     .help = "where the values without a source of their own were read"}

/* ---- model ---- */
static const struct tsim_word MODEL_SCHEMA[] = {{"tsim/model/v1", 0}, {NULL, 0}};
static const struct tsim_word MODEL_KINDS[] = {{"transformer", TSIM_MODEL_TRANSFORMER}, {"cnn", TSIM_MODEL_CNN},
                                               {"mlp", TSIM_MODEL_MLP}, {"dlrm", TSIM_MODEL_DLRM}, {NULL, 0}};
static const struct tsim_word NORMS[] = {{"layernorm", TSIM_NORM_LAYERNORM}, {"rmsnorm", TSIM_NORM_RMSNORM}, {NULL, 0}};
static const struct tsim_word ACTIVATIONS[] = {{"auto", TSIM_ACTIVATION_AUTO}, {"relu", TSIM_ACTIVATION_RELU},
                                               {"gelu", TSIM_ACTIVATION_GELU}, {"silu", TSIM_ACTIVATION_SILU},
                                               {"sigmoid", TSIM_ACTIVATION_SIGMOID}, {"tanh", TSIM_ACTIVATION_TANH}, {NULL, 0}};
static const struct tsim_word POSITIONS[] = {{"learned", TSIM_POSITION_LEARNED}, {"rope", TSIM_POSITION_ROPE},
                                             {"alibi", TSIM_POSITION_ALIBI}, {"relative", TSIM_POSITION_RELATIVE},
                                             {"none", TSIM_POSITION_NONE}, {NULL, 0}};

#define EXPERT_INT_KEY(name_, max_, help_)                                                                             \
    .key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_experts, name_), .max = (max_),                \
    .default_text = "0", .help = (help_)
#define EXPERT_INT(name_, max_, help_) {EXPERT_INT_KEY(name_, max_, help_)}
#define EXPERT_NUMBER(name_, field_, dimension_, help_)                                                                \
    .key = (name_), .kind = TSIM_KEY_QUANTITY, .dimension = (dimension_), .is_omitted_when_zero = true,                \
    .offset = offsetof(struct tsim_experts, field_), .default_text = "0", .help = (help_)
static const struct tsim_key EXPERT_KEYS[] = {
    EXPERT_INT(count, 1e5, "experts of a layer; 0: a dense model"),
    EXPERT_INT(active, 1e5, "experts that a token goes through"),
    EXPERT_INT(ffn_hidden, 1e7, "inner width of one expert; default: the model's ffn_hidden"),
    EXPERT_INT(shared, 1e5, "experts that every token goes through"),
    {EXPERT_INT_KEY(first, 1e5, "layers before the first that can have experts"), .is_omitted_when_zero = true},
    EXPERT_INT(every, 1e5, "of the layers from first on every so many have experts; default: 1"),
    {EXPERT_INT_KEY(node_limit, 1e5, "nodes whose experts a token may choose from; 0: all"),
     .is_omitted_when_zero = true},
    {.key = "router_bias", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_experts, router_bias),
     .default_text = "false", .help = "a correction is added to each expert's score"},
    {EXPERT_NUMBER("imbalance", imbalance_frac, TSIM_FRACTION,
                   "coefficient of variation of the experts' popularity, beyond chance")},
    {EXPERT_NUMBER("capacity_factor", capacity_factor, TSIM_COUNT,
                   "rows of an expert's padded buffer over the mean; 0: as many as come, none dropped")},
};
TSIM_TABLE(EXPERTS, EXPERT_KEYS, true);

#define LATENT_INT(name_, help_)                                                                                       \
    {.key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_latent, name_), .max = 1e6,                   \
     .default_text = "0", .is_omitted_when_zero = true, .help = (help_)}
static const struct tsim_key LATENT_KEYS[] = {
    LATENT_INT(kv_rank, "width of the vector that keys and values are expanded from; 0: ordinary attention"),
    LATENT_INT(query_rank, "the same of queries; 0: they are not"),
    LATENT_INT(rope_dim, "rotary part of queries and keys, beside head_dim"),
};
TSIM_TABLE(LATENT, LATENT_KEYS, true);

#define IMAGE_INT(name_, default_, help_)                                                                              \
    {.key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_image, name_), .max = 1e6,                    \
     .default_text = (default_), .is_omitted_when_zero = true, .help = (help_)}
static const struct tsim_key IMAGE_KEYS[] = {
    IMAGE_INT(size, "0", "pixels of a side"),
    IMAGE_INT(patch, "0", "pixels of a patch's side; 0: not a model of images"),
    IMAGE_INT(channels, "0", "of a pixel; default: 3"),
};
TSIM_TABLE(IMAGE, IMAGE_KEYS, true);

#define MODEL_INT(name_, max_, help_)                                                                                  \
    .key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_model, name_), .max = (max_), .help = (help_)
#define MODEL_BOOL(name_, default_, help_)                                                                             \
    {.key = #name_, .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_model, name_), .default_text = (default_),   \
     .help = (help_)}
#define MODEL_FLAG(name_, help_)                                                                                       \
    .key = #name_, .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_model, name_), .is_omitted_when_zero = true,  \
    .help = (help_)
static const struct tsim_key MODEL_KEYS[] = {
    SCHEMA_KEY(MODEL_SCHEMA),
    NAME_KEY(struct tsim_model),
    {.key = "kind", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_model, kind), .words = MODEL_KINDS,
     .default_text = "transformer", .help = "family of architectures"},
    {MODEL_INT(layers, 1e5, "transformer blocks"), .is_required = true, .is_positive = true},
    {MODEL_INT(hidden, 1e7, "width of the residual stream"), .is_required = true, .is_positive = true},
    {MODEL_INT(heads, 1e6, "query heads"), .is_required = true, .is_positive = true},
    {MODEL_INT(kv_heads, 1e6, "key and value heads (fewer than heads: grouped queries); default: heads"), .is_positive = true},
    {MODEL_INT(head_dim, 1e6, "width of a head; default: hidden / heads"), .is_positive = true},
    {MODEL_INT(ffn_hidden, 1e7, "inner width of the feed-forward block; default: 4 x hidden"), .is_positive = true},
    {MODEL_INT(vocab, 1e9, "rows of the embedding table; of a model of images its classes"), .is_required = true, .is_positive = true},
    {MODEL_INT(encoder_layers, 1e5, "the first so many of them are an encoder, the others its decoder; 0: one stack"),
     .is_omitted_when_zero = true},
    {MODEL_INT(positions, 1e9, "rows of the learned position table"), .is_omitted_when_zero = true},
    {MODEL_INT(relative_buckets, 1e6, "of distances, each with a bias for every head; default: 32 (T5)"),
     .is_omitted_when_zero = true},
    MODEL_BOOL(gated_mlp, "false", "gated feed-forward (SwiGLU): three matrices instead of two"),
    MODEL_BOOL(parallel_block, "false", "attention and feed-forward side by side from one norm (GPT-J, PaLM)"),
    {.key = "norm", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_model, norm), .words = NORMS,
     .default_text = "layernorm", .help = "normalization before attention, before feed-forward and at the end"},
    {.key = "activation", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_model, activation), .words = ACTIVATIONS,
     .default_text = "auto", .is_omitted_when_zero = true,
     .help = "activation function; auto: silu where gated, else gelu, in lists of layers relu"},
    {.key = "position", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_model, position), .words = POSITIONS,
     .default_text = "rope", .help = "how positions enter"},
    MODEL_BOOL(tied_embeddings, "false", "embedding and head share one matrix"),
    MODEL_BOOL(bias, "false", "linear layers have biases"),
    {MODEL_FLAG(qkv_bias, "queries, keys and values have biases, whatever bias says")},
    {MODEL_FLAG(qk_norm, "queries and keys are normalized head by head")},
    {MODEL_FLAG(pooler, "a product of hidden x hidden on the first token, beside the head")},
    {.key = "head_share", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_FRACTION, .max = 1, .is_omitted_when_zero = true,
     .offset = offsetof(struct tsim_model, head_frac), .default_text = "0",
     .help = "of the tokens, that head and loss are computed for: the masked ones; 0: all"},
    {MODEL_INT(other_parameters, 1e15, "a head's bias, ...: counted, and held with the embedding"),
     .is_omitted_when_zero = true},
    {.key = "image", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_model, image), .table = &IMAGE,
     .help = "vision transformer: {size, patch, channels}"},
    MODEL_BOOL(causal, "true", "a token attends to earlier ones only"),
    {.key = "experts", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_model, experts), .table = &EXPERTS,
     .help = "mixture of experts"},
    {.key = "latent", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_model, latent), .table = &LATENT,
     .help = "multi-head latent attention"},
    SOURCE_KEY(struct tsim_model),
};
TSIM_TABLE(MODEL, MODEL_KEYS, true);

/* ---- accelerator ---- */
static const struct tsim_word ACCELERATOR_SCHEMA[] = {{"tsim/accelerator/v1", 0}, {NULL, 0}};

#define PEAK(name_, index_)                                                                                            \
    {.key = (name_), .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_FLOPS_PER_S, .default_text = "0",                    \
     .offset = offsetof(struct tsim_accelerator, peak_flops_per_s) + (index_) * sizeof(double),                        \
     .help = "dense matrix peak; absent: lacks it"}
static const struct tsim_key PEAK_KEYS[] = {PEAK("fp32", TSIM_FP32), PEAK("tf32", TSIM_TF32), PEAK("fp16", TSIM_FP16),
                                            PEAK("bf16", TSIM_BF16), PEAK("fp8", TSIM_FP8)};
TSIM_TABLE(PEAKS, PEAK_KEYS, true);

#define SHARE(name_, field_, required_, help_)                                                                         \
    {.key = (name_), .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_FRACTION, .max = 1, .is_required = (required_),      \
     .default_text = (required_) ? NULL : "0", .offset = (field_), .help = (help_)}
#define SUSTAINED(name_, index_)                                                                                       \
    SHARE(name_, offsetof(struct tsim_accelerator, matrix_sustained_frac) + (index_) * sizeof(double), false,          \
          "fraction of the peak that long matrix products reach")
static const struct tsim_key SUSTAINED_KEYS[] = {
    SUSTAINED("fp32", TSIM_FP32), SUSTAINED("tf32", TSIM_TF32), SUSTAINED("fp16", TSIM_FP16),
    SUSTAINED("bf16", TSIM_BF16), SUSTAINED("fp8", TSIM_FP8)};
TSIM_TABLE(SUSTAINED, SUSTAINED_KEYS, true);

static const struct tsim_key FLASH_KEYS[] = {
    SHARE("flash1", offsetof(struct tsim_accelerator, attention_flash1_frac), false, "FlashAttention 1 and Triton kernels"),
    SHARE("flash2", offsetof(struct tsim_accelerator, attention_flash2_frac), false, "FlashAttention 2"),
    SHARE("flash3", offsetof(struct tsim_accelerator, attention_flash3_frac), false, "FlashAttention 3 and cuDNN"),
};
TSIM_TABLE(FLASH, FLASH_KEYS, true);

static const struct tsim_key EFFICIENCY_KEYS[] = {
    {.key = "matrix_sustained", .kind = TSIM_KEY_MAPPING, .table = &SUSTAINED, .is_required = true,
     .help = "fractions of the peaks that long matrix products reach"},
    SHARE("memory_sustained", offsetof(struct tsim_accelerator, memory_sustained_frac), true,
          "fraction of memory_bandwidth that element-wise kernels reach"),
    {.key = "matrix_ramp_k", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_COUNT, .is_required = true,
     .offset = offsetof(struct tsim_accelerator, matrix_ramp_k),
     .help = "depth of a product at which half of a tile's time is start-up"},
    SHARE("speed_spread", offsetof(struct tsim_accelerator, speed_spread_frac), false,
          "coefficient of variation of the matrix rates between specimens; 0: all alike"),
    {.key = "attention", .kind = TSIM_KEY_MAPPING, .table = &FLASH,
     .help = "fractions of the peak that flash attention reaches on long sequences"},
    {.key = "kernel_latency", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_TIME_S, .is_required = true,
     .offset = offsetof(struct tsim_accelerator, kernel_latency_s), .help = "time of a kernel beside its roofline time"},
};
TSIM_TABLE(EFFICIENCY, EFFICIENCY_KEYS, true);

static const struct tsim_key POWER_KEYS[] = {
    {.key = "idle", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_WATTS, .is_required = true,
     .offset = offsetof(struct tsim_accelerator, power_idle_w), .help = "drawn without work"},
    {.key = "limit", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_WATTS, .is_required = true, .is_positive = true,
     .offset = offsetof(struct tsim_accelerator, power_limit_w), .help = "the most that it draws"},
    SHARE("compute", offsetof(struct tsim_accelerator, power_compute_frac), true,
          "share of (limit - idle) with the matrix units in full use"),
    SHARE("memory", offsetof(struct tsim_accelerator, power_memory_frac), true, "share with the memory in full use"),
    SHARE("link", offsetof(struct tsim_accelerator, power_link_frac), true, "share with the links in full use"),
};
TSIM_TABLE(POWER, POWER_KEYS, true);

#define QUANTITY(type, name_, dimension_, field_, help_)                                                               \
    .key = (name_), .kind = TSIM_KEY_QUANTITY, .dimension = (dimension_), .offset = offsetof(type, field_),            \
    .help = (help_)
#define INTEGER(type, name_, field_, max_, help_)                                                                      \
    .key = (name_), .kind = TSIM_KEY_INT, .offset = offsetof(type, field_), .max = (max_), .help = (help_)
#define ACCELERATOR_QUANTITY(...) QUANTITY(struct tsim_accelerator, __VA_ARGS__)
static const struct tsim_key ACCELERATOR_KEYS[] = {
    SCHEMA_KEY(ACCELERATOR_SCHEMA),
    NAME_KEY(struct tsim_accelerator),
    {.key = "vendor", .kind = TSIM_KEY_STRING, .offset = offsetof(struct tsim_accelerator, vendor), .help = "who makes it"},
    {INTEGER(struct tsim_accelerator, "year", year, 3000, "of its release"), .is_omitted_when_zero = true},
    SOURCE_KEY(struct tsim_accelerator),
    {INTEGER(struct tsim_accelerator, "compute_units", compute_units, 1e7, "SMs, CUs or cores that tiles are dealt to"),
     .is_required = true, .is_positive = true},
    {ACCELERATOR_QUANTITY("clock", TSIM_HZ, clock_hz, "clock that the peaks are stated at"), .is_required = true, .is_positive = true},
    {ACCELERATOR_QUANTITY("memory", TSIM_BYTES, memory_bytes, "capacity"), .is_required = true, .is_positive = true},
    {ACCELERATOR_QUANTITY("memory_bandwidth", TSIM_BYTES_PER_S, memory_bytes_per_s, "peak"), .is_required = true, .is_positive = true},
    {ACCELERATOR_QUANTITY("cache", TSIM_BYTES, cache_bytes, "last level"), .default_text = "0"},
    {.key = "peak", .kind = TSIM_KEY_MAPPING, .table = &PEAKS, .is_required = true, .help = "dense matrix peaks by precision"},
    {ACCELERATOR_QUANTITY("vector_peak", TSIM_FLOPS_PER_S, vector_flops_per_s, "fp32 outside the matrix units"),
     .is_required = true, .is_positive = true},
    {.key = "efficiency", .kind = TSIM_KEY_MAPPING, .table = &EFFICIENCY, .is_required = true,
     .help = "what long runs reach of the peaks"},
    {.key = "power", .kind = TSIM_KEY_MAPPING, .table = &POWER, .is_required = true, .help = "electrical power"},
    {ACCELERATOR_QUANTITY("rent", TSIM_USD_PER_S, rent_usd_per_s, "price of an hour"), .default_text = "0"},
    {ACCELERATOR_QUANTITY("purchase", TSIM_USD, purchase_usd, "price"), .default_text = "0"},
    {ACCELERATOR_QUANTITY("reserve", TSIM_BYTES, usable_memory_reserve_bytes,
                          "memory that driver, context and communicators take"), .default_text = "0"},
};
TSIM_TABLE(ACCELERATOR, ACCELERATOR_KEYS, true);

/* ---- node ---- */
static const struct tsim_word NODE_SCHEMA[] = {{"tsim/node/v1", 0}, {NULL, 0}};
static const struct tsim_word SCALE_UPS[] = {{"none", TSIM_SCALE_UP_NONE}, {"switch", TSIM_SCALE_UP_SWITCH},
                                             {"mesh", TSIM_SCALE_UP_MESH}, {"pcie", TSIM_SCALE_UP_PCIE},
                                             {"cube-mesh", TSIM_SCALE_UP_CUBE_MESH}, {NULL, 0}};
#define NODE_QUANTITY(...) {QUANTITY(struct tsim_node, __VA_ARGS__), .default_text = "0"}
#define PCIE_INT(name_, member_, help_)                                                                                \
    {INTEGER(struct tsim_node, name_, member_, 1e4, help_), .default_text = "0", .is_omitted_when_zero = true}
#define PCIE_QUANTITY(name_, member_, help_)                                                                           \
    {QUANTITY(struct tsim_node, name_, TSIM_BYTES_PER_S, member_, help_), .default_text = "0", .is_omitted_when_zero = true}
static const struct tsim_key SCALE_UP_KEYS[] = {
    {.key = "kind", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_node, scale_up), .words = SCALE_UPS,
     .is_required = true, .help = "how the accelerators of a node are joined"},
    {.key = "name", .kind = TSIM_KEY_STRING, .offset = offsetof(struct tsim_node, scale_up_name), .help = "for people"},
    NODE_QUANTITY("bandwidth", TSIM_BYTES_PER_S, scale_up_bytes_per_s, "per accelerator and direction, wire"),
    NODE_QUANTITY("ring_bandwidth", TSIM_BYTES_PER_S, scale_up_ring_bytes_per_s,
                  "bus bandwidth that a ring over all accelerators reaches"),
    NODE_QUANTITY("reduce_bandwidth", TSIM_BYTES_PER_S, scale_up_reduce_bytes_per_s,
                  "bus bandwidth of reductions in the switch; 0: lacks them"),
    NODE_QUANTITY("latency", TSIM_TIME_S, scale_up_latency_s, "of one hop"),
    PCIE_INT("accelerators_per_switch", accelerators_per_switch, "PCIe: how many share a switch's uplink; 0: none does"),
    PCIE_QUANTITY("switch_uplink", switch_uplink_bytes_per_s, "PCIe: of a switch to its socket; default: bandwidth"),
    PCIE_INT("accelerators_per_socket", accelerators_per_socket, "PCIe: how many hang on a socket; 0: all on one"),
    PCIE_QUANTITY("socket_link", socket_link_bytes_per_s, "PCIe: between sockets; default: bandwidth"),
};
TSIM_TABLE(SCALE_UP, SCALE_UP_KEYS, true);

static const struct tsim_key NODE_POWER_KEYS[] = {
    NODE_QUANTITY("overhead", TSIM_WATTS, power_overhead_w, "drawn beside the accelerators under load"),
    NODE_QUANTITY("overhead_idle", TSIM_WATTS, power_overhead_idle_w, "drawn beside the accelerators without load"),
    NODE_QUANTITY("limit", TSIM_WATTS, power_limit_w, "the most that a node draws; 0: no limit"),
};
TSIM_TABLE(NODE_POWER, NODE_POWER_KEYS, true);

static void read_accelerator(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    if (value)
        *(const struct tsim_accelerator **)field = tsim_accelerator_read(reader, value, path);
}

static void write_table(struct tsim_writer *writer, const char *key, const struct tsim_table *table, const char *path,
                        const void *object) {
    tsim_writer_begin(writer, key, '{');
    tsim_writer_table(writer, table, path, object);
    tsim_writer_end(writer, '}');
}

static void write_accelerator(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    write_table(writer, key, &ACCELERATOR, path, *(const struct tsim_accelerator *const *)field);
}

static const struct tsim_key NODE_KEYS[] = {
    SCHEMA_KEY(NODE_SCHEMA),
    NAME_KEY(struct tsim_node),
    SOURCE_KEY(struct tsim_node),
    {.key = "accelerator", .kind = TSIM_KEY_CUSTOM, .offset = offsetof(struct tsim_node, accelerator), .is_required = true,
     .read = read_accelerator, .write = write_accelerator, .help = "id, path or mapping"},
    {INTEGER(struct tsim_node, "accelerators", accelerators, 1e4, "how many in one node"), .is_required = true, .is_positive = true},
    {.key = "scale_up", .kind = TSIM_KEY_MAPPING, .table = &SCALE_UP, .is_required = true,
     .help = "links between the accelerators of a node"},
    {INTEGER(struct tsim_node, "nics", nics, 1e5, "network ports of a node"), .default_text = "0"},
    NODE_QUANTITY("nic_bandwidth", TSIM_BYTES_PER_S, nic_bytes_per_s, "of one port and direction, wire"),
    NODE_QUANTITY("host_link", TSIM_BYTES_PER_S, host_link_bytes_per_s, "host to one accelerator, per direction"),
    {INTEGER(struct tsim_node, "host_cores", host_cores, 1e6, "cores of the host"), .default_text = "0"},
    NODE_QUANTITY("host_memory", TSIM_BYTES, host_memory_bytes, "of the host"),
    {.key = "power", .kind = TSIM_KEY_MAPPING, .table = &NODE_POWER, .help = "electrical power beside the accelerators"},
    NODE_QUANTITY("purchase", TSIM_USD, purchase_usd, "price of a whole node; 0: that of its accelerators"),
};
TSIM_TABLE(NODE, NODE_KEYS, true);

/* ---- fabric ---- */
static const struct tsim_word FABRIC_SCHEMA[] = {{"tsim/fabric/v1", 0}, {NULL, 0}};
static const struct tsim_word TOPOLOGIES[] = {
    {"crossbar", TSIM_TOPOLOGY_CROSSBAR}, {"fat-tree", TSIM_TOPOLOGY_FAT_TREE}, {"torus", TSIM_TOPOLOGY_TORUS},
    {"dragonfly", TSIM_TOPOLOGY_DRAGONFLY}, {NULL, 0}};
static const struct tsim_word ROUTINGS[] = {
    {"ecmp", TSIM_ROUTING_ECMP}, {"adaptive", TSIM_ROUTING_ADAPTIVE}, {NULL, 0}};
#define FABRIC_QUANTITY(...) QUANTITY(struct tsim_fabric, __VA_ARGS__)
#define FABRIC_INT(...) INTEGER(struct tsim_fabric, __VA_ARGS__)

static const struct tsim_key TIER_KEYS[] = {
    {INTEGER(struct tsim_tier, "ports", ports, 1e7, "node ports that reach each other without going higher"),
     .is_required = true, .is_positive = true},
    {QUANTITY(struct tsim_tier, "oversubscription", TSIM_COUNT, oversubscription,
              "what comes from below over what the uplinks carry"), .default_text = "1", .is_positive = true},
};
TSIM_TABLE(TIER, TIER_KEYS, true);

static void read_tiers(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    struct tsim_fabric *fabric = field;
    fabric->tiers = tsim_schema_read_list(reader, &TIER, value, path, sizeof *fabric->tiers, &fabric->n_tiers);
}

static void write_tiers(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    const struct tsim_fabric *fabric = field;
    tsim_writer_list(writer, key, &TIER, path, fabric->tiers, sizeof *fabric->tiers, fabric->n_tiers);
}

#define OPTIONAL_INT(name_, member_, max_, help_)                                                                      \
    {FABRIC_INT(name_, member_, max_, help_), .default_text = "0", .is_omitted_when_zero = true}
static const struct tsim_key TORUS_KEYS[] = {
    OPTIONAL_INT("dimensions", torus_dimensions, 3, "2 or 3"),
    OPTIONAL_INT("wrap", torus_wrap, 1e6, "a dimension that is a multiple of this closes to a ring; 0: none does"),
};
TSIM_TABLE(TORUS, TORUS_KEYS, true);
static const struct tsim_key DRAGONFLY_KEYS[] = {
    OPTIONAL_INT("ports", dragonfly_ports, 1e5, "node ports of a router"),
    OPTIONAL_INT("routers", dragonfly_routers, 1e5, "of a group, each linked to all others of it"),
    OPTIONAL_INT("global_links", dragonfly_global_links, 1e5, "of a router, to other groups"),
};
TSIM_TABLE(DRAGONFLY, DRAGONFLY_KEYS, true);
static const struct tsim_key FABRIC_KEYS[] = {
    SCHEMA_KEY(FABRIC_SCHEMA),
    NAME_KEY(struct tsim_fabric),
    SOURCE_KEY(struct tsim_fabric),
    {FABRIC_QUANTITY("bandwidth", TSIM_BYTES_PER_S, link_bytes_per_s, "of one port and direction, wire"),
     .is_required = true, .is_positive = true},
    {FABRIC_QUANTITY("efficiency", TSIM_FRACTION, efficiency_frac, "of the wire that long transfers reach"),
     .is_required = true, .is_positive = true, .max = 1},
    {FABRIC_QUANTITY("latency", TSIM_TIME_S, latency_s, "of one message, end to end"), .is_required = true},
    {FABRIC_QUANTITY("oversubscription", TSIM_COUNT, oversubscription, "of the uplinks; 1: non-blocking"),
     .default_text = "1", .is_positive = true},
    {FABRIC_QUANTITY("power_per_port", TSIM_WATTS, power_w_per_port, "switch and optics share of one port"),
     .default_text = "0"},
    {.key = "unordered", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_fabric, is_unordered),
     .default_text = "false", .help = "bytes of a message may arrive in any order: collectives use Simple alone"},
    {.key = "topology", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_fabric, topology), .words = TOPOLOGIES,
     .default_text = "crossbar", .help = "how the ports are joined"},
    {.key = "routing", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_fabric, routing), .words = ROUTINGS,
     .default_text = "ecmp", .help = "fat tree: one of the equal paths by hash of the pair, or all of them evenly"},
    {.key = "tiers", .kind = TSIM_KEY_CUSTOM, .read = read_tiers, .write = write_tiers,
     .help = "fat tree, from below: list of {ports, oversubscription}; above the last all meet"},
    {.key = "rails", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_fabric, rails), .default_text = "false",
     .help = "fat tree: a lowest switch takes the same port of many nodes"},
    {.key = "torus", .kind = TSIM_KEY_MAPPING, .table = &TORUS, .help = "of accelerators"},
    {.key = "dragonfly", .kind = TSIM_KEY_MAPPING, .table = &DRAGONFLY, .help = "groups of routers"},
};
TSIM_TABLE(FABRIC, FABRIC_KEYS, true);

/* ---- region ---- */
static const struct tsim_word REGION_SCHEMA[] = {{"tsim/region/v1", 0}, {NULL, 0}};
#define REGION_QUANTITY(...) QUANTITY(struct tsim_region, __VA_ARGS__)
static const struct tsim_key REGION_KEYS[] = {
    SCHEMA_KEY(REGION_SCHEMA),
    NAME_KEY(struct tsim_region),
    SOURCE_KEY(struct tsim_region),
    {.key = "place", .kind = TSIM_KEY_STRING, .offset = offsetof(struct tsim_region, place), .help = "for people"},
    {REGION_QUANTITY("carbon", TSIM_KG_PER_J, carbon_kg_per_j, "CO2 equivalent of the grid's electricity"), .is_required = true},
    {REGION_QUANTITY("price", TSIM_USD_PER_J, price_usd_per_j, "of electricity for a large consumer; absent: not known"),
     .default_text = "0"},
};
TSIM_TABLE(REGION, REGION_KEYS, true);

/* ---- storage ---- */
static const struct tsim_word STORAGE_SCHEMA[] = {{"tsim/storage/v1", 0}, {NULL, 0}};
#define STORAGE_QUANTITY(...) QUANTITY(struct tsim_storage, __VA_ARGS__)
static const struct tsim_key STORAGE_KEYS[] = {
    SCHEMA_KEY(STORAGE_SCHEMA),
    NAME_KEY(struct tsim_storage),
    SOURCE_KEY(struct tsim_storage),
    {.key = "place", .kind = TSIM_KEY_STRING, .offset = offsetof(struct tsim_storage, place), .help = "for people"},
    {STORAGE_QUANTITY("bandwidth", TSIM_BYTES_PER_S, bandwidth_bytes_per_s, "reading in order; of each node, or of all when shared"),
     .is_required = true, .is_positive = true},
    {STORAGE_QUANTITY("random_access", TSIM_FRACTION, random_access_frac, "of the bandwidth that reading in random order leaves"),
     .default_text = "1", .is_positive = true, .max = 1},
    {STORAGE_QUANTITY("latency", TSIM_TIME_S, latency_s, "of one request"), .default_text = "0"},
    {STORAGE_QUANTITY("stream_bandwidth", TSIM_BYTES_PER_S, stream_bytes_per_s, "one reader at most; 0: all there is"),
     .default_text = "0"},
    {STORAGE_QUANTITY("client_bandwidth", TSIM_BYTES_PER_S, client_bytes_per_s, "shared: one node at most; 0: all there is"),
     .default_text = "0"},
    {.key = "shared", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_storage, is_shared), .default_text = "false",
     .help = "by all nodes; otherwise each node has its own"},
};
TSIM_TABLE(STORAGE, STORAGE_KEYS, true);

/* ---- software ---- */
static const struct tsim_word SOFTWARE_SCHEMA[] = {{"tsim/software/v1", 0}, {NULL, 0}};
static const struct tsim_word ATTENTION_KERNELS[] = {
    {"unfused", TSIM_ATTENTION_UNFUSED}, {"fused-softmax", TSIM_ATTENTION_FUSED_SOFTMAX},
    {"flash-triton", TSIM_ATTENTION_FLASH_TRITON}, {"flash1", TSIM_ATTENTION_FLASH1}, {"flash2", TSIM_ATTENTION_FLASH2},
    {"flash3", TSIM_ATTENTION_FLASH3}, {"cudnn", TSIM_ATTENTION_CUDNN}, {NULL, 0}};
static const struct tsim_word FUSIONS[] = {{"none", TSIM_FUSION_NONE}, {"megatron", TSIM_FUSION_MEGATRON},
                                           {"te", TSIM_FUSION_TE}, {"compile", TSIM_FUSION_COMPILE}, {NULL, 0}};
static const struct tsim_word PIPELINE_OVERLAPS[] = {
    {"always", TSIM_PIPELINE_OVERLAP_ALWAYS}, {"interleaved", TSIM_PIPELINE_OVERLAP_INTERLEAVED}, {NULL, 0}};
static const struct tsim_word DISPATCHES[] = {
    {"all-to-all", TSIM_DISPATCH_ALL_TO_ALL}, {"per-node", TSIM_DISPATCH_PER_NODE}, {NULL, 0}};
static const struct tsim_word ACCUMULATIONS[] = {
    {"fused", TSIM_ACCUMULATION_FUSED}, {"separate", TSIM_ACCUMULATION_SEPARATE}, {NULL, 0}};
static const struct tsim_word REDUCTIONS[] = {
    {"scatter", TSIM_REDUCTION_SCATTER}, {"all-reduce", TSIM_REDUCTION_ALL_REDUCE}, {NULL, 0}};
static const struct tsim_word SHARD_COPIES[] = {{"flat", TSIM_COPIES_FLAT},
                                                {"per-parameter", TSIM_COPIES_PER_PARAMETER},
                                                {"none", TSIM_COPIES_NONE}, {NULL, 0}};
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

#define SOFTWARE_QUANTITY(...) {QUANTITY(struct tsim_software, __VA_ARGS__), .default_text = "0"}
static const struct tsim_key SOFTWARE_KEYS[] = {
    SCHEMA_KEY(SOFTWARE_SCHEMA),
    NAME_KEY(struct tsim_software),
    SOURCE_KEY(struct tsim_software),
    {.key = "attention_kernel", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_software, attention_kernel),
     .words = ATTENTION_KERNELS, .is_required = true, .help = "which kernel computes attention"},
    {.key = "fusion", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_software, fusion), .words = FUSIONS,
     .is_required = true, .help = "which element-wise operators are fused"},
    {QUANTITY(struct tsim_software, "dropout", TSIM_FRACTION, dropout, "probability; 0: no traffic and no masks"),
     .default_text = "0", .max = 1},
    SOFTWARE_QUANTITY("host_time_per_op", TSIM_TIME_S, host_time_per_op_s, "that the host needs to launch one operator"),
    SOFTWARE_QUANTITY("host_time_per_collective", TSIM_TIME_S, host_time_per_collective_s,
                      "added to each tensor-parallel collective"),
    SOFTWARE_QUANTITY("host_time_per_checkpoint", TSIM_TIME_S, host_time_per_checkpoint_s,
                      "added to each recomputed layer"),
    {.key = "checkpoint_early_stop", .kind = TSIM_KEY_BOOL, .default_text = "false",
     .offset = offsetof(struct tsim_software, checkpoint_early_stop),
     .help = "recomputation stops at the last tensor that is needed"},
    {QUANTITY(struct tsim_software, "optimizer_traffic", TSIM_COUNT, optimizer_traffic_bytes,
              "bytes that the optimizer moves per parameter and step"), .default_text = "44", .is_positive = true},
    {.key = "accumulation", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_software, accumulation),
     .words = ACCUMULATIONS, .default_text = "fused",
     .help = "gradients are added by the weight gradient's product (fused) or by a kernel after it (separate)"},
    {.key = "gradient_reduction", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_software, gradient_reduction),
     .words = REDUCTIONS, .default_text = "scatter",
     .help = "with ZeRO-1 gradients are scattered over the shards, or all-reduced whole"},
    {.key = "shard_copies", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_software, shard_copies),
     .words = SHARD_COPIES, .default_text = "flat",
     .help = "fully sharded: gradients joined, converted and divided (flat); copied out of and into buffers "
             "(per-parameter); none"},
    {.key = "overlap", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_software, overlap),
     .table = &tsim_overlap_table, .help = "communication under computation; absent: false"},
    {.key = "pipeline_overlap", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_software, pipeline_overlap),
     .words = PIPELINE_OVERLAPS, .default_text = "always",
     .help = "schedules in which overlap.pipeline takes effect: always, or interleaved alone"},
    {.key = "fp8_activation_input", .kind = TSIM_KEY_BOOL, .default_text = "false",
     .offset = offsetof(struct tsim_software, fp8_activation_input),
     .help = "training in fp8, inputs of the activation function are kept in fp8 for the backward pass"},
    {.key = "expert_dispatch", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_software, expert_dispatch),
     .words = DISPATCHES, .default_text = "all-to-all",
     .help = "all-to-all: a copy of a token for each of its experts; per-node: one for each node, fp8 where products are"},
    {INTEGER(struct tsim_software, "nics_used", nics_used, 1e5, "network ports used in each node, or all"),
     .words = ALL_NICS, .default_text = "all"},
    {INTEGER(struct tsim_software, "bucket", bucket_elements, 1e15,
             "gradients reduced at once; default: max(40 M, 1 M x data-parallel size)"), .is_omitted_when_zero = true},
};
TSIM_TABLE(SOFTWARE, SOFTWARE_KEYS, true);
/* clang-format on */

const struct tsim_table *tsim_catalogue_table(enum tsim_catalogue_kind kind) {
    static const struct tsim_table *const tables[] = {
        [TSIM_CATALOGUE_MODELS] = &MODEL,     [TSIM_CATALOGUE_ACCELERATORS] = &ACCELERATOR,
        [TSIM_CATALOGUE_NODES] = &NODE,       [TSIM_CATALOGUE_FABRICS] = &FABRIC,
        [TSIM_CATALOGUE_REGIONS] = &REGION,   [TSIM_CATALOGUE_STORAGE] = &STORAGE,
        [TSIM_CATALOGUE_SOFTWARE] = &SOFTWARE};
    TSIM_ASSERT(kind < TSIM_CATALOGUE_SCENARIOS);
    return tables[kind];
}

/* ---- what a table cannot say: defaults that depend on other keys, and keys that must agree ---- */

static bool has_errors_since(const struct tsim_reader *reader, size_t n_errors) {
    return reader->diags->n_errors > n_errors;
}

static const char *at_key(struct tsim_reader *reader, const char *path, const char *key) {
    return tsim_schema_path(reader->arena, path, key);
}

static const struct tsim_value *place_of(const struct tsim_value *mapping, const char *key) {
    const struct tsim_value *value = tsim_value_find_path(mapping, key);
    return value ? value : mapping;
}

/* A token for each patch, and the class token. */
static void finish_image(struct tsim_reader *reader, const struct tsim_value *mapping, const char *path,
                         struct tsim_model *m) {
    struct tsim_image *image = &m->image;
    if (image->patch == 0 && image->size == 0)
        return;
    image->channels = image->channels ? image->channels : 3;
    if (image->patch == 0 || image->size % image->patch != 0 || image->size == 0) {
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_INFEASIBLE, place_of(mapping, "image"),
                                        at_key(reader, path, "image"), "size %lld is no multiple of patch %lld",
                                        (long long)image->size, (long long)image->patch),
                       "for example {size: 224, patch: 16}");
        m->positions = m->positions ? m->positions : 1;
        return;
    }
    image->tokens = (image->size / image->patch) * (image->size / image->patch) + 1;
    m->positions = m->position == TSIM_POSITION_LEARNED && !m->positions ? image->tokens : m->positions;
    if (m->positions && m->positions != image->tokens)
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_INFEASIBLE, place_of(mapping, "positions"),
                                        at_key(reader, path, "positions"), "%lld for an image of %lld tokens",
                                        (long long)m->positions, (long long)image->tokens),
                       "leave it out: size, patch and the class token say it");
    if (m->tied_embeddings || m->experts.count > 0)
        tsim_value_error(reader->diags, TSIM_ERR_INFEASIBLE, place_of(mapping, "image"), at_key(reader, path, "image"),
                         "a model of images has no table to tie, and no experts in this version");
}

/* The first stack encodes; every layer of the second attends to its result. */
static void finish_stacks(struct tsim_reader *reader, const struct tsim_value *mapping, const char *path,
                          struct tsim_model *m) {
    if (m->position == TSIM_POSITION_RELATIVE && !m->relative_buckets)
        m->relative_buckets = 32;
    if (m->position != TSIM_POSITION_RELATIVE && m->relative_buckets)
        tsim_value_error(reader->diags, TSIM_ERR_INFEASIBLE, place_of(mapping, "relative_buckets"),
                         at_key(reader, path, "relative_buckets"), "only position: relative has buckets");
    if (m->encoder_layers == 0)
        return;
    if (m->encoder_layers >= m->layers)
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_INFEASIBLE, place_of(mapping, "encoder_layers"),
                                        at_key(reader, path, "encoder_layers"), "%lld of %lld layers leave no decoder",
                                        (long long)m->encoder_layers, (long long)m->layers),
                       "layers counts both stacks; an encoder alone is causal: false");
    if (m->experts.count > 0 || m->latent.kv_rank > 0 || m->parallel_block || m->image.patch > 0)
        tsim_value_error(reader->diags, TSIM_ERR_INFEASIBLE, place_of(mapping, "encoder_layers"),
                         at_key(reader, path, "encoder_layers"),
                         "experts, latent, parallel_block and image are for models of one stack in this version");
}

static void finish_model(struct tsim_reader *reader, const struct tsim_value *mapping, const char *path,
                         struct tsim_model *m) {
    finish_image(reader, mapping, path, m);
    finish_stacks(reader, mapping, path, m);
    if (!m->head_dim && m->hidden % m->heads != 0)
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_INFEASIBLE, place_of(mapping, "heads"),
                                        at_key(reader, path, "heads"), "hidden %lld is not a multiple of heads %lld",
                                        (long long)m->hidden, (long long)m->heads),
                       "give head_dim where it is not hidden / heads");
    m->kv_heads = m->kv_heads ? m->kv_heads : m->heads;
    m->head_dim = m->head_dim ? m->head_dim : m->hidden / m->heads;
    m->ffn_hidden = m->ffn_hidden ? m->ffn_hidden : 4 * m->hidden;
    if (m->kv_heads > m->heads || m->heads % m->kv_heads != 0)
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_INFEASIBLE, place_of(mapping, "kv_heads"),
                                        at_key(reader, path, "kv_heads"),
                                        "heads %lld is not a multiple of kv_heads %lld", (long long)m->heads,
                                        (long long)m->kv_heads),
                       "every key and value head serves the same number of query heads");
    if (m->position == TSIM_POSITION_LEARNED && !m->positions)
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, place_of(mapping, "position"),
                                        at_key(reader, path, "position"), "learned positions need 'positions'"),
                       "positions: the rows of the table, the longest sequence that the model takes");
    if (m->position != TSIM_POSITION_LEARNED && m->positions) {
        tsim_value_warning(reader->diags, place_of(mapping, "positions"), at_key(reader, path, "positions"),
                           "has no effect: the positions are not learned");
        m->positions = 0;
    }
}

static void finish_experts(struct tsim_reader *reader, const struct tsim_value *mapping, const char *path,
                           struct tsim_model *m) {
    struct tsim_experts *e = &m->experts;
    if (e->count && (e->active < 1 || e->active > e->count))
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_INFEASIBLE, place_of(mapping, "experts.active"),
                                        at_key(reader, path, "experts.active"), "%lld of %lld experts active",
                                        (long long)e->active, (long long)e->count),
                       "active lies between 1 and count");
    if (!e->count) {
        *e = (struct tsim_experts){0};
        return;
    }
    e->ffn_hidden = e->ffn_hidden ? e->ffn_hidden : m->ffn_hidden;
    e->every = e->every ? e->every : 1;
    if (m->parallel_block)
        tsim_value_error(reader->diags, TSIM_ERR_INFEASIBLE, place_of(mapping, "parallel_block"),
                         at_key(reader, path, "parallel_block"), "a layer with experts has its blocks in a row");
    if (e->first + e->every > m->layers)
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_INFEASIBLE, place_of(mapping, "experts"),
                                        at_key(reader, path, "experts"),
                                        "no layer has experts: %lld layers, first %lld, "
                                        "every %lld",
                                        (long long)m->layers, (long long)e->first, (long long)e->every),
                       "first + every is at most the number of layers");
    if (e->capacity_factor > 0 && e->imbalance_frac > 0)
        tsim_value_warning(reader->diags, place_of(mapping, "experts.imbalance"),
                           at_key(reader, path, "experts.imbalance"),
                           "has no effect: with a capacity_factor every expert's buffer is as long");
    if (e->capacity_factor > 0 && e->capacity_factor * (double)e->active > (double)e->count)
        tsim_diag_hint(
            tsim_value_error(reader->diags, TSIM_ERR_INFEASIBLE, place_of(mapping, "experts.capacity_factor"),
                             at_key(reader, path, "experts.capacity_factor"),
                             "a buffer of %g times the mean is longer than all tokens together", e->capacity_factor),
            "at most count / active = %g", (double)e->count / (double)e->active);
}

static void finish_accelerator(struct tsim_reader *reader, const struct tsim_value *mapping, const char *path,
                               const struct tsim_accelerator *a) {
    bool has_a_peak = false;
    for (int p = 0; p < TSIM_N_PRECISIONS; p++) {
        const char *word = tsim_word_of(tsim_precision_words, p);
        has_a_peak |= a->peak_flops_per_s[p] > 0;
        if (a->peak_flops_per_s[p] > 0 && a->matrix_sustained_frac[p] <= 0)
            tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_SCHEMA,
                                            place_of(mapping, "efficiency.matrix_sustained"),
                                            at_key(reader, path, "efficiency.matrix_sustained"),
                                            "no value for %s, which has a peak", word),
                           "%s: the fraction of the peak that long matrix products reach", word);
    }
    if (!has_a_peak)
        tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, place_of(mapping, "peak"), at_key(reader, path, "peak"),
                         "no precision has a peak");
    if (a->memory_sustained_frac <= 0)
        tsim_value_error(reader->diags, TSIM_ERR_RANGE, place_of(mapping, "efficiency.memory_sustained"),
                         at_key(reader, path, "efficiency.memory_sustained"), "must be greater than 0");
    if (a->power_idle_w > a->power_limit_w)
        tsim_value_error(reader->diags, TSIM_ERR_INFEASIBLE, place_of(mapping, "power.idle"),
                         at_key(reader, path, "power.idle"), "is above power.limit");
    if (a->usable_memory_reserve_bytes >= a->memory_bytes)
        tsim_value_error(reader->diags, TSIM_ERR_INFEASIBLE, place_of(mapping, "reserve"),
                         at_key(reader, path, "reserve"), "is not below memory");
}

static void finish_pcie(struct tsim_reader *reader, const struct tsim_value *mapping, const char *path,
                        struct tsim_node *node) {
    bool is_tree = node->accelerators_per_switch > 0 || node->accelerators_per_socket > 0;
    if (is_tree && node->scale_up != TSIM_SCALE_UP_PCIE)
        tsim_value_error(reader->diags, TSIM_ERR_INFEASIBLE, place_of(mapping, "scale_up.kind"),
                         at_key(reader, path, "scale_up.kind"), "only kind: pcie has switches and sockets");
    if (node->accelerators_per_switch > 0 && node->accelerators_per_socket % node->accelerators_per_switch != 0)
        tsim_value_error(reader->diags, TSIM_ERR_INFEASIBLE, place_of(mapping, "scale_up.accelerators_per_socket"),
                         at_key(reader, path, "scale_up.accelerators_per_socket"),
                         "is not a multiple of accelerators_per_switch (%lld)",
                         (long long)node->accelerators_per_switch);
    if (node->switch_uplink_bytes_per_s <= 0 && is_tree)
        node->switch_uplink_bytes_per_s = node->scale_up_bytes_per_s;
    if (node->socket_link_bytes_per_s <= 0 && is_tree)
        node->socket_link_bytes_per_s = node->scale_up_bytes_per_s;
}

static void finish_node(struct tsim_reader *reader, const struct tsim_value *mapping, const char *path,
                        struct tsim_node *node) {
    bool is_linked = node->scale_up != TSIM_SCALE_UP_NONE;
    if (is_linked && node->scale_up_bytes_per_s <= 0)
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, place_of(mapping, "scale_up"),
                                        at_key(reader, path, "scale_up"), "missing key 'bandwidth'"),
                       "per accelerator and direction, for example 450 GB/s");
    if (is_linked && node->scale_up_ring_bytes_per_s <= 0)
        node->scale_up_ring_bytes_per_s = node->scale_up_bytes_per_s;
    if (!is_linked && node->accelerators > 1)
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_INFEASIBLE, place_of(mapping, "scale_up.kind"),
                                        at_key(reader, path, "scale_up.kind"),
                                        "%lld accelerators without links between them", (long long)node->accelerators),
                       "kind: switch, mesh or pcie");
    if (node->nics > 0 && node->nic_bytes_per_s <= 0)
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, place_of(mapping, "nics"),
                                        at_key(reader, path, "nics"), "missing key 'nic_bandwidth'"),
                       "per NIC and direction, for example 400 Gb/s");
    if (node->scale_up == TSIM_SCALE_UP_CUBE_MESH && node->accelerators != 8)
        tsim_value_error(reader->diags, TSIM_ERR_INFEASIBLE, place_of(mapping, "scale_up.kind"),
                         at_key(reader, path, "scale_up.kind"), "a hybrid cube mesh has 8 accelerators, this node %lld",
                         (long long)node->accelerators);
    finish_pcie(reader, mapping, path, node);
}

static void finish_tiers(struct tsim_reader *reader, const struct tsim_value *mapping, const char *path,
                         const struct tsim_fabric *fabric) {
    if (fabric->topology != TSIM_TOPOLOGY_FAT_TREE) {
        if (fabric->n_tiers > 0 || fabric->rails)
            tsim_value_error(reader->diags, TSIM_ERR_INFEASIBLE, place_of(mapping, "topology"),
                             at_key(reader, path, "topology"), "only a fat-tree has tiers and rails");
        return;
    }
    if (fabric->n_tiers == 0 && !tsim_value_find(mapping, "tiers"))
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, place_of(mapping, "topology"),
                                        at_key(reader, path, "topology"), "missing key 'tiers'"),
                       "from below, for example [{ports: 32}, {ports: 1024, oversubscription: 2}]");
    for (size_t i = 0; i < fabric->n_tiers; i++) {
        int64_t below = i > 0 ? fabric->tiers[i - 1].ports : 1;
        if (below > 0 && (fabric->tiers[i].ports <= below || fabric->tiers[i].ports % below != 0))
            tsim_value_error(reader->diags, TSIM_ERR_INFEASIBLE, place_of(mapping, "tiers"),
                             at_key(reader, path, "tiers"), "%lld ports are no multiple of the %lld of the tier below",
                             (long long)fabric->tiers[i].ports, (long long)below);
        if (fabric->tiers[i].oversubscription < 1)
            tsim_value_error(reader->diags, TSIM_ERR_RANGE, place_of(mapping, "tiers"), at_key(reader, path, "tiers"),
                             "an oversubscription is below 1");
    }
}

static void finish_topology(struct tsim_reader *reader, const struct tsim_value *mapping, const char *path,
                            const struct tsim_fabric *fabric) {
    finish_tiers(reader, mapping, path, fabric);
    if (fabric->topology == TSIM_TOPOLOGY_TORUS && (fabric->torus_dimensions < 2 || fabric->torus_dimensions > 3))
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, place_of(mapping, "torus"),
                                        at_key(reader, path, "torus"), "how many dimensions?"),
                       "torus: {dimensions: 3, wrap: 4}");
    if (fabric->topology == TSIM_TOPOLOGY_DRAGONFLY &&
        (fabric->dragonfly_ports < 1 || fabric->dragonfly_routers < 1 || fabric->dragonfly_global_links < 1))
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, place_of(mapping, "dragonfly"),
                                        at_key(reader, path, "dragonfly"),
                                        "ports, routers and global_links are needed"),
                       "dragonfly: {ports: 16, routers: 32, global_links: 16}");
}

static void finish_fabric(struct tsim_reader *reader, const struct tsim_value *mapping, const char *path,
                          const struct tsim_fabric *fabric) {
    if (fabric->oversubscription < 1)
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_RANGE, place_of(mapping, "oversubscription"),
                                        at_key(reader, path, "oversubscription"), "is below 1"),
                       "2 means that the uplinks carry half of what the ports below them can send");
    finish_topology(reader, mapping, path, fabric);
}

/* ---- reading ---- */

enum { MOST_LIST_KEYS = 4 + TSIM_N_DLRM_KEYS };

/* cnn and mlp are lists of layers, dlrm becomes one. */
static bool is_list(const struct tsim_value *mapping, bool *is_dlrm) {
    const struct tsim_value *kind = tsim_value_find(mapping, "kind");
    *is_dlrm = tsim_value_is_text(kind, "dlrm");
    return *is_dlrm || tsim_value_is_text(kind, "cnn") || tsim_value_is_text(kind, "mlp");
}

/* What every kind of model has, and its own. */
static struct tsim_table list_table(struct tsim_key keys[MOST_LIST_KEYS], bool is_dlrm) {
    size_t n = is_dlrm ? TSIM_N_DLRM_KEYS : TSIM_N_LIST_KEYS;
    keys[0] = (struct tsim_key)SCHEMA_KEY(MODEL_SCHEMA);
    keys[1] = (struct tsim_key)NAME_KEY(struct tsim_model);
    keys[2] = (struct tsim_key){.key = "kind",
                                .kind = TSIM_KEY_ENUM,
                                .offset = offsetof(struct tsim_model, kind),
                                .words = MODEL_KINDS,
                                .help = "family of architectures"};
    keys[3] = (struct tsim_key)SOURCE_KEY(struct tsim_model);
    memcpy(keys + 4, is_dlrm ? tsim_dlrm_keys : tsim_list_keys, n * sizeof *keys);
    return (struct tsim_table){.keys = keys, .n_keys = 4 + n};
}

static void read_list_model(struct tsim_reader *reader, const struct tsim_value *mapping, const char *path,
                            bool is_dlrm, struct tsim_model *model) {
    struct tsim_key keys[MOST_LIST_KEYS];
    struct tsim_table table = list_table(keys, is_dlrm);
    tsim_schema_read(reader, &table, mapping, path, model);
}

static void *read_object(struct tsim_reader *reader, enum tsim_catalogue_kind kind, const struct tsim_value *mapping,
                         const char *path) {
    static const size_t sizes[] = {[TSIM_CATALOGUE_MODELS] = sizeof(struct tsim_model),
                                   [TSIM_CATALOGUE_ACCELERATORS] = sizeof(struct tsim_accelerator),
                                   [TSIM_CATALOGUE_NODES] = sizeof(struct tsim_node),
                                   [TSIM_CATALOGUE_FABRICS] = sizeof(struct tsim_fabric),
                                   [TSIM_CATALOGUE_REGIONS] = sizeof(struct tsim_region),
                                   [TSIM_CATALOGUE_STORAGE] = sizeof(struct tsim_storage),
                                   [TSIM_CATALOGUE_SOFTWARE] = sizeof(struct tsim_software)};
    void *object = tsim_arena_alloc(reader->arena, sizes[kind]);
    bool is_dlrm;
    if (kind == TSIM_CATALOGUE_MODELS && is_list(mapping, &is_dlrm))
        read_list_model(reader, mapping, path, is_dlrm, object);
    else
        tsim_schema_read(reader, tsim_catalogue_table(kind), mapping, path, object);
    return object;
}

static void finish_object(struct tsim_reader *reader, enum tsim_catalogue_kind kind, const struct tsim_value *mapping,
                          const char *path, void *object) {
    bool is_dlrm;
    if (kind == TSIM_CATALOGUE_MODELS && is_list(mapping, &is_dlrm)) {
        (is_dlrm ? tsim_dlrm_finish : tsim_layer_list_finish)(reader, mapping, path, object);
    } else if (kind == TSIM_CATALOGUE_MODELS) {
        finish_model(reader, mapping, path, object);
        finish_experts(reader, mapping, path, object);
    } else if (kind == TSIM_CATALOGUE_ACCELERATORS) {
        finish_accelerator(reader, mapping, path, object);
    } else if (kind == TSIM_CATALOGUE_NODES) {
        finish_node(reader, mapping, path, object);
    } else if (kind == TSIM_CATALOGUE_FABRICS) {
        finish_fabric(reader, mapping, path, object);
    }
}

const void *tsim_catalogue_read(struct tsim_reader *reader, enum tsim_catalogue_kind kind,
                                const struct tsim_value *reference, const char *path) {
    size_t n_errors = reader->diags->n_errors;
    const struct tsim_value *mapping = tsim_catalogue_resolve(reader, kind, reference, path);
    if (!mapping)
        return NULL;
    void *object = read_object(reader, kind, mapping, path);
    if (!has_errors_since(reader, n_errors))
        finish_object(reader, kind, mapping, path, object);
    return has_errors_since(reader, n_errors) ? NULL : object;
}

const struct tsim_model *tsim_model_read(struct tsim_reader *reader, const struct tsim_value *reference,
                                         const char *path) {
    return tsim_catalogue_read(reader, TSIM_CATALOGUE_MODELS, reference, path);
}

const struct tsim_accelerator *tsim_accelerator_read(struct tsim_reader *reader, const struct tsim_value *reference,
                                                     const char *path) {
    return tsim_catalogue_read(reader, TSIM_CATALOGUE_ACCELERATORS, reference, path);
}

const struct tsim_node *tsim_node_read(struct tsim_reader *reader, const struct tsim_value *reference,
                                       const char *path) {
    return tsim_catalogue_read(reader, TSIM_CATALOGUE_NODES, reference, path);
}

const struct tsim_fabric *tsim_fabric_read(struct tsim_reader *reader, const struct tsim_value *reference,
                                           const char *path) {
    return tsim_catalogue_read(reader, TSIM_CATALOGUE_FABRICS, reference, path);
}

const struct tsim_software *tsim_software_read(struct tsim_reader *reader, const struct tsim_value *reference,
                                               const char *path) {
    return tsim_catalogue_read(reader, TSIM_CATALOGUE_SOFTWARE, reference, path);
}

const struct tsim_region *tsim_region_read(struct tsim_reader *reader, const struct tsim_value *reference,
                                           const char *path) {
    return tsim_catalogue_read(reader, TSIM_CATALOGUE_REGIONS, reference, path);
}

const struct tsim_storage *tsim_storage_read(struct tsim_reader *reader, const struct tsim_value *reference,
                                             const char *path) {
    return tsim_catalogue_read(reader, TSIM_CATALOGUE_STORAGE, reference, path);
}

void tsim_model_write(struct tsim_writer *writer, const char *key, const char *path, const struct tsim_model *model) {
    struct tsim_key keys[MOST_LIST_KEYS];
    struct tsim_table table = model->list ? list_table(keys, model->kind == TSIM_MODEL_DLRM) : MODEL;
    write_table(writer, key, &table, path, model);
}

void tsim_node_write(struct tsim_writer *writer, const char *key, const char *path, const struct tsim_node *node) {
    write_table(writer, key, &NODE, path, node);
}

void tsim_fabric_write(struct tsim_writer *writer, const char *key, const char *path,
                       const struct tsim_fabric *fabric) {
    write_table(writer, key, &FABRIC, path, fabric);
}

void tsim_software_write(struct tsim_writer *writer, const char *key, const char *path,
                         const struct tsim_software *software) {
    write_table(writer, key, &SOFTWARE, path, software);
}

void tsim_region_write(struct tsim_writer *writer, const char *key, const char *path,
                       const struct tsim_region *region) {
    write_table(writer, key, &REGION, path, region);
}

void tsim_storage_write(struct tsim_writer *writer, const char *key, const char *path,
                        const struct tsim_storage *storage) {
    write_table(writer, key, &STORAGE, path, storage);
}
