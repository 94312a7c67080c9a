#include "model/optimizer.h"

#include "model/model.h"
#include "model/tables.h"

#include <math.h>

#define GALORE_RANK_FRAC 0.25
#define BLOCK_ELEMENTS 2048.0
#define NEWTON_SCHULZ_STEPS 5
#define NEWTON_SCHULZ_KERNELS 3

/* ---- the model as matrices ---- */

struct shapes {
    struct tsim_matrices of;
    double all;    /* parameters; without tables, whose rows are updated apart */
    double moment; /* bytes of one that is kept whole */
};

void tsim_model_matrices(const struct tsim_model *m, struct tsim_matrices *matrices) {
    struct tsim_parts parts = tsim_model_parts(m);
    for (int part = 0; part < TSIM_N_PARTS; part++)
        if (parts.times[part] > 0 && !tsim_layer_kind((enum tsim_part)part)->is_end)
            tsim_layer_matrices(m, (enum tsim_part)part, parts.times[part], matrices);
    if (tsim_model_has_ends(m)) {
        tsim_matrices_add(matrices, tsim_model_ends(m).head > 0 ? 2 : 1, (double)m->vocab, (double)m->hidden, false);
        tsim_matrices_add(matrices, 1, (double)m->positions, (double)m->hidden, false);
        tsim_matrices_add(matrices, (double)m->mtp_modules, (double)m->hidden, 2 * (double)m->hidden, true);
    }
}

static struct shapes shapes_of(const struct tsim_model *m) {
    struct shapes s = {.of = {.rank = tsim_model_has_ends(m) ? GALORE_RANK_FRAC * (double)m->hidden : HUGE_VAL},
                       .all = tsim_model_parameters(m) - tsim_tables_parameters(m),
                       .moment = 4};
    tsim_model_matrices(m, &s.of);
    return s;
}

/* ---- what each keeps, moves and computes ---- */

static double block_bytes(void) {
    return 1 + 4 / BLOCK_ELEMENTS;
}

/* Returns the bytes of Adafactor's second moments. */
static double factored_bytes(const struct shapes *s) {
    return 4 * (s->of.rows_and_columns + fmax(s->all - s->of.matrices, 0)) / s->all;
}

/* Returns the share of the parameters that projected moments are of. */
static double moments_frac(const struct shapes *s) {
    return s->of.projected_moments / s->all;
}

static double state_bytes(enum tsim_optimizer optimizer, const struct shapes *s) {
    switch (optimizer) {
    case TSIM_SGD:
        return 0;
    case TSIM_MOMENTUM:
    case TSIM_RMSPROP:
        return s->moment;
    case TSIM_ADAM:
    case TSIM_ADAMW:
    case TSIM_LAMB:
        return 2 * s->moment;
    case TSIM_MUON:
        return (2 - s->of.projected / s->all) * s->moment;
    case TSIM_ADAFACTOR:
        return factored_bytes(s);
    case TSIM_ADAM_8BIT:
        return 2 * block_bytes();
    case TSIM_GALORE_8BIT:
        return (2 * (s->of.projected_moments + s->all - s->of.projected) + s->of.projections) * block_bytes() / s->all;
    }
    TSIM_BUG("optimizer %d", (int)optimizer);
}

/* Returns the bytes that the optimizer moves beside gradient and weight; w is the weight that is worked on, g the
 * gradient. */
static double own_bytes(enum tsim_optimizer optimizer, const struct shapes *s, double w, double g) {
    switch (optimizer) {
    case TSIM_SGD:
    case TSIM_MOMENTUM:
    case TSIM_RMSPROP:
    case TSIM_ADAM:
    case TSIM_ADAMW:
    case TSIM_ADAM_8BIT:
        return 2 * state_bytes(optimizer, s);
    case TSIM_LAMB:
        return 2 * state_bytes(optimizer, s) + 8 + w;
    case TSIM_MUON:
        return 2 * state_bytes(optimizer, s) + 4 * s->of.projected / s->all;
    case TSIM_ADAFACTOR:
        return 2 * state_bytes(optimizer, s) + 2 * g + w;
    case TSIM_GALORE_8BIT: /* projection in; fp32 gradient and update of its size, and the whole update, out and in */
        return 2 * state_bytes(optimizer, s) + 16 * moments_frac(s) + 8 * s->of.projected / s->all;
    }
    TSIM_BUG("optimizer %d", (int)optimizer);
}

/* Additions, multiplications, divisions and roots, from the papers' algorithms; quantizing 8-bit states is a binary
 * search over 256 values, both ways. */
static double vector_flops(enum tsim_optimizer optimizer) {
    switch (optimizer) {
    case TSIM_SGD:
        return 2;
    case TSIM_MOMENTUM:
        return 4;
    case TSIM_RMSPROP:
        return 8;
    case TSIM_ADAM:
        return 12;
    case TSIM_ADAMW:
    case TSIM_MUON:
        return 14;
    case TSIM_ADAFACTOR:
        return 16;
    case TSIM_LAMB:
        return 20;
    case TSIM_ADAM_8BIT:
    case TSIM_GALORE_8BIT:
        return 14 + 2 * 10;
    }
    TSIM_BUG("optimizer %d", (int)optimizer);
}

static double matrix_flops(enum tsim_optimizer optimizer, const struct shapes *s) {
    if (optimizer == TSIM_GALORE_8BIT)
        return 4 * fmin(s->of.rank, 1e9) * s->of.projected / s->all;
    return optimizer == TSIM_MUON ? NEWTON_SCHULZ_STEPS * s->of.orthogonalized_flops / s->all : 0;
}

static double least_bytes(const struct tsim_scenario *sc, enum tsim_optimizer optimizer, const struct shapes *s) {
    bool has_copy = tsim_has_master_weights(sc);
    double weight = tsim_weight_bytes(sc->training.precision), w = has_copy ? 4 : weight, g = tsim_gradient_bytes(sc);
    return g + 2 * w + (has_copy ? fmin(weight, 2) : 0) + own_bytes(optimizer, s, w, g);
}

void tsim_optimizer_cost(const struct tsim_scenario *sc, struct tsim_optimizer_cost *cost) {
    enum tsim_optimizer optimizer = sc->training.optimizer;
    struct shapes s = shapes_of(sc->model);
    double of_adam = least_bytes(sc, TSIM_ADAM, &s); /* with moments in fp32, as a profile's traffic is */
    s.moment = tsim_operand_bytes(sc->training.state_precision);
    double least = least_bytes(sc, optimizer, &s);
    bool is_adam = (optimizer == TSIM_ADAM || optimizer == TSIM_ADAMW) && sc->training.state_precision == TSIM_FP32;
    *cost = (struct tsim_optimizer_cost){
        .state_bytes = state_bytes(optimizer, &s),
        .least_bytes = least,
        .traffic_bytes = sc->software->optimizer_traffic_bytes * (is_adam ? 1 : least / of_adam),
        .vector_flops = vector_flops(optimizer),
        .matrix_flops = matrix_flops(optimizer, &s),
        .kernels = optimizer == TSIM_MUON ? NEWTON_SCHULZ_STEPS * NEWTON_SCHULZ_KERNELS * s.of.n_projected / s.all : 0};
}

double tsim_optimizer_state_bytes(const struct tsim_scenario *sc) {
    enum tsim_optimizer optimizer = sc->training.optimizer;
    bool is_of_matrices = optimizer == TSIM_MUON || optimizer == TSIM_ADAFACTOR ||
                          optimizer == TSIM_GALORE_8BIT; /* others need no shapes */
    struct shapes s = is_of_matrices ? shapes_of(sc->model) : (struct shapes){.all = 0};
    s.moment = tsim_operand_bytes(sc->training.state_precision);
    return state_bytes(optimizer, &s);
}
