#include "import/models/hf_reading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* null counts as absent. */
const struct tsim_value *tsim_hf_find(const struct tsim_hf_reading *r, const char *key) {
    const struct tsim_pair *pair = tsim_value_find_pair(r->root, key);
    if (!pair)
        return NULL;
    r->is_used[pair - r->root->pairs] = true;
    return !pair->value->is_quoted && tsim_value_is_text(pair->value, "null") ? NULL : pair->value;
}

const char *tsim_hf_key(const struct tsim_hf_reading *r, const char *names) {
    const char *first = NULL;
    for (const char *at = names; *at; at += at[strcspn(at, "|")] ? strcspn(at, "|") + 1 : strcspn(at, "|")) {
        const char *name = tsim_arena_strndup(r->arena, at, strcspn(at, "|"));
        if (tsim_hf_find(r, name))
            return name;
        first = first ? first : name;
    }
    return first;
}

void tsim_hf_failed(struct tsim_hf_reading *r, enum tsim_status status) {
    if (r->status == TSIM_OK)
        r->status = status;
}

static void is_missing(struct tsim_hf_reading *r, const char *key) {
    struct tsim_diag *diag =
        tsim_value_error(r->diags, TSIM_ERR_SCHEMA, r->root, key, "missing: a model of type '%s' needs it", r->type);
    tsim_diag_hint(
        diag, "take the config.json that lies beside the weights: tsim does not guess the defaults of transformers");
    tsim_hf_failed(r, TSIM_ERR_SCHEMA);
}

static int64_t wrong_number(struct tsim_hf_reading *r, const struct tsim_value *value, const char *key, int64_t least,
                            int64_t most) {
    if (value->kind == TSIM_VALUE_SCALAR)
        tsim_value_error(r->diags, TSIM_ERR_RANGE, value, key, "'%.60s' is no whole number from %lld to %lld",
                         value->text, (long long)least, (long long)most);
    else
        tsim_value_error(r->diags, TSIM_ERR_SCHEMA, value, key, "%s where a number belongs",
                         tsim_value_kind_name(value));
    tsim_hf_failed(r, TSIM_ERR_RANGE);
    return least;
}

int64_t tsim_hf_number(struct tsim_hf_reading *r, const char *key, int64_t least, int64_t most, int64_t otherwise) {
    const struct tsim_value *value = tsim_hf_find(r, key);
    char *end;
    if (!value)
        return otherwise;
    if (value->kind != TSIM_VALUE_SCALAR || value->is_quoted)
        return wrong_number(r, value, key, least, most);
    errno = 0;
    long long parsed = strtoll(value->text, &end, 10);
    if (errno != 0 || end == value->text || *end != '\0' || parsed < least || parsed > most)
        return wrong_number(r, value, key, least, most);
    return parsed;
}

int64_t tsim_hf_required(struct tsim_hf_reading *r, const char *key, int64_t most) {
    if (!tsim_hf_find(r, key)) {
        is_missing(r, key);
        return 1;
    }
    return tsim_hf_number(r, key, 1, most, 1);
}

bool tsim_hf_has_type(const char *types, const char *type) {
    const size_t length = strlen(type);
    for (const char *at = types; *at; at += strspn(at, "|")) {
        if (strcspn(at, "|") == length && strncmp(at, type, length) == 0)
            return true;
        at += strcspn(at, "|");
    }
    return false;
}

double tsim_hf_share(struct tsim_hf_reading *r, const char *key, double otherwise) {
    const struct tsim_value *value = tsim_hf_find(r, key);
    char *end;
    if (!value)
        return otherwise;
    double parsed = value->kind == TSIM_VALUE_SCALAR && !value->is_quoted ? strtod(value->text, &end) : 0;
    if (!(parsed > 0 && parsed <= 1) || *end != '\0') {
        tsim_value_error(r->diags, TSIM_ERR_RANGE, value, key, "no number above 0 and at most 1");
        tsim_hf_failed(r, TSIM_ERR_RANGE);
        return otherwise;
    }
    return parsed;
}

bool tsim_hf_flag(struct tsim_hf_reading *r, const char *key, bool otherwise) {
    const struct tsim_value *value = tsim_hf_find(r, key);
    if (!value)
        return otherwise;
    if (!value->is_quoted && tsim_value_is_text(value, "true"))
        return true;
    if (value->is_quoted || !tsim_value_is_text(value, "false")) {
        tsim_value_error(r->diags, TSIM_ERR_SCHEMA, value, key, "neither true nor false");
        tsim_hf_failed(r, TSIM_ERR_SCHEMA);
    }
    return false;
}

void tsim_hf_note(struct tsim_hf_reading *r, const char *text) {
    r->notes = tsim_arena_printf(r->arena, "%s# %s\n", r->notes, text);
}

struct tsim_diag *tsim_hf_refuse(struct tsim_hf_reading *r, const char *key, const char *message) {
    const struct tsim_value *value = tsim_hf_find(r, key);
    tsim_hf_failed(r, TSIM_ERR_INFEASIBLE);
    return tsim_value_error(r->diags, TSIM_ERR_INFEASIBLE, value ? value : r->root, key, "%s", message);
}

bool tsim_hf_is_class(const struct tsim_hf_reading *r, const char *name) {
    const struct tsim_value *classes = tsim_hf_find(r, "architectures");
    if (!classes || classes->kind != TSIM_VALUE_SEQUENCE || classes->n_items == 0 ||
        classes->items[0]->kind != TSIM_VALUE_SCALAR)
        return false;
    const char *text = classes->items[0]->text;
    size_t length = strlen(text), ending = strlen(name) - 1;
    return name[0] == '*' ? length >= ending && strcmp(text + length - ending, name + 1) == 0 : strcmp(text, name) == 0;
}
