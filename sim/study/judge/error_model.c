#include "study/judge/error_model.h"

#include "base/among.h"
#include "base/hash.h"

#include <math.h>
#include <string.h>

/* Doublings are counted from here. */
#define COUNT_FROM 8.0
#define SEQUENCE_FROM 2048.0

/* Sizes before anything is known. The run's counts as much as so many runs. */
static const double FIRST_SIZE = 0.05, FIRST_RUN_SIZE = 0.04, RUN_WEIGHT = 4;

/* A run's own error has so many degrees of freedom. With 2 and with 8 about as many blind runs are inside. */
static const double FREEDOM = 4;

/* The common variance counts as much as so many effects of a kind of model, or runs in a cell; a kind's as so many sources
 * on a machine. */
static const double KIND_WEIGHT = 4, MACHINE_WEIGHT = 4, CELL_WEIGHT = 8;

enum { MOST_EFFECTS = 48, MOST_STEPS = 80, INDEX_ROOM = 4 };

static const char *const PART_NAMES[TSIM_N_ERROR_PARTS] = {
    [TSIM_ERROR_SOURCE] = "source",           [TSIM_ERROR_MODEL] = "model",         [TSIM_ERROR_SOFTWARE] = "software",
    [TSIM_ERROR_ACCELERATOR] = "accelerator", [TSIM_ERROR_SPLITS] = "splits",       [TSIM_ERROR_KIND] = "kind",
    [TSIM_ERROR_VENDOR] = "vendor",           [TSIM_ERROR_RATE] = "estimated rate", [TSIM_ERROR_COUNT] = "accelerators",
    [TSIM_ERROR_SEQUENCE] = "sequence"};

/* These parts have one size for all models. */
static const bool IS_COMMON[TSIM_N_ERROR_PARTS] = {[TSIM_ERROR_SPLITS] = true,
                                                   [TSIM_ERROR_VENDOR] = true,
                                                   [TSIM_ERROR_RATE] = true,
                                                   [TSIM_ERROR_COUNT] = true,
                                                   [TSIM_ERROR_SEQUENCE] = true};

/* Only the effects of these parts move the middle of an interval. The mean of the others widens it, by its square: runs
 * of sources that were left out are met no better with it in the middle. */
static const bool IS_TRUSTED[TSIM_N_ERROR_PARTS] = {
    [TSIM_ERROR_SOURCE] = true, [TSIM_ERROR_MODEL] = true, [TSIM_ERROR_ACCELERATOR] = true};

/* The sizes of these parts differ between kinds of models. */
static const bool IS_OF_KIND[TSIM_N_ERROR_PARTS] = {[TSIM_ERROR_SOURCE] = true,
                                                    [TSIM_ERROR_MODEL] = true,
                                                    [TSIM_ERROR_ACCELERATOR] = true,
                                                    [TSIM_ERROR_SOFTWARE] = true};

const char *tsim_error_part_name(enum tsim_error_part part) {
    return PART_NAMES[part];
}

enum tsim_error_class tsim_error_class_of(const struct tsim_traits *traits) {
    return strcmp(traits->model, "dense") == 0 ? TSIM_ERROR_DENSE : TSIM_ERROR_OTHER;
}

/* ---- effects by name ---- */

struct effect {
    uint64_t key;
    enum tsim_error_part part;
    enum tsim_error_class class;
    int32_t kind;  /* of a part that differs between kinds; else -1 */
    int32_t group; /* of a source: its machine; else -1 */
    int32_t n_runs;
    bool is_first; /* one of its runs counts with its first error */
};

struct term { /* an addend of a run's sum */
    uint64_t key;
    enum tsim_error_part part;
    double times;
};

struct terms {
    struct term item[MOST_EFFECTS];
    int n;
    uint64_t kind, machine, cell;
};

static uint64_t key_of(const char *kind, const char *a, const char *b, const char *c) {
    const char *const texts[] = {kind, a, b, c};
    struct tsim_hash hash;
    tsim_hash_init(&hash);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        tsim_hash_add(&hash, texts[i]);
    return hash.low ^ hash.high;
}

static void add_term(struct terms *terms, enum tsim_error_part part, uint64_t key, double times) {
    if (terms->n < MOST_EFFECTS)
        terms->item[terms->n++] = (struct term){key, part, times};
}

static void add_doublings(struct terms *terms, enum tsim_error_part part, double value, double from) {
    double doublings = value > 0 ? log2(value / from) : 0;
    uint64_t first = key_of(PART_NAMES[part], doublings < 0 ? "below" : "above", "", "");
    for (int i = 0; i < fabs(doublings); i++)
        add_term(terms, part, first + (uint64_t)i, fmin(1, fabs(doublings) - i));
}

static const char *bits_of(enum tsim_precision precision) {
    return lround(8 * tsim_operand_bytes(precision)) == 4   ? "4"
           : lround(8 * tsim_operand_bytes(precision)) == 8 ? "8"
           : lround(8 * tsim_operand_bytes(precision)) > 16 ? "32"
                                                            : "16";
}

static uint64_t numbered(uint64_t key, int64_t number) {
    return (key ^ (uint64_t)number) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 over the golden ratio: Knuth, TAOCP 6.4 */
}

static int64_t decade_of(double value) {
    return value > 0 ? (int64_t)floor(log10(value)) : 0;
}

/* Models of the same kind count as one if their parameters agree in three digits. */
static double three_digits_of(double value) {
    double unit = pow(10, (double)decade_of(value) - 2);
    return nearbyint(value / unit) * unit;
}

static void terms_of(const struct tsim_traits *t, const char *source, struct terms *terms) {
    uint64_t machine = key_of("machine", t->accelerator, bits_of(t->precision), t->model);
    *terms = (struct terms){.kind = key_of("kind", t->model, "", ""),
                            .machine = machine,
                            .cell = numbered(machine, decade_of(t->parameters))};
    add_term(terms, TSIM_ERROR_SOURCE, source ? key_of("source", source, "", "") ^ numbered(machine, 0) : 0, 1);
    add_term(terms, TSIM_ERROR_MODEL,
             numbered(key_of("model", t->model, "", ""), llround(three_digits_of(t->parameters))), 1);
    add_term(terms, TSIM_ERROR_ACCELERATOR, machine, 1);
    add_term(terms, TSIM_ERROR_SOFTWARE, key_of("software", t->software, t->model, ""), 1);
    add_term(terms, TSIM_ERROR_SPLITS, key_of("splits", t->splits, t->software, ""), 1);
    if (tsim_error_class_of(t) == TSIM_ERROR_OTHER)
        add_term(terms, TSIM_ERROR_KIND, terms->kind, 1);
    add_term(terms, TSIM_ERROR_VENDOR, key_of("vendor", t->vendor, "", ""), 1);
    if (t->estimates_rate)
        add_term(terms, TSIM_ERROR_RATE, key_of("rate", t->accelerator, "", ""), 1);
    add_doublings(terms, TSIM_ERROR_COUNT, t->n_accelerators, COUNT_FROM);
    add_doublings(terms, TSIM_ERROR_SEQUENCE, t->sequence, SEQUENCE_FROM);
}

/* ---- equations ---- */

struct entry {
    int32_t at;
    double times;
};

struct equation { /* a measured run's */
    const struct tsim_residual *row;
    struct entry entries[MOST_EFFECTS + 1];
    int n;
    enum tsim_error_class class;
    int32_t cell;
    double weight;
    double trust; /* below 1: the run is further off than a normal one would be */
};

/* Effects of a kind of model, sources on a machine of that kind, or runs of a cell: their variance differs from the common
 * one. */
struct grouped {
    uint64_t key;
    int32_t kind;  /* of a machine: its kind, whose variance the machine's differs from; else -1 */
    double sum, n; /* squares of their errors over the common variance, and how many these are */
    double times;  /* their variance over the common one */
};

/* Unknowns stand in the order of their numbers of runs, so that the equations stay sparse, with the mean last. `factor`
 * is the Cholesky factor of the equations' matrix, by columns; `rows` are the numbers of those that are not 0 in
 * each. */
struct tsim_error_model {
    const struct tsim_error_sizes *sizes;
    struct effect *effects;
    int32_t n_effects, n_unknowns;
    struct equation *equations;
    int32_t n_equations;
    struct grouped *kinds, *machines, *cells;
    int32_t n_kinds, n_machines, n_cells;
    double *factor, *solution;
    int32_t *rows, *n_rows;
    int32_t *index; /* open addressing by key: 1 + number of an effect */
    size_t index_size;
    double most_accelerators, most_sequence;
};

static int32_t *slot_of(const struct tsim_error_model *m, uint64_t key) {
    size_t at = (size_t)(key % m->index_size);
    while (m->index[at] && m->effects[m->index[at] - 1].key != key)
        at = (at + 1) % m->index_size;
    return &m->index[at];
}

static int32_t find_group(const struct grouped *groups, int32_t n, uint64_t key) {
    for (int32_t i = 0; i < n; i++)
        if (groups[i].key == key)
            return i;
    return -1;
}

static int32_t group_of(struct grouped *groups, int32_t *n, uint64_t key, int32_t kind) {
    int32_t found = find_group(groups, *n, key);
    if (found >= 0)
        return found;
    groups[*n] = (struct grouped){.key = key, .kind = kind, .times = 1};
    return (*n)++;
}

static double times_of(const struct grouped *groups, int32_t at) {
    return at < 0 ? 1 : groups[at].times;
}

/* Returns a kind's variance over the common one. A new kind may be like any other; dense transformers have sizes of
 * their own. */
static double kind_times_of(const struct tsim_error_model *m, enum tsim_error_class class, int32_t kind) {
    double sum = 0;
    if (class == TSIM_ERROR_DENSE || m->n_kinds == 0)
        return 1;
    for (int32_t i = 0; i < m->n_kinds; i++)
        sum += m->kinds[i].times;
    return kind >= 0 ? m->kinds[kind].times : sum / m->n_kinds;
}

/* Returns a part's variance over the common one; `kind` and `machine` are -1 where nobody measured them. */
static double spread_of(const struct tsim_error_model *m, enum tsim_error_part part, enum tsim_error_class class,
                        int32_t kind, int32_t machine) {
    if (!IS_OF_KIND[part])
        return 1;
    return part == TSIM_ERROR_SOURCE && machine >= 0 ? m->machines[machine].times : kind_times_of(m, class, kind);
}

static double size_of(const struct tsim_error_model *m, enum tsim_error_part part, enum tsim_error_class class,
                      int32_t kind, int32_t machine) {
    return m->sizes->part[part][class] * sqrt(spread_of(m, part, class, kind, machine));
}

/* Adds the run's effects; entries hold numbers of effects until they are put in order. */
static void add_equation(struct tsim_error_model *m, const struct tsim_residual *row) {
    struct equation *e = &m->equations[m->n_equations++];
    struct terms terms;
    terms_of(&row->traits, row->source, &terms);
    *e = (struct equation){.row = row, .n = terms.n, .trust = 1, .class = tsim_error_class_of(&row->traits)};
    e->cell = group_of(m->cells, &m->n_cells, terms.cell, -1);
    int32_t kind = e->class == TSIM_ERROR_OTHER ? group_of(m->kinds, &m->n_kinds, terms.kind, -1) : -1,
            machine = group_of(m->machines, &m->n_machines, terms.machine, kind);
    for (int i = 0; i < terms.n; i++) {
        int32_t *slot = slot_of(m, terms.item[i].key);
        if (!*slot) {
            m->effects[m->n_effects] = (struct effect){.key = terms.item[i].key,
                                                       .part = terms.item[i].part,
                                                       .class = e->class,
                                                       .kind = IS_OF_KIND[terms.item[i].part] ? kind : -1,
                                                       .group = terms.item[i].part == TSIM_ERROR_SOURCE ? machine : -1};
            *slot = ++m->n_effects;
        }
        m->effects[*slot - 1].n_runs++;
        m->effects[*slot - 1].is_first |= row->is_first;
        e->entries[i] = (struct entry){*slot - 1, terms.item[i].times};
    }
    m->most_accelerators = fmax(m->most_accelerators, row->traits.n_accelerators);
    m->most_sequence = fmax(m->most_sequence, row->traits.sequence);
}

/* Puts the rarest effects first, because they fill little of the factor. */
static void put_in_order(struct tsim_arena *scratch, struct tsim_error_model *m) {
    int32_t *place = TSIM_NEW_ARRAY(scratch, (size_t)m->n_effects + 1, int32_t);
    int32_t *next = TSIM_NEW_ARRAY(scratch, (size_t)m->n_equations + 2, int32_t); /* by number of runs */
    struct effect *sorted = TSIM_NEW_ARRAY(scratch, (size_t)m->n_effects + 1, struct effect);
    for (int32_t i = 0; i < m->n_effects; i++)
        next[m->effects[i].n_runs + 1]++;
    for (int32_t n_runs = 0; n_runs < m->n_equations; n_runs++)
        next[n_runs + 1] += next[n_runs];
    for (int32_t i = 0; i < m->n_effects; i++) {
        place[i] = next[m->effects[i].n_runs]++;
        sorted[place[i]] = m->effects[i];
    }
    for (size_t i = 0; i < m->index_size; i++)
        if (m->index[i])
            m->index[i] = 1 + place[m->index[i] - 1];
    memcpy(m->effects, sorted, (size_t)m->n_effects * sizeof *sorted);
    m->n_unknowns = m->n_effects + 1;
    for (int32_t i = 0; i < m->n_equations; i++) {
        struct equation *e = &m->equations[i];
        for (int k = 0; k < e->n; k++)
            e->entries[k].at = place[e->entries[k].at];
        e->entries[e->n++] = (struct entry){m->n_effects, 1}; /* the mean */
    }
}

/* Returns the place of column k, which holds the elements i from k on: columns of a triangle, one behind the other. */
static size_t column_of(const struct tsim_error_model *m, size_t k) {
    return k * (size_t)m->n_unknowns - k * (k + 1) / 2;
}

static size_t triangle_of(size_t n) {
    return n * (n + 1) / 2;
}

/* Returns the indices of the elements below the diagonal that are not 0. */
static int32_t *rows_of(const struct tsim_error_model *m, size_t k) {
    return m->rows + column_of(m, k) + k;
}

/* Factorizes A = L L^T in place. Columns are short: the elements below the diagonal are kept in a list of rows. */
static void factorize(struct tsim_error_model *m) {
    const size_t n = (size_t)m->n_unknowns;
    for (size_t k = 0; k < n; k++) {
        double *column = m->factor + column_of(m, k);
        int32_t *rows = rows_of(m, k), n_rows = 0;
        column[k] = sqrt(column[k]);
        for (size_t i = k + 1; i < n; i++)
            if (column[i] != 0) {
                column[i] /= column[k];
                rows[n_rows++] = (int32_t)i;
            }
        m->n_rows[k] = n_rows;
        for (int32_t j = 0; j < n_rows; j++) {
            double *later = m->factor + column_of(m, (size_t)rows[j]), times = column[rows[j]];
            for (int32_t i = j; i < n_rows; i++)
                later[rows[i]] -= times * column[rows[i]];
        }
    }
}

/* Computes x = L^-1 x. */
static void forward(const struct tsim_error_model *m, double *x) {
    const size_t n = (size_t)m->n_unknowns;
    for (size_t k = 0; k < n; k++) {
        const double *column = m->factor + column_of(m, k);
        const int32_t *rows = rows_of(m, k);
        if (x[k] == 0)
            continue;
        x[k] /= column[k];
        for (int32_t i = 0; i < m->n_rows[k]; i++)
            x[rows[i]] -= column[rows[i]] * x[k];
    }
}

/* Computes x = L^-T x. */
static void backward(const struct tsim_error_model *m, double *x) {
    const size_t n = (size_t)m->n_unknowns;
    for (size_t k = n; k-- > 0;) {
        const double *column = m->factor + column_of(m, k);
        const int32_t *rows = rows_of(m, k);
        double sum = x[k];
        for (int32_t i = 0; i < m->n_rows[k]; i++)
            sum -= column[rows[i]] * x[rows[i]];
        x[k] = sum / column[k];
    }
}

static void solve(struct tsim_error_model *m) {
    size_t n = (size_t)m->n_unknowns;
    memset(m->factor, 0, triangle_of(n) * sizeof *m->factor);
    memset(m->solution, 0, n * sizeof *m->solution);
    for (int32_t i = 0; i < m->n_effects; i++) {
        const struct effect *e = &m->effects[i];
        double size = size_of(m, e->part, e->class, e->kind, e->group);
        m->factor[column_of(m, (size_t)i) + (size_t)i] = 1 / (size * size);
    }
    for (int32_t i = 0; i < m->n_equations; i++) {
        struct equation *e = &m->equations[i];
        double run = m->sizes->run[e->class];
        e->weight = e->trust / (run * run * m->cells[e->cell].times);
        for (int k = 0; k < e->n; k++) {
            double weighted = e->weight * e->entries[k].times;
            m->solution[e->entries[k].at] += weighted * e->row->log_ratio;
            for (int o = 0; o < e->n; o++)
                if (e->entries[o].at >= e->entries[k].at)
                    m->factor[column_of(m, (size_t)e->entries[k].at) + (size_t)e->entries[o].at] +=
                        weighted * e->entries[o].times;
        }
    }
    factorize(m);
    forward(m, m->solution);
    backward(m, m->solution);
}

/* Computes x = L^-1 times the vector of the entries. */
static void whiten(const struct tsim_error_model *m, const struct entry *entries, int n, double *x) {
    memset(x, 0, (size_t)m->n_unknowns * sizeof *x);
    for (int i = 0; i < n; i++)
        x[entries[i].at] += entries[i].times;
    forward(m, x);
}

static double product(const double *a, const double *b, int32_t n) {
    double sum = 0;
    for (int32_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static double left_over(const struct tsim_error_model *m, const struct equation *e) {
    double error = e->row->log_ratio;
    for (int k = 0; k < e->n; k++)
        error -= e->entries[k].times * m->solution[e->entries[k].at];
    return error;
}

/* Returns the mean square of an effect, given the runs. */
static double square_of(const struct tsim_error_model *m, int32_t effect, double *x) {
    whiten(m, &(struct entry){effect, 1}, 1, x);
    return m->solution[effect] * m->solution[effect] + product(x, x, m->n_unknowns);
}

static void share_out(const struct tsim_error_model *m, struct grouped *groups, int32_t n, double weight) {
    for (int32_t i = 0; i < n; i++) {
        groups[i].times = (weight * times_of(m->kinds, groups[i].kind) + groups[i].sum) / (weight + groups[i].n);
        groups[i].sum = groups[i].n = 0;
    }
}

static void add_square(struct grouped *groups, int32_t at, double square) {
    if (at >= 0) {
        groups[at].sum += square;
        groups[at].n++;
    }
}

/* Sets how the variances of kinds, machines and cells differ from the common ones, and how much a run is trusted, from the
 * errors that the solution leaves. */
static void compare_groups(struct tsim_error_model *m, double *x) {
    for (int32_t i = 0; i < m->n_effects; i++) {
        const struct effect *e = &m->effects[i];
        if (!IS_OF_KIND[e->part])
            continue;
        double size = m->sizes->part[e->part][e->class], square = square_of(m, i, x) / (size * size);
        add_square(m->kinds, e->kind, square);
        add_square(m->machines, e->group, square);
    }
    for (int32_t i = 0; i < m->n_equations; i++) {
        struct equation *e = &m->equations[i];
        double error = left_over(m, e) / m->sizes->run[e->class], square = error * error;
        e->trust = (FREEDOM + 1) / (FREEDOM + square / m->cells[e->cell].times);
        add_square(m->cells, e->cell, e->trust * square);
    }
    share_out(m, m->kinds, m->n_kinds, KIND_WEIGHT);
    share_out(m, m->machines, m->n_machines, MACHINE_WEIGHT);
    share_out(m, m->cells, m->n_cells, CELL_WEIGHT);
}

static struct tsim_error_model *equations_of(struct tsim_arena *arena, const struct tsim_residuals *residuals,
                                             const struct tsim_error_sizes *sizes, tsim_residual_filter *without,
                                             const void *context) {
    struct tsim_error_model *m = TSIM_NEW_ARRAY(arena, 1, struct tsim_error_model);
    struct tsim_arena scratch;
    size_t most = residuals->n * MOST_EFFECTS / 4 + MOST_EFFECTS;
    *m = (struct tsim_error_model){.sizes = sizes,
                                   .effects = TSIM_NEW_ARRAY(arena, most, struct effect),
                                   .equations = TSIM_NEW_ARRAY(arena, residuals->n + 1, struct equation),
                                   .kinds = TSIM_NEW_ARRAY(arena, residuals->n + 1, struct grouped),
                                   .machines = TSIM_NEW_ARRAY(arena, residuals->n + 1, struct grouped),
                                   .cells = TSIM_NEW_ARRAY(arena, residuals->n + 1, struct grouped),
                                   .index = TSIM_NEW_ARRAY(arena, INDEX_ROOM * most, int32_t),
                                   .index_size = INDEX_ROOM * most};
    tsim_arena_init(&scratch);
    for (size_t i = 0; i < residuals->n; i++)
        if (!without || !without(&residuals->rows[i], context))
            add_equation(m, &residuals->rows[i]);
    put_in_order(&scratch, m);
    tsim_arena_release(&scratch);
    size_t n = (size_t)m->n_unknowns;
    m->factor = TSIM_NEW_ARRAY(arena, triangle_of(n), double);
    m->solution = TSIM_NEW_ARRAY(arena, n, double);
    m->rows = TSIM_NEW_ARRAY(arena, triangle_of(n), int32_t);
    m->n_rows = TSIM_NEW_ARRAY(arena, n, int32_t);
    return m;
}

const struct tsim_error_model *tsim_error_model_new(struct tsim_arena *arena, const struct tsim_residuals *residuals,
                                                    const struct tsim_error_sizes *sizes, tsim_residual_filter *without,
                                                    const void *context) {
    struct tsim_error_model *m = equations_of(arena, residuals, sizes, without, context);
    if (m->n_equations == 0)
        return NULL;
    solve(m);
    compare_groups(m, TSIM_NEW_ARRAY(arena, (size_t)m->n_unknowns, double));
    solve(m);
    return m;
}

/* ---- sizes ---- */

struct sums {
    double part[TSIM_N_ERROR_PARTS][TSIM_N_ERROR_CLASSES], n_part[TSIM_N_ERROR_PARTS][TSIM_N_ERROR_CLASSES];
    double run[TSIM_N_ERROR_CLASSES], n_run[TSIM_N_ERROR_CLASSES];
};

static void next_sizes(const struct sums *sums, struct tsim_error_sizes *sizes) {
    for (int part = 0; part < TSIM_N_ERROR_PARTS; part++)
        for (int class = 0; class < TSIM_N_ERROR_CLASSES; class ++) {
            double sum = sums->part[part][class], n = sums->n_part[part][class];
            if (IS_COMMON[part]) {
                sum += sums->part[part][!class];
                n += sums->n_part[part][!class];
            }
            sizes->part[part][class] = sqrt((FIRST_SIZE * FIRST_SIZE + sum) / (1 + n));
        }
    for (int class = 0; class < TSIM_N_ERROR_CLASSES; class ++)
        sizes->run[class] =
            sqrt((RUN_WEIGHT * FIRST_RUN_SIZE * FIRST_RUN_SIZE + sums->run[class]) / (RUN_WEIGHT + sums->n_run[class]));
}

static struct sums sums_of(const struct tsim_error_model *m, double *x) {
    struct sums sums = {0};
    for (int32_t i = 0; i < m->n_effects; i++) {
        const struct effect *e = &m->effects[i];
        if (!e->is_first)
            continue;
        sums.part[e->part][e->class] += square_of(m, i, x) / spread_of(m, e->part, e->class, e->kind, e->group);
        sums.n_part[e->part][e->class]++;
    }
    for (int32_t i = 0; i < m->n_equations; i++) {
        const struct equation *e = &m->equations[i];
        double error = left_over(m, e);
        if (!e->row->is_first)
            continue;
        whiten(m, e->entries, e->n, x);
        sums.run[e->class] += (e->trust * error * error + product(x, x, m->n_unknowns)) / m->cells[e->cell].times;
        sums.n_run[e->class]++;
    }
    return sums;
}

void tsim_error_sizes_fit(struct tsim_arena *arena, const struct tsim_residuals *residuals,
                          struct tsim_error_sizes *sizes) {
    *sizes = (struct tsim_error_sizes){
        .run = {FIRST_RUN_SIZE, FIRST_RUN_SIZE}, .low = {1.645, 1.645}, .high = {1.645, 1.645}};
    for (int part = 0; part < TSIM_N_ERROR_PARTS; part++)
        sizes->part[part][TSIM_ERROR_DENSE] = sizes->part[part][TSIM_ERROR_OTHER] = FIRST_SIZE;
    struct tsim_error_model *m = equations_of(arena, residuals, sizes, NULL, NULL);
    double *x = TSIM_NEW_ARRAY(arena, (size_t)m->n_unknowns, double);
    for (int step = 0; step < MOST_STEPS; step++) {
        solve(m);
        struct sums sums = sums_of(m, x);
        compare_groups(m, x);
        next_sizes(&sums, sizes);
    }
}

/* ---- of a run ---- */

static const struct equation *equation_of(const struct tsim_error_model *m, const char *name) {
    for (int32_t i = 0; name && i < m->n_equations; i++)
        if (tsim_is_same_text(m->equations[i].row->name, name))
            return &m->equations[i];
    return NULL;
}

static bool has_effect(const struct equation *e, int32_t effect) {
    for (int k = 0; e && k < e->n; k++)
        if (e->entries[k].at == effect)
            return true;
    return false;
}

/* The equations without the run's own one: variances and means follow from all equations by a change of rank one. */
struct without {
    const struct equation *own;
    const double *whitened;
    double left; /* 1 / the own equation's weight, less the variance of its sum */
};

static double variance_of(const struct tsim_error_model *m, const struct without *w, const double *x) {
    double variance = product(x, x, m->n_unknowns);
    double shared = w->own ? product(x, w->whitened, m->n_unknowns) : 0;
    return variance + (w->own ? shared * shared / w->left : 0);
}

/* Returns the mean of the sum of the entries, whose whitened form is x. */
static double expected_of(const struct tsim_error_model *m, const struct without *w, const struct entry *entries, int n,
                          const double *x) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += entries[i].times * m->solution[entries[i].at];
    return w->own ? sum - product(x, w->whitened, m->n_unknowns) * left_over(m, w->own) / w->left : sum;
}

void tsim_error_of_run(struct tsim_arena *arena, const struct tsim_error_model *m, const struct tsim_traits *traits,
                       const char *source, const char *name, struct tsim_error_of_run *error) {
    struct terms terms;
    struct entry entries[MOST_EFFECTS + 1];
    double *x = TSIM_NEW_ARRAY(arena, (size_t)m->n_unknowns, double),
           *own = TSIM_NEW_ARRAY(arena, (size_t)m->n_unknowns, double);
    struct without without = {.own = equation_of(m, name), .whitened = own};
    enum tsim_error_class class = tsim_error_class_of(traits);
    double new_variance = 0;
    int n = 0;
    *error = (struct tsim_error_of_run){0};
    if (without.own) {
        whiten(m, without.own->entries, without.own->n, own);
        without.left = 1 / without.own->weight - product(own, own, m->n_unknowns);
    }
    terms_of(traits, source, &terms);
    int32_t kind = find_group(m->kinds, m->n_kinds, terms.kind),
            machine = find_group(m->machines, m->n_machines, terms.machine);
    for (int i = 0; i < terms.n; i++) {
        const struct term *term = &terms.item[i];
        int32_t at = *slot_of(m, term->key) - 1;
        double size = size_of(m, term->part, class, kind, machine);
        if (at >= 0) {
            struct entry entry = {at, term->times};
            entries[n++] = entry;
            whiten(m, &entry, 1, x);
            error->part_variance[term->part] += variance_of(m, &without, x);
            error->n_runs[term->part] = m->effects[at].n_runs - has_effect(without.own, at);
        } else {
            error->part_variance[term->part] += term->times * term->times * size * size;
            new_variance += term->times * term->times * size * size;
        }
    }
    error->n_runs[TSIM_ERROR_COUNT] = traits->n_accelerators <= m->most_accelerators;
    error->n_runs[TSIM_ERROR_SEQUENCE] = traits->sequence <= m->most_sequence;
    entries[n++] = (struct entry){m->n_effects, 1};
    whiten(m, entries, n, x);
    double expected = expected_of(m, &without, entries, n, x),
           run_variance = m->sizes->run[class] * m->sizes->run[class] *
                          times_of(m->cells, find_group(m->cells, m->n_cells, terms.cell)),
           variance = new_variance + variance_of(m, &without, x) + run_variance;
    int n_trusted = 0;
    for (int i = 0; i < n; i++)
        if (entries[i].at < m->n_effects && IS_TRUSTED[m->effects[entries[i].at].part])
            entries[n_trusted++] = entries[i];
    whiten(m, entries, n_trusted, x);
    error->mean = expected_of(m, &without, entries, n_trusted, x);
    error->sd = sqrt(variance + (expected - error->mean) * (expected - error->mean));
}
