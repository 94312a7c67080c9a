#include "cost/compute.h"

#include "cluster/power.h"
#include "cluster/variation.h"
#include "config/provenance.h"

#include <math.h>

/* The tiles for which libraries have kernels. */
static const struct tile {
    double m, n;
    enum tsim_tile kind;
} TILES[] = {{256, 128, TSIM_TILE_256_128}, {128, 256, TSIM_TILE_256_128}, {128, 128, TSIM_TILE_128_128},
             {128, 64, TSIM_TILE_128_64},   {64, 128, TSIM_TILE_128_64},   {64, 64, TSIM_TILE_64_64}};
enum { N_TILES = sizeof TILES / sizeof TILES[0], MAX_SPLIT_K = 8, MAX_STRIPS = 32 };

#define ROUNDING 1e-12        /* slack of a lower bound against a sum: thousands of rounding errors */
#define MIN_SPLIT_DEPTH 512.0 /* a shorter slice of k is not worth its reduction */

/* Relative clocks under the power limit are found by false position (the Illinois variant, which halves the value at an
 * end that stays), down to the lowest clock to which chips go. */
#define LOWEST_CLOCK 0.1
#define CLOCK_PRECISION 1e-13 /* a part of the power range */
enum { CLOCK_STEPS = 40 };

/* Matrix units load this many bytes; rows that are no multiple of it are unaligned (see the header). */
#define LOAD_BYTES 16.0
#define REFERENCE_HEAD_DIM 128.0 /* an accelerator's rates of attention are those of such heads */
#define SMALL_HEAD_DIM 64.0
#define FLASH_FORWARD_FLOPS_FRAC (2.0 / 7)

static const char OF_SHAPE[] = "the operator's shape on one accelerator, from model, batch and plan "
                               "(sim/model/operators.h)";
static const char OF_MODEL[] = "model of kernels (sim/cost/compute.h)";

/* ---- rates ---- */

static struct tsim_amount constant(struct tsim_term_recorder *r, const char *name, double value,
                                   enum tsim_dimension dimension) {
    return tsim_given(r, name, value, dimension, OF_MODEL);
}

static struct tsim_amount shape(struct tsim_term_recorder *r, const char *name, double value) {
    return tsim_given(r, name, value, TSIM_COUNT, OF_SHAPE);
}

static struct tsim_amount of_kernels(struct tsim_term_recorder *r, const struct tsim_accelerator *a, const char *key,
                                     double value, enum tsim_dimension dimension) {
    return tsim_of_accelerator(r, a, tsim_record_text(r, "kernels.%s", key), value, dimension);
}

static struct tsim_amount peak_rate(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                    enum tsim_precision precision) {
    return tsim_of_accelerator(r, a, tsim_record_text(r, "peak.%s", tsim_precision_name(precision)),
                               a->peak_flops_per_s[precision], TSIM_FLOPS_PER_S);
}

/* Returns a fraction of the peak as the file has it, divided by the slowness of the slowest accelerator of all. */
static struct tsim_amount of_slowest(struct tsim_term_recorder *r, const struct tsim_accelerator *a, const char *key,
                                     double of_mean, double own) {
    struct tsim_amount own_frac = {.value = own};
    if (!r || !a->mean)
        return r ? tsim_of_accelerator(r, a, key, own, TSIM_FRACTION) : own_frac;
    return tsim_product(r, tsim_record_text(r, "%s of the slowest accelerator", key), "of the mean / slowest",
                        TSIM_FRACTION,
                        TSIM_PARTS(tsim_of_accelerator(r, a, key, of_mean, TSIM_FRACTION),
                                   tsim_inverse(tsim_slowness(r, a->mean, a->slowest_of))));
}

struct tsim_amount tsim_matrix_rate_recorded(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                             enum tsim_precision precision) {
    const struct tsim_accelerator *mean = a->mean ? a->mean : a;
    struct tsim_amount sustained =
        of_slowest(r, a, tsim_record_text(r, "efficiency.matrix_sustained.%s", tsim_precision_name(precision)),
                   mean->matrix_sustained_frac[precision], a->matrix_sustained_frac[precision]);
    return tsim_product(r, "sustained matrix rate", "peak x sustained fraction", TSIM_FLOPS_PER_S,
                        TSIM_PARTS(peak_rate(r, a, precision), sustained));
}

double tsim_matrix_rate(const struct tsim_accelerator *a, enum tsim_precision precision) {
    return tsim_matrix_rate_recorded(NULL, a, precision).value;
}

static struct tsim_amount ramp_k(struct tsim_term_recorder *r, const struct tsim_accelerator *a) {
    return tsim_of_accelerator(r, a, "efficiency.matrix_ramp_k", a->matrix_ramp_k, TSIM_COUNT);
}

static struct tsim_amount ramp_of(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                  enum tsim_precision precision) {
    enum tsim_precision half = a->peak_flops_per_s[TSIM_BF16] > 0 ? TSIM_BF16 : TSIM_FP16;
    if (!(a->peak_flops_per_s[half] > 0) || precision == half)
        return ramp_k(r, a);
    return tsim_product(r, "start-up of a tile, as depth", "of 16 bits x peak / peak in 16 bits", TSIM_COUNT,
                        TSIM_PARTS(ramp_k(r, a), peak_rate(r, a, precision), tsim_inverse(peak_rate(r, a, half))));
}

struct tsim_amount tsim_memory_rate_recorded(struct tsim_term_recorder *r, const struct tsim_accelerator *a) {
    return tsim_product(
        r, "sustained memory rate", "bandwidth x sustained fraction", TSIM_BYTES_PER_S,
        TSIM_PARTS(tsim_of_accelerator(r, a, "memory_bandwidth", a->memory_bytes_per_s, TSIM_BYTES_PER_S),
                   tsim_of_accelerator(r, a, "efficiency.memory_sustained", a->memory_sustained_frac, TSIM_FRACTION)));
}

double tsim_memory_rate(const struct tsim_accelerator *a) {
    return tsim_memory_rate_recorded(NULL, a).value;
}

/* ---- products ---- */

/* A product, and the accelerator on which it runs. */
struct product {
    struct tsim_amount batch, m, n, k;
    struct tsim_amount units, unit_rate, depth;
};

static struct tsim_amount units_of(struct tsim_term_recorder *r, const struct tsim_accelerator *a) {
    return tsim_of_accelerator(r, a, "compute_units", (double)a->compute_units, TSIM_COUNT);
}

static struct product product_of(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                 enum tsim_precision precision, double batch, double m, double n, double k) {
    struct product p = {.batch = shape(r, "products", batch),
                        .m = shape(r, "rows", m),
                        .n = shape(r, "columns", n),
                        .k = shape(r, "depth", k),
                        .units = units_of(r, a)};
    p.unit_rate = tsim_product(r, "rate of a compute unit", "sustained matrix rate / units", TSIM_FLOPS_PER_S,
                               TSIM_PARTS(tsim_matrix_rate_recorded(r, a, precision), tsim_inverse(p.units)));
    return p;
}

static struct tsim_amount in_whole(struct tsim_term_recorder *r, const char *name, struct tsim_amount what,
                                   struct tsim_amount size) {
    return tsim_combined(r, TSIM_TERM_CEILING, name, "its size / a tile's, rounded up", TSIM_COUNT,
                         TSIM_PARTS(what, tsim_inverse(size)));
}

/* Returns the time until the last unit is done, in units of one tile of the whole depth, if the depth is split so
 * often. */
static struct tsim_amount split_waves(struct tsim_term_recorder *r, struct tsim_amount tiles, struct tsim_amount units,
                                      double split) {
    if (split == 1)
        return tsim_combined(r, TSIM_TERM_CEILING, "waves", "tiles / units, rounded up", TSIM_COUNT,
                             TSIM_PARTS(tiles, tsim_inverse(units)));
    struct tsim_amount pieces = constant(r, "pieces that the depth is split in", split, TSIM_COUNT);
    struct tsim_amount whole =
        tsim_combined(r, TSIM_TERM_CEILING, "waves of pieces", "tiles x pieces / units, rounded up", TSIM_COUNT,
                      TSIM_PARTS(tiles, pieces, tsim_inverse(units)));
    return tsim_product(r, "waves", "of pieces / pieces", TSIM_FRACTION, TSIM_PARTS(whole, tsim_inverse(pieces)));
}

static struct tsim_amount waves_of(struct tsim_term_recorder *r, struct tsim_amount tiles, struct tsim_amount units,
                                   double k) {
    double best = split_waves(NULL, tiles, units, 1).value, best_split = 1;
    for (double split = 2; best <= 1 && split <= MAX_SPLIT_K && k / split >= MIN_SPLIT_DEPTH; split++) {
        double waves = split_waves(NULL, tiles, units, split).value;
        best_split = waves < best ? split : best_split;
        best = waves < best ? waves : best;
    }
    return split_waves(r, tiles, units, best_split);
}

static struct tsim_amount tiles_of(struct tsim_term_recorder *r, const struct product *p, double m, double n) {
    return tsim_product(r, "tiles", "products x tiles down x tiles across", TSIM_COUNT,
                        TSIM_PARTS(p->batch,
                                   in_whole(r, "tiles down", p->m, constant(r, "rows of a tile", m, TSIM_COUNT)),
                                   in_whole(r, "tiles across", p->n, constant(r, "columns of a tile", n, TSIM_COUNT))));
}

static struct tsim_amount tile_time(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                    const struct product *p, double m, double n, double reuse_frac) {
    struct tsim_amount rate = p->unit_rate;
    if (reuse_frac != 1)
        rate = tsim_product(
            r, "rate of a tile of this shape", "of a unit x operand reuse", TSIM_FLOPS_PER_S,
            TSIM_PARTS(rate, of_kernels(r, a, tsim_record_text(r, "tile_reuse.%.0fx%.0f", fmax(m, n), fmin(m, n)),
                                        reuse_frac, TSIM_FRACTION)));
    return tsim_product(r, "time of a tile", "2 x rows x columns x depth / rate", TSIM_TIME_S,
                        TSIM_PARTS(constant(r, "FLOPs of an element", 2, TSIM_FLOPS),
                                   constant(r, "rows of a tile", m, TSIM_COUNT),
                                   constant(r, "columns of a tile", n, TSIM_COUNT), p->depth, tsim_inverse(rate)));
}

static struct tsim_amount times_waves(struct tsim_term_recorder *r, struct tsim_amount waves, struct tsim_amount tile) {
    return tsim_product(r, "on the matrix units", "waves x time of a tile", TSIM_TIME_S, TSIM_PARTS(waves, tile));
}

/* Returns the time on arrays that keep weights, with m cut into so many strips. */
static struct tsim_amount strips_time(struct tsim_term_recorder *r, const struct product *p, double side,
                                      double n_strips) {
    struct tsim_amount across = constant(r, "side of an array", side, TSIM_COUNT),
                       strips = constant(r, "strips of the rows", n_strips, TSIM_COUNT);
    struct tsim_amount rows = tsim_largest(r, "rows of a strip", "no less than an array's side", TSIM_COUNT,
                                           TSIM_PARTS(tsim_combined(r, TSIM_TERM_CEILING, "rows / strips", "rounded up",
                                                                    TSIM_COUNT, TSIM_PARTS(p->m, tsim_inverse(strips))),
                                                      across));
    struct tsim_amount waves = tsim_combined(
        r, TSIM_TERM_CEILING, "waves", "products x arrays across x strips / units, rounded up", TSIM_COUNT,
        TSIM_PARTS(p->batch, in_whole(r, "arrays across", p->n, across), strips, tsim_inverse(p->units)));
    return tsim_product(r, "on the matrix units", "waves x 2 x rows x side x depth / rate", TSIM_TIME_S,
                        TSIM_PARTS(waves, constant(r, "FLOPs of an element", 2, TSIM_FLOPS), rows, across, p->depth,
                                   tsim_inverse(p->unit_rate)));
}

/* Returns the time on an array in which the weights stay, with the number of strips that fills the units best (see the
 * header). */
static struct tsim_amount weights_stay(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                       struct product *p) {
    double side = (double)a->array_side, best_s = HUGE_VAL, best_strips = 1;
    struct tsim_amount across = constant(r, "side of an array", side, TSIM_COUNT);
    p->depth = tsim_sum(r, "depth in whole arrays, and start-up", "depth + start-up", TSIM_COUNT,
                        TSIM_PARTS(tsim_product(r, "depth in whole arrays", "arrays x side", TSIM_COUNT,
                                                TSIM_PARTS(in_whole(r, "arrays deep", p->k, across), across)),
                                   ramp_k(r, a)));
    for (double strips = 1; strips == 1 || (strips <= MAX_STRIPS && p->m.value / strips >= side); strips++) {
        double time_s = strips_time(NULL, p, side, strips).value;
        best_strips = time_s < best_s ? strips : best_strips;
        best_s = fmin(best_s, time_s);
    }
    return strips_time(r, p, side, best_strips);
}

static struct tsim_amount outputs_stay(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                       struct product *p) {
    double side = (double)a->array_side;
    struct tsim_amount waves = waves_of(r, tiles_of(r, p, side, side), p->units, p->k.value);
    p->depth = tsim_sum(r, "depth and start-up", "depth + start-up", TSIM_COUNT, TSIM_PARTS(p->k, ramp_k(r, a)));
    return tsim_product(r, "on the matrix units", "waves x 2 x side x side x depth / rate", TSIM_TIME_S,
                        TSIM_PARTS(waves, constant(r, "FLOPs of an element", 2, TSIM_FLOPS),
                                   constant(r, "side of an array", side, TSIM_COUNT),
                                   constant(r, "side of an array", side, TSIM_COUNT), p->depth,
                                   tsim_inverse(p->unit_rate)));
}

/* Returns the time with the best of the tiles for which libraries have kernels. */
static struct tsim_amount in_tiles(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                   enum tsim_precision precision, struct product *p) {
    double best_s = HUGE_VAL, k = p->k.value;
    int best = 0;
    bool is_alike = precision == TSIM_FP32;
    p->depth =
        tsim_sum(r, "depth and start-up", "depth + start-up", TSIM_COUNT, TSIM_PARTS(p->k, ramp_of(r, a, precision)));
    for (int i = 0; i < N_TILES; i++) {
        const struct tile *tile = &TILES[i];
        struct tsim_amount tiles = tiles_of(NULL, p, tile->m, tile->n);
        struct tsim_amount tile_s =
            tile_time(NULL, a, p, tile->m, tile->n, is_alike ? 1 : a->kernels.tile_reuse[tile->kind]);
        /* No number of waves can be better. */
        if (tiles.value / p->units.value * tile_s.value * (1 - ROUNDING) >= best_s)
            continue;
        double time_s = times_waves(NULL, waves_of(NULL, tiles, p->units, k), tile_s).value;
        best = time_s < best_s ? i : best;
        best_s = fmin(best_s, time_s);
    }
    if (!r)
        return (struct tsim_amount){.value = best_s};
    const struct tile *tile = &TILES[best];
    return times_waves(r, waves_of(r, tiles_of(r, p, tile->m, tile->n), p->units, k),
                       tile_time(r, a, p, tile->m, tile->n, is_alike ? 1 : a->kernels.tile_reuse[tile->kind]));
}

static struct tsim_amount gemm(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                               enum tsim_precision precision, double batch, double m, double n, double k) {
    struct product p = product_of(r, a, precision, batch, m, n, k);
    if (a->array_side == 0)
        return in_tiles(r, a, precision, &p);
    return a->array_stationary == TSIM_STATIONARY_OUTPUTS ? outputs_stay(r, a, &p) : weights_stay(r, a, &p);
}

double tsim_gemm_s(const struct tsim_accelerator *a, enum tsim_precision precision, double batch, double m, double n,
                   double k) {
    return gemm(NULL, a, precision, batch, m, n, k).value;
}

/* Returns the elements to which rows are aligned. Blocks of 32 elements share a scale in MXFP8, and blocks have 16
 * bytes in NVFP4. */
static double aligned_elements(enum tsim_precision precision) {
    bool has_blocks = precision == TSIM_MXFP8 || precision == TSIM_NVFP4;
    return has_blocks ? 32 : LOAD_BYTES / tsim_operand_bytes(precision);
}

/* Returns whether a product's operands are aligned. They lie in memory as features of tokens: with y = x W the rows are
 * n and k long, for the gradient of W they are m and n long. fp32 products do without matrix units. */
static bool is_aligned(const struct tsim_op *op) {
    double step = aligned_elements(op->precision), other = op->is_weight_gradient ? op->m : op->k;
    return op->is_padded || op->precision == TSIM_FP32 || (fmod(op->n, step) == 0 && fmod(other, step) == 0);
}

/* Returns whether sums are promoted. They stay in the matrix units' fewer bits only in forward products (Transformer
 * Engine's recipes, fp8_gemm_dgrad and _wgrad; torchao's float8; XLA), in none with scales of blocks (its
 * Float8BlockScaling; DeepSeek-V3, section 3.3.2), and in all with scales of rows (torchao's recipe "rowwise": PyTorch's
 * kernel is only fast so). */
static bool is_promoted(const struct tsim_software *software, const struct tsim_op *op) {
    if (op->precision != TSIM_FP8 || software->fp8_scaling == TSIM_SCALING_ROWS)
        return false;
    return op->is_gradient || software->fp8_scaling == TSIM_SCALING_BLOCK;
}

/* Returns the time of a convolution whose groups are joined: `joined` of them share one product, on its diagonal. */
static struct tsim_amount joined_time(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                      enum tsim_precision precision, const struct tsim_op *op, double joined) {
    double products = op->batch / op->groups * ceil(op->groups / joined), m = op->m, k = op->k;
    *(op->is_weight_gradient ? &m : &k) *= joined;
    return gemm(r, a, precision, products, m, op->n * joined, k);
}

/* Returns the time of a convolution in groups, the least of: so many groups a product, up to all, which is the
 * convolution without groups; and, if it is depthwise, the vector units. */
static struct tsim_amount grouped_time(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                       enum tsim_precision precision, const struct tsim_op *op) {
    double vector_s = op->is_depthwise ? op->flops / a->vector_flops_per_s : HUGE_VAL, best_s = vector_s, best = 0;
    for (double joined = 1, last = 0; last < op->groups; last = joined, joined = fmin(2 * joined, op->groups)) {
        double time_s = joined_time(NULL, a, precision, op, joined).value;
        best = time_s < best_s ? joined : best;
        best_s = fmin(best_s, time_s);
    }
    if (best > 0)
        return joined_time(r, a, precision, op, best);
    return tsim_product(
        r, "on the vector units", "FLOPs / peak", TSIM_TIME_S,
        TSIM_PARTS(tsim_given(r, "FLOPs", op->flops, TSIM_FLOPS, OF_SHAPE),
                   tsim_inverse(tsim_of_accelerator(r, a, "vector_peak", a->vector_flops_per_s, TSIM_FLOPS_PER_S))));
}

static struct tsim_amount aligned_time(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                       enum tsim_precision precision, const struct tsim_op *op) {
    if (op->groups > 1)
        return grouped_time(r, a, precision, op);
    if (!op->is_sequential)
        return gemm(r, a, precision, op->batch, op->m, op->n, op->k);
    return tsim_product(r, "products one after another", "products x time of one", TSIM_TIME_S,
                        TSIM_PARTS(shape(r, "products", op->batch), gemm(r, a, precision, 1, op->m, op->n, op->k)));
}

static struct tsim_amount slower(struct tsim_term_recorder *r, struct tsim_amount time, const char *name,
                                 struct tsim_amount rate_frac) {
    return tsim_product(r, name, "time at the whole rate / its part of the rate", TSIM_TIME_S,
                        TSIM_PARTS(time, tsim_inverse(rate_frac)));
}

static struct tsim_amount product_time(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                       const struct tsim_software *software, const struct tsim_op *op) {
    bool is_slow = a->array_side == 0 && !is_aligned(op);
    if (is_slow && software->unaligned_products == TSIM_UNALIGNED_VECTOR && a->peak_flops_per_s[TSIM_FP32] > 0)
        return slower(r, aligned_time(r, a, TSIM_FP32, op), "without matrix units",
                      of_kernels(r, a, "unaligned_vector", a->kernels.unaligned_vector_frac, TSIM_FRACTION));
    struct tsim_amount time = aligned_time(r, a, op->precision, op);
    if (a->fp8_gradients_frac > 0 && is_promoted(software, op))
        time = slower(r, time, "with sums in fp32",
                      tsim_of_accelerator(r, a, "efficiency.fp8_gradients", a->fp8_gradients_frac, TSIM_FRACTION));
    if (op->precision == TSIM_FP8 && software->fp8_scaling == TSIM_SCALING_ROWS)
        time = slower(r, time, "with scales of rows",
                      of_kernels(r, a, "row_scales", a->kernels.row_scales_frac, TSIM_FRACTION));
    if (op->is_winograd)
        time = slower(r, time, "with Winograd's transforms",
                      op->is_weight_gradient
                          ? of_kernels(r, a, "winograd_weights", a->kernels.winograd_weights_frac, TSIM_FRACTION)
                          : of_kernels(r, a, "winograd", a->kernels.winograd_frac, TSIM_FRACTION));
    if (op->is_grouped && a->grouped_products_frac > 0)
        time =
            slower(r, time, "grouped",
                   tsim_of_accelerator(r, a, "efficiency.grouped_products", a->grouped_products_frac, TSIM_FRACTION));
    if (!is_slow)
        return time;
    return slower(r, time, "with unaligned rows",
                  of_kernels(r, a, "unaligned", a->kernels.unaligned_frac, TSIM_FRACTION));
}

static bool is_first_generation(enum tsim_attention_kernel kernel) {
    return kernel == TSIM_ATTENTION_FLASH1 || kernel == TSIM_ATTENTION_FLASH_TRITON;
}

static struct tsim_amount flash_frac(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                     enum tsim_attention_kernel kernel) {
    enum tsim_flash flash = tsim_flash_of(a, kernel);
    struct tsim_amount frac = of_slowest(r, a, tsim_record_text(r, "efficiency.attention.%s", tsim_flash_name(flash)),
                                         (a->mean ? a->mean : a)->attention_frac[flash], a->attention_frac[flash]);
    if (kernel != TSIM_ATTENTION_FLASH_TRITON)
        return frac;
    return tsim_product(
        r, "of the Triton kernel", "over FlashAttention-1's x its fraction", TSIM_FRACTION,
        TSIM_PARTS(of_kernels(r, a, "triton_over_flash1", a->kernels.triton_over_flash1, TSIM_FRACTION), frac));
}

/* Returns the constants of the kernel that runs there. */
static const struct tsim_flash_kernel *flash_kernel(const struct tsim_accelerator *a,
                                                    enum tsim_attention_kernel kernel) {
    return kernel == TSIM_ATTENTION_FLASH_TRITON ? &a->kernels.triton : &a->kernels.flash[tsim_flash_of(a, kernel)];
}

static struct tsim_amount of_flash(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                   enum tsim_attention_kernel kernel, const char *key, double value,
                                   enum tsim_dimension dimension) {
    const char *name = kernel == TSIM_ATTENTION_FLASH_TRITON ? "triton" : tsim_flash_name(tsim_flash_of(a, kernel));
    return of_kernels(r, a, tsim_record_text(r, "%s.%s", name, key), value, dimension);
}

static struct tsim_amount flash_ramp(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                     enum tsim_attention_kernel kernel, bool is_causal) {
    const struct tsim_flash_kernel *k = flash_kernel(a, kernel);
    return is_causal ? of_flash(r, a, kernel, "causal_ramp", k->causal_ramp, TSIM_COUNT)
                     : of_flash(r, a, kernel, "ramp", k->ramp, TSIM_COUNT);
}

static struct tsim_amount tile_queries(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                       enum tsim_attention_kernel kernel) {
    return of_flash(r, a, kernel, "tile_queries", flash_kernel(a, kernel)->tile_queries, TSIM_COUNT);
}

/* Returns whether a causal forward pass has so few heads that it waits for its longest tile (see the header). */
static bool has_last_tile(enum tsim_attention_kernel kernel, const struct tsim_op *op) {
    return op->causal && !op->is_gradient && !is_first_generation(kernel);
}

static struct tsim_amount last_tile(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                    enum tsim_attention_kernel kernel, const struct tsim_op *op) {
    return tsim_product(r, "of the longest tile, which the others wait for", "2 x queries of a tile x units / queries",
                        TSIM_FRACTION,
                        TSIM_PARTS(constant(r, "longest over mean tile", 2, TSIM_FRACTION), tile_queries(r, a, kernel),
                                   units_of(r, a), tsim_inverse(shape(r, "queries of all heads", op->queries))));
}

/* Returns the slowdown of windows. A tile of queries meets the keys of all of its windows, which together are longer
 * than each by the tile. All tiles are alike, so the ramp is that of attention to all keys. Causal attention takes the
 * same, within a few tokens, as a window as long as the sequence. */
static struct tsim_amount window_slowdown(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                          enum tsim_attention_kernel kernel, const struct tsim_op *op) {
    struct tsim_amount more = tsim_sum(r, "keys beside those of a query", "queries of a tile + ramp", TSIM_COUNT,
                                       TSIM_PARTS(tile_queries(r, a, kernel), flash_ramp(r, a, kernel, false)));
    return tsim_sum(r, "slowdown by tiles and ramp", "1 + keys beside / keys", TSIM_FRACTION,
                    TSIM_PARTS(constant(r, "without a ramp", 1, TSIM_FRACTION),
                               tsim_product(r, "of the keys beside", "keys beside / keys of a query", TSIM_FRACTION,
                                            TSIM_PARTS(more, tsim_inverse(shape(r, "keys of a query, their mean",
                                                                                op->window_keys))))));
}

/* Returns the factor that the ramp adds. Around a ring of `pieces` a rank's tokens lie at both ends of the sequence.
 * One kernel is causal over them; of the others half attend from all of them to half a piece, and half from half of
 * them to a whole piece. */
static struct tsim_amount flash_slowdown(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                         enum tsim_attention_kernel kernel, const struct tsim_op *op) {
    if (op->window_keys > 0)
        return window_slowdown(r, a, kernel, op);
    struct tsim_amount pieces = shape(r, "pieces of a ring", op->pieces);
    struct tsim_amount own =
        tsim_product(r, "tokens of a piece", "tokens attended to / pieces", TSIM_COUNT,
                     TSIM_PARTS(shape(r, "tokens attended to", op->sequence), tsim_inverse(pieces)));
    struct tsim_amount first = tsim_product(r, "of the own piece", "its ramp in tokens / tokens", TSIM_FRACTION,
                                            TSIM_PARTS(flash_ramp(r, a, kernel, op->causal), tsim_inverse(own)));
    struct tsim_amount tail = last_tile(NULL, a, kernel, op);
    if (has_last_tile(kernel, op) && tail.value > first.value)
        first = last_tile(r, a, kernel, op);
    struct tsim_amount one = constant(r, "without a ramp", 1, TSIM_FRACTION);
    if (op->pieces == 1)
        return tsim_sum(r, "slowdown by the ramp", "1 + ramp / tokens", TSIM_FRACTION, TSIM_PARTS(one, first));
    struct tsim_amount other = tsim_product(r, "of another piece", "ramp in tokens / tokens", TSIM_FRACTION,
                                            TSIM_PARTS(flash_ramp(r, a, kernel, false), tsim_inverse(own)));
    struct tsim_amount others = tsim_product(r, "of the other pieces", "pieces x weight x of one", TSIM_FRACTION,
                                             TSIM_PARTS(shape(r, "other pieces", op->pieces - 1),
                                                        constant(r, "weight of halves", op->causal ? 1.5 : 1,
                                                                 TSIM_FRACTION), /* half's twice, whole's once */
                                                        other));
    struct tsim_amount mean = tsim_product(
        r, "ramp of a piece, their mean", "all / pieces", TSIM_FRACTION,
        TSIM_PARTS(tsim_sum(r, "ramps of all pieces", "own + others", TSIM_FRACTION, TSIM_PARTS(first, others)),
                   tsim_inverse(pieces)));
    return tsim_sum(r, "slowdown by the ramp", "1 + mean of the pieces", TSIM_FRACTION, TSIM_PARTS(one, mean));
}

static struct tsim_amount head_dim_factor(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                          enum tsim_attention_kernel kernel, const struct tsim_op *op) {
    const struct tsim_flash_kernel *k = flash_kernel(a, kernel);
    bool is_wide = op->head_dim > REFERENCE_HEAD_DIM && tsim_flash_of(a, kernel) == TSIM_FLASH_CUDNN;
    if (is_wide && a->wide_heads_frac > 0)
        return tsim_of_accelerator(r, a, "efficiency.attention.wide_heads", a->wide_heads_frac, TSIM_FRACTION);
    if (k->head_ramp == 0) {
        double small_frac = op->causal ? k->causal_small_heads : k->small_heads;
        return op->head_dim <= SMALL_HEAD_DIM && small_frac > 0
                   ? of_flash(r, a, kernel, op->causal ? "causal_small_heads" : "small_heads", small_frac,
                              TSIM_FRACTION)
                   : constant(r, "factor of the head dimension", 1, TSIM_FRACTION);
    }
    struct tsim_amount head = shape(r, "head dimension", op->head_dim),
                       ramp = of_flash(r, a, kernel, "head_ramp", k->head_ramp, TSIM_COUNT);
    struct tsim_amount ramped =
        tsim_sum(r, "head dimension and its ramp", "dimension + ramp", TSIM_COUNT, TSIM_PARTS(head, ramp));
    return tsim_product(r, "factor of the head dimension", "dimension / (dimension + ramp), over that of 128",
                        TSIM_FRACTION,
                        TSIM_PARTS(head, tsim_inverse(ramped),
                                   constant(r, "of a dimension of 128, inverse",
                                            (REFERENCE_HEAD_DIM + k->head_ramp) / REFERENCE_HEAD_DIM, TSIM_FRACTION)));
}

/* Returns the factor of one direction, with which both passes together take as long as with one rate. */
static double direction_factor(const struct tsim_flash_kernel *kernel, const struct tsim_op *op) {
    double ratio = kernel->forward_over_backward > 0 ? kernel->forward_over_backward : 1;
    double forward = FLASH_FORWARD_FLOPS_FRAC + (1 - FLASH_FORWARD_FLOPS_FRAC) * ratio;
    return op->is_gradient ? forward / ratio : forward;
}

/* Returns the rate in fp8 over that in 16 bits. */
static double fp8_ratio(const struct tsim_accelerator *a, enum tsim_attention_kernel kernel, const struct tsim_op *op) {
    bool is_known = op->is_fp8 && a->fp8_attention_ratio > 0 && tsim_flash_of(a, kernel) == TSIM_FLASH_CUDNN;
    return is_known ? a->fp8_attention_ratio : 1;
}

/* Returns the part of the arrays' depth and width that a head fills. */
static struct tsim_amount array_fill(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                     const struct tsim_op *op) {
    struct tsim_amount head = shape(r, "head dimension", op->head_dim),
                       side = constant(r, "side of an array", a->array_side > 0 ? (double)a->array_side : op->head_dim,
                                       TSIM_COUNT);
    return tsim_product(r, "part of its arrays that a head fills", "dimension / (arrays x side)", TSIM_FRACTION,
                        TSIM_PARTS(head, tsim_inverse(in_whole(r, "arrays", head, side)), tsim_inverse(side)));
}

static double block_of(int64_t tokens, double sequence) {
    return tokens > 0 ? fmin((double)tokens, sequence) : sequence;
}

/* Returns what blocks at the edges of a mask add, of which a part is computed for nothing. */
static struct tsim_amount masked_blocks(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                        const struct tsim_op *op, double longer) {
    struct tsim_amount one = constant(r, "what the mask leaves", 1, TSIM_FRACTION);
    if (!op->causal && !(op->window_keys > 0))
        return one;
    struct tsim_amount keys = op->window_keys > 0 ? shape(r, "keys of a query, their mean", op->window_keys)
                                                  : shape(r, "tokens attended to", op->sequence);
    return tsim_sum(
        r, "whole blocks over what the mask leaves", "1 + at its edges", TSIM_FRACTION,
        TSIM_PARTS(one, tsim_product(r, "at its edges", "block x (1 + masking of both halves) / keys", TSIM_FRACTION,
                                     TSIM_PARTS(constant(r, "tokens of a block", longer, TSIM_COUNT),
                                                constant(r, "with the masking of both halves",
                                                         1 + 2 * a->kernels.splash_masked_frac, TSIM_FRACTION),
                                                tsim_inverse(keys)))));
}

/* Returns the time of splash attention: blocks are computed one after the other on each core, whole. */
static struct tsim_amount splash_time(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                      const struct tsim_software *software, const struct tsim_op *op) {
    const struct tsim_attention_blocks *blocks = &software->attention_blocks;
    double queries = block_of(op->is_gradient ? blocks->backward_queries : blocks->queries, op->sequence),
           keys = block_of(op->is_gradient ? blocks->backward_keys : blocks->keys, op->sequence);
    struct tsim_amount forward = tsim_product(
        r, "rate of blocks, forward", "peak x the kernel's fraction x part of the arrays", TSIM_FLOPS_PER_S,
        TSIM_PARTS(peak_rate(r, a, op->precision), flash_frac(r, a, software->attention_kernel), array_fill(r, a, op)));
    struct tsim_amount rate = forward;
    if (op->is_gradient)
        rate = tsim_product(r, "rate of blocks, backward", "forward x backward over forward", TSIM_FLOPS_PER_S,
                            TSIM_PARTS(forward, of_kernels(r, a, "splash.backward_over_forward",
                                                           a->kernels.splash_backward_over_forward, TSIM_FRACTION)));
    struct tsim_amount cores = tsim_of_accelerator(r, a, "cores", fmax((double)a->cores, 1), TSIM_COUNT);
    struct tsim_amount block = tsim_product(
        r, "FLOPs of a block, forward", "4 x queries x keys x head dimension", TSIM_FLOPS,
        TSIM_PARTS(constant(r, "two products, of a score", 4, TSIM_FLOPS),
                   constant(r, "queries of a block", queries, TSIM_COUNT),
                   constant(r, "keys of a block", keys, TSIM_COUNT), shape(r, "head dimension", op->head_dim)));
    struct tsim_amount start =
        tsim_product(r, "start of a block", "cycles / clock x rate of a core / its FLOPs", TSIM_FRACTION,
                     TSIM_PARTS(of_kernels(r, a, "splash.start_cycles", a->kernels.splash_start_cycles, TSIM_COUNT),
                                tsim_inverse(tsim_of_accelerator(r, a, "clock", a->clock_hz, TSIM_HZ)), forward,
                                tsim_inverse(cores), tsim_inverse(block)));
    return tsim_product(r, "on the matrix units", "FLOPs / rate x whole blocks x with their starts", TSIM_TIME_S,
                        TSIM_PARTS(tsim_given(r, "FLOPs", op->flops, TSIM_FLOPS, OF_SHAPE), tsim_inverse(rate),
                                   masked_blocks(r, a, op, fmax(queries, keys)),
                                   tsim_sum(r, "with the starts of blocks", "1 + start", TSIM_FRACTION,
                                            TSIM_PARTS(constant(r, "without", 1, TSIM_FRACTION), start))));
}

/* Returns the time of flash attention. The ramp is a time, as long in fp8 as in 16 bits. */
static struct tsim_amount flash_time(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                     const struct tsim_software *software, const struct tsim_op *op) {
    enum tsim_attention_kernel kernel = software->attention_kernel;
    struct tsim_amount rate = tsim_product(
        r, "rate of long sequences", "peak x the kernel's fraction x head dimension x direction", TSIM_FLOPS_PER_S,
        TSIM_PARTS(peak_rate(r, a, op->precision), flash_frac(r, a, kernel), head_dim_factor(r, a, kernel, op),
                   constant(r, op->is_gradient ? "backward over both" : "forward over both",
                            direction_factor(flash_kernel(a, kernel), op), TSIM_FRACTION)));
    double ratio = fp8_ratio(a, kernel, op);
    struct tsim_amount slowdown = flash_slowdown(r, a, kernel, op);
    if (ratio != 1)
        slowdown = tsim_sum(
            r, "slowdown by the ramp, in fp8", "the same, with 1 / ratio in place of 1", TSIM_FRACTION,
            TSIM_PARTS(slowdown, tsim_inverse(constant(r, "without a ramp", 1, TSIM_FRACTION)),
                       tsim_product(r, "without a ramp, in fp8", "1 / rate over that of 16 bits", TSIM_FRACTION,
                                    TSIM_PARTS(tsim_inverse(tsim_of_accelerator(
                                        r, a, "efficiency.attention.fp8_over_16", ratio, TSIM_FRACTION))))));
    return tsim_product(
        r, "on the matrix units", "FLOPs / rate x slowdown", TSIM_TIME_S,
        TSIM_PARTS(tsim_given(r, "FLOPs", op->flops, TSIM_FLOPS, OF_SHAPE), tsim_inverse(rate), slowdown));
}

/* ---- the power limit ---- */

/* Returns the power that the kernel draws at a relative clock, as a part of the range. */
static double drawn_frac(const struct tsim_accelerator *a, double matrix_s, double memory_s, double clock) {
    double slowed_s = matrix_s / clock, time_s = fmax(slowed_s, memory_s);
    double busy = slowed_s / time_s, fixed = (1 - a->power_compute_frac) * busy;
    return a->power_compute_frac * busy * clock * clock * clock + fmax(a->power_memory_frac * memory_s / time_s, fixed);
}

double tsim_power_clock(const struct tsim_accelerator *a, double matrix_s, double memory_s) {
    double budget = tsim_power_budget_frac(a), low = LOWEST_CLOCK, high = 1;
    if (!(matrix_s > 0))
        return 1;
    double above = drawn_frac(a, matrix_s, memory_s, high) - budget;
    if (above <= 0)
        return 1;
    double below = drawn_frac(a, matrix_s, memory_s, low) - budget, clock = low;
    for (int i = 0, side = 0; i < CLOCK_STEPS && below < 0; i++) {
        clock = (low * above - high * below) / (above - below);
        double excess = drawn_frac(a, matrix_s, memory_s, clock) - budget;
        if (fabs(excess) < CLOCK_PRECISION)
            break;
        if (excess > 0) {
            high = clock;
            above = excess;
            below /= side > 0 ? 2 : 1;
            side = 1;
        } else {
            low = clock;
            below = excess;
            above /= side < 0 ? 2 : 1;
            side = -1;
        }
    }
    return clock;
}

/* Returns the time on the matrix units at the clock that the power limit leaves. */
static struct tsim_amount under_limit(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                      struct tsim_amount matrix, struct tsim_amount memory, double *clock) {
    *clock = tsim_power_clock(a, matrix.value, memory.value);
    if (*clock == 1)
        return matrix;
    struct tsim_amount searched = tsim_outcome(
        r, "clock under the power limit",
        "the highest at which the kernel draws no more, searched (sim/cost/compute.h)", *clock, TSIM_FRACTION,
        TSIM_PARTS(matrix, memory, tsim_of_accelerator(r, a, "power.compute", a->power_compute_frac, TSIM_FRACTION),
                   tsim_of_accelerator(r, a, "power.memory", a->power_memory_frac, TSIM_FRACTION),
                   constant(r, "range of power that there is", tsim_power_budget_frac(a), TSIM_FRACTION)));
    return tsim_product(r, "on the matrix units, at a lower clock", "time at the full clock / clock", TSIM_TIME_S,
                        TSIM_PARTS(matrix, tsim_inverse(searched)));
}

static struct tsim_amount memory_time(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                      struct tsim_amount bytes) {
    return tsim_product(r, "on memory", "bytes / rate", TSIM_TIME_S,
                        TSIM_PARTS(bytes, tsim_inverse(tsim_memory_rate_recorded(r, a))));
}

/* Returns the time of the instructions of kernels that work on one element at a time. Schedulers of other makers than
 * NVIDIA were not measured. */
static struct tsim_amount issue_time(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                     const struct tsim_op *op) {
    if (!(op->issued > 0 && a->compute_capability > 0 && a->clock_hz > 0))
        return (struct tsim_amount){0};
    struct tsim_amount rate = tsim_product(
        r, "instructions issued", "units x of a unit in a cycle x clock", TSIM_PER_S,
        TSIM_PARTS(units_of(r, a), of_kernels(r, a, "issued_per_cycle", a->kernels.issued_per_cycle, TSIM_COUNT),
                   tsim_of_accelerator(r, a, "clock", a->clock_hz, TSIM_HZ)));
    return tsim_product(r, "on the vector units", "instructions / rate", TSIM_TIME_S,
                        TSIM_PARTS(shape(r, "instructions, element by element", op->issued), tsim_inverse(rate)));
}

/* Returns the time for which a product waits at the ends of its tiles, if they add to a sum in memory. */
static struct tsim_amount accumulation_time(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                            const struct tsim_op *op) {
    if (!(op->sum_bytes > 0 && a->accumulation_exposed_frac > 0))
        return (struct tsim_amount){0};
    return tsim_product(
        r, "for the sum that it adds to", "bytes / rate x part that is not hidden", TSIM_TIME_S,
        TSIM_PARTS(
            tsim_given(r, "bytes of the sum, read and written", op->sum_bytes, TSIM_BYTES, OF_SHAPE),
            tsim_inverse(tsim_memory_rate_recorded(r, a)),
            tsim_of_accelerator(r, a, "efficiency.accumulation_exposed", a->accumulation_exposed_frac, TSIM_FRACTION)));
}

static struct tsim_amount exchange_time(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                        struct tsim_amount bytes) {
    if (!(a->exchange_bytes_per_s > 0))
        return (struct tsim_amount){0};
    return tsim_product(r, "exchange between the units", "bytes / rate", TSIM_TIME_S,
                        TSIM_PARTS(bytes, tsim_inverse(tsim_of_accelerator(r, a, "exchange", a->exchange_bytes_per_s,
                                                                           TSIM_BYTES_PER_S))));
}

static struct tsim_amount launch_time(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                      const struct tsim_op *op) {
    struct tsim_amount latency =
        tsim_of_accelerator(r, a, "efficiency.kernel_latency", a->kernel_latency_s, TSIM_TIME_S);
    return op->kernels == 1 ? latency
                            : tsim_product(r, "latency of its kernels", "kernels x latency", TSIM_TIME_S,
                                           TSIM_PARTS(shape(r, "kernels", op->kernels), latency));
}

struct tsim_amount tsim_kernel_recorded(struct tsim_term_recorder *r, const struct tsim_accelerator *a,
                                        const struct tsim_software *software, const struct tsim_op *op,
                                        struct tsim_kernel_cost *cost) {
    struct tsim_amount matrix = {0}, bytes = tsim_given(r, "bytes read and written", op->bytes, TSIM_BYTES, OF_SHAPE);
    double clock;
    TSIM_ASSERT(op->kind != TSIM_OP_COLLECTIVE);
    if (op->kind == TSIM_OP_GEMM)
        matrix = product_time(r, a, software, op);
    else if (op->kind == TSIM_OP_FLASH)
        matrix = tsim_flash_of(a, software->attention_kernel) == TSIM_FLASH_SPLASH ? splash_time(r, a, software, op)
                                                                                   : flash_time(r, a, software, op);
    struct tsim_amount memory = memory_time(r, a, bytes), exchange = exchange_time(r, a, bytes),
                       launch = launch_time(r, a, op), roofline = memory;
    double at_full_clock_s = matrix.value;
    struct tsim_amount issue = issue_time(r, a, op);
    if (issue.value > 0)
        roofline = tsim_largest(r, "roofline", "the longer of the two", TSIM_TIME_S, TSIM_PARTS(issue, memory));
    matrix = under_limit(r, a, matrix, memory, &clock);
    if (matrix.value > 0) {
        struct tsim_amount waits = accumulation_time(r, a, op), busy = matrix;
        if (waits.value > 0)
            busy = tsim_sum(r, "on the matrix units, and waiting for the sum", "their sum", TSIM_TIME_S,
                            TSIM_PARTS(matrix, waits));
        roofline = tsim_largest(r, "roofline", "the longer of the two", TSIM_TIME_S, TSIM_PARTS(busy, memory));
    }
    struct tsim_amount time = tsim_sum(r, op->name,
                                       matrix.value > 0  ? "max(matrix units, memory) + latency"
                                       : issue.value > 0 ? "max(vector units, memory) + latency"
                                                         : "memory + latency",
                                       TSIM_TIME_S, TSIM_PARTS(roofline, exchange, launch));
    *cost = (struct tsim_kernel_cost){.time_s = time.value,
                                      .matrix_s = matrix.value,
                                      .matrix_power_s = at_full_clock_s * clock * clock,
                                      .memory_s = memory.value,
                                      .exchange_s = exchange.value};
    if (launch.value > roofline.value + exchange.value)
        cost->limit = TSIM_LIMIT_LATENCY;
    else
        cost->limit = fmax(cost->matrix_s, issue.value) >= fmax(cost->memory_s, cost->exchange_s) ? TSIM_LIMIT_MATRIX
                                                                                                  : TSIM_LIMIT_MEMORY;
    TSIM_ASSERT(isfinite(cost->time_s) && cost->time_s >= 0);
    return time;
}

void tsim_kernel_cost(const struct tsim_accelerator *a, const struct tsim_software *software, const struct tsim_op *op,
                      struct tsim_kernel_cost *cost) {
    tsim_kernel_recorded(NULL, a, software, op, cost);
}
