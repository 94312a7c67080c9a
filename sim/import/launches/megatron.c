#include "import/launches/recipes.h"

#include "config/document.h"
#include "import/launches/bridge.h"
#include "import/launches/gpt.h"
#include "import/launches/launch_log.h"
#include "import/launches/megatron_arguments.h"
#include "import/launches/shell.h"
#include "import/overrides.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Arguments are kept under their names without the leading dashes, with underscores: --num-layers is num_layers, as in
 * Python's namespace and in YAML. */

/* ---- settings from words ---- */

struct reading {
    struct tsim_recipe *r;
    const char *text;
    const char **is_read; /* the argument that begins at this offset */
    bool is_mpi;          /* mpirun starts the processes */
    struct tsim_shell_script script;
};

static const struct tsim_value *value_at(struct reading *g, uint32_t offset, const char *text) {
    int line = 1, column = 1;
    for (uint32_t i = 0; i < offset && i < g->r->document->size; i++) {
        column = g->text[i] == '\n' ? 1 : column + 1;
        line += g->text[i] == '\n';
    }
    return tsim_recipe_scalar(g->r, line, column, text);
}

static const char *key_of(struct tsim_arena *arena, const char *name) {
    char *key = tsim_arena_strdup(arena, name + strspn(name, "-"));
    for (char *c = key; *c; c++)
        *c = *c == '-' ? '_' : *c;
    return key;
}

/* Launchers call nodes and processes by these names; Slurm has short options. */
static const char *launcher_key(const char *key) {
    static const char *const NAMES[][2] = {{"num_nodes", "nnodes"},
                                           {"nodes", "nnodes"},
                                           {"N", "nnodes"},
                                           {"num_gpus", "nproc_per_node"},
                                           {"gpus_per_node", "nproc_per_node"},
                                           {"ntasks_per_node", "slurm.tasks"},
                                           {"constraint", "machine"},
                                           {"C", "machine"}};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (strcmp(key, NAMES[i][0]) == 0)
            return NAMES[i][1];
    return key;
}

/* "1:4" of an elastic launch is its most. */
static const char *most_nodes(const char *key, const char *text) {
    const char *colon = strrchr(text, ':');
    return strcmp(key, "nnodes") == 0 && colon ? colon + 1 : text;
}

/* gpu:a100:8 */
static void add_gres(struct reading *g, const char *name, const struct tsim_value *value) {
    const char *first = strchr(value->text, ':'), *last = strrchr(value->text, ':');
    if (!first)
        return;
    tsim_recipe_add(g->r, name, "nproc_per_node", tsim_value_new_scalar(g->r->arena, value, last + 1));
    if (first != last)
        tsim_recipe_add(g->r, name, "machine", value);
}

struct words { /* arguments, split as far as can be; on the heap */
    struct tsim_shell_word *words;
    size_t n, capacity;
};

/* A quoted text that holds arguments ("--fp8-format hybrid", all of `bash -c "..."`) becomes its words. */
static void split_word(struct reading *g, struct words *out, const struct tsim_shell_word *word) {
    const char *text = word->text;
    bool holds = strpbrk(text, " \t\n") && (strncmp(text, "--", 2) == 0 || strstr(text, " --"));
    for (size_t i = 0; text[i];) {
        size_t length = holds ? strcspn(text + i, " \t\n") : strlen(text);
        size_t skip = holds && length > 1 && strchr("'\"", text[i]) ? 1 : 0, end = i + length;
        if (skip && strchr("'\"", text[end - 1]))
            end--;
        out->words = tsim_heap_grow(out->words, &out->capacity, out->n + 1, sizeof *out->words);
        if (length > 0)
            out->words[out->n++] = (struct tsim_shell_word){
                tsim_arena_strndup(g->r->arena, text + i + skip, end > i + skip ? end - i - skip : 0), NULL,
                word->at[i]};
        i += length + strspn(text + i + length, holds ? " \t\n" : "");
    }
}

static bool is_argument(const char *text) {
    return text[0] == '-' && (text[1] == '-' ? isalpha((unsigned char)text[2]) : isalpha((unsigned char)text[1])) &&
           !(text[1] != '-' && text[2] != '\0');
}

static void add_argument(struct reading *g, const char *name, const char *key, const struct tsim_value *value) {
    if (strcmp(key, "gres") == 0) {
        if (value->kind == TSIM_VALUE_SCALAR)
            add_gres(g, name, value);
        return;
    }
    tsim_recipe_add(g->r, name, key, value);
}

static const struct tsim_value *values_of(struct reading *g, const struct tsim_shell_word *words, size_t n,
                                          const char *key) {
    const struct tsim_value *first = value_at(g, words[0].start, most_nodes(key, words[0].text));
    if (n == 1)
        return first;
    const struct tsim_value **items = TSIM_NEW_ARRAY(g->r->arena, n, const struct tsim_value *);
    items[0] = first;
    for (size_t i = 1; i < n; i++)
        items[i] = tsim_value_new_scalar(g->r->arena, first, words[i].text);
    struct tsim_value *list = TSIM_NEW(g->r->arena, struct tsim_value);
    *list = *first;
    list->kind = TSIM_VALUE_SEQUENCE;
    list->items = items;
    list->n_items = n;
    list->n_nodes = n + 1;
    list->height = 2;
    return list;
}

/* pretrain_gpt.py, or a module that is no launcher: -m my.pretraining. */
static bool is_program(const struct words *w, size_t i) {
    const char *text = w->words[i].text;
    size_t length = strlen(text);
    if (i > 0 && strcmp(w->words[i - 1].text, "-m") == 0)
        return strncmp(text, "torch.", 6) != 0 && strncmp(text, "deepspeed.", 10) != 0;
    return length > 3 && strcmp(text + length - 3, ".py") == 0 && !is_argument(text);
}

/* Returns where the launcher's own arguments end: at the program; 0 without one. */
static size_t end_of_launcher(struct reading *g, const struct words *w) {
    for (size_t i = 0; i < w->n; i++) {
        if (is_program(w, i)) {
            tsim_recipe_add(g->r, "program", "program", value_at(g, w->words[i].start, w->words[i].text));
            return i;
        }
    }
    return 0;
}

/* Few of a launcher's arguments count. */
static const char *key_in(struct reading *g, const char *name, bool is_launcher) {
    static const char *const COUNTING[] = {"nnodes", "nproc_per_node", "machine", "gres"};
    const char *key = key_of(g->r->arena, name);
    if (!is_launcher)
        return key;
    key = g->is_mpi ? key : launcher_key(key); /* its -N is another */
    for (size_t i = 0; i < sizeof COUNTING / sizeof COUNTING[0]; i++)
        if (strcmp(key, COUNTING[i]) == 0)
            return key;
    return tsim_arena_printf(g->r->arena, "launcher.%s", key);
}

static const char *lost_from(const struct reading *g, const char *name, size_t length) {
    for (size_t i = 0; i < g->script.n_lost; i++)
        if (strlen(g->script.lost[i].name) == length && memcmp(g->script.lost[i].name, name, length) == 0)
            return g->script.lost[i].from;
    return NULL;
}

/* Names what is lost at "$(": the first empty part of a sum, else the command. */
static const char *lost_command(const struct reading *g, const char *text) {
    enum { MOST_SHOWN = 40 };
    size_t n = 0;
    int depth = 0;
    do {
        n++;
        depth += (text[n] == '(') - (text[n] == ')');
    } while (text[n] && depth > 0);
    for (size_t i = 3; text[2] == '(' && i < n; i++) {
        size_t length = strspn(text + i, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        const char *from = length > 0 ? lost_from(g, text + i, length) : NULL;
        if (from)
            return from;
        i += length > 0 ? length - 1 : 0;
    }
    return tsim_arena_strndup(g->r->arena, text, n < MOST_SHOWN ? n + 1 : MOST_SHOWN);
}

/* An argument without a value: what stands behind it in the script, where that is an expansion, came to nothing; of a
 * variable, what that would have got its value from. */
static const char *lost_value(struct reading *g, const struct tsim_shell_word *word) {
    const char *text = g->text + word->start;
    size_t length = strlen(word->text);
    if (strncmp(text, word->text, length) != 0)
        return NULL;
    text += length;
    text += strspn(text, " \t\r\n\\\"'");
    if (text[0] == '$' && text[1] == '(')
        return lost_command(g, text);
    bool is_braced = text[0] == '$' && text[1] == '{';
    size_t n = text[0] != '$' ? 0 : is_braced ? strcspn(text, "}") + 1 : strcspn(text, " \t\r\n\"'\\;)");
    if (n <= 1 || n >= 60)
        return NULL;
    const char *from = lost_from(g, text + 1 + is_braced, n - 1 - 2 * is_braced);
    return from ? from : tsim_arena_strndup(g->r->arena, text, n);
}

/* Tells whether a word was met before: since everything that was assigned is read, what one variable took from another
 * comes again. */
static bool is_met(struct reading *g, const struct tsim_shell_word *word) {
    const char *before = g->is_read[word->start];
    g->is_read[word->start] = word->text;
    return before && strcmp(before, word->text) == 0;
}

/* --name value value, --name=value, --name. */
static void add_words(struct reading *g, const struct words *w, size_t n_launcher) {
    for (size_t i = 0; i < w->n && g->r->n_settings <= TSIM_RECIPE_MAX_SETTINGS;) {
        const struct tsim_shell_word *word = &w->words[i++];
        size_t n = 0, length = strcspn(word->text, "=");
        if (!is_argument(word->text) || is_met(g, word))
            continue;
        while (i + n < w->n && !is_argument(w->words[i + n].text) && (n_launcher == 0 || i + n != n_launcher))
            n++; /* the program ends the launcher's arguments, whether or not the last of them has a value */
        const char *name = tsim_arena_strndup(g->r->arena, word->text, length);
        const char *key = key_in(g, name, i <= n_launcher);
        const struct tsim_value *value;
        const char *lost = (word->text[length] ? !word->text[length + 1] : n == 0) ? lost_value(g, word) : NULL;
        if (word->text[length] && !lost)
            value = value_at(g, word->start, most_nodes(key, word->text + length + 1));
        else
            value = n > 0 ? values_of(g, &w->words[i], n, key) : value_at(g, word->start, "true");
        size_t before = g->r->n_settings;
        add_argument(g, name, key, value);
        if (lost && g->r->n_settings > before && before < TSIM_RECIPE_MAX_SETTINGS)
            g->r->settings[before].lost = lost;
        i += n;
    }
}

/* mpirun -np 64 --npernode 8: where nothing else has said so, 8 nodes; eight of a node where it does not say how many. */
static void add_processes(struct reading *g, const struct words *w, size_t n_launcher) {
    static const char *const ALL[] = {"-np", "-n", "--np"}, *const EACH[] = {"-npernode", "--npernode", "-N", "-ppn",
                                                                             "--ppn"};
    const struct tsim_shell_word *all = NULL, *each = NULL;
    for (size_t i = 0; i + 1 < n_launcher; i++) {
        const char *text = w->words[i].text, *slash = strrchr(text, '/'), *name = slash ? slash + 1 : text;
        g->is_mpi |= strcmp(name, "mpirun") == 0 || strcmp(name, "mpiexec") == 0;
        for (size_t k = 0; k < sizeof ALL / sizeof ALL[0] && g->is_mpi && !all; k++)
            all = strcmp(text, ALL[k]) == 0 ? &w->words[i + 1] : NULL;
        for (size_t k = 0; k < sizeof EACH / sizeof EACH[0] && g->is_mpi && !each; k++)
            each = strcmp(text, EACH[k]) == 0 ? &w->words[i + 1] : NULL;
    }
    long n_all = all ? strtol(all->text, NULL, 10) : 0, n_each = each ? strtol(each->text, NULL, 10) : 0;
    if (n_all < 1 || n_all > 10000000 || n_each < 0 || tsim_recipe_find(g->r, "nnodes"))
        return;
    long of_node = n_each > 0 ? n_each : n_all < 8 ? n_all : 8;
    if (n_all % of_node != 0)
        return;
    const struct tsim_value *at = value_at(g, all->start, tsim_arena_printf(g->r->arena, "%ld", n_all / of_node));
    tsim_recipe_add(g->r, "mpirun -np", "nnodes", at);
    if (of_node != 8 || each)
        tsim_recipe_add(g->r, "mpirun -np", "nproc_per_node",
                        value_at(g, (each ? each : all)->start, tsim_arena_printf(g->r->arena, "%ld", of_node)));
}

/* ---- the command that trains ---- */

static bool is_megatron_name(const char *name) {
    static const char *const TELLING[] = {"num_layers",
                                          "hidden_size",
                                          "num_attention_heads",
                                          "seq_length",
                                          "micro_batch_size",
                                          "global_batch_size",
                                          "ffn_hidden_size",
                                          "train_iters",
                                          "tensor_model_parallel_size",
                                          "train_samples",
                                          "pipeline_model_parallel_size"};
    for (size_t i = 0; i < sizeof TELLING / sizeof TELLING[0]; i++)
        if (strcmp(name, TELLING[i]) == 0)
            return true;
    return false;
}

static void split_all(struct reading *g, const struct tsim_shell_word *words, size_t n, struct words *out) {
    out->n = 0;
    for (size_t i = 0; i < n; i++)
        split_word(g, out, &words[i]);
}

static size_t score(struct reading *g, const struct words *w) {
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        if (is_argument(w->words[i].text)) {
            const char *key = key_of(g->r->arena, w->words[i].text);
            n += is_megatron_name(tsim_arena_strndup(g->r->arena, key, strcspn(key, "=")));
        }
    return n;
}

/* The last of the commands that have most of Megatron's arguments; where none has any, all that was assigned. */
static bool read_script(struct reading *g, const struct tsim_shell_script *script) {
    struct words w = {NULL, 0, 0};
    size_t best = script->n_commands, most = 0;
    for (size_t i = 0; i < script->n_commands; i++) {
        const struct tsim_shell_command *command = &script->commands[i];
        bool is_slurm = command->n_words > 0 && strcmp(command->words[0].text, "sbatch") == 0;
        bool is_shown = command->n_words > 0 && strcmp(command->words[0].text, "echo") == 0;
        split_all(g, command->words, command->n_words, &w);
        size_t points = is_shown ? 0 : score(g, &w);
        if (is_slurm && points == 0)
            add_words(g, &w, w.n);
        if (points > 0 && points >= most)
            best = i, most = points;
    }
    if (best < script->n_commands) {
        split_all(g, script->commands[best].words, script->commands[best].n_words, &w);
    } else {
        split_all(g, script->assigned, script->n_assigned, &w);
        most = score(g, &w);
    }
    if (most > 0) {
        size_t n_launcher = end_of_launcher(g, &w);
        add_processes(g, &w, n_launcher);
        add_words(g, &w, n_launcher);
    }
    tsim_heap_free(w.words);
    return most > 0;
}

static const char *read_beside(void *context, struct tsim_arena *arena, const char *path, size_t *size) {
    const struct reading *g = context;
    return g->r->input.read_beside ? g->r->input.read_beside(arena, g->r->input.file, path, size) : NULL;
}

/* --env, and arguments of the form NAME=VALUE: scripts that take such export them, in a loop over "$@". */
static const char *const *environment_of(const struct reading *g, size_t *n) {
    static const char NAME[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const struct tsim_import_input *input = &g->r->input;
    const char **all = TSIM_NEW_ARRAY(g->r->arena, input->n_environment + input->n_arguments, const char *);
    for (*n = 0; *n < input->n_environment; (*n)++)
        all[*n] = input->environment[*n];
    for (size_t i = 0; i < input->n_arguments; i++) {
        size_t length = strspn(input->arguments[i], NAME);
        if (length > 0 && input->arguments[i][length] == '=' && !isdigit((unsigned char)input->arguments[i][0]))
            all[(*n)++] = input->arguments[i];
    }
    return all;
}

static enum tsim_status read_shell(struct reading *g) {
    struct tsim_shell_script *script = &g->script;
    size_t offset = 0;
    const char *message = NULL;
    const struct tsim_import_input *input = &g->r->input;
    size_t n;
    const char *const *environment = environment_of(g, &n);
    const struct tsim_shell_outside outside = {input->arguments, input->n_arguments, environment, n, read_beside, g};
    g->is_read = TSIM_NEW_ARRAY(g->r->arena, g->r->document->size + 1, const char *);
    memset(g->is_read, 0, (g->r->document->size + 1) * sizeof *g->is_read);
    enum tsim_status status =
        tsim_shell_read(g->r->arena, g->text, g->r->document->size, &outside, script, &offset, &message);
    if (status != TSIM_OK) {
        tsim_value_error(g->r->diags, status, value_at(g, (uint32_t)offset, ""), "", "%s", message);
        return status;
    }
    if (!read_script(g, script)) {
        tsim_diag_hint(tsim_recipe_error(g->r, NULL, "no command with arguments of Megatron-LM in it"),
                       "a launch script, or a line like 'torchrun ... pretrain_gpt.py --num-layers 32 ...'");
        return TSIM_ERR_INFEASIBLE;
    }
    if (script->undecided)
        tsim_value_warning(g->r->diags, &g->r->at_top, "",
                           "the condition '%.160s' cannot be decided here: taken as false", script->undecided);
    if (script->unread)
        tsim_value_warning(
            g->r->diags, &g->r->at_top, "",
            "%.100s is sourced but not beside the script, so its settings are unknown; give them with --env NAME=VALUE",
            script->unread);
    return TSIM_OK;
}

/* ---- YAML ---- */

/* Every scalar and list under its own name, whatever it stands below. */
static void add_tree(struct reading *g, const struct tsim_value *value) {
    for (size_t i = 0; i < value->n_items; i++) {
        const struct tsim_pair *pair = &value->pairs[i];
        if (pair->value->kind == TSIM_VALUE_MAPPING)
            add_tree(g, pair->value);
        else
            add_argument(g, pair->key, launcher_key(key_of(g->r->arena, pair->key)), pair->value);
    }
}

static enum tsim_status read_yaml(struct reading *g) {
    const struct tsim_value *root;
    TSIM_TRY(
        tsim_document_parse_wide(g->r->arena, g->r->document->file, g->text, g->r->document->size, &root, g->r->diags));
    add_tree(g, root);
    return TSIM_OK;
}

/* The first line that is neither empty nor a comment: KEY: ... */
static bool looks_like_yaml(const char *text, size_t size) {
    size_t i = 0;
    while (i < size && (text[i] == '#' || text[i] == '\n' || text[i] == '\r' || text[i] == ' '))
        if (text[i] == '#')
            while (i < size && text[i] != '\n')
                i++;
        else
            i++;
    if (i + 3 < size && memcmp(text + i, "---\n", 4) == 0)
        return true;
    while (i < size && (isalnum((unsigned char)text[i]) || text[i] == '_' || text[i] == '-'))
        i++;
    return i < size && text[i] == ':' && (i + 1 == size || isspace((unsigned char)text[i + 1]));
}

/* ---- what the program printed ---- */

/* Every argument is there, so that most say nothing: of those that would be refused or slow a run these alone do. */
static bool tells_in_list(const char *key) {
    static const char *const TELLING[] = {"hybrid_override_pattern",
                                          "hybrid_layer_pattern",
                                          "is_hybrid_model",
                                          "experimental_attention_variant",
                                          "spec",
                                          "perform_rl_step",
                                          "retro_add_retriever",
                                          "mtp_num_layers",
                                          "window_size",
                                          "heterogeneous_layers_config_path",
                                          "decoder_num_layers",
                                          "fp32_residual_connection",
                                          "first_last_layers_bf16",
                                          "main_grads_dtype",
                                          "main_params_dtype",
                                          "exp_avg_dtype",
                                          "exp_avg_sq_dtype",
                                          "moe_extended_tp",
                                          "moe_latent_size",
                                          "enable_hyper_connections",
                                          "attention_output_gate",
                                          "pipeline_model_parallel_layout",
                                          "pipeline_model_parallel_split_rank",
                                          "hierarchical_context_parallel_sizes",
                                          "hybrid_context_parallel",
                                          "skip_train",
                                          "peft",
                                          "vision_pretraining",
                                          "kd_teacher_load",
                                          "export_kd_teacher_load",
                                          "ds_inference",
                                          "random_ltd",
                                          "deterministic_mode",
                                          "profile",
                                          "cpu_offloading",
                                          "use_sharp",
                                          "nccl_ub",
                                          "distribute_saved_activations",
                                          "fine_grained_activation_offloading",
                                          "defer_embedding_wgrad_compute",
                                          "delay_wgrad_compute"};
    for (size_t i = 0; i < sizeof TELLING / sizeof TELLING[0]; i++)
        if (strcmp(key, TELLING[i]) == 0)
            return true;
    return false;
}

static bool is_given(struct tsim_recipe *r, const char *key) {
    const struct tsim_setting *s = tsim_recipe_find(r, key);
    return s && !tsim_value_is_off(s->value);
}

static void take_out(struct tsim_recipe *r, const char *key) {
    size_t n = 0;
    for (size_t i = 0; i < r->n_settings && i < TSIM_RECIPE_MAX_SETTINGS; i++)
        if (strcmp(r->settings[i].key, key) != 0)
            r->settings[n++] = r->settings[i];
    r->n_settings = n;
}

/* Values that Megatron-LM has filled in beside what they follow from, and that it does not use. */
static void take_out_derived(struct tsim_recipe *r) {
    if (!is_given(r, "group_query_attention"))
        take_out(r, "num_query_groups");
    if (is_given(r, "virtual_pipeline_model_parallel_size"))
        take_out(r, "num_layers_per_virtual_pipeline_stage");
    if (!is_given(r, "num_experts"))
        take_out(r, "expert_tensor_parallel_size");
    if (is_given(r, "add_bias_linear"))
        take_out(r, "add_qkv_bias");
    if (is_given(r, "multi_latent_attention"))
        take_out(r, "kv_channels");
}

/* Writes the machine for all ranks, in nodes of eight if there are as many. */
static void add_world(struct reading *g) {
    struct tsim_recipe *r = g->r;
    const struct tsim_setting *world = tsim_recipe_find(r, "world_size");
    int64_t n = world ? tsim_setting_int(r, world, 1, INT64_C(1000000000)) : 0, each = n < 8 ? n : 8;
    const char *set = tsim_import_override(&r->input, "cluster.accelerators_per_node");
    if (set && strtoll(set, NULL, 10) > 0 && strtoll(set, NULL, 10) < 1000000)
        each = strtoll(set, NULL, 10);
    if (n == 0 || n % each != 0)
        return;
    const char *nodes = tsim_arena_printf(r->arena, "%lld", (long long)(n / each));
    const struct tsim_value *at = world->value;
    tsim_recipe_add(r, "world_size", "nnodes", tsim_value_new_scalar(r->arena, at, nodes));
    if (each < 8)
        tsim_recipe_add(r, "world_size", "nproc_per_node",
                        tsim_value_new_scalar(r->arena, at, tsim_arena_printf(r->arena, "%lld", (long long)each)));
}

/* "> padded vocab (size: 50257) with 47 dummy tokens (new size: 50304)". */
static void add_vocabulary(struct reading *g) {
    double rows = tsim_log_largest(g->text, g->r->document->size, "dummy tokens (new size: ");
    if (rows >= 1 && rows < 1e9)
        tsim_recipe_add(
            g->r, "padded vocab", "padded_vocab_size",
            tsim_value_new_scalar(g->r->arena, &g->r->at_top, tsim_arena_printf(g->r->arena, "%.0f", rows)));
}

/* Leaves those settings that tell, where they would be refused or slow a run. */
static void keep_telling(struct tsim_recipe *r) {
    size_t n = 0;
    for (size_t i = 0; i < r->n_settings && i < TSIM_RECIPE_MAX_SETTINGS; i++) {
        const struct tsim_setting *s = &r->settings[i];
        const struct tsim_setting_class *class =
            tsim_setting_class_of(s->key, s->value, TSIM_MEGATRON_ARGUMENTS, TSIM_N_MEGATRON_ARGUMENTS);
        if (!class || !class->why || tells_in_list(s->key))
            r->settings[n++] = r->settings[i];
    }
    r->n_settings = n;
}

static void read_list(struct reading *g) {
    struct tsim_recipe *r = g->r;
    r->lists_all = true;
    tsim_log_add_arguments(r);
    keep_telling(r);
    take_out_derived(r);
    add_world(g);
    add_vocabulary(g);
}

/* Megatron-Bridge's configuration says how many ranks a replica has, and its log how many micro-batches. */
static enum tsim_status read_bridge(struct reading *g) {
    static const char *const DEGREES[] = {"tensor_model_parallel_size", "pipeline_model_parallel_size",
                                          "context_parallel_size"};
    struct tsim_recipe *r = g->r;
    TSIM_TRY(tsim_bridge_read(r));
    keep_telling(r);
    if (!is_given(r, "num_moe_experts"))
        take_out(r, "expert_tensor_parallel_size");
    if (is_given(r, "add_bias_linear"))
        take_out(r, "add_qkv_bias");
    double n = tsim_log_largest(g->text, r->document->size, "number of microbatches to constant ");
    int64_t batch = tsim_recipe_int(r, "global_batch_size", 1, INT64_C(1000000000), 1),
            micro = tsim_recipe_int(r, "micro_batch_size", 1, 1000000, 1),
            each = n >= 1 && n < 1e9 ? micro * (int64_t)n : 0, world = each > 0 && batch % each == 0 ? batch / each : 0;
    for (size_t i = 0; i < sizeof DEGREES / sizeof DEGREES[0] && world < INT64_C(1000000000); i++)
        world *= tsim_recipe_int(r, DEGREES[i], 1, 1000000, 1);
    if (world > 0 && world < INT64_C(1000000000))
        tsim_recipe_add(
            r, "micro-batches", "world_size",
            tsim_value_new_scalar(r->arena, &r->at_top, tsim_arena_printf(r->arena, "%lld", (long long)world)));
    add_world(g);
    return TSIM_OK;
}

/* Steps of the last batch size, where it grew, and the most that was allocated. */
static void put_measured(struct reading *g) {
    struct tsim_log_series series;
    const char *text = g->text;
    const size_t size = g->r->document->size;
    if (!tsim_log_series(text, size, TSIM_LOG_MEGATRON.label, TSIM_LOG_MEGATRON.same, &series))
        return;
    tsim_log_put_measured(g->r, &TSIM_LOG_MEGATRON, &series);
    double most_mib = tsim_log_largest(text, size, "max allocated: ");
    if (most_mib > 0)
        tsim_recipe_put(g->r, "measured.memory_peak", NULL, "the most of 'max allocated'", "%.6g MiB", most_mib);
}

/* ---- older and other names ---- */

/* Names of other versions and of what is built on Megatron-LM, where the usual one is not given: those of before 2021
 * (--batch-size was that of a pass on a replica), of BigScience's, of MindSpeed-LLM and of Alibaba's patches. */
static void rename_settings(struct tsim_recipe *r) {
    static const char *const NAMES[][2] = {{"model_parallel_size", "tensor_model_parallel_size"},
                                           {"batch_size", "micro_batch_size"},
                                           {"intermediate_size", "ffn_hidden_size"},
                                           {"max_absolute_position_embeddings", "max_position_embeddings"},
                                           {"moe_intermediate_size", "moe_ffn_hidden_size"},
                                           {"multi_head_latent_attention", "multi_latent_attention"},
                                           {"qk_rope_head_dim", "qk_pos_emb_head_dim"},
                                           {"qk_nope_head_dim", "qk_head_dim"}};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        const struct tsim_setting *usual = tsim_recipe_find(r, NAMES[i][1]);
        for (size_t k = 0; k < r->n_settings && k < TSIM_RECIPE_MAX_SETTINGS; k++)
            if (strcmp(r->settings[k].key, NAMES[i][0]) == 0 &&
                (!usual || strcmp(tsim_setting_text(usual), tsim_setting_text(&r->settings[k])) == 0))
                r->settings[k].key = NAMES[i][1];
    }
}

/* ---- the whole ---- */

enum tsim_status tsim_import_megatron(struct tsim_arena *arena, const struct tsim_import_input *input,
                                      struct tsim_import_result *result, struct tsim_diags *diags) {
    struct tsim_recipe r;
    tsim_recipe_init(&r, arena, input, "Megatron-LM", diags);
    struct reading g = {.r = &r, .text = r.document->text};
    struct tsim_gpt gpt = {.r = &r, .program = TSIM_GPT_MEGATRON};
    enum tsim_status status = TSIM_OK;
    if (tsim_log_has_arguments(g.text, input->size))
        read_list(&g);
    else if (tsim_is_bridge(g.text, input->size))
        status = read_bridge(&g), gpt.program = TSIM_GPT_NEMO, gpt.is_bridge = true;
    else if ((status = tsim_recipe_check_size(&r)) == TSIM_OK)
        status = looks_like_yaml(g.text, input->size) ? read_yaml(&g) : read_shell(&g);
    if (status == TSIM_OK) {
        rename_settings(&r);
        const struct tsim_setting *program = tsim_recipe_find(&r, "program");
        gpt.is_bidirectional = program && strstr(tsim_setting_text(program), "pretrain_bert");
        if (tsim_recipe_accepts(&r, TSIM_MEGATRON_ARGUMENTS, TSIM_N_MEGATRON_ARGUMENTS))
            tsim_gpt_build(&gpt);
        put_measured(&g);
        status = tsim_recipe_finish(&r, TSIM_MEGATRON_ARGUMENTS, TSIM_N_MEGATRON_ARGUMENTS, result);
    }
    tsim_recipe_release(&r);
    return status;
}
