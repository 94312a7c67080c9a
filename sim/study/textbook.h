/* textbook.h - the worked examples of textbooks beside what this program says. Every number of an example is computed
 * by a run of a scenario in scenarios/textbook, by a function of model/, partition/ or cost/, or from the catalogue.
 * The computations stand in scenarios/textbook/examples/examples.yaml, as expressions (textbook.c).
 *
 * The examples are those of the chapter "Model Training" of Vijay Janapa Reddi, Machine Learning Systems, volume 1
 * (github.com/harvard-edge/cs249r_book, book/quarto/contents/vol1/training/training.qmd at 97118ba0d8, February 2026;
 * its numbers come from the same repository's mlsys package), and a few of shorter texts, which say so. */
#pragma once

#include "base/arena.h"
#include "base/status.h"

/* This says which is right if text and program differ by more than the row allows. */
enum tsim_textbook_right {
    TSIM_TEXTBOOK_BOTH,   /* they agree, or answer different questions, as `why` says */
    TSIM_TEXTBOOK_TSIM,   /* the text is mistaken, or leaves out what is counted here */
    TSIM_TEXTBOOK_TEXT,   /* the program is mistaken, or leaves out what the text counts */
    TSIM_TEXTBOOK_NOBODY, /* unknown: the text reports a measurement without its settings */
    TSIM_N_TEXTBOOK_RIGHTS
};
const char *tsim_textbook_right_name(enum tsim_textbook_right right); /* "both", "tsim", "text", "unknown" */

struct tsim_textbook_value {
    const char *what, *unit;
    double text, text_to; /* in `unit`: a number (equal), a range, or "more than" (text_to infinite); NAN: no number */
    double tsim;          /* in `unit` */
    double difference_frac; /* tsim over the text (the nearer end of a range) - 1; NAN if the text has no number */
    bool agrees;            /* within what the row allows for rounding of the text's inputs and results */
    enum tsim_textbook_right right;
    const char *why; /* NULL: there is nothing to explain */
    const char *how; /* how tsim's value was computed */
};

struct tsim_textbook_example {
    const char *id;      /* "network-wall" */
    const char *title;   /* "The network wall: ..." */
    const char *problem; /* the text's question and answer, in a sentence or two */
    const struct tsim_textbook_value *values;
    size_t n_values;
};

struct tsim_textbook {
    const struct tsim_textbook_example *examples;
    size_t n_examples;
    /* The values with a number in the text, those of them that agree, and, by who is right, those that do not. */
    size_t n_values, n_agree, n_right[TSIM_N_TEXTBOOK_RIGHTS];
};

/* Lists the ids of the examples in the order of the text. */
enum tsim_status tsim_textbook_ids(struct tsim_arena *arena, const char *const **ids, size_t *n,
                                   struct tsim_diags *diags);

/* Computes the examples, all of them if `id` is NULL; an unknown id gives none. It fails if one of their scenarios
 * cannot be read or run (diags says which). Everything in *textbook is allocated from `arena`. */
enum tsim_status tsim_textbook_compute(struct tsim_arena *arena, const char *id, struct tsim_textbook *textbook,
                                       struct tsim_diags *diags);
