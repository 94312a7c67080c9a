#include "config/files/catalogue_keys.h"
#include "config/files/catalogue_read.h"

#include <math.h>
#include <string.h>

double tsim_operand_bytes(enum tsim_precision precision) {
    switch (precision) {
    case TSIM_FP32:
    case TSIM_TF32:
        return 4;
    case TSIM_FP16:
    case TSIM_BF16:
        return 2;
    case TSIM_FP8:
        return 1;
    case TSIM_MXFP8:
        return 1 + 1.0 / 32;
    case TSIM_NVFP4:
        return 0.5 + 1.0 / 16;
    case TSIM_N_PRECISIONS:
        break;
    }
    TSIM_BUG("precision %d", (int)precision);
}

/* clang-format off */
/* ---- accelerator ---- */
static const struct tsim_word ACCELERATOR_SCHEMA[] = {{"tsim/accelerator/v1", 0}, {NULL, 0}};

#define PEAK(name_, index_)                                                                                            \
    {.key = (name_), .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_FLOPS_PER_S, .default_text = "0",                    \
     .offset = offsetof(struct tsim_accelerator, peak_flops_per_s) + (index_) * sizeof(double),                        \
     .help = "dense matrix peak; absent: the accelerator does not have this precision"}
static const struct tsim_key PEAK_KEYS[] = {PEAK("fp32", TSIM_FP32), PEAK("tf32", TSIM_TF32), PEAK("fp16", TSIM_FP16),
                                            PEAK("bf16", TSIM_BF16), PEAK("fp8", TSIM_FP8), PEAK("mxfp8", TSIM_MXFP8),
                                            PEAK("nvfp4", TSIM_NVFP4)};
TSIM_TABLE(PEAKS, PEAK_KEYS, true);

#define SHARE(name_, field_, required_, help_)                                                                         \
    {.key = (name_), .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_FRACTION, .max = 1, .is_required = (required_),      \
     .default_text = (required_) ? NULL : "0", .offset = (field_), .help = (help_)}
#define SUSTAINED(name_, index_)                                                                                       \
    SHARE(name_, offsetof(struct tsim_accelerator, matrix_sustained_frac) + (index_) * sizeof(double), false,          \
          "fraction of the peak that long matrix products reach")
static const struct tsim_key SUSTAINED_KEYS[] = {
    SUSTAINED("fp32", TSIM_FP32), SUSTAINED("tf32", TSIM_TF32), SUSTAINED("fp16", TSIM_FP16),
    SUSTAINED("bf16", TSIM_BF16), SUSTAINED("fp8", TSIM_FP8), SUSTAINED("mxfp8", TSIM_MXFP8),
    SUSTAINED("nvfp4", TSIM_NVFP4)};
TSIM_TABLE(SUSTAINED, SUSTAINED_KEYS, true);

#define FLASH_RATE(name_, index_, help_)                                                                               \
    SHARE(name_, offsetof(struct tsim_accelerator, attention_frac) + (index_) * sizeof(double), false, help_)
static const struct tsim_key FLASH_KEYS[] = {
    FLASH_RATE("flash1", TSIM_FLASH1, "FlashAttention 1 and Triton kernels"),
    FLASH_RATE("flash2", TSIM_FLASH2, "FlashAttention 2"),
    FLASH_RATE("flash3", TSIM_FLASH3, "FlashAttention 3"),
    FLASH_RATE("cudnn", TSIM_FLASH_CUDNN, "cuDNN's kernel; 0: the same as flash3"),
    FLASH_RATE("splash", TSIM_FLASH_SPLASH,
               "JAX's splash attention, forward, inside large blocks, where a head fills whole arrays; 0: the same as flash2"),
    SHARE("wide_heads", offsetof(struct tsim_accelerator, wide_heads_frac), false,
          "rate of cuDNN's kernel with heads of more than 128 elements over that with 128; 0: by the head dimension's ramp"),
    {.key = "fp8_over_16", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_FRACTION, .max = 2, .default_text = "0",
     .offset = offsetof(struct tsim_accelerator, fp8_attention_ratio),
     .help = "rate of cuDNN's kernel in fp8 over that in 16 bits; 0: alike"},
};
TSIM_TABLE(FLASH, FLASH_KEYS, true);

const char *tsim_flash_name(enum tsim_flash flash) {
    return FLASH_KEYS[flash].key; /* in the order of the enumeration */
}

enum tsim_flash tsim_flash_of(const struct tsim_accelerator *a, enum tsim_attention_kernel kernel) {
    switch (kernel) {
    case TSIM_ATTENTION_FLASH_TRITON:
    case TSIM_ATTENTION_FLASH1:
        return TSIM_FLASH1;
    case TSIM_ATTENTION_FLASH3:
        return TSIM_FLASH3;
    case TSIM_ATTENTION_CUDNN:
        return a->attention_frac[TSIM_FLASH_CUDNN] > 0 ? TSIM_FLASH_CUDNN : TSIM_FLASH3;
    case TSIM_ATTENTION_SPLASH:
        return a->attention_frac[TSIM_FLASH_SPLASH] > 0 ? TSIM_FLASH_SPLASH : TSIM_FLASH2;
    case TSIM_ATTENTION_FLASH2:
    case TSIM_ATTENTION_UNFUSED: /* `attention: flash` with a profile of standard kernels: flash2 (a warning said so) */
    case TSIM_ATTENTION_FUSED_SOFTMAX:
        break;
    }
    return TSIM_FLASH2;
}

bool tsim_has_flash(const struct tsim_accelerator *accelerator, enum tsim_attention_kernel kernel) {
    return accelerator->attention_frac[tsim_flash_of(accelerator, kernel)] > 0;
}

static const struct tsim_key EFFICIENCY_KEYS[] = {
    {.key = "matrix_sustained", .kind = TSIM_KEY_MAPPING, .table = &SUSTAINED,
     .help = "fractions of the peaks that long matrix products reach; default: hardware/families/middle.yaml, estimates"},
    SHARE("fp8_gradients", offsetof(struct tsim_accelerator, fp8_gradients_frac), false,
          "rate of fp8 products that promote their sums to fp32 (gradients; with block scaling all), relative to other fp8 products; 0: alike"),
    SHARE("accumulation_exposed", offsetof(struct tsim_accelerator, accumulation_exposed_frac), false,
          "part of the time to read and write a sum of gradients that the product which adds to it does not hide; 0: it hides all"),
    SHARE("grouped_products", offsetof(struct tsim_accelerator, grouped_products_frac), false,
          "rate of the products of several experts, launched side by side, over that of one product; 0: alike"),
    {.key = "memory_sustained", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_FRACTION, .max = 1, .default_text = "0.79",
     .is_guessed = true, .is_positive = true, .offset = offsetof(struct tsim_accelerator, memory_sustained_frac),
     .help = "fraction of memory_bandwidth that element-wise kernels reach"},
    {.key = "matrix_ramp_k", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_COUNT, .default_text = "130",
     .is_guessed = true, .max = 1e6,
     .offset = offsetof(struct tsim_accelerator, matrix_ramp_k),
     .help = "depth of a 16-bit product at which half of a tile's time is start-up; other precisions by their peaks"},
    SHARE("speed_spread", offsetof(struct tsim_accelerator, speed_spread_frac), false,
          "coefficient of variation of the matrix rates between specimens; 0: all alike"),
    {.key = "attention", .kind = TSIM_KEY_MAPPING, .table = &FLASH,
     .help = "fractions of the peak that flash attention reaches on long sequences; default: hardware/families/middle.yaml, estimates"},
    {.key = "kernel_latency", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_TIME_S, .default_text = "3 us", .is_guessed = true,
     .unit = "us",
     .max = 1, .offset = offsetof(struct tsim_accelerator, kernel_latency_s), .help = "time of a kernel beside its roofline time"},
};
TSIM_TABLE(EFFICIENCY, EFFICIENCY_KEYS, true);

#define KERNEL(type, dimension_, max_, name_, member_, help_)                                                          \
    {QUANTITY(type, name_, dimension_, member_, help_), .max = (max_)}
#define TILE(name_, index_)                                                                                            \
    KERNEL(struct tsim_accelerator, TSIM_FRACTION, 1, name_, kernels.tile_reuse[index_], "rate over that of the largest tile")
static const struct tsim_key TILE_REUSE_KEYS[] = {TILE("256x128", TSIM_TILE_256_128), TILE("128x128", TSIM_TILE_128_128),
                                                  TILE("128x64", TSIM_TILE_128_64), TILE("64x64", TSIM_TILE_64_64)};
TSIM_TABLE(TILE_REUSE, TILE_REUSE_KEYS, true);

#define FLASH_KERNEL(dimension_, max_, name_, member_, help_)                                                          \
    {QUANTITY(struct tsim_flash_kernel, name_, dimension_, member_, help_), .max = (max_), .is_omitted_when_zero = true}
static const struct tsim_key FLASH_KERNEL_KEYS[] = {
    FLASH_KERNEL(TSIM_COUNT, 1e6, "ramp", ramp, "tokens at which half of the time is start-up"),
    FLASH_KERNEL(TSIM_COUNT, 1e6, "causal_ramp", causal_ramp, "the same of causal attention"),
    FLASH_KERNEL(TSIM_COUNT, 1e4, "head_ramp", head_ramp, "elements of a head with which it reaches half of its rate; 0: small_heads instead"),
    FLASH_KERNEL(TSIM_FRACTION, 10, "small_heads", small_heads, "without head_ramp: rate with heads of 64 elements or fewer over that with larger ones; 0: alike"),
    FLASH_KERNEL(TSIM_FRACTION, 10, "causal_small_heads", causal_small_heads, "the same of causal attention; 0: alike"),
    FLASH_KERNEL(TSIM_FRACTION, 10, "forward_over_backward", forward_over_backward, "rate of a forward pass over that of a backward pass; 0: alike"),
    FLASH_KERNEL(TSIM_COUNT, 1e5, "tile_queries", tile_queries, "queries of a tile"),
};
TSIM_TABLE(FLASH_KERNEL_TABLE, FLASH_KERNEL_KEYS, true);
#define FLASH_KERNEL_KEY(name_, member_, help_)                                                                        \
    {.key = (name_), .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_accelerator, kernels.member_),           \
     .table = &FLASH_KERNEL_TABLE, .help = (help_)}

#define OF_KERNELS(...) KERNEL(struct tsim_accelerator, __VA_ARGS__)
static const struct tsim_key SPLASH_KEYS[] = {
    OF_KERNELS(TSIM_FRACTION, 10, "masked", kernels.splash_masked_frac, "time of the mask over that of what it touches"),
    OF_KERNELS(TSIM_COUNT, 1e6, "start_cycles", kernels.splash_start_cycles, "cycles of the clock that the start of a block takes"),
    OF_KERNELS(TSIM_FRACTION, 10, "backward_over_forward", kernels.splash_backward_over_forward, "rate of backward products over that of forward ones"),
};
TSIM_TABLE(SPLASH, SPLASH_KEYS, true);
static const struct tsim_key KERNELS_KEYS[] = {
    {.key = "tile_reuse", .kind = TSIM_KEY_MAPPING, .table = &TILE_REUSE, .help = "rates of a GPU's tiles over that of the largest"},
    OF_KERNELS(TSIM_FRACTION, 1, "unaligned", kernels.unaligned_frac, "rate of products with unaligned rows over that with aligned ones"),
    OF_KERNELS(TSIM_FRACTION, 1, "unaligned_vector", kernels.unaligned_vector_frac, "the same without matrix units, over the rate in fp32"),
    OF_KERNELS(TSIM_FRACTION, 1, "row_scales", kernels.row_scales_frac, "rate of fp8 products with scales of rows over that with one scale"),
    OF_KERNELS(TSIM_FRACTION, 1, "winograd", kernels.winograd_frac, "rate of Winograd's convolutions, transforms included, over that of their products alone"),
    OF_KERNELS(TSIM_FRACTION, 1, "winograd_weights", kernels.winograd_weights_frac, "the same for gradients of weights"),
    OF_KERNELS(TSIM_COUNT, 1e6, "issued_per_cycle", kernels.issued_per_cycle, "instructions that a unit of NVIDIA's issues in a cycle"),
    FLASH_KERNEL_KEY("flash1", flash[TSIM_FLASH1], "FlashAttention 1"),
    FLASH_KERNEL_KEY("triton", triton, "Triton's kernel of 2022"),
    OF_KERNELS(TSIM_FRACTION, 10, "triton_over_flash1", kernels.triton_over_flash1, "rate of Triton's kernel over that of FlashAttention 1"),
    FLASH_KERNEL_KEY("flash2", flash[TSIM_FLASH2], "FlashAttention 2"),
    FLASH_KERNEL_KEY("flash3", flash[TSIM_FLASH3], "FlashAttention 3"),
    FLASH_KERNEL_KEY("cudnn", flash[TSIM_FLASH_CUDNN], "cuDNN's kernel"),
    {.key = "splash", .kind = TSIM_KEY_MAPPING, .table = &SPLASH, .help = "JAX's splash attention"},
};
TSIM_TABLE(KERNELS, KERNELS_KEYS, true);

#define OF_NCCL(...) KERNEL(struct tsim_accelerator, __VA_ARGS__)
#define OF_NCCL_RATE(name_, member_, help_)                                                                            \
    {QUANTITY(struct tsim_accelerator, name_, TSIM_BYTES_PER_S, member_, help_), .unit = "GB/s"}
#define NCCL_KEY "nccl"
static const struct tsim_key NCCL_KEYS[] = {
    OF_NCCL(TSIM_FRACTION, 100, "latency_factor", nccl.latency_factor, "time of kernels and of hops on a node over that of NCCL's tables, which are Hopper's"),
    OF_NCCL_RATE("ll_limit", nccl.ll_bytes_per_s, "the most bus bandwidth of the protocol LL on one node"),
    OF_NCCL_RATE("tree_channel", nccl.tree_channel_bytes_per_s, "rate of one channel of a tree, on more than two nodes"),
    OF_NCCL_RATE("tree_channel_2_nodes", nccl.tree_channel_2_bytes_per_s, "the same on two nodes"),
    OF_NCCL(TSIM_FRACTION, 100, "plateau", nccl.plateau, "slowdown of hops between nodes that wait for each other, in long rings with the protocol Simple"),
    OF_NCCL(TSIM_COUNT, 1e4, "channels", nccl.channels, "channels of a collective on one node"),
    OF_NCCL(TSIM_COUNT, 100, "fast_nic_channels", nccl.fast_nic_channels, "channels for a NIC of more than 45 GB/s over those for another, where they are few"),
    OF_NCCL(TSIM_COUNT, 1e4, "nvls_channels", nccl.nvls_channels, "channels of reductions in the switch, on one node"),
    OF_NCCL(TSIM_COUNT, 1e4, "nvls_channels_nodes", nccl.nvls_channels_nodes, "the same on several nodes"),
};
TSIM_TABLE(NCCL, NCCL_KEYS, true);

#define POWER_SHARE(name_, member_, default_, help_)                                                                   \
    {.key = (name_), .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_FRACTION, .max = 1, .default_text = (default_),      \
     .is_guessed = true, .offset = offsetof(struct tsim_accelerator, member_), .help = (help_)}
static const struct tsim_key POWER_KEYS[] = {
    {.key = "idle", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_WATTS, .max = 1e6,
     .offset = offsetof(struct tsim_accelerator, power_idle_w), .help = "power drawn without work; default: 15 % of the limit, an estimate"},
    {.key = "limit", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_WATTS, .default_text = "425 W", .is_guessed = true, .is_positive = true,
     .max = 1e6, .offset = offsetof(struct tsim_accelerator, power_limit_w), .help = "the most power that it draws"},
    {.key = "cap", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_WATTS, .default_text = "0", .is_omitted_when_zero = true,
     .max = 1e6, .offset = offsetof(struct tsim_accelerator, power_cap_w), .help = "a limit set by hand below power.limit, so that clocks fall; 0: none"},
    POWER_SHARE("compute", power_compute_frac, "0.75", "share of (limit - idle) with the matrix units in full use"),
    POWER_SHARE("memory", power_memory_frac, "0.35", "share of (limit - idle) with the memory in full use"),
    POWER_SHARE("link", power_link_frac, "0.05", "share of (limit - idle) with the links in full use"),
};
TSIM_TABLE(POWER, POWER_KEYS, true);

static const struct tsim_word EXECUTIONS[] = {{"launched", TSIM_EXECUTION_LAUNCHED},
                                              {"compiled", TSIM_EXECUTION_COMPILED},
                                              {"bulk-synchronous", TSIM_EXECUTION_BULK_SYNCHRONOUS},
                                              {"weight-streaming", TSIM_EXECUTION_WEIGHT_STREAMING},
                                              {NULL, 0}};
static const struct tsim_word GENERATIONS[] = {{"volta", TSIM_VOLTA}, {"ampere", TSIM_AMPERE}, {"hopper", TSIM_HOPPER},
                                               {"blackwell", TSIM_BLACKWELL}, {NULL, 0}};
static const struct tsim_word STATIONARIES[] = {{"none", TSIM_STATIONARY_NONE}, {"weights", TSIM_STATIONARY_WEIGHTS},
                                                {"outputs", TSIM_STATIONARY_OUTPUTS}, {NULL, 0}};
static const struct tsim_key ARRAY_KEYS[] = {
    {.key = "side", .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_accelerator, array_side), .max = 1e5,
     .default_text = "0", .is_omitted_when_zero = true, .help = "multipliers along each side; 0: tiles of a GPU's kernels"},
    {.key = "stationary", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_accelerator, array_stationary),
     .words = STATIONARIES, .default_text = "none", .is_omitted_when_zero = true,
     .help = "operand that stays in the array: weights, which rows stream past, or outputs"},
};
TSIM_TABLE(ARRAY, ARRAY_KEYS, true);

#define ACCELERATOR_QUANTITY(...) QUANTITY(struct tsim_accelerator, __VA_ARGS__)
static const struct tsim_key ACCELERATOR_KEYS[] = {
    SCHEMA_KEY(ACCELERATOR_SCHEMA),
    NAME_KEY(struct tsim_accelerator),
    {.key = "vendor", .kind = TSIM_KEY_STRING, .offset = offsetof(struct tsim_accelerator, vendor), .help = "who makes it"},
    {.key = "device", .kind = TSIM_KEY_STRING, .offset = offsetof(struct tsim_accelerator, device), .help = "word for one of them in texts; default: accelerator"},
    {.key = "kubernetes_resource", .kind = TSIM_KEY_STRING, .offset = offsetof(struct tsim_accelerator, kubernetes_resource),
     .help = "name under which the maker's device plugin offers them to pods of Kubernetes"},
    {.key = "software", .kind = TSIM_KEY_STRING, .offset = offsetof(struct tsim_accelerator, software),
     .help = "id of the software profile that this machine usually runs; a scenario that names no software gets a note about it"},
    {INTEGER(struct tsim_accelerator, "year", year, 3000, "year of its release"), .is_omitted_when_zero = true},
    SOURCE_KEY(struct tsim_accelerator),
    {.key = KNOWN_AS_KEY, .kind = TSIM_KEY_CUSTOM, .offset = offsetof(struct tsim_accelerator, known_as),
     .read = tsim_known_as_read, .described_by = &tsim_known_as_table,
     .help = "names in files of other programs, for `import` and `calibrate`; not inherited by `extends`"},
    {INTEGER(struct tsim_accelerator, "compute_units", compute_units, 1e7, "SMs, CUs or cores that tiles are dealt to"),
     .default_text = "112", .is_guessed = true, .is_positive = true},
    {INTEGER(struct tsim_accelerator, "cores", cores, 1e3,
             "cores of a TPU: each has its share of compute_units and goes through blocks of splash attention by itself; 0: one"),
     .default_text = "0", .is_omitted_when_zero = true},
    {INTEGER(struct tsim_accelerator, "dies", dies, 1e3, "number of devices that software sees in one package"),
     .default_text = "0", .is_omitted_when_zero = true},
    {.key = "execution", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_accelerator, execution),
     .words = EXECUTIONS, .default_text = "launched", .is_omitted_when_zero = true,
     .help = "launched kernel by kernel (GPUs), or a compiled program"},
    {ACCELERATOR_QUANTITY("compute_capability", TSIM_COUNT, compute_capability, "compute capability of an NVIDIA part; 0: another maker's"),
     .default_text = "0", .max = 1000, .is_omitted_when_zero = true},
    {.key = "nccl_generation", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_accelerator, nccl_generation),
     .words = GENERATIONS, .default_text = "hopper",
     .help = "file of hardware/families with the collective library's tuning (`nccl`); default: from the major number of compute_capability (7, 8, 9, 10 and above)"},
    {.key = "array", .kind = TSIM_KEY_MAPPING, .table = &ARRAY, .is_omitted_when_zero = true,
     .help = "systolic array of multipliers in each compute unit: {side: 128, stationary: weights}; absent: a GPU's tiles"},
    {ACCELERATOR_QUANTITY("exchange", TSIM_BYTES_PER_S, exchange_bytes_per_s,
                          "bulk-synchronous: rate between the memories of the compute units, of all together"),
     .default_text = "0", .is_omitted_when_zero = true},
    {ACCELERATOR_QUANTITY("clock", TSIM_HZ, clock_hz, "clock that the peaks are stated at"), .default_text = "1.725 GHz",
     .is_guessed = true, .is_positive = true},
    {ACCELERATOR_QUANTITY("memory", TSIM_BYTES, memory_bytes, "capacity"), .is_required = true, .is_positive = true},
    {ACCELERATOR_QUANTITY("memory_bandwidth", TSIM_BYTES_PER_S, memory_bytes_per_s, "peak"), .is_required = true, .is_positive = true},
    {ACCELERATOR_QUANTITY("cache", TSIM_BYTES, cache_bytes, "capacity of the last-level cache"), .default_text = "0", .unit = "MB"},
    {.key = "peak", .kind = TSIM_KEY_MAPPING, .table = &PEAKS, .is_required = true, .help = "dense matrix peaks by precision"},
    {ACCELERATOR_QUANTITY("vector_peak", TSIM_FLOPS_PER_S, vector_flops_per_s,
                          "fp32 outside the matrix units; default: peak.fp32, else 1/16 of the 16-bit peak, an estimate"),
     .is_positive = true},
    {.key = "efficiency", .kind = TSIM_KEY_MAPPING, .table = &EFFICIENCY,
     .help = "fractions of the peaks that long runs reach"},
    {.key = "kernels", .kind = TSIM_KEY_MAPPING, .table = &KERNELS,
     .help = "how the rates of libraries' kernels depend on shapes; default: hardware/families/all.yaml"},
    {.key = "power", .kind = TSIM_KEY_MAPPING, .table = &POWER, .help = "electrical power"},
    {ACCELERATOR_QUANTITY("rent", TSIM_USD_PER_S, rent_usd_per_s, "price of an hour"), .default_text = "0"},
    {ACCELERATOR_QUANTITY("purchase", TSIM_USD, purchase_usd, "price"), .default_text = "0", .unit = "USD"},
    {ACCELERATOR_QUANTITY("reserved", TSIM_USD_PER_S, reserved_usd_per_s, "price of an hour under a contract of a year; 0: not known"),
     .default_text = "0", .unit = "USD/h", .is_omitted_when_zero = true},
    {ACCELERATOR_QUANTITY("price_spread", TSIM_FRACTION, price_spread,
                          "factor within which sellers' prices lie around these in eight of ten cases"),
     .default_text = "1.6", .is_positive = true, .min = 1, .max = 100},
    {ACCELERATOR_QUANTITY("reserve", TSIM_BYTES, usable_memory_reserve_bytes,
                          "memory that driver, context and communicators take"), .default_text = "0"},
    {.key = NCCL_KEY, .kind = TSIM_KEY_MAPPING, .table = &NCCL, .help = "constants of NCCL's tuning; default: those of nccl_generation"},
};
TSIM_TABLE(ACCELERATOR, ACCELERATOR_KEYS, true);

/* ---- node ---- */
static const struct tsim_word NODE_SCHEMA[] = {{"tsim/node/v1", 0}, {NULL, 0}};
static const struct tsim_word SCALE_UPS[] = {{"none", TSIM_SCALE_UP_NONE}, {"switch", TSIM_SCALE_UP_SWITCH},
                                             {"mesh", TSIM_SCALE_UP_MESH}, {"pcie", TSIM_SCALE_UP_PCIE},
                                             {"cube-mesh", TSIM_SCALE_UP_CUBE_MESH}, {NULL, 0}};
#define NODE_QUANTITY(name_, unit_, ...)                                                                               \
    {QUANTITY(struct tsim_node, name_, __VA_ARGS__), .default_text = "0", .unit = (unit_)}
#define PCIE_INT(name_, member_, help_)                                                                                \
    {INTEGER(struct tsim_node, name_, member_, 1e4, help_), .default_text = "0", .is_omitted_when_zero = true}
#define PCIE_QUANTITY(name_, member_, help_)                                                                           \
    {QUANTITY(struct tsim_node, name_, TSIM_BYTES_PER_S, member_, help_), .default_text = "0", .unit = "GB/s",         \
     .is_omitted_when_zero = true}
static const struct tsim_key SCALE_UP_KEYS[] = {
    {.key = "kind", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_node, scale_up), .words = SCALE_UPS,
     .is_required = true, .help = "how the accelerators of a node are joined"},
    {.key = "name", .kind = TSIM_KEY_STRING, .offset = offsetof(struct tsim_node, scale_up_name), .help = "for people"},
    NODE_QUANTITY("bandwidth", "GB/s", TSIM_BYTES_PER_S, scale_up_bytes_per_s, "rate of the wires, per accelerator and direction"),
    NODE_QUANTITY("ring_bandwidth", "GB/s", TSIM_BYTES_PER_S, scale_up_ring_bytes_per_s,
                  "bus bandwidth that a ring over all accelerators reaches; if a file changes only `bandwidth`, this changes in proportion"),
    NODE_QUANTITY("reduce_bandwidth", "GB/s", TSIM_BYTES_PER_S, scale_up_reduce_bytes_per_s,
                  "bus bandwidth of reductions in the switch; changes in proportion with `bandwidth`, too; 0: the switch has none"),
    {QUANTITY(struct tsim_node, "latency", TSIM_TIME_S, scale_up_latency_s, "latency of one hop"), .default_text = "0", .unit = "us", .max = 1},
    PCIE_INT("accelerators_per_switch", accelerators_per_switch, "PCIe: how many share a switch's uplink; 0: none does"),
    PCIE_QUANTITY("switch_uplink", switch_uplink_bytes_per_s, "PCIe: bandwidth of a switch to its socket; default: bandwidth"),
    PCIE_INT("accelerators_per_socket", accelerators_per_socket, "PCIe: how many are connected to one socket; 0: all to one"),
    PCIE_QUANTITY("socket_link", socket_link_bytes_per_s, "PCIe: bandwidth between sockets; default: bandwidth"),
};
TSIM_TABLE(SCALE_UP, SCALE_UP_KEYS, true);

static const struct tsim_key NODE_POWER_KEYS[] = {
    NODE_QUANTITY("overhead", "W", TSIM_WATTS, power_overhead_w, "power drawn beside the accelerators under load"),
    NODE_QUANTITY("overhead_idle", "W", TSIM_WATTS, power_overhead_idle_w, "power drawn beside the accelerators without load"),
    NODE_QUANTITY("limit", "W", TSIM_WATTS, power_limit_w, "the most power that a node draws; 0: no limit"),
};
TSIM_TABLE(NODE_POWER, NODE_POWER_KEYS, true);

static const struct tsim_key NODE_KEYS[] = {
    SCHEMA_KEY(NODE_SCHEMA),
    NAME_KEY(struct tsim_node),
    SOURCE_KEY(struct tsim_node),
    {.key = "accelerator", .kind = TSIM_KEY_CUSTOM, .offset = offsetof(struct tsim_node, accelerator), .is_required = true,
     .read = tsim_accelerator_reference_read, .write = tsim_accelerator_reference_write, .help = "id, path or mapping"},
    {INTEGER(struct tsim_node, "accelerators", accelerators, 1e4, "how many in one node"), .is_required = true, .is_positive = true},
    {.key = "scale_up", .kind = TSIM_KEY_MAPPING, .table = &SCALE_UP,
     .help = "links between the accelerators of a node; default: none, for one accelerator"},
    {INTEGER(struct tsim_node, "nics", nics, 1e5, "network ports of a node"), .default_text = "0"},
    {.key = "nics_on_accelerator", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_node, nics_on_accelerator),
     .default_text = "false", .is_omitted_when_zero = true,
     .help = "NICs belong to the accelerator: their traffic does not cross its link to the host"},
    NODE_QUANTITY("nic_bandwidth", "Gb/s", TSIM_BYTES_PER_S, nic_bytes_per_s, "bandwidth of one port and direction, wire"),
    {.key = USUAL_FABRIC_KEY, .kind = TSIM_KEY_CUSTOM, .offset = offsetof(struct tsim_node, usual_fabric),
     .read = tsim_usual_fabric_read, .help = "id, for `init`, `import` and `calibrate`; default: the fastest usual one that its NICs fill; not inherited by `extends`"},
    {.key = USUAL_KEY, .kind = TSIM_KEY_CUSTOM, .offset = offsetof(struct tsim_node, is_usual), .read = tsim_usual_read,
     .help = "true: `import` takes from it what the topology of such a node does not show; one of each scale_up.kind, not inherited by `extends`"},
    NODE_QUANTITY("host_link", "GB/s", TSIM_BYTES_PER_S, host_link_bytes_per_s, "host to one accelerator, per direction"),
    {QUANTITY(struct tsim_node, "host_time_factor", TSIM_COUNT, host_time_factor,
              "time of a launch on this host over that in software profiles, which is for x86 servers"),
     .default_text = "1", .is_positive = true, .min = 0.1, .max = 20},
    {INTEGER(struct tsim_node, "host_cores", host_cores, 1e6, "cores of the host"), .default_text = "0"},
    NODE_QUANTITY("host_memory", "GB", TSIM_BYTES, host_memory_bytes, "memory of the host"),
    {QUANTITY(struct tsim_node, "host_memory_bandwidth", TSIM_BYTES_PER_S, host_memory_bytes_per_s,
              "peak of all sockets; needed to offload the optimizer"), .default_text = "0", .unit = "GB/s", .is_omitted_when_zero = true},
    {.key = "power", .kind = TSIM_KEY_MAPPING, .table = &NODE_POWER, .help = "electrical power beside the accelerators"},
    NODE_QUANTITY("purchase", "USD", TSIM_USD, purchase_usd, "price of a whole node; 0: that of its accelerators"),
    {QUANTITY(struct tsim_node, "mtbf", TSIM_TIME_S, mtbf_s, "mean time between interruptions of one node, as counted; 0: not known"),
     .default_text = "0", .unit = "h", .is_omitted_when_zero = true},
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
              "bandwidth from below over that of the uplinks"), .default_text = "1", .is_positive = true, .min = 1, .max = 1000},
};
TSIM_TABLE(TIER, TIER_KEYS, true);

#define OPTIONAL_INT(name_, member_, max_, help_)                                                                      \
    {FABRIC_INT(name_, member_, max_, help_), .default_text = "0", .is_omitted_when_zero = true}
static const struct tsim_key TORUS_KEYS[] = {
    OPTIONAL_INT("dimensions", torus_dimensions, 3, "2 or 3"),
    OPTIONAL_INT("wrap", torus_wrap, 1e6, "a dimension that is a multiple of this closes to a ring; 0: none does"),
    {.key = "whole_cubes", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_fabric, torus_wraps_together),
     .default_text = "false", .is_omitted_when_zero = true,
     .help = "no dimension closes to a ring unless all are multiples of wrap"},
};
TSIM_TABLE(TORUS, TORUS_KEYS, true);
static const struct tsim_key DRAGONFLY_KEYS[] = {
    OPTIONAL_INT("ports", dragonfly_ports, 1e5, "node ports of a router"),
    OPTIONAL_INT("routers", dragonfly_routers, 1e5, "routers of a group, each linked to all others of it"),
    OPTIONAL_INT("local_links", dragonfly_local_links, 1e5,
                 "links of a router to the others of its group, however few they are; default: routers - 1"),
    OPTIONAL_INT("global_links", dragonfly_global_links, 1e5, "links of a router to other groups"),
};
TSIM_TABLE(DRAGONFLY, DRAGONFLY_KEYS, true);
static const struct tsim_key FABRIC_KEYS[] = {
    SCHEMA_KEY(FABRIC_SCHEMA),
    NAME_KEY(struct tsim_fabric),
    SOURCE_KEY(struct tsim_fabric),
    {.key = "vendor", .kind = TSIM_KEY_STRING, .offset = offsetof(struct tsim_fabric, vendor),
     .help = "the only vendor whose accelerators have ports for it; default: any"},
    {.key = USUAL_KEY, .kind = TSIM_KEY_CUSTOM, .offset = offsetof(struct tsim_fabric, is_usual), .read = tsim_usual_read,
     .help = "true: a node without `usual_fabric` may be assumed to be connected to it; not inherited by `extends`"},
    {FABRIC_QUANTITY("bandwidth", TSIM_BYTES_PER_S, link_bytes_per_s, "bandwidth of one port and direction, wire"),
     .is_required = true, .unit = "Gb/s", .is_positive = true},
    {FABRIC_QUANTITY("efficiency", TSIM_FRACTION, efficiency_frac, "fraction of the wire that long transfers reach"),
     .is_required = true, .is_positive = true, .max = 1},
    {FABRIC_QUANTITY("latency", TSIM_TIME_S, latency_s, "latency of one message, end to end"), .is_required = true, .unit = "us", .max = 10},
    {FABRIC_QUANTITY("oversubscription", TSIM_COUNT, oversubscription, "oversubscription of the uplinks; 1: non-blocking, 2: they carry half of what the ports below can send"),
     .default_text = "1", .is_positive = true, .min = 1, .max = 1000},
    {FABRIC_QUANTITY("power_per_port", TSIM_WATTS, power_w_per_port, "switch and optics share of one port"),
     .default_text = "0"},
    OPTIONAL_INT("switch_ports", switch_ports, 1e4, "ports of the switches that it is built of; default: not known, and so is its price"),
    {FABRIC_QUANTITY("switch_price", TSIM_USD, switch_usd, "price of one such switch"), .default_text = "0", .is_omitted_when_zero = true},
    {FABRIC_QUANTITY("link_price", TSIM_USD, link_usd, "price of a cable with the optics at both ends"), .default_text = "0", .is_omitted_when_zero = true},
    {.key = "unordered", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_fabric, is_unordered),
     .default_text = "false", .help = "bytes of a message may arrive in any order, so collectives use only the protocol Simple"},
    {.key = "in_network_reduction", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_fabric, reduces),
     .is_omitted_when_zero = true, .help = "switches add up what NICs send them (NVIDIA SHARP): in an all-reduce among nodes whose own switch also reduces, each node sends and receives its bytes once"},
    {.key = "topology", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_fabric, topology), .words = TOPOLOGIES,
     .default_text = "crossbar", .help = "how the ports are joined"},
    {.key = "routing", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_fabric, routing), .words = ROUTINGS,
     .default_text = "ecmp", .help = "one of the equal paths by a hash of the pair, or all of them evenly (dragonfly: also through other groups)"},
    {.key = "tiers", TSIM_LIST(struct tsim_fabric, tiers, n_tiers, &TIER),
     .help = "fat tree, from below: list of {ports, oversubscription}; above the last all meet"},
    {.key = "rails", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_fabric, rails), .default_text = "false",
     .help = "fat tree: a lowest switch takes the same port of many nodes"},
    {.key = "torus", .kind = TSIM_KEY_MAPPING, .table = &TORUS, .help = "torus of accelerators"},
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
    {REGION_QUANTITY("price", TSIM_USD_PER_J, price_usd_per_j, "price of electricity for a large consumer; absent: not known"),
     .default_text = "0"},
    {.key = "carbon_profile", .kind = TSIM_KEY_CUSTOM, .offset = offsetof(struct tsim_region, carbon_profile),
     .read = tsim_carbon_profile_read, .write = tsim_carbon_profile_write, .help = "carbon by the hour, as energy.carbon_profile of a scenario"},
    {.key = "price_profile", .kind = TSIM_KEY_CUSTOM, .offset = offsetof(struct tsim_region, price_profile),
     .read = tsim_price_profile_read, .write = tsim_price_profile_write, .help = "price by the hour, as energy.price_profile of a scenario"},
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
    {STORAGE_QUANTITY("bandwidth", TSIM_BYTES_PER_S, bandwidth_bytes_per_s, "bandwidth of reading in order, for each node, or for all together when shared"),
     .is_required = true, .unit = "GB/s", .is_positive = true},
    {STORAGE_QUANTITY("random_access", TSIM_FRACTION, random_access_frac, "fraction of the bandwidth that reading in random order leaves"),
     .default_text = "1", .is_positive = true, .max = 1},
    {STORAGE_QUANTITY("latency", TSIM_TIME_S, latency_s, "latency of one request"), .default_text = "0", .unit = "ms", .max = TSIM_HOUR_S},
    {STORAGE_QUANTITY("stream_bandwidth", TSIM_BYTES_PER_S, stream_bytes_per_s, "the most that one reader gets; 0: all there is"),
     .default_text = "0", .unit = "GB/s"},
    {STORAGE_QUANTITY("client_bandwidth", TSIM_BYTES_PER_S, client_bytes_per_s, "when shared, the most that one node gets; 0: all there is"),
     .default_text = "0", .unit = "GB/s"},
    {.key = "shared", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_storage, is_shared), .default_text = "false",
     .help = "all nodes share it; otherwise each node has its own"},
};
TSIM_TABLE(STORAGE, STORAGE_KEYS, true);
/* clang-format on */

const struct tsim_table *tsim_catalogue_table(enum tsim_catalogue_kind kind) {
    static const struct tsim_table *const tables[] = {[TSIM_CATALOGUE_MODELS] = &tsim_model_table,
                                                      [TSIM_CATALOGUE_ACCELERATORS] = &ACCELERATOR,
                                                      [TSIM_CATALOGUE_NODES] = &NODE,
                                                      [TSIM_CATALOGUE_FABRICS] = &FABRIC,
                                                      [TSIM_CATALOGUE_REGIONS] = &REGION,
                                                      [TSIM_CATALOGUE_STORAGE] = &STORAGE,
                                                      [TSIM_CATALOGUE_SOFTWARE] = &tsim_software_table};
    TSIM_ASSERT(kind < TSIM_CATALOGUE_SCENARIOS);
    return tables[kind];
}

/* ---- what a table cannot say: defaults that depend on other keys, and keys that must agree ---- */

static bool has_errors_since(const struct tsim_reader *reader, size_t n_errors) {
    return reader->diags->n_errors > n_errors;
}

static void guess(const struct tsim_checked *c, const char *key, double value, double *field) {
    struct tsim_note note = {.path = at_key(c, key),
                             .number = value,
                             .interval = {(double)NAN, (double)NAN},
                             .is_default = true,
                             .source = TSIM_GUESS_SOURCE,
                             .status = TSIM_SOURCE_ESTIMATE};
    *field = value;
    if (c->reader->note)
        c->reader->note(c->reader->context, &note);
}

/* Fills in what the file leaves out and peaks and limits suggest: the middle of the catalogue's accelerators. A
 * mapping that is there says what the accelerator has, and is not added to. */
static void guess_accelerator(const struct tsim_checked *c, struct tsim_accelerator *a) {
    bool has_sustained = tsim_value_find_path(c->mapping, "efficiency.matrix_sustained"),
         has_attention = tsim_value_find_path(c->mapping, "efficiency.attention");
    struct tsim_reader quiet = *c->reader;
    struct tsim_accelerator middle = {0};
    quiet.note = NULL;
    if (!has_sustained || !has_attention)
        tsim_schema_read(
            &quiet, &EFFICIENCY,
            tsim_value_find(tsim_catalogue_family(c->reader, TSIM_CATALOGUE_ACCELERATORS, "middle"), "efficiency"),
            at_key(c, "efficiency"), &middle);
    for (int p = 0; p < TSIM_N_PRECISIONS && !has_sustained; p++)
        if (a->peak_flops_per_s[p] > 0)
            guess(c, tsim_schema_path(c->reader->arena, "efficiency.matrix_sustained", SUSTAINED_KEYS[p].key),
                  middle.matrix_sustained_frac[p], &a->matrix_sustained_frac[p]);
    for (int f = 0; f < TSIM_N_FLASH && !has_attention; f++)
        if (middle.attention_frac[f] > 0)
            guess(c, tsim_schema_path(c->reader->arena, "efficiency.attention", FLASH_KEYS[f].key),
                  middle.attention_frac[f], &a->attention_frac[f]);
    const double *peak = a->peak_flops_per_s;
    double half = fmax(fmax(peak[TSIM_BF16], peak[TSIM_FP16]), peak[TSIM_FP8] / 2);
    if (a->vector_flops_per_s <= 0)
        guess(c, "vector_peak", peak[TSIM_FP32] > 0 ? peak[TSIM_FP32] : half / 16, &a->vector_flops_per_s);
    if (!tsim_value_find_path(c->mapping, "power.idle"))
        guess(c, "power.idle", 0.15 * a->power_limit_w, &a->power_idle_w);
}

/* NCCL chooses its tables by the major number of the compute capability. */
static void derive_generation(const struct tsim_checked *c, struct tsim_accelerator *a) {
    if (a->compute_capability <= 0 || tsim_value_find(c->mapping, "nccl_generation"))
        return;
    a->nccl_generation = a->compute_capability < 8    ? TSIM_VOLTA
                         : a->compute_capability < 9  ? TSIM_AMPERE
                         : a->compute_capability < 10 ? TSIM_HOPPER
                                                      : TSIM_BLACKWELL;
    const struct tsim_note note = {
        .path = at_key(c, "nccl_generation"),
        .text = tsim_word_of(GENERATIONS, (int)a->nccl_generation),
        .number = (double)NAN,
        .interval = {(double)NAN, (double)NAN},
        .source = "compute_capability, by which NVIDIA/nccl@5067397 src/graph/tuning.cc chooses its tables",
        .status = TSIM_SOURCE_DERIVED};
    if (c->reader->note)
        c->reader->note(c->reader->context, &note);
}

/* Reads what the accelerator leaves out of NCCL's constants from the file of its generation. */
static void read_nccl(const struct tsim_checked *c, struct tsim_accelerator *a) {
    const char *generation = tsim_word_of(GENERATIONS, (int)a->nccl_generation);
    const struct tsim_value *own = tsim_value_find(c->mapping, NCCL_KEY),
                            *family = tsim_catalogue_family(c->reader, TSIM_CATALOGUE_ACCELERATORS, generation);
    const struct tsim_value *left_out = tsim_value_find(family, NCCL_KEY);
    for (size_t i = 0; own && left_out && i < own->n_items; i++)
        left_out = tsim_value_without(c->reader->arena, left_out, own->pairs[i].key);
    if (left_out)
        tsim_schema_read(c->reader, &NCCL, left_out, at_key(c, NCCL_KEY), a);
}

static void finish_accelerator(const struct tsim_checked *c, struct tsim_accelerator *a) {
    guess_accelerator(c, a);
    derive_generation(c, a);
    read_nccl(c, a);
    bool has_a_peak = false;
    char idle[40], limit[40];
    for (int p = 0; p < TSIM_N_PRECISIONS; p++) {
        const char *word = tsim_word_of(tsim_precision_words, p);
        has_a_peak |= a->peak_flops_per_s[p] > 0;
        if (a->peak_flops_per_s[p] > 0 && a->matrix_sustained_frac[p] <= 0)
            tsim_diag_hint(LACK_AT(c, "efficiency.matrix_sustained", "no value for %s, which has a peak", word),
                           "%s: the fraction of the peak that long matrix products reach", word);
    }
    if (!has_a_peak)
        LACK_AT(c, "peak", "no precision has a peak");
    else if (a->vector_flops_per_s <= 0)
        tsim_diag_hint(LACK_AT(c, "vector_peak", "is missing, and neither fp32 nor 16 bits have a peak that tells it"),
                       "vector_peak: what it computes in fp32 outside the matrix units");
    if (a->power_idle_w > a->power_limit_w)
        FAIL_AT(c, "power.idle", "is above power.limit");
    if (a->power_cap_w > 0 && a->power_cap_w < a->power_idle_w)
        tsim_diag_hint(FAIL_AT(c, "power.cap", "is below power.idle, which is drawn without any work"),
                       "must be from %s to power.limit, %s",
                       tsim_quantity_human(a->power_idle_w, TSIM_WATTS, idle, sizeof idle),
                       tsim_quantity_human(a->power_limit_w, TSIM_WATTS, limit, sizeof limit));
    if (a->power_cap_w > a->power_limit_w)
        WARN_AT(c, "power.cap", "this has no effect, because it is above power.limit");
    if (a->usable_memory_reserve_bytes >= a->memory_bytes)
        FAIL_AT(c, "reserve", "is not below memory");
}

static void finish_pcie(const struct tsim_checked *c, struct tsim_node *node) {
    bool is_tree = node->accelerators_per_switch > 0 || node->accelerators_per_socket > 0;
    if (is_tree && node->scale_up != TSIM_SCALE_UP_PCIE)
        FAIL_AT(c, "scale_up.kind", "only kind: pcie has switches and sockets");
    if (node->accelerators_per_switch > 0 && node->accelerators_per_socket % node->accelerators_per_switch != 0)
        FAIL_AT(c, "scale_up.accelerators_per_socket", "is not a multiple of accelerators_per_switch (%lld)",
                (long long)node->accelerators_per_switch);
    if (node->switch_uplink_bytes_per_s <= 0 && is_tree)
        node->switch_uplink_bytes_per_s = node->scale_up_bytes_per_s;
    if (node->socket_link_bytes_per_s <= 0 && is_tree)
        node->socket_link_bytes_per_s = node->scale_up_bytes_per_s;
}

static double bytes_per_s_of(const struct tsim_value *value) {
    double bytes_per_s = 0;
    char why[160], hint[160]; /* read before, as a key of the table */
    if (value && value->kind == TSIM_VALUE_MAPPING)
        value = tsim_value_find(value, "value");
    if (value && value->kind == TSIM_VALUE_SCALAR)
        tsim_quantity_parse(value->text, TSIM_BYTES_PER_S, false, &bytes_per_s, why, hint);
    return bytes_per_s;
}

/* If the measured rate comes from a file with another wire, scales it to the same share of this wire. */
static void follow_wire(const struct tsim_value *mapping, const char *key, double *measured_bytes_per_s) {
    const struct tsim_value *wire = tsim_value_find_path(mapping, "scale_up.bandwidth"),
                            *measured = tsim_value_find_path(mapping, key), *own = wire;
    while (own && measured && own->document != measured->document)
        own = own->under;
    double own_bytes_per_s = bytes_per_s_of(own);
    if (own != wire && own_bytes_per_s > 0)
        *measured_bytes_per_s *= bytes_per_s_of(wire) / own_bytes_per_s;
}

static void check_below_wire(const struct tsim_checked *c, const char *key, double on_wire_bytes_per_s,
                             const struct tsim_node *node) {
    char wire[40], text[40];
    if (on_wire_bytes_per_s <= node->scale_up_bytes_per_s * (1 + 1e-9))
        return;
    tsim_diag_hint(
        FAIL_AT(c, key, "puts %s on a wire of %s (scale_up.bandwidth)",
                tsim_quantity_human(on_wire_bytes_per_s, TSIM_BYTES_PER_S, text, sizeof text),
                tsim_quantity_human(node->scale_up_bytes_per_s, TSIM_BYTES_PER_S, wire, sizeof wire)),
        "a measured bandwidth cannot be above the wire's; set scale_up.bandwidth as well, or leave this out");
}

/* Completes the scale-up links. Reductions in the switch at bus bandwidth b send b (n+1) / 2 (n-1) on each link, which
 * is more than half of b. */
static void finish_scale_up(const struct tsim_checked *c, struct tsim_node *node) {
    static const char RING[] = "scale_up.ring_bandwidth", REDUCE[] = "scale_up.reduce_bandwidth";
    follow_wire(c->mapping, RING, &node->scale_up_ring_bytes_per_s);
    follow_wire(c->mapping, REDUCE, &node->scale_up_reduce_bytes_per_s);
    if (node->scale_up_ring_bytes_per_s <= 0)
        node->scale_up_ring_bytes_per_s = node->scale_up_bytes_per_s;
    check_below_wire(c, RING, node->scale_up_ring_bytes_per_s, node);
    check_below_wire(c, REDUCE, node->scale_up_reduce_bytes_per_s / 2, node);
}

static void finish_node(const struct tsim_checked *c, struct tsim_node *node) {
    bool is_linked = node->scale_up != TSIM_SCALE_UP_NONE;
    if (is_linked && node->scale_up_bytes_per_s <= 0)
        tsim_diag_hint(LACK_AT(c, "scale_up", "missing key 'bandwidth'"),
                       "per accelerator and direction, for example 450 GB/s");
    if (is_linked)
        finish_scale_up(c, node);
    if (!is_linked && node->accelerators > 1)
        tsim_diag_hint(
            FAIL_AT(c, "scale_up.kind", "%lld accelerators without links between them", (long long)node->accelerators),
            "kind: switch, mesh or pcie");
    if (node->nics > 0 && node->nic_bytes_per_s <= 0)
        tsim_diag_hint(LACK_AT(c, "nics", "missing key 'nic_bandwidth'"),
                       "per NIC and direction, for example 400 Gb/s");
    if (node->scale_up == TSIM_SCALE_UP_CUBE_MESH && node->accelerators != 8)
        FAIL_AT(c, "scale_up.kind", "a hybrid cube mesh has 8 accelerators, this node %lld",
                (long long)node->accelerators);
    finish_pcie(c, node);
}

static void finish_tiers(const struct tsim_checked *c, const struct tsim_fabric *fabric) {
    if (fabric->topology != TSIM_TOPOLOGY_FAT_TREE) {
        if (fabric->n_tiers > 0 || fabric->rails)
            FAIL_AT(c, "topology", "only a fat-tree has tiers and rails");
        return;
    }
    const struct tsim_value *tiers = tsim_value_find(c->mapping, "tiers");
    if (fabric->n_tiers == 0 && (!tiers || tiers->kind == TSIM_VALUE_SEQUENCE))
        tsim_diag_hint(LACK_AT(c, "topology", "a fat-tree without tiers"),
                       "from below, for example [{ports: 32}, {ports: 1024, oversubscription: 2}]");
    for (size_t i = 0; i < fabric->n_tiers; i++) {
        int64_t below = i > 0 ? fabric->tiers[i - 1].ports : 1;
        if (below > 0 && (fabric->tiers[i].ports <= below || fabric->tiers[i].ports % below != 0))
            FAIL_AT(c, "tiers", "%lld ports are no multiple of the %lld of the tier below",
                    (long long)fabric->tiers[i].ports, (long long)below);
    }
}

static void finish_fabric(const struct tsim_checked *c, const struct tsim_fabric *fabric) {
    finish_tiers(c, fabric);
    if (fabric->topology == TSIM_TOPOLOGY_TORUS && fabric->torus_dimensions < 2)
        tsim_diag_hint(LACK_AT(c, "torus", "how many dimensions?"), "torus: {dimensions: 3, wrap: 4}");
    if (fabric->topology == TSIM_TOPOLOGY_DRAGONFLY &&
        (fabric->dragonfly_ports < 1 || fabric->dragonfly_routers < 1 || fabric->dragonfly_global_links < 1))
        tsim_diag_hint(LACK_AT(c, "dragonfly", "ports, routers and global_links are needed"),
                       "dragonfly: {ports: 16, routers: 32, global_links: 16}");
}

/* ---- reading ---- */

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
    if (kind == TSIM_CATALOGUE_MODELS)
        tsim_model_read_mapping(reader, mapping, path, object);
    else
        tsim_schema_read(reader, tsim_catalogue_table(kind), mapping, path, object);
    return object;
}

static void finish_object(const struct tsim_checked *c, enum tsim_catalogue_kind kind, void *object) {
    if (kind == TSIM_CATALOGUE_MODELS)
        tsim_model_finish(c, object);
    else if (kind == TSIM_CATALOGUE_ACCELERATORS)
        finish_accelerator(c, object);
    else if (kind == TSIM_CATALOGUE_NODES)
        finish_node(c, object);
    else if (kind == TSIM_CATALOGUE_FABRICS)
        finish_fabric(c, object);
}

const void *tsim_catalogue_read(struct tsim_reader *reader, enum tsim_catalogue_kind kind,
                                const struct tsim_value *reference, const char *path) {
    size_t n_errors = reader->diags->n_errors;
    const struct tsim_value *mapping = tsim_catalogue_resolve(reader, kind, reference, path);
    if (!mapping)
        return NULL;
    void *object = read_object(reader, kind, mapping, path);
    if (!has_errors_since(reader, n_errors))
        finish_object(&(struct tsim_checked){reader, mapping, path}, kind, object);
    return has_errors_since(reader, n_errors) ? NULL : object;
}

void tsim_catalogue_write(struct tsim_writer *writer, const char *key, enum tsim_catalogue_kind kind, const char *path,
                          const void *object) {
    if (object && kind == TSIM_CATALOGUE_MODELS) {
        tsim_writer_begin(writer, key, '{');
        tsim_model_write_members(writer, path, object);
        tsim_writer_end(writer, '}');
    } else if (object) {
        tsim_writer_mapping(writer, key, tsim_catalogue_table(kind), path, object);
    }
}

static void read_reference(struct tsim_reader *reader, enum tsim_catalogue_kind kind, const struct tsim_value *value,
                           const char *path, void *field) {
    const void *object = value ? tsim_catalogue_read(reader, kind, value, path) : NULL;
    if (value)
        memcpy(field, &object, sizeof object);
}

static void write_reference(struct tsim_writer *writer, const char *key, enum tsim_catalogue_kind kind,
                            const char *path, const void *field) {
    const void *object;
    memcpy(&object, field, sizeof object);
    tsim_catalogue_write(writer, key, kind, path, object);
}

#define REFERENCE(word, kind)                                                                                          \
    void tsim_##word##_reference_read(struct tsim_reader *reader, const struct tsim_value *value, const char *path,    \
                                      void *field) {                                                                   \
        read_reference(reader, kind, value, path, field);                                                              \
    }                                                                                                                  \
    void tsim_##word##_reference_write(struct tsim_writer *writer, const char *key, const char *path,                  \
                                       const void *field) {                                                            \
        write_reference(writer, key, kind, path, field);                                                               \
    }
REFERENCE(model, TSIM_CATALOGUE_MODELS)
REFERENCE(accelerator, TSIM_CATALOGUE_ACCELERATORS)
REFERENCE(fabric, TSIM_CATALOGUE_FABRICS)
REFERENCE(software, TSIM_CATALOGUE_SOFTWARE)
REFERENCE(region, TSIM_CATALOGUE_REGIONS)
REFERENCE(storage, TSIM_CATALOGUE_STORAGE)

const char *tsim_model_json(struct tsim_arena *arena, const struct tsim_model *model) {
    struct tsim_writer writer = {.omits_zeros = true};
    tsim_catalogue_write(&writer, NULL, TSIM_CATALOGUE_MODELS, "", model);
    return tsim_writer_finish(&writer, arena);
}

/* ---- loading by id ---- */

/* Returns the id as a value, for the functions that read references. */
static const struct tsim_value *reference_of(struct tsim_arena *arena, const char *id) {
    struct tsim_document *document = TSIM_NEW(arena, struct tsim_document);
    document->arena = arena;
    struct tsim_value *value = TSIM_NEW(arena, struct tsim_value);
    value->document = document;
    value->text = tsim_arena_strdup(arena, id);
    document->file = value->text;
    document->is_override = true;
    return value;
}

static enum tsim_status load(struct tsim_arena *arena, enum tsim_catalogue_kind kind, const char *id,
                             const void **object, struct tsim_diags *diags) {
    struct tsim_reader reader = {.arena = arena, .diags = diags};
    size_t first = diags->n_items;
    const void *read = tsim_catalogue_read(&reader, kind, reference_of(arena, id), "");
    *object = read;
    return read ? TSIM_OK : tsim_diags_status(diags, first);
}

#define LOADER(word, kind)                                                                                             \
    enum tsim_status tsim_catalogue_load_##word(struct tsim_arena *arena, const char *id,                              \
                                                const struct tsim_##word **word, struct tsim_diags *diags) {           \
        const void *object;                                                                                            \
        TSIM_TRY(load(arena, kind, id, &object, diags));                                                               \
        *word = object;                                                                                                \
        return TSIM_OK;                                                                                                \
    }
LOADER(model, TSIM_CATALOGUE_MODELS)
LOADER(accelerator, TSIM_CATALOGUE_ACCELERATORS)
LOADER(node, TSIM_CATALOGUE_NODES)
LOADER(fabric, TSIM_CATALOGUE_FABRICS)
LOADER(software, TSIM_CATALOGUE_SOFTWARE)
LOADER(region, TSIM_CATALOGUE_REGIONS)
