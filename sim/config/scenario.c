#include "config/scenario.h"

#include "config/draft/rules.h"
#include "config/files/catalogue_read.h"
#include "config/text/document.h"

#include <string.h>

/* Keys under which a scalar is a reference, which a --set below it amends: cluster.node.nics=4. */
static const char *const REFERENCE_KEYS[] = {"model",  "teacher",  "node",   "accelerator",
                                             "fabric", "software", "region", "storage"};
enum { N_REFERENCE_KEYS = sizeof REFERENCE_KEYS / sizeof REFERENCE_KEYS[0] };

/* ---- estimates ---- */

struct estimates {
    const char **paths;
    size_t n, capacity;
};

static void keep_estimate(void *context, const struct tsim_note *note) {
    struct estimates *estimates = context;
    if (note->status != TSIM_SOURCE_ESTIMATE)
        return;
    estimates->paths =
        tsim_heap_grow(estimates->paths, &estimates->capacity, estimates->n + 1, sizeof *estimates->paths);
    estimates->paths[estimates->n++] = note->path;
}

static const char *tail_after(const char *path, const char *prefix) {
    size_t length = strlen(prefix);
    return strncmp(path, prefix, length) == 0 ? path + length : NULL;
}

/* Values of other precisions and other attention kernels do not enter this run. */
static bool enters_run(const struct tsim_scenario *sc, const char *accelerator_key) {
    const char *precision = tail_after(accelerator_key, "efficiency.matrix_sustained.");
    if (!precision)
        precision = tail_after(accelerator_key, "peak.");
    if (precision)
        return strcmp(precision, tsim_precision_name(sc->training.precision)) == 0 ||
               (tsim_is_quantized(sc->training.precision) && strcmp(precision, "bf16") == 0);
    const char *flash = tail_after(accelerator_key, "efficiency.attention.");
    if (!flash)
        return true;
    const char *used = tsim_flash_name(tsim_flash_of(sc->cluster.node->accelerator, sc->software->attention_kernel));
    return !sc->model->list && sc->training.attention == TSIM_ATTENTION_FLASH && strcmp(flash, used) == 0;
}

/* Returns "h100-sxm power.idle" for cluster.node.accelerator.power.idle, or NULL if the run does not depend on the
 * value. */
static const char *estimate_name(struct tsim_arena *arena, const struct tsim_scenario *sc, const char *path) {
    const char *key;
    if ((key = tail_after(path, "cluster.node.accelerator.")) != NULL)
        return enters_run(sc, key) ? tsim_arena_printf(arena, "%s %s", sc->cluster.node->accelerator->name, key) : NULL;
    if ((key = tail_after(path, "cluster.node.")) != NULL)
        return tsim_arena_printf(arena, "%s %s", sc->cluster.node->name, key);
    if ((key = tail_after(path, "cluster.fabric.")) != NULL)
        return sc->cluster.fabric ? tsim_arena_printf(arena, "%s %s", sc->cluster.fabric->name, key) : NULL;
    if ((key = tail_after(path, "software.")) != NULL)
        return tsim_arena_printf(arena, "%s %s", sc->software->name, key);
    if ((key = tail_after(path, "energy.region.price")) != NULL)
        return sc->energy.price_usd_per_j == sc->energy.region->price_usd_per_j
                   ? tsim_arena_printf(arena, "%s price", sc->energy.region->name)
                   : NULL;
    key = tail_after(path, "model.");
    return key ? tsim_arena_printf(arena, "%s %s", sc->model->name, key) : NULL;
}

static void name_estimates(struct tsim_arena *arena, struct tsim_draft *draft, const struct estimates *estimates) {
    struct tsim_scenario *sc = &draft->scenario;
    const char **names = TSIM_NEW_ARRAY(arena, estimates->n, const char *);
    const char **paths = TSIM_NEW_ARRAY(arena, estimates->n, const char *);
    for (size_t i = 0; i < estimates->n; i++) {
        const char *name = estimate_name(arena, sc, estimates->paths[i]);
        paths[i] = estimates->paths[i];
        if (name)
            names[sc->n_estimates++] = name;
    }
    sc->estimates = names;
    draft->estimate_paths = paths;
    draft->n_estimate_paths = estimates->n;
}

/* ---- the order in which mistakes are shown: files as they come up, lines from top to bottom ---- */

static size_t file_rank(const struct tsim_diags *diags, size_t first, const struct tsim_diag *diag) {
    size_t i = first;
    while (i < diags->n_items && diags->items[i].at.file != diag->at.file &&
           (!diags->items[i].at.file || !diag->at.file || strcmp(diags->items[i].at.file, diag->at.file) != 0))
        i++;
    return i;
}

struct diag_order {
    size_t file;
    int line, column;
};

static bool comes_before(const struct diag_order *a, const struct diag_order *b) {
    if (a->file != b->file)
        return a->file < b->file;
    return a->line != b->line ? a->line < b->line : a->column < b->column;
}

/* Sorts by insertion: that is stable, and a list has at most TSIM_MAX_DIAGS items. */
static void sort_diags(struct tsim_diags *diags, size_t first) {
    struct diag_order order[TSIM_MAX_DIAGS];
    for (size_t i = first; i < diags->n_items; i++)
        order[i] = (struct diag_order){file_rank(diags, first, &diags->items[i]), diags->items[i].at.line,
                                       diags->items[i].at.column};
    for (size_t i = first + 1; i < diags->n_items; i++) {
        struct tsim_diag diag = diags->items[i];
        struct diag_order key = order[i];
        size_t j = i;
        for (; j > first && comes_before(&key, &order[j - 1]); j--) {
            diags->items[j] = diags->items[j - 1];
            order[j] = order[j - 1];
        }
        diags->items[j] = diag;
        order[j] = key;
    }
}

/* ---- loading ---- */

enum tsim_status tsim_scenario_override(struct tsim_arena *arena, const struct tsim_override *overrides,
                                        size_t n_overrides, const struct tsim_value **root, struct tsim_diags *diags) {
    enum tsim_status first = TSIM_OK;
    for (size_t i = 0; i < n_overrides; i++) {
        const struct tsim_value *value;
        enum tsim_status status = tsim_document_parse_override(arena, overrides[i].path, overrides[i].value,
                                                               overrides[i].option, &value, diags);
        if (status == TSIM_OK)
            status =
                tsim_value_set(arena, *root, overrides[i].path, value, REFERENCE_KEYS, N_REFERENCE_KEYS, root, diags);
        if (first == TSIM_OK)
            first = status;
    }
    return first;
}

const char *tsim_scenario_json(struct tsim_arena *arena, const struct tsim_scenario *scenario) {
    const struct tsim_draft *draft = scenario->draft;
    struct tsim_writer writer = {.estimate_paths = draft->estimate_paths, .n_estimate_paths = draft->n_estimate_paths};
    tsim_writer_begin(&writer, NULL, '{');
    tsim_writer_table(&writer, &tsim_scenario_table, "", draft);
    tsim_writer_end(&writer, '}');
    return tsim_writer_finish(&writer, arena);
}

/* Goes through draft, defaults, rules, and what follows from them. Every mistake is reported, unless it follows from
 * another one. */
static void resolve(struct tsim_draft *draft, struct tsim_reader *reader) {
    size_t n_errors = reader->diags->n_errors;
    tsim_draft_fill(draft, reader);
    if (draft->is_job) {
        draft->scenario.parallelism.zero_group_ranks = draft->zero_group;
        draft->scenario.parallelism.layers_per_chunk = draft->layers;
        tsim_draft_validate_job(draft, reader);
        return;
    }
    tsim_draft_fill_plan(draft);
    tsim_draft_validate(draft, reader);
    if (reader->diags->n_errors > n_errors)
        return;
    tsim_draft_finish(draft, reader->arena);
    tsim_draft_check_software(draft, reader);
}

/* Returns a copy without the value at a dotted path. */
static const struct tsim_value *without_path(struct tsim_arena *arena, const struct tsim_value *mapping,
                                             const char *path) {
    const char *dot = strchr(path, '.');
    if (!dot)
        return tsim_value_without(arena, mapping, path);
    const char *key = tsim_arena_strndup(arena, path, (size_t)(dot - path));
    struct tsim_pair *pairs = TSIM_NEW_ARRAY(arena, mapping->n_items, struct tsim_pair);
    for (size_t i = 0; i < mapping->n_items; i++) {
        pairs[i] = mapping->pairs[i];
        if (strcmp(pairs[i].key, key) == 0 && pairs[i].value->kind == TSIM_VALUE_MAPPING)
            pairs[i].value = without_path(arena, pairs[i].value, dot + 1);
    }
    return tsim_value_new_mapping(arena, mapping, pairs, mapping->n_items);
}

static bool read_draft(struct tsim_reader *reader, struct tsim_draft *draft, const struct tsim_value *root,
                       const struct tsim_scenario *base, bool is_job);

/* Reads a stage: the scenario with the stage's own values of some keys. The scenario itself has already given the
 * warnings. */
static const struct tsim_scenario *read_stage(struct tsim_reader *reader, const struct tsim_draft *draft,
                                              const struct tsim_value *stage) {
    const struct tsim_value *root = without_path(reader->arena, draft->root, "training.stages");
    struct tsim_reader quiet = {.arena = reader->arena, .diags = TSIM_UNHEARD, .files = reader->files};
    struct tsim_draft *own = TSIM_NEW(reader->arena, struct tsim_draft);
    for (size_t k = 0; k < TSIM_N_STAGE_KEYS; k++) {
        const struct tsim_value *value = tsim_value_find(stage, tsim_stage_keys[k].key);
        if (value)
            (void)tsim_value_set(reader->arena, root, tsim_stage_keys[k].path, value, NULL, 0, &root, quiet.diags);
    }
    bool is_valid = read_draft(&quiet, own, root, NULL, draft->is_job);
    quiet.diags = reader->diags;
    if (!is_valid && !read_draft(&quiet, own, root, NULL, draft->is_job)) /* again, to say why not */
        return NULL;
    own->scenario.draft = own;
    return &own->scenario;
}

static void read_stages(struct tsim_reader *reader, struct tsim_draft *draft) {
    struct tsim_training_spec *t = &draft->scenario.training;
    const struct tsim_value *list = tsim_value_find_path(draft->root, "training.stages");
    struct tsim_stage_spec *stages = TSIM_NEW_ARRAY(reader->arena, t->n_stages, struct tsim_stage_spec);
    for (size_t i = 0; i < t->n_stages; i++) {
        stages[i] = t->stages[i];
        stages[i].scenario = read_stage(reader, draft, list->items[i]);
    }
    t->stages = stages;
}

static bool read_draft(struct tsim_reader *reader, struct tsim_draft *draft, const struct tsim_value *root,
                       const struct tsim_scenario *base, bool is_job) {
    size_t n_errors = reader->diags->n_errors;
    tsim_draft_init(draft, root);
    draft->base = base;
    draft->is_job = is_job;
    tsim_schema_read(reader, &tsim_scenario_table, root, "", draft);
    if (reader->diags->n_errors == n_errors)
        resolve(draft, reader);
    if (reader->diags->n_errors == n_errors && draft->scenario.training.n_stages > 0)
        read_stages(reader, draft);
    return reader->diags->n_errors == n_errors;
}

static const struct tsim_scenario_source *
source_with(struct tsim_arena *arena, const struct tsim_scenario_source *source, const struct tsim_value *root) {
    struct tsim_scenario_source *own = TSIM_NEW(arena, struct tsim_scenario_source);
    *own = *source;
    own->root = root;
    return own;
}

static enum tsim_status load(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                             const struct tsim_override *overrides, size_t n_overrides, bool is_job,
                             struct estimates *estimates, const struct tsim_scenario **scenario,
                             struct tsim_diags *diags) {
    struct tsim_reader reader = {arena, diags, keep_estimate, estimates, source->files};
    const struct tsim_value *root = source->root;
    TSIM_TRY(tsim_scenario_override(arena, overrides, n_overrides, &root, diags));
    struct tsim_draft *draft = TSIM_NEW(arena, struct tsim_draft);
    size_t first = diags->n_items;
    if (!read_draft(&reader, draft, root, NULL, is_job))
        return tsim_diags_status(diags, first);
    draft->scenario.source = source_with(arena, source, root);
    const struct tsim_value *plan = tsim_draft_place(draft, "parallelism");
    draft->scenario.file = tsim_arena_strdup(arena, source->file);
    draft->scenario.plan_at =
        (struct tsim_place){tsim_arena_strdup(arena, plan->document->file), plan->line, plan->column};
    name_estimates(arena, draft, estimates);
    draft->scenario.draft = draft;
    *scenario = &draft->scenario;
    return TSIM_OK;
}

bool tsim_scenario_propose(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                           const struct tsim_override *proposals, size_t n_proposals,
                           const struct tsim_scenario **changed, struct tsim_diags *diags) {
    if (!scenario->source)
        return false;
    struct tsim_reader reader = {.arena = arena, .diags = diags, .files = scenario->source->files};
    struct tsim_draft *draft = TSIM_NEW(arena, struct tsim_draft);
    const struct tsim_value *root = scenario->source->root;
    if (tsim_scenario_override(arena, proposals, n_proposals, &root, diags) != TSIM_OK ||
        !read_draft(&reader, draft, root, scenario, false))
        return false;
    draft->scenario.source = source_with(arena, scenario->source, root);
    draft->scenario.file = scenario->file;
    draft->scenario.plan_at = scenario->plan_at;
    draft->scenario.draft = draft;
    *changed = &draft->scenario;
    return true;
}

/* Returns settings as text for a shell; a value with blanks is quoted. */
const char *tsim_settings_text(struct tsim_arena *arena, const struct tsim_override *settings, size_t n_settings) {
    const char *text = "";
    for (size_t i = 0; i < n_settings; i++) {
        const char *quote = strchr(settings[i].value, ' ') ? "'" : "";
        text = tsim_arena_printf(arena, "%s%s%s=%s%s%s", text, i > 0 ? " --set " : "", settings[i].path, quote,
                                 settings[i].value, quote);
    }
    return text;
}

/* A resolved scenario lists the keys that nobody wrote and that follow from others. They are dropped here and worked
 * out again, so that changing its plan has the same effect as changing the plan of the original scenario. */
static const struct tsim_value *without_derived(struct tsim_arena *arena, const struct tsim_value *document) {
    const struct tsim_value *derived = tsim_value_find(document, "derived"), *root = document;
    if (!derived || derived->kind != TSIM_VALUE_SEQUENCE)
        return document;
    for (size_t i = 0; i < derived->n_items; i++) {
        if (derived->items[i]->kind != TSIM_VALUE_SCALAR)
            return document; /* the reader says what is wrong */
        root = without_path(arena, root, derived->items[i]->text);
    }
    return root;
}

/* A file of another kind of the catalogue names its kind in its schema; a file of another program has no key of a
 * scenario. */
static enum tsim_status refuse_other_kinds(const struct tsim_value *document, struct tsim_arena *arena,
                                           struct tsim_diags *diags) {
    const struct tsim_value *schema = tsim_value_find(document, "schema");
    if (!schema && !tsim_value_find(document, "cluster") && !tsim_value_find(document, "extends") &&
        !tsim_value_find(document, "training") && !tsim_value_find(document, "parallelism")) {
        tsim_diag_hint(
            tsim_value_error(diags, TSIM_ERR_SCHEMA, document, "", "this file is no scenario: it has no 'schema'"),
            "a scenario begins with 'schema: tsim/v1' ('tsim init' writes one); 'tsim import FORMAT %s' reads files of "
            "other programs",
            strcmp(document->document->file, "<stdin>") == 0 ? "FILE" : document->document->file);
        return TSIM_ERR_SCHEMA;
    }
    for (int k = 0; schema && k < TSIM_CATALOGUE_SCENARIOS; k++) {
        const char *word = tsim_catalogue_word((enum tsim_catalogue_kind)k);
        if (!tsim_value_is_text(schema, tsim_arena_printf(arena, "tsim/%s/v1", word)))
            continue;
        tsim_diag_hint(
            tsim_value_error(diags, TSIM_ERR_SCHEMA, schema, "", "this file is of the kind '%s', not a scenario", word),
            "a scenario (schema: tsim/v1) names it; 'tsim init' writes one, 'tsim show %s' prints this file",
            document->document->file);
        return TSIM_ERR_SCHEMA;
    }
    return TSIM_OK;
}

/* Returns the command that makes a scenario from an entry of the catalogue: 'tsim init' asks for models, nodes and
 * fabrics. */
static const char *starting_command(struct tsim_arena *arena, enum tsim_catalogue_kind kind, const char *id) {
    bool is_asked = kind == TSIM_CATALOGUE_MODELS || kind == TSIM_CATALOGUE_NODES || kind == TSIM_CATALOGUE_FABRICS;
    const char *option = tsim_arena_printf(arena, " --%s %s", tsim_catalogue_word(kind), id);
    return tsim_arena_printf(arena, "tsim init%s", is_asked ? option : "");
}

/* Hints at a scenario of the catalogue that was looked for in another place, or at an entry of another kind in place of
 * a scenario. */
static bool hint_at_entry(struct tsim_arena *arena, const char *name, struct tsim_diag *diag) {
    const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
    const char *id = tsim_arena_strndup(arena, last, strcspn(last, "."));
    const char *file = tsim_catalogue_file(arena, TSIM_CATALOGUE_SCENARIOS, strstr(last, ".yaml") ? id : last);
    if (file && strcmp(file, name) != 0) {
        tsim_diag_hint(diag, "the catalogue's scenario of that name is %s", file);
        return true;
    }
    for (int k = 0; k < TSIM_CATALOGUE_SCENARIOS && !slash; k++) {
        enum tsim_catalogue_kind kind = (enum tsim_catalogue_kind)k;
        if (!tsim_catalogue_file(arena, kind, name))
            continue;
        tsim_diag_hint(diag, "'%s' is an id of the catalogue (%s); a scenario is a file that names it: '%s' writes one",
                       name, tsim_catalogue_plural(kind), starting_command(arena, kind, name));
        return true;
    }
    return false;
}

/* Hints at what a word that names no file may mean: a model whose name it begins, a scenario with a similar name, or
 * another model. */
static bool hint_at_word(struct tsim_arena *arena, const char *name, struct tsim_diag *diag) {
    if (strpbrk(name, "/."))
        return false;
    const char *model = tsim_catalogue_nearest(arena, TSIM_CATALOGUE_MODELS, name);
    const char *scenario = tsim_catalogue_nearest(arena, TSIM_CATALOGUE_SCENARIOS, name);
    if (scenario && !(model && strncmp(model, name, strlen(name)) == 0))
        tsim_diag_hint(diag, "did you mean the catalogue's scenario %s?",
                       tsim_catalogue_file(arena, TSIM_CATALOGUE_SCENARIOS, scenario));
    else if (model)
        tsim_diag_hint(diag,
                       "did you mean the model '%s'? '%s' writes a scenario of it, 'tsim list models' shows all models",
                       model, starting_command(arena, TSIM_CATALOGUE_MODELS, model));
    return model || scenario;
}

/* Hints at what the name of a file that cannot be read looks like. */
static void hint_at_file(struct tsim_arena *arena, const char *name, struct tsim_diag *diag) {
    if (name[strspn(name, "0123456789")] == '\0')
        tsim_diag_hint(
            diag, "a scenario is a YAML file; runs by number are for 'tsim report', 'tsim compare' and 'tsim export'");
    else if (!hint_at_entry(arena, name, diag) && !hint_at_word(arena, name, diag))
        tsim_diag_hint(
            diag,
            "a scenario is a YAML file: 'tsim init' writes a first one, 'tsim list scenarios' shows the catalogue's");
}

/* Files that start or describe jobs of other programs, by the ends of their names. */
static bool is_launch_name(const char *file) {
    static const char *const ENDS[] = {".sh", ".bash", ".slurm", ".sbatch", ".py", ".toml", ".log", ".out", ".txt"};
    size_t length = strlen(file);
    for (size_t i = 0; i < sizeof ENDS / sizeof ENDS[0]; i++)
        if (length > strlen(ENDS[i]) && strcmp(file + length - strlen(ENDS[i]), ENDS[i]) == 0)
            return true;
    return false;
}

static enum tsim_status load_sorted(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                    const struct tsim_override *overrides, size_t n_overrides, bool is_job,
                                    const struct tsim_scenario **scenario, struct tsim_diags *diags) {
    struct estimates estimates = {NULL, 0, 0};
    size_t first = diags->n_items;
    enum tsim_status status = load(arena, source, overrides, n_overrides, is_job, &estimates, scenario, diags);
    tsim_heap_free(estimates.paths);
    sort_diags(diags, first);
    return status;
}

/* Opens a document that was read with `status`. After a mistake in its text, or in that of a file that it extends, it
 * reports the other mistakes too, if the document is there all the same. */
static enum tsim_status open_document(struct tsim_arena *arena, const char *file, enum tsim_status status,
                                      const struct tsim_value *document, struct tsim_scenario_source *source,
                                      struct tsim_diags *diags) {
    struct tsim_reader reader = {.arena = arena, .diags = diags, .files = tsim_file_cache_of_thread(arena)};
    const struct tsim_scenario *unused;
    size_t first = diags->n_items, n_errors = diags->n_errors;
    if (!document)
        return status;
    enum tsim_status kind = refuse_other_kinds(document, arena, diags);
    const struct tsim_value *root = kind == TSIM_OK ? tsim_catalogue_resolve_root(&reader, TSIM_CATALOGUE_SCENARIOS,
                                                                                  without_derived(arena, document))
                                                    : NULL;
    if (status == TSIM_OK && (!root || diags->n_errors > n_errors))
        status = tsim_diags_status(diags, first);
    if (root)
        *source = (struct tsim_scenario_source){arena, file, document, root, reader.files};
    if (root && status != TSIM_OK) {
        load_sorted(arena, source, NULL, 0, false, &unused, diags);
        sort_diags(diags, 0);
    }
    return status;
}

enum tsim_status tsim_scenario_open(struct tsim_arena *arena, const char *file, struct tsim_scenario_source *source,
                                    struct tsim_diags *diags) {
    const struct tsim_value *document = NULL;
    size_t first = diags->n_items;
    enum tsim_status status = tsim_document_read(arena, file, &document, diags);
    if (status == TSIM_ERR_IO && diags->n_items > first)
        hint_at_file(arena, file, &diags->items[diags->n_items - 1]);
    if (status == TSIM_ERR_SYNTAX && is_launch_name(file) && diags->n_items > first)
        tsim_diag_hint(&diags->items[first],
                       "a scenario is YAML in tsim's keys; 'tsim diagnose %s' reads launch scripts, configurations and "
                       "logs of frameworks, and 'tsim import FORMAT %s' makes a scenario of one",
                       file, file);
    return open_document(arena, tsim_arena_strdup(arena, file), status, document, source, diags);
}

enum tsim_status tsim_scenario_open_text(struct tsim_arena *arena, const char *name, const char *text,
                                         struct tsim_scenario_source *source, struct tsim_diags *diags) {
    const struct tsim_value *document = NULL;
    enum tsim_status status = tsim_document_parse(arena, name, text, strlen(text), &document, diags);
    return open_document(arena, tsim_arena_strdup(arena, name), status, document, source, diags);
}

enum tsim_status tsim_scenario_open_value(struct tsim_arena *arena, const struct tsim_value *root,
                                          struct tsim_scenario_source *source, struct tsim_diags *diags) {
    return open_document(arena, root->document->file, TSIM_OK, root, source, diags);
}

enum tsim_status tsim_scenario_reopen(struct tsim_arena *arena, const struct tsim_scenario_source *from,
                                      struct tsim_scenario_source *source, struct tsim_diags *diags) {
    const struct tsim_document *text = from->document->document;
    const struct tsim_value *document = NULL;
    enum tsim_status status =
        tsim_document_parse(arena, tsim_arena_strdup(arena, text->file), text->text, text->size, &document, diags);
    return open_document(arena, tsim_arena_strdup(arena, from->file), status, document, source, diags);
}

enum tsim_status tsim_scenario_load_from(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                         const struct tsim_override *overrides, size_t n_overrides,
                                         const struct tsim_scenario **scenario, struct tsim_diags *diags) {
    return load_sorted(arena, source, overrides, n_overrides, false, scenario, diags);
}

enum tsim_status tsim_scenario_load_job(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                        const struct tsim_override *overrides, size_t n_overrides,
                                        const struct tsim_scenario **scenario, struct tsim_diags *diags) {
    return load_sorted(arena, source, overrides, n_overrides, true, scenario, diags);
}

enum tsim_status tsim_scenario_load(struct tsim_arena *arena, const char *file, const struct tsim_override *overrides,
                                    size_t n_overrides, const struct tsim_scenario **scenario,
                                    struct tsim_diags *diags) {
    struct tsim_scenario_source source;
    size_t first = diags->n_items;
    enum tsim_status status = tsim_scenario_open(arena, file, &source, diags);
    if (status == TSIM_OK)
        return tsim_scenario_load_from(arena, &source, overrides, n_overrides, scenario, diags);
    sort_diags(diags, first);
    return status;
}
