/* Context parallelism. A rank holds t tokens of the sequence (an early and a late piece, so that causal work is even).
 * For each token the keys and values of its heads are key + value elements.
 *
 *   ring        cp - 1 messages of its own t tokens (forward keys and values, backward also their gradients), beside
 *               the attention on the piece before
 *   all-gather  the keys and values of all cp ranks at once, before attention; backward they are gathered again, and
 *               their gradients reduce-scattered
 *   all-to-all  t tokens of query, key and value for all heads become cp t tokens for 1 / cp of the heads, and
 *               attention's output comes back */
#include "model/operator_builders.h"

static struct tsim_op *context_collective(struct tsim_op_list *list, const char *name,
                                          enum tsim_op_collective collective, double bytes) {
    struct tsim_op *op = add(list, name, TSIM_OP_COLLECTIVE);
    op->collective = collective;
    op->axis = TSIM_AXIS_CONTEXT;
    op->collective_bytes = bytes;
    return op;
}

/* Returns the bytes of a rank's own keys and values; if they were repeated for each query head before, of all of
 * these. */
static double own_bytes(const struct tsim_op_shape *z) {
    bool is_repeated = z->software->attention_layout == TSIM_LAYOUT_REPEATED;
    return z->tk * (is_repeated ? 2 * z->query : z->key + z->value) * z->element_bytes;
}

static bool exchanges_by(const struct tsim_op_shape *z, enum tsim_context_exchange exchange) {
    return z->cp > 1 && z->scenario->parallelism.context_exchange == exchange;
}

double tsim_op_ring_pieces(const struct tsim_op_shape *z) {
    return exchanges_by(z, TSIM_CONTEXT_RING) ? z->cp : 1;
}

/* Returns the passes over a tensor that is the sum of n: the first is copied (2), each other added (3). */
static double sum_passes(double n) {
    return 2 + 3 * (n - 1);
}

/* Adds the sums of a ring's pieces. Each of n kernels of flash attention gives a result, or gradients, of a piece of
 * the keys, which are added up in passes of their own (Transformer Engine, AttnFuncWithCPAndKVP2P). The counts are the
 * last rank's, whose queries attend to all pieces; no rank goes on before the slowest. `queries` is the width of what
 * is summed for each of its tokens, `key_passes` the passes over its tokens' keys and values. */
static void merge_pieces(struct tsim_op_list *list, const struct tsim_op_shape *z, double queries, double key_passes,
                         double kernels_per_piece) {
    double n = tsim_op_ring_pieces(z), results = z->t * queries * n;
    if (n > 1 && z->flash)
        elementwise(list, "context: merge", results,
                    (z->t * queries * sum_passes(n) * z->element_bytes + key_passes * own_bytes(z)) / results,
                    kernels_per_piece * n);
}

static bool merges_in_fp32(const struct tsim_op_shape *z) {
    return z->software->context_merge == TSIM_MERGE_FP32 && tsim_op_ring_pieces(z) > 1 && z->flash;
}

/* Adds the sums of PyTorch's ring (torch/distributed/tensor/experimental/_attention.py), which adds up in fp32,
 * operator by operator: bytes for each element of a query and for each of the keys and values, which are copied in 16
 * bits before n - 1 exchanges. The counts are again the last rank's. A conversion is 6 bytes, a sum of two in fp32 12,
 * with one in 16 bits 10. */
static void merge_in_fp32(struct tsim_op_list *list, const struct tsim_op_shape *z, double query_bytes,
                          double key_bytes, double kernels_per_piece) {
    double n = tsim_op_ring_pieces(z), queries = z->t * z->query, keys = own_bytes(z) / z->element_bytes;
    elementwise(list, "context: merge", n * queries,
                (queries * query_bytes + keys * (key_bytes + (n - 1) * 2 * z->element_bytes)) / (n * queries),
                kernels_per_piece * n);
}

void tsim_op_context_before_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    double own = own_bytes(z);
    if (exchanges_by(z, TSIM_CONTEXT_RING))
        context_collective(list, "context: keys and values", TSIM_OP_RING_EXCHANGE, (z->cp - 1) * own)->overlap =
            TSIM_CONCURRENT_NEXT;
    if (exchanges_by(z, TSIM_CONTEXT_ALL_GATHER))
        context_collective(list, "context: gather keys and values", TSIM_OP_ALL_GATHER, z->cp * own);
    if (exchanges_by(z, TSIM_CONTEXT_ALL_TO_ALL))
        context_collective(list, "context: to heads", TSIM_OP_ALL_TO_ALL, own + z->t * z->query * z->element_bytes);
}

/* Adds what follows attention. If it is causal, the early half of n - 1 other ranks' keys and values is copied (2
 * passes over half). The kernels are those of result, row statistics, keys and values. */
void tsim_op_context_after_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    /* In fp32 each piece is converted, and n - 1 are added as out - sigmoid(...) (out - piece): 12, 8 and 12 bytes. */
    if (merges_in_fp32(z))
        merge_in_fp32(list, z, 6 * tsim_op_ring_pieces(z) + 32 * (tsim_op_ring_pieces(z) - 1) + 6, 0, 9);
    else
        merge_pieces(list, z, z->q, z->causal ? tsim_op_ring_pieces(z) - 1 : 0, 4);
    if (exchanges_by(z, TSIM_CONTEXT_ALL_TO_ALL))
        context_collective(list, "context: output to tokens", TSIM_OP_ALL_TO_ALL, z->t * z->q * z->element_bytes);
}

void tsim_op_context_before_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    double own = own_bytes(z), gradients = merges_in_fp32(z) ? own * 4 / z->element_bytes * z->cp : (z->cp - 1) * own;
    if (exchanges_by(z, TSIM_CONTEXT_RING))
        context_collective(list, "context: keys, values and their gradients", TSIM_OP_RING_EXCHANGE,
                           (z->cp - 1) * own + gradients)
            ->overlap = TSIM_CONCURRENT_NEXT;
    if (exchanges_by(z, TSIM_CONTEXT_ALL_GATHER))
        context_collective(list, "context: gather keys and values", TSIM_OP_ALL_GATHER, z->cp * own);
    if (exchanges_by(z, TSIM_CONTEXT_ALL_TO_ALL))
        context_collective(list, "context: output gradient to heads", TSIM_OP_ALL_TO_ALL,
                           z->t * z->q * z->element_bytes);
}

/* Adds what follows attention's backward pass. If it is causal, n - 1 halves are copied as before; of the gradients the
 * first half is copied (1), n - 2 halves are added (1.5 each) and the rank's own whole (3): 2.5 n passes. The kernels
 * are those of keys, values, and the gradients of queries, keys and values. */
void tsim_op_context_after_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    double n = tsim_op_ring_pieces(z), own = own_bytes(z);
    /* In fp32 there are zeros (4 bytes) to which n gradients of queries are added (10) before they are converted. For
     * keys and values half is added n - 1 times and both halves are joined (8), and each sum is joined with the other
     * (8) to be sent. */
    if (merges_in_fp32(z))
        merge_in_fp32(list, z, 4 + 10 * n + 6, 4 + 10 + (5 + 8) * (n - 1) + 8 * n + 6, 9);
    else
        merge_pieces(list, z, z->query, z->causal ? 2.5 * n : sum_passes(n), 5);
    if (exchanges_by(z, TSIM_CONTEXT_ALL_GATHER))
        context_collective(list, "context: scatter gradients", TSIM_OP_REDUCE_SCATTER, z->cp * own);
    if (exchanges_by(z, TSIM_CONTEXT_ALL_TO_ALL))
        context_collective(list, "context: gradients to tokens", TSIM_OP_ALL_TO_ALL,
                           own + z->t * z->query * z->element_bytes);
}
