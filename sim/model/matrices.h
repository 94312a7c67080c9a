/* matrices.h - a model as matrices, on which optimizers with factored or projected states work. */
#pragma once

#include "config/catalogue.h"

struct tsim_matrices {
    double rank;                       /* the rank to which GaLore projects */
    double count;                      /* number of matrices */
    double matrices, rows_and_columns; /* elements of all matrices; rows and columns of each, added up */
    double projected,
        projected_moments;       /* elements of the matrices that GaLore projects, and of their moments afterwards */
    double projections;          /* elements of the projections themselves */
    double n_projected;          /* number of the projections */
    double orthogonalized_flops; /* of one step of Newton and Schulz on each matrix */
};

void tsim_matrices_add(struct tsim_matrices *matrices, double times, double rows, double columns, bool is_projected);

/* These add the matrices of attention (latent or not) of `times` layers, and of `times` feed-forward blocks of an inner
 * width. */
void tsim_matrices_add_attention(struct tsim_matrices *matrices, const struct tsim_model *model, double times);
void tsim_matrices_add_ffn(struct tsim_matrices *matrices, const struct tsim_model *model, double times, double inner);
