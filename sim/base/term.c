#include "base/term.h"

#include "base/bug.h"

#include <string.h>

void tsim_term_recorder_init(struct tsim_term_recorder *recorder, struct tsim_arena *arena) {
    *recorder = (struct tsim_term_recorder){.arena = arena};
}

/* ---- nodes that are equal are one ---- */

/* Returns FNV-1a over name, formula, source and value. */
static uint64_t mix(uint64_t hash, const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(1099511628211);
    return hash;
}

static uint64_t mix_text(uint64_t hash, const char *text) {
    return text ? mix(hash, text, strlen(text) + 1) : hash;
}

static size_t slot_of(const struct tsim_term *term) {
    uint64_t hash = mix_text(UINT64_C(14695981039346656037), term->name);
    hash = mix_text(mix_text(hash, term->formula), term->source);
    return (size_t)(mix(hash, &term->value, sizeof term->value) % TSIM_RECORDER_SLOTS);
}

static bool same_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_parts(const struct tsim_term *a, const struct tsim_term *b) {
    if (a->n_parts != b->n_parts)
        return false;
    for (int32_t i = 0; i < a->n_parts; i++)
        if (a->parts[i].term != b->parts[i].term || a->parts[i].is_inverse != b->parts[i].is_inverse)
            return false;
    return true;
}

static bool same_term(const struct tsim_term *a, const struct tsim_term *b) {
    return a->rule == b->rule && a->value == b->value && a->dimension == b->dimension && same_parts(a, b) &&
           same_text(a->name, b->name) && same_text(a->formula, b->formula) && same_text(a->source, b->source) &&
           same_text(a->status, b->status);
}

static const struct tsim_amount *kept_parts(struct tsim_term_recorder *recorder, const struct tsim_term *term,
                                            int32_t *n) {
    struct tsim_amount *parts = TSIM_NEW_ARRAY(recorder->arena, (size_t)term->n_parts, struct tsim_amount);
    *n = 0;
    for (int32_t i = 0; i < term->n_parts; i++) {
        if (term->rule == TSIM_TERM_SUM && term->parts[i].value == 0)
            continue;
        if (!term->parts[i].term)
            TSIM_BUG("a part of '%s' was not recorded", term->name);
        parts[(*n)++] = term->parts[i];
    }
    return parts;
}

const struct tsim_term *tsim_record(struct tsim_term_recorder *recorder, const struct tsim_term *term) {
    struct tsim_term kept = *term;
    kept.parts = kept_parts(recorder, term, &kept.n_parts);
    struct tsim_term **slot = &recorder->slots[slot_of(&kept)];
    for (const struct tsim_term *same = *slot; same; same = same->next)
        if (same_term(same, &kept))
            return same;
    struct tsim_term *fresh = TSIM_NEW(recorder->arena, struct tsim_term);
    *fresh = kept;
    fresh->next = *slot;
    *slot = fresh;
    return fresh;
}

/* ---- by name ---- */

const struct tsim_term *tsim_recorded_term(const struct tsim_term_recorder *recorder, const char *name) {
    for (size_t i = 0; i < TSIM_RECORDER_SLOTS; i++)
        for (const struct tsim_term *term = recorder->slots[i]; term; term = term->next)
            if (!term->is_elsewhere && strcmp(term->name, name) == 0)
                return term;
    return NULL;
}

struct tsim_amount tsim_figure(struct tsim_term_recorder *recorder, const char *name, double value,
                               enum tsim_dimension dimension) {
    const struct tsim_term *term = recorder ? tsim_recorded_term(recorder, name) : NULL;
    if (term && term->value == value)
        return (struct tsim_amount){.value = value, .term = term};
    return tsim_elsewhere(recorder, name, value, dimension);
}

struct tsim_amount tsim_elsewhere(struct tsim_term_recorder *recorder, const char *name, double value,
                                  enum tsim_dimension dimension) {
    struct tsim_amount amount = {.value = value};
    if (recorder)
        amount.term = tsim_record(
            recorder,
            &(struct tsim_term){.name = name,
                                .source = tsim_record_text(recorder, "its own tree: tsim explain SCENARIO %s", name),
                                .value = value,
                                .dimension = dimension,
                                .rule = TSIM_TERM_GIVEN,
                                .is_elsewhere = true});
    return amount;
}

/* ---- parts one by one ---- */

void tsim_part_keep(struct tsim_part_list *list, struct tsim_amount part) {
    list->parts =
        tsim_arena_grow(list->recorder->arena, list->parts, (size_t)list->n, &list->capacity, sizeof *list->parts);
    list->parts[list->n++] = part;
}
