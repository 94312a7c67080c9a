/* hf_reading.h - private to import/models: a config.json while it is read, and the families of architectures. */
#pragma once

#include "config/text/value.h"
#include "import/formats.h"
#include "model/model.h"

struct tsim_hf_reading;

/* A family of architectures has its own names for things, and parts of its model are always the same. `types` are the
 * values of model_type that are read alike, separated by '|'. A name is one key, or several separated by '|', of which
 * the first that exists counts. */
struct tsim_hf_family {
    const char *types;
    const char *hidden, *layers, *heads, *kv_heads, *ffn, *positions;
    const char *vocab; /* NULL: vocab_size */
    /* `heads` is NULL if no layer attends. */
    bool kv_required;     /* else they are as many as heads */
    bool ffn_is_optional; /* else it is 4 x hidden */
    bool tied;            /* default of tie_word_embeddings */
    int64_t head_dim;     /* default; 0: hidden / heads */
    int64_t period;       /* every period-th layer has no window, if no key says which; 0: all have one */
    const char *whole;    /* those of the types whose code has no windows, whatever sliding_window says; or NULL */
    struct tsim_model fixed;
    void (*finish)(struct tsim_hf_reading *r);
};
extern const struct tsim_hf_family TSIM_HF_FAMILIES[];
extern const size_t TSIM_N_HF_FAMILIES;

struct tsim_hf_reading {
    struct tsim_arena *arena;
    const struct tsim_value *root;
    /* The whole file of a model of text and images, whose text_config is the root; else NULL. */
    const struct tsim_value *around;
    struct tsim_diags *diags;
    const struct tsim_hf_family *family;
    const char *type; /* the value in the file, one of the family's types */
    struct tsim_model model;
    const struct tsim_import_input *input;
    bool *is_used;     /* a flag for each pair of the root */
    int tied;          /* what the file around a text_config says of tie_word_embeddings: 1, -1; 0: nothing */
    const char *notes; /* lines of comment */
    bool is_approximate, is_stand_in; /* a Llama stands in for a model_type that is not known */
    enum tsim_status status;
};

/* Returns the value of the key, which then counts as used; NULL if it is absent or null. */
const struct tsim_value *tsim_hf_find(const struct tsim_hf_reading *r, const char *key);
/* Returns the first of the names that is in the file, or the first of all if none is, in the arena. */
const char *tsim_hf_key(const struct tsim_hf_reading *r, const char *names);
int64_t tsim_hf_number(struct tsim_hf_reading *r, const char *key, int64_t least, int64_t most, int64_t otherwise);
/* Returns a number of at least 1, and reports it if it is missing. */
int64_t tsim_hf_required(struct tsim_hf_reading *r, const char *key, int64_t most);
/* Returns a share above 0 and at most 1. */
double tsim_hf_share(struct tsim_hf_reading *r, const char *key, double otherwise);
bool tsim_hf_flag(struct tsim_hf_reading *r, const char *key, bool otherwise);
/* Returns whether the first of `architectures` is this class, or, for a name that begins with a star, ends in what
 * follows the star. */
bool tsim_hf_is_class(const struct tsim_hf_reading *r, const char *name);
/* Returns the number of labels: those of id2label, else num_labels, else 2. */
int64_t tsim_hf_labels(struct tsim_hf_reading *r);
/* Returns whether the type is one of the types, which stand between bars. */
bool tsim_hf_has_type(const char *types, const char *type);
/* These read models of text and images (hf_towers.c). They tell whether a type is one, and put the tower before the
 * text's layers. */
bool tsim_hf_has_tower(const struct tsim_value *type);
void tsim_hf_add_tower(struct tsim_hf_reading *r);
void tsim_hf_note(struct tsim_hf_reading *r, const char *text);
void tsim_hf_failed(struct tsim_hf_reading *r, enum tsim_status status);
struct tsim_diag *tsim_hf_refuse(struct tsim_hf_reading *r, const char *key, const char *message);
