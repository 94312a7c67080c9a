#include "import/launches/launch_command.h"

#include "base/among.h"
#include "config/text/document.h"
#include "import/launches/shell.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Arguments are kept under their names without the leading dashes, with underscores: --num-layers is num_layers, as in
 * Python's namespace and in YAML. */

/* ---- settings from words ---- */

struct reading {
    struct tsim_recipe *r;
    const struct tsim_command_kind *kind;
    const char *text;
    const char **is_read; /* the argument that begins at this offset */
    bool is_mpi;          /* mpirun starts the processes */
    size_t command;       /* of the script, which is read */
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

const char *tsim_argument_key(struct tsim_arena *arena, const char *name) {
    char *key = tsim_arena_strdup(arena, name + strspn(name, "-"));
    for (char *c = key; *c; c++)
        *c = *c == '-' ? '_' : *c;
    return key;
}

/* Launchers call nodes and processes by these names; Slurm has short options. */
const char *tsim_launcher_key(const char *key) {
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

/* Returns the largest number of an elastic launch: 4 of "1:4". */
static const char *most_nodes(const char *key, const char *text) {
    const char *colon = strrchr(text, ':');
    return strcmp(key, "nnodes") == 0 && colon ? colon + 1 : text;
}

/* Adds the settings of gpu:a100:8. */
static void add_gres(struct tsim_recipe *r, const char *name, const struct tsim_value *value) {
    const char *first = strchr(value->text, ':'), *last = strrchr(value->text, ':');
    if (!first)
        return;
    tsim_recipe_add(r, name, "nproc_per_node", tsim_value_new_scalar(r->arena, value, last + 1));
    if (first != last)
        tsim_recipe_add(r, name, "machine", value);
}

struct words { /* arguments, split as far as can be; on the heap */
    struct tsim_shell_word *words;
    size_t n, capacity;
};

/* A quoted text that holds arguments ("--fp8-format hybrid", all of `bash -c "..."`) becomes its words. */
static void split_word(struct reading *g, struct words *out, const struct tsim_shell_word *word) {
    const char *text = word->text;
    bool holds = strpbrk(text, " \t\n") &&
                 (strncmp(text, "--", 2) == 0 || strstr(text, " --") || (g->kind->has_pairs && strchr(text, '=')));
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

void tsim_add_argument(struct tsim_recipe *r, const char *name, const char *key, const struct tsim_value *value) {
    if (strcmp(key, "gres") != 0)
        tsim_recipe_add(r, name, key, value);
    else if (value->kind == TSIM_VALUE_SCALAR)
        add_gres(r, name, value);
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

/* Returns whether the word is pretrain_gpt.py or its like, or a module that is no launcher: -m my.pretraining. */
static bool is_program(const struct words *w, size_t i) {
    const char *text = w->words[i].text;
    size_t length = strlen(text);
    if (i > 0 && TSIM_IS_ONE_OF(w->words[i - 1].text, "-m", "--module") && !is_argument(text))
        return strncmp(text, "torch.", 6) != 0 && strncmp(text, "deepspeed.", 10) != 0;
    return length > 3 && strcmp(text + length - 3, ".py") == 0 && !is_argument(text);
}

/* Returns whether the word is a command that has programs of its own, whose name is behind it: "swift sft". */
static bool has_programs(const struct words *w, size_t i) {
    const char *slash = strrchr(w->words[i].text, '/'), *name = slash ? slash + 1 : w->words[i].text;
    return TSIM_IS_ONE_OF(name, "swift", "trl") && i + 1 < w->n && !is_argument(w->words[i + 1].text);
}

/* Returns where the launcher's own arguments end: at the program; 0 without one. */
static size_t end_of_launcher(struct reading *g, const struct words *w) {
    for (size_t i = 0; i < w->n; i++) {
        const bool has_name = has_programs(w, i);
        if (is_program(w, i) || has_name) {
            const char *text = w->words[i].text;
            text = has_name ? tsim_arena_printf(g->r->arena, "%s %s", text, w->words[i + 1].text) : text;
            tsim_recipe_add(g->r, "program", "program", value_at(g, w->words[i].start, text));
            return i;
        }
    }
    return 0;
}

/* Returns whether the text is KEY=VALUE, with letters, digits, underscores and dots in KEY; Hydra puts "+" before a key
 * that it adds. */
static bool is_pair(const char *text) {
    text += strspn(text, "+");
    const size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
    return n > 0 && text[n] == '=';
}

/* Returns the key of an argument; few of a launcher's arguments count. */
static const char *key_in(struct reading *g, const char *name, bool is_launcher) {
    const char *key = tsim_argument_key(g->r->arena, name);
    if (!is_launcher)
        return key;
    key = g->is_mpi ? key : tsim_launcher_key(key); /* its -N is another */
    return TSIM_IS_ONE_OF(key, "nnodes", "nproc_per_node", "machine", "gres")
               ? key
               : tsim_arena_printf(g->r->arena, "launcher.%s", key);
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

/* For an argument without a value, returns the expansion behind it in the script that came to nothing; for a variable,
 * what would have set it. */
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

/* Adds the arguments --name value value, --name=value and --name. */
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
        tsim_add_argument(g->r, name, key, value);
        if (lost && g->r->n_settings > before && before < TSIM_RECIPE_MAX_SETTINGS)
            g->r->settings[before].lost = lost;
        i += n;
    }
}

/* Adds KEY=VALUE behind the program, and the configuration's name; without a program, all of them. */
static void add_pairs(struct reading *g, const struct words *w, size_t from) {
    for (size_t i = from + (from > 0 || (w->n > 0 && !is_pair(w->words[0].text)));
         i < w->n && g->r->n_settings <= TSIM_RECIPE_MAX_SETTINGS; i++) {
        const struct tsim_shell_word *word = &w->words[i];
        const size_t length = strlen(word->text), n = strcspn(word->text, "=");
        const bool is_config = length > 4 && strcmp(word->text + length - 4, ".yml") == 0 && !is_pair(word->text);
        if (is_config)
            tsim_recipe_add(g->r, "config", "config", value_at(g, word->start, word->text));
        static const char *const NAMES[] = {"--config-name", "--factory", "--recipe"};
        for (size_t k = 0; k < sizeof NAMES / sizeof NAMES[0]; k++) {
            const size_t n_name = strlen(NAMES[k]);
            if (strncmp(word->text, NAMES[k], n_name) != 0 || is_met(g, word))
                continue;
            const bool is_joined = word->text[n_name] == '=';
            if (is_joined || i + 1 < w->n)
                tsim_recipe_add(g->r, NAMES[k], tsim_argument_key(g->r->arena, NAMES[k]),
                                value_at(g, word->start, is_joined ? word->text + n_name + 1 : w->words[i + 1].text));
        }
        if (!is_pair(word->text) || is_met(g, word))
            continue;
        const char *key = tsim_arena_strndup(g->r->arena, word->text, n);
        const char *lost = word->text[n + 1] ? NULL : lost_value(g, word);
        const size_t before = g->r->n_settings;
        tsim_recipe_add(g->r, key, key, value_at(g, word->start, lost ? "true" : word->text + n + 1));
        if (lost && g->r->n_settings > before && before < TSIM_RECIPE_MAX_SETTINGS)
            g->r->settings[before].lost = lost;
    }
}

/* mpirun -np 64 --npernode 8 means 8 nodes, unless something else says the number; without --npernode, a node has
 * eight. */
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

static bool is_telling(const struct reading *g, const char *name) {
    for (const char *const *telling = g->kind->telling; *telling; telling++)
        if (strcmp(name, *telling) == 0)
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
    for (size_t i = 0; i < w->n; i++) {
        const char *slash = strrchr(w->words[i].text, '/');
        n += g->kind->script && strcmp(slash ? slash + 1 : w->words[i].text, g->kind->script) == 0;
        if (is_argument(w->words[i].text) || (g->kind->has_pairs && is_pair(w->words[i].text))) {
            const char *key = tsim_argument_key(g->r->arena, w->words[i].text);
            n += is_telling(g, tsim_arena_strndup(g->r->arena, key, strcspn(key, "=")));
        }
    }
    return n;
}

static bool has_program(const struct words *w) {
    for (size_t i = 0; i < w->n; i++)
        if (is_program(w, i))
            return true;
    return false;
}

/* Reads the command with the most telling arguments, the last one of several. If none has any, reads everything that
 * was assigned, or else a command that is only printed. */
static bool read_script(struct reading *g, const struct tsim_shell_script *script) {
    struct words w = {NULL, 0, 0};
    size_t best = script->n_commands, shown = best, most = 0, n_alike = 0;
    for (size_t i = 0; i < script->n_commands; i++) {
        const struct tsim_shell_command *command = &script->commands[i];
        bool is_slurm = command->n_words > 0 && strcmp(command->words[0].text, "sbatch") == 0;
        bool is_shown = command->n_words > 0 && strcmp(command->words[0].text, "echo") == 0;
        split_all(g, command->words, command->n_words, &w);
        size_t points = score(g, &w);
        if (is_shown) {
            shown = points > 0 && has_program(&w) ? i : shown;
            continue;
        }
        if (is_slurm && points == 0)
            add_words(g, &w, w.n);
        if (points == 0 || points < most)
            continue;
        n_alike = points > most ? 1 : n_alike + (command->words[0].start != script->commands[best].words[0].start);
        best = i, most = points;
    }
    if (n_alike > 1)
        tsim_value_warning(g->r->diags, value_at(g, script->commands[best].words[0].start, ""), "",
                           "%zu commands have as many arguments: this one is read, the last of them", n_alike);
    if (best < script->n_commands) {
        split_all(g, script->commands[best].words, script->commands[best].n_words, &w);
    } else {
        split_all(g, script->assigned, script->n_assigned, &w);
        most = score(g, &w);
    }
    if (most == 0 && shown < script->n_commands) {
        const struct tsim_shell_command *command = &script->commands[shown];
        split_all(g, command->words + 1, command->n_words - 1, &w);
        most = score(g, &w);
        tsim_value_warning(g->r->diags, value_at(g, command->words[0].start, "echo"), "",
                           "the command is only printed; it is read as if it were run");
    }
    g->command = best < script->n_commands ? best : shown;
    if (most > 0) {
        size_t n_launcher = end_of_launcher(g, &w);
        add_processes(g, &w, n_launcher);
        if (g->kind->has_pairs)
            add_pairs(g, &w, n_launcher);
        else
            add_words(g, &w, n_launcher);
    }
    tsim_heap_free(w.words);
    return most > 0;
}

static const char *read_beside(void *context, struct tsim_arena *arena, const char *path, size_t *size) {
    const struct reading *g = context;
    return g->r->input.read_beside ? g->r->input.read_beside(arena, g->r->input.file, path, size) : NULL;
}

/* Returns --env, and arguments of the form NAME=VALUE, because scripts that take such arguments export them in a loop
 * over "$@". */
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

/* Reads the configuration that a command names, if it stands beside the script or the script writes it. */
static bool read_config(struct reading *g, const struct tsim_shell_script *script) {
    const struct tsim_value *root;
    for (size_t i = 0; i < script->n_commands; i++)
        for (size_t k = 1; k < script->commands[i].n_words; k++) {
            const char *path = script->commands[i].words[k].text, *text, *dot = strrchr(path, '.');
            size_t size = 0;
            if (!dot || !TSIM_IS_ONE_OF(dot, ".yaml", ".yml") || strcmp(script->commands[i].words[0].text, "cat") == 0)
                continue;
            text = tsim_recipe_read_beside(g->r, path, &size);
            if (!text || tsim_document_parse_wide(g->r->arena, path, text, size, &root, g->r->diags) != TSIM_OK ||
                root->kind != TSIM_VALUE_MAPPING)
                continue;
            for (const char *const *key = g->kind->telling; *key; key++)
                if (tsim_value_find(root, *key)) {
                    g->command = i;
                    tsim_recipe_each(g->r, root, tsim_recipe_add_leaf, g->r);
                    return true;
                }
        }
    return false;
}

/* Returns the value of NAME=VALUE among the words of the command: of "env NAME=VALUE python ...". */
static const struct tsim_shell_value *value_among_words(struct reading *g, const char *name) {
    const struct tsim_shell_command *command = &g->script.commands[g->command];
    const size_t length = strlen(name);
    for (size_t i = 0; g->command < g->script.n_commands && i < command->n_words; i++)
        if (strncmp(command->words[i].text, name, length) == 0 && command->words[i].text[length] == '=') {
            struct tsim_shell_value *value = TSIM_NEW(g->r->arena, struct tsim_shell_value);
            *value = (struct tsim_shell_value){.name = name, .word = command->words[i]};
            value->word.text += length + 1;
            return value;
        }
    return NULL;
}

/* Adds what the environment says to the program, where no argument does. */
static void add_environment(struct reading *g) {
    for (const char *const(*v)[2] = g->kind->variables; v && (*v)[0]; v++) {
        const struct tsim_shell_value *own = value_among_words(g, (*v)[0]),
                                      *value = own ? own : tsim_shell_value_of(&g->script, (*v)[0], g->command);
        if (!value || tsim_recipe_find(g->r, (*v)[1]))
            continue;
        const struct tsim_value *at = value_at(g, value->word.start, value->word.text);
        if (*value->word.text)
            tsim_recipe_add(g->r, (*v)[0], (*v)[1], at);
        else
            tsim_value_warning(g->r->diags, at, (*v)[0],
                               "has no value%s%.60s%s; tsim takes what the program takes without it",
                               value->lost ? ", because " : "", value->lost ? value->lost : "",
                               value->lost ? " is empty (--env gives it)" : "");
    }
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
    g->r->written = script->files;
    g->r->n_written = script->n_files;
    if (!read_script(g, script) && !read_config(g, script)) {
        tsim_diag_hint(tsim_recipe_error(g->r, NULL, "no command with arguments of %s in it", g->kind->of),
                       "a launch script, or a line like '%s'", g->kind->line);
        return TSIM_ERR_INFEASIBLE;
    }
    add_environment(g);
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

bool tsim_looks_like_yaml(const char *text, size_t size) {
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

enum tsim_status tsim_command_read(struct tsim_recipe *r, const struct tsim_command_kind *kind) {
    struct reading g = {.r = r, .kind = kind, .text = r->document->text};
    return read_shell(&g);
}
