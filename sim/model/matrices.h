/* matrices.h - a model as the matrices that optimizers with factored or projected states work on. */
#ifndef TSIM_MODEL_MATRICES_H
#define TSIM_MODEL_MATRICES_H

#include "config/catalogue.h"

struct tsim_matrices {
    double rank;                       /* that GaLore projects to */
    double count;                      /* how many there are */
    double matrices, rows_and_columns; /* elements of matrices; rows and columns of each, added up */
    double projected,
        projected_moments;       /* elements of the matrices that GaLore projects, and of their moments after it */
    double projections;          /* elements of the projections themselves */
    double n_projected;          /* how many of them there are */
    double orthogonalized_flops; /* of a step of Newton and Schulz on each */
};

void tsim_matrices_add(struct tsim_matrices *matrices, double times, double rows, double columns, bool is_projected);

/* Add the matrices of attention (latent or not) of `times` layers, and of `times` feed-forward blocks of an inner
 * width. */
void tsim_matrices_add_attention(struct tsim_matrices *matrices, const struct tsim_model *model, double times);
void tsim_matrices_add_ffn(struct tsim_matrices *matrices, const struct tsim_model *model, double times, double inner);

#endif
