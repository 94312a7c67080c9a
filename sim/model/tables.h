/* tables.h - embedding tables of a recommendation model (DLRM; Naumov et al. 2019, arXiv:1906.00091): where they lie,
 * what is looked up, exchanged and kept.
 *
 * Products are replicated; tables are not: each rank holds some, whole, for the samples of all ranks (Naumov et al.
 * 2019, section 3.2). They are dealt out by capacity: a table above an even share of all bytes is cut by rows into
 * equal pieces, and pieces go, the largest first, to the emptiest rank. Pieces below a hundredth of a share are no
 * matter of capacity: they go to the rank with the fewest lookups.
 *
 * Forward a rank gathers the rows that the samples of all ranks want of its tables and adds those of one sample and
 * table (pooling). An all-to-all then gives each rank the vectors of its own samples. The backward pass goes the same
 * way with gradients, and updates the rows at once (FBGEMM's fused backward and optimizer). A piece sends a vector for
 * a sample that has a row in it: of p rows and k pieces with 1 - (1 - 1/k)^p.
 *
 * Gathers are bound by memory: forward each row is read with its index, and a vector written; backward a gradient is
 * read, indices are sorted (read and written for each of four digits of 8 bits, with the place that they came from:
 * CUB's radix sort), and each row is read and written, with its state. Rows are not found in caches. Training in 16
 * bits holds tables in 16 bits, without a copy in fp32 (NVIDIA DeepLearningExamples, DLRM). Every optimizer but sgd
 * keeps one fp32 value a row: row-wise Adagrad (FBGEMM, EXACT_ROWWISE_ADAGRAD). */
#ifndef TSIM_MODEL_TABLES_H
#define TSIM_MODEL_TABLES_H

#include "model/operators.h"

double tsim_tables_parameters(const struct tsim_model *model);        /* all rows */
double tsim_tables_active_parameters(const struct tsim_model *model); /* looked up for one sample */

/* A share is what the ranks hold; each figure is of the rank that has the most of it. Beyond TSIM_TABLES_MOST_RANKS, as
 * on so many. */
enum { TSIM_TABLES_MOST_RANKS = 65536 };
struct tsim_tables_share {
    double elements, rows;           /* held */
    double lookups, lookup_elements; /* of each sample of the whole cluster: rows, and their elements */
    double vector_elements;          /* of each such sample: pooled and sent */
    double all_vector_elements;      /* the same over all ranks: what a rank gets for each sample of its own */
};
void tsim_tables_share(const struct tsim_model *model, int64_t n_ranks, struct tsim_tables_share *share);

/* Fullest rank. */
double tsim_tables_weight_bytes(const struct tsim_scenario *scenario);
double tsim_tables_state_bytes(const struct tsim_scenario *scenario);
double tsim_tables_buffer_bytes(const struct tsim_scenario *scenario); /* vectors to send, and their gradients */

void tsim_tables_forward(const struct tsim_scenario *scenario, struct tsim_op_list *list);
void tsim_tables_backward(const struct tsim_scenario *scenario, struct tsim_op_list *list);

#endif
