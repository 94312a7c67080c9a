#include "import/launches/nemo_script.h"

#include "base/among.h"
#include "base/file_bytes.h"
#include "config/catalogue_load.h"
#include "config/text/document.h"
#include "import/launches/hub_names.h"
#include "import/launches/hydra.h"
#include "import/launches/launch_command.h"
#include "import/launches/python_config.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PARENTS = 4 };

struct reading {
    struct tsim_recipe *r;
    const struct tsim_value *table;     /* models/nemo-recipes.yaml */
    const struct tsim_value *overrides; /* what the script sets */
};

enum tsim_nemo_form tsim_nemo_form_of(const char *text, size_t size) {
    if (tsim_looks_like_yaml(text, size))
        return TSIM_NEMO_FILE;
    if (tsim_bytes_have(text, size, "import nemo") || tsim_bytes_have(text, size, "from nemo"))
        return TSIM_NEMO_PYTHON;
    return tsim_bytes_have(text, size, "python") || tsim_bytes_have(text, size, "torchrun") ||
                   tsim_bytes_have(text, size, "nemo llm ")
               ? TSIM_NEMO_SHELL
               : TSIM_NEMO_FILE;
}

static enum tsim_status read_table(struct reading *g) {
    const char *folder = tsim_catalogue_folder(g->r->arena);
    return folder
               ? tsim_document_read(g->r->arena, tsim_arena_printf(g->r->arena, "%s/models/nemo-recipes.yaml", folder),
                                    &g->table, g->r->diags)
               : TSIM_ERR_IO;
}

/* Lays one value on what the script sets, at its place in the script. */
static void set(struct reading *g, const char *path, const struct tsim_value *value) {
    if (tsim_value_set(g->r->arena, g->overrides, path, value, NULL, 0, &g->overrides, g->r->diags) != TSIM_OK)
        g->overrides = tsim_value_new_mapping(g->r->arena, &g->r->at_top, NULL, 0);
}

static const struct tsim_value *merged(struct reading *g, const struct tsim_value *base,
                                       const struct tsim_value *more) {
    return more ? tsim_value_merge(g->r->arena, base, more) : base;
}

/* ---- Python ---- */

struct recipe {
    const char *path; /* of the name that holds it */
    const char *name; /* llama3_8b */
    bool tunes;       /* finetune_recipe */
    const struct tsim_python_value *at;
};

static const struct tsim_value *place(struct reading *g, const struct tsim_python_value *v) {
    return tsim_recipe_scalar(g->r, v->line, v->column, v->text);
}

/* Finds "llm.llama3_8b.pretrain_recipe" as the value of a name, not among the arguments of a call. If a function has
 * several, the last one counts. */
static bool find_recipe(struct reading *g, const struct tsim_python *p, struct recipe *found) {
    static const char CALL[] = "._call";
    found->at = NULL;
    for (size_t i = 0; i < p->n_values; i++) {
        const struct tsim_python_value *v = &p->values[i];
        const size_t n = strlen(v->path);
        const char *dot = strrchr(v->text, '.');
        if (n < sizeof CALL || strcmp(v->path + n - strlen(CALL), CALL) != 0 ||
            strstr(v->path, "._") != v->path + n - strlen(CALL) || !dot ||
            (strncmp(dot, ".pretrain_recipe", 16) != 0 && strncmp(dot, ".finetune_recipe", 16) != 0))
            continue;
        const char *name = dot;
        while (name > v->text && name[-1] != '.')
            name--;
        *found = (struct recipe){tsim_arena_strndup(g->r->arena, v->path, n - strlen(CALL)),
                                 tsim_arena_strndup(g->r->arena, name, (size_t)(dot - name)), dot[1] == 'f', v};
    }
    return found->at != NULL;
}

/* Finds run.Partial(llm.pretrain, model=..., trainer=...), which has all parts of a job and no recipe. */
static bool find_partial(struct reading *g, const struct tsim_python *p, struct recipe *found) {
    static const char CALL[] = "_call";
    for (size_t i = 0; i < p->n_values; i++) {
        const struct tsim_python_value *v = &p->values[i];
        const size_t n = strlen(v->path) - strlen(CALL);
        const char *dot = strrchr(v->text, '.');
        if (strlen(v->path) < strlen(CALL) || strcmp(v->path + n, CALL) != 0 ||
            (n > 0 && strstr(v->path, "._") != v->path + n - 1) || strcmp(dot ? dot + 1 : v->text, "Partial") != 0)
            continue;
        *found = (struct recipe){tsim_arena_strndup(g->r->arena, v->path, n), NULL, false, v};
        return true;
    }
    return false;
}

/* Reads the function that has a recipe, or the module: the function named behind "--", or the last one. */
static enum tsim_status read_python(struct reading *g, struct tsim_python *python, struct recipe *found) {
    struct tsim_python names = {0};
    const struct tsim_import_input *input = &g->r->input;
    const char *wanted = input->n_arguments > 0 ? input->arguments[0] : NULL;
    tsim_python_functions(g->r, &names);
    for (size_t i = names.n_functions + 1; i > 0; i--) {
        const char *function = i <= names.n_functions ? names.functions[i - 1] : NULL;
        if (wanted && (!function || strcmp(function, wanted) != 0))
            continue;
        tsim_heap_free(python->values);
        *python = (struct tsim_python){.keeps_locals = true};
        TSIM_TRY(tsim_python_read(g->r, function, python));
        if (find_recipe(g, python, found) || find_partial(g, python, found))
            return TSIM_OK;
    }
    tsim_diag_hint(
        wanted ? tsim_recipe_error(g->r, NULL, "no function '%.60s' in it takes a recipe of NeMo", wanted)
               : tsim_recipe_error(g->r, NULL, "no recipe of NeMo is taken in it"),
        "a line like recipe = llm.llama3_8b.pretrain_recipe(num_nodes=1, num_gpus_per_node=8), in a function "
        "that may be named behind --");
    return TSIM_ERR_INFEASIBLE;
}

/* Returns the argument of the functions that sets this. */
static const char *argument_of(const char *name) {
    static const char *const NAMES[][2] = {
        {"num_nodes", "trainer.num_nodes"},
        {"num_gpus_per_node", "trainer.devices"},
        {"max_steps", "trainer.max_steps"},
        {"tensor_parallelism", "trainer.strategy.tensor_model_parallel_size"},
        {"pipeline_parallelism", "trainer.strategy.pipeline_model_parallel_size"},
        {"virtual_pipeline_parallelism", "trainer.strategy.virtual_pipeline_model_parallel_size"},
        {"context_parallelism", "trainer.strategy.context_parallel_size"},
        {"sequence_parallelism", "trainer.strategy.sequence_parallel"},
        {"expert_parallelism", "trainer.strategy.expert_model_parallel_size"},
        {"seq_length", "data.seq_length"},
        {"global_batch_size", "data.global_batch_size"},
        {"micro_batch_size", "data.micro_batch_size"},
        {"precision", "trainer.plugins.precision"}};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (strcmp(NAMES[i][0], name) == 0)
            return NAMES[i][1];
    return NULL;
}

/* bf16_with_fp8_mixed(), fp16_mixed() and their like give the data types. */
static void set_precision(struct reading *g, const struct tsim_python_value *v) {
    const char *dot = strrchr(v->text, '.'), *name = dot ? dot + 1 : v->text;
    if (strncmp(name, "bf16", 4) != 0 && strncmp(name, "fp16", 4) != 0) {
        tsim_value_error(g->r->diags, TSIM_ERR_INFEASIBLE, place(g, v), "trainer.plugins",
                         "what data types '%.60s' gives is not known", name);
        return;
    }
    set(g, "trainer.plugins.precision",
        tsim_recipe_scalar(g->r, v->line, v->column, name[0] == 'b' ? "bf16-mixed" : "16-mixed"));
    if (strstr(name, "fp8"))
        set(g, "trainer.plugins.fp8", tsim_recipe_scalar(g->r, v->line, v->column, "hybrid"));
}

/* The first row that fits a name says what the name means if it is no argument. */
enum meaning {
    SAYS_TYPES,
    IS_TUNED,
    IS_BUILT,
    IS_PART,
    IS_ELSEWHERE,
    IS_CLASS,
    IS_ARGUMENT,
    N_MEANINGS,
    SETS = N_MEANINGS
};
static enum meaning meaning_of(const char *name) {
    static const struct tsim_setting_class NAMES[N_MEANINGS] = {
        [SAYS_TYPES] = {.patterns = "trainer.plugins._call"},
        [IS_TUNED] = {.patterns = "performance_mode"},
        [IS_BUILT] = {.patterns = "data._call trainer._call model._call trainer.strategy._call"},
        [IS_PART] = {.patterns = "data trainer model peft trainer.strategy"},
        [IS_ELSEWHERE] = {.patterns = "data.*._* log.* resume.* trainer.callbacks* *\\[* dir name peft_scheme "
                                      "packed_sequence packing"},
        [IS_CLASS] = {.patterns = "*._0"}, /* run.Config(llm.Llama3Config8B) */
        [IS_ARGUMENT] = {.patterns = "_* *._*"}};
    static const struct tsim_setting_classes CLASSES = {NAMES, N_MEANINGS};
    const struct tsim_setting_class *row = tsim_setting_class_of(name, NULL, &CLASSES);
    return row ? (enum meaning)(row - NAMES) : SETS;
}

/* performance_mode changes degrees and overlaps in each recipe's own way. */
static void check_tuned(struct reading *g, const struct tsim_value *value) {
    if (!tsim_value_is_off(value))
        tsim_diag_hint(tsim_value_error(g->r->diags, TSIM_ERR_INFEASIBLE, value, "performance_mode",
                                        "what it changes in the recipe is in NeMo's code, not here"),
                       "leave it out, and set what it changes: recipe.trainer.strategy.tensor_model_parallel_size = 8");
}

static void take_python(struct reading *g, const struct tsim_python *p, const struct recipe *recipe) {
    const size_t length = strlen(recipe->path);
    for (size_t i = 0; i < p->n_values; i++) {
        const struct tsim_python_value *v = &p->values[i];
        if (strncmp(v->path, recipe->path, length) != 0 || v->path[length] != '.')
            continue;
        const char *rest = v->path + length + 1, *last = strrchr(rest, '.'), *dot = strrchr(v->text, '.');
        const char *part = last ? tsim_arena_strndup(g->r->arena, rest, (size_t)(last - rest)) : rest;
        const bool is_of_trainer = strncmp(rest, "trainer.", 8) == 0 &&
                                   (strstr(rest, "_parallelism") || strcmp(rest, "trainer.num_gpus_per_node") == 0);
        const char *of_call = argument_of(is_of_trainer ? rest + 8 : rest);
        const enum meaning meaning = of_call ? SETS : meaning_of(rest);
        if (meaning == SETS || (meaning == IS_PART && strcmp(v->text, "null") == 0))
            set(g, of_call ? of_call : rest, place(g, v));
        else if (meaning == IS_PART ||
                 (meaning == IS_BUILT && !TSIM_IS_ONE_OF(dot ? dot + 1 : v->text, "Config", "Partial", "MockDataModule",
                                                         "SquadDataModule", "trainer")))
            tsim_diag_hint(tsim_value_error(g->r->diags, TSIM_ERR_INFEASIBLE, place(g, v),
                                            meaning == IS_PART ? rest : part,
                                            "what '%.60s' puts in place of the recipe's is not known", v->text),
                           "write what it sets as keywords of run.Config, or leave it out and say it with --set");
        else if (meaning == IS_TUNED)
            check_tuned(g, place(g, v));
        else if (meaning == SAYS_TYPES && !strstr(v->text, "Config"))
            set_precision(g, v);
        else if (meaning == IS_CLASS)
            set(g, tsim_arena_printf(g->r->arena, "%s._target_", part), place(g, v));
    }
}

/* Takes the parts of run.Partial as the file that NeMo-Run writes of it has them: classes are _target_. */
static void take_partial(struct reading *g, const struct tsim_python *p, const struct recipe *partial) {
    const size_t length = strlen(partial->path);
    for (size_t i = 0; i < p->n_values; i++) {
        const struct tsim_python_value *v = &p->values[i];
        if (strncmp(v->path, partial->path, length) != 0 || v->path[length] == '_' ||
            (length == 0 && strncmp(v->path, "locals.", 7) == 0)) /* the same object by its name */
            continue;
        const char *rest = v->path + length, *last = strrchr(rest, '.'), *dot = strrchr(v->text, '.');
        const char *part = last ? tsim_arena_strndup(g->r->arena, rest, (size_t)(last - rest)) : rest;
        const bool is_call = last && strcmp(last, "._call") == 0, is_first = last && strcmp(last, "._0") == 0,
                   is_config = TSIM_IS_ONE_OF(dot ? dot + 1 : v->text, "Config", "Partial");
        const enum meaning meaning = meaning_of(rest);
        if (meaning == SAYS_TYPES && !is_config)
            set_precision(g, v);
        else if (meaning == IS_ELSEWHERE || (is_call && is_config))
            continue;
        else if (is_call || is_first)
            set(g, tsim_arena_printf(g->r->arena, "%s._target_", part), place(g, v));
        else if (!last || last[1] != '_')
            set(g, rest, place(g, v));
    }
}

static const struct tsim_python_value *value_of(const struct tsim_python *p, const struct recipe *recipe,
                                                const char *name) {
    const size_t length = strlen(recipe->path);
    for (size_t i = p->n_values; i > 0; i--) {
        const struct tsim_python_value *v = &p->values[i - 1];
        if (strncmp(v->path, recipe->path, length) == 0 && v->path[length] == '.' &&
            strcmp(v->path + length + 1, name) == 0)
            return v;
    }
    return NULL;
}

/* Tells whether the recipe trains adapters: finetune_recipe does, unless peft_scheme says none. */
static bool has_adapter(struct reading *g, const struct tsim_python *p, const struct recipe *recipe) {
    const struct tsim_python_value *scheme = value_of(p, recipe, "peft_scheme"), *peft = value_of(p, recipe, "peft");
    const char *text = scheme ? scheme->text : "lora";
    if (!TSIM_IS_ONE_OF(text, "lora", "none", "null"))
        tsim_value_error(g->r->diags, TSIM_ERR_INFEASIBLE, place(g, scheme), "peft_scheme",
                         "adapters of the kind '%.40s' are not modelled: lora is", text);
    return strcmp(text, "lora") == 0 && !(peft && strcmp(peft->text, "null") == 0);
}

/* Returns the recipe of the table, composed as NeMo's functions compose it. */
static const struct tsim_value *recipe_of(struct reading *g, const struct recipe *recipe, bool adapts,
                                          const char **model) {
    const struct tsim_value *row = tsim_value_find(g->table, recipe->name), *parent, *all;
    const char *known = "";
    for (int i = 0; row && i < MOST_PARENTS && (parent = tsim_value_find(row, "extends")); i++)
        row = tsim_value_find(g->table, parent->text);
    if (!row || strncmp(recipe->name, "common", 6) == 0) {
        for (size_t i = 0; i < g->table->n_items; i++)
            if (strncmp(g->table->pairs[i].key, "common", 6) != 0 && !strchr(g->table->pairs[i].key, '/') &&
                strncmp(g->table->pairs[i].key, "megatron", 8) != 0) /* NeMo 1's configurations */
                known = tsim_arena_printf(g->r->arena, "%s%s%s", known, *known ? ", " : "", g->table->pairs[i].key);
        tsim_diag_hint(tsim_value_error(g->r->diags, TSIM_ERR_REFERENCE, place(g, recipe->at), "",
                                        "tsim does not know the recipe '%.60s'", recipe->name),
                       "known are %s; a file that NeMo-Run writes of it needs no name", known);
        return NULL;
    }
    all = merged(g, tsim_value_find(g->table, "common"),
                 tsim_value_find(g->table, recipe->tunes ? "common_finetune" : "common_pretrain"));
    all = merged(g, all, tsim_value_find(row, recipe->tunes ? "finetune" : "pretrain"));
    if (recipe->tunes)
        all = merged(g, all, tsim_value_find(row, adapts ? "lora" : "whole"));
    const struct tsim_value *sizes = tsim_value_find(row, "model"), *hf = tsim_value_find(row, "hf");
    if (sizes) {
        const struct tsim_pair pair = {.key = "model", .value = sizes};
        all = merged(g, all, tsim_value_new_mapping(g->r->arena, sizes, &pair, 1));
    }
    *model = hf ? tsim_known_model(g->r, hf->text) : NULL;
    return all;
}

/* Adapters have rank 32 in each product unless the recipe or the script says another. */
static const struct tsim_value *with_adapter(struct reading *g, const struct tsim_value *all,
                                             const struct recipe *recipe) {
    g->overrides = all;
    if (!tsim_value_find_path(all, "peft.dim"))
        set(g, "peft.dim", tsim_recipe_scalar(g->r, recipe->at->line, recipe->at->column, "32"));
    set(g, "peft._target_",
        tsim_recipe_scalar(g->r, recipe->at->line, recipe->at->column, "nemo.collections.llm.peft.LoRA"));
    return g->overrides;
}

static enum tsim_status python_job(struct reading *g, const struct tsim_value **root, const char **model) {
    struct tsim_python python = {0};
    struct recipe recipe;
    const size_t n_errors = g->r->diags->n_errors;
    enum tsim_status status = read_python(g, &python, &recipe);
    if (status == TSIM_OK) {
        const bool adapts = recipe.tunes && has_adapter(g, &python, &recipe), is_partial = !recipe.name;
        const struct tsim_value *all = is_partial ? g->overrides : recipe_of(g, &recipe, adapts, model);
        if (python.unread_line > 0)
            tsim_value_warning(g->r->diags, tsim_recipe_scalar(g->r, python.unread_line, 1, ""), "",
                               "what stands in an if, a loop or a with is not followed");
        if (is_partial)
            take_partial(g, &python, &recipe);
        else
            take_python(g, &python, &recipe);
        if (is_partial)
            *root = g->overrides;
        else if (all)
            *root = merged(g, all, g->overrides);
        if (all && adapts)
            *root = with_adapter(g, *root, &recipe);
        if (tsim_value_find_path(g->overrides, "model.config._target_"))
            *model = NULL; /* another model of the script's own */
        status = g->r->diags->n_errors > n_errors ? TSIM_ERR_INFEASIBLE : TSIM_OK;
    }
    tsim_heap_free(python.values);
    return status;
}

/* ---- the shell ---- */

/* Finds CONFIG.yaml of NeMo's or the launcher's tree in a folder above the script. Returns NULL if there is none. */
static const struct tsim_value *file_of(struct reading *g, const char *config) {
    static const char *const FOLDERS[] = {"", "conf/", "launcher_scripts/conf/training/", "launcher_scripts/conf/peft/",
                                          "examples/nlp/language_modeling/conf/"};
    const struct tsim_import_input *input = &g->r->input;
    const char *up = "";
    const struct tsim_value *root;
    for (int i = 0; i < 7 && input->read_beside && !strstr(config, ".."); i++) {
        for (size_t k = 0; k < sizeof FOLDERS / sizeof FOLDERS[0]; k++) {
            const char *path = tsim_arena_printf(g->r->arena, "%s%s%s.yaml", up, FOLDERS[k], config);
            size_t size = 0;
            const char *text = input->read_beside(g->r->arena, input->file, path, &size);
            if (text && tsim_document_parse_wide(g->r->arena, path, text, size, &root, g->r->diags) == TSIM_OK &&
                root->kind == TSIM_VALUE_MAPPING)
                return tsim_hydra_compose(g->r->arena, input, root, g->r->diags);
        }
        up = tsim_arena_printf(g->r->arena, "../%s", up);
    }
    return NULL;
}

/* Sets what arguments like those of "llama3_8b(num_nodes=2,name='x')" say. */
static void set_arguments(struct reading *g, const char *text, const struct tsim_value *at) {
    while (*text && *text != ')') {
        text += strspn(text, "(,");
        const size_t n = strcspn(text, "=,)"), n_value = text[n] == '=' ? strcspn(text + n + 1, ",)") : 0;
        const char *name = tsim_arena_strndup(g->r->arena, text, n), *path = argument_of(name);
        const struct tsim_value *value =
            tsim_value_new_scalar(g->r->arena, at, tsim_arena_strndup(g->r->arena, text + n + (n_value > 0), n_value));
        if (path && n_value > 0)
            set(g, path, value);
        else if (n_value > 0 && meaning_of(name) == IS_TUNED)
            check_tuned(g, value);
        text += n + (n_value > 0 ? n_value + 1 : text[n] == '=');
    }
}

/* Reads nemo llm pretrain --factory "llama3_8b(num_nodes=2)" trainer.strategy.tensor_model_parallel_size=2. */
static enum tsim_status factory_job(struct reading *g, struct tsim_recipe *words, const struct tsim_setting *factory,
                                    const struct tsim_value **root, const char **model) {
    const struct tsim_value *value = factory->value;
    const char *text = tsim_setting_text(factory);
    struct tsim_python_value *at = TSIM_NEW(g->r->arena, struct tsim_python_value);
    *at = (struct tsim_python_value){.path = "", .text = text, .line = value->line, .column = value->column};
    const size_t length = strcspn(text, "(");
    const struct recipe recipe = {"", tsim_arena_strndup(g->r->arena, text, length),
                                  tsim_bytes_have(g->r->input.text, g->r->input.size, "llm finetune"), at};
    const struct tsim_setting *peft = tsim_recipe_find(words, "peft");
    const bool adapts = recipe.tunes && !strstr(text, "peft_scheme='none'") && !strstr(text, "peft_scheme=none") &&
                        !(peft && tsim_value_is_off(peft->value));
    const struct tsim_value *all = recipe_of(g, &recipe, adapts, model);
    if (!all)
        return TSIM_ERR_REFERENCE;
    set_arguments(g, text + length, value); /* those behind a blank are words of their own */
    for (size_t i = 0; i < words->n_settings && i < TSIM_RECIPE_MAX_SETTINGS; i++) {
        const struct tsim_setting *s = &words->settings[i];
        if (s->lost && tsim_may_change_run(s->key))
            tsim_setting_int(words, s, 0, 0); /* says what is empty in the script */
        else if (strchr(s->key, '.') && strncmp(s->key, "launcher.", 9) != 0)
            set(g, s->key, s->value);
        else if (s->value->kind == TSIM_VALUE_SCALAR)
            set_arguments(g, tsim_arena_printf(g->r->arena, "%s=%s", s->key, s->value->text), s->value);
    }
    *root = merged(g, all, g->overrides);
    *root = adapts ? with_adapter(g, *root, &recipe) : *root;
    return g->r->diags->n_errors > g->r->n_errors_before ? TSIM_ERR_INFEASIBLE : TSIM_OK;
}

/* Reads run_recipe.py --recipe llama3_8b_pretrain_config model.seq_length=4096 of Megatron-Bridge. */
static enum tsim_status recipe_job(struct reading *g, struct tsim_recipe *words, const struct tsim_value **root) {
    for (size_t i = 0; i < words->n_settings && i < TSIM_RECIPE_MAX_SETTINGS; i++) {
        const struct tsim_setting *s = &words->settings[i];
        const char *key = s->key + strspn(s->key, "+"), *dot = strrchr(key, '.');
        if (TSIM_IS_ONE_OF(key, "nnodes", "nproc_per_node", "machine"))
            tsim_recipe_add(g->r, s->name, key, s->value);
        else if (s->lost && dot && tsim_may_change_run(dot + 1))
            tsim_setting_is_lost(words, s);
        else if (!s->lost && dot && strncmp(key, "launcher.", 9) != 0 && strncmp(key, "slurm.", 6) != 0)
            set(g, key, s->value);
    }
    *root = g->overrides;
    return g->r->diags->n_errors > g->r->n_errors_before ? TSIM_ERR_INFEASIBLE : TSIM_OK;
}

/* Returns the key of a word without what Hydra begins it with (+, ++) and without the stage that it stands below. */
static const char *bare_key(const char *key, const char *stage) {
    key += strspn(key, "+");
    const size_t length = strlen(stage);
    return length > 0 && strncmp(key, stage, length) == 0 && key[length] == '.' ? key + length + 1 : key;
}

static enum tsim_status shell_job(struct reading *g, const struct tsim_value **root, const char **model,
                                  const char **recipe) {
    static const char *const TELLING[] = {"trainer.num_nodes",
                                          "trainer.devices",
                                          "trainer.max_steps",
                                          "trainer.precision",
                                          "model.micro_batch_size",
                                          "model.global_batch_size",
                                          "model.num_layers",
                                          "model.tensor_model_parallel_size",
                                          "model.data.data_prefix",
                                          "exp_manager.exp_dir",
                                          "training",
                                          "peft",
                                          "stages",
                                          "training.trainer.num_nodes",
                                          "training.model.global_batch_size",
                                          "training.run.name",
                                          "peft.trainer.num_nodes",
                                          "peft.model.global_batch_size",
                                          "factory",
                                          "recipe",
                                          "train.global_batch_size",
                                          "train.train_iters",
                                          NULL};
    static const struct tsim_command_kind COMMAND = {
        TELLING, "NeMo", "python megatron_gpt_pretraining.py trainer.num_nodes=2 model.global_batch_size=512 ...", true,
        NULL};
    static const char *const STAGES[] = {"training", "peft", "fine_tuning"};
    struct tsim_recipe words;
    const char *stage = "", *config = NULL;
    const struct tsim_value *named = NULL, *all;
    tsim_recipe_init(&words, g->r->arena, &g->r->input, "NeMo", NULL, g->r->diags);
    enum tsim_status status = tsim_command_read(&words, &COMMAND);
    const struct tsim_setting *factory = status == TSIM_OK ? tsim_recipe_find(&words, "factory") : NULL;
    if (factory) {
        status = factory_job(g, &words, factory, root, model);
        tsim_recipe_release(&words);
        return status;
    }
    const struct tsim_setting *of_bridge = status == TSIM_OK ? tsim_recipe_find(&words, "recipe") : NULL;
    if (of_bridge) {
        *recipe = tsim_setting_text(of_bridge);
        status = tsim_setting_is_lost(&words, of_bridge) ? TSIM_ERR_INFEASIBLE : recipe_job(g, &words, root);
        tsim_recipe_release(&words);
        return status;
    }
    for (size_t k = 0; k < sizeof STAGES / sizeof STAGES[0] && status == TSIM_OK; k++) {
        const struct tsim_setting *s = tsim_recipe_find(&words, STAGES[k]);
        if (s && !named)
            stage = STAGES[k], config = tsim_setting_text(s), named = s->value;
    }
    for (size_t i = 0; i < words.n_settings && i < TSIM_RECIPE_MAX_SETTINGS && status == TSIM_OK; i++) {
        const struct tsim_setting *s = &words.settings[i];
        const char *key = bare_key(s->key, stage);
        if (!config && strcmp(s->key, "program") == 0 &&
            strstr(tsim_setting_text(s), "megatron_gpt_pretraining")) /* its own @hydra_runner */
            config = "megatron_gpt_config";
        if (strncmp(s->key, "launcher.", 9) == 0 || TSIM_IS_ONE_OF(s->key, "program", "stages") ||
            strcmp(s->key, stage) == 0)
            continue;
        const char *dot = strrchr(key, '.');
        if (s->lost && !tsim_is_housekeeping(key) && !strstr(key, "tokenizer") &&
            tsim_may_change_run(dot ? dot + 1 : key))
            tsim_setting_int(&words, s, 0, 0); /* says what is empty in the script */
        if (TSIM_IS_ONE_OF(s->key, "config_name", "config"))
            config = tsim_setting_text(s), named = s->value;
        else if (!s->lost && strncmp(s->key, "config_", 7) != 0 && (!*stage || key != s->key + strspn(s->key, "+")))
            set(g, key, s->value);
    }
    status = g->r->diags->n_errors > g->r->n_errors_before ? TSIM_ERR_INFEASIBLE : status;
    tsim_recipe_release(&words);
    TSIM_TRY(status);
    if (!config) {
        tsim_diag_hint(tsim_recipe_error(g->r, NULL, "no --config-name says whose settings count"),
                       "a line like python megatron_gpt_pretraining.py --config-name=NAME trainer.num_nodes=2 ...");
        return TSIM_ERR_INFEASIBLE;
    }
    const char *slash = strrchr(config, '/'), *ending = strrchr(config, '.');
    if (ending && (!slash || ending > slash) && TSIM_IS_ONE_OF(ending, ".yaml", ".yml"))
        config = tsim_arena_strndup(g->r->arena, config, (size_t)(ending - config));
    all = file_of(g, config);
    all = all ? all : tsim_value_find(g->table, config);
    if (!all) {
        tsim_diag_hint(
            tsim_value_error(g->r->diags, TSIM_ERR_REFERENCE, named ? named : &g->r->at_top, "",
                             "%.80s.yaml, whose settings count, is not in the script's tree", config),
            "put it beside the script, or give it to tsim import nemo, with what the script changes written into it");
        return TSIM_ERR_REFERENCE;
    }
    *root = merged(g, all, g->overrides);
    return TSIM_OK;
}

enum tsim_status tsim_nemo_script(struct tsim_recipe *r, enum tsim_nemo_form form, const struct tsim_value **root,
                                  const char **model, const char **recipe) {
    struct reading g = {.r = r, .overrides = tsim_value_new_mapping(r->arena, &r->at_top, NULL, 0)};
    *model = *recipe = NULL;
    TSIM_TRY(read_table(&g));
    return form == TSIM_NEMO_PYTHON ? python_job(&g, root, model) : shell_job(&g, root, model, recipe);
}
