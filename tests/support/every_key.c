#include "support/every_key.h"

#include "config/draft/scenario_draft.h"
#include "config/files/catalogue_read.h"
#include "config/files/dlrm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Files that a key refers to: the mapping that may stand there has the keys of such a file. */
static const struct {
    const char *path;
    enum tsim_catalogue_kind kind;
} REFERENCES[] = {
    {"model", TSIM_CATALOGUE_MODELS},           {"cluster.node", TSIM_CATALOGUE_NODES},
    {"cluster.fabric", TSIM_CATALOGUE_FABRICS}, {"cluster.node.accelerator", TSIM_CATALOGUE_ACCELERATORS},
    {"software", TSIM_CATALOGUE_SOFTWARE},      {"data.storage", TSIM_CATALOGUE_STORAGE},
    {"energy.region", TSIM_CATALOGUE_REGIONS},  {"generation.software", TSIM_CATALOGUE_SOFTWARE},
};

/* Values of several shapes, which no table describes, at what ends they have. NULL: what is read elsewhere. And values that go with
 * those of other keys, where no end does. */
enum { MOST_SHAPES = 8 };
static const struct {
    const char *path;
    const char *values[MOST_SHAPES];
} SHAPES[] = {
    {"extends", {NULL}},
    {"sweep", {NULL}},
    {"derived", {NULL}},
    {"cluster.shape", {"auto", "[1, 1]", "[2, 2, 4]", "[10 M, 1]"}},
    {"cluster.tile", {"auto", "[1, 1, 1]", "[2, 2, 1]", "[2, 2]", "[10 M, 1, 1]"}},
    {"cluster.node.usual_fabric", {"ib-ndr"}},
    {"cluster.node.usual", {"true", "false"}},
    {"cluster.fabric.usual", {"true", "false"}},
    {"cluster.node.accelerator.known_as.names", {"[]", "[a, b, c, d]"}},
    {"cluster.node.accelerator.known_as.pci_devices", {"[]", "[0x0001, 0xffff]"}},
    {"cluster.node.accelerator.known_as.card_devices", {"[]", "[0x0001, 0xffff]"}},
    {"cluster.fabric.tiers", {"[{ports: 1}]", "[{ports: 8}, {ports: 16, oversubscription: 1000}]"}},
    {"cluster.fabric.tiers[0].ports", {"4"}},
    {"cluster.degraded", {"[]", "[{link: scale-up, rate: 0.000001}]", "[{link: nic, rate: 1}]"}},
    {"cluster.background", {"[]", "[{rate: 1 kB/s}]", "[{bytes: 1 EB}]", "[{rate: 1 EB/s, bytes: 1 B}]"}},
    {"training.recompute", {"none", "full", "sqrt", "{every: 1}", "{every: 100000}", "[attention, ffn, output]"}},
    {"training.evaluation.interval", {"1", "1 G", "1 s", "1000 y"}},
    {"training.evaluation.every", {"1", "1 G", "1 s", "1000 y"}},
    {"training.teacher", {"gpt2-small", "mixtral-8x7b", "mlp-mnist"}},
    {"parallelism.layers_per_stage", {"auto", "balance", "[1, 3]", "[0, 4]", "[100000]"}},
    {"parallelism.order", {"[pipeline, data, expert, context, tensor]", "[data, tensor, context, pipeline, expert]"}},
    {"reliability.checkpoint.interval", {"optimal", "1", "1 G", "1 s", "1000 y"}},
    {"reliability.checkpoint.local.interval", {"optimal", "1", "1 G", "1 s", "1000 y"}},
    {"energy.price_profile", {"[0]", "[0.00001 USD/kWh, 1000 USD/kWh]"}},
    {"energy.carbon_profile", {"[0]", "[0.001 g/kWh, 100 kg/kWh]"}},
    {"energy.region.price_profile", {"[0]", "[0.00001 USD/kWh, 1000 USD/kWh]"}},
    {"energy.region.carbon_profile", {"[0]", "[0.001 g/kWh, 100 kg/kWh]"}},
    {"model.bottom_mlp", {"[1]", "[10 M, 64]"}},
    {"model.top_mlp", {"[1]", "[10 M, 1]"}},
    {"model.tables", {"[]", "[{rows: 1, dim: 64}]", "[{rows: 1 T, dim: 64, pooling: 1 M, skew: 4}]"}},
    {"model.pattern",
     {"[]", "[{kind: window, count: 100000}]", "[{kind: attention}, {kind: window, feed_forward: dense}]"}},
    {"model.list", {"[{kind: linear, out: 1}]", "[{kind: conv, out: 10 M, kernel: 3, padding: 10000}]"}},
    {"training.stages", {"[]", "[{steps: 1}]", "[{sequence_length: 1024, tokens: 1}, {context: 2, samples: 1 M}]"}},
    {"model.discriminator", {"[]", "[{kind: transposed, out: 1, kernel: 3, padding: 1, stride: 10000}]"}},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct walk {
    struct tsim_arena *arena;
    struct every_key *keys;
    size_t n, capacity;
};

static void add_value(struct walk *w, struct every_key *key, const char *text) {
    const char **values = TSIM_NEW_ARRAY(w->arena, key->n_values + 1, const char *);
    for (size_t i = 0; i < key->n_values; i++)
        values[i] = key->values[i];
    values[key->n_values++] = text;
    key->values = values;
}

static void add_number(struct walk *w, struct every_key *key, double value, enum tsim_dimension dimension) {
    char text[80];
    add_value(w, key, tsim_arena_strdup(w->arena, tsim_quantity_si(value, dimension, text, sizeof text)));
}

static void add_range(struct walk *w, struct every_key *key, const struct tsim_key *of) {
    struct tsim_range range = tsim_key_range(of);
    enum tsim_dimension dimension = of->kind == TSIM_KEY_INT ? TSIM_COUNT : of->dimension;
    if (range.takes_zero)
        add_number(w, key, 0, dimension);
    add_number(w, key, range.least, dimension);
    add_number(w, key, range.most, dimension);
}

static void add_words(struct walk *w, struct every_key *key, const struct tsim_word *words) {
    for (; words && words->word; words++)
        add_value(w, key, words->word);
}

/* Adds the shapes of a key's values; false: no table says what they are. */
static bool add_shapes(struct walk *w, struct every_key *key) {
    for (size_t i = 0; i < COUNT(SHAPES); i++)
        if (strcmp(SHAPES[i].path, key->path) == 0) {
            for (size_t v = 0; v < MOST_SHAPES && SHAPES[i].values[v]; v++)
                add_value(w, key, SHAPES[i].values[v]);
            return true;
        }
    return false;
}

static void walk_table(struct walk *w, const struct tsim_table *table, const char *prefix);

static bool walk_reference(struct walk *w, const char *path) {
    for (size_t i = 0; i < COUNT(REFERENCES); i++) {
        if (strcmp(REFERENCES[i].path, path) != 0)
            continue;
        const char *prefix = tsim_arena_printf(w->arena, "%s.", path);
        walk_table(w, tsim_catalogue_table(REFERENCES[i].kind), prefix);
        for (int is_dlrm = 0; REFERENCES[i].kind == TSIM_CATALOGUE_MODELS && is_dlrm < 2; is_dlrm++) {
            struct tsim_key *keys = TSIM_NEW_ARRAY(w->arena, TSIM_MOST_LIST_KEYS, struct tsim_key);
            struct tsim_table *table = TSIM_NEW(w->arena, struct tsim_table);
            *table = tsim_model_list_table(keys, is_dlrm);
            walk_table(w, table, prefix);
        }
        return true;
    }
    return false;
}

static void add_key(struct walk *w, const struct tsim_key *of, const char *prefix) {
    struct every_key key = {.path = tsim_arena_printf(w->arena, "%s%s", prefix, of->key)};
    const struct tsim_table *table = of->table ? of->table : of->described_by;
    if (of->kind == TSIM_KEY_INT || of->kind == TSIM_KEY_QUANTITY)
        add_range(w, &key, of);
    if (of->kind == TSIM_KEY_INT || of->kind == TSIM_KEY_ENUM)
        add_words(w, &key, of->words);
    for (const struct tsim_word *word = of->words; of->kind == TSIM_KEY_WORDS && word->word; word++)
        add_value(w, &key, tsim_arena_printf(w->arena, "[%s]", word->word));
    if (of->kind == TSIM_KEY_BOOL) {
        add_value(w, &key, "false");
        add_value(w, &key, "true");
    }
    bool has_shapes = add_shapes(w, &key);
    if (table && strcmp(key.path, "sweep") != 0)
        walk_table(w, table, tsim_arena_printf(w->arena, of->kind == TSIM_KEY_LIST ? "%s[0]." : "%s.", key.path));
    bool is_known = of->kind != TSIM_KEY_CUSTOM || table || has_shapes || walk_reference(w, key.path);
    if (!is_known) {
        fprintf(stderr, "tests/support/every_key.c: which values has '%s'?\n", key.path);
        abort();
    }
    if (key.n_values == 0)
        return;
    w->keys = tsim_heap_grow(w->keys, &w->capacity, w->n + 1, sizeof *w->keys);
    w->keys[w->n++] = key;
}

static void walk_table(struct walk *w, const struct tsim_table *table, const char *prefix) {
    for (size_t i = 0; i < table->n_keys; i++)
        add_key(w, &table->keys[i], prefix);
}

const struct every_key *every_key(struct tsim_arena *arena, size_t *n) {
    struct walk w = {.arena = arena};
    walk_table(&w, &tsim_scenario_table, "");
    struct every_key *keys = TSIM_NEW_ARRAY(arena, w.n, struct every_key);
    memcpy(keys, w.keys, w.n * sizeof *keys);
    tsim_heap_free(w.keys);
    *n = w.n;
    return keys;
}
