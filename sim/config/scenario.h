/* scenario.h - a scenario (docs/reference.md), typed, in SI units, with every default filled in and every rule between
 * keys checked. tsim_scenario_load builds it, and from then on it is const: later stages may assume that it is valid,
 * and assert that. */
#pragma once

#include "config/catalogue.h"

enum tsim_optimizer {
    TSIM_SGD,
    TSIM_MOMENTUM,
    TSIM_RMSPROP,
    TSIM_ADAM,
    TSIM_ADAMW,
    TSIM_ADAFACTOR,
    TSIM_ADAM_8BIT,
    TSIM_GALORE_8BIT,
    TSIM_LAMB,
    TSIM_MUON
};
/* Returns whether the optimizer's moments have one number for each parameter, which are neither factored nor quantized
 * by blocks. */
static inline bool tsim_keeps_whole_moments(enum tsim_optimizer optimizer) {
    return optimizer == TSIM_MOMENTUM || optimizer == TSIM_RMSPROP || optimizer == TSIM_ADAM ||
           optimizer == TSIM_ADAMW || optimizer == TSIM_LAMB || optimizer == TSIM_MUON;
}

/* The parts of a layer that selective recomputation can execute again, as a set. Their results are not kept, and their
 * inputs are, unless another part that is executed again makes these. They are Megatron-Core's recompute_modules
 * core_attn, layernorm, mla_up_proj, moe_act, mlp, moe. MaxText's remat_policy names what is kept instead:
 * save_qkv_proj is all parts of a dense layer. */
enum tsim_recompute_part {
    TSIM_RECOMPUTE_ATTENTION = 1,  /* attention's core: scores, softmax, values */
    TSIM_RECOMPUTE_NORMS = 2,      /* the norms before attention and before the feed-forward block */
    TSIM_RECOMPUTE_LATENT = 4,     /* the products that make queries, keys and values of latent vectors */
    TSIM_RECOMPUTE_ACTIVATION = 8, /* the function between the two products */
    TSIM_RECOMPUTE_FFN = 16,       /* the feed-forward block, and shared experts */
    TSIM_RECOMPUTE_EXPERTS = 32,   /* routed experts, with their exchanges */
    TSIM_RECOMPUTE_OUTPUT = 64,    /* the product after attention, and the sum with the residual stream */
    /* Every second product, and everything but flash attention and scatters (torchtitan's selective checkpointing by
     * operator: parallelize_llama.py, _save_list). It goes with no other part, nor with experts, latent attention and
     * encoder-decoder models. */
    TSIM_RECOMPUTE_OPERATORS = 128
};
enum { TSIM_N_RECOMPUTE_PARTS = 8 };
enum tsim_attention { TSIM_ATTENTION_FLASH, TSIM_ATTENTION_STANDARD };
enum tsim_schedule {
    TSIM_SCHEDULE_SEQUENTIAL,
    TSIM_SCHEDULE_GPIPE,
    TSIM_SCHEDULE_PIPEDREAM,
    TSIM_SCHEDULE_PIPEDREAM_2BW,
    TSIM_SCHEDULE_1F1B,
    TSIM_SCHEDULE_INTERLEAVED,
    TSIM_SCHEDULE_ZB_H1,
    TSIM_SCHEDULE_ZB_H2,
    TSIM_SCHEDULE_ZB_V,
    TSIM_SCHEDULE_DUALPIPE
};
/* Returns whether the pipeline is never flushed: micro-batches of the next step enter while those of this step are in
 * it. */
static inline bool tsim_is_asynchronous(enum tsim_schedule schedule) {
    return schedule == TSIM_SCHEDULE_PIPEDREAM || schedule == TSIM_SCHEDULE_PIPEDREAM_2BW;
}
enum tsim_detail { TSIM_DETAIL_AUTO, TSIM_DETAIL_OPERATORS, TSIM_DETAIL_PASSES };
enum tsim_network { TSIM_NETWORK_FLUID, TSIM_NETWORK_STEPS, TSIM_NETWORK_IDEAL };
enum tsim_axis {
    TSIM_AXIS_TENSOR,
    TSIM_AXIS_CONTEXT,
    TSIM_AXIS_EXPERT,
    TSIM_AXIS_DATA,
    TSIM_AXIS_PIPELINE,
    TSIM_N_AXES
};
/* The ways in which accelerators that share a sequence get the keys and values that they lack. */
enum tsim_context_exchange {
    TSIM_CONTEXT_RING, /* piece by piece around a ring, under the attention on the piece before (Liu et al. 2023) */
    TSIM_CONTEXT_ALL_GATHER, /* all of them first (Llama 3 2024, section 3.3.2) */
    /* Queries, keys and values change from token shards to head shards and back (Jacobs et al. 2023). */
    TSIM_CONTEXT_ALL_TO_ALL
};
enum tsim_run_length { TSIM_LENGTH_NONE, TSIM_LENGTH_TOKENS, TSIM_LENGTH_SAMPLES, TSIM_LENGTH_STEPS };

/* The metrics are the keys of `measured:` (config/measured.def). */
enum tsim_metric {
#define METRIC(NAME, key, dimension, bare, most, KIND, FIGURE, AS, help) TSIM_METRIC_##NAME,
#include "config/measured.def"
    TSIM_N_METRICS
};
enum tsim_metric_kind {
    TSIM_METRIC_KIND_TIME,
    TSIM_METRIC_KIND_RATE,
    TSIM_METRIC_KIND_SPAN,
    TSIM_METRIC_KIND_MEMORY,
    TSIM_METRIC_KIND_OTHER
};
enum tsim_metric_kind tsim_metric_kind(enum tsim_metric metric);
/* Returns whether the metric is a step's time or a rate, which follow from each other. */
static inline bool tsim_metric_is_speed(enum tsim_metric metric) {
    enum tsim_metric_kind kind = tsim_metric_kind(metric);
    return kind == TSIM_METRIC_KIND_TIME || kind == TSIM_METRIC_KIND_RATE;
}
/* Returns whether the metric says how fast a step, a round or a whole run was. */
static inline bool tsim_metric_is_pace(enum tsim_metric metric) {
    return tsim_metric_is_speed(metric) || tsim_metric_kind(metric) == TSIM_METRIC_KIND_SPAN;
}

enum tsim_degraded_kind { TSIM_DEGRADED_SCALE_UP, TSIM_DEGRADED_NIC, TSIM_DEGRADED_FABRIC, TSIM_DEGRADED_ACCELERATOR };

/* A link, in both directions, or an accelerator that is slower than others of its kind. */
struct tsim_degraded {
    enum tsim_degraded_kind link;
    int64_t node;     /* scale-up, NIC, accelerator: the node */
    int64_t index;    /* the accelerator's or the NIC's number in the node; -1: all */
    int64_t tier;     /* fabric: the tier of the uplinks */
    int64_t group;    /* fabric: the group of that tier */
    double rate_frac; /* of the full rate, > 0 */
};

enum tsim_direction { TSIM_DIRECTION_OUT, TSIM_DIRECTION_IN, TSIM_DIRECTION_BOTH };

/* Foreign traffic on every accelerator's share of the NICs, from the beginning of the step. */
struct tsim_background {
    const char *name;
    enum tsim_direction direction;
    double rate_bytes_per_s; /* the most in each direction; 0: as much as it gets */
    double bytes;            /* in each direction; 0: it never ends */
    bool is_of_host;         /* it also goes through the hosts' memory */
};

struct tsim_cluster_spec {
    const struct tsim_node *node;
    const struct tsim_fabric *fabric; /* NULL: one node without a fabric */
    int64_t nodes;
    int64_t accelerators_per_node; /* resolved: never 0 */
    int64_t torus_shape[3];        /* resolved: accelerators along each dimension of a torus; 1 beyond its dimensions */
    int64_t torus_tile[3];         /* resolved: ranks fill boxes of so many accelerators; 1 where it was not said */
    const struct tsim_degraded *degraded;
    size_t n_degraded;
    const struct tsim_background *background;
    size_t n_background;
};

enum tsim_period_kind { TSIM_PERIOD_OPTIMAL, TSIM_PERIOD_TIME, TSIM_PERIOD_STEPS };
struct tsim_period {
    enum tsim_period_kind kind;
    double value; /* in seconds, or in steps; 0 with OPTIMAL */
};
/* The pauses in which the model is evaluated. */
struct tsim_evaluation_spec {
    struct tsim_period interval; /* of training; never OPTIMAL if there is a time, or samples */
    double time_s;               /* of a pause, as given; 0: not given */
    /* Without `time` the pause is simulated (run/evaluation.h) with its samples or its global batches; 0: not given. */
    double samples, steps;
    double tokens; /* of a text that is sampled with it, one after the other; 0: none */
};

/* Offloading keeps data in the host's memory and moves them over the host's link to the accelerator (Ren et al. 2021,
 * ZeRO-Offload, arXiv:2101.06840; Rajbhandari et al. 2021, ZeRO-Infinity, arXiv:2104.07857). */
struct tsim_offload_spec {
    bool optimizer;          /* master weights and optimizer state, which the host updates */
    double activations_frac; /* part of what the layers keep for the backward pass */
};

/* Training in fp16 with a dynamic loss scale. The scale doubles after growth_interval steps without overflow, until
 * gradients overflow; then `skipped` steps without an update halve it again (1 in PyTorch's GradScaler and Apex; 2 in
 * Megatron-LM and DeepSpeed, where it is the `hysteresis`). */
struct tsim_loss_scaling_spec {
    int64_t growth_interval, skipped; /* resolved; 0 in other precisions */
};

/* The batch grows from `from` by `increment` until it is the global batch after `samples` (run/batch_ramp.h). */
struct tsim_batch_ramp_spec {
    double from, increment, samples; /* samples 0: the batch is the global one from the beginning */
};

/* A part of the run before its end, with a length of its own (run/stages.h). */
struct tsim_stage_spec {
    int64_t sequence_length, global_batch_size, micro_batch_size, context; /* 0: as at the end */
    double tokens, samples, steps;        /* one of them is given: the stage's length */
    const struct tsim_scenario *scenario; /* resolved: the scenario of one of its steps */
};

/* Fine-tuning trains two thin matrices beside each of some products (LoRA: Hu et al. 2021, arXiv:2106.09685). The
 * model's weights stay as they are; they may have 4 or 8 bits (QLoRA: Dettmers et al. 2023, arXiv:2305.14314). */
enum tsim_adapter_kind { TSIM_ADAPTER_NONE, TSIM_ADAPTER_LORA, TSIM_ADAPTER_QLORA };
enum tsim_adapter_target { /* products with weights; products that are joined may share one adapter */
                           TSIM_TARGET_QKV,
                           TSIM_TARGET_QUERY,
                           TSIM_TARGET_KEY,
                           TSIM_TARGET_VALUE,
                           TSIM_TARGET_OUTPUT,
                           TSIM_TARGET_GATE_UP,
                           TSIM_TARGET_GATE,
                           TSIM_TARGET_UP,
                           TSIM_TARGET_DOWN,
                           TSIM_TARGET_RECURRENCE_IN, /* the products before and behind a recurrence (recurrent.h) */
                           TSIM_TARGET_RECURRENCE_OUT,
                           TSIM_N_TARGETS
};
enum tsim_base_precision { TSIM_BASE_AS_TRAINING, TSIM_BASE_INT8, TSIM_BASE_NF4 };
enum tsim_expert_adapters { /* beside the products of routed experts: of each expert, one for all of a rank, or none */
                            TSIM_ADAPTERS_OF_EACH,
                            TSIM_ADAPTERS_SHARED,
                            TSIM_ADAPTERS_OF_NONE
};
struct tsim_adapter_spec {
    enum tsim_adapter_kind kind; /* NONE: the model itself is trained, and nothing else counts */
    int64_t rank;
    unsigned targets; /* a set of 1 << enum tsim_adapter_target */
    enum tsim_expert_adapters experts;
    enum tsim_base_precision base_precision;
    double dropout_frac; /* part of an adapter's input that is dropped */
    bool drops_result;
};

/* Data-parallel ranks send only parts of their gradients (model/compression.h). */
enum tsim_compression_kind { TSIM_UNCOMPRESSED, TSIM_TOP_K, TSIM_POWERSGD, TSIM_ONE_BIT };
struct tsim_compression_spec {
    enum tsim_compression_kind kind;
    double fraction; /* top-k: part of a gradient's elements that a rank sends; resolved */
    int64_t rank;    /* powersgd: rank of the factors; resolved */
};

enum tsim_training_kind { TSIM_PRETRAIN, TSIM_SFT, TSIM_DPO, TSIM_GRPO, TSIM_PPO, TSIM_DISTILL };
/* A scorer is a model, as large as the policy, that scores the samples of a step of post-training in forward passes.
 * The critic is also trained. */
enum tsim_scorer { TSIM_SCORER_POLICY, TSIM_SCORER_REFERENCE, TSIM_SCORER_REWARD, TSIM_SCORER_CRITIC, TSIM_N_SCORERS };
/* The policy generates responses before it is trained on them (run/generation.h). A sample is a prompt with its
 * response, as long as training.lengths or sequence_length say. */
struct tsim_generation_spec {
    int64_t nodes;                        /* of the cluster, which generate and do nothing else; 0: all nodes do both */
    int64_t ahead;                        /* rounds that are generated before the steps on an earlier round are over */
    int64_t tensor;                       /* ranks that divide the model while it generates */
    int64_t expert;                       /* engines that share one set of experts */
    int64_t rollouts;                     /* samples that are generated before the next steps train on them */
    int64_t samples_per_prompt;           /* responses to one prompt, which share its cache */
    int64_t max_sequences;                /* that one engine runs at once, if its memory holds them */
    double prompt;                        /* in tokens */
    double memory_frac;                   /* part of the accelerator's memory for weights and KV cache */
    enum tsim_precision precision;        /* of the products of layers and of their weights in memory; resolved */
    const struct tsim_software *software; /* profile of the engine */
};
/* Samples of many lengths, lognormal and cut at sequence_length (lengths.h). */
enum tsim_batching { TSIM_BATCHING_PACKED, TSIM_BATCHING_LONGEST, TSIM_BATCHING_WHOLE };
struct tsim_lengths_spec {
    double mean; /* in tokens; 0: every sample has sequence_length, and nothing else counts */
    double cv;   /* coefficient of variation */
    enum tsim_batching batching;
    int64_t pass;    /* resolved: tokens that a pass takes for each sample of a batch, padding included */
    double useful;   /* mean number of these that are not padding */
    double sample;   /* mean tokens of a sample, after the cut */
    double fill;     /* part of a pack that is not padding */
    double attended; /* tokens of its own sample that a token may attend to, on average over tokens */
};

struct tsim_training_spec {
    enum tsim_training_kind kind;
    unsigned scoring;                 /* a set of 1 << enum tsim_scorer */
    const struct tsim_model *teacher; /* distill: its forward pass comes before each of the model's; else NULL */
    struct tsim_lengths_spec lengths;
    struct tsim_batch_ramp_spec batch_ramp;
    const struct tsim_stage_spec *stages; /* parts of the run before the one that the other fields describe */
    size_t n_stages;
    struct tsim_adapter_spec adapter;
    struct tsim_compression_spec compression;
    int64_t sequence_length, global_batch_size, micro_batch_size;
    /* Encoder-decoder models: tokens of the decoder; sequence_length is then the encoder's. It is 0 in other models. */
    int64_t decoder_sequence_length;
    enum tsim_precision precision;
    enum tsim_precision gradient_precision; /* FP32, or BF16 or FP16 */
    /* The scenario itself sets it, so its other plans keep it; the software's value follows ZeRO. */
    bool says_gradients;
    enum tsim_optimizer optimizer;
    enum tsim_precision state_precision;        /* of moments that are kept whole: FP32, or BF16 or FP16 */
    bool no_master_weights;                     /* training in 16 or 8 bits without an fp32 copy */
    struct tsim_loss_scaling_spec loss_scaling; /* for fp16 alone */
    struct tsim_offload_spec offload;
    bool updates_by_layer; /* each layer's weights are updated in the backward pass, and its gradient freed */
    enum tsim_recompute recompute;
    unsigned recompute_parts; /* with TSIM_RECOMPUTE_SELECTIVE; 0: the software's parts */
    int64_t recompute_every;  /* with TSIM_RECOMPUTE_EVERY (and SQRT, resolved): layers between two checkpoints */
    int64_t recompute_layers; /* with TSIM_RECOMPUTE_LAYERS: the first so many layers of each chunk, whole */
    enum tsim_attention attention;
    enum tsim_run_length length_kind;
    double length; /* in tokens, samples or steps */
    struct tsim_evaluation_spec evaluation;
};

/* Replicas in a row form a worker and sum their gradients in every step; workers exchange only every so many steps
 * (Stich 2019, arXiv:1805.09767; Douillard et al. 2023, DiLoCo, arXiv:2311.08105; McMahan et al. 2017,
 * arXiv:1602.05629). */
enum tsim_outer_optimizer { TSIM_OUTER_AVERAGE, TSIM_OUTER_NESTEROV };
struct tsim_local_sgd_spec {
    int64_t workers; /* 0: all replicas take part in every step, and nothing else counts */
    int64_t steps;
    enum tsim_outer_optimizer outer;
    enum tsim_precision precision; /* of what workers exchange */
};

/* Workers push their gradients to servers and pull weights from them (run/parameter_server.h). */
struct tsim_server_spec {
    int64_t servers; /* 0: there are none, and nothing else counts */
    int64_t workers; /* each is a replica, or several in a row; resolved */
    bool is_synchronous;
};

struct tsim_parallelism_spec {
    int64_t tensor, pipeline, virtual_pipeline, context, expert, data; /* data is resolved */
    /* Layers of each of tsim_n_model_parts chunks, in model order, which add up to model->layers. Part c *
         * pipeline + s is chunk c of stage s; zb-v and dualpipe lay the parts out otherwise (partition/schedule.h). */
    const int64_t *layers_per_chunk;
    int64_t expert_tensor; /* ranks that divide each expert: 1, or `tensor`; 0: as tensor */
    bool balances;         /* layers_per_chunk are even so far; step/balance.h makes stages equally fast */
    enum tsim_context_exchange context_exchange;
    bool sequence;
    int zero;                   /* stage 0..3 */
    int64_t prefetch;           /* ZeRO-3: units that are gathered ahead of the one that runs */
    bool reshard_after_forward; /* ZeRO-3: parameters are gathered again for the backward pass */
    int64_t zero_group_ranks;   /* ranks that shard together; resolved: data x context, or fewer; at most a worker's */
    struct tsim_local_sgd_spec local_sgd;
    struct tsim_server_spec parameter_server;
    enum tsim_schedule schedule;
    int64_t schedule_microbatches; /* of one run of the schedule, which fills and drains the pipeline; 0: all */
    struct tsim_overlap overlap;   /* resolved: the scenario's keys over the software profile's */
    bool says_overlap_pipeline, says_overlap_expert; /* the scenario itself sets them, so its other plans keep them */
    bool says_schedule, says_layers;                 /* says_layers: layers_per_chunk is a list of the scenario's */
    enum tsim_axis order[TSIM_N_AXES];               /* of ranks, innermost first */
};

enum tsim_access { TSIM_ACCESS_RANDOM, TSIM_ACCESS_SEQUENTIAL };

/* The input pipeline (step/input/input_pipeline.h). A batch is a micro-batch of one replica. */
enum tsim_storage_network { TSIM_STORAGE_OWN, TSIM_STORAGE_NICS };

struct tsim_data_spec {
    bool has; /* false: data are always there, and nothing else counts */
    const struct tsim_storage *storage;
    enum tsim_storage_network network; /* the way from the storage to the hosts */
    enum tsim_access access;
    double sample_bytes;   /* read per sample */
    double transfer_bytes; /* of a sample when it goes to the accelerator */
    double sample_cpu_s;   /* on one core */
    double samples;        /* in the data set; 0: not said */
    int64_t workers;       /* on each node */
    int64_t prefetch;      /* batches ahead, per worker; 0: none */
};

struct tsim_energy_spec {
    double pue, price_usd_per_j, carbon_kg_per_j; /* resolved: the scenario's keys, else the region's, else defaults */
    double price_spread; /* the price is right within this factor in eight of ten cases; 1: it is certain */
    double embodied_kg;  /* CO2 from making an accelerator and its share of the node */
    /* resolved; if a profile has hours, the value above is its mean. */
    struct tsim_hourly price_profile, carbon_profile;
    double start_s;                   /* time of the profiles at which the run begins */
    const struct tsim_region *region; /* NULL: none is named */
};
struct tsim_cost_spec {
    double rent_usd_per_s, reserved_usd_per_s, purchase_usd, lifetime_s; /* per accelerator */
    double commitment_s;                          /* length of a contract at the reserved price */
    double host_frac, network_frac, storage_frac; /* on top of the purchase, as parts of it */
    double interest_frac, maintenance_frac;       /* of the capital, per year */
    double residual_frac, utilization_frac;       /* residual: value after the lifetime; utilization: use during it */
    double price_spread; /* prices are right within this factor in eight of ten cases; 1: they are certain */
    double facility_usd_per_kw, facility_lifetime_s; /* building, power and cooling for a kW of the nodes */
    double delivery_s;                               /* from the order of a machine to its first step */
    const char *date;                                /* of the prices */
};
/* The goals that `tsim buy` is to reach; 0: not said. */
struct tsim_goal_spec {
    double tokens, loss_nats, deadline_s, budget_usd;
};
/* The run is one trial of a search for hyper-parameters (campaign/hyper_search.h). */
enum tsim_search_method { TSIM_SEARCH_NONE, TSIM_SEARCH_HALVING, TSIM_SEARCH_HYPERBAND };
struct tsim_search_spec {
    enum tsim_search_method method; /* NONE: nothing else counts */
    int64_t trials;                 /* halving: trials that are begun */
    int64_t at_once;                /* clusters like the scenario's, each with a trial */
    double eta;                     /* one in eta trials goes on */
    double least_frac;              /* least part of the run that a trial is trained before a cut */
};
/* The causes that interrupt a run, X(NAME, word). Most are components that fail; a straggler is a node that turned
 * slow, and counts when it is found. */
#define TSIM_COMPONENTS(X)                                                                                             \
    X(ACCELERATOR, "accelerator")                                                                                      \
    X(HBM, "hbm") X(NIC, "nic") X(LINK, "link") X(SWITCH, "switch") X(HOST, "host") X(SOFTWARE, "software")
#define TSIM_CAUSES(X) TSIM_COMPONENTS(X) X(PREEMPTION, "preemption") X(STRAGGLER, "straggler")
enum tsim_cause {
#define TSIM_CAUSE_ENUM(NAME, word) TSIM_CAUSE_##NAME,
    TSIM_CAUSES(TSIM_CAUSE_ENUM)
#undef TSIM_CAUSE_ENUM
        TSIM_N_CAUSES,
    TSIM_N_COMPONENTS = TSIM_CAUSE_PREEMPTION
};
/* The number of spares is found by campaign/spares.h. */
enum tsim_spares { TSIM_SPARES_OPTIMAL = -1, TSIM_SPARES_FASTEST = -2 };
struct tsim_reliability_spec {
    bool has;           /* false: `reliability:` is not given, and nothing fails */
    double node_mtbf_s; /* 0: by component */
    double rate_spread; /* the rates are right within this factor in eight of ten cases; 1: they are certain */
    double component_mtbf_s[TSIM_N_COMPONENTS]; /* of one component; 0: it never fails */
    double shape, age_s; /* Weibull shape of hardware failures, and the hardware's age at the beginning */
    struct tsim_period checkpoint_interval;
    int mode; /* 0: sync, 1: async */
    double checkpoint_bytes_per_s;
    enum tsim_storage_network checkpoint_network;
    bool checkpoint_memory;
    /* A local tier of checkpoints with its own interval; the interval above is then the storage's. */
    struct tsim_local_tier_spec {
        bool has;
        struct tsim_period interval;
        int64_t copies;   /* other nodes that hold a copy of what a node holds */
        double restart_s; /* 0: as from the storage */
    } local;
    double detection_s, restart_s, warmup_s, repair_s;
    double repair_power_frac; /* power of a node in repair, as a part of an idle node's */
    int64_t spares;           /* a number, or an enum tsim_spares */
    bool elastic;
    double maintenance_interval_s, maintenance_s;
    double straggler_mtbf_s, straggler_slowdown, straggler_detection_s; /* of one node; 0: never */
    double preemption_per_s, notice_s, discount_frac, gap_s;            /* preemption_per_s: rate of one node */
    int64_t replications;
};
/* Two kinds of time vary: those of each kernel from one execution to the next, and those of accelerators that are
 * always slow. */
struct tsim_variability_spec {
    double compute_cv; /* standard deviation of a kernel's time over its mean */
    /* Part of the accelerators that are slow, and how many times longer they take. */
    double straggler_frac, straggler_slowdown;
    int64_t step; /* which of simulation.steps is simulated; each has its own noise */
};
struct tsim_simulation_spec {
    int64_t steps, warmup, seed;
    enum tsim_network network;
    enum tsim_detail detail;
    bool fold;
};
struct tsim_measured {
    const char *source;
    const char *doubtful; /* the reason why times and rates are shown and not scored; NULL: they can be trusted */
    bool has[TSIM_N_METRICS];
    double value[TSIM_N_METRICS]; /* in SI units: s, tokens/s, fractions, FLOP/s, bytes, joules; days are days */
};

struct tsim_scenario_source;
struct tsim_draft;

struct tsim_scenario {
    const char *name, *description, *file;
    /* The text that was read, with every --set. Proposals change it. NULL if a program made the scenario. */
    const struct tsim_scenario_source *source;
    const struct tsim_model *model;
    const struct tsim_software *software;
    bool software_defaulted; /* no `software:` was given, as the summary then says */
    bool software_replaced;  /* the profile given does not run this, and another is taken */
    struct tsim_cluster_spec cluster;
    struct tsim_training_spec training;
    struct tsim_parallelism_spec parallelism;
    struct tsim_generation_spec generation;
    struct tsim_data_spec data;
    struct tsim_variability_spec variability;
    struct tsim_energy_spec energy;
    struct tsim_cost_spec cost;
    struct tsim_reliability_spec reliability;
    struct tsim_goal_spec goal;
    struct tsim_search_spec search;
    struct tsim_simulation_spec simulation;
    struct tsim_measured measured;
    int64_t n_accelerators; /* those that train: tsim_training_nodes x accelerators_per_node */
    int64_t n_microbatches; /* of a replica in a step */
    bool is_forward_only;   /* set by sim/run: passes go forward alone, and nothing is reduced or stepped */
    double cached_tokens;   /* set by run/generation.h: tokens of each sequence in the KV cache; a pass adds its own */
    /* The same scenario with the teacher as its model; NULL: there is no teacher. */
    const struct tsim_scenario *teaching;
    struct tsim_place plan_at;      /* the place of the file's `parallelism`, or the file */
    const struct tsim_draft *draft; /* its tables with every default, which tsim_scenario_json prints */
    const char *const *estimates;   /* names of values with status estimate that this run uses */
    size_t n_estimates;
};

/* Returns the time that the scenario's host takes for work that takes a software profile's host so long. */
static inline double tsim_host_s(const struct tsim_scenario *scenario, double profile_s) {
    return profile_s * scenario->cluster.node->host_time_factor;
}

/* Returns the number of groups of replicas that sum their gradients apart from each other; 0 if all replicas sum them
 * together. */
static inline int64_t tsim_workers_apart(const struct tsim_parallelism_spec *parallelism) {
    return parallelism->local_sgd.workers > 0 ? parallelism->local_sgd.workers : parallelism->parameter_server.workers;
}

/* Returns the nodes of the cluster that train; the others only generate. */
static inline int64_t tsim_training_nodes(const struct tsim_scenario *scenario) {
    return scenario->cluster.nodes - scenario->generation.nodes;
}
static inline int64_t tsim_all_accelerators(const struct tsim_scenario *scenario) {
    return scenario->cluster.nodes * scenario->cluster.accelerators_per_node;
}
/* Returns the accelerators that generate: those of nodes that do nothing else, or those that train. */
static inline int64_t tsim_generating_accelerators(const struct tsim_scenario *scenario) {
    return scenario->generation.nodes > 0 ? scenario->generation.nodes * scenario->cluster.accelerators_per_node
                                          : scenario->n_accelerators;
}

/* Returns whether the policy generates the samples that it is trained on. */
static inline bool tsim_generates(const struct tsim_scenario *scenario) {
    return scenario->training.kind == TSIM_GRPO || scenario->training.kind == TSIM_PPO;
}

/* Returns whether a step is part of a round, with other models' passes (run/post_training.h). */
static inline bool tsim_has_rounds(const struct tsim_scenario *scenario) {
    return scenario->training.kind > TSIM_SFT;
}

/* Returns whether weights, gradients and optimizer state lie beside the accelerator and pass through it
 * (TSIM_EXECUTION_WEIGHT_STREAMING in catalogue.h; partition/memory.h). */
static inline bool tsim_streams_weights(const struct tsim_scenario *scenario) {
    return scenario->cluster.node->accelerator->execution == TSIM_EXECUTION_WEIGHT_STREAMING;
}

/* A setting as --set PATH=VALUE gives it. */
struct tsim_override {
    const char *path, *value;
    const char *option; /* "tokens" if it was given as --tokens VALUE; NULL: as a --set */
};

/* Reads FILE ("-" is standard input), follows `extends` and references to the catalogue, applies overrides, and
 * validates. The catalogue is that of tsim_catalogue_folder. Everything is allocated from `arena`. All mistakes and
 * warnings are appended to `diags`; returns TSIM_OK if there was no error. */
enum tsim_status tsim_scenario_load(struct tsim_arena *arena, const char *file, const struct tsim_override *overrides,
                                    size_t n_overrides, const struct tsim_scenario **scenario,
                                    struct tsim_diags *diags);

/* Returns the number of parts into which the layers are split: pipeline x virtual_pipeline. zb-v always has two on a
 * stage, and dualpipe holds each of its `pipeline` parts on two stages. */
int64_t tsim_n_model_parts(const struct tsim_parallelism_spec *parallelism);
/* Returns the number of ranks that hold the model once: tensor x context x pipeline. */
int64_t tsim_n_model_ranks(const struct tsim_parallelism_spec *parallelism);
bool tsim_ranks_divide(const struct tsim_parallelism_spec *parallelism, int64_t n_accelerators);
/* Returns whether there are ranks that hold the same parameters, were it not for ZeRO. `data` is the number of
 * replicas, which may not be resolved yet. */
bool tsim_is_replicated(const struct tsim_parallelism_spec *parallelism, int64_t data);
/* Returns whether each micro-batch's gradients are reduced and then kept as shards (ZeRO-2 and -3); else they are summed
 * whole and reduced once a step. ZeRO-2 within a pipeline does the latter where the software says so. */
bool tsim_reduces_each_microbatch(const struct tsim_scenario *scenario);
/* The ranks that divide each expert, and how the `expert` ranks lie on the axes of everything else (Megatron-Core's
 * parallel folding, Liu et al. 2025, arXiv:2504.14960): on the tensor ranks, if experts are not divided over these,
 * then on the context ranks, then on replicas. An axis is taken whole. If `expert` is no multiple of it, it is not
 * taken (Megatron would take a part of it), and its ranks hold the same experts. The product of the three is `expert`;
 * data is 0 if that is not possible. */
struct tsim_expert_ranks {
    int64_t tensor, context, data;
};
/* Finds the layers of each chunk in model order for `layers_per_stage: auto`: equally many in each, or, if layers + 2
 * divides evenly and layers does not, one fewer in the first and the last chunk, which hold embedding and head. Returns
 * false if neither works. */
bool tsim_layers_even(int64_t layers, int64_t n_chunks, int64_t *first_and_last, int64_t *others);

int64_t tsim_expert_tensor(const struct tsim_parallelism_spec *parallelism);
struct tsim_expert_ranks tsim_expert_ranks(const struct tsim_parallelism_spec *parallelism);
/* Returns whether so many experts divide over the `expert` ranks, and these over all others. */
bool tsim_experts_divide(int64_t n_experts, const struct tsim_parallelism_spec *parallelism);

/* The first returns whether steps or accelerators differ (variability). The second returns, in `arena`, the same
 * scenario without such differences. */
bool tsim_scenario_varies(const struct tsim_scenario *scenario);
const struct tsim_scenario *tsim_scenario_without_variation(struct tsim_arena *arena,
                                                            const struct tsim_scenario *scenario);

/* Returns whether the schedule can run n micro-batches per replica. interleaved takes a multiple of pipeline, or any
 * number from pipeline on, as the software says; zb-v at least 2 pipeline - 1; dualpipe an even number, at least 2
 * pipeline. */
bool tsim_microbatches_work(const struct tsim_scenario *scenario, int64_t n);

/* A scenario file that is read once and loaded many times with other overrides (a sweep). One thread at a time may use
 * it, because mistakes add their lines to its arena; another thread makes its own with tsim_scenario_reopen. */
struct tsim_scenario_source {
    struct tsim_arena *arena;
    const char *file;
    const struct tsim_value *document; /* the file alone */
    const struct tsim_value *root;     /* `extends` followed */
    struct tsim_file_cache *files;     /* files of the catalogue as they were first read */
};

/* Reads FILE ("-": standard input) and what it extends. */
enum tsim_status tsim_scenario_open(struct tsim_arena *arena, const char *file, struct tsim_scenario_source *source,
                                    struct tsim_diags *diags);
/* Does the same for text in memory; places give `name` as the file. */
enum tsim_status tsim_scenario_open_text(struct tsim_arena *arena, const char *name, const char *text,
                                         struct tsim_scenario_source *source, struct tsim_diags *diags);
/* Does the same for a tree of values that came from another program's file; mistakes are shown at its values'
 * places. */
enum tsim_status tsim_scenario_open_value(struct tsim_arena *arena, const struct tsim_value *root,
                                          struct tsim_scenario_source *source, struct tsim_diags *diags);
/* Applies overrides to a tree. It reports all their mistakes, and returns the first. */
enum tsim_status tsim_scenario_override(struct tsim_arena *arena, const struct tsim_override *overrides,
                                        size_t n_overrides, const struct tsim_value **root, struct tsim_diags *diags);
/* Reads the same text again, into another arena. */
enum tsim_status tsim_scenario_reopen(struct tsim_arena *arena, const struct tsim_scenario_source *from,
                                      struct tsim_scenario_source *source, struct tsim_diags *diags);
/* Works as tsim_scenario_load does. The scenario must not outlive the source. */
enum tsim_status tsim_scenario_load_from(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                         const struct tsim_override *overrides, size_t n_overrides,
                                         const struct tsim_scenario **scenario, struct tsim_diags *diags);

/* Lays `proposals` over the text that the scenario was read from; *changed is read, derived and checked as if they had
 * been written there. Returns false, with the reasons in `diags`, if the result is not valid or the scenario was not
 * read from a text. It writes no JSON and lists no estimates. One thread at a time may use a source. */
bool tsim_scenario_propose(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                           const struct tsim_override *proposals, size_t n_proposals,
                           const struct tsim_scenario **changed, struct tsim_diags *diags);
/* Returns the whole scenario, with every default, as JSON that reads back as the same scenario. The JSON of a proposal
 * marks no estimates; a job has no JSON. */
const char *tsim_scenario_json(struct tsim_arena *arena, const struct tsim_scenario *scenario);

/* Returns the text that follows a --set: "training.recompute=full --set training.micro_batch_size=1". */
const char *tsim_settings_text(struct tsim_arena *arena, const struct tsim_override *settings, size_t n_settings);

/* Loads a scenario for which plans are searched (plan_choice.h). It is as from tsim_scenario_load_from, except that its
 * plan is neither resolved nor checked: zero_group_ranks is as written (0: all, -1: of a node), layers_per_chunk is
 * NULL unless it is a list, and there is no JSON of it. */
enum tsim_status tsim_scenario_load_job(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                        const struct tsim_override *overrides, size_t n_overrides,
                                        const struct tsim_scenario **scenario, struct tsim_diags *diags);
/* Returns the host memory of a node that the input pipeline's batches fill; 0 if there is no input pipeline. */
double tsim_data_host_bytes(const struct tsim_scenario *scenario);

/* Returns the set of parts that selective recomputation executes again; 0 unless it is selective. If the scenario names
 * no parts, they are the software's: attention's core, or operators in models whose operators can be told apart. */
unsigned tsim_recompute_parts(const struct tsim_scenario *scenario);
/* Returns how many of the n layers of a chunk are recomputed, if any are: the first so many. Only TSIM_RECOMPUTE_LAYERS
 * leaves some out. */
int64_t tsim_recomputed_layers(const struct tsim_scenario *scenario, int64_t n);
/* Returns the share of all layers that this makes. */
double tsim_recomputed_frac(const struct tsim_scenario *scenario);
/* Returns the products that a transformer's layers have, of those that adapters may stand beside: a set of 1 << enum
 * tsim_adapter_target. */
unsigned tsim_adapter_targets(const struct tsim_model *model);
/* Returns whether selective recomputation differs from none, given that flash attention does not keep its core's
 * results anyway. */
bool tsim_selective_differs(const struct tsim_scenario *scenario);
/* Returns whether every layer is a transformer's, with one attention and one feed-forward block. Settings that name a
 * layer's operators, such as the parts to recompute or to gather, apply only to such layers. */
bool tsim_has_plain_layers(const struct tsim_model *model);

/* Returns why a scenario gathers whole layers although its software gathers product by product; NULL if it does not. */
const char *tsim_products_obstacle(const struct tsim_scenario *scenario);

/* Each returns the word that YAML has for the value: "bf16", "1f1b", "step_time"... */
const char *tsim_precision_name(enum tsim_precision precision);
const char *tsim_optimizer_name(enum tsim_optimizer optimizer);
const char *tsim_recompute_name(enum tsim_recompute recompute);
const char *tsim_recompute_part_name(int exponent); /* takes the exponent of an enum tsim_recompute_part */
const char *tsim_axis_name(enum tsim_axis axis);
const char *tsim_schedule_name(enum tsim_schedule schedule);
const char *tsim_metric_name(enum tsim_metric metric);
