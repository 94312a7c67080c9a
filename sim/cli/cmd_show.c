#include "cli/command.h"

#include "base/among.h"
#include "model/model.h"
#include "report/terminal/table.h"
#include "results/format.h"

#include <math.h>
#include <string.h>

struct shown {
    enum tsim_catalogue_kind kind;
    const char *id;
    const struct tsim_catalogue_entry *entries;
    size_t n_entries;
    const struct tsim_model *model; /* NULL for other kinds */
    const struct tsim_accelerator *accelerator;
};

/* Returns the FLOP that the peak does while the memory moves a byte: a kernel with less of them a byte is bound by
 * memory. */
static double ridge_point(const struct tsim_accelerator *accelerator, int precision) {
    return accelerator->peak_flops_per_s[precision] / accelerator->memory_bytes_per_s;
}

/* ---- for people: a table whose sources are numbered, and the sources below it ---- */

/* Returns the source's number, counted from 1 in the order of first use; 0 for none. */
static size_t number_of_source(const char **sources, size_t *n_sources, const char *source) {
    if (!source)
        return 0;
    for (size_t i = 0; i < *n_sources; i++)
        if (strcmp(sources[i], source) == 0)
            return i + 1;
    sources[(*n_sources)++] = source;
    return *n_sources;
}

static void print_parameters(const struct tsim_model *model) {
    char text[64];
    printf("parameters         %s\n", tsim_count_text(tsim_model_parameters(model), text, sizeof text));
    printf("active parameters  %s\n", tsim_count_text(tsim_model_active_parameters(model), text, sizeof text));
    if (model->mtp_layers > 0)
        printf("of the parameters  %s for multi-token prediction\n",
               tsim_count_text(tsim_model_mtp_parameters(model), text, sizeof text));
    printf("\n");
}

static void print_ridge_points(const struct tsim_accelerator *accelerator, const struct tsim_style *style) {
    struct tsim_fold fold;
    FILE *out = tsim_fold_open(&fold, style, stdout);
    fputs("ridge points  ", out);
    const char *before = "";
    for (int p = 0; p < TSIM_N_PRECISIONS; p++) {
        if (accelerator->peak_flops_per_s[p] <= 0)
            continue;
        double ridge = ridge_point(accelerator, p);
        fprintf(out, "%s%s %.*g", before, tsim_precision_name((enum tsim_precision)p), ridge < 1000 ? 3 : 4, ridge);
        before = ", ";
    }
    fputs(" FLOP/B\n\n", out);
    tsim_fold_close(&fold);
}

/* The name is in the heading, and the file's own source stands below the table, so neither needs a row. */
static bool is_said_elsewhere(const struct tsim_catalogue_entry *entry) {
    return TSIM_IS_ONE_OF(entry->key, "name", "source", "schema");
}

/* Returns "0.74 (0.715 to 0.77)" or "0 (as flash3)". */
static const char *value_with_interval(struct tsim_arena *arena, const struct tsim_catalogue_entry *entry) {
    char value[64], low[64], high[64];
    if (entry->meaning)
        return tsim_arena_printf(arena, "%s (%s)", tsim_entry_text(entry, value, sizeof value), entry->meaning);
    if (isnan(entry->interval[0]))
        return tsim_arena_strdup(arena, tsim_entry_text(entry, value, sizeof value));
    if (!entry->unit || !entry->unit[0])
        return tsim_arena_printf(arena, "%s (%.4g to %.4g)", entry->value_si, entry->interval[0], entry->interval[1]);
    struct tsim_catalogue_entry least = *entry, most = *entry;
    least.number = entry->interval[0];
    most.number = entry->interval[1];
    return tsim_arena_printf(arena, "%s (%s to %s)", tsim_entry_text(entry, value, sizeof value),
                             tsim_entry_text(&least, low, sizeof low), tsim_entry_text(&most, high, sizeof high));
}

static void print_people(struct tsim_arena *arena, const struct shown *shown) {
    static const struct tsim_column columns[] = {
        {"key", false}, {"value", false}, {"status", false}, {"source", false}};
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_text_table table;
    const char **sources = TSIM_NEW_ARRAY(arena, shown->n_entries, const char *);
    size_t n_sources = 0;
    char text[64];
    tsim_text_table_init(&table, arena, columns, 4);
    for (size_t i = 0; i < shown->n_entries; i++) {
        const struct tsim_catalogue_entry *entry = &shown->entries[i];
        if (is_said_elsewhere(entry))
            continue;
        size_t number = number_of_source(sources, &n_sources, entry->source);
        tsim_text_table_add(&table, entry->key);
        tsim_text_table_add(&table, value_with_interval(arena, entry));
        tsim_text_table_add(&table, entry->status);
        snprintf(text, sizeof text, "[%zu]", number);
        tsim_text_table_add(&table, number ? text : "-");
    }
    printf("%s/%s\n\n", tsim_catalogue_word(shown->kind), shown->id);
    if (shown->model)
        print_parameters(shown->model);
    if (shown->accelerator)
        print_ridge_points(shown->accelerator, &style);
    tsim_text_table_print(&table, &style, stdout);
    for (size_t i = 0; i < n_sources; i++) {
        printf("%s[%zu] ", i ? "" : "\n", i + 1);
        tsim_text_wrap(stdout, &style, i < 9 ? 4 : 5, sources[i]);
    }
}

/* ---- for programs ---- */

static void print_csv(struct tsim_arena *arena, const struct shown *shown) {
    static const struct tsim_column columns[] = {
        {"key", false}, {"value", false}, {"status", false}, {"source", false}};
    struct tsim_text_table table;
    tsim_text_table_init(&table, arena, columns, 4);
    for (size_t i = 0; i < shown->n_entries; i++) {
        const struct tsim_catalogue_entry *entry = &shown->entries[i];
        tsim_text_table_add(&table, entry->key);
        tsim_text_table_add(&table, entry->value_si);
        tsim_text_table_add(&table, entry->status);
        tsim_text_table_add(&table, entry->source);
    }
    tsim_text_table_print_csv(&table, stdout);
}

static void add_value(struct tsim_json *values, const struct tsim_catalogue_entry *entry) {
    struct tsim_json *value = tsim_json_object(values, entry->key);
    bool is_bool = strcmp(entry->value_si, "true") == 0 || strcmp(entry->value_si, "false") == 0;
    if (!isnan(entry->number))
        tsim_json_number(value, "value", entry->number);
    else if (is_bool)
        tsim_json_bool(value, "value", entry->value_si[0] == 't');
    else
        tsim_json_text(value, "value", entry->value_si);
    if (entry->unit && entry->unit[0])
        tsim_json_text(value, "unit", entry->unit);
    if (!isnan(entry->interval[0])) {
        tsim_json_number(value, "low", entry->interval[0]);
        tsim_json_number(value, "high", entry->interval[1]);
    }
    tsim_json_text(value, "status", entry->status);
    tsim_json_text(value, "source", entry->source);
}

static struct tsim_json *shown_json(const struct shown *shown) {
    struct tsim_json *root = tsim_json_new_object();
    tsim_json_text(root, "schema", "tsim/show/v1");
    tsim_json_text(root, "kind", tsim_catalogue_word(shown->kind));
    tsim_json_text(root, "id", shown->id);
    if (shown->model) {
        tsim_json_number(root, "parameters", tsim_model_parameters(shown->model));
        tsim_json_number(root, "active_parameters", tsim_model_active_parameters(shown->model));
        if (shown->model->mtp_layers > 0)
            tsim_json_number(root, "mtp_parameters", tsim_model_mtp_parameters(shown->model));
    }
    if (shown->accelerator) {
        struct tsim_json *ridges = tsim_json_object(root, "ridge_flops_per_byte");
        for (int p = 0; p < TSIM_N_PRECISIONS; p++)
            if (shown->accelerator->peak_flops_per_s[p] > 0)
                tsim_json_number(ridges, tsim_precision_name((enum tsim_precision)p),
                                 ridge_point(shown->accelerator, p));
    }
    struct tsim_json *values = tsim_json_object(root, "values");
    for (size_t i = 0; i < shown->n_entries; i++)
        add_value(values, &shown->entries[i]);
    return root;
}

static enum tsim_exit print_shown(const struct tsim_arguments *arguments, struct tsim_arena *arena,
                                  const struct shown *shown) {
    if (arguments->has[TSIM_OPTION_CSV])
        print_csv(arena, shown);
    else if (!tsim_is_json_on_stdout(arguments))
        print_people(arena, shown);
    if (arguments->has[TSIM_OPTION_JSON])
        return tsim_write_json(arguments, shown_json(shown));
    return TSIM_EXIT_OK;
}

static enum tsim_status load(struct tsim_arena *arena, struct shown *shown, struct tsim_diags *diags) {
    TSIM_TRY(tsim_catalogue_describe(arena, shown->kind, shown->id, &shown->entries, &shown->n_entries, diags));
    if (shown->kind == TSIM_CATALOGUE_MODELS)
        return tsim_catalogue_load_model(arena, shown->id, &shown->model, diags);
    if (shown->kind == TSIM_CATALOGUE_ACCELERATORS)
        return tsim_catalogue_load_accelerator(arena, shown->id, &shown->accelerator, diags);
    return TSIM_OK;
}

/* ---- what is meant ---- */

/* An id without its kind: the ids of all kinds that are, hold or resemble the word. */
enum { MOST_GUESSES = 8 };
struct guess {
    char text[512];
    size_t n, n_exact;
    struct shown exact;
};

static void add_guess(struct guess *guess, enum tsim_catalogue_kind kind, const char *id) {
    size_t length = strlen(guess->text);
    if (guess->n++ < MOST_GUESSES)
        snprintf(guess->text + length, sizeof guess->text - length, "%s%s/%s", length ? ", " : "",
                 tsim_catalogue_word(kind), id);
}

static void guess_of_kind(struct tsim_arena *arena, enum tsim_catalogue_kind kind, const char *word,
                          struct guess *guess) {
    const char *const *ids = NULL;
    size_t n_ids = 0, n_before = guess->n;
    if (tsim_catalogue_list(arena, kind, &ids, &n_ids, TSIM_UNHEARD) == TSIM_OK)
        for (size_t i = 0; i < n_ids; i++) {
            bool is_exact = strcmp(ids[i], word) == 0;
            if (is_exact && guess->n_exact++ == 0)
                guess->exact = (struct shown){.kind = kind, .id = ids[i]};
            bool is_one_of_many = kind == TSIM_CATALOGUE_SCENARIOS || !tsim_catalogue_file(arena, kind, ids[i]);
            if (is_exact || (word[0] && !is_one_of_many && strstr(ids[i], word)))
                add_guess(guess, kind, ids[i]);
        }
    const char *near = guess->n == n_before ? tsim_did_you_mean(word, ids, n_ids) : NULL;
    if (near)
        add_guess(guess, kind, near);
}

static bool find_word(struct tsim_arena *arena, const char *word, struct shown *shown) {
    struct guess guess = {0};
    enum tsim_catalogue_kind kind;
    if (tsim_catalogue_find_kind(word, &kind)) {
        fprintf(tsim_messages(), "tsim show: needs an id too, as in %s/ID\nTry 'tsim list %s'.\n",
                tsim_catalogue_word(kind), tsim_catalogue_plural(kind));
        return false;
    }
    for (int k = 0; k < TSIM_N_CATALOGUE_KINDS; k++)
        guess_of_kind(arena, (enum tsim_catalogue_kind)k, word, &guess);
    *shown = guess.exact;
    if (guess.n_exact == 1)
        return true;
    fprintf(tsim_messages(), "tsim show: needs KIND/ID, or a file of the catalogue's kinds, not '%s'\n", word);
    if (guess.n > 0)
        fprintf(tsim_messages(), "Did you mean %s%s?\n", guess.text, guess.n > MOST_GUESSES ? ", or others" : "");
    fputs("Try 'tsim list'.\n", tsim_messages());
    return false;
}

/* Splits "KIND/ID"; the operand may also be a file that states its kind, or an id that only one kind has. */
static bool split(const struct tsim_arguments *arguments, struct tsim_arena *arena, struct shown *shown) {
    const char *operand = arguments->operands[0], *slash = strchr(operand, '/');
    if (tsim_is_yaml_name(operand) && tsim_find_file_kind(arena, operand, &shown->kind)) {
        shown->id = operand;
        return true;
    }
    const char *kind = tsim_arena_strndup(arena, operand, strcspn(operand, "/"));
    if (tsim_is_yaml_name(operand) && (!slash || !tsim_catalogue_find_kind(kind, &shown->kind))) {
        fprintf(tsim_messages(),
                "tsim show: '%s' is not a file of the catalogue, whose first line names its kind, as in 'schema: "
                "tsim/accelerator/v1'\nTry 'tsim check %s'.\n",
                operand, operand);
        return false;
    }
    if (!slash || slash == operand || !slash[1])
        return find_word(arena, kind, shown);
    shown->id = slash + 1;
    return tsim_find_kind(arguments, kind, &shown->kind);
}

enum tsim_exit tsim_cmd_show(const struct tsim_arguments *arguments) {
    struct shown shown = {0};
    enum tsim_exit status = TSIM_EXIT_USAGE;
    if (split(arguments, arguments->arena, &shown)) {
        status = tsim_exit_of(load(arguments->arena, &shown, arguments->diags));
        tsim_report_diags(arguments, arguments->diags);
    }
    if (status == TSIM_EXIT_OK)
        status = print_shown(arguments, arguments->arena, &shown);
    return status;
}
