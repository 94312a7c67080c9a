#include "config/provenance.h"

#include <math.h>
#include <string.h>

struct tsim_recorded_file {
    enum tsim_catalogue_kind kind;
    const char *id;
    const struct tsim_catalogue_entry *entries;
    size_t n;
    bool is_unreadable;
    const struct tsim_recorded_file *next;
};

/* A file that is not of the catalogue has no entries: its values are then the scenario's. */
static const struct tsim_recorded_file *file_of(struct tsim_term_recorder *recorder, enum tsim_catalogue_kind kind,
                                                const char *id) {
    for (const struct tsim_recorded_file *file = recorder->files; file; file = file->next)
        if (file->kind == kind && strcmp(file->id, id) == 0)
            return file;
    struct tsim_recorded_file *file = TSIM_NEW(recorder->arena, struct tsim_recorded_file);
    *file = (struct tsim_recorded_file){.kind = kind, .id = id, .next = recorder->files};
    enum tsim_status status =
        tsim_catalogue_describe(recorder->arena, kind, id, &file->entries, &file->n, TSIM_UNHEARD);
    if (status != TSIM_OK)
        file->n = 0;
    file->is_unreadable = status == TSIM_ERR_IO;
    recorder->files = file;
    return file;
}

struct tsim_amount tsim_of_file(struct tsim_term_recorder *recorder, enum tsim_catalogue_kind kind, const char *id,
                                const char *key, double value, enum tsim_dimension dimension) {
    if (!recorder)
        return (struct tsim_amount){.value = value};
    const struct tsim_recorded_file *file = file_of(recorder, kind, id);
    struct tsim_term term = {.name = tsim_record_text(recorder, "%s %s", id, key),
                             .source = file->is_unreadable ? "a file that could not be read again"
                                                           : "the scenario, not the catalogue",
                             .value = value,
                             .dimension = dimension,
                             .rule = TSIM_TERM_GIVEN};
    for (size_t i = 0; i < file->n; i++)
        if (strcmp(file->entries[i].key, key) == 0 && fabs(file->entries[i].number - value) <= 1e-12 * fabs(value)) {
            term.status = file->entries[i].status;
            term.source = file->entries[i].source ? file->entries[i].source : "tsim's default";
        }
    return (struct tsim_amount){.value = value, .term = tsim_record(recorder, &term)};
}
