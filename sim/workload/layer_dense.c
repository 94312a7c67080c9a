/* Attention and a feed-forward block: the layer of most transformers, and of an encoder-decoder model's encoder. */
#include "workload/operator_builders.h"

/* Side by side (parallel_block: GPT-J, PaLM) both blocks take the one norm's result, which is gathered once, or each
 * that of its own (parallel_norms: GPT-NeoX); their partial sums are added before they are reduced once. */
static void forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    tsim_op_attention_forward(list, z);
    if (z->model->parallel_block)
        elementwise(list, "blocks, add", z->t * z->h, 3 * z->element_bytes, 1);
    tsim_op_ffn_forward(list, z);
}

static void backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    tsim_op_ffn_backward(list, z);
    tsim_op_attention_backward(list, z);
}

/* An encoder's tokens attend to all others. */
static struct tsim_op_shape encoder_shape(const struct tsim_scenario *sc) {
    struct tsim_op_shape z = tsim_op_shape_first(sc);
    z.causal = false;
    return z;
}

void tsim_dense_forward(const struct tsim_scenario *sc, int64_t at, struct tsim_op_list *list) {
    struct tsim_op_shape z = tsim_op_shape_first(sc);
    (void)at;
    forward(list, &z);
}

void tsim_dense_backward(const struct tsim_scenario *sc, int64_t at, struct tsim_op_list *list) {
    struct tsim_op_shape z = tsim_op_shape_first(sc);
    (void)at;
    backward(list, &z);
}

void tsim_encoder_forward(const struct tsim_scenario *sc, int64_t at, struct tsim_op_list *list) {
    struct tsim_op_shape z = encoder_shape(sc);
    (void)at;
    forward(list, &z);
}

void tsim_encoder_backward(const struct tsim_scenario *sc, int64_t at, struct tsim_op_list *list) {
    struct tsim_op_shape z = encoder_shape(sc);
    (void)at;
    backward(list, &z);
}
