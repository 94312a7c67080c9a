/* A frozen model with adapters: parameters by hand, what is executed and kept, and what nobody pays for. */
#include "model/adapter.h"
#include "model/kept.h"
#include "model/model.h"
#include "model/operators.h"
#include "partition/memory.h"
#include "support/example.h"
#include "support/operator_list.h"

static struct example e;

#define H 1024.0
#define F 4096.0
#define R 16.0
enum {
    ALL = 1u << TSIM_TARGET_QKV | 1u << TSIM_TARGET_OUTPUT | 1u << TSIM_TARGET_GATE_UP | 1u << TSIM_TARGET_DOWN,
    SEPARATE = 1u << TSIM_TARGET_QUERY | 1u << TSIM_TARGET_KEY | 1u << TSIM_TARGET_VALUE | 1u << TSIM_TARGET_OUTPUT |
               1u << TSIM_TARGET_GATE | 1u << TSIM_TARGET_UP | 1u << TSIM_TARGET_DOWN
};

/* 4 of 8 heads have keys and values of their own, so that keys are 512 wide; gated. */
static void init(unsigned targets) {
    example_init(&e);
    e.model.kv_heads = 4;
    e.model.gated_mlp = true;
    e.model.norm = TSIM_NORM_RMSNORM;
    e.scenario.training.attention = TSIM_ATTENTION_FLASH;
    e.scenario.training.adapter = (struct tsim_adapter_spec){.kind = TSIM_ADAPTER_LORA, .rank = 16, .targets = targets};
}

/* One for what is joined: r (h + 2 h) of queries, keys and values, r (h + h), r (h + 2 f), r (f + h). Each its own:
 * queries r (h + h), keys and values r (h + h / 2) each, gate and up r (h + f) each. Tensor ranks have a part each. */
TSIM_TEST(parameters) {
    const double joined = R * (3 * H + 2 * H + H + 2 * F + F + H),
                 separate = R * (2 * H + 2 * 1.5 * H + 2 * H + 2 * (H + F) + F + H);
    for (int64_t tensor = 1; tensor <= 4; tensor *= 2) {
        init(ALL);
        e.scenario.parallelism.tensor = tensor;
        ck_assert_double_eq(tsim_layer_adapter_parameters(&e.scenario, TSIM_PART_LAYER) * (double)tensor, joined);
        ck_assert_double_eq(tsim_model_adapter_parameters(&e.scenario), 8 * joined);
        e.scenario.training.adapter.targets = SEPARATE;
        ck_assert_double_eq(tsim_model_adapter_parameters(&e.scenario), 8 * separate);
    }
    e.scenario.training.adapter.kind = TSIM_ADAPTER_NONE;
    ck_assert_double_eq(tsim_model_adapter_parameters(&e.scenario), 0);
}

/* Latent attention of 8 heads, 64 + 32 wide, with vectors of 256 and 128: queries r (h + 256) and r (256 + 8 x 96), keys
 * and values r (h + 160) and r (128 + 8 x (64 + 128)), the result r (8 x 128 + h). A tensor rank has products down whole
 * and its part of those up. Kept are A x of 16 values: down of own tokens, up of all. */
TSIM_TEST(latent) {
    const double down = R * (H + 256 + H + 160), up = R * (256 + 768 + 128 + 1536), result = R * (1024 + H);
    const unsigned of_qkv = 1u << TSIM_TARGET_QKV | 1u << TSIM_TARGET_OUTPUT,
                   of_each = 1u << TSIM_TARGET_QUERY | 1u << TSIM_TARGET_KEY | 1u << TSIM_TARGET_VALUE |
                             1u << TSIM_TARGET_OUTPUT;
    for (int64_t tensor = 1; tensor <= 4; tensor *= 2) {
        init(of_qkv);
        e.model.kv_heads = 8;
        e.model.latent = (struct tsim_latent){.query_rank = 256, .kv_rank = 128, .rope_dim = 32, .nope_dim = 64};
        e.scenario.parallelism.tensor = tensor;
        ck_assert_double_eq(tsim_layer_adapter_parameters(&e.scenario, TSIM_PART_LAYER),
                            down + (up + result) / (double)tensor);
        ck_assert_double_eq(tsim_model_adapter_parameters(&e.scenario), 8 * (down + up + result));
        e.scenario.training.adapter.targets = of_each;
        ck_assert_double_eq(tsim_model_adapter_parameters(&e.scenario), 8 * (down + up + result));
        e.scenario.training.adapter.targets = 1u << TSIM_TARGET_QUERY;
        ck_assert_double_eq(tsim_model_adapter_parameters(&e.scenario), 8 * R * (H + 256 + 256 + 768));
    }
    e.scenario.parallelism.tensor = 1;
    e.scenario.training.adapter.targets = of_qkv;
    struct tsim_op_list with, without, back;
    const double adapters = 2.0 * 1024 * (down + up + result);
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &with);
    tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &back);
    e.scenario.training.adapter.targets = 0;
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &without);
    ck_assert_double_eq_tol(sum_flops(&with) - sum_flops(&without), adapters, 1);
    tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &without);
    ck_assert_double_eq_tol(sum_flops(&back) - sum_flops(&without), 2 * adapters, 1);
}

static double weight_gradient_flops(const struct tsim_op_list *list) {
    double flops = 0;
    for (int32_t i = 0; i < list->n; i++)
        flops += list->ops[i].is_weight_gradient ? list->ops[i].flops : 0;
    return flops;
}

/* Forward 2 FLOPs a token and parameter more. Backward products of frozen weights are half of those of trained ones,
 * the adapters' are whole; nothing else has a gradient: the embedding, norms, biases. */
TSIM_TEST(operators) {
    struct tsim_op_list with, without;
    const double tokens = 1024;
    init(ALL);
    const double adapters = 2 * tokens * tsim_layer_adapter_parameters(&e.scenario, TSIM_PART_LAYER);
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &with);
    struct tsim_op_list back;
    tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &back);
    const double trained = weight_gradient_flops(&back);
    struct tsim_op_list embedding;
    tsim_operators_backward(&e.scenario, TSIM_PART_EMBEDDING, 0, &embedding);
    ck_assert_int_eq(embedding.n, 0);
    e.scenario.training.adapter.kind = TSIM_ADAPTER_NONE;
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &without);
    ck_assert_double_eq_tol(sum_flops(&with) - sum_flops(&without), adapters, 1);
    tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &without);
    ck_assert_double_eq_tol(trained, adapters, 1);
    ck_assert_double_eq_tol(sum_flops(&back), sum_flops(&without) - weight_gradient_flops(&without) + 2 * adapters, 1);
    for (int32_t i = 0; i < back.n; i++)
        ck_assert(!back.ops[i].is_weight_gradient || strncmp(back.ops[i].name, "adapter", 7) == 0);
    ck_assert_double_eq(find(&back, "norm 1")->bytes, 1024 * H * 5 * 2); /* without its weight's gradient */
}

/* Mamba-2 of 32 heads of 64 with 4 groups of 128 states: 2 x 2,048 + 2 x 4 x 128 + 32 columns before the recurrence,
 * 2,048 behind it. Their adapters have r (h + 5,152) + r (2,048 + h) beside those of the feed-forward block, and cost
 * what those of other products do. A layer that stands alone has those of its mixer, or of its block. */
TSIM_TEST(recurrent) {
    const double columns = 5152, result = 2048, tokens = 1024, of_mixer = R * (H + columns) + R * (result + H),
                 of_block = R * (H + 2 * F) + R * (F + H);
    init(1u << TSIM_TARGET_RECURRENCE_IN | 1u << TSIM_TARGET_RECURRENCE_OUT | ALL);
    e.model.mamba =
        (struct tsim_mamba){.heads = 32, .head_dim = 64, .state = 128, .groups = 4, .kernel = 4, .chunk = 256};
    for (int64_t tensor = 1; tensor <= 4; tensor *= 2) {
        e.scenario.parallelism.tensor = tensor;
        ck_assert_double_eq(tsim_layer_adapter_parameters(&e.scenario, TSIM_PART_MAMBA_LAYER) * (double)tensor,
                            of_mixer + of_block);
    }
    e.scenario.parallelism.tensor = 1;
    ck_assert_double_eq(tsim_layer_adapter_parameters(&e.scenario, TSIM_PART_MAMBA), of_mixer);
    ck_assert_double_eq(tsim_layer_adapter_parameters(&e.scenario, TSIM_PART_FEED_FORWARD), of_block);
    struct tsim_op_list with, without, back;
    tsim_operators_forward(&e.scenario, TSIM_PART_MAMBA_LAYER, 0, &with);
    tsim_operators_backward(&e.scenario, TSIM_PART_MAMBA_LAYER, 0, &back);
    ck_assert_double_eq_tol(weight_gradient_flops(&back), 2 * tokens * (of_mixer + of_block), 1);
    double all = tsim_layer_activation_bytes(&e.scenario, TSIM_PART_MAMBA_LAYER);
    e.scenario.training.adapter.targets = ALL;
    ck_assert_double_eq(tsim_layer_adapter_parameters(&e.scenario, TSIM_PART_MAMBA_LAYER), of_block);
    tsim_operators_forward(&e.scenario, TSIM_PART_MAMBA_LAYER, 0, &without);
    ck_assert_double_eq_tol(sum_flops(&with) - sum_flops(&without), 2 * tokens * of_mixer, 1);
    ck_assert_double_eq_tol(all - tsim_layer_activation_bytes(&e.scenario, TSIM_PART_MAMBA_LAYER),
                            tokens * 2 * (H + result + 2 * R), 1);
    e.scenario.training.adapter.kind = TSIM_ADAPTER_QLORA;
    e.scenario.training.adapter.base_precision = TSIM_BASE_NF4;
    tsim_operators_backward(&e.scenario, TSIM_PART_MAMBA, 0, &back);
    double elements = 0;
    for (int32_t i = 0; i < back.n; i++)
        elements += strcmp(back.ops[i].name, "weight to 16 bits") == 0 ? back.ops[i].elements : 0;
    ck_assert_double_eq(elements, H * (columns + result));
}

/* 8 experts of width 2,048, 2 for each token, and one that is shared: a set of adapters has r (h + 4,096) + r (2,048 + h)
 * = S, attention's A. Each expert of a rank has a set, or all have one; the shared one has its own. Either way a token goes
 * through two sets of routed experts. Tensor ranks divide experts' sets as they divide experts. */
TSIM_TEST(experts) {
    const double attention = R * 5 * H, set = R * (H + 4096) + R * (2048 + H), tokens = 1024;
    struct tsim_op_list list;
    init(ALL);
    e.model.experts = (struct tsim_experts){.count = 8, .active = 2, .ffn_hidden = 2048, .every = 1, .shared = 1};
    struct tsim_adapter_spec *a = &e.scenario.training.adapter;
    for (a->experts = TSIM_ADAPTERS_OF_EACH; a->experts <= TSIM_ADAPTERS_OF_NONE; a->experts++) {
        const double n = a->experts == TSIM_ADAPTERS_OF_EACH  ? 8
                         : a->experts == TSIM_ADAPTERS_SHARED ? 1
                                                              : 0,
                     met = n > 0 ? 2 : 0;
        e.scenario.parallelism = (struct tsim_parallelism_spec){.tensor = 1, .expert = 1, .pipeline = 1, .context = 1};
        ck_assert_double_eq(tsim_model_adapter_parameters(&e.scenario), 8 * (attention + (1 + n) * set));
        ck_assert_double_eq(tsim_model_active_adapter_parameters(&e.scenario), 8 * (attention + (1 + met) * set));
        tsim_operators_backward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &list);
        ck_assert_double_eq_tol(weight_gradient_flops(&list), 2 * tokens * (attention + (1 + met) * set), 1);
        for (int64_t tensor = 1; tensor <= 2; tensor++) {
            e.scenario.parallelism.tensor = tensor;
            e.scenario.parallelism.expert = 4;
            ck_assert_double_eq(tsim_layer_adapter_parameters(&e.scenario, TSIM_PART_EXPERT_LAYER) * (double)tensor,
                                attention + (1 + fmin(n, 2)) * set);
            ck_assert_double_eq(tsim_layer_routed_adapter_parameters(&e.scenario, TSIM_PART_EXPERT_LAYER) *
                                    (double)tensor,
                                fmin(n, 2) * set);
            ck_assert_double_eq(tsim_model_adapter_parameters(&e.scenario),
                                8 * (attention + (1 + (n == 1 ? 4 : n)) * set));
        }
    }
}

/* Rows of experts are kept if an adapter takes them, with A x of each. All weights of quantized experts come back, 8 x 3
 * h f, beside attention's 3 h h. */
TSIM_TEST(experts_kept) {
    const double rows = 2 * 1024;
    struct tsim_op_list list;
    init(ALL);
    e.model.experts = (struct tsim_experts){.count = 8, .active = 2, .ffn_hidden = 2048, .every = 1};
    struct tsim_adapter_spec *a = &e.scenario.training.adapter;
    double all = tsim_layer_activation_bytes(&e.scenario, TSIM_PART_EXPERT_LAYER);
    a->experts = TSIM_ADAPTERS_OF_NONE;
    ck_assert_double_eq_tol(all - tsim_layer_activation_bytes(&e.scenario, TSIM_PART_EXPERT_LAYER),
                            2 * rows * (H + 2048 + 2 * R), 1);
    a->kind = TSIM_ADAPTER_QLORA;
    a->base_precision = TSIM_BASE_NF4;
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &list);
    double elements = 0;
    for (int32_t k = 0; k < list.n; k++)
        elements += strcmp(list.ops[k].name, "weight to 16 bits") == 0 ? list.ops[k].elements : 0;
    ck_assert_double_eq(elements, 3 * H * H + 8 * 3 * H * 2048);
}

/* 4 bits and their scales are read and 16 written before each product, forward and backward: 2 (3 h h + 3 h f). */
TSIM_TEST(quantized_base) {
    struct tsim_op_list lists[2];
    init(ALL);
    e.scenario.training.adapter.kind = TSIM_ADAPTER_QLORA;
    e.scenario.training.adapter.base_precision = TSIM_BASE_NF4;
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &lists[0]);
    tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &lists[1]);
    for (int i = 0; i < 2; i++) {
        double elements = 0;
        for (int32_t k = 0; k < lists[i].n; k++)
            elements += strcmp(lists[i].ops[k].name, "weight to 16 bits") == 0 ? lists[i].ops[k].elements : 0;
        ck_assert_double_eq(elements, 3 * H * H + 3 * H * F);
    }
    ck_assert_double_eq_tol(find(&lists[0], "weight to 16 bits")->bytes, 2 * H * H * (4.127 / 8 + 2), 1e-3);
    struct tsim_op_list head;
    tsim_operators_backward(&e.scenario, TSIM_PART_HEAD, 0, &head);
    ck_assert(!seek(&head, "weight to 16 bits") && !seek(&head, "head, weight"));
    /* Quantized from fp16, each weight is read and written once more in bf16. */
    e.software.restores_in_fp16 = true;
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &lists[0]);
    ck_assert_double_eq(find(&lists[0], "weight to bf16")->bytes, 4 * find(&lists[0], "weight to 16 bits")->elements);
    e.scenario.training.precision = TSIM_FP16;
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &lists[0]);
    ck_assert(!seek(&lists[0], "weight to bf16"));
}

/* A head that takes 128 tokens at a time reads its weight, or restores it, for each of eight pieces; trained, it writes
 * as many gradients and adds all but one of them. Logits that are not kept are computed again. */
TSIM_TEST(head_in_pieces) {
    struct tsim_op_list whole, pieces;
    const double vocab = 32768, t = 1024;
    init(ALL);
    tsim_operators_forward(&e.scenario, TSIM_PART_HEAD, 0, &whole);
    e.software.head_tokens = 128;
    tsim_operators_forward(&e.scenario, TSIM_PART_HEAD, 0, &pieces);
    const struct tsim_op *head = find(&pieces, "head");
    ck_assert_double_eq(head->flops, find(&whole, "head")->flops);
    ck_assert_double_eq(head->bytes - find(&whole, "head")->bytes, 7 * 2 * vocab * H);
    ck_assert(head->batch == 8 && head->m == t / 8 && head->is_sequential);
    const double head_bytes = head->bytes;
    e.software.quantizes_head = true;
    e.scenario.training.adapter.kind = TSIM_ADAPTER_QLORA;
    e.scenario.training.adapter.base_precision = TSIM_BASE_NF4;
    tsim_operators_backward(&e.scenario, TSIM_PART_HEAD, 0, &pieces);
    ck_assert_double_eq(find(&pieces, "weight to 16 bits")->elements, 8 * vocab * H);
    ck_assert_double_eq(find(&pieces, "head, input")->m, t / 8);
    ck_assert(!seek(&pieces, "head, add gradients"));
    e.scenario.training.adapter.kind = TSIM_ADAPTER_NONE;
    tsim_operators_backward(&e.scenario, TSIM_PART_HEAD, 0, &pieces);
    ck_assert_double_eq(find(&pieces, "head, weight")->k, t / 8);
    ck_assert_double_eq(find(&pieces, "head, add gradients")->bytes, 7 * 3 * 2 * vocab * H);
    ck_assert(!seek(&pieces, "head"));
    e.software.recomputes_logits = true;
    tsim_operators_backward(&e.scenario, TSIM_PART_HEAD, 0, &pieces);
    ck_assert_double_eq(find(&pieces, "head")->bytes, head_bytes);
}

/* Gradients, master weights and states are the adapters', weights are everybody's: of products 16 bits, or 4.127; the
 * rest, embedding, head and norms, 16 bits. ZeRO shards what is trained. */
TSIM_TEST(memory) {
    struct tsim_stage_memory m;
    init(ALL);
    example_finish(&e);
    const double products = 8 * (3 * H * H + 3 * H * F), rest = 2 * 32768 * H + 17 * H,
                 trained = tsim_model_adapter_parameters(&e.scenario);
    for (int zero = 0; zero <= 3; zero++) {
        e.scenario.parallelism.zero = zero;
        e.scenario.training.adapter.kind = TSIM_ADAPTER_LORA;
        e.scenario.training.adapter.base_precision = TSIM_BASE_AS_TRAINING;
        tsim_stage_memory(&e.scenario, 0, &m);
        double ranks = 8;
        ck_assert_double_eq_tol(m.weights_bytes, 2 * (products + rest + trained) / (zero == 3 ? ranks : 1), 1);
        ck_assert_double_eq_tol(m.gradients_bytes, 4 * trained / (zero >= 2 ? ranks : 1), 1);
        ck_assert_double_eq_tol(m.master_bytes, 4 * trained / (zero >= 1 ? ranks : 1), 1);
        ck_assert_double_eq_tol(m.optimizer_bytes, 8 * trained / (zero >= 1 ? ranks : 1), 1);
        e.scenario.training.adapter.kind = TSIM_ADAPTER_QLORA;
        e.scenario.training.adapter.base_precision = TSIM_BASE_NF4;
        tsim_stage_memory(&e.scenario, 0, &m);
        ck_assert_double_eq_tol(m.weights_bytes,
                                (products * 4.127 / 8 + 2 * (rest + trained)) / (zero == 3 ? ranks : 1), 1);
    }
    ck_assert_double_eq_tol(tsim_checkpoint_bytes(NULL, &e.scenario).value, trained * (2 + 8 + 4), 1);
}

/* Inputs of products are kept if an adapter takes them. With an adapter of attention's output alone, neither the
 * blocks' inputs are kept nor the input of the last product. A x is kept of each. */
TSIM_TEST(kept) {
    const double t = 1024;
    init(ALL);
    double all = tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER);
    e.scenario.training.adapter.targets = 1u << TSIM_TARGET_OUTPUT;
    double one = tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER);
    ck_assert_double_eq_tol(all - one, t * 2 * (2 * H + F + 3 * R), 1);
    e.scenario.training.adapter.kind = TSIM_ADAPTER_NONE;
    ck_assert_double_eq_tol(all - tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER), t * 2 * 4 * R, 1);
    e.scenario.training.adapter.kind = TSIM_ADAPTER_LORA;
    e.scenario.training.adapter.dropout_frac = 0.1; /* the input that is left, and the mask */
    ck_assert_double_eq_tol(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER) - one, t * H * 3, 1);
}

/* Adapters of one product that share what is dropped out keep one copy of it, in place of the product's input; a frozen
 * weight needs none. Quantized products of bitsandbytes keep theirs as well, the graph of the micro-batch before
 * another (inputs of queries, of the result, of gate and up, and down), and the head's weight comes back twice, in fp16
 * and bf16. */
TSIM_TEST(kept_by_quantized) {
    const double t = 1024, e16 = 2, vocab = 32768, layers = 8;
    struct tsim_stage_memory before, after;
    init(SEPARATE);
    e.scenario.training.adapter.dropout_frac = 0.1;
    double each = tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER);
    e.software.adapters_share_dropout = true;
    ck_assert_double_eq_tol(each - tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER), t * (2 + 1) * H * 3, 1);
    e.scenario.training.adapter.kind = TSIM_ADAPTER_QLORA;
    e.scenario.training.adapter.base_precision = TSIM_BASE_NF4;
    double freed = tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER);
    e.software.head_tokens = 128;
    e.software.quantizes_head = e.software.restores_in_fp16 = true;
    example_finish(&e);
    tsim_stage_memory(&e.scenario, 0, &before);
    e.software.quantized_keep_inputs = true;
    ck_assert_double_eq_tol(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER) - freed, t * (2 * H + F) * e16,
                            1);
    ck_assert_double_eq(tsim_left_inputs_bytes(&e.scenario, TSIM_PART_LAYER), 0);
    e.software.keeps_graph = true;
    tsim_stage_memory(&e.scenario, 0, &after);
    ck_assert_double_eq_tol(after.buffers_bytes - before.buffers_bytes, layers * t * (3 * H + F) * e16, 1);
    ck_assert_double_eq_tol(before.buffers_bytes, t * vocab * (2 + 2 / 8.0) * e16 + 2 * e16 * vocab * H, 1);
    double scales = after.weights_bytes;
    e.software.fp32_scales = true;
    tsim_stage_memory(&e.scenario, 0, &after);
    ck_assert_double_eq_tol(after.weights_bytes - scales,
                            (layers * (3 * H * H + 3 * H * F) + vocab * H) * (0.5 - 0.127) / 8, 1);
}

/* Written out, a gated block keeps the activated gate, an RMS norm its input in fp32 and, trained, what its scale
 * multiplies, and attention its keys and values for each query head; rotated beside the whole of one product where
 * there are as many. */
TSIM_TEST(kept_by_eager) {
    const double t = 1024;
    init(ALL);
    e.scenario.training.adapter.kind = TSIM_ADAPTER_NONE;
    e.software.fusion = TSIM_FUSION_TE;
    double fused = tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER);
    e.software.fusion = TSIM_FUSION_NONE;
    ck_assert_double_eq_tol(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER) - fused,
                            t * (2 * F + 2 * H * (4 + 2 - 2)), 1);
    e.software.attention_layout = TSIM_LAYOUT_GROUPED;
    ck_assert_double_eq_tol(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER) - fused,
                            t * (2 * F + 2 * H * 4 + 2 * H), 1);
    e.model.kv_heads = 8;
    e.model.position = TSIM_POSITION_ROPE;
    double whole = tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER);
    e.software.attention_layout = TSIM_LAYOUT_REPEATED;
    ck_assert_double_eq_tol(whole - tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER), t * 2 * H * 2, 1);
}

/* Dropout behind has a mask of the result's width, and none before; frozen weights of fp8 are kept once, and transposed
 * for each backward product before Blackwell. If A x is scaled, the result is only added: read twice, written once. */
TSIM_TEST(variants) {
    struct tsim_op_list list;
    const double t = 1024;
    init(ALL);
    double plain = tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER);
    e.scenario.training.adapter.dropout_frac = 0.1;
    e.scenario.training.adapter.drops_result = true;
    ck_assert_double_eq_tol(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER) - plain,
                            t * (2 * H + H + 2 * F + H), 1);
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &list);
    ck_assert_double_eq(find(&list, "adapter, add")->bytes, t * 2 * H * 5 * 2);
    ck_assert_double_eq(find(&list, "adapter dropout")->bytes, t * 2 * H * 5);
    e.software.adapter_scale_inside = true;
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &list);
    ck_assert_double_eq(find(&list, "adapter, add")->bytes, t * 2 * H * 3 * 2);
    for (int i = 0; i < 2; i++) {
        e.scenario.training.precision = TSIM_FP8;
        e.accelerator.nccl_generation = i ? TSIM_BLACKWELL : TSIM_HOPPER;
        tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &list);
        ck_assert_int_eq(seek(&list, "weight, transpose") != NULL, i == 0);
        ck_assert_double_eq(tsim_base_weight_bytes(&e.scenario), 1);
    }
}

/* A frozen parameter counts 4, an adapter's 6, and attention as ever. */
TSIM_TEST(model_flops) {
    init(ALL);
    double n = tsim_model_active_parameters(&e.model), whole = tsim_model_flops_per_token(&e.model, 1024, 1024),
           trained = tsim_model_adapter_parameters(&e.scenario);
    ck_assert_double_eq(
        tsim_frozen_model_flops_recorded(NULL, &e.model, (struct tsim_amount){.value = 1024}, trained).value,
        whole - 2 * n + 6 * trained);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
