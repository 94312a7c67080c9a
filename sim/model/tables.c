#include "model/tables.h"

#include "model/operator_builders.h"

#include <math.h>
#include <stdlib.h>

#define INDEX_BYTES 8.0
#define STATE_BYTES 4.0 /* a row has one state of this size */
#define SORT_PASSES 4.0
#define SMALL_SHARE 0.01
#define FP32_BYTES 4.0
/* HugeCTR's planner counts in lookups what a rank's share of a table costs besides its lookups, which is the vector
 * that it sends (NVIDIA's train.py for MLPerf: 9 times slower links than memory over 4 times more traffic in memory).
 * The second number says how often it looks for a better plan (sharding/planner.py: max_search_iter). */
#define VECTOR_LOOKUPS (9.0 / 4)
#define NODE_VECTOR_LOOKUPS (67.0 / 4) /* MEM_COMM_BW_RATIO of eight nodes: their memory over a NIC */
#define MOST_PLANS 20
#define MOST_OF_MEMORY 0.75 /* train.py: memory_cap_for_embedding of 60 GB, of 80 */

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

/* ---- ranks and pieces ---- */

struct piece {
    double rows, elements; /* held */
    double lookups, dim, vectors;
    double parts;    /* vectors of a rank's part of it, if the ranks of a node share it */
    double distinct; /* rows that a step looks up */
    size_t table;
    int64_t number; /* if sizes are equal */
};

struct rank {
    double rows, elements, lookups, lookup_elements, vector_elements, part_elements, distinct_elements;
    size_t tables, last; /* last: of its tables */
};

static bool is_replica(const struct tsim_embedding_table *table, const struct tsim_software *software) {
    return (double)table->rows * (double)table->dim * FP32_BYTES < software->replicated_tables_bytes;
}

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

/* ---- different rows ---- */

/* EXACT_RANKS ranks of Zipf's law are summed one by one. The rest is an integral over the logarithm of the rank, by
 * Simpson's rule in a fixed number of parts. */
#define EXACT_RANKS 1000.0
#define SIMPSON_PARTS 200

/* Returns the sum over ranks 1 to n_ids of 1 - exp(-draws r^-skew), or of r^-skew if `draws` is 0. */
static double zipf_sum(double n_ids, double skew, double draws) {
    double exact = fmin(n_ids, EXACT_RANKS), sum = 0;
    for (double rank = 1; rank <= exact; rank++)
        sum += draws > 0 ? -expm1(-draws * pow(rank, -skew)) : pow(rank, -skew);
    if (n_ids <= exact)
        return sum;
    double from = log(exact + 0.5), part = (log(n_ids + 0.5) - from) / SIMPSON_PARTS, integral = 0;
    for (int i = 0; i <= SIMPSON_PARTS; i++) {
        double at = from + i * part, weight = i == 0 || i == SIMPSON_PARTS ? 1 : i % 2 ? 4 : 2;
        integral += weight * exp(at) * (draws > 0 ? -expm1(-draws * exp(-skew * at)) : exp(-skew * at));
    }
    return sum + integral * part / 3;
}

double tsim_tables_distinct_rows(const struct tsim_embedding_table *t, double samples) {
    double rows = (double)t->rows, pooling = (double)t->pooling;
    if (!(t->skew > 0))
        return -rows * expm1(-pooling * samples / rows);
    double ids = zipf_sum(rows, t->skew, samples / zipf_sum(rows, t->skew, 0));
    return pooling > 1 ? -rows * expm1(-pooling * ids / rows) : ids;
}

/* ---- dealing out ---- */

static struct piece piece_of(const struct tsim_model *m, size_t table, double pieces, double sharers, double distinct,
                             int64_t number) {
    const struct tsim_embedding_table *t = &m->tables[table];
    double rows = (double)t->rows / pieces, pooling = (double)t->pooling, dim = (double)t->dim;
    return (struct piece){.rows = rows,
                          .elements = rows * dim,
                          .lookups = pooling / pieces,
                          .dim = dim,
                          .vectors = 1 - pow(1 - 1 / pieces, pooling),
                          .parts = 1 - pow(1 - 1 / (pieces * sharers), pooling),
                          .distinct = distinct / pieces,
                          .table = table,
                          .number = number};
}

static void give(struct rank *rank, const struct piece *piece) {
    rank->rows += piece->rows;
    rank->elements += piece->elements;
    rank->lookups += piece->lookups;
    rank->lookup_elements += piece->lookups * piece->dim;
    rank->vector_elements += piece->vectors * piece->dim;
    rank->part_elements += piece->parts * piece->dim;
    rank->distinct_elements += piece->distinct * piece->dim;
    rank->last = piece->table;
    rank->tables++;
}

static struct rank *fewest_lookups(struct rank *ranks, size_t n) {
    struct rank *best = &ranks[0];
    for (size_t i = 1; i < n; i++)
        if (ranks[i].lookup_elements < best->lookup_elements)
            best = &ranks[i];
    return best;
}

/* Moves the top of a heap of ranks, the emptiest of which is on top, down after it has got something. */
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

/* Deals pieces, the largest first; what is left below `small_elements` goes by lookups. */
static void deal_capacity(const struct piece *pieces, size_t n_pieces, double small_elements, struct rank *ranks,
                          size_t n) {
    for (size_t i = 0; i < n_pieces; i++) {
        if (pieces[i].elements < small_elements) {
            give(fewest_lookups(ranks, n), &pieces[i]);
            continue;
        }
        give(&ranks[0], &pieces[i]);
        sift_down(ranks, n);
    }
}

/* Deals whole tables, the largest first, to the emptiest rank that has fewer than its number (NVIDIA
 * DeepLearningExamples, DLRM, distribute_to_buckets). */
static void deal_whole(const struct piece *pieces, size_t n_pieces, struct rank *ranks, size_t n) {
    size_t most = (n_pieces + n - 1) / n;
    for (size_t i = 0; i < n_pieces; i++) {
        size_t best = n;
        for (size_t k = 0; k < n; k++)
            if (ranks[k].tables < most && (best == n || ranks[k].elements < ranks[best].elements))
                best = k;
        give(&ranks[best], &pieces[i]); /* with this many tables at most, ranks have room for all */
    }
}

struct dealt {
    struct piece *pieces;
    size_t n, capacity;
    double *cuts, *distinct; /* of each table: pieces, and rows that a step looks up */
    double sharers;          /* ranks of a node that share its pieces; 1: pieces are ranks' */
    double vector_lookups;
};

static int compare_lookups(const void *a, const void *b) {
    const struct piece *x = a, *y = b;
    if (x->lookups != y->lookups)
        return x->lookups > y->lookups ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static double load_of(const struct rank *rank, double vector_lookups) {
    return rank->lookups + vector_lookups * (double)rank->tables;
}

/* Deals pieces, those with most lookups first, to the rank with the least load that has room and none of this table.
 * Returns the largest load; infinite, with the table in `large`, if no rank has room. */
static double deal_lookups(const struct dealt *d, double most_elements, struct rank *ranks, size_t n, size_t *large) {
    const struct piece *pieces = d->pieces;
    double most = 0;
    memset(ranks, 0, n * sizeof *ranks);
    for (size_t i = 0; i < d->n; i++) {
        struct rank *best = NULL;
        for (size_t k = 0; k < n; k++)
            if ((!best || load_of(&ranks[k], d->vector_lookups) < load_of(best, d->vector_lookups)) &&
                ranks[k].elements + pieces[i].elements <= most_elements &&
                (ranks[k].tables == 0 || ranks[k].last != pieces[i].table))
                best = &ranks[k];
        if (!best) {
            *large = pieces[i].table;
            return HUGE_VAL;
        }
        give(best, &pieces[i]);
        most = fmax(most, load_of(best, d->vector_lookups));
    }
    return most;
}

/* ---- pieces ---- */

/* Cuts the tables that ranks divide into pieces, in the order of `compare`. */
static void cut(struct dealt *d, const struct tsim_model *m, const struct tsim_tables_deal *deal,
                int (*compare)(const void *, const void *)) {
    d->n = 0;
    for (size_t i = 0; i < m->n_tables; i++)
        for (size_t j = 0; !is_replica(&m->tables[i], deal->software) && j < (size_t)d->cuts[i]; j++, d->n++) {
            d->pieces = tsim_heap_grow(d->pieces, &d->capacity, d->n + 1, sizeof *d->pieces);
            d->pieces[d->n] = piece_of(m, i, d->cuts[i], d->sharers, d->distinct[i], (int64_t)d->n);
        }
    if (d->n > 0) /* every rank may hold all tables whole */
        qsort(d->pieces, d->n, sizeof *d->pieces, compare);
}

static bool can_halve(const struct dealt *d, const struct tsim_model *m, const struct tsim_tables_deal *deal,
                      size_t table, size_t n) {
    return !is_replica(&m->tables[table], deal->software) &&
           2 * d->cuts[table] <= fmin((double)n, (double)m->tables[table].rows);
}

/* Returns the table whose pieces have most lookups, of those that can be cut in twice as many; n_tables if there is
 * none. */
static size_t hottest(const struct dealt *d, const struct tsim_model *m, const struct tsim_tables_deal *deal,
                      size_t n) {
    size_t best = m->n_tables;
    for (size_t i = 0; i < m->n_tables; i++)
        if (can_halve(d, m, deal, i, n) && (best == m->n_tables || (double)m->tables[i].pooling / d->cuts[i] >
                                                                       (double)m->tables[best].pooling / d->cuts[best]))
            best = i;
    return best;
}

/* Plans as HugeCTR's planner: the table with the hottest pieces is cut again and again, or the one that finds no room,
 * and the best of these plans is kept; if none has room, each rank has a piece of every table. */
static void plan_lookups(struct dealt *d, const struct tsim_model *m, const struct tsim_tables_deal *deal,
                         struct rank *ranks, size_t n) {
    size_t capacity = 0;
    double most_elements = deal->most_elements * d->sharers, least = HUGE_VAL,
           *kept = tsim_heap_grow(NULL, &capacity, m->n_tables, sizeof *kept);
    for (size_t i = 0; i < m->n_tables; i++)
        kept[i] = fmin((double)n, (double)m->tables[i].rows);
    for (int plan = 0; plan < MOST_PLANS; plan++) {
        size_t large = m->n_tables;
        cut(d, m, deal, compare_lookups);
        double load = deal_lookups(d, most_elements, ranks, n, &large);
        if (load < least) {
            least = load;
            memcpy(kept, d->cuts, m->n_tables * sizeof *kept);
        }
        size_t table = large < m->n_tables ? large : hottest(d, m, deal, n);
        if (table == m->n_tables || !can_halve(d, m, deal, table, n))
            break;
        d->cuts[table] *= 2;
    }
    memcpy(d->cuts, kept, m->n_tables * sizeof *kept);
    tsim_heap_free(kept);
    size_t large;
    cut(d, m, deal, compare_lookups);
    deal_lookups(d, least < HUGE_VAL ? most_elements : HUGE_VAL, ranks, n, &large);
}

/* Finds the largest shares of ranks, or of nodes whose `sharers` have equal parts. */
static void largest_of(const struct rank *ranks, size_t n, double sharers, struct tsim_tables_share *share) {
    for (size_t i = 0; i < n; i++) {
        share->rows = fmax(share->rows, ranks[i].rows / sharers);
        share->elements = fmax(share->elements, ranks[i].elements / sharers);
        share->lookups = fmax(share->lookups, ranks[i].lookups / sharers);
        share->lookup_elements = fmax(share->lookup_elements, ranks[i].lookup_elements / sharers);
        share->vector_elements = fmax(share->vector_elements, ranks[i].part_elements);
        if (sharers > 1)
            share->node_vector_elements = fmax(share->node_vector_elements, ranks[i].vector_elements);
        share->distinct_elements = fmax(share->distinct_elements, ranks[i].distinct_elements / sharers);
        share->all_vector_elements += ranks[i].vector_elements;
    }
}

static void count_replicas(const struct tsim_model *m, const struct tsim_software *software,
                           struct tsim_tables_share *share) {
    for (size_t i = 0; i < m->n_tables; i++) {
        const struct tsim_embedding_table *table = &m->tables[i];
        if (!is_replica(table, software))
            continue;
        share->replica_elements += (double)table->rows * (double)table->dim;
        share->replica_lookups += (double)table->pooling;
        share->replica_lookup_elements += (double)table->pooling * (double)table->dim;
        share->replica_vector_elements += (double)table->dim;
    }
}

void tsim_tables_share(const struct tsim_model *m, const struct tsim_tables_deal *deal, int64_t n_ranks,
                       struct tsim_tables_share *share) {
    const struct tsim_software *software = deal->software;
    bool is_by_nodes = software->table_placement == TSIM_TABLES_BY_NODES && deal->node_ranks > 0 &&
                       n_ranks > deal->node_ranks && n_ranks % deal->node_ranks == 0;
    int64_t n_owners = is_by_nodes ? n_ranks / deal->node_ranks : n_ranks;
    size_t n_dealt = (size_t)(n_owners < TSIM_TABLES_MOST_RANKS ? n_owners : TSIM_TABLES_MOST_RANKS);
    double even = tsim_tables_parameters(m) / (double)n_dealt;
    struct dealt d = {.sharers = is_by_nodes ? (double)deal->node_ranks : 1,
                      .vector_lookups = is_by_nodes ? NODE_VECTOR_LOOKUPS : VECTOR_LOOKUPS};
    size_t rank_capacity = 0, cut_capacity = 0, distinct_capacity = 0;
    *share = (struct tsim_tables_share){0};
    if (m->n_tables == 0)
        return;
    count_replicas(m, software, share);
    struct rank *ranks = tsim_heap_grow(NULL, &rank_capacity, n_dealt, sizeof *ranks);
    memset(ranks, 0, n_dealt * sizeof *ranks);
    d.cuts = tsim_heap_grow(NULL, &cut_capacity, m->n_tables, sizeof *d.cuts);
    d.distinct = tsim_heap_grow(NULL, &distinct_capacity, m->n_tables, sizeof *d.distinct);
    for (size_t i = 0; i < m->n_tables; i++) {
        d.cuts[i] =
            software->table_placement == TSIM_TABLES_BY_CAPACITY ? pieces_of(&m->tables[i], even, (double)n_dealt) : 1;
        d.distinct[i] = tsim_tables_distinct_rows(&m->tables[i], deal->samples);
    }
    if (software->table_placement >= TSIM_TABLES_BY_LOOKUPS) {
        plan_lookups(&d, m, deal, ranks, n_dealt);
    } else {
        cut(&d, m, deal, compare_pieces);
        if (software->table_placement == TSIM_TABLES_WHOLE)
            deal_whole(d.pieces, d.n, ranks, n_dealt);
        else
            deal_capacity(d.pieces, d.n, SMALL_SHARE * even, ranks, n_dealt);
    }
    largest_of(ranks, n_dealt, d.sharers, share);
    tsim_heap_free(d.pieces);
    tsim_heap_free(d.cuts);
    tsim_heap_free(d.distinct);
    tsim_heap_free(ranks);
}

/* ---- memory ---- */

/* Returns the bytes of an element of a vector or of its gradient. */
static double element_bytes(const struct tsim_scenario *sc) {
    return sc->training.precision == TSIM_FP32 || sc->training.precision == TSIM_TF32 ? 4 : 2;
}

static double row_bytes(const struct tsim_scenario *sc) {
    return sc->software->fp32_tables ? FP32_BYTES : element_bytes(sc);
}

static double state_bytes(const struct tsim_scenario *sc) {
    return sc->training.optimizer == TSIM_SGD ? 0 : STATE_BYTES;
}

/* Returns the samples of all ranks in a pass. */
static double all_samples(const struct tsim_scenario *sc) {
    return (double)sc->training.micro_batch_size * (double)sc->parallelism.data;
}

static void share_of(const struct tsim_scenario *sc, struct tsim_tables_share *share) {
    bool has_whole_states = sc->software->table_update == TSIM_UPDATE_REDUCED;
    double each = row_bytes(sc) + (has_whole_states ? state_bytes(sc) : 0);
    struct tsim_tables_deal deal = {.software = sc->software,
                                    .samples = all_samples(sc),
                                    .node_ranks = sc->cluster.accelerators_per_node,
                                    .most_elements =
                                        MOST_OF_MEMORY * sc->cluster.node->accelerator->memory_bytes / each};
    tsim_tables_share(sc->model, &deal, sc->parallelism.data, share);
}

double tsim_tables_weight_bytes(const struct tsim_scenario *sc) {
    struct tsim_tables_share share;
    if (sc->model->n_tables == 0)
        return 0;
    share_of(sc, &share);
    return (share.elements + share.replica_elements) * row_bytes(sc);
}

double tsim_tables_state_bytes(const struct tsim_scenario *sc) {
    struct tsim_tables_share share;
    if (sc->model->n_tables == 0)
        return 0;
    share_of(sc, &share);
    bool is_of_elements = sc->software->table_update == TSIM_UPDATE_REDUCED;
    return (is_of_elements ? share.elements + share.replica_elements : share.rows) * state_bytes(sc);
}

double tsim_tables_buffer_bytes(const struct tsim_scenario *sc) {
    struct tsim_tables_share share;
    if (sc->model->n_tables == 0)
        return 0;
    share_of(sc, &share);
    return 2 * all_samples(sc) * share.vector_elements * element_bytes(sc);
}

/* ---- kernels ---- */

/* Adds an exchange, of the larger of what a rank sends and what it gets, or by nodes. Vectors of a bottom MLP on one
 * rank are also sent. */
static void exchange(const struct tsim_scenario *sc, const struct tsim_tables_share *share, const char *name,
                     enum tsim_op_collective by_nodes, struct tsim_op_list *list) {
    bool sends_bottom = sc->software->bottom_mlp == TSIM_BOTTOM_FIRST_RANK;
    double bottom = sends_bottom ? (double)sc->model->tables[0].dim : 0;
    double sent = all_samples(sc) * (share->vector_elements + bottom),
           received = (double)sc->training.micro_batch_size * (share->all_vector_elements + bottom);
    if (sc->parallelism.data == 1)
        return;
    struct tsim_op *op = add(list, name, TSIM_OP_COLLECTIVE);
    bool is_by_nodes = share->node_vector_elements > 0;
    op->collective = is_by_nodes ? by_nodes : TSIM_OP_ALL_TO_ALL;
    op->axis = TSIM_AXIS_DATA;
    op->collective_bytes =
        (is_by_nodes ? all_samples(sc) * share->node_vector_elements : fmax(sent, received)) * element_bytes(sc);
}

/* Adds the copies of whole tables on ranks: what the ranks sent is joined, and gradients are cut (torch.cat, split and
 * contiguous of DeepLearningExamples' BottomToTop). */
static void join(const struct tsim_scenario *sc, const char *name, struct tsim_op_list *list) {
    double vectors = (double)(sc->model->n_tables + 1) * (double)sc->model->tables[0].dim;
    if (sc->software->table_placement == TSIM_TABLES_WHOLE)
        elementwise(list, name, (double)sc->training.micro_batch_size, 2 * vectors * element_bytes(sc), 1);
}

void tsim_tables_forward(const struct tsim_scenario *sc, struct tsim_op_list *list) {
    struct tsim_tables_share share;
    double samples = all_samples(sc), e = element_bytes(sc), w = row_bytes(sc);
    share_of(sc, &share);
    elementwise(list, "tables, gather", samples,
                share.lookups * INDEX_BYTES + share.lookup_elements * w + share.vector_elements * e, 1);
    if (share.replica_elements > 0)
        elementwise(list, "tables, gather of replicas", (double)sc->training.micro_batch_size,
                    share.replica_lookups * INDEX_BYTES + share.replica_lookup_elements * w +
                        share.replica_vector_elements * e,
                    1);
    exchange(sc, &share, "tables: vectors to samples", TSIM_OP_REDUCE_SCATTER, list);
    join(sc, "tables, join", list);
}

/* Sums the gradients of replicated tables over all ranks, in fp32. */
static void reduce_replicas(const struct tsim_scenario *sc, const struct tsim_tables_share *share,
                            struct tsim_op_list *list) {
    if (!(share->replica_elements > 0) || sc->parallelism.data == 1)
        return;
    struct tsim_op *op = add(list, "tables: gradients of replicas", TSIM_OP_COLLECTIVE);
    op->collective = TSIM_OP_ALL_REDUCE;
    op->axis = TSIM_AXIS_DATA;
    op->collective_bytes = share->replica_elements * FP32_BYTES;
}

static void update_replicas(const struct tsim_scenario *sc, const struct tsim_tables_share *share,
                            struct tsim_op_list *list) {
    if (share->replica_elements > 0)
        elementwise(list, "tables, update of replicas", share->replica_elements,
                    FP32_BYTES + 2 * row_bytes(sc) + 2 * state_bytes(sc), 1);
}

/* Adds the update of rows, with its bytes for each lookup. If a tensor has a gradient for each lookup, it is written,
 * unscaled (training in 16 bits), multiplied by the rate and added to the rows (torch.optim.SGD with sparse gradients
 * that are not coalesced). If it has one for each row, it is written and read with the row's states. */
static void update(const struct tsim_scenario *sc, const struct tsim_tables_share *share, struct tsim_op_list *list) {
    enum tsim_table_update how = sc->software->table_update;
    double samples = all_samples(sc), e = element_bytes(sc), w = row_bytes(sc);
    double indices = share->lookups * INDEX_BYTES, vectors = share->vector_elements * e, rows = share->lookup_elements;
    bool is_scaled = sc->training.precision == TSIM_FP16;
    if (how != TSIM_UPDATE_SPARSE)
        elementwise(list, "tables, sort", samples, share->lookups * SORT_PASSES * 2 * 2 * INDEX_BYTES, 2 * SORT_PASSES);
    reduce_replicas(sc, share, list);
    if (how == TSIM_UPDATE_FUSED)
        elementwise(list, "tables, update", samples,
                    indices + share->lookups * 2 * state_bytes(sc) + vectors + 2 * rows * w, 1);
    else if (how == TSIM_UPDATE_SPARSE)
        elementwise(list, "tables, update", samples,
                    indices + vectors + rows * ((is_scaled ? 6 : 4) * FP32_BYTES + 2 * w), is_scaled ? 4 : 3);
    else
        elementwise(
            list, "tables, update", samples,
            indices + vectors + share->distinct_elements / samples * (2 * FP32_BYTES + 2 * state_bytes(sc) + 2 * w), 2);
}

void tsim_tables_backward(const struct tsim_scenario *sc, struct tsim_op_list *list) {
    struct tsim_tables_share share;
    share_of(sc, &share);
    join(sc, "tables, cut", list);
    exchange(sc, &share, "tables: gradients to tables", TSIM_OP_ALL_GATHER, list);
    update(sc, &share, list);
    update_replicas(sc, &share, list);
}
