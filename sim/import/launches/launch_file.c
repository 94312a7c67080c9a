#include "import/launches/launch_file.h"

#include "base/among.h"
#include "config/text/document.h"
#include "import/flow_text.h"
#include "import/launches/launch_writer.h"
#include "import/launches/recipes.h"

#include <string.h>

#define ONE(launch) (1u << TSIM_LAUNCH_##launch)
#define MEGATRON (ONE(MEGATRON_2021) | ONE(MEGATRON_2022) | ONE(MEGATRON_CORE) | ONE(MEGATRON_DEEPSPEED))
#define ANY (MEGATRON | ONE(NEMO) | ONE(TORCHTITAN_2024) | ONE(TORCHTITAN) | ONE(DEEPSPEED))

const struct tsim_launch_format TSIM_LAUNCH_FORMATS[] = {
    {"megatron", "a launch script with Megatron-LM's arguments"},
    {"nemo", "NeMo's YAML"},
    {"torchtitan", "torchtitan's TOML"},
    {"deepspeed", "DeepSpeed's JSON"},
    {"slurm", "a job of Slurm that starts ranks in the simulated order"},
    {"kubernetes", "the same of Kubernetes"},
};
const size_t TSIM_N_LAUNCH_FORMATS = sizeof TSIM_LAUNCH_FORMATS / sizeof TSIM_LAUNCH_FORMATS[0];

/* The kinds stand in the order of the formats. `reads` is the import that gives the scenario back; NULL: none does. A
 * file of `whole` scenarios carries these keys from the beginning, because no option says them. */
static const struct kind {
    unsigned launches;
    void (*write)(struct tsim_launch_writer *w);
    tsim_import_fn reads;
    const char *whole[12];
} KINDS[] = {
    {MEGATRON, tsim_write_megatron, tsim_import_megatron, {NULL}},
    {ONE(NEMO), tsim_write_nemo, tsim_import_nemo, {NULL}},
    {ONE(TORCHTITAN_2024) | ONE(TORCHTITAN),
     tsim_write_torchtitan,
     tsim_import_torchtitan,
     {"cluster.nodes", "cluster.accelerators_per_node"}},
    {ONE(DEEPSPEED) | ONE(MEGATRON_DEEPSPEED),
     tsim_write_deepspeed,
     tsim_import_deepspeed,
     {"model", "cluster.nodes", "cluster.accelerators_per_node", "training.sequence_length", "training.recompute",
      "parallelism.tensor", "parallelism.pipeline", "parallelism.virtual_pipeline", "parallelism.layers_per_stage",
      "parallelism.sequence"}},
    {ANY, tsim_write_slurm, NULL, {NULL}},
    {ANY, tsim_write_kubernetes, NULL, {NULL}},
};

bool tsim_is_launch_format(const char *name) {
    for (size_t i = 0; i < TSIM_N_LAUNCH_FORMATS; i++)
        if (strcmp(TSIM_LAUNCH_FORMATS[i].name, name) == 0)
            return true;
    return false;
}

enum { MOST_CARRIED = TSIM_RECIPE_MAX_CARRIED, MOST_ROUNDS = 4 };

struct carrying {
    struct tsim_launch_writer w;
    struct tsim_diags *diags;
    const struct kind *kind;
    const char *format;
    const struct tsim_value *root; /* as it was written, every --set included */
    const char *settings[MOST_CARRIED], *paths[MOST_CARRIED];
    size_t n, n_differing;
    const char *differing; /* a key that is carried, and yet another when it is read */
};

/* ---- what the file carries ---- */

static void carry(struct carrying *c, const char *path, const char *value) {
    bool is_carried = c->n == MOST_CARRIED;
    for (size_t i = 0; i < c->n; i++)
        is_carried |= strcmp(c->paths[i], path) == 0;
    c->n_differing++;
    if (is_carried) {
        c->differing = path;
        return;
    }
    c->paths[c->n] = path;
    c->settings[c->n++] = tsim_arena_printf(c->w.arena, "%s=%s", path, value);
}

/* A file's name may stand in place of an id. The file lies beside the scenario, not beside the file that is written. */
static bool names_a_file(const struct tsim_value *value, const char *key) {
    if (value->kind == TSIM_VALUE_MAPPING)
        for (size_t i = 0; i < value->n_items; i++)
            if (names_a_file(value->pairs[i].value, value->pairs[i].key))
                return true;
    return value->kind == TSIM_VALUE_SCALAR &&
           TSIM_IS_ONE_OF(key, "extends", "model", "software", "node", "fabric", "storage", "region", "accelerator") &&
           (strchr(value->text, '/') || strstr(value->text, ".yaml"));
}

/* Carries a key as it was written, which is short, or with every default if what was written would not be found. */
static void carry_written(struct carrying *c, const char *path) {
    const char *dot = strrchr(path, '.');
    const struct tsim_value *written = tsim_value_find_path(c->root, path),
                            *resolved = tsim_value_find_path(c->w.resolved, path);
    if (!written)
        return;
    if (names_a_file(written, dot ? dot + 1 : path) && resolved)
        written = resolved;
    carry(c, path, tsim_flow_text(c->w.arena, written));
}

static bool is_said(const char *key) {
    return TSIM_IS_ONE_OF(key, "schema", "name", "model", "cluster", "training", "software", "parallelism");
}

static void carry_what_none_says(struct carrying *c) {
    carry(c, "name", tsim_flow_text(c->w.arena, tsim_value_find(c->w.resolved, "name")));
    carry_written(c, "cluster.node");
    carry_written(c, "cluster.fabric");
    for (size_t i = 0; c->kind->whole[i]; i++)
        carry_written(c, c->kind->whole[i]);
    if (c->kind->write == tsim_write_torchtitan && tsim_value_find(c->root, "model")->kind == TSIM_VALUE_MAPPING)
        carry_written(c, "model");
    if ((c->kind->write == tsim_write_megatron || c->kind->write == tsim_write_nemo) && !tsim_gpt_says_stages(&c->w))
        carry(c, "parallelism.layers_per_stage",
              tsim_flow_text(c->w.arena, tsim_value_find_path(c->w.resolved, "parallelism.layers_per_stage")));
    for (size_t i = 0; i < c->root->n_items; i++)
        if (!is_said(c->root->pairs[i].key))
            carry_written(c, c->root->pairs[i].key);
}

/* ---- the file imported again ---- */

static enum tsim_status resolved_document(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                          const struct tsim_value **resolved, struct tsim_diags *diags) {
    const char *json = tsim_scenario_json(arena, scenario);
    return tsim_document_parse(arena, scenario->file, json, strlen(json), resolved, diags);
}

static enum tsim_status import_again(struct carrying *c, const struct tsim_value **resolved, struct tsim_diags *diags) {
    struct tsim_arena *arena = c->w.arena;
    struct tsim_import_result result = {.notes = ""};
    struct tsim_scenario_source source;
    const struct tsim_scenario *scenario;
    const struct tsim_import_input input = {.file =
                                                tsim_arena_printf(arena, "%s of %s", c->format, c->w.scenario->name),
                                            .text = c->w.out.text,
                                            .size = c->w.out.size};
    TSIM_TRY(c->kind->reads(arena, &input, &result, diags));
    TSIM_TRY(tsim_scenario_open_text(arena, input.file, result.yaml, &source, diags));
    TSIM_TRY(tsim_scenario_load_from(arena, &source, NULL, 0, &scenario, diags));
    return resolved_document(arena, scenario, resolved, diags);
}

static const char *below(struct tsim_arena *arena, const char *path, const char *key) {
    return *path ? tsim_arena_printf(arena, "%s.%s", path, key) : key;
}

/* Tells whether a key is compared: which keys were written and which were derived is no part of what is simulated. */
static bool is_compared(const char *path, const char *key) {
    return *path || (strcmp(key, "derived") != 0 && strcmp(key, "estimates") != 0);
}

static void carry_differences(struct carrying *c, const char *path, const struct tsim_value *wanted,
                              const struct tsim_value *got) {
    struct tsim_arena *arena = c->w.arena;
    if (wanted->kind != TSIM_VALUE_MAPPING || !got || got->kind != TSIM_VALUE_MAPPING) {
        const char *value = tsim_flow_text(arena, wanted);
        if (!got || strcmp(value, tsim_flow_text(arena, got)) != 0)
            carry(c, path, value);
        return;
    }
    for (size_t i = 0; i < wanted->n_items; i++)
        if (is_compared(path, wanted->pairs[i].key))
            carry_differences(c, below(arena, path, wanted->pairs[i].key), wanted->pairs[i].value,
                              tsim_value_find(got, wanted->pairs[i].key));
    for (size_t i = 0; i < got->n_items; i++)
        if (is_compared(path, got->pairs[i].key) && !tsim_value_find(wanted, got->pairs[i].key)) {
            const char *key = below(arena, path, got->pairs[i].key);
            const struct tsim_value *written = tsim_value_find_path(c->root, key); /* what a profile has, taken back */
            carry(c, key, written ? tsim_flow_text(arena, written) : "null");
        }
}

/* Carries another version of the software, by its name, before everything else in which it differs. */
static bool carry_software(struct carrying *c, const struct tsim_value *got) {
    const char *name = tsim_launch_text(&c->w, "software.name");
    const struct tsim_value *theirs = tsim_value_find_path(got, "software.name");
    const struct tsim_value *written = tsim_value_find(c->root, "software");
    if (!theirs || strcmp(theirs->text, name) == 0)
        return false;
    const struct tsim_value *id =
        written && written->kind == TSIM_VALUE_MAPPING ? tsim_value_find(written, "extends") : written;
    if (id && id->kind == TSIM_VALUE_SCALAR && !names_a_file(id, "software") && strcmp(id->text, name) == 0)
        carry(c, "software.extends", name);
    else
        carry(c, "software", tsim_flow_text(c->w.arena, tsim_value_find(c->w.resolved, "software")));
    return true;
}

/* Reports that the format cannot express the scenario, with the first mistake of the written file. */
static enum tsim_status refused(struct carrying *c, const struct tsim_diags *diags) {
    const char *why = tsim_arena_printf(c->w.arena, "%s differs when the file is read again", c->differing);
    for (size_t i = 0; i < diags->n_items; i++)
        if (!diags->items[i].is_warning) {
            why = tsim_arena_printf(c->w.arena, "%s%s%s", diags->items[i].field, *diags->items[i].field ? ": " : "",
                                    diags->items[i].message);
            break;
        }
    tsim_diags_error(c->diags, TSIM_ERR_INFEASIBLE, c->w.scenario->plan_at, "", "--format %s cannot express it: %s",
                     c->format, why);
    return TSIM_ERR_INFEASIBLE;
}

/* ---- warnings ---- */

/* Tells whether the launched job would do otherwise. Adam and AdamW are one word in these programs, and what the
 * software's profile says happens without an option. */
static bool is_lost_on_launch(struct carrying *c, const char *path) {
    static const char *const ALL[] = {"model.", "training.", "parallelism."};
    const char *name, *flavor, *value = tsim_launch_text(&c->w, path), *overlap = strstr(path, ".overlap.");
    if (strcmp(path, "model") == 0)
        return !tsim_titan_flavor(&c->w, &name, &flavor);
    if (strcmp(path, "model.name") == 0 || strcmp(path, "model.source") == 0)
        return false;
    if (strcmp(path, "model.pattern") == 0 && tsim_launch_is_hybrid(&c->w))
        return false; /* the letters say it, in other entries */
    if (strcmp(path, "training.optimizer") == 0 && strncmp(value, "adam", 4) == 0)
        return false;
    if (c->w.n_options > 0 && c->w.launch != TSIM_LAUNCH_NEMO &&
        (strcmp(path, "training.tokens") == 0 || strcmp(path, "training.samples") == 0))
        return false; /* tokens are samples there */
    if (strcmp(path, "parallelism.order") == 0 && !c->kind->reads)
        return false; /* the job places each rank */
    if (overlap && strcmp(value, tsim_launch_text(&c->w, tsim_arena_printf(c->w.arena, "software%s", overlap))) == 0)
        return false;
    for (size_t i = 0; i < sizeof ALL / sizeof ALL[0]; i++)
        if (strncmp(path, ALL[i], strlen(ALL[i])) == 0)
            return true;
    return false;
}

/* Tells whether a key that is carried is one that the software has no option for. */
static bool is_lost(struct carrying *c, size_t i) {
    for (size_t k = 0; c->kind->whole[k]; k++)
        if (strcmp(c->kind->whole[k], c->paths[i]) == 0)
            return false;
    return is_lost_on_launch(c, c->paths[i]);
}

static void warn_of_carried(struct carrying *c) {
    for (size_t i = 0; i < c->n; i++)
        if (is_lost(c, i))
            tsim_diag_hint(tsim_diags_warning(c->diags, c->w.scenario->plan_at, c->paths[i],
                                              "--format %s has no option for %.80s", c->format, c->settings[i]),
                           "a comment keeps it for tsim import, but the launched job does not have it");
}

/* ---- the whole ---- */

static void write(struct carrying *c) {
    c->w.carried = c->settings;
    c->w.n_carried = c->n;
    c->w.out.size = 0;
    c->w.n_options = 0;
    c->kind->write(&c->w);
}

/* Writes and reads until nothing differs. */
static enum tsim_status write_until_same(struct carrying *c) {
    carry_what_none_says(c);
    for (int round = 0;; round++) {
        const struct tsim_value *got = NULL;
        struct tsim_diags unheard;
        tsim_diags_init(&unheard);
        c->n_differing = 0;
        c->differing = NULL;
        write(c);
        enum tsim_status status = import_again(c, &got, &unheard);
        if (status == TSIM_OK && !carry_software(c, got))
            carry_differences(c, "", c->w.resolved, got);
        if (status != TSIM_OK || c->differing || round == MOST_ROUNDS)
            status = refused(c, &unheard);
        tsim_diags_release(&unheard);
        if (status != TSIM_OK || c->n_differing == 0)
            return status;
    }
}

/* Returns the formats of the software: "megatron, slurm, kubernetes". */
static const char *formats_of(struct tsim_arena *arena, enum tsim_launch_kind launch) {
    const char *names = "";
    for (size_t i = 0; i < TSIM_N_LAUNCH_FORMATS; i++)
        if (KINDS[i].launches & 1u << launch)
            names = tsim_arena_printf(arena, "%s%s%s", names, *names ? ", " : "", TSIM_LAUNCH_FORMATS[i].name);
    return names;
}

/* Returns what the first layer is that the software's programs do not build; NULL: they build all. They mix tokens by
 * attention, over all or in a window; Megatron-Core's other program (pretrain_mamba.py) builds Mamba-2, too, from
 * layers of one block. */
static const char *other_layer(const struct carrying *c) {
    const struct tsim_model *model = c->w.scenario->model;
    const struct tsim_value *pattern = tsim_value_find_path(c->w.resolved, "model.pattern");
    const bool is_hybrid = tsim_launch_is_hybrid(&c->w);
    for (size_t i = 0; i < model->n_pattern; i++) {
        const enum tsim_mixing kind = model->pattern[i].kind;
        const bool is_block = kind == TSIM_MIXING_MAMBA || kind == TSIM_MIXING_ATTENTION;
        if (is_hybrid ? !tsim_launch_hybrid_letter(pattern->items[i])
                      : kind != TSIM_MIXING_ATTENTION && kind != TSIM_MIXING_WINDOW)
            return tsim_arena_printf(c->w.arena, "%s%s", tsim_value_find(pattern->items[i], "kind")->text,
                                     is_hybrid && is_block ? " with a feed-forward block behind it" : "");
    }
    return NULL;
}

/* Refuses what pretrain_mamba.py cannot do of a plan (megatron/core/ssm/mamba_block.py and mamba_mixer.py of 2024 and
 * 2025). */
static enum tsim_status check_hybrid(struct carrying *c) {
    const struct tsim_parallelism_spec *p = &c->w.scenario->parallelism;
    bool is_even = true;
    for (int64_t i = 1; i < tsim_n_model_parts(p); i++)
        is_even &= p->layers_per_chunk[i] == p->layers_per_chunk[0];
    const struct {
        bool is_good;
        const char *path, *why;
    } RULES[] = {
        {p->virtual_pipeline == 1, "parallelism.virtual_pipeline", "has no virtual pipeline"},
        {is_even, "parallelism.layers_per_stage", "has as many layers in each stage as in the others"},
        {c->w.scenario->model->mamba.groups % p->tensor == 0, "parallelism.tensor",
         "divides the groups of Mamba-2 layers (model.mamba.groups) among the tensor ranks"},
    };
    for (size_t i = 0; i < sizeof RULES / sizeof RULES[0]; i++)
        if (!RULES[i].is_good) {
            tsim_diags_error(c->diags, TSIM_ERR_INFEASIBLE, c->w.scenario->plan_at, RULES[i].path,
                             "--format %s cannot express it: pretrain_mamba.py, which starts Mamba-2 layers, %s",
                             c->format, RULES[i].why);
            return TSIM_ERR_INFEASIBLE;
        }
    return TSIM_OK;
}

/* DeepSpeed's JSON says nothing of the model, which another file builds. */
static bool builds_model(const struct carrying *c) {
    return c->kind->write != tsim_write_deepspeed;
}

static enum tsim_status check(struct carrying *c) {
    const struct tsim_scenario *scenario = c->w.scenario;
    if (!(c->kind->launches & 1u << c->w.launch)) {
        const char *formats = formats_of(c->w.arena, c->w.launch);
        struct tsim_diag *diag =
            tsim_diags_error(c->diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){.file = scenario->file}, "software",
                             "%s is not launched by --format %s", scenario->software->name, c->format);
        if (*formats)
            tsim_diag_hint(diag, "its formats are %s", formats);
        else
            tsim_diag_hint(diag, "its profile names no launch files (software.launch); --set software=ID is another");
        return TSIM_ERR_INFEASIBLE;
    }
    const struct tsim_model *model = scenario->model;
    if (model->kind != TSIM_MODEL_TRANSFORMER || model->list || model->encoder_layers || model->image.patch ||
        model->diffusion.values || model->tower.layers || model->generator.layers) {
        tsim_diags_error(c->diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){.file = scenario->file}, "model",
                         "--format %s needs a transformer of language with a single stack of layers", c->format);
        return TSIM_ERR_INFEASIBLE;
    }
    const char *layer = builds_model(c) ? other_layer(c) : NULL;
    const bool is_hybrid = tsim_launch_is_hybrid(&c->w);
    if (layer) {
        tsim_diag_hint(
            tsim_diags_error(c->diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){.file = scenario->file}, "model",
                             "--format %s starts models of %s: %s has layers of kind %s", c->format,
                             is_hybrid ? "Mamba-2 and attention in layers of one block each" : "attention", model->name,
                             layer),
            "%s",
            is_hybrid && model->experts.count > 0
                ? "there {kind: mamba2, feed_forward: none} and {kind: none, feed_forward: experts} stand for one "
                  "such layer, which are two of --num-layers and of what is recomputed"
            : is_hybrid
                ? "there {kind: mamba2, feed_forward: none} and {kind: none, feed_forward: dense} stand for one "
                  "such layer, which are two of --num-layers and of what is recomputed"
                : "its software starts them by a program and options that tsim neither writes nor reads");
        return TSIM_ERR_INFEASIBLE;
    }
    return builds_model(c) && is_hybrid ? check_hybrid(c) : TSIM_OK;
}

/* A job holds its software's own file. */
static enum tsim_status write_job(struct carrying *c) {
    carry_what_none_says(c);
    for (size_t i = 0; i < TSIM_N_LAUNCH_FORMATS; i++)
        if (KINDS[i].reads && (KINDS[i].launches & 1u << c->w.launch)) {
            const struct kind *job = c->kind;
            const char *format = c->format;
            c->kind = &KINDS[i];
            c->format = TSIM_LAUNCH_FORMATS[i].name;
            TSIM_TRY(write_until_same(c));
            c->kind = job;
            c->format = format;
            break;
        }
    return tsim_job_check(&c->w, c->kind->write == tsim_write_kubernetes, c->diags);
}

enum tsim_status tsim_launch_file(struct tsim_arena *arena, const char *format, const struct tsim_scenario *scenario,
                                  const char **text, struct tsim_diags *diags) {
    struct carrying *c = TSIM_NEW(arena, struct carrying);
    size_t i = 0;
    while (strcmp(TSIM_LAUNCH_FORMATS[i].name, format) != 0)
        i++;
    *c = (struct carrying){.w = {.arena = arena, .scenario = scenario, .launch = scenario->software->launch},
                           .diags = diags,
                           .kind = &KINDS[i],
                           .format = format,
                           .root = scenario->source->root};
    TSIM_TRY(resolved_document(arena, scenario, &c->w.resolved, diags));
    TSIM_TRY(check(c));
    enum tsim_status status = c->kind->reads ? write_until_same(c) : write_job(c);
    if (status == TSIM_OK) {
        warn_of_carried(c);
        write(c);
        *text = tsim_arena_strdup(arena, c->w.out.text);
    }
    tsim_heap_free(c->w.out.text);
    tsim_heap_free(c->w.options);
    return status;
}

/* ---- what differs between two ---- */

struct launch_lines { /* without blanks around them, without what carries on a line or ends a member */
    const char **items;
    size_t n;
};

/* Names a key of TOML after its section: "parallelism.tensor_parallel_degree = 4". */
static void add_lines(struct tsim_arena *arena, struct launch_lines *lines, const char *text) {
    const char *section = "";
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n"), used = length, blanks = strspn(line, " ");
        while (used > 0 && strchr(" \\,", line[used - 1]))
            used--;
        if (used > blanks + 2 && line[blanks] == '[' && line[used - 1] == ']')
            section = tsim_arena_printf(arena, "%.*s.", (int)(used - blanks - 2), line + blanks + 1);
        else if (used > blanks && line[blanks] != '#')
            lines->items[lines->n++] = tsim_arena_printf(arena, "%s%.*s", section, (int)(used - blanks), line + blanks);
        line += length + (line[length] != '\0');
    }
}

/* Returns whether there is such a line, or (if `length` is not 0) one whose first `length` characters are the same
 * option. */
static bool has_line(const struct launch_lines *lines, const char *line, size_t length) {
    for (size_t i = 0; i < lines->n; i++)
        if (length == 0 ? strcmp(lines->items[i], line) == 0
                        : strncmp(lines->items[i], line, length) == 0 && strcspn(lines->items[i], " =:") == length)
            return true;
    return false;
}

static void add_leaves(struct tsim_arena *arena, struct launch_lines *lines, const struct tsim_value *mapping,
                       const char *path) {
    for (size_t i = 0; i < mapping->n_items; i++) {
        const struct tsim_value *value = mapping->pairs[i].value;
        const char *own = below(arena, path, mapping->pairs[i].key);
        if (value->kind == TSIM_VALUE_MAPPING)
            add_leaves(arena, lines, value, own);
        else
            lines->items[lines->n++] = tsim_arena_printf(arena, "%s: %s", own, tsim_flow_text(arena, value));
    }
}

/* Chooses the software's own file. */
static void choose_kind(struct carrying *c) {
    for (size_t i = 0; i < TSIM_N_LAUNCH_FORMATS && !c->kind; i++)
        if (KINDS[i].reads && (KINDS[i].launches & 1u << c->w.launch)) {
            c->kind = &KINDS[i];
            c->format = TSIM_LAUNCH_FORMATS[i].name;
        }
}

/* Finds the options of the scenario in its software's own file, without those that the file carries for tsim. Returns
 * false if there is no such file. YAML and JSON are told apart by their keys, all others by their lines. */
static bool options_of(struct tsim_arena *arena, const struct tsim_scenario *scenario, struct launch_lines *lines) {
    struct tsim_diags unheard;
    struct carrying c = {.w = {.arena = arena, .scenario = scenario, .launch = scenario->software->launch},
                         .diags = &unheard};
    const struct tsim_value *root;
    bool is_written = false;
    tsim_diags_init(&unheard);
    choose_kind(&c);
    if (c.kind && resolved_document(arena, scenario, &c.w.resolved, &unheard) == TSIM_OK && check(&c) == TSIM_OK) {
        bool has_keys = c.kind->write == tsim_write_deepspeed || c.kind->write == tsim_write_nemo;
        write(&c);
        *lines = (struct launch_lines){.items = TSIM_NEW_ARRAY(arena, c.w.out.size + 1, const char *)};
        is_written = true;
        if (!has_keys)
            add_lines(arena, lines, c.w.out.text);
        else if (tsim_document_parse(arena, c.format, tsim_arena_strdup(arena, c.w.out.text), c.w.out.size, &root,
                                     &unheard) == TSIM_OK)
            add_leaves(arena, lines, root, "");
    }
    tsim_heap_free(c.w.out.text);
    tsim_heap_free(c.w.options);
    tsim_diags_release(&unheard);
    return is_written;
}

/* Returns another option with which a script may say the same. */
static const char *other_way(const char *line) {
    return strcmp(line, "--recompute-granularity selective") == 0 ? " (or --recompute-activations)"
           : strncmp(line, "--num-virtual-stages-per-pipeline-rank ", 39) == 0
               ? " (or --num-layers-per-virtual-pipeline-stage)"
               : "";
}

const char *tsim_launch_changes(struct tsim_arena *arena, const struct tsim_scenario *before,
                                const struct tsim_scenario *after) {
    struct launch_lines old, new;
    const char *changes = NULL;
    if (!options_of(arena, before, &old) || !options_of(arena, after, &new))
        return NULL;
    for (size_t i = 0; i < new.n; i++)
        if (!has_line(&old, new.items[i], 0))
            changes = tsim_arena_printf(arena, "%s%s%s", changes ? changes : "",
                                        !changes               ? ""
                                        : *new.items[i] == '-' ? " "
                                                               : ", ",
                                        new.items[i]);
    for (size_t i = 0; i < old.n; i++) {
        size_t length = strcspn(old.items[i], " =:");
        if (length > 0 && !has_line(&new, old.items[i], length))
            changes = tsim_arena_printf(arena, "%s%swithout %s%s", changes ? changes : "", changes ? ", " : "",
                                        old.items[i], other_way(old.items[i]));
    }
    return changes;
}

const char *tsim_launch_lacks(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                              const struct tsim_override *settings, size_t n) {
    const char *lacks = NULL;
    struct tsim_diags unheard;
    struct carrying c = {.w = {.arena = arena, .scenario = scenario, .launch = scenario->software->launch},
                         .diags = &unheard,
                         .root = scenario->source->root};
    tsim_diags_init(&unheard);
    choose_kind(&c);
    if (c.kind && resolved_document(arena, scenario, &c.w.resolved, &unheard) == TSIM_OK && check(&c) == TSIM_OK &&
        write_until_same(&c) == TSIM_OK)
        for (size_t i = 0; i < c.n; i++)
            for (size_t k = 0; k < n; k++)
                if (strcmp(settings[k].path, c.paths[i]) == 0 && is_lost(&c, i))
                    lacks =
                        tsim_arena_printf(arena, "%s%s--set %s", lacks ? lacks : "", lacks ? " " : "", c.settings[i]);
    tsim_heap_free(c.w.out.text);
    tsim_heap_free(c.w.options);
    tsim_diags_release(&unheard);
    return lacks;
}
