/* residuals.h - residuals: how far off the predictions of measured runs were, with the traits of those runs, as tables
 * in CSV.
 *
 * hardware/calibration/residuals.csv holds the published runs as this program predicts them. blind-residuals.csv holds
 * runs that were predicted before anybody had compared them with their measurements (tools/blind.py), with the
 * prediction of that time. */
#pragma once

#include "study/judge/validate.h"

struct tsim_traits {
    const char *accelerator, *vendor, *software;
    /* "dense", "experts", "hybrid", "encoder", "encoder-decoder", "image", "cnn", "mlp", "dlrm"; "adapters", whatever the
     * model beside them is; "rounds" of post-training, in tables of residuals alone */
    const char *model;
    const char *splits; /* "tensor+pipeline", "zero3"; "data": only the batch is divided */
    enum tsim_precision precision;
    bool estimates_rate; /* the accelerator's sustained matrix rate at the precision is an estimate */
    double n_accelerators, sequence, parameters; /* sequence: tokens of a sample; 0 for a model without tokens */
};

struct tsim_residual {
    const char *name, *source; /* the scenario's name, and its first word */
    struct tsim_traits traits;
    double log_ratio;                 /* ln(measured / predicted time) */
    double measured_s;                /* of a step or a round, as measured or as it follows from the rate or the days */
    const struct tsim_result *result; /* NULL: read from a table */
    bool is_first;                    /* predicted before anybody had compared a prediction with the run */
};

/* The n rows of steps come first, and those of rounds follow. */
struct tsim_residuals {
    const struct tsim_residual *rows;
    size_t n, n_rounds;
};

void tsim_traits_of(struct tsim_arena *arena, const struct tsim_result *result, struct tsim_traits *traits);

/* Reads a table of residuals. Returns TSIM_ERR_SCHEMA for a line that is no residual. */
enum tsim_status tsim_residuals_read(struct tsim_arena *arena, const char *file, struct tsim_residuals *residuals,
                                     struct tsim_diags *diags);

/* Makes a residual of each case that ran and has a measured time or rate that is not doubtful, from the first of
 * these. The days of a whole run stand for its steps. */
void tsim_residuals_of(struct tsim_arena *arena, const struct tsim_validation *validation,
                       struct tsim_residuals *residuals);

/* Cuts the line at its commas and keeps the first n_most fields. Returns the number of fields. */
size_t tsim_csv_split(char *line, const char **fields, size_t n_most);
/* Returns the path of one of the catalogue's calibration tables; NULL without a catalogue. */
const char *tsim_calibration_file(struct tsim_arena *arena, const char *name);

/* An interval is over the predicted step time: low <= 1 <= high; NAN: there is none. */
struct tsim_ratios {
    double low, high;
};
/* Writes rows with results as tsim_residuals_read reads them. */
void tsim_residuals_write(FILE *out, const struct tsim_residuals *residuals, const struct tsim_ratios *intervals);
