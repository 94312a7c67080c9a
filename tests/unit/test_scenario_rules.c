/* Tests the rules between a scenario's keys, each with its message and what would be right. */
#include "support/scenario_rig.h"

static const struct rule {
    const char *path, *value;
    enum tsim_status status;
    const char *field, *message, *hint;
} RULES[] = {
    {"name", "a b", TSIM_ERR_SCHEMA, "name", "'a b' is not a name", "most 128 of them"},
    {"parallelism.tensor", "3", TSIM_ERR_INFEASIBLE, "parallelism.tensor", "8 heads of inline", "tensor 2 or 4"},
    {"parallelism.tensor", "16", TSIM_ERR_INFEASIBLE, "parallelism.tensor", "8 heads of inline",
     "nearest that works: tensor 8"},
    {"model.ffn_hidden", "255", TSIM_ERR_INFEASIBLE, "parallelism.tensor", "2 does not divide ffn_hidden 255 of inline",
     "nearest that works: tensor 1"},
    {"model.heads", "6", TSIM_ERR_INFEASIBLE, "model.heads", "multiple of heads 6", "not hidden / heads"},
    {"model.kv_heads", "3", TSIM_ERR_INFEASIBLE, "model.kv_heads", "multiple of kv_heads 3", "number of query heads"},
    {"model.position", "learned", TSIM_ERR_SCHEMA, "model.position", "learned positions need 'positions'",
     "that the model takes"},
    {"model.experts", "{count: 8, active: 9}", TSIM_ERR_INFEASIBLE, "model.experts.active", "9 of 8 experts active",
     "between 1 and count"},
    {"model.experts", "{count: 8, active: 2, first: 7, every: 2}", TSIM_ERR_INFEASIBLE, "model.experts",
     "first 7, every 2", "the number of layers"},
    {"model.experts", "{count: 8, active: 2, capacity_factor: 5}", TSIM_ERR_INFEASIBLE, "model.experts.capacity_factor",
     "than all tokens together", "at most count / active = 4"},
    {"model.experts", "{count: 8, active: 2, ffn_hidden: 33}", TSIM_ERR_INFEASIBLE, "parallelism.tensor",
     "2 does not divide experts.ffn_hidden 33 of inline", "nearest that works: tensor 1"},
    {"model.experts", "{count: 8, active: 2, capacity_factor: 4}", TSIM_OK, "", "", ""},
    {"model.encoder_layers", "8", TSIM_ERR_INFEASIBLE, "model.encoder_layers", "layers leave no decoder",
     "alone is causal: false"},
    {"model", "{kind: cnn, input: {channels: 3}, list: [{kind: conv, out: 8, kernel: 3}]}", TSIM_ERR_INFEASIBLE,
     "model.list[0]", "it is moved over", ""},
    {"model",
     "{kind: cnn, input: {channels: 3}, list: [{kind: conv, out: 8, name: a}, {kind: conv, from: a b, out: 8}]}",
     TSIM_ERR_INFEASIBLE, "model.list[1]", "no layer before it is named 'b'; these names are there: a", ""},
    {"model", "{kind: cnn, input: {channels: 3}, list: [{kind: conv, out: 8}, {kind: conv, out: 8, frozen: true}]}",
     TSIM_ERR_INFEASIBLE, "model.list[1]", "frozen behind a layer that is trained", ""},
    {"model",
     "{kind: cnn, input: {channels: 3, height: 4, width: 4}, list: [{kind: conv, out: 8, name: a}, {kind: conv, out: "
     "8, "
     "stride: 2, join: a}, {kind: conv, out: 8, join: a}]}",
     TSIM_ERR_INFEASIBLE, "model.list[2]", "images of two sizes are joined", ""},
    {"model",
     "{kind: cnn, input: {channels: 3}, list: [{kind: conv, out: 8, name: a}, {kind: conv, out: 8, name: b}, {kind: "
     "conv, from: a b, out: 8, name: c}]}",
     TSIM_ERR_INFEASIBLE, "model.list[2]", "a name is one result's, and it gives several", ""},
    {"model", "{kind: mlp, input: {channels: 3}, list: [{kind: linear, out: 8}]}", TSIM_ERR_INFEASIBLE,
     "training.sequence_length", "128, but inline has no sequences", "are counted in samples"},
    {"parallelism.data", "5", TSIM_ERR_INFEASIBLE, "parallelism.data", "cluster has 16 accelerators",
     "so does 'data: auto'"},
    {"cluster.nodes", "3", TSIM_ERR_INFEASIBLE, "training.global_batch_size", "data 3 = 3",
     "nearest that works: global_batch_size 15 or 18"},
    {"cluster.accelerators_per_node", "3", TSIM_ERR_INFEASIBLE, "training.global_batch_size", "data 3 = 3",
     "nearest that works: global_batch_size 15 or 18"},
    {"cluster.accelerators_per_node", "8", TSIM_ERR_INFEASIBLE, "cluster.accelerators_per_node",
     "asked for, but a four", "at most 4"},
    {"cluster.node.nics", "0", TSIM_ERR_INFEASIBLE, "cluster.node", "to connect 4 nodes",
     "with 'nics' and 'nic_bandwidth'"},
    {"software.nics_used", "5", TSIM_ERR_INFEASIBLE, "software", "nics_used 5, but a four has 4", "at most 4, or all"},
    {"training.global_batch_size", "6", TSIM_ERR_INFEASIBLE, "training.global_batch_size", "data 4 = 4",
     "nearest that works: global_batch_size 4 or 8"},
    {"training.global_batch_size", "2", TSIM_ERR_INFEASIBLE, "training.global_batch_size", "data 4 = 4",
     "nearest that works: global_batch_size 4"},
    {"training.sequence_length", "129", TSIM_ERR_INFEASIBLE, "training.sequence_length",
     "context 1 (sequence parallelism)", "nearest that works: sequence_length 128 or 130"},
    {"training.precision", "fp16", TSIM_ERR_INFEASIBLE, "training.precision", "chip has no fp16", "it has fp32, bf16"},
    {"training.precision", "fp8", TSIM_ERR_INFEASIBLE, "training.precision", "chip has no fp8", "it has fp32, bf16"},
    {"training.epochs", "3", TSIM_ERR_INFEASIBLE, "training.epochs", "epochs of a data set of unknown size",
     "data: {samples: ...}, or give tokens, samples or steps"},
    {"training.recompute", "sometimes", TSIM_ERR_SCHEMA, "training.recompute", "unknown word 'sometimes'",
     "one of: none, selective, full, sqrt"},
    {"training.recompute", "[attention, mlp]", TSIM_ERR_SCHEMA, "training.recompute", "unknown part of a layer 'mlp'",
     "one of: attention, norms, latent, activation, ffn, experts, output, operators"},
    {"software.attention_kernel", "flash1", TSIM_ERR_INFEASIBLE, "training.attention",
     "chip has no efficiency for the attention kernel of framework",
     "attention: standard, or give efficiency.attention in the accelerator"},
    {"parallelism.pipeline", "1", TSIM_OK, NULL, NULL, NULL},
    {"parallelism.pipeline", "8", TSIM_OK, NULL, NULL, NULL},
    {"parallelism.pipeline", "16", TSIM_ERR_INFEASIBLE, "parallelism.pipeline", "1 = 16 chunks", "balance, or a list"},
    {"parallelism.layers_per_stage", "[4, 4, 4]", TSIM_ERR_INFEASIBLE, "parallelism.layers_per_stage", "1 = 2 chunks",
     "chunk, in model order"},
    {"parallelism.layers_per_stage", "[4, 5]", TSIM_ERR_INFEASIBLE, "parallelism.layers_per_stage",
     "inline has 8 layers", "leave it to 'auto'"},
    {"parallelism.layers_per_stage", "[0, 8]", TSIM_OK, NULL, NULL, NULL},
    {"parallelism.layers_per_stage", "4", TSIM_ERR_SCHEMA, "parallelism.layers_per_stage", "layer counts, found '4'",
     ""},
    {"parallelism.schedule", "zb-h1", TSIM_OK, NULL, NULL, NULL},
    {"parallelism.schedule", "zb-v", TSIM_OK, NULL, NULL, NULL},
    {"parallelism.schedule", "1f2b", TSIM_ERR_SCHEMA, "parallelism.schedule", "unknown word '1f2b'",
     "did you mean '1f1b'?"},
    {"parallelism.expert", "2", TSIM_ERR_INFEASIBLE, "parallelism.expert", "2, but inline has no experts", "expert: 1"},
    {"parallelism.zero", "3", TSIM_ERR_INFEASIBLE, "parallelism.zero", "with pipeline 2", "1 with zero: 3"},
    {"parallelism.zero", "4", TSIM_ERR_RANGE, "parallelism.zero", "4 is out of range", "must be from 0 to 3"},
    {"search", "{method: hyperband, least: 0}", TSIM_ERR_RANGE, "search.least", "0 is out of range",
     "must be from 0.000010 to 1"},
    {"search", "{method: hyperband, eta: 0}", TSIM_ERR_RANGE, "search.eta", "0 is out of range",
     "must be from 2 to 1000"},
    {"parallelism.zero_group", "3", TSIM_ERR_INFEASIBLE, "parallelism.zero_group", "1 = 4 ranks", "a divisor of 4"},
    {"parallelism.order", "[tensor, data]", TSIM_ERR_SCHEMA, "parallelism.order", "name each axis once",
     "data, pipeline], innermost first"},
    {"parallelism.order", "[tensor, tensor, expert, data, pipeline]", TSIM_ERR_SCHEMA, "parallelism.order",
     "name each axis once", "data, pipeline], innermost first"},
    {"simulation.warmup", "3", TSIM_ERR_INFEASIBLE, "simulation.warmup", "nothing of the 3 steps",
     "must be below steps"},
    {"cluster.degraded", "[{link: nic, node: 4, rate: 0.5}]", TSIM_ERR_INFEASIBLE, "cluster.degraded",
     "entry 1: node 4 of 4", "nodes are counted from 0"},
    {"cluster.degraded", "[{link: fabric, rate: 0.5}]", TSIM_ERR_INFEASIBLE, "cluster.degraded", "tier 0 of uplinks",
     "with that many tiers"},
    {"data", "{workers: 0}", TSIM_ERR_RANGE, "data.workers", "0 is out of range", "must be from 1 to 10000"},
    {"data", "8", TSIM_ERR_SCHEMA, "data", "to values, found '8'", ""},
    {"data", "{storage: {bandwidth: 1 GB/s, random_access: 2}}", TSIM_ERR_RANGE, "data.storage.random_access",
     "2 is out of range", "must be from 0.000001 to 1"},
    {"reliability", "{spares: 4}", TSIM_OK, NULL, NULL, NULL},
    {"reliability", "[4]", TSIM_ERR_SCHEMA, "reliability", "values, found a list", ""},
    {"reliability.node_mtbf", "0 h", TSIM_ERR_RANGE, "reliability.node_mtbf", "0 h is out of range",
     "must be from 60 s to 1000000 y"},
    {"reliability", "{node_mtbf: 5000 h, components: {nic: 1 h}}", TSIM_ERR_INFEASIBLE, "reliability.components",
     "sum of the components", "of the two out"},
    {"reliability.checkpoint", "{memory: true}", TSIM_ERR_INFEASIBLE, "reliability.checkpoint.memory",
     "a sync checkpoint keeps no copy in memory", "set reliability.checkpoint.mode=async"},
    {"reliability.checkpoint.interval", "often", TSIM_ERR_SCHEMA, "reliability.checkpoint.interval",
     "'often' is no interval", "a number of steps"},
    {"reliability.checkpoint.interval", "20 min", TSIM_OK, NULL, NULL, NULL},
    {"reliability.checkpoint.interval", "500", TSIM_OK, NULL, NULL, NULL},
    {"reliability.maintenance", "{interval: 7 d}", TSIM_ERR_INFEASIBLE, "reliability.maintenance",
     "interval and no time", "h, time: 10 min}"},
    {"training.evaluation.time", "7 min", TSIM_ERR_INFEASIBLE, "training.evaluation", "time and no interval",
     "h, time: 10 min}"},
    {"training.evaluation", "{interval: 9, time: 7 min, tokens: 100}", TSIM_ERR_INFEASIBLE, "training.evaluation",
     "given twice", "with tokens"},
    {"reliability.preemption", "{rate: 0.1 /h, discount: 1}", TSIM_ERR_RANGE, "reliability.preemption.discount",
     "1 is out of range", "from 0.000001 to 0.99"},
    {"variability", "{compute_cv: 0.01}", TSIM_OK, NULL, NULL, NULL},
    {"variability", "{compute_cv: 1.5}", TSIM_ERR_RANGE, "variability.compute_cv", "1.5 is out of range",
     "from 0.000001 to 1"},
    {"variability", "{stragglers: {fraction: 0.1, slowdown: 0.9}}", TSIM_ERR_RANGE, "variability.stragglers.slowdown",
     "0.9 is out of range", "must be from 1 to 1000"},
    {"variability", "{compute_cv: 0}", TSIM_OK, NULL, NULL, NULL},
    {"sweep", "{axes: {cluster.nodes: [1, 2]}}", TSIM_OK, NULL, NULL, NULL},
    {"extends", "other.yaml", TSIM_ERR_SCHEMA, "extends", "be set from outside", "on the command line"},
    {"measured", "{step_time: 3 s}", TSIM_ERR_SCHEMA, "", "missing key 'measured.source'", "where the measurement was"},
    {"training.batch_ramp", "{from: 8}", TSIM_ERR_INFEASIBLE, "training.batch_ramp", "increment, samples is missing",
     "increment: 16, samples: 9765625}"},
    {"training.batch_ramp", "{increment: 4, samples: 100}", TSIM_ERR_INFEASIBLE, "training.batch_ramp",
     "increment, samples is missing", "increment: 16, samples: 9765625}"},
    {"training.batch_ramp", "{from: 8, increment: 4}", TSIM_ERR_INFEASIBLE, "training.batch_ramp",
     "increment, samples is missing", "increment: 16, samples: 9765625}"},
    {"training.batch_ramp", "{from: 8, increment: 3, samples: 100}", TSIM_ERR_INFEASIBLE, "training.batch_ramp",
     "never reaches 16", "at most 100,000 times"},
    {"training.batch_ramp", "{from: 16, increment: 4, samples: 100}", TSIM_ERR_INFEASIBLE, "training.batch_ramp",
     "never reaches 16", "at most 100,000 times"},
    {"training.batch_ramp", "{from: 8, increment: 0.00001, samples: 100}", TSIM_ERR_RANGE,
     "training.batch_ramp.increment", "0.00001 is out of range", "1 to 1 E"},
    {"training.recompute", "[operators]", TSIM_OK, NULL, NULL, NULL},
    {"training.recompute", "[operators, attention]", TSIM_ERR_INFEASIBLE, "training.recompute", "does not simulate",
     "recompute: [operators] alone"},
    {"reliability.checkpoint", "{interval: 10 min, local: {interval: 5 min}}", TSIM_OK, NULL, NULL, NULL},
    {"reliability.checkpoint", "{interval: 10 min, local: {interval: 50}}", TSIM_OK, NULL, NULL, NULL},
    {"reliability.checkpoint", "{interval: 10 min, local: {interval: 15 min}}", TSIM_ERR_INFEASIBLE,
     "reliability.checkpoint.local", "of these", "local.interval shorter than checkpoint.interval"},
    {"reliability.checkpoint", "{mode: async, memory: true}", TSIM_OK, NULL, NULL, NULL},
    {"software.attention_kernel", "cudnn", TSIM_OK, NULL, NULL, NULL},
    {"software.attention_kernel", "flash-triton", TSIM_ERR_INFEASIBLE, "training.attention",
     "chip has no efficiency for the attention kernel of framework",
     "attention: standard, or give efficiency.attention in the accelerator"},
    {"data.storage.bandwidth", "1 GB/s", TSIM_OK, NULL, NULL, NULL},
    {"data.storage", "{extends: nvme, bandwidth: 1 GB/s}", TSIM_OK, NULL, NULL, NULL},
    {"software", "{extends: megatron-2022, dropout: 0}", TSIM_OK, NULL, NULL, NULL},
    {"parallelism.data", "''", TSIM_ERR_SCHEMA, "parallelism.data", "the text is empty", "1024, 0.5 or 1e-3"},
    {"cluster.fabric", "{name: net, bandwidth: 100 Gb/s, efficiency: 0.8, latency: 5 us, topology: fat-tree, tiers: 5}",
     TSIM_ERR_SCHEMA, "cluster.fabric.tiers", "of mappings, found '5'", ""},
    {"cluster.fabric",
     "{name: net, bandwidth: 100 Gb/s, efficiency: 0.8, latency: 5 us, topology: fat-tree, tiers: [{ports: 4}, {ports: "
     "6}]}",
     TSIM_ERR_INFEASIBLE, "cluster.fabric.tiers", "of the tier below", ""},
    {"cluster.fabric",
     "{name: net, bandwidth: 100 Gb/s, efficiency: 0.8, latency: 5 us, topology: fat-tree, tiers: [{}, {ports: 4}]}",
     TSIM_ERR_SCHEMA, "", "missing key 'cluster.fabric.tiers[0].ports'",
     "ports: node ports that reach each other without going higher"},
    {"cluster.fabric",
     "{name: net, bandwidth: 100 Gb/s, efficiency: 0.8, latency: 5 us, topology: fat-tree, tiers: [{ports: 4, "
     "oversubscription: 0.5}]}",
     TSIM_ERR_RANGE, "cluster.fabric.tiers[0].oversubscription", "0.5 is out of range", "must be from 1 to 1000"},
    {"model", "{kind: mlp, input: {channels: 3}, list: [{kind: linear, out: 8}, {kind: conv, out: 8, kernel: 3}]}",
     TSIM_ERR_INFEASIBLE, "model.list[1]", "it is moved over", ""},
    {"cluster.node.accelerator.power.idle", "400 W", TSIM_ERR_INFEASIBLE, "cluster.node.accelerator.power.idle",
     "is above power.limit", ""},
    {"parallelism", "{tp: 2}", TSIM_ERR_SCHEMA, "", "unknown key 'tp' in parallelism", "did you mean 'tensor'?"},
    {"parallelism.mbs", "2", TSIM_ERR_SCHEMA, "", "unknown key 'mbs' in parallelism",
     "did you mean 'training.micro_batch_size'?"},
    {"gbs", "2", TSIM_ERR_SCHEMA, "", "'gbs' in the file", "did you mean 'training.global_batch_size'?"},
    {"model.num_layers", "2", TSIM_ERR_SCHEMA, "", "unknown key 'num_layers' in model", "did you mean 'layers'?"},
    {"cluster.node.accelerator.power.cap", "49 W", TSIM_ERR_INFEASIBLE, "cluster.node.accelerator.power.cap",
     "is below power.idle, which is drawn without any work", "must be from 50.0 W to power.limit, 300 W"},
    {"cluster.node.accelerator.power.cap", "200 W", TSIM_OK, NULL, NULL, NULL},
    {"cluster.node.accelerator.power.limit", "1e308 W", TSIM_ERR_RANGE, "cluster.node.accelerator.power.limit",
     "1e308 W is out of range", "must be from 1 mW to 1 MW"},
    {"energy.pue", "0.5", TSIM_ERR_RANGE, "energy.pue", "0.5 is out of range", "must be from 1 to 10"},
    {"software.flat_bucket", "1e308", TSIM_ERR_RANGE, "software.flat_bucket", "1e308 is out of range", "1 to 1 P"},
    {"cluster.fabric.bandwidth", "1e-300 B/s", TSIM_ERR_RANGE, "cluster.fabric.bandwidth", "1e-300 B/s is out of range",
     "must be from 1 kB/s to 1 EB/s"},
    {"software.host_time_per_op", "1e300 s", TSIM_ERR_RANGE, "software.host_time_per_op", "1e300 s is out of range",
     "must be 0, or from 1 ps to 10 s"},
    {"cluster.node.accelerator.peak.fp8", "5 TFLOP/s", TSIM_ERR_SCHEMA,
     "cluster.node.accelerator.efficiency.matrix_sustained", "which has a peak", "long matrix products reach"},
    {"cluster.node.accelerator.reserve", "16 GB", TSIM_ERR_INFEASIBLE, "cluster.node.accelerator.reserve",
     "is not below memory", ""},
    {"cluster.node.scale_up", "{kind: switch}", TSIM_ERR_SCHEMA, "cluster.node.scale_up", "missing key 'bandwidth'",
     "per accelerator and direction, for example 450 GB/s"},
    {"cluster.node.scale_up.kind", "none", TSIM_ERR_INFEASIBLE, "cluster.node.scale_up.kind",
     "without links between them", "switch, mesh or pcie"},
    {"cluster.fabric.oversubscription", "0.5", TSIM_ERR_RANGE, "cluster.fabric.oversubscription", "0.5 is out of range",
     "must be from 1 to 1000"},
    {"cluster.fabric.efficiency", "1.5", TSIM_ERR_RANGE, "cluster.fabric.efficiency", "1.5 is out of range",
     "must be from 0.000001 to 1"},
};

TSIM_TEST_ROWS(rules, RULES) {
    const struct rule *c = &RULES[_i];
    const struct tsim_scenario *scenario = load_set(c->path, c->value);
    if (c->status == TSIM_OK) {
        must(scenario);
        return;
    }
    ck_assert_ptr_null(scenario);
    assert_says(diags.items[0].message, c->message);
    assert_says(diags.items[0].hint, c->hint);
    ck_assert_str_eq(diags.items[0].field, c->field);
    ck_assert_int_eq(diags.items[0].status, c->status);
}

/* Rules that take more than one setting. */
static const struct pair_rule {
    struct tsim_override sets[3];
    size_t n_sets;
    const char *message, *hint;
} PAIR_RULES[] = {
    {{{"parallelism.virtual_pipeline", "2"}, {"training.global_batch_size", "12"}},
     2,
     "multiple of pipeline 2",
     "nearest that works: global_batch_size 8 or 16"},
    {{{"parallelism.virtual_pipeline", "2"}, {"parallelism.pipeline", "1"}},
     2,
     "but only one stage",
     "virtual_pipeline: 1, or pipeline above 1"},
    {{{"parallelism.virtual_pipeline", "2"}, {"parallelism.schedule", "gpipe"}},
     2,
     "stage, not virtual_pipeline 2",
     "schedule: interleaved, or virtual_pipeline: 1"},
    {{{"parallelism.virtual_pipeline", "2"}, {"parallelism.schedule", "zb-v"}},
     2,
     "its own, not 2",
     "out, or schedule: interleaved"},
    {{{"model", "dcgan"}, {"parallelism.pipeline", "2"}}, 2, "split by data", "only data and zero"},
    {{{"model", "retinanet-resnext50"}, {"parallelism.pipeline", "2"}}, 2, "with branches", "only data and zero"},
    {{{"parallelism.schedule", "zb-v"}, {"model.layers", "9"}}, 2, "4 parts of zb-v", "balance, or a list"},
    {{{"parallelism.schedule", "zb-v"}, {"parallelism.layers_per_stage", "[4, 4]"}},
     2,
     "2 entries for zb-v, which has 4 parts with pipeline 2",
     "one entry for each part, in model order"},
    {{{"parallelism.schedule", "zb-v"}, {"training.global_batch_size", "8"}},
     2,
     "needs at least 3",
     "nearest that works: global_batch_size 12"},
    {{{"parallelism.schedule", "dualpipe"}, {"training.global_batch_size", "8"}},
     2,
     "needs at least 4",
     "nearest that works: global_batch_size 16"},
    {{{"parallelism.schedule", "dualpipe"}, {"training.global_batch_size", "20"}},
     2,
     "needs an even number",
     "nearest that works: global_batch_size 16 or 24"},
    {{{"parallelism.schedule", "dualpipe"}, {"parallelism.pipeline", "1"}},
     2,
     "of stages, not 1",
     "2; or schedule: zb-h1"},
    {{{"training.recompute", "[operators]"}, {"model.experts", "{count: 8, active: 2}"}},
     2,
     "does not simulate",
     "list of other parts"},
    {{{"training.recompute", "[operators]"}, {"model.latent", "{query_rank: 32, kv_rank: 16, rope_dim: 4}"}},
     2,
     "does not simulate",
     "list of other parts"},
    {{{"model.kv_heads", "3"}, {"model.heads", "24"}, {"model.head_dim", "8"}},
     3,
     "neither 2 nor the 3 kv_heads of inline divides the other",
     "nearest that works: tensor 1"},
    {{{"training.per_layer_updates", "true"}, {"parallelism.pipeline", "1"}, {"parallelism.zero", "2"}},
     3,
     "zero 2 frees gradients itself",
     "zero: 0 or 1"},
    {{{"training.tokens", "1 M"}, {"training.steps", "4"}},
     2,
     "run is given twice",
     "training.tokens states it already"},
    {{{"parallelism.context", "2"}, {"training.sequence_length", "130"}},
     2,
     "and a late piece)",
     "nearest that works: sequence_length 128 or 132"},
    {{{"model.position", "learned"}, {"model.positions", "64"}},
     2,
     "128, but inline has 64 learned positions",
     "at most 64"},
    {{{"cluster.nodes", "3"}, {"parallelism.pipeline", "4"}, {"parallelism.tensor", "4"}},
     3,
     "divide the 12 accelerators",
     "1; or tensor 1"},
    {{{"parallelism.pipeline", "4"}, {"parallelism.layers_per_stage", "[0, 8, 0, 0]"}},
     2,
     "a chunk between the first and the last has no layers",
     "only the chunks with the embedding and the head can have none"},
    {{{"parallelism.tensor", "4"}, {"parallelism.zero_group", "node"}, {"cluster.accelerators_per_node", "2"}},
     3,
     "nodes of 2 with tensor 4 do not cut data 1 x context 1 into equal groups",
     "all, or a divisor of 1"},
};

TSIM_TEST_ROWS(rules_of_several_keys, PAIR_RULES) {
    const struct pair_rule *c = &PAIR_RULES[_i];
    ck_assert_ptr_null(load_with(path_of("base.yaml"), c->sets, c->n_sets));
    size_t i = 0;
    while (i < diags.n_items && (diags.items[i].is_warning || !strstr(diags.items[i].message, c->message)))
        i++;
    ck_assert_msg(i < diags.n_items, "%s", diags.items[0].message);
    assert_says(diags.items[i].hint, c->hint);
}

static const struct effect {
    struct tsim_override sets[2];
    size_t n_sets;
    const char *field, *message;
} EFFECTS[] = {
    {{{"parallelism.tensor", "1"}, {"parallelism.sequence", "true"}}, 2, "parallelism.sequence", "because tensor is 1"},
    {{{"cluster.nodes", "1"}}, 1, "cluster.fabric", "only one node"},
    {{{"parallelism.schedule", "interleaved"}},
     1,
     "parallelism.schedule",
     "interleaved is 1f1b when virtual_pipeline is 1"},
    {{{"parallelism.schedule", "zb-h2"}, {"parallelism.pipeline", "1"}},
     2,
     "parallelism.schedule",
     "zb-h2 is 1f1b when pipeline is 1"},
    {{{"cluster.accelerators_per_node", "1"}},
     1,
     "parallelism.tensor",
     "tensor groups of 2 ranks are larger than a node of 1"},
    {{{"parallelism.zero", "0"}, {"parallelism.zero_group", "2"}}, 2, "parallelism.zero_group", "because zero is 0"},
    {{{"parallelism.pipeline", "8"}, {"parallelism.zero", "1"}}, 2, "parallelism.zero", "only one replica"},
    {{{"software.attention_kernel", "unfused"}, {"training.attention", "flash"}},
     2,
     "training.attention",
     "so flash2 is taken"},
    {{{"training.batch_ramp", "{from: 8, increment: 4, samples: 100}"}}, 1, "training.batch_ramp", "run is not given"},
    {{{"training.tokens", "1 G"}, {"reliability", "{preemption: {notice: 2 s, gap: 600 s}}"}},
     2,
     "reliability.preemption.notice",
     "of preemption is 0"},
    {{{"training.tokens", "1 G"}, {"reliability.checkpoint", "{memory: true, local: {}}"}},
     2,
     "reliability.checkpoint.memory",
     "checkpoint.local states it already"},
    {{{"model.positions", "128"}}, 1, "model.positions", "positions are not learned"},
};

TSIM_TEST_ROWS(settings_without_effect_are_warnings, EFFECTS) {
    const struct effect *c = &EFFECTS[_i];
    must(load_with(path_of("base.yaml"), c->sets, c->n_sets));
    ck_assert_uint_eq(diags.n_warnings, 1);
    assert_says(diags.items[0].message, c->message);
    ck_assert_str_eq(diags.items[0].field, c->field);
}

#define IMAGES "{layers: 2, hidden: 64, heads: 8, ffn_hidden: 256, vocab: 10, causal: false, image: "

/* A table of positions has a row for each patch and one for the class token: (224 / 16)^2 + 1. */
static const struct image_rule {
    const char *model, *field, *message; /* NULL: the model is taken */
} IMAGE_RULES[] = {
    {IMAGES "{size: 224, patch: 16}}", NULL, NULL},
    {IMAGES "{size: 224, patch: 16}, position: learned}", NULL, NULL},
    {IMAGES "{size: 224, patch: 16}, position: learned, positions: 197}", NULL, NULL},
    {IMAGES "{size: 224, patch: 16}, position: learned, positions: 30}", "model.positions", "image of 197 tokens"},
    {IMAGES "{size: 224, patch: 17}}", "model.image", "multiple of patch 17"},
    {IMAGES "{size: 224, patch: 17}, position: learned}", "model.image", "multiple of patch 17"},
    {IMAGES "{size: 224, patch: 17}, position: learned, positions: 30}", "model.image", "multiple of patch 17"},
    {IMAGES "{patch: 16}}", "model.image", "multiple of patch 16"},
    {IMAGES "{size: 16}}", "model.image", "multiple of patch 0"},
};

TSIM_TEST_ROWS(images, IMAGE_RULES) {
    const struct image_rule *c = &IMAGE_RULES[_i];
    const struct tsim_override sets[] = {{"training", "{global_batch_size: 16}"}, {"model", c->model}};
    write_file("image.yaml", "extends: base.yaml\ntraining: {sequence_length: 197}\n");
    const struct tsim_scenario *scenario = load_with(path_of("image.yaml"), sets, 2);
    ck_assert((scenario != NULL) == (c->message == NULL));
    ck_assert_uint_eq(diags.n_items, c->message != NULL); /* one mistake is said once */
    if (c->message) {
        assert_says(diags.items[0].message, c->message);
        ck_assert_str_eq(diags.items[0].field, c->field);
    } else {
        ck_assert_int_eq(scenario->model->image.tokens, 197);
        ck_assert_int_eq(scenario->training.sequence_length, 197);
    }
}

/* A model of two stacks cannot have these. */
TSIM_TEST_LOOP(one_stack_or_two, 0, 4) {
    static const struct tsim_override OTHERS[] = {{"model.parallel_block", "true"},
                                                  {"model.latent", "{kv_rank: 16, rope_dim: 4}"},
                                                  {"model.experts", "{count: 8, active: 2}"},
                                                  {"model.image", "{size: 224, patch: 16}"}};
    const struct tsim_override sets[] = {{"model.encoder_layers", "4"}, OTHERS[_i]};
    ck_assert_ptr_null(load_with(path_of("base.yaml"), sets, 2));
    assert_says(diags.items[0].message, "stack in this version");
}

TSIM_TEST(fabric_is_needed_between_nodes) {
    const char *text = strstr(BASE, "  fabric:");
    const char *rest = strstr(text, "software:");
    write_file("nofabric.yaml", tsim_arena_printf(&arena, "%.*s%s", (int)(text - BASE), BASE, rest));
    ck_assert_ptr_null(load_with(path_of("nofabric.yaml"), NULL, 0));
    assert_says(diags.items[0].message, "4 nodes need a fabric");
    struct tsim_override one = {"cluster.nodes", "1"};
    ck_assert_ptr_null(must(load_with(path_of("nofabric.yaml"), &one, 1))->cluster.fabric);
}

/* Lines from top to bottom, whatever the order of the tables. */
TSIM_TEST(mistakes_come_in_the_order_of_the_file) {
    write_file("bad.yaml", "parallelism: {tensr: 8}\n"
                           "training: {precision: bf17}\n"
                           "extends: base.yaml\n"
                           "schema: tsim/v2\n"
                           "cluster: {nodes: x}\n");
    ck_assert_ptr_null(load_with(path_of("bad.yaml"), NULL, 0));
    ck_assert_uint_eq(diags.n_errors, 4);
    static const int lines[] = {1, 2, 4, 5};
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(diags.items[i].at.line, lines[i]);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
