#include "model/tables.h"

#include "model/operator_builders.h"

#include <math.h>
#include <stdlib.h>

#define INDEX_BYTES 8.0
#define STATE_BYTES 4.0 /* of a row */
#define SORT_PASSES 4.0
#define SMALL_SHARE 0.01

double tsim_tables_parameters(const struct tsim_model *m) {
    double n = 0;
    for (size_t i = 0; i < m->n_tables; i++)
        n += (double)m->tables[i].rows * (double)m->tables[i].dim;
    return n;
}

double tsim_tables_active_parameters(const struct tsim_model *m) {
    double n = 0;
    for (size_t i = 0; i < m->n_tables; i++)
        n += fmin((double)m->tables[i].pooling, (double)m->tables[i].rows) * (double)m->tables[i].dim;
    return n;
}

/* ---- dealing out ---- */

struct piece {
    double rows, elements; /* held */
    double lookups, dim, vectors;
    int64_t number; /* where sizes are equal */
};

struct rank {
    double rows, elements, lookups, lookup_elements, vector_elements;
};

static int compare_pieces(const void *a, const void *b) {
    const struct piece *x = a, *y = b;
    if (x->elements != y->elements)
        return x->elements > y->elements ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static double pieces_of(const struct tsim_embedding_table *table, double share_elements, double ranks) {
    double n = ceil((double)table->rows * (double)table->dim / share_elements);
    return fmax(fmin(n, fmin(ranks, (double)table->rows)), 1);
}

static struct piece piece_of(const struct tsim_embedding_table *table, double pieces, int64_t number) {
    double rows = (double)table->rows / pieces, pooling = (double)table->pooling, dim = (double)table->dim;
    return (struct piece){.rows = rows,
                          .elements = rows * dim,
                          .lookups = pooling / pieces,
                          .dim = dim,
                          .vectors = 1 - pow(1 - 1 / pieces, pooling),
                          .number = number};
}

static void give(struct rank *rank, const struct piece *piece) {
    rank->rows += piece->rows;
    rank->elements += piece->elements;
    rank->lookups += piece->lookups;
    rank->lookup_elements += piece->lookups * piece->dim;
    rank->vector_elements += piece->vectors * piece->dim;
}

static struct rank *fewest_lookups(struct rank *ranks, size_t n) {
    struct rank *best = &ranks[0];
    for (size_t i = 1; i < n; i++)
        if (ranks[i].lookup_elements < best->lookup_elements)
            best = &ranks[i];
    return best;
}

/* The ranks are a heap, the emptiest on top, which has just got something. */
static void sift_down(struct rank *ranks, size_t n) {
    size_t at = 0;
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < n; child++)
            if (ranks[child].elements < ranks[least].elements)
                least = child;
        if (least == at)
            return;
        struct rank moved = ranks[at];
        ranks[at] = ranks[least];
        ranks[least] = moved;
        at = least;
    }
}

/* Largest first; what is left below `small_elements` by lookups. */
static void deal(const struct piece *pieces, size_t n_pieces, double small_elements, struct rank *ranks, size_t n) {
    for (size_t i = 0; i < n_pieces; i++) {
        if (pieces[i].elements < small_elements) {
            give(fewest_lookups(ranks, n), &pieces[i]);
            continue;
        }
        give(&ranks[0], &pieces[i]);
        sift_down(ranks, n);
    }
}

static void largest_of(const struct rank *ranks, size_t n, struct tsim_tables_share *share) {
    for (size_t i = 0; i < n; i++) {
        share->rows = fmax(share->rows, ranks[i].rows);
        share->elements = fmax(share->elements, ranks[i].elements);
        share->lookups = fmax(share->lookups, ranks[i].lookups);
        share->lookup_elements = fmax(share->lookup_elements, ranks[i].lookup_elements);
        share->vector_elements = fmax(share->vector_elements, ranks[i].vector_elements);
        share->all_vector_elements += ranks[i].vector_elements;
    }
}

void tsim_tables_share(const struct tsim_model *m, int64_t n_ranks, struct tsim_tables_share *share) {
    size_t n_dealt = (size_t)(n_ranks < TSIM_TABLES_MOST_RANKS ? n_ranks : TSIM_TABLES_MOST_RANKS);
    double even = tsim_tables_parameters(m) / (double)n_dealt;
    size_t n = 0, capacity = 0, rank_capacity = 0;
    struct piece *pieces = NULL;
    struct rank *ranks = NULL;
    *share = (struct tsim_tables_share){0};
    if (m->n_tables == 0)
        return;
    for (size_t i = 0; i < m->n_tables; i++) {
        double k = pieces_of(&m->tables[i], even, (double)n_dealt);
        pieces = tsim_heap_grow(pieces, &capacity, n + (size_t)k, sizeof *pieces);
        for (size_t j = 0; j < (size_t)k; j++, n++)
            pieces[n] = piece_of(&m->tables[i], k, (int64_t)n);
    }
    ranks = tsim_heap_grow(ranks, &rank_capacity, n_dealt, sizeof *ranks);
    memset(ranks, 0, n_dealt * sizeof *ranks);
    qsort(pieces, n, sizeof *pieces, compare_pieces);
    deal(pieces, n, SMALL_SHARE * even, ranks, n_dealt);
    largest_of(ranks, n_dealt, share);
    tsim_heap_free(pieces);
    tsim_heap_free(ranks);
}

static void share_of(const struct tsim_scenario *sc, struct tsim_tables_share *share) {
    tsim_tables_share(sc->model, sc->parallelism.data, share);
}

/* ---- memory ---- */

static double element_bytes(const struct tsim_scenario *sc) {
    return sc->training.precision == TSIM_FP32 || sc->training.precision == TSIM_TF32 ? 4 : 2;
}

double tsim_tables_weight_bytes(const struct tsim_scenario *sc) {
    struct tsim_tables_share share;
    if (sc->model->n_tables == 0)
        return 0;
    share_of(sc, &share);
    return share.elements * element_bytes(sc);
}

static double state_bytes(const struct tsim_scenario *sc) {
    return sc->training.optimizer == TSIM_SGD ? 0 : STATE_BYTES;
}

double tsim_tables_state_bytes(const struct tsim_scenario *sc) {
    struct tsim_tables_share share;
    if (sc->model->n_tables == 0)
        return 0;
    share_of(sc, &share);
    return share.rows * state_bytes(sc);
}

/* Samples of all ranks in a pass. */
static double all_samples(const struct tsim_scenario *sc) {
    return (double)sc->training.micro_batch_size * (double)sc->parallelism.data;
}

double tsim_tables_buffer_bytes(const struct tsim_scenario *sc) {
    struct tsim_tables_share share;
    if (sc->model->n_tables == 0)
        return 0;
    share_of(sc, &share);
    return 2 * all_samples(sc) * share.vector_elements * element_bytes(sc);
}

/* ---- kernels ---- */

/* The larger of what a rank sends and of what it gets. */
static void exchange(const struct tsim_scenario *sc, const struct tsim_tables_share *share, const char *name,
                     struct tsim_op_list *list) {
    double sent = all_samples(sc) * share->vector_elements,
           received = (double)sc->training.micro_batch_size * share->all_vector_elements;
    if (sc->parallelism.data == 1)
        return;
    struct tsim_op *op = add(list, name, TSIM_OP_COLLECTIVE);
    op->collective = TSIM_OP_ALL_TO_ALL;
    op->axis = TSIM_AXIS_DATA;
    op->collective_bytes = fmax(sent, received) * element_bytes(sc);
}

void tsim_tables_forward(const struct tsim_scenario *sc, struct tsim_op_list *list) {
    struct tsim_tables_share share;
    double samples = all_samples(sc), e = element_bytes(sc);
    share_of(sc, &share);
    elementwise(list, "tables, gather", samples,
                share.lookups * INDEX_BYTES + (share.lookup_elements + share.vector_elements) * e, 1);
    exchange(sc, &share, "tables: vectors to samples", list);
}

void tsim_tables_backward(const struct tsim_scenario *sc, struct tsim_op_list *list) {
    struct tsim_tables_share share;
    double samples = all_samples(sc), e = element_bytes(sc);
    share_of(sc, &share);
    exchange(sc, &share, "tables: gradients to tables", list);
    elementwise(list, "tables, sort", samples, share.lookups * SORT_PASSES * 2 * 2 * INDEX_BYTES, 2 * SORT_PASSES);
    elementwise(list, "tables, update", samples,
                share.lookups * (INDEX_BYTES + 2 * state_bytes(sc)) +
                    (share.vector_elements + 2 * share.lookup_elements) * e,
                1);
}
