/* tables.h - embedding tables of a recommendation model (DLRM; Naumov et al. 2019, arXiv:1906.00091): where they lie,
 * what is looked up, exchanged and kept.
 *
 * Products are replicated; tables are not: each rank holds some, for the samples of all ranks (Naumov et al.
 * 2019, section 3.2). How they are dealt out is the software's (table_placement):
 * - capacity: a table above an even share of all bytes is cut by rows into
 *   equal pieces, and pieces go, the largest first, to the emptiest rank. Pieces below a hundredth of a share are no
 *   matter of capacity: they go to the rank with the fewest lookups.
 * - whole: as many tables to each rank, the largest first to the emptiest (NVIDIA DeepLearningExamples, DLRM:
 *   distribute_to_buckets). The bottom MLP may be the first rank's work for all samples (bottom_mlp).
 * - lookups: the table whose pieces have most lookups is cut in two, and so on; pieces go, those with most lookups first, to the
 *   rank with fewest, a vector counting as 2.25 lookups; of twenty such plans the one with the least load is
 *   taken (HugeCTR in MLPerf: mlcommons/training_results_v5.0, NVIDIA/benchmarks/dlrm_dcnv2/implementations/hugectr/sharding/planner.py).
 * Tables below `replicated_tables` are on every rank: nothing of them is exchanged, and their gradients are summed over
 * all ranks in fp32 (there, DP_SHARDING_THRESHOLD).
 *
 * Forward a rank gathers the rows that the samples of all ranks want of its tables and adds those of one sample and
 * table (pooling). An all-to-all then gives each rank the vectors of its own samples. The backward pass goes the same
 * way with gradients. A piece sends a vector for a sample that has a row in it: of p rows and k pieces with
 * 1 - (1 - 1/k)^p.
 *
 * Gathers are bound by memory: forward each row is read with its index, and a vector written; backward a gradient is
 * read. Then rows are updated (table_update): at once, in place (fused: FBGEMM's fused backward and optimizer), with one
 * fp32 value a row as state unless the optimizer is sgd (row-wise Adagrad, EXACT_ROWWISE_ADAGRAD); through a tensor of fp32 that has a
 * gradient for each lookup (sparse: PyTorch); or through one fp32 gradient a row, with a state of each element
 * (reduced: HugeCTR's AdaGrad). All but sparse sort the indices first (read and written for each of four digits of 8 bits, with
 * the place that they came from: CUB's radix sort). Rows are not found in caches.
 *
 * Rows that several samples of a step look up are updated once (reduced). A sample draws one
 * of the table's ids; the r-th most frequent of R comes with a probability that falls as r^-skew (Zipf; 0: all alike).
 * n samples draw sum over r of (1 - e^(-n p_r)) different ids. An id stands for the same `pooling` rows whenever it is
 * drawn, itself and others that are anywhere in the table, as in MLPerf's data (facebookresearch/dlrm@0422268
 * torchrec_dlrm/multi_hot.py, uniform): of D ids these are R (1 - e^(-pooling D / R)). Without skew all lookups are
 * draws.
 * Training in 16 bits holds tables in 16 bits, or, with fp32_tables, in 32 and gives vectors of 16 (DeepLearningExamples:
 * FusedJointEmbedding with amp_train; HugeCTR). */
#ifndef TSIM_MODEL_TABLES_H
#define TSIM_MODEL_TABLES_H

#include "model/operators.h"

double tsim_tables_parameters(const struct tsim_model *model);        /* all rows */
double tsim_tables_active_parameters(const struct tsim_model *model); /* looked up for one sample */

/* Returns the rows that the samples of a step look up at least once. */
double tsim_tables_distinct_rows(const struct tsim_embedding_table *table, double samples);

/* A share is what the ranks hold; each figure is of the rank that has the most of it. Beyond TSIM_TABLES_MOST_RANKS, as
 * on so many. */
enum { TSIM_TABLES_MOST_RANKS = 65536 };
struct tsim_tables_share {
    double elements, rows;           /* held */
    double lookups, lookup_elements; /* of each sample of the whole cluster: rows, and their elements */
    double vector_elements;          /* of each such sample: pooled and sent */
    double distinct_elements;        /* of the rows that a step looks up, whatever the sample */
    double all_vector_elements;      /* the same over all ranks: what a rank gets for each sample of its own */
    double replica_elements;         /* on every rank; and of each sample of its own: */
    double replica_lookups, replica_lookup_elements, replica_vector_elements;
};
/* Tells how tables are dealt out: over which ranks, for how many samples a step, and, if by lookups, with room for how
 * many elements. */
struct tsim_tables_deal {
    const struct tsim_software *software;
    double samples, most_elements;
};
void tsim_tables_share(const struct tsim_model *model, const struct tsim_tables_deal *deal, int64_t n_ranks,
                       struct tsim_tables_share *share);

/* Returns the bytes of the tables on the fullest rank. */
double tsim_tables_weight_bytes(const struct tsim_scenario *scenario);
double tsim_tables_state_bytes(const struct tsim_scenario *scenario);
double tsim_tables_buffer_bytes(const struct tsim_scenario *scenario); /* vectors to send, and their gradients */

void tsim_tables_forward(const struct tsim_scenario *scenario, struct tsim_op_list *list);
void tsim_tables_backward(const struct tsim_scenario *scenario, struct tsim_op_list *list);

#endif
