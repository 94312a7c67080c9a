/* validate.h - predicted beside measured: every file with a `measured:` section is simulated, every metric in it is a
 * row, and all rows together are scored, but those that are doubtful (`measured.doubtful`), which are scored apart.
 * Files are independent and may run on several threads; what comes out does not depend on how many. */
#ifndef TSIM_STUDY_VALIDATE_H
#define TSIM_STUDY_VALIDATE_H

#include "run/result.h"

enum tsim_case_status { TSIM_CASE_OK, TSIM_CASE_INVALID, TSIM_CASE_DOES_NOT_FIT, TSIM_CASE_FAILED };

struct tsim_case { /* one file */
    const char *file;
    const char *name; /* the scenario's; the file's when it could not be read */
    enum tsim_case_status status;
    enum tsim_status error;    /* why it is invalid or failed */
    struct tsim_diags diags;   /* of reading and of running it */
    struct tsim_arena arena;   /* holds the result */
    struct tsim_result result; /* with TSIM_CASE_OK and TSIM_CASE_DOES_NOT_FIT */
};

struct tsim_case_row {
    const struct tsim_case *of;
    bool has_metric;  /* false: the file is invalid, nothing is known */
    bool is_doubtful; /* a time or rate that its file says not to trust */
    enum tsim_metric metric;
    double measured, predicted, error_frac; /* SI as in struct tsim_measured; NAN where there is none */
};

/* The score over the rows that have an error. Percentiles interpolate linearly between ranks. NAN without such a
 * row. */
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

/* Leaves the magnitudes of the errors in their place, ascending. */
void tsim_score_errors(double *errors_frac, size_t n, struct tsim_score *score);

#endif
