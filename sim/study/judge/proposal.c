#include "study/judge/proposal.h"

#include "results/loss_law.h"

#include <math.h>

enum { WIDTH = 1024, MOST_WIDTH = 64 * WIDTH, HEAD = 128, KV_HEADS = 8, VOCABULARY = 128256, LAYERS = 4 };
enum { LEAST_ASPECT = 80, USUAL_ASPECT = 128, MOST_ASPECT = 160 };
#define MOST_FLOPS 1e30
#define MOST_BATCH_TOKENS 8e6

double tsim_usual_batch_tokens(double loss) {
    return fmin(MOST_BATCH_TOKENS, tsim_critical_batch(NULL, (struct tsim_amount){.value = loss}).value);
}

static const struct tsim_loss_law *law(void) {
    return &TSIM_LOSS_FITS[TSIM_LOSS_FIT_BESIROGLU];
}

static int64_t ffn_hidden(int64_t hidden) {
    return hidden * 7 / 2;
}

/* Queries and the result, keys and values, the three matrices of the gated block, two norms; words at both ends. */
static double parameters_of(int64_t layers, int64_t hidden) {
    double h = (double)hidden, layer = 2 * h * h + 2 * h * KV_HEADS * HEAD + 3 * h * (double)ffn_hidden(hidden) + 2 * h;
    return (double)layers * layer + 2.0 * VOCABULARY * h + h;
}

static void consider(int64_t layers, int64_t hidden, double wanted, struct tsim_proposal *best) {
    double parameters = parameters_of(layers, hidden), off = fabs(log(parameters / wanted));
    if (best->layers > 0 && off >= fabs(log(best->parameters / wanted)))
        return;
    *best = (struct tsim_proposal){.layers = layers,
                                   .hidden = hidden,
                                   .heads = hidden / HEAD,
                                   .ffn_hidden = ffn_hidden(hidden),
                                   .parameters = parameters};
}

bool tsim_propose(double flops, struct tsim_proposal *proposal) {
    double wanted = tsim_compute_optimal_parameters(law(), flops);
    if (!(wanted >= parameters_of(WIDTH / USUAL_ASPECT, WIDTH)) || !(flops <= MOST_FLOPS))
        return false;
    *proposal = (struct tsim_proposal){.layers = 0};
    for (int64_t hidden = WIDTH; hidden <= MOST_WIDTH; hidden += WIDTH)
        for (int64_t layers = LAYERS; layers * LEAST_ASPECT <= hidden; layers += LAYERS)
            if (layers * MOST_ASPECT >= hidden)
                consider(layers, hidden, wanted, proposal);
    proposal->tokens = flops / (TSIM_FLOPS_PER_TOKEN * proposal->parameters);
    double loss = tsim_loss_at(law(), proposal->parameters, proposal->tokens);
    proposal->loss = tsim_likely_loss(proposal->parameters,
                                      proposal->tokens / tsim_batch_tokens_factor(tsim_usual_batch_tokens(loss), loss));
    return true;
}

static double least_loss(double flops) {
    double parameters = tsim_compute_optimal_parameters(law(), flops);
    return tsim_loss_at(law(), parameters, flops / (TSIM_FLOPS_PER_TOKEN * parameters));
}

double tsim_flops_to_loss(double loss) {
    double low = log(1e12), high = log(MOST_FLOPS);
    if (least_loss(exp(high)) > loss)
        return (double)INFINITY;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (least_loss(exp(middle)) > loss)
            low = middle;
        else
            high = middle;
    }
    return exp(high);
}

const char *tsim_proposal_text(struct tsim_arena *arena, const struct tsim_proposal *p) {
    return tsim_arena_printf(arena,
                             "{schema: tsim/model/v1, name: llama-like-%.3gb, kind: transformer, layers: %lld, hidden: "
                             "%lld, heads: %lld, kv_heads: %d, ffn_hidden: %lld, vocab: %d, gated_mlp: true, norm: "
                             "rmsnorm, position: rope, tied_embeddings: false, bias: false, causal: true}",
                             p->parameters / 1e9, (long long)p->layers, (long long)p->hidden, (long long)p->heads,
                             KV_HEADS, (long long)p->ffn_hidden, VOCABULARY);
}
