#include "base/status.h"

#include "base/arena.h"
#include "base/plain_text.h"

#include <string.h>

static void format_cut(char *text, size_t size, const char *format, va_list args) {
    int length = vsnprintf(text, size, format, args);
    if (length >= (int)size)
        memcpy(text + size - 4, "...", 4);
}

void tsim_diags_init(struct tsim_diags *list) {
    memset(list, 0, sizeof *list);
}

void tsim_diags_release(struct tsim_diags *list) {
    tsim_heap_free(list->items);
    memset(list, 0, sizeof *list);
}

void tsim_diags_take_back(struct tsim_diags *list, const struct tsim_diags *before) {
    list->n_items = before->n_items;
    list->n_errors = before->n_errors;
    list->n_warnings = before->n_warnings;
}

/* The list always has room for one item more than the cap: that last one is the scratch item. */
static struct tsim_diag *append(struct tsim_diags *list, struct tsim_place at, const char *field, const char *format,
                                va_list args) {
    static _Thread_local struct tsim_diag unread = {.is_mute = true};
    if (list->is_mute)
        return &unread;
    list->items = tsim_heap_grow(list->items, &list->capacity, list->n_items + 1, sizeof *list->items);
    struct tsim_diag *diag = &list->items[list->n_items];
    if (list->n_items < TSIM_MAX_DIAGS)
        list->n_items++;
    memset(diag, 0, sizeof *diag);
    diag->at = at;
    snprintf(diag->field, sizeof diag->field, "%s", field ? field : "");
    format_cut(diag->message, sizeof diag->message, format, args);
    return diag;
}

struct tsim_diag *tsim_diags_verror(struct tsim_diags *list, enum tsim_status status, struct tsim_place at,
                                    const char *field, const char *format, va_list args) {
    struct tsim_diag *diag = append(list, at, field, format, args);
    diag->status = status;
    list->n_errors++;
    if (list->is_mute && (list->of_mute == TSIM_OK || status == TSIM_ERR_IO))
        list->of_mute = status;
    return diag;
}

struct tsim_diag *tsim_diags_vwarning(struct tsim_diags *list, struct tsim_place at, const char *field,
                                      const char *format, va_list args) {
    struct tsim_diag *diag = append(list, at, field, format, args);
    diag->is_warning = true;
    list->n_warnings++;
    return diag;
}

struct tsim_diag *tsim_diags_error(struct tsim_diags *list, enum tsim_status status, struct tsim_place at,
                                   const char *field, const char *format, ...) {
    va_list args;
    va_start(args, format);
    struct tsim_diag *diag = tsim_diags_verror(list, status, at, field, format, args);
    va_end(args);
    return diag;
}

struct tsim_diag *tsim_diags_warning(struct tsim_diags *list, struct tsim_place at, const char *field,
                                     const char *format, ...) {
    va_list args;
    va_start(args, format);
    struct tsim_diag *diag = tsim_diags_vwarning(list, at, field, format, args);
    va_end(args);
    return diag;
}

void tsim_diag_hint(struct tsim_diag *diag, const char *format, ...) {
    if (diag->is_mute)
        return;
    va_list args;
    va_start(args, format);
    format_cut(diag->hint, sizeof diag->hint, format, args);
    va_end(args);
}

enum tsim_status tsim_diags_status(const struct tsim_diags *list, size_t first) {
    enum tsim_status status = list->of_mute;
    for (size_t i = first; i < list->n_items; i++)
        if (!list->items[i].is_warning && (status == TSIM_OK || list->items[i].status == TSIM_ERR_IO))
            status = list->items[i].status;
    return status == TSIM_OK ? TSIM_ERR_LIMIT : status;
}

static void print_caret(FILE *out, const struct tsim_diag *diag) {
    fputs("  ", out);
    tsim_put_plain(out, diag->source_line);
    fputs("\n  ", out);
    for (int i = 1; i < diag->at.column && diag->source_line[i - 1]; i++)
        fputc(diag->source_line[i - 1] == '\t' ? '\t' : ' ', out);
    fputs("^\n", out);
}

/* Prints nothing if the text is empty. */
static void print_between(FILE *out, const char *before, const char *text, const char *after) {
    if (!text[0])
        return;
    fputs(before, out);
    tsim_put_plain(out, text);
    fputs(after, out);
}

void tsim_diags_print(const struct tsim_diags *list, FILE *out) {
    for (size_t i = 0; i < list->n_items; i++) {
        const struct tsim_diag *diag = &list->items[i];
        if (diag->at.file)
            tsim_put_plain(out, diag->at.file);
        if (diag->at.file && diag->at.line)
            fprintf(out, ":%d:%d", diag->at.line, diag->at.column);
        fputs(diag->at.file ? ": " : "", out);
        fputs(diag->is_warning ? "warning: " : "error: ", out);
        print_between(out, "", diag->field, ": ");
        tsim_put_plain(out, diag->message);
        fputc('\n', out);
        if (diag->source_line && diag->at.line)
            print_caret(out, diag);
        print_between(out, "  ", diag->hint, "\n");
    }
    size_t n_all = list->n_errors + list->n_warnings;
    if (n_all > list->n_items)
        fprintf(out, "and %zu more\n", n_all - list->n_items);
}
