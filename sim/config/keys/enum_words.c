#include "config/keys/enum_words.h"

#include "config/scenario.h"

/* clang-format off */
const struct tsim_word tsim_precision_words[] = {
    {"fp32", TSIM_FP32}, {"tf32", TSIM_TF32}, {"fp16", TSIM_FP16}, {"bf16", TSIM_BF16}, {"fp8", TSIM_FP8},
    {"mxfp8", TSIM_MXFP8}, {"nvfp4", TSIM_NVFP4}, {NULL, 0}};
const struct tsim_word tsim_context_exchange_words[] = {
    {"ring", TSIM_CONTEXT_RING}, {"all-gather", TSIM_CONTEXT_ALL_GATHER}, {"all-to-all", TSIM_CONTEXT_ALL_TO_ALL},
    {NULL, 0}};

const struct tsim_word tsim_schedule_words[] = {
    {"sequential", TSIM_SCHEDULE_SEQUENTIAL}, {"gpipe", TSIM_SCHEDULE_GPIPE}, {"pipedream", TSIM_SCHEDULE_PIPEDREAM},
    {"pipedream-2bw", TSIM_SCHEDULE_PIPEDREAM_2BW}, {"1f1b", TSIM_SCHEDULE_1F1B},
    {"interleaved", TSIM_SCHEDULE_INTERLEAVED}, {"zb-h1", TSIM_SCHEDULE_ZB_H1}, {"zb-h2", TSIM_SCHEDULE_ZB_H2},
    {"zb-v", TSIM_SCHEDULE_ZB_V}, {"dualpipe", TSIM_SCHEDULE_DUALPIPE}, {NULL, 0}};
const struct tsim_word tsim_optimizer_words[] = {
    {"sgd", TSIM_SGD}, {"momentum", TSIM_MOMENTUM}, {"rmsprop", TSIM_RMSPROP}, {"adam", TSIM_ADAM},
    {"adamw", TSIM_ADAMW}, {"adafactor", TSIM_ADAFACTOR}, {"adam-8bit", TSIM_ADAM_8BIT},
    {"galore-8bit", TSIM_GALORE_8BIT}, {"lamb", TSIM_LAMB}, {"muon", TSIM_MUON}, {NULL, 0}};
const struct tsim_word tsim_recompute_words[] = {
    {"none", TSIM_RECOMPUTE_NONE}, {"selective", TSIM_RECOMPUTE_SELECTIVE}, {"full", TSIM_RECOMPUTE_FULL},
    {"sqrt", TSIM_RECOMPUTE_SQRT}, {"every", TSIM_RECOMPUTE_EVERY}, {"layers", TSIM_RECOMPUTE_LAYERS}, {NULL, 0}};
const struct tsim_word tsim_axis_words[] = {
    {"tensor", TSIM_AXIS_TENSOR}, {"context", TSIM_AXIS_CONTEXT}, {"expert", TSIM_AXIS_EXPERT},
    {"data", TSIM_AXIS_DATA}, {"pipeline", TSIM_AXIS_PIPELINE}, {NULL, 0}};
const struct tsim_word tsim_recompute_part_words[] = {
    {"attention", 0}, {"norms", 1}, {"latent", 2}, {"activation", 3}, {"ffn", 4}, {"experts", 5}, {"output", 6},
    {"operators", 7}, {NULL, 0}};
/* clang-format on */

const char *tsim_precision_name(enum tsim_precision precision) {
    return tsim_word_of(tsim_precision_words, (int)precision);
}

const char *tsim_optimizer_name(enum tsim_optimizer optimizer) {
    return tsim_word_of(tsim_optimizer_words, (int)optimizer);
}

const char *tsim_recompute_name(enum tsim_recompute recompute) {
    return tsim_word_of(tsim_recompute_words, (int)recompute);
}

const char *tsim_recompute_part_name(int exponent) {
    return tsim_word_of(tsim_recompute_part_words, exponent);
}

const char *tsim_axis_name(enum tsim_axis axis) {
    return tsim_word_of(tsim_axis_words, (int)axis);
}

const char *tsim_schedule_name(enum tsim_schedule schedule) {
    return tsim_word_of(tsim_schedule_words, (int)schedule);
}
