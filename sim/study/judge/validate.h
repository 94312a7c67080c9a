/* validate.h - predictions beside measurements. Every file with a `measured:` section is simulated, and every metric in
 * it is a row. All rows together are scored, except doubtful ones (`measured.doubtful`), which are scored apart. Files
 * are independent and may run on several threads; the result does not depend on their number. */
#pragma once

#include "run/result.h"

enum tsim_case_status { TSIM_CASE_OK, TSIM_CASE_INVALID, TSIM_CASE_DOES_NOT_FIT, TSIM_CASE_FAILED };

/* A case is one file. */
struct tsim_case {
    const char *file;
    const char *name; /* the scenario's; the file's if it could not be read */
    enum tsim_case_status status;
    enum tsim_status error;    /* why it is invalid or failed */
    struct tsim_diags diags;   /* from reading and running it */
    struct tsim_arena arena;   /* owns the result */
    struct tsim_result result; /* set with TSIM_CASE_OK and TSIM_CASE_DOES_NOT_FIT */
};

struct tsim_case_row {
    const struct tsim_case *of;
    bool has_metric;  /* false: the file is invalid, and nothing is known */
    bool is_doubtful; /* a time or rate that its file says not to trust */
    enum tsim_metric metric;
    double measured, predicted, error_frac; /* in SI units as in struct tsim_measured; NAN if there is none */
};

/* The score over the rows that have an error. Percentiles interpolate linearly between ranks. Without such a row
 * everything is NAN. */
struct tsim_score {
    size_t n;
    double mape_frac, median_ape_frac, p90_ape_frac, max_ape_frac; /* of the absolute errors */
    double bias_frac;                                              /* mean of the signed errors */
};

struct tsim_validation {
    struct tsim_case *cases;
    size_t n_cases;
    struct tsim_case_row *rows; /* in the order of the files and of enum tsim_metric */
    size_t n_rows;
    struct tsim_score score, doubtful; /* of the rows that are not doubtful, and of those that are */
};

/* Runs all cases. They and their rows are allocated from `arena`; tsim_validation_release frees what each case
 * holds. */
void tsim_validate(struct tsim_arena *arena, const char *const *files, size_t n_files,
                   const struct tsim_override *overrides, size_t n_overrides, bool ignore_memory, int32_t n_threads,
                   struct tsim_validation *validation);
void tsim_validation_release(struct tsim_validation *validation);

/* Returns "ok", "invalid", "does_not_fit" or "failed". */
const char *tsim_case_status_name(enum tsim_case_status status);

/* Computes a score. It leaves the magnitudes of the errors in their place, ascending. */
void tsim_score_errors(double *errors_frac, size_t n, struct tsim_score *score);
