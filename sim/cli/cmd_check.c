#include "cli/command.h"

#include "config/text/document.h"
#include "report/terminal/table.h"
#include "step/unplayed.h"
#include "study/curves/section.h"

#include <string.h>

/* Collects the documents: one file gives its own document, several give a list. */
static void collect(const struct tsim_arguments *arguments, const char *resolved_json, struct tsim_json **document) {
    if (arguments->n_operands == 1) {
        *document = tsim_json_new_parsed(resolved_json);
        return;
    }
    if (!*document)
        *document = tsim_json_new_array();
    tsim_json_parsed(*document, NULL, resolved_json);
}

static bool is_talkative(const struct tsim_arguments *arguments) {
    return !tsim_is_json_on_stdout(arguments) && !arguments->has[TSIM_OPTION_QUIET];
}

/* ---- catalogue files: what they left to defaults, and what they do not know for sure ---- */

struct checked {
    const char *file;
    enum tsim_catalogue_kind kind;
    const struct tsim_catalogue_entry *entries;
    size_t n_entries;
};

/* An absent precision is not an assumed value: the accelerator lacks it. */
static bool is_assumed(const struct tsim_catalogue_entry *entry) {
    return strcmp(entry->status, "default") == 0 && strncmp(entry->key, "peak.", 5) != 0 &&
           strncmp(entry->key, "efficiency.matrix_sustained.", 28) != 0 && strcmp(entry->key, "name") != 0;
}

static bool is_estimate(const struct tsim_catalogue_entry *entry) {
    return strcmp(entry->status, "estimate") == 0;
}

static bool is_lacked(const struct tsim_catalogue_entry *entry) {
    return strcmp(entry->status, "default") == 0 && strncmp(entry->key, "peak.", 5) == 0;
}

static const struct list {
    const char *title, *json_key;
    bool (*holds)(const struct tsim_catalogue_entry *entry);
    bool has_values;
} LISTS[] = {{"assumed    ", "assumed", is_assumed, true},
             {"estimates  ", "estimates", is_estimate, false},
             {"lacks      ", "lacks", is_lacked, false}};
enum { N_LISTS = sizeof LISTS / sizeof LISTS[0] };

/* Returns " 0 (as flash3)". */
static const char *value_text(struct tsim_arena *arena, const struct tsim_catalogue_entry *entry) {
    return tsim_arena_printf(arena, entry->meaning ? " %s (%s)" : " %s", entry->value_si, entry->meaning);
}

static void print_checked(struct tsim_arena *arena, const struct checked *checked) {
    struct tsim_style style = tsim_style_of(stdout);
    printf("%s: ok (%s)\n", checked->file, tsim_catalogue_word(checked->kind));
    for (size_t k = 0; k < N_LISTS; k++) {
        const char *text = "";
        for (size_t i = 0; i < checked->n_entries; i++) {
            const struct tsim_catalogue_entry *entry = &checked->entries[i];
            if (LISTS[k].holds(entry))
                text = tsim_arena_printf(arena, "%s%s%s%s", text, *text ? ", " : "", entry->key,
                                         LISTS[k].has_values ? value_text(arena, entry) : "");
        }
        if (!*text)
            continue;
        printf("  %s", LISTS[k].title);
        tsim_text_wrap(stdout, &style, 2 + (int)strlen(LISTS[k].title), text);
    }
}

static void add_checked_json(const struct tsim_arguments *arguments, const struct checked *checked,
                             struct tsim_json **document) {
    bool is_only = arguments->n_operands == 1;
    if (!*document)
        *document = is_only ? tsim_json_new_object() : tsim_json_new_array();
    struct tsim_json *object = is_only ? *document : tsim_json_object(*document, NULL);
    tsim_json_text(object, "schema", "tsim/check/v1");
    tsim_json_text(object, "file", checked->file);
    tsim_json_text(object, "kind", tsim_catalogue_word(checked->kind));
    for (size_t k = 0; k < N_LISTS; k++) {
        struct tsim_json *list = tsim_json_array(object, LISTS[k].json_key);
        for (size_t i = 0; i < checked->n_entries; i++)
            if (LISTS[k].holds(&checked->entries[i]))
                tsim_json_text(list, NULL, checked->entries[i].key);
    }
}

static enum tsim_status refuse_overrides(const struct checked *checked, struct tsim_diags *diags) {
    struct tsim_diag *diag = tsim_diags_error(
        diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){.file = checked->file}, "",
        "--set and --seed change scenarios; this is a file of the catalogue (%s)", tsim_catalogue_word(checked->kind));
    tsim_diag_hint(diag, "change the file, or set it in a scenario that names it");
    return TSIM_ERR_INFEASIBLE;
}

static enum tsim_status check_catalogue_file(const struct tsim_arguments *arguments, struct tsim_arena *arena,
                                             struct checked *checked, struct tsim_json **document,
                                             struct tsim_diags *diags) {
    bool is_path = strchr(checked->file, '/') || tsim_is_yaml_name(checked->file);
    if (arguments->n_overrides > 0)
        return refuse_overrides(checked, diags);
    const char *path = is_path ? checked->file : tsim_arena_printf(arena, "./%s", checked->file); /* no id */
    TSIM_TRY(tsim_catalogue_describe(arena, checked->kind, path, &checked->entries, &checked->n_entries, diags));
    if (arguments->has[TSIM_OPTION_JSON])
        add_checked_json(arguments, checked, document);
    if (is_talkative(arguments))
        print_checked(arena, checked);
    return TSIM_OK;
}

/* ---- scenarios ---- */

static enum tsim_status check_scenario(const struct tsim_arguments *arguments, struct tsim_arena *arena,
                                       const char *file, struct tsim_json **document, struct tsim_diags *diags) {
    const struct tsim_scenario *scenario;
    struct tsim_scenario_source source;
    TSIM_TRY(tsim_scenario_open(arena, file, &source, diags));
    enum tsim_status status =
        tsim_scenario_load_from(arena, &source, arguments->overrides, arguments->n_overrides, &scenario, diags);
    if (status == TSIM_OK)
        status = tsim_refuse_unplayed(scenario, diags);
    enum tsim_status section =
        tsim_section_check(arena, &source, arguments->overrides, arguments->n_overrides, status == TSIM_OK, diags);
    TSIM_TRY(status);
    TSIM_TRY(section);
    if (arguments->has[TSIM_OPTION_JSON])
        collect(arguments, tsim_scenario_json(arena, scenario), document);
    if (is_talkative(arguments))
        printf("%s: ok\n", file);
    return TSIM_OK;
}

static enum tsim_exit check_file(const struct tsim_arguments *arguments, const char *file,
                                 struct tsim_json **document) {
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct checked checked = {.file = file};
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    enum tsim_status status = tsim_find_file_kind(&arena, file, &checked.kind)
                                  ? check_catalogue_file(arguments, &arena, &checked, document, &diags)
                                  : check_scenario(arguments, &arena, file, document, &diags);
    tsim_report_diags(arguments, &diags);
    tsim_arena_release(&arena);
    return tsim_exit_of(status);
}

enum tsim_exit tsim_cmd_check(const struct tsim_arguments *arguments) {
    enum tsim_exit status = TSIM_EXIT_OK;
    struct tsim_json *document = NULL;
    for (size_t i = 0; i < arguments->n_operands; i++)
        status = tsim_exit_worse(status, check_file(arguments, arguments->operands[i], &document));
    if (document)
        status = tsim_exit_worse(status, tsim_write_json(arguments, document));
    return status;
}
