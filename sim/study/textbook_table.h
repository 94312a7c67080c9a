/* textbook_table.h - private to study: how the examples of textbook.h are written down (textbook_*.c) and how a value
 * is computed from what is written. A value is a chain of terms, taken from left to right without precedence:
 * 2 + 3 * 4 is 20. Terms are in SI; the result is divided by what the row's unit stands for. */
#ifndef TSIM_STUDY_TEXTBOOK_TABLE_H
#define TSIM_STUDY_TEXTBOOK_TABLE_H

#include "study/textbook.h"

#include <math.h>

enum textbook_term_kind {
    TEXTBOOK_NONE, /* ends the chain */
    TEXTBOOK_NUMBER,
    TEXTBOOK_ROW,      /* the value of an earlier row of the example, by its key */
    TEXTBOOK_FIGURE,   /* a figure of a run's summary (report/outcome.h) */
    TEXTBOOK_OPERATOR, /* of an operator of a run over a step: "attention qkv (forward)"; "(forward)": of all of them */
    TEXTBOOK_KEPT,     /* bytes of a tensor that a layer of a run keeps for its backward pass */
    TEXTBOOK_HARDWARE, /* a value of a catalogue file: "accelerator/v100-32gb", "peak.fp16" */
    TEXTBOOK_CALL,     /* a function of numbers */
    TEXTBOOK_PRODUCT,  /* seconds of a matrix product on an accelerator */
    TEXTBOOK_FEED,     /* seconds of a step that an input pipeline feeds (training/feed.h) */
    TEXTBOOK_HOST      /* bytes of a run's input buffers in a host's memory */
};
enum textbook_quantity { TEXTBOOK_FLOPS, TEXTBOOK_VECTOR_FLOPS, TEXTBOOK_BYTES, TEXTBOOK_SECONDS };

/* A run is a scenario of scenarios/textbook by its name, and what is set in it: "gpt2 training.precision=fp16". */
struct textbook_term {
    char op; /* + - * / */
    enum textbook_term_kind kind;
    const char *of, *name;
    double numbers[8]; /* a number is the first; else arguments of the call, product or feed, in their order */
    enum textbook_quantity quantity;
    double (*call)(double, double, double, double);
    const char *call_name;
};

#define NUM(op_, x)                                                                                                    \
    {                                                                                                                  \
        .op = (op_), .kind = TEXTBOOK_NUMBER, .numbers = {(x) }                                                        \
    }
#define ROW(op_, key_)                                                                                                 \
    { .op = (op_), .kind = TEXTBOOK_ROW, .name = (key_) }
#define FIGURE(op_, run, figure)                                                                                       \
    { .op = (op_), .kind = TEXTBOOK_FIGURE, .of = (run), .name = (figure) }
#define OPERATOR(op_, run, which, quantity_)                                                                           \
    { .op = (op_), .kind = TEXTBOOK_OPERATOR, .of = (run), .name = (which), .quantity = TEXTBOOK_##quantity_ }
#define KEPT(op_, run, tensor)                                                                                         \
    { .op = (op_), .kind = TEXTBOOK_KEPT, .of = (run), .name = (tensor) }
#define HARDWARE(op_, entry, key_)                                                                                     \
    { .op = (op_), .kind = TEXTBOOK_HARDWARE, .of = (entry), .name = (key_) }
#define CALL(op_, function, a, b, c, d)                                                                                \
    {                                                                                                                  \
        .op = (op_), .kind = TEXTBOOK_CALL, .call = (function), .call_name = #function, .numbers = {                   \
            (a),                                                                                                       \
            (b),                                                                                                       \
            (c),                                                                                                       \
            (d)                                                                                                        \
        }                                                                                                              \
    }
#define PRODUCT(op_, accelerator, precision, batch, m, n, k)                                                           \
    {                                                                                                                  \
        .op = (op_), .kind = TEXTBOOK_PRODUCT, .of = (accelerator), .name = (precision), .numbers = { batch, m, n, k } \
    }

/* Seconds of a batch: read from storage, transformed by one core, copied to the accelerator, computed. */
#define FEED_STEP(op_, read_s, cpu_s, copy_s, compute_s, workers, prefetch, batches, is_first)                         \
    {                                                                                                                  \
        .op = (op_), .kind = TEXTBOOK_FEED, .numbers = {                                                               \
            read_s,                                                                                                    \
            cpu_s,                                                                                                     \
            copy_s,                                                                                                    \
            compute_s,                                                                                                 \
            workers,                                                                                                   \
            prefetch,                                                                                                  \
            batches,                                                                                                   \
            is_first                                                                                                   \
        }                                                                                                              \
    }
#define FEED(op_, read_s, cpu_s, copy_s, compute_s, workers, prefetch, batches)                                        \
    FEED_STEP(op_, read_s, cpu_s, copy_s, compute_s, workers, prefetch, batches, 0)
/* The first step alone, which begins with empty buffers. */
#define FIRST_FEED(op_, read_s, cpu_s, copy_s, compute_s, workers, prefetch, batches)                                  \
    FEED_STEP(op_, read_s, cpu_s, copy_s, compute_s, workers, prefetch, batches, 1)
#define HOST(op_, run)                                                                                                 \
    { .op = (op_), .kind = TEXTBOOK_HOST, .of = (run) }

enum { TEXTBOOK_MOST_TERMS = 10 };

struct textbook_row {
    const char *key;       /* for other rows of the example */
    const char *what;      /* what people read */
    const char *unit;      /* one of textbook.c's UNITS */
    double text, text_to;  /* text_to 0: one number */
    double tolerance_frac; /* 0: the default, what rounding to the text's digits explains */
    enum tsim_textbook_right right;
    const char *why;
    struct textbook_term terms[TEXTBOOK_MOST_TERMS];
};

struct textbook_spec {
    const char *id, *title, *problem;
    const struct textbook_row *rows;
    size_t n_rows;
};
#define TEXTBOOK_ROWS(array) .rows = (array), .n_rows = sizeof(array) / sizeof((array)[0])

struct textbook_part {
    const struct textbook_spec *specs;
    size_t n_specs;
};
extern const struct textbook_part tsim_textbook_foundations, tsim_textbook_memory, tsim_textbook_speed,
    tsim_textbook_scaling, tsim_textbook_input, tsim_textbook_others;

#endif
