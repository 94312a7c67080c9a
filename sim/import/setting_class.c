#include "import/setting_class.h"

#include "base/among.h"

#include <fnmatch.h>
#include <string.h>

bool tsim_value_is_null(const struct tsim_value *value) {
    return value->kind == TSIM_VALUE_SCALAR && !value->is_quoted &&
           TSIM_IS_ONE_OF(value->text, "null", "None", "~", "");
}

bool tsim_value_is_off(const struct tsim_value *value) {
    static const char *const OFF[] = {"false", "False", "0", "0.0", "none", "no"};
    if (value->kind == TSIM_VALUE_SEQUENCE && value->n_items == 1)
        value = value->items[0];
    for (size_t i = 0; i < sizeof OFF / sizeof OFF[0]; i++)
        if (tsim_value_is_text(value, OFF[i]))
            return true;
    return tsim_value_is_null(value) || (value->kind != TSIM_VALUE_SCALAR && value->n_items == 0);
}

/* A value matches where one of its items does. */
static bool value_matches(const char *pattern, const struct tsim_value *value) {
    for (size_t i = 0; value->kind == TSIM_VALUE_SEQUENCE && i < value->n_items; i++)
        if (value->items[i]->kind == TSIM_VALUE_SCALAR && fnmatch(pattern, value->items[i]->text, 0) == 0)
            return true;
    return value->kind == TSIM_VALUE_SCALAR && fnmatch(pattern, value->text, 0) == 0;
}

/* The pattern of LENGTH characters is one of keys, or KEY=VALUE. Most begin with another letter than the key, which is seen without
 * fnmatch. */
static bool matches(const char *pattern, size_t length, const char *key, const struct tsim_value *value) {
    char text[128];
    if (pattern[0] != key[0] && !strchr("*?[", pattern[0]))
        return false;
    length = length < sizeof text ? length : sizeof text - 1;
    memcpy(text, pattern, length);
    text[length] = '\0';
    char *equals = strchr(text, '=');
    if (equals)
        *equals = '\0';
    return fnmatch(text, key, 0) == 0 && (!equals || value_matches(equals + 1, value));
}

/* Tells whether one of the words of a key, which others stand around ("kill_switch_path", "s3.upload-dir"), is in the list. */
static bool has_word(const char *key, const char *words, bool at_ends) {
    static const char BETWEEN[] = "._-/";
    for (const char *at = key; *at; at += strspn(at, BETWEEN)) {
        const size_t length = strcspn(at, BETWEEN);
        const bool is_end = at == key || !at[length];
        for (const char *word = words; *word && (is_end || !at_ends); word += strspn(word, " ")) {
            const size_t n = strcspn(word, " ");
            if (n == length && strncmp(word, at, n) == 0)
                return true;
            word += n;
        }
        at += length;
    }
    return false;
}

bool tsim_is_housekeeping(const char *key) {
    /* A file of these may hold settings, or the number is one of the model or of the plan. */
    static const char OF_THE_RUN[] = "config configs cfg yaml json model models arch spec specs layer layers plan "
                                     "layout strategy schedule schedules "
                                     "parallel parallelism pipeline tensor expert experts moe micro batch accumulation "
                                     "gpu gpus world nodes precision dtype "
                                     "fp8 fp16 bf16 fp32 window length len vocab vocabulary hidden heads recompute "
                                     "checkpointing offload freeze frozen lora "
                                     "peft adapter optimizer optim packing";
    static const char ENDS[] =
        "path paths dir dirs directory folder folders url urls uri host hostname project entity team username user "
        "email token "
        "tag tags note notes comment comments description title seed lr eps epsilon beta beta1 beta2 betas wd std mean "
        "sigma "
        "interval freq frequency verbosity verbose debug wandb swanlab mlflow comet tensorboard aim clearml neptune "
        "trackio s3 gcs "
        "slack feishu logger logging logs log eval evaluation val validation valid test monitor heartbeat alert notify "
        "kill telemetry warmup init initializer timeout workers prefetch shuffle tokenizer dataset datasets dataloader "
        "data";
    const char *dot = strrchr(key, '.');
    return has_word(key, ENDS, true) && !has_word(dot ? dot + 1 : key, OF_THE_RUN, false);
}

const struct tsim_setting_class *tsim_setting_class_of(const char *key, const struct tsim_value *value,
                                                       const struct tsim_setting_class *classes, size_t n_classes) {
    for (size_t i = 0; i < n_classes; i++)
        for (const char *at = classes[i].patterns; *at; at += strspn(at, " ")) {
            size_t length = strcspn(at, " ");
            if (matches(at, length, key, value))
                return &classes[i];
            at += length;
        }
    return NULL;
}
