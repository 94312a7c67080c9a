/* scenario.h - a scenario (docs/reference.md), typed, in SI units, every default filled in, every cross-field rule
 * checked. Built once by tsim_scenario_load and const from then on: later stages may assume validity and assert it. */
#ifndef TSIM_CONFIG_SCENARIO_H
#define TSIM_CONFIG_SCENARIO_H

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
/* Tells whether the optimizer's moments have one number for each parameter: they are neither factored nor quantized by
 * blocks. */
static inline bool tsim_keeps_whole_moments(enum tsim_optimizer optimizer) {
    return optimizer == TSIM_MOMENTUM || optimizer == TSIM_RMSPROP || optimizer == TSIM_ADAM ||
           optimizer == TSIM_ADAMW || optimizer == TSIM_LAMB || optimizer == TSIM_MUON;
}

/* Parts of a layer that selective recomputation can execute again, as a set (Megatron-Core's recompute_modules
 * core_attn, layernorm, mla_up_proj, moe_act, mlp, moe; MaxText's remat_policy names what is kept instead:
 * save_qkv_proj is all parts of a dense layer): what they give is not kept, their inputs are, unless another part gives
 * these again. */
enum tsim_recompute_part {
    TSIM_RECOMPUTE_ATTENTION = 1,  /* the core: scores, softmax, values */
    TSIM_RECOMPUTE_NORMS = 2,      /* before attention and feed-forward */
    TSIM_RECOMPUTE_LATENT = 4,     /* queries, keys and values from latent vectors */
    TSIM_RECOMPUTE_ACTIVATION = 8, /* the function between the two products */
    TSIM_RECOMPUTE_FFN = 16,       /* the feed-forward block, and shared experts */
    TSIM_RECOMPUTE_EXPERTS = 32,   /* routed experts, with their exchanges */
    TSIM_RECOMPUTE_OUTPUT = 64,    /* the product after attention, and the sum with the residual stream */
    /* Every second product, and all else but flash attention and scatters (torchtitan's selective checkpointing by
     * operator: parallelize_llama.py, _save_list). Alone, and not of experts, latent attention and encoder-decoder
     * models. */
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
/* The pipeline is never flushed: micro-batches of the next step enter while those of this one are in it. */
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
/* The accelerators that share a sequence get the keys and values that they lack in one of these ways. */
enum tsim_context_exchange {
    TSIM_CONTEXT_RING, /* piece by piece around a ring, under the attention on the piece before (Liu et al. 2023) */
    TSIM_CONTEXT_ALL_GATHER, /* all of them first (Llama 3 2024, section 3.3.2) */
    TSIM_CONTEXT_ALL_TO_ALL  /* queries, keys and values change from token to head shards and back (Jacobs et al. 2023)
                              */
};
enum tsim_run_length { TSIM_LENGTH_NONE, TSIM_LENGTH_TOKENS, TSIM_LENGTH_SAMPLES, TSIM_LENGTH_STEPS };

/* The keys of `measured:` (config/measured.def). */
enum tsim_metric {
#define METRIC(NAME, key, dimension, bare, most, KIND, FIGURE, AS, help) TSIM_METRIC_##NAME,
#include "config/measured.def"
    TSIM_N_METRICS
};
enum tsim_metric_kind { TSIM_METRIC_KIND_TIME, TSIM_METRIC_KIND_RATE, TSIM_METRIC_KIND_MEMORY, TSIM_METRIC_KIND_OTHER };
enum tsim_metric_kind tsim_metric_kind(enum tsim_metric metric);
/* A time of a step or a rate, which are one another's inverse. */
static inline bool tsim_metric_is_speed(enum tsim_metric metric) {
    enum tsim_metric_kind kind = tsim_metric_kind(metric);
    return kind == TSIM_METRIC_KIND_TIME || kind == TSIM_METRIC_KIND_RATE;
}

enum tsim_degraded_kind { TSIM_DEGRADED_SCALE_UP, TSIM_DEGRADED_NIC, TSIM_DEGRADED_FABRIC, TSIM_DEGRADED_ACCELERATOR };

/* A link, in both directions, or an accelerator, that is slower than its kind. */
struct tsim_degraded {
    enum tsim_degraded_kind link;
    int64_t node;     /* scale-up, NIC, accelerator */
    int64_t index;    /* scale-up, accelerator: accelerator of the node; NIC: its number in the node; -1 = all */
    int64_t tier;     /* fabric: uplinks of this tier's ... */
    int64_t group;    /* ... group of that number */
    double rate_frac; /* of what it would be, > 0 */
};

enum tsim_direction { TSIM_DIRECTION_OUT, TSIM_DIRECTION_IN, TSIM_DIRECTION_BOTH };

/* Traffic of others on every accelerator's share of the NICs, from the beginning of the step. */
struct tsim_background {
    const char *name;
    enum tsim_direction direction;
    double rate_bytes_per_s; /* at most, each direction; 0 = as much as it gets */
    double bytes;            /* each direction; 0 = without end */
    bool is_of_host;         /* it comes out of the hosts' memory, or goes there */
};

struct tsim_cluster_spec {
    const struct tsim_node *node;
    const struct tsim_fabric *fabric; /* NULL: one node */
    int64_t nodes;
    int64_t accelerators_per_node; /* resolved: never 0 */
    int64_t torus_shape[3]; /* resolved on a torus: accelerators along each dimension (1 beyond its dimensions) */
    const struct tsim_degraded *degraded;
    size_t n_degraded;
    const struct tsim_background *background;
    size_t n_background;
};

enum tsim_period_kind { TSIM_PERIOD_OPTIMAL, TSIM_PERIOD_TIME, TSIM_PERIOD_STEPS };
struct tsim_period {
    enum tsim_period_kind kind;
    double value; /* s, or steps; 0 with OPTIMAL */
};
/* Pauses in which the model is evaluated. */
struct tsim_evaluation_spec {
    struct tsim_period interval; /* of training; never OPTIMAL when there is a time, or samples */
    double time_s;               /* of one, as given; 0 = none */
    /* Without `time`, the pause is simulated (run/evaluation.h) from its samples or its global batches; 0: not
     * given. */
    double samples, steps;
};

/* Offloading keeps these in the host's memory and moves them over its link to the accelerator (Ren et al. 2021,
 * ZeRO-Offload, arXiv:2101.06840; Rajbhandari et al. 2021, ZeRO-Infinity, arXiv:2104.07857). */
struct tsim_offload_spec {
    bool optimizer;          /* master weights and optimizer state; the host updates them */
    double activations_frac; /* of what the layers keep for the backward pass */
};

/* Training in fp16 with a dynamic loss scale: it grows after so many steps without overflow until gradients overflow,
 * which takes so many skipped steps to bring it down again (1 in PyTorch's GradScaler and Apex, 2 in Megatron-LM and
 * DeepSpeed, where it is the `hysteresis`). */
struct tsim_loss_scaling_spec {
    int64_t growth_interval, skipped; /* resolved; 0 in other precisions */
};

/* The batch grows from `from` by `increment` until it is the global one after so many samples
 * (run/batch_ramp.h). */
struct tsim_batch_ramp_spec {
    double from, increment, samples; /* samples 0: it is the global one from the beginning */
};

/* A part of the run before its end, with a length of its own (run/stages.h). */
struct tsim_stage_spec {
    int64_t sequence_length, global_batch_size, micro_batch_size, context; /* 0: as at the end */
    double tokens, samples, steps;                                         /* one of them is its length */
    const struct tsim_scenario *scenario;                                  /* resolved: what a step of it is of */
};

/* Fine-tuning of two thin matrices beside each of some products (LoRA: Hu et al. 2021, arXiv:2106.09685), with weights
 * that stay as they are, of 4 or 8 bits perhaps (QLoRA: Dettmers et al. 2023, arXiv:2305.14314). */
enum tsim_adapter_kind { TSIM_ADAPTER_NONE, TSIM_ADAPTER_LORA, TSIM_ADAPTER_QLORA };
enum tsim_adapter_target { /* products with weights; those that are joined may have one adapter together */
                           TSIM_TARGET_QKV,
                           TSIM_TARGET_QUERY,
                           TSIM_TARGET_KEY,
                           TSIM_TARGET_VALUE,
                           TSIM_TARGET_OUTPUT,
                           TSIM_TARGET_GATE_UP,
                           TSIM_TARGET_GATE,
                           TSIM_TARGET_UP,
                           TSIM_TARGET_DOWN,
                           TSIM_N_TARGETS
};
enum tsim_base_precision { TSIM_BASE_AS_TRAINING, TSIM_BASE_INT8, TSIM_BASE_NF4 };
struct tsim_adapter_spec {
    enum tsim_adapter_kind kind; /* NONE: the model itself is trained; then nothing else counts */
    int64_t rank;
    unsigned targets; /* set of 1 << enum tsim_adapter_target */
    enum tsim_base_precision base_precision;
    double dropout_frac; /* of what goes into the adapters, or comes out */
    bool drops_result;
};

/* Data-parallel ranks send these parts of their gradients (model/compression.h). */
enum tsim_compression_kind { TSIM_UNCOMPRESSED, TSIM_TOP_K, TSIM_POWERSGD, TSIM_ONE_BIT };
struct tsim_compression_spec {
    enum tsim_compression_kind kind;
    double fraction; /* top-k: of the elements of a gradient that a rank sends; resolved */
    int64_t rank;    /* powersgd; resolved */
};

enum tsim_training_kind { TSIM_PRETRAIN, TSIM_SFT, TSIM_DPO, TSIM_GRPO, TSIM_PPO, TSIM_DISTILL };
/* Models, each as large as the policy, that score the samples of a step of post-training in forward passes. The critic
 * is trained as well. */
enum tsim_scorer { TSIM_SCORER_POLICY, TSIM_SCORER_REFERENCE, TSIM_SCORER_REWARD, TSIM_SCORER_CRITIC, TSIM_N_SCORERS };
/* Responses that the policy gives before it is trained on them (run/generation.h). A sample is a prompt with its
 * response, as long as training.lengths or sequence_length say. */
struct tsim_generation_spec {
    int64_t nodes;                        /* of the cluster that generate and do nothing else; 0: all of them do all */
    int64_t ahead;                        /* rounds that are generated before the steps on an earlier one are over */
    int64_t tensor;                       /* ranks that divide the model meanwhile */
    int64_t rollouts;                     /* samples that are generated before the next steps train on them */
    int64_t samples_per_prompt;           /* responses to one prompt, which share its cache */
    int64_t max_sequences;                /* that one engine runs at once, where its memory holds them */
    double prompt;                        /* tokens */
    double memory_frac;                   /* of the accelerator's memory, for weights and KV cache */
    enum tsim_precision precision;        /* of the products of layers, and what their weights are held in; resolved */
    const struct tsim_software *software; /* of the engine */
};
/* Samples of many lengths, lognormal and cut at sequence_length (lengths.h). */
enum tsim_batching { TSIM_BATCHING_PACKED, TSIM_BATCHING_LONGEST, TSIM_BATCHING_WHOLE };
struct tsim_lengths_spec {
    double mean; /* tokens; 0: every sample has sequence_length, and nothing else counts */
    double cv;   /* coefficient of variation */
    enum tsim_batching batching;
    int64_t pass;    /* resolved: tokens that a pass takes for each sample of a batch, padding among them */
    double useful;   /* of them, those that are not padding, on average */
    double sample;   /* tokens of a sample as it is cut, on average */
    double fill;     /* of packs, the share that is no padding */
    double attended; /* tokens of its own sample that a token may attend to, on average over tokens */
};

struct tsim_training_spec {
    enum tsim_training_kind kind;
    unsigned scoring;                 /* set of 1 << enum tsim_scorer */
    const struct tsim_model *teacher; /* distill: its forward pass comes before each of the model's; else NULL */
    struct tsim_lengths_spec lengths;
    struct tsim_batch_ramp_spec batch_ramp;
    const struct tsim_stage_spec *stages; /* that come before what the other fields say */
    size_t n_stages;
    struct tsim_adapter_spec adapter;
    struct tsim_compression_spec compression;
    int64_t sequence_length, global_batch_size, micro_batch_size;
    int64_t decoder_sequence_length; /* of encoder-decoder models, which sequence_length is the encoder's of; else 0 */
    enum tsim_precision precision;
    enum tsim_precision gradient_precision; /* FP32 or BF16/FP16 */
    bool says_gradients; /* the scenario itself says it: other plans of it keep it, where the software's follows ZeRO */
    enum tsim_optimizer optimizer;
    enum tsim_precision state_precision;        /* of moments that are kept whole: FP32 or BF16/FP16 */
    bool no_master_weights;                     /* in 16 or 8 bits: no fp32 copy */
    struct tsim_loss_scaling_spec loss_scaling; /* fp16 alone */
    struct tsim_offload_spec offload;
    bool updates_by_layer; /* each layer's weights are updated within the backward pass, its gradient freed */
    enum tsim_recompute recompute;
    unsigned recompute_parts; /* with TSIM_RECOMPUTE_SELECTIVE; 0: what the software takes */
    int64_t recompute_every;  /* with TSIM_RECOMPUTE_EVERY (and SQRT, resolved): checkpoint each so many layers */
    enum tsim_attention attention;
    enum tsim_run_length length_kind;
    double length; /* tokens, samples or steps */
    struct tsim_evaluation_spec evaluation;
};

/* Replicas in a row that are a worker sum up gradients in every step; workers meet every so many steps alone (Stich
 * 2019, arXiv:1805.09767; Douillard et al. 2023, DiLoCo, arXiv:2311.08105; McMahan et al. 2017, arXiv:1602.05629). */
enum tsim_outer_optimizer { TSIM_OUTER_AVERAGE, TSIM_OUTER_NESTEROV };
struct tsim_local_sgd_spec {
    int64_t workers; /* 0: every step is of all replicas; then nothing else counts */
    int64_t steps;
    enum tsim_outer_optimizer outer;
    enum tsim_precision precision; /* of what they exchange */
};

/* Workers push their gradients to servers and pull weights from them (run/parameter_server.h). */
struct tsim_server_spec {
    int64_t servers; /* 0: there are none; then nothing else counts */
    int64_t workers; /* replicas in a row are one; resolved */
    bool is_synchronous;
};

struct tsim_parallelism_spec {
    int64_t tensor, pipeline, virtual_pipeline, context, expert, data; /* data resolved */
    const int64_t
        *layers_per_chunk; /* [tsim_n_model_parts], in model order; adds up to model->layers. Part c * pipeline
                              + s is chunk c of stage s; zb-v and dualpipe lay the parts out otherwise
                              (partition/schedule.h) */
    int64_t expert_tensor; /* ranks that divide each expert: 1, or `tensor`; 0: as tensor */
    bool balances; /* layers_per_chunk are even so far: step/balance.h finds those that make stages equally fast */
    enum tsim_context_exchange context_exchange;
    bool sequence;
    int zero;                   /* 0..3 */
    int64_t prefetch;           /* ZeRO-3: units gathered ahead of the one that runs */
    bool reshard_after_forward; /* ZeRO-3: parameters are gathered again for the backward pass */
    int64_t zero_group_ranks;   /* ranks that shard together; resolved: data x context, or fewer; of a worker at most */
    struct tsim_local_sgd_spec local_sgd;
    struct tsim_server_spec parameter_server;
    enum tsim_schedule schedule;
    struct tsim_overlap overlap;                     /* resolved: scenario's keys over the software profile's */
    bool says_overlap_pipeline, says_overlap_expert; /* the scenario itself: other plans of it keep them */
    bool says_schedule, says_layers;                 /* the latter: layers_per_chunk is a list of the scenario's */
    enum tsim_axis order[TSIM_N_AXES];               /* rank placement, innermost first */
};

enum tsim_access { TSIM_ACCESS_RANDOM, TSIM_ACCESS_SEQUENTIAL };

/* The input pipeline (step/input/input_pipeline.h). A batch of it is a micro-batch of one replica. */
enum tsim_storage_network { TSIM_STORAGE_OWN, TSIM_STORAGE_NICS };

struct tsim_data_spec {
    bool has; /* false: data are always there; then nothing else counts */
    const struct tsim_storage *storage;
    enum tsim_storage_network network; /* that leads to it */
    enum tsim_access access;
    double sample_bytes;   /* read per sample */
    double transfer_bytes; /* of a sample as it goes to the accelerator */
    double sample_cpu_s;   /* of one core */
    double samples;        /* in the data set; 0: not said */
    int64_t workers;       /* per node */
    int64_t prefetch;      /* batches ahead, per worker; 0: none */
};

struct tsim_energy_spec {
    double pue, price_usd_per_j, carbon_kg_per_j; /* resolved: own keys, else the region's, else defaults */
    double price_spread; /* the price is right within this factor in eight of ten cases; 1: it is what it is */
    double embodied_kg;  /* CO2 of making an accelerator and its share of the node */
    struct tsim_hourly price_profile, carbon_profile; /* resolved; with one the value above is its mean */
    double start_s;                                   /* of the profiles, at which the run begins */
    const struct tsim_region *region;                 /* NULL: none named */
};
struct tsim_cost_spec {
    double rent_usd_per_s, reserved_usd_per_s, purchase_usd, lifetime_s; /* per accelerator */
    double commitment_s;                                                 /* of a contract at the reserved price */
    double host_frac, network_frac, storage_frac;                        /* of the purchase, on top of it */
    double interest_frac, maintenance_frac;                              /* of the capital, a year */
    double residual_frac, utilization_frac;                              /* after the lifetime; during it */
    double price_spread; /* prices are right within this factor in eight of ten cases; 1: they are what they are */
    double facility_usd_per_kw, facility_lifetime_s; /* building, power and cooling for a kW of the nodes */
    double delivery_s;                               /* from the order of a machine to its first step */
    const char *date;                                /* of the prices */
};
/* `tsim buy` is to reach it; 0: not said. */
struct tsim_goal_spec {
    double tokens, loss_nats, deadline_s, budget_usd;
};
/* The run is one trial of a search for hyper-parameters (campaign/hyper_search.h). */
enum tsim_search_method { TSIM_SEARCH_NONE, TSIM_SEARCH_HALVING, TSIM_SEARCH_HYPERBAND };
struct tsim_search_spec {
    enum tsim_search_method method; /* NONE: nothing else counts */
    int64_t trials;                 /* halving: that are begun */
    int64_t at_once;                /* clusters like the scenario's, each with a trial */
    double eta;                     /* one of so many trials goes on */
    double least_frac;              /* of the run, the least that a trial is trained before a cut */
};
/* X(NAME, word): what interrupts a run. Its components fail; a straggler is a node that turned slow, when it is found
 * out. */
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
enum tsim_spares { TSIM_SPARES_OPTIMAL = -1, TSIM_SPARES_FASTEST = -2 }; /* found by campaign/spares.h */
struct tsim_reliability_spec {
    bool has;           /* `reliability:` is given; without it nothing fails */
    double node_mtbf_s; /* 0: by component */
    double rate_spread; /* the rates are right within this factor in eight of ten cases; 1: they are what they are */
    double component_mtbf_s[TSIM_N_COMPONENTS]; /* of one; 0: never */
    double shape, age_s;                        /* Weibull shape of hardware failures; age at the beginning */
    struct tsim_period checkpoint_interval;
    int mode; /* 0 sync, 1 async */
    double checkpoint_bytes_per_s;
    enum tsim_storage_network checkpoint_network;
    bool checkpoint_memory;
    /* A local tier of its own interval; the one above is then the storage's. */
    struct tsim_local_tier_spec {
        bool has;
        struct tsim_period interval;
        int64_t copies;   /* of what a node holds, on other nodes */
        double restart_s; /* 0: as from the storage */
    } local;
    double detection_s, restart_s, warmup_s, repair_s;
    double repair_power_frac; /* of an idle node's power, while it is in repair */
    int64_t spares;           /* or enum tsim_spares */
    bool elastic;
    double maintenance_interval_s, maintenance_s;
    double straggler_mtbf_s, straggler_slowdown, straggler_detection_s; /* of one node; 0: never */
    double preemption_per_s, notice_s, discount_frac, gap_s;            /* rate of one node */
    int64_t replications;
};
/* Times that vary: of each kernel, from one execution to the next, and of accelerators that are always slow. */
struct tsim_variability_spec {
    double compute_cv;                         /* standard deviation of a kernel's time over its mean */
    double straggler_frac, straggler_slowdown; /* share of the accelerators, times as long as the others */
    int64_t step;                              /* which of simulation.steps is simulated: each has its own noise */
};
struct tsim_simulation_spec {
    int64_t steps, warmup, seed;
    enum tsim_network network;
    enum tsim_detail detail;
    bool fold;
};
struct tsim_measured {
    const char *source;
    const char *doubtful; /* why times and rates are not to be trusted: shown and not scored; NULL: they are */
    bool has[TSIM_N_METRICS];
    double value[TSIM_N_METRICS]; /* SI: s, tokens/s, fractions, FLOP/s for the tflops metrics, bytes, joules, days */
};

struct tsim_scenario_source;
struct tsim_draft;

struct tsim_scenario {
    const char *name, *description, *file;
    /* The text that was read, every --set included, which proposals change; NULL if a program made the scenario. */
    const struct tsim_scenario_source *source;
    const struct tsim_model *model;
    const struct tsim_software *software;
    bool software_defaulted; /* no `software:` given: the summary says so */
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
    int64_t n_accelerators; /* that train: tsim_training_nodes x accelerators_per_node */
    int64_t n_microbatches; /* per replica and step */
    bool is_forward_only;   /* set by sim/run: passes are forward ones, nothing is reduced or stepped */
    double cached_tokens;   /* set by run/generation.h: of each sequence, in the KV cache; a pass adds its own */
    const struct tsim_scenario *teaching; /* the same with the teacher as the model; NULL: there is none */
    struct tsim_place plan_at;            /* where its file says how it is parallel, or is */
    const struct tsim_draft *draft;       /* its tables with every default, which tsim_scenario_json prints */
    const char *const *estimates;         /* names of values with status estimate that this run uses */
    size_t n_estimates;
};

/* Returns what the scenario's host takes for what a software profile's host takes so long for. */
static inline double tsim_host_s(const struct tsim_scenario *scenario, double profile_s) {
    return profile_s * scenario->cluster.node->host_time_factor;
}

/* Returns the groups of replicas that sum up gradients among themselves alone; 0: all replicas do together. */
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
/* Returns the nodes of the engines: their own, or those that train. */
static inline int64_t tsim_generating_accelerators(const struct tsim_scenario *scenario) {
    return scenario->generation.nodes > 0 ? scenario->generation.nodes * scenario->cluster.accelerators_per_node
                                          : scenario->n_accelerators;
}

/* Does the policy generate what it is trained on? */
static inline bool tsim_generates(const struct tsim_scenario *scenario) {
    return scenario->training.kind == TSIM_GRPO || scenario->training.kind == TSIM_PPO;
}

/* Is a step part of a round, with other models' passes (run/post_training.h)? */
static inline bool tsim_has_rounds(const struct tsim_scenario *scenario) {
    return scenario->training.kind > TSIM_SFT;
}

/* Do weights, gradients and optimizer state lie beside the accelerator, and pass through it
 * (TSIM_EXECUTION_WEIGHT_STREAMING in catalogue.h; partition/memory.h)? */
static inline bool tsim_streams_weights(const struct tsim_scenario *scenario) {
    return scenario->cluster.node->accelerator->execution == TSIM_EXECUTION_WEIGHT_STREAMING;
}

struct tsim_override { /* --set PATH=VALUE */
    const char *path, *value;
    const char *option; /* "tokens": it was said as --tokens VALUE; NULL: as a --set */
};

/* Reads FILE ("-": standard input), follows `extends` and catalogue references, applies overrides, validates.
 * Catalogue folders: $TSIM_DATA, else the compiled-in source tree, else PREFIX/share/tsim. Everything is allocated from
 * `arena`. Mistakes (all of them) and warnings are appended to `diags`; returns TSIM_OK when there was no error. */
enum tsim_status tsim_scenario_load(struct tsim_arena *arena, const char *file, const struct tsim_override *overrides,
                                    size_t n_overrides, const struct tsim_scenario **scenario,
                                    struct tsim_diags *diags);

/* Returns the parts that the layers are split into: pipeline x virtual_pipeline; zb-v has two on a stage of its own
 * accord, dualpipe holds each of its `pipeline` parts on two stages. */
int64_t tsim_n_model_parts(const struct tsim_parallelism_spec *parallelism);
/* Returns the ranks that hold the model once: tensor x context x pipeline. */
int64_t tsim_n_model_ranks(const struct tsim_parallelism_spec *parallelism);
bool tsim_ranks_divide(const struct tsim_parallelism_spec *parallelism, int64_t n_accelerators);
/* Are there ranks that hold, but for ZeRO, the same parameters? data is what it is or will be. */
bool tsim_is_replicated(const struct tsim_parallelism_spec *parallelism, int64_t data);
/* The ranks that divide each expert, and how the `expert` ranks lie on the axes of everything else (Megatron-Core's
 * parallel folding, Liu et al. 2025, arXiv:2504.14960): on the tensor ranks, where experts are not divided over them,
 * then on the context ranks, then on replicas. An axis is taken whole, or not at all where `expert` is no multiple of
 * it (Megatron would take a part of it); then its ranks hold the same experts. The product is `expert`; data is 0 when
 * it cannot be. */
struct tsim_expert_ranks {
    int64_t tensor, context, data;
};
/* Finds the layers of each chunk in model order for `layers_per_stage: auto`: as many in each, or, where layers + 2
 * divides evenly but layers does not, one fewer in the first and the last chunk, which hold embedding and head. Returns
 * false when neither works. */
bool tsim_layers_even(int64_t layers, int64_t n_chunks, int64_t *first_and_last, int64_t *others);

int64_t tsim_expert_tensor(const struct tsim_parallelism_spec *parallelism);
struct tsim_expert_ranks tsim_expert_ranks(const struct tsim_parallelism_spec *parallelism);
/* Do so many experts divide over the `expert` ranks, and these over all others? */
bool tsim_experts_divide(int64_t n_experts, const struct tsim_parallelism_spec *parallelism);

/* Tells whether steps or accelerators differ (variability). The second function returns, in `arena`, the same scenario
 * without such differences. */
bool tsim_scenario_varies(const struct tsim_scenario *scenario);
const struct tsim_scenario *tsim_scenario_without_variation(struct tsim_arena *arena,
                                                            const struct tsim_scenario *scenario);

/* Can the schedule run n micro-batches per replica? interleaved: a multiple of pipeline, or any from pipeline on, as
 * the software says; zb-v: at least 2 pipeline - 1; dualpipe: at least 2 pipeline, and even. */
bool tsim_microbatches_work(const struct tsim_scenario *scenario, int64_t n);

/* A scenario file read once, to be loaded many times with other overrides (a sweep). One thread at a time, because
 * mistakes add their lines to its arena; another thread makes its own with tsim_scenario_reopen. */
struct tsim_scenario_source {
    struct tsim_arena *arena;
    const char *file;
    const struct tsim_value *document; /* the file alone */
    const struct tsim_value *root;     /* `extends` followed */
    struct tsim_file_cache *files;     /* of the catalogue, as they were first read */
};

/* Reads FILE ("-": standard input) and what it extends. */
enum tsim_status tsim_scenario_open(struct tsim_arena *arena, const char *file, struct tsim_scenario_source *source,
                                    struct tsim_diags *diags);
/* Does the same for text in memory; `name` is what places say. */
enum tsim_status tsim_scenario_open_text(struct tsim_arena *arena, const char *name, const char *text,
                                         struct tsim_scenario_source *source, struct tsim_diags *diags);
/* Does the same for a tree of values that did not come from a file of ours; mistakes are shown where its values
 * stand. */
enum tsim_status tsim_scenario_open_value(struct tsim_arena *arena, const struct tsim_value *root,
                                          struct tsim_scenario_source *source, struct tsim_diags *diags);
/* Applies overrides to a tree. All of their mistakes are reported; returns the first. */
enum tsim_status tsim_scenario_override(struct tsim_arena *arena, const struct tsim_override *overrides,
                                        size_t n_overrides, const struct tsim_value **root, struct tsim_diags *diags);
/* Reads the same text again, into another arena. */
enum tsim_status tsim_scenario_reopen(struct tsim_arena *arena, const struct tsim_scenario_source *from,
                                      struct tsim_scenario_source *source, struct tsim_diags *diags);
/* Works as tsim_scenario_load does. The scenario must not outlive the source. */
enum tsim_status tsim_scenario_load_from(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                         const struct tsim_override *overrides, size_t n_overrides,
                                         const struct tsim_scenario **scenario, struct tsim_diags *diags);

/* Lays `proposals` on the text that the scenario was read from; *changed is read, derived and checked as if they had
 * been written there. Returns false, with the reasons in `diags`, where the result is not valid or the scenario was not
 * read from a text. It writes no JSON and lists no estimates. One thread at a time may use a source. */
bool tsim_scenario_propose(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                           const struct tsim_override *proposals, size_t n_proposals,
                           const struct tsim_scenario **changed, struct tsim_diags *diags);
/* Writes the whole scenario with every default, as JSON: feeding it back gives the same. The JSON of a proposal marks
 * no estimates; there is none of a job. */
const char *tsim_scenario_json(struct tsim_arena *arena, const struct tsim_scenario *scenario);

/* Returns the text that goes behind a --set: "training.recompute=full --set training.micro_batch_size=1". */
const char *tsim_settings_text(struct tsim_arena *arena, const struct tsim_override *settings, size_t n_settings);

/* Loads a scenario to search plans for (plan_choice.h). It is as from tsim_scenario_load_from, but its plan is neither
 * resolved nor checked: zero_group_ranks is as written (0: all, -1: of a node), layers_per_chunk NULL unless it is a
 * list; there is no JSON of it. */
enum tsim_status tsim_scenario_load_job(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                        const struct tsim_override *overrides, size_t n_overrides,
                                        const struct tsim_scenario **scenario, struct tsim_diags *diags);
/* Returns the host memory of a node that the input pipeline's batches fill; 0 without one. */
double tsim_data_host_bytes(const struct tsim_scenario *scenario);

/* Returns the set of parts that selective recomputation executes again; 0 unless it is selective. Where the scenario
 * names no parts, they are those of the software: attention's core, or operators in models whose operators can be told
 * apart. */
unsigned tsim_recompute_parts(const struct tsim_scenario *scenario);
/* Does selective recomputation of it differ from none? Flash attention gives up its core's results anyway. */
bool tsim_selective_differs(const struct tsim_scenario *scenario);
/* Tells whether every layer is a transformer's with one attention and one feed-forward block. Settings that name a
 * layer's operators, such as the parts to recompute or to gather, apply to such layers only. */
bool tsim_has_plain_layers(const struct tsim_model *model);

/* Says why a scenario whose software gathers product by product gathers whole layers all the same; NULL: it does
 * not. */
const char *tsim_products_obstacle(const struct tsim_scenario *scenario);

/* Returns the words used in YAML: "bf16", "1f1b", "step_time"... */
const char *tsim_precision_name(enum tsim_precision precision);
const char *tsim_optimizer_name(enum tsim_optimizer optimizer);
const char *tsim_recompute_name(enum tsim_recompute recompute);
const char *tsim_recompute_part_name(int exponent); /* of enum tsim_recompute_part */
const char *tsim_axis_name(enum tsim_axis axis);
const char *tsim_schedule_name(enum tsim_schedule schedule);
const char *tsim_metric_name(enum tsim_metric metric);

#endif
