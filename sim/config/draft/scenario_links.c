/* scenario_links.c - what a scenario says about single links: `cluster.shape`, `cluster.tile`, `cluster.degraded`,
 * `cluster.background`.
 */
#include "config/draft/scenario_draft.h"

#include <string.h>

/* clang-format off */
static const struct tsim_word DEGRADED_LINKS[] = {
    {"scale-up", TSIM_DEGRADED_SCALE_UP}, {"nic", TSIM_DEGRADED_NIC}, {"fabric", TSIM_DEGRADED_FABRIC},
    {"accelerator", TSIM_DEGRADED_ACCELERATOR}, {NULL, 0}};
static const struct tsim_word DIRECTIONS[] = {
    {"out", TSIM_DIRECTION_OUT}, {"in", TSIM_DIRECTION_IN}, {"both", TSIM_DIRECTION_BOTH}, {NULL, 0}};
static const struct tsim_word ALL[] = {{"all", -1}, {NULL, 0}};

#define INT_KEY(type, name_, member_, help_)                                                                           \
    .key = (name_), .kind = TSIM_KEY_INT, .offset = offsetof(type, member_), .max = 1e7, .help = (help_)
#define QUANTITY_KEY(type, name_, dimension_, member_, help_)                                                          \
    .key = (name_), .kind = TSIM_KEY_QUANTITY, .dimension = (dimension_), .offset = offsetof(type, member_),           \
    .help = (help_)

static const struct tsim_key DEGRADED_KEYS[] = {
    {.key = "link", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_degraded, link), .words = DEGRADED_LINKS,
     .is_required = true, .help = "scale-up, nic, fabric: the uplinks of a switch; or accelerator: its kernels"},
    {INT_KEY(struct tsim_degraded, "node", node, "scale-up, nic, accelerator: which node"), .default_text = "0"},
    {INT_KEY(struct tsim_degraded, "index", index, "scale-up, accelerator: which accelerator; nic: which port"),
     .words = ALL, .default_text = "all"},
    {INT_KEY(struct tsim_degraded, "tier", tier, "fabric: which tier, from below"), .default_text = "0"},
    {INT_KEY(struct tsim_degraded, "group", group, "fabric: which group of that tier"), .default_text = "0"},
    {QUANTITY_KEY(struct tsim_degraded, "rate", TSIM_FRACTION, rate_frac, "fraction of what the link would carry, or of the accelerator's speed"),
     .is_required = true, .is_positive = true, .max = 1},
};
const struct tsim_table tsim_degraded_table = {DEGRADED_KEYS, sizeof DEGRADED_KEYS / sizeof DEGRADED_KEYS[0], false};

static const struct tsim_key BACKGROUND_KEYS[] = {
    {.key = "name", .kind = TSIM_KEY_STRING, .offset = offsetof(struct tsim_background, name),
     .default_text = "background", .help = "for people"},
    {.key = "direction", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_background, direction),
     .words = DIRECTIONS, .default_text = "both", .help = "out of the nodes, into them, or both"},
    {QUANTITY_KEY(struct tsim_background, "rate", TSIM_BYTES_PER_S, rate_bytes_per_s,
                  "the most that it sends, per accelerator and direction; default: as much as it gets"),
     .default_text = "0", .is_omitted_when_zero = true},
    {QUANTITY_KEY(struct tsim_background, "bytes", TSIM_BYTES, bytes,
                  "bytes per accelerator, direction and step; default: without end"),
     .default_text = "0", .is_omitted_when_zero = true},
};
const struct tsim_table tsim_background_table = {BACKGROUND_KEYS, sizeof BACKGROUND_KEYS / sizeof BACKGROUND_KEYS[0], false};
/* clang-format on */

/* ---- the shape of a torus ---- */

static void read_sizes(struct tsim_reader *reader, const struct tsim_value *value, const char *path, int64_t sizes[3],
                       size_t *n_sizes) {
    static const struct tsim_key SIZE = {.key = "shape",
                                         .kind = TSIM_KEY_INT,
                                         .max = 1e7,
                                         .is_positive = true,
                                         .help = "accelerators along a dimension"};
    if (!value || tsim_value_is_text(value, "auto"))
        return;
    if (value->kind != TSIM_VALUE_SEQUENCE || value->n_items < 2 || value->n_items > 3) {
        tsim_schema_wrong_kind(reader, value, path, "a list of two or three numbers, or 'auto'");
        return;
    }
    for (size_t i = 0; i < value->n_items; i++)
        if (!tsim_schema_read_value(reader, &SIZE, value->items[i],
                                    tsim_arena_printf(reader->arena, "%s[%zu]", path, i), &sizes[i]))
            return;
    *n_sizes = value->n_items;
}

static void write_sizes(struct tsim_writer *writer, const char *key, const int64_t sizes[3], size_t n_sizes) {
    if (n_sizes == 0)
        return;
    tsim_writer_begin(writer, key, '[');
    for (size_t i = 0; i < n_sizes; i++)
        tsim_writer_int(writer, NULL, sizes[i]);
    tsim_writer_end(writer, ']');
}

void tsim_shape_read(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    struct tsim_draft *draft = field;
    read_sizes(reader, value, path, draft->shape, &draft->n_shape);
}

void tsim_shape_write(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    const struct tsim_draft *draft = field;
    (void)path;
    write_sizes(writer, key, draft->scenario.cluster.torus_shape, draft->n_shape);
}

void tsim_tile_read(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    struct tsim_draft *draft = field;
    read_sizes(reader, value, path, draft->tile, &draft->n_tile);
}

void tsim_tile_write(struct tsim_writer *writer, const char *key, const char *path, const void *field) {
    const struct tsim_draft *draft = field;
    (void)path;
    write_sizes(writer, key, draft->scenario.cluster.torus_tile, draft->n_tile);
}

/* Fills in dimensions that are as equal as they can be, ascending. If rings close at multiples of `wrap` and the size
 * allows it, they are such multiples. */
static void most_even_shape(int64_t n, int64_t dimensions, int64_t wrap, int64_t shape[3]) {
    int64_t unit = 1;
    if (wrap > 1) {
        int64_t cube = dimensions == 2 ? wrap * wrap : wrap * wrap * wrap;
        unit = n % cube == 0 ? wrap : 1;
    }
    double least = -1;
    for (int64_t x = unit; x * x <= n; x += unit) {
        if (n % x != 0)
            continue;
        for (int64_t y = dimensions == 2 ? n / x : x; y <= n / x; y += unit) {
            int64_t z = n / x / y;
            if (n / x % y != 0 || y % unit != 0 || (dimensions == 3 && (z % unit != 0 || z < y)))
                continue;
            double unevenness = (double)(dimensions == 2 ? y : z) / (double)x;
            if (least >= 0 && unevenness >= least)
                continue;
            least = unevenness;
            shape[0] = x;
            shape[1] = y;
            shape[2] = z;
        }
    }
}

void tsim_draft_resolve_shape(struct tsim_draft *draft) {
    struct tsim_cluster_spec *cluster = &draft->scenario.cluster;
    const struct tsim_fabric *fabric = cluster->fabric;
    for (int i = 0; i < 3; i++)
        cluster->torus_shape[i] = cluster->torus_tile[i] = 1;
    if (!fabric || fabric->topology != TSIM_TOPOLOGY_TORUS)
        return;
    memcpy(cluster->torus_tile, draft->tile, draft->n_tile * sizeof draft->tile[0]);
    if (draft->n_shape > 0) {
        memcpy(cluster->torus_shape, draft->shape, draft->n_shape * sizeof draft->shape[0]);
        return;
    }
    most_even_shape(draft->scenario.n_accelerators, fabric->torus_dimensions, fabric->torus_wrap, cluster->torus_shape);
    draft->n_shape = (size_t)fabric->torus_dimensions;
}

/* ---- what must agree ---- */

static void check_degraded(const struct tsim_draft *draft, struct tsim_reader *reader, size_t i) {
    const struct tsim_cluster_spec *cluster = &draft->scenario.cluster;
    const struct tsim_degraded *d = &cluster->degraded[i];
    const struct tsim_fabric *fabric = cluster->nodes > 1 ? cluster->fabric : NULL;
    if (d->link == TSIM_DEGRADED_FABRIC) {
        if (!fabric || fabric->topology != TSIM_TOPOLOGY_FAT_TREE || (size_t)d->tier >= fabric->n_tiers)
            tsim_diag_hint(FAIL_IN(draft, reader, "cluster.degraded", "entry %zu: there is no tier %lld of uplinks",
                                   i + 1, (long long)d->tier),
                           "link: nic, or a fabric with that many tiers");
        return;
    }
    if (d->node >= cluster->nodes)
        tsim_diag_hint(FAIL_IN(draft, reader, "cluster.degraded", "entry %zu: node %lld of %lld", i + 1,
                               (long long)d->node, (long long)cluster->nodes),
                       "nodes are counted from 0");
    int64_t n = d->link == TSIM_DEGRADED_NIC ? cluster->node->nics : cluster->accelerators_per_node;
    if (d->index >= n)
        tsim_diag_hint(FAIL_IN(draft, reader, "cluster.degraded", "entry %zu: %s %lld of %lld", i + 1,
                               d->link == TSIM_DEGRADED_NIC ? "port" : "accelerator", (long long)d->index,
                               (long long)n),
                       "they are counted from 0");
}

/* Links of a vendor's own join no others; and weights that stream come over the fabric that sums their gradients. */
static void check_vendor(const struct tsim_draft *draft, struct tsim_reader *reader) {
    const struct tsim_fabric *fabric = draft->scenario.cluster.fabric;
    const struct tsim_accelerator *a = draft->scenario.cluster.node->accelerator;
    if (!fabric)
        return;
    if (fabric->vendor && a->vendor && strcmp(fabric->vendor, a->vendor) != 0)
        tsim_diag_hint(FAIL_IN(draft, reader, "cluster.fabric",
                               "%.40s connects accelerators of %.40s; %.40s has no port for it", fabric->name,
                               fabric->vendor, a->name),
                       "another of 'tsim list fabrics'");
    else if (a->execution == TSIM_EXECUTION_WEIGHT_STREAMING && draft->scenario.cluster.nodes > 1 && a->vendor &&
             !fabric->vendor)
        tsim_diag_hint(
            FAIL_IN(draft, reader, "cluster.fabric",
                    "weights stream to several %.40s over a fabric that sums their gradients, which %.40s does not",
                    a->name, fabric->name),
            "fabric: swarmx, or another whose vendor is that of the accelerator");
}

static void check_tile(const struct tsim_draft *draft, struct tsim_reader *reader, bool is_torus) {
    const struct tsim_cluster_spec *cluster = &draft->scenario.cluster;
    if (tsim_draft_has(draft, "cluster.tile") && !is_torus) {
        WARN_IN(draft, reader, "cluster.tile", "this has no effect, because the fabric is not a torus");
        return;
    }
    if (draft->n_tile > 0 && (int64_t)draft->n_tile != cluster->fabric->torus_dimensions) {
        tsim_diag_hint(FAIL_IN(draft, reader, "cluster.tile", "%zu sizes for a torus of %lld dimensions", draft->n_tile,
                               (long long)cluster->fabric->torus_dimensions),
                       "give one size for each dimension");
        return;
    }
    for (size_t d = 0; d < draft->n_tile; d++)
        if (cluster->torus_shape[d] % cluster->torus_tile[d] != 0)
            tsim_diag_hint(FAIL_IN(draft, reader, "cluster.tile", "tiles of %lld do not fill %lld accelerators",
                                   (long long)cluster->torus_tile[d], (long long)cluster->torus_shape[d]),
                           "give sizes that divide those of cluster.shape");
}

void tsim_draft_check_links(const struct tsim_draft *draft, struct tsim_reader *reader) {
    const struct tsim_cluster_spec *cluster = &draft->scenario.cluster;
    const struct tsim_fabric *fabric = cluster->fabric;
    bool is_torus = fabric && fabric->topology == TSIM_TOPOLOGY_TORUS;
    const int64_t *shape = cluster->torus_shape;
    char hint[100] = "";
    check_vendor(draft, reader);
    for (size_t i = 0; i < cluster->n_degraded; i++)
        check_degraded(draft, reader, i);
    if (tsim_draft_has(draft, "cluster.shape") && !is_torus)
        WARN_IN(draft, reader, "cluster.shape", "this has no effect, because the fabric is not a torus");
    if (is_torus && (int64_t)draft->n_shape != fabric->torus_dimensions) {
        tsim_diag_hint(FAIL_IN(draft, reader, "cluster.shape", "%zu sizes for a torus of %lld dimensions",
                               draft->n_shape, (long long)fabric->torus_dimensions),
                       "give one size for each dimension");
    } else if (is_torus && shape[0] * shape[1] * shape[2] != draft->scenario.n_accelerators) {
        struct tsim_draft even = *draft;
        even.n_shape = 0;
        tsim_draft_resolve_shape(&even);
        const int64_t *works = even.scenario.cluster.torus_shape;
        snprintf(hint, sizeof hint, "for example [%lld, %lld, %lld]", (long long)works[0], (long long)works[1],
                 (long long)works[2]);
        tsim_diag_hint(FAIL_IN(draft, reader, "cluster.shape",
                               "%lld x %lld x %lld is not the number of accelerators, %lld", (long long)shape[0],
                               (long long)shape[1], (long long)shape[2], (long long)draft->scenario.n_accelerators),
                       "%s", hint);
    }
    check_tile(draft, reader, is_torus);
    if (cluster->n_background > 0 && (cluster->nodes == 1 || is_torus))
        WARN_IN(draft, reader, "cluster.background", "this has no effect, because the node has no NIC");
}
