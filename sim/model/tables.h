/* tables.h - embedding tables of a recommendation model (DLRM; Naumov et al. 2019, arXiv:1906.00091): where they lie,
 * and what is looked up, exchanged and kept.
 *
 * The model's products are replicated, and tables are not: each rank holds some of them, for the samples of all ranks
 * (Naumov et al. 2019, section 3.2). The software says how they are dealt out (table_placement):
 *   capacity  A table above an even share of all bytes is cut by rows into equal pieces. Pieces go, the largest first,
 *             to the emptiest rank; pieces below a hundredth of a share go to the rank with the fewest lookups.
 *   whole     Each rank gets as many tables, the largest first to the emptiest (NVIDIA DeepLearningExamples, DLRM:
 *             distribute_to_buckets). The bottom MLP may be the first rank's work for all samples (bottom_mlp).
 *   lookups   The table whose pieces have most lookups is cut in two, and so on. Pieces go, those with most lookups
 *             first, to the rank with the fewest, where a vector counts as 2.25 lookups. The plan with the least load
 *             of twenty is taken (HugeCTR in MLPerf: mlcommons/training_results_v5.0,
 *             NVIDIA/benchmarks/dlrm_dcnv2/implementations/hugectr/sharding/planner.py).
 *   nodes     On one node as by lookups. More nodes take the place of its ranks, and a vector counts as 16.75 lookups;
 *             each rank of a node has an equal part of the rows of each of the node's pieces (the same with
 *             SHARDING_PLAN=hier_auto).
 *
 * Tables below `replicated_tables` are on every rank. They are not exchanged, and their gradients are summed over all
 * ranks in fp32 (the same planner's DP_SHARDING_THRESHOLD).
 *
 * Forward, a rank gathers the rows of its tables that the samples of all ranks look up, and adds those of one sample
 * and table (pooling). An all-to-all then gives each rank the vectors of its own samples. The backward pass goes the
 * same way with gradients. A piece sends a vector for each sample that has a row in it: with p rows and k pieces these
 * are 1 - (1 - 1/k)^p of the samples. By nodes, what the ranks of a node have of a vector is added up there before it
 * goes to the node of its sample (CommunicationStrategy.Hierarchical of HugeCTR). Through each NIC goes as much as in a
 * reduce-scatter, over all ranks, of the vectors that a node sends, and within the node as well, so it is played as one,
 * and the way back as an all-gather.
 *
 * Gathers are bound by memory: forward, each row is read with its index and a vector is written; backward, a gradient
 * is read. Then rows are updated (table_update):
 *   fused    at once and in place, with one fp32 value a row as state unless the optimizer is sgd (FBGEMM's fused
 *            backward and optimizer; row-wise Adagrad, EXACT_ROWWISE_ADAGRAD)
 *   sparse   through a tensor of fp32 that has a gradient for each lookup (PyTorch)
 *   reduced  through one fp32 gradient a row, with a state for each element (HugeCTR's AdaGrad)
 *
 * All but sparse sort the indices first: they are read and written for each of four digits of 8 bits, with the place
 * from which they came (CUB's radix sort). Rows are not found in caches.
 *
 * Rows that several samples of a step look up are updated once (reduced). A sample draws one of the table's ids, and
 * the probability p_r of the r-th most frequent of R ids falls as r^-skew (Zipf; with 0 all are equal). n samples draw
 * sum over r of (1 - e^(-n p_r)) different ids. An id stands for the same `pooling` rows whenever it is drawn, its own
 * and others anywhere in the table, as in MLPerf's data (facebookresearch/dlrm@0422268 torchrec_dlrm/multi_hot.py,
 * uniform). With D ids these are R (1 - e^(-pooling D / R)) rows. Without skew all lookups are draws.
 *
 * Training in 16 bits holds tables in 16 bits. With fp32_tables it holds them in 32 bits and gives vectors of 16
 * (DeepLearningExamples: FusedJointEmbedding with amp_train; HugeCTR). */
#pragma once

#include "model/operators.h"

double tsim_tables_parameters(const struct tsim_model *model);        /* those of all rows */
double tsim_tables_active_parameters(const struct tsim_model *model); /* those of the rows that one sample looks up */

/* Returns the rows that the samples of a step look up at least once. */
double tsim_tables_distinct_rows(const struct tsim_embedding_table *table, double samples);

/* A rank's share of the tables. Each figure is that of the rank that has the most of it. More than
 * TSIM_TABLES_MOST_RANKS ranks count as that many. */
enum { TSIM_TABLES_MOST_RANKS = 65536 };
struct tsim_tables_share {
    double elements, rows;           /* that the rank holds */
    double lookups, lookup_elements; /* rows of each sample of the whole cluster, and their elements */
    double vector_elements;          /* of each such sample, pooled and sent */
    double node_vector_elements;     /* by nodes: of each such sample, those that its node sends; else 0 */
    double distinct_elements;        /* of the different rows that a step looks up */
    double all_vector_elements;      /* the same over all ranks: what a rank receives for each sample of its own */
    double replica_elements;         /* elements on every rank; the next two count for each sample of the rank's own */
    double replica_lookups, replica_lookup_elements, replica_vector_elements;
};
/* This says how tables are dealt out: over which ranks, for how many samples a step, and, by lookups or nodes, with
 * room for how many elements. */
struct tsim_tables_deal {
    const struct tsim_software *software;
    double samples, most_elements;
    int64_t node_ranks; /* ranks on a node; 0 or all ranks: one node */
};
void tsim_tables_share(const struct tsim_model *model, const struct tsim_tables_deal *deal, int64_t n_ranks,
                       struct tsim_tables_share *share);

/* Returns the bytes of the tables on the fullest rank. */
double tsim_tables_weight_bytes(const struct tsim_scenario *scenario);
double tsim_tables_state_bytes(const struct tsim_scenario *scenario);
double tsim_tables_buffer_bytes(const struct tsim_scenario *scenario); /* for vectors to send, and their gradients */

void tsim_tables_forward(const struct tsim_scenario *scenario, struct tsim_op_list *list);
void tsim_tables_backward(const struct tsim_scenario *scenario, struct tsim_op_list *list);
