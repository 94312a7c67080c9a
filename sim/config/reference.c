#include "config/reference.h"

#include "config/draft/scenario_draft.h"
#include "config/files/catalogue_read.h"
#include "config/files/dlrm.h"
#include "config/replay_spec.h"

#include <string.h>

/* ---- one key ---- */

static void put_cell(const char *text, FILE *out) {
    for (const char *at = text; *at; at++)
        fprintf(out, *at == '|' ? "\\%c" : "%c", *at);
}

static void put_words(const struct tsim_key *key, FILE *out) {
    for (const struct tsim_word *word = key->words; word && word->word; word++)
        fprintf(out, "%s`%s`", word == key->words ? "" : ", ", word->word);
}

static void put_range(const struct tsim_key *key, FILE *out) {
    char least[64], most[64];
    struct tsim_range range = tsim_key_range(key);
    fprintf(out, ": %s%s to %s", range.takes_zero ? "0, or " : "",
            tsim_quantity_short(range.least, key->dimension, least, sizeof least),
            tsim_quantity_short(range.most, key->dimension, most, sizeof most));
}

/* Prints which values a key may have. */
static void put_kind(const struct tsim_key *key, FILE *out) {
    switch (key->kind) {
    case TSIM_KEY_CONSTANT:
    case TSIM_KEY_ENUM:
        put_words(key, out);
        return;
    case TSIM_KEY_WORDS:
        fputs("list of ", out);
        put_words(key, out);
        return;
    case TSIM_KEY_STRING:
        fputs("text", out);
        return;
    case TSIM_KEY_BOOL:
        fputs("`true`, `false`", out);
        return;
    case TSIM_KEY_INT:
        fputs("whole number", out);
        put_range(key, out);
        fputs(key->words ? ", " : "", out);
        put_words(key, out);
        return;
    case TSIM_KEY_QUANTITY:
        put_cell(tsim_dimension_name(key->dimension), out);
        put_range(key, out);
        return;
    case TSIM_KEY_MAPPING:
        fputs("mapping", out);
        return;
    case TSIM_KEY_LIST:
        fputs("list of mappings", out);
        return;
    case TSIM_KEY_CUSTOM:
        fputs(key->described_by ? "mapping" : "see there", out);
        return;
    }
}

static void put_row(const struct tsim_key *key, const char *prefix, FILE *out) {
    fprintf(out, "| `%s%s` | ", prefix, key->key);
    put_kind(key, out);
    fputs(" | ", out);
    if (key->is_required)
        fputs("required", out);
    else if (key->default_text)
        fprintf(out, "`%s`", key->default_text);
    fputs(" | ", out);
    put_cell(key->help ? key->help : "", out);
    fputs(" |\n", out);
}

/* ---- tables ---- */

static const struct tsim_table *keys_of(const struct tsim_key *key) {
    return key->table ? key->table : key->described_by;
}

typedef void (*visit_fn)(const struct tsim_key *key, const char *prefix, FILE *out);

/* Keys of mappings follow the mapping, with its name before theirs. */
static void walk(const struct tsim_table *table, const char *prefix, visit_fn visit, FILE *out) {
    for (size_t i = 0; i < table->n_keys; i++) {
        char below[160];
        visit(&table->keys[i], prefix, out);
        snprintf(below, sizeof below, "%s%s.", prefix, table->keys[i].key);
        if (keys_of(&table->keys[i]))
            walk(keys_of(&table->keys[i]), below, visit, out);
    }
}

static void put_table(const struct tsim_table *table, const char *prefix, FILE *out) {
    fputs("\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n", out);
    walk(table, prefix, put_row, out);
}

/* Sections first by what stands at the top, then each by itself. */
static void put_scenario(FILE *out) {
    const struct tsim_table *scenario = &tsim_scenario_table;
    fputs("\n## Scenario\n\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n", out);
    for (size_t i = 0; i < scenario->n_keys; i++)
        put_row(&scenario->keys[i], "", out);
    for (size_t i = 0; i < scenario->n_keys; i++) {
        char prefix[80];
        const struct tsim_key *key = &scenario->keys[i];
        if (!keys_of(key))
            continue;
        fprintf(out, "\n### %s\n\n", key->key);
        put_cell(key->help, out);
        fputc('\n', out);
        snprintf(prefix, sizeof prefix, "%s.", key->key);
        put_table(keys_of(key), prefix, out);
    }
}

/* Models that are lists of layers: convolutional networks and perceptrons, and recommendation models. */
static void put_list_models(FILE *out) {
    static const char *const TITLES[] = {"Model (cnn, mlp)", "Model (dlrm)"};
    for (int is_dlrm = 0; is_dlrm < 2; is_dlrm++) {
        struct tsim_key keys[TSIM_MOST_LIST_KEYS];
        struct tsim_table table = tsim_model_list_table(keys, is_dlrm);
        fprintf(out, "\n## %s\n\n`tsim/model/v1`, as the transformer's.\n", TITLES[is_dlrm]);
        put_table(&table, "", out);
    }
}

void tsim_reference_print(FILE *out) {
    static const struct {
        enum tsim_catalogue_kind kind;
        const char *title;
    } FILES[] = {{TSIM_CATALOGUE_MODELS, "Model (transformer)"},
                 {TSIM_CATALOGUE_SOFTWARE, "Software profile"},
                 {TSIM_CATALOGUE_ACCELERATORS, "Accelerator"},
                 {TSIM_CATALOGUE_NODES, "Node"},
                 {TSIM_CATALOGUE_FABRICS, "Fabric"},
                 {TSIM_CATALOGUE_STORAGE, "Storage"},
                 {TSIM_CATALOGUE_REGIONS, "Region"}};
    fputs("# Reference of all keys\n\n"
          "Written by `make docs-reference` from the tables that read the files: do not edit. `tsim check --json FILE` "
          "shows a\n"
          "scenario with every default; `--set PATH=VALUE` takes the paths of this page. A quantity is a number with a "
          "unit\n"
          "(in a count `B` is a billion), within the range that stands beside it; \"see there\" is a value of several "
          "shapes, which\n"
          "its meaning describes.\n",
          out);
    put_scenario(out);
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++) {
        fprintf(out, "\n## %s\n\n`tsim/%s/v1`, a file in the catalogue, a file of yours, or a mapping in a scenario.\n",
                FILES[i].title, tsim_catalogue_word(FILES[i].kind));
        put_table(tsim_catalogue_table(FILES[i].kind), "", out);
        if (FILES[i].kind == TSIM_CATALOGUE_MODELS)
            put_list_models(out);
    }
    fputs("\n## Replay\n\n`tsim/replay/v1`, a file for `tsim replay`, as `tsim import chakra` writes it.\n", out);
    put_table(&tsim_replay_table, "", out);
}

static void put_path(const struct tsim_key *key, const char *prefix, FILE *out) {
    if (key->kind != TSIM_KEY_CONSTANT && !keys_of(key))
        fprintf(out, "%s%s\n", prefix, key->key);
}

void tsim_reference_paths(FILE *out) {
    walk(&tsim_scenario_table, "", put_path, out);
}
