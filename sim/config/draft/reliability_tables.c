/* reliability_tables.c - `reliability:` of a scenario: what fails, and what is done about it. */
#include "config/draft/scenario_draft.h"

#include <math.h>
#include <string.h>

#define AT(member) offsetof(struct tsim_reliability_spec, member)
#define TIME_WITHIN(name_, member_, default_, help_, min_, max_)                                                       \
    {                                                                                                                  \
        .key = (name_), .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_TIME_S, .offset = AT(member_), .min = (min_),     \
        .max = (max_), .default_text = (default_), .help = (help_)                                                     \
    }
#define TIME_KEY(...) TIME_WITHIN(__VA_ARGS__, 0, TSIM_YEAR_S)
/* The time between events of one kind. No part of a machine fails twice a minute. */
#define MTBF_KEY(...) TIME_WITHIN(__VA_ARGS__, 60, 1e6 * TSIM_YEAR_S)

/* Mean times of one component: 54 days of Llama 3 405B on 2,048 nodes of 8 H100, 419 unplanned interruptions
 * (Grattafiori et al. 2024, arXiv:2407.21783, table 5): 21.2 M accelerator hours and 2.65 M node hours over
 * accelerator 196 (faulty GPU 148, SRAM 19, system processor 17, silent corruption 6, thermal 6), HBM 72, NIC 7,
 * switch or cable 35, host 46 (maintenance 32, SSD 3, power supply 3, chassis, IO board, CPU and DRAM 2 each), software
 * 63 (bugs 54, collective watchdog 7, dependency 2). Switches are counted with the cables there. */
/* clang-format off */
static const struct tsim_key COMPONENT_KEYS[] = {
    MTBF_KEY("accelerator", component_mtbf_s[TSIM_CAUSE_ACCELERATOR], "108300 h", "mean time between failures of one accelerator; 0: never"),
    MTBF_KEY("hbm", component_mtbf_s[TSIM_CAUSE_HBM], "294900 h", "mean time between failures of one accelerator's memory"),
    MTBF_KEY("nic", component_mtbf_s[TSIM_CAUSE_NIC], "3033000 h", "the same for one port of a node"),
    MTBF_KEY("link", component_mtbf_s[TSIM_CAUSE_LINK], "606700 h", "the same for the cables of one node port, with their share of the switches"),
    MTBF_KEY("switch", component_mtbf_s[TSIM_CAUSE_SWITCH], "0 h", "the same for one switch of 64 ports; 0: counted with the links"),
    MTBF_KEY("host", component_mtbf_s[TSIM_CAUSE_HOST], "57700 h", "the same for one node without its accelerators"),
    MTBF_KEY("software", component_mtbf_s[TSIM_CAUSE_SOFTWARE], "42130 h", "the same for one node's processes; the node stays"),
};
TSIM_TABLE(COMPONENTS, COMPONENT_KEYS, false);

static const struct tsim_word MODES[] = {{"sync", 0}, {"async", 1}, {NULL, 0}};

const struct tsim_word tsim_storage_networks[] = {{"own", TSIM_STORAGE_OWN}, {"nics", TSIM_STORAGE_NICS}, {NULL, 0}};

static void read_interval(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field);
static void read_optimal_interval(struct tsim_reader *reader, const struct tsim_value *value, const char *path,
                                  void *field);
static void write_interval(struct tsim_writer *writer, const char *key, const char *path, const void *field);
static void write_optimal_interval(struct tsim_writer *writer, const char *key, const char *path, const void *field);

#define LOCAL_AT(member) offsetof(struct tsim_local_tier_spec, member)
static const struct tsim_key LOCAL_KEYS[] = {
    {.key = "interval", .kind = TSIM_KEY_CUSTOM, .offset = LOCAL_AT(interval), .read = read_optimal_interval,
     .write = write_optimal_interval, .help = "interval of the copies in host memory: optimal, a time, or a number of steps; default: optimal"},
    {.key = "copies", .kind = TSIM_KEY_INT, .offset = LOCAL_AT(copies), .max = 100, .default_text = "0",
     .help = "number of copies on other nodes, so that the loss of a node loses nothing; 0: none"},
    {.key = "restart", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_TIME_S, .offset = LOCAL_AT(restart_s), .unit = "min", .max = TSIM_YEAR_S, .is_positive = true,
     .is_omitted_when_zero = true, .help = "time of a restart from these copies, in place of reliability.restart; default: the same"},
};
TSIM_TABLE(LOCAL, LOCAL_KEYS, false);

static void read_local(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field);
static void write_local(struct tsim_writer *writer, const char *key, const char *path, const void *field);

static const struct tsim_key CHECKPOINT_KEYS[] = {
    {.key = "interval", .kind = TSIM_KEY_CUSTOM, .offset = AT(checkpoint_interval), .read = read_optimal_interval,
     .write = write_optimal_interval,
     .help = "interval of checkpoints on the storage: optimal, a time, or a number of steps; default: optimal"},
    {.key = "mode", .kind = TSIM_KEY_ENUM, .offset = AT(mode), .words = MODES, .default_text = "sync",
     .help = "sync: training waits for the storage; async: for the copy to host memory"},
    {.key = "bandwidth", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_BYTES_PER_S, .offset = AT(checkpoint_bytes_per_s),
     .default_text = "100 GB/s", .unit = "GB/s", .is_positive = true, .help = "bandwidth of the whole cluster to its storage"},
    {.key = "network", .kind = TSIM_KEY_ENUM, .offset = AT(checkpoint_network), .words = tsim_storage_networks, .default_text = "own",
     .help = "network that leads to the storage: own; or nics: writing under training shares the NICs with the steps"},
    {.key = "memory", .kind = TSIM_KEY_BOOL, .offset = AT(checkpoint_memory), .default_text = "false",
     .help = "async: after failures in which no node is lost, the job restarts from the copy in host memory"},
    {.key = "local", .kind = TSIM_KEY_CUSTOM, .offset = AT(local), .read = read_local, .write = write_local, .described_by = &LOCAL,
     .help = "a tier in the hosts' memory with an interval of its own; interval is then the storage's"},
};
TSIM_TABLE(CHECKPOINT, CHECKPOINT_KEYS, false);

static const struct tsim_key EVALUATION_KEYS[] = {
    {.key = "interval", .kind = TSIM_KEY_CUSTOM, .offset = offsetof(struct tsim_evaluation_spec, interval),
     .read = read_interval, .write = write_interval, .help = "training between two evaluations: a time, or a number of steps"},
    {.key = "every", .kind = TSIM_KEY_CUSTOM, .offset = offsetof(struct tsim_evaluation_spec, interval),
     .read = read_interval, .help = "another word for interval"},
    {.key = "time", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_TIME_S, .offset = offsetof(struct tsim_evaluation_spec, time_s),
     .default_text = "0 s", .max = TSIM_YEAR_S, .is_omitted_when_zero = true, .help = "time that training waits for one evaluation; 0: none"},
    {.key = "samples", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_COUNT, .offset = offsetof(struct tsim_evaluation_spec, samples),
     .is_positive = true, .is_omitted_when_zero = true, .help = "samples of one evaluation on the whole cluster; its time is that of their forward passes, simulated"},
    {.key = "steps", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_COUNT, .offset = offsetof(struct tsim_evaluation_spec, steps),
     .is_positive = true, .is_omitted_when_zero = true, .help = "length of one evaluation in global batches, in place of samples"},
    {.key = "tokens", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_COUNT, .offset = offsetof(struct tsim_evaluation_spec, tokens),
     .is_positive = true, .is_omitted_when_zero = true, .help = "tokens of a text that is sampled with each evaluation: one forward pass of the training plan for each, without an engine"},
};
const struct tsim_table tsim_evaluation_table = {EVALUATION_KEYS, sizeof EVALUATION_KEYS / sizeof EVALUATION_KEYS[0], false};
static const struct tsim_key MAINTENANCE_KEYS[] = {
    MTBF_KEY("interval", maintenance_interval_s, "0 s", "time between two planned stops; 0: none"),
    TIME_KEY("time", maintenance_s, "0 s", "length of one"),
};
TSIM_TABLE(MAINTENANCE, MAINTENANCE_KEYS, false);

static const struct tsim_key STRAGGLER_KEYS[] = {
    MTBF_KEY("mtbf", straggler_mtbf_s, "0 h", "mean time until a node becomes slow without failing; 0: never"),
    {.key = "slowdown", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_FRACTION, .offset = AT(straggler_slowdown),
     .default_text = "1.2", .is_positive = true, .min = 1, .max = 1000, .help = "how many times as long every step takes until the node is found"},
    TIME_KEY("detection", straggler_detection_s, "12 h", "time until the node is found; it is replaced after a checkpoint"),
};
TSIM_TABLE(STRAGGLERS, STRAGGLER_KEYS, false);

static const struct tsim_key PREEMPTION_KEYS[] = {
    {.key = "rate", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_PER_S, .offset = AT(preemption_per_s),
     .default_text = "0 /h", .max = 1.0 / 60, .help = "rate at which one node is preempted; 0: not preemptible"},
    TIME_KEY("notice", notice_s, "2 min", "warning before a node is taken away; if it suffices for a checkpoint, no work is lost"),
    {.key = "discount", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_FRACTION, .offset = AT(discount_frac),
     .default_text = "0", .max = 0.99, .help = "discount off the rent: 0.7 leaves 30 %"},
    TIME_KEY("gap", gap_s, "10 min", "mean time until a replacement node is available"),
};
TSIM_TABLE(PREEMPTION, PREEMPTION_KEYS, false);

static const struct tsim_word SPARES[] = {
    {"optimal", TSIM_SPARES_OPTIMAL}, {"fastest", TSIM_SPARES_FASTEST}, {NULL, 0}};

static void read_components(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field);
static void write_components(struct tsim_writer *writer, const char *key, const char *path, const void *field);

static const struct tsim_key RELIABILITY_KEYS[] = {
    {.key = "node_mtbf", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_TIME_S, .offset = AT(node_mtbf_s), .unit = "h", .min = 60,
     .max = 1e6 * TSIM_YEAR_S, .is_positive = true,
     .is_omitted_when_zero = true, .help = "mean time between failures of one node, whatever the cause; default: the node's, or by component"},
    {.key = "rate_spread", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_FRACTION, .offset = AT(rate_spread), .default_text = "2.7",
     .is_positive = true, .min = 1, .max = 100, .help = "factor within which real failure rates lie in eight of ten cases; default for rates that the scenario gives: 1"},
    {.key = "components", .kind = TSIM_KEY_CUSTOM, .read = read_components, .write = write_components, .described_by = &COMPONENTS,
     .help = "times between failures of one component"},
    {.key = "shape", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_FRACTION, .offset = AT(shape), .default_text = "1",
     .is_positive = true, .min = 0.1, .max = 10, .help = "shape of the Weibull distribution of hardware failures; 1: a constant rate; below 1: infant mortality"},
    TIME_WITHIN("age", age_s, "0 s", "age of the hardware when the run begins; it matters only if shape is not 1", 0, 100 * TSIM_YEAR_S),
    {.key = "checkpoint", .kind = TSIM_KEY_MAPPING, .table = &CHECKPOINT, .help = "when and how state is saved"},
    TIME_KEY("detection", detection_s, "0 s", "time until a failure is noticed, unless restart includes it"),
    TIME_KEY("restart", restart_s, "7 min", "time from the failure to the first step; the default is detection 1, scheduling 1, loading 3 and warm-up 2 minutes"),
    TIME_KEY("warmup", warmup_s, "0 s", "time lost to slow first steps, unless restart includes it"),
    TIME_KEY("repair", repair_s, "30 min", "mean time until a failed node is back"),
    {.key = "repair_power", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_FRACTION, .offset = AT(repair_power_frac),
     .default_text = "1", .max = 1, .help = "power of a node in repair over that of an idle one; 0: it is switched off"},
    {.key = "spares", .kind = TSIM_KEY_INT, .offset = AT(spares), .max = 1e6, .words = SPARES, .default_text = "0",
     .help = "spare nodes; optimal: as many as minimize the rent; fastest: as many as minimize the days"},
    {.key = "elastic", .kind = TSIM_KEY_BOOL, .offset = AT(elastic), .default_text = "false",
     .help = "without a spare, go on with fewer replicas"},
    {.key = "maintenance", .kind = TSIM_KEY_MAPPING, .table = &MAINTENANCE, .help = "planned stops"},
    {.key = "stragglers", .kind = TSIM_KEY_MAPPING, .table = &STRAGGLERS, .help = "nodes that become slow without failing"},
    {.key = "preemption", .kind = TSIM_KEY_MAPPING, .table = &PREEMPTION, .help = "how spot instances are taken away"},
    {.key = "replications", .kind = TSIM_KEY_INT, .offset = AT(replications), .max = 100000, .default_text = "200",
     .is_positive = true, .help = "runs simulated, each with its own failures"},
};
const struct tsim_table tsim_reliability_table = {RELIABILITY_KEYS, sizeof RELIABILITY_KEYS / sizeof RELIABILITY_KEYS[0],
                                                  false};
static const struct tsim_key INTERVAL_STEPS = {.key = "interval", .kind = TSIM_KEY_INT, .max = 1e9, .is_positive = true,
                                               .help = "steps"};
static const struct tsim_key INTERVAL_TIME = {.key = "interval", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_TIME_S,
                                              .min = 1, .is_positive = true, .help = "time"};
/* clang-format on */

static bool has_digit(const struct tsim_value *value) {
    return value->kind != TSIM_VALUE_SCALAR || strpbrk(value->text, "0123456789") != NULL;
}

static void read_interval(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    struct tsim_period *interval = field;
    int64_t steps;
    if (!value)
        return;
    if (!has_digit(value)) {
        tsim_diag_hint(
            tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, value, path, "'%.60s' is no interval", value->text),
            "write a time such as 30 min, or a number of steps");
        return;
    }
    bool is_number = value->kind == TSIM_VALUE_SCALAR && value->text[strspn(value->text, "0123456789")] == '\0';
    if (is_number && tsim_schema_read_value(reader, &INTERVAL_STEPS, value, path, &steps))
        *interval = (struct tsim_period){TSIM_PERIOD_STEPS, (double)steps};
    else if (!is_number && tsim_schema_read_value(reader, &INTERVAL_TIME, value, path, &interval->value))
        interval->kind = TSIM_PERIOD_TIME;
}

static void read_optimal_interval(struct tsim_reader *reader, const struct tsim_value *value, const char *path,
                                  void *field) {
    if (!value || tsim_value_is_text(value, "optimal"))
        return;
    if (has_digit(value))
        read_interval(reader, value, path, field);
    else
        tsim_diag_hint(
            tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, value, path, "'%.60s' is no interval", value->text),
            "write optimal, a time such as 30 min, or a number of steps");
}

static void write_interval(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    const struct tsim_period *interval = field;
    char text[64];
    (void)path;
    if (interval->kind == TSIM_PERIOD_STEPS)
        tsim_writer_int(writer, key, (int64_t)interval->value);
    else if (interval->kind == TSIM_PERIOD_TIME)
        tsim_writer_text(writer, key, tsim_quantity_si(interval->value, TSIM_TIME_S, text, sizeof text));
}

static void write_optimal_interval(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    if (((const struct tsim_period *)field)->kind == TSIM_PERIOD_OPTIMAL)
        tsim_writer_text(writer, key, "optimal");
    else
        write_interval(writer, key, path, field);
}

static void read_local(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    struct tsim_local_tier_spec *local = field;
    if (!value)
        return;
    if (value->kind != TSIM_VALUE_MAPPING) {
        tsim_schema_wrong_kind(reader, value, path, "a mapping: {interval: 5 min, copies: 1}");
        return;
    }
    local->has = true;
    tsim_schema_read(reader, &LOCAL, value, path, local);
}

static void write_local(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    const struct tsim_local_tier_spec *local = field;
    if (!local->has)
        return;
    tsim_writer_mapping(writer, key, &LOCAL, path, local);
}

static void read_components(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    tsim_schema_read_mapping(reader, &COMPONENTS, value, path, field);
}

/* Writes the components, unless node_mtbf is given: then they follow from the defaults' shares and are not the
 * scenario's. */
static void write_components(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    if (((const struct tsim_reliability_spec *)field)->node_mtbf_s > 0)
        return;
    tsim_writer_mapping(writer, key, &COMPONENTS, path, field);
}

void tsim_reliability_read(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    struct tsim_reliability_spec *spec = &((struct tsim_draft *)field)->scenario.reliability;
    if (value)
        spec->has = tsim_schema_read_mapping(reader, &tsim_reliability_table, value, path, spec);
}

void tsim_reliability_write(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    const struct tsim_reliability_spec *spec = &((const struct tsim_draft *)field)->scenario.reliability;
    if (!spec->has)
        return;
    tsim_writer_mapping(writer, key, &tsim_reliability_table, path, spec);
}

/* ---- keys that are right alone and wrong together ---- */

static void check_halves(const struct tsim_draft *draft, struct tsim_reader *reader, const char *path,
                         bool has_interval, bool has_time) {
    if (has_interval != has_time)
        tsim_diag_hint(FAIL_IN(draft, reader, path, "has %s and no %s", has_interval ? "an interval" : "a time",
                               has_interval ? "time" : "interval"),
                       "write both: {interval: 6 h, time: 10 min}");
}

/* Warns of a setting that is not the default (as the writer writes it). */
static void warn(const struct tsim_draft *draft, struct tsim_reader *reader, const char *path, bool is_default,
                 const char *what) {
    if (!is_default && tsim_draft_has(draft, path))
        WARN_IN(draft, reader, path, "this has no effect, because %s", what);
}

static void check_effects(const struct tsim_draft *draft, struct tsim_reader *reader) {
    const struct tsim_reliability_spec *spec = &draft->scenario.reliability;
    const struct tsim_fabric *fabric = draft->scenario.cluster.fabric;
    if (!fabric || fabric->topology == TSIM_TOPOLOGY_TORUS)
        warn(draft, reader, "reliability.checkpoint.network", spec->checkpoint_network == TSIM_STORAGE_OWN,
             "there is no NIC");
    if (spec->shape == 1)
        warn(draft, reader, "reliability.age", spec->age_s == 0, "with shape 1 failures do not depend on age");
    if (!(spec->straggler_mtbf_s > 0)) {
        const char *never = "no node becomes slow while mtbf is 0";
        warn(draft, reader, "reliability.stragglers.slowdown", spec->straggler_slowdown == 1.2, never);
        warn(draft, reader, "reliability.stragglers.detection", spec->straggler_detection_s == 43200, never);
    }
    if (!(spec->preemption_per_s > 0)) {
        warn(draft, reader, "reliability.preemption.notice", spec->notice_s == 120, "the rate of preemption is 0");
        warn(draft, reader, "reliability.preemption.gap", spec->gap_s == 600, "the rate of preemption is 0");
        warn(draft, reader, "reliability.preemption.discount", spec->discount_frac == 0, "the rate of preemption is 0");
    }
    if (draft->data == 1 && !draft->is_job)
        warn(draft, reader, "reliability.elastic", !spec->elastic, "there is only one replica");
    if (draft->scenario.training.length_kind == TSIM_LENGTH_NONE)
        tsim_diag_hint(
            WARN_IN(draft, reader, "reliability", "this has no effect, because the length of the run is not given"),
            "set training.tokens, samples or steps");
}

static void check_local(const struct tsim_draft *draft, struct tsim_reader *reader) {
    const struct tsim_reliability_spec *spec = &draft->scenario.reliability;
    const struct tsim_period *local = &spec->local.interval, *storage = &spec->checkpoint_interval;
    const char *path = "reliability.checkpoint.local";
    if (!spec->local.has)
        return;
    warn(draft, reader, "reliability.checkpoint.memory", !spec->checkpoint_memory,
         "checkpoint.local states it already");
    if (spec->local.copies >= draft->scenario.cluster.nodes)
        tsim_diag_hint(FAIL_IN(draft, reader, path, "%lld copies on other nodes, but there are %lld nodes",
                               (long long)spec->local.copies, (long long)draft->scenario.cluster.nodes),
                       "at most %lld", (long long)draft->scenario.cluster.nodes - 1);
    if (local->kind != TSIM_PERIOD_OPTIMAL && local->kind == storage->kind && local->value > storage->value)
        tsim_diag_hint(
            FAIL_IN(
                draft, reader, path,
                "this is longer than checkpoint.interval, but the storage gets only one in several of these copies"),
            "local.interval shorter than checkpoint.interval");
}

static void check_ramp(const struct tsim_draft *draft, struct tsim_reader *reader) {
    const struct tsim_training_spec *t = &draft->scenario.training;
    const struct tsim_batch_ramp_spec *r = &t->batch_ramp;
    const char *path = "training.batch_ramp";
    double sizes = ((double)t->global_batch_size - r->from) / r->increment;
    if (!(r->from > 0) && !(r->increment > 0) && !(r->samples > 0))
        return;
    if (!(r->from > 0) || !(r->increment > 0) || !(r->samples > 0))
        tsim_diag_hint(FAIL_IN(draft, reader, path, "one of from, increment, samples is missing"),
                       "write all: {from: 192, increment: 16, samples: 9765625}");
    else if (!(sizes >= 1) || sizes != floor(sizes) || sizes > 1e5)
        tsim_diag_hint(FAIL_IN(draft, reader, path, "%.15g plus steps of %.15g never reaches %lld", r->from,
                               r->increment, (long long)t->global_batch_size),
                       "global_batch_size less from is a multiple of the increment, at most 100,000 times");
    else if (t->length_kind == TSIM_LENGTH_NONE)
        WARN_IN(draft, reader, path, "this has no effect, because the length of the run is not given");
}

/* Accelerators that are always slow: how many, and how slow. */
static void check_variability(const struct tsim_draft *draft, struct tsim_reader *reader) {
    const struct tsim_variability_spec *spec = &draft->scenario.variability;
    const char *fraction = "variability.stragglers.fraction", *slowdown = "variability.stragglers.slowdown";
    if (spec->straggler_slowdown < 1)
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_RANGE, tsim_draft_place(draft, slowdown), slowdown,
                                        "a straggler cannot be faster than the rest"),
                       "write how many times as long its kernels take: 1.2");
    if (spec->straggler_slowdown == 1)
        warn(draft, reader, fraction, spec->straggler_frac == 0, "they are not slow while stragglers.slowdown is 1");
    if (spec->straggler_frac == 0)
        warn(draft, reader, slowdown, spec->straggler_slowdown == 1,
             "stragglers.fraction is 0, so there are no stragglers");
}

/* Rates that are given are taken as they are; others are those of machines that were counted. */
void tsim_draft_resolve_reliability(struct tsim_draft *draft) {
    struct tsim_reliability_spec *spec = &draft->scenario.reliability;
    bool is_given = tsim_draft_has(draft, "reliability.node_mtbf") || tsim_draft_has(draft, "reliability.components");
    if (is_given && !tsim_draft_has(draft, "reliability.rate_spread"))
        spec->rate_spread = 1;
    if (spec->has && !is_given)
        spec->node_mtbf_s = draft->scenario.cluster.node->mtbf_s;
}

void tsim_draft_check_reliability(const struct tsim_draft *draft, struct tsim_reader *reader) {
    const struct tsim_reliability_spec *spec = &draft->scenario.reliability;
    const struct tsim_evaluation_spec *evaluation = &draft->scenario.training.evaluation;
    int n_lengths = (evaluation->time_s > 0) + (evaluation->samples > 0) + (evaluation->steps > 0);
    check_halves(draft, reader, "training.evaluation", evaluation->interval.kind != TSIM_PERIOD_OPTIMAL,
                 n_lengths > 0 || evaluation->tokens > 0);
    if (n_lengths > 1 || (evaluation->tokens > 0 && evaluation->time_s > 0))
        tsim_diag_hint(
            FAIL_IN(draft, reader, "training.evaluation", "the length of a pause is given twice"),
            "one of time, samples, steps: {interval: 1000, samples: 50000}; with tokens one of samples, steps");
    check_ramp(draft, reader);
    check_variability(draft, reader);
    if (!spec->has)
        return;
    if (spec->node_mtbf_s > 0 && tsim_draft_has(draft, "reliability.components"))
        tsim_diag_hint(FAIL_IN(draft, reader, "reliability.components",
                               "node_mtbf is given, too, which is the sum of the components"),
                       "leave one of the two out");
    check_halves(draft, reader, "reliability.maintenance", spec->maintenance_interval_s > 0, spec->maintenance_s > 0);
    check_local(draft, reader);
    if (spec->mode == 0 && spec->checkpoint_memory && !spec->local.has)
        tsim_diag_hint(
            FAIL_IN(draft, reader, "reliability.checkpoint.memory", "a sync checkpoint keeps no copy in memory"),
            "set reliability.checkpoint.mode=async");
    check_effects(draft, reader);
}
