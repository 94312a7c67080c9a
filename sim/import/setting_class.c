#include "import/setting_class.h"

#include "base/among.h"
#include "config/catalogue_load.h"
#include "config/text/document.h"

#include <fnmatch.h>
#include <string.h>

bool tsim_value_is_null(const struct tsim_value *value) {
    return value->kind == TSIM_VALUE_SCALAR && !value->is_quoted &&
           TSIM_IS_ONE_OF(value->text, "null", "Null", "NULL", "None", "~", "");
}

bool tsim_value_is_off(const struct tsim_value *value) {
    static const char *const OFF[] = {"false", "False", "0", "0.0", "none", "no"};
    if (value->kind == TSIM_VALUE_SEQUENCE && value->n_items == 1)
        value = value->items[0];
    for (size_t i = 0; i < sizeof OFF / sizeof OFF[0]; i++)
        if (tsim_value_is_text(value, OFF[i]))
            return true;
    return tsim_value_is_null(value) || tsim_value_is_text(value, "") ||
           (value->kind != TSIM_VALUE_SCALAR && value->n_items == 0);
}

/* A value matches if one of its items does. */
static bool value_matches(const char *pattern, const struct tsim_value *value) {
    for (size_t i = 0; value->kind == TSIM_VALUE_SEQUENCE && i < value->n_items; i++)
        if (value->items[i]->kind == TSIM_VALUE_SCALAR && fnmatch(pattern, value->items[i]->text, 0) == 0)
            return true;
    return value->kind == TSIM_VALUE_SCALAR && fnmatch(pattern, value->text, 0) == 0;
}

/* Tells whether the value is what a pattern names behind "=": OFF is a switch that is off. */
static bool is_named(const char *pattern, const struct tsim_value *value) {
    if (strcmp(pattern, TSIM_OFF) == 0)
        return tsim_value_is_off(value) && !tsim_value_is_null(value);
    return value_matches(pattern, value);
}

/* The pattern of LENGTH characters stands for a key, or for KEY=VALUE. A value that is off has to be named: no pattern
 * of keys alone, nor of any value (KEY=*...), is about it. Most patterns begin with another letter than the key, which
 * is quicker to see than to match. */
static bool matches(const char *pattern, size_t length, const char *key, const struct tsim_value *value, bool is_off) {
    char text[128];
    if (pattern[0] != key[0] && !strchr("*?[", pattern[0]))
        return false;
    length = length < sizeof text ? length : sizeof text - 1;
    memcpy(text, pattern, length);
    text[length] = '\0';
    char *equals = strchr(text, '=');
    if (is_off && (!equals || equals[1] == '*'))
        return false;
    if (equals)
        *equals = '\0';
    return fnmatch(text, key, 0) == 0 && (!equals || !value || is_named(equals + 1, value));
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
                                     "layout strategy schedule schedules parallel parallelism pipeline tensor expert "
                                     "experts moe micro batch accumulation gpu gpus world nodes precision dtype fp8 "
                                     "fp16 bf16 fp32 window length len vocab vocabulary hidden heads recompute "
                                     "checkpointing offload freeze frozen lora peft adapter optimizer optim packing";
    static const char ENDS[] =
        "path paths dir dirs directory folder folders url urls uri host hostname project entity team username user "
        "email token tag tags note notes comment comments description title seed lr eps epsilon beta beta1 beta2 betas "
        "wd std mean sigma interval freq frequency verbosity verbose debug wandb swanlab mlflow comet tensorboard aim "
        "clearml neptune trackio s3 gcs slack feishu logger logging logs log eval evaluation val validation valid test "
        "monitor heartbeat alert notify kill telemetry warmup init initializer timeout workers prefetch shuffle "
        "tokenizer dataset datasets dataloader data";
    const char *dot = strrchr(key, '.');
    return has_word(key, ENDS, true) && !has_word(dot ? dot + 1 : key, OF_THE_RUN, false);
}

bool tsim_may_change_run(const char *key) {
    static const char WORDS[] =
        /* the model */
        "model models arch architecture layer layers block blocks depth width hidden dim dims embd embed embedding "
        "embeddings head heads "
        "kv qkv query queries key value ffn mlp glu swiglu geglu gelu relu relu2 silu activation act norm norms "
        "rmsnorm layernorm "
        "attention attn softmax logit logits rope rotary alibi position positions positional vocab vocabulary tie tied "
        "tying untie share shared "
        "bias biases residual skip expert experts moe router routing topk top mamba ssm recurrent linear hybrid window "
        "sliding sparse "
        "sparsity prune pruned pruning mtp nextn multi vision image images video audio encoder decoder t5 bert mlm "
        "retro teacher "
        "student distill distillation draft frozen freeze freezing unfreeze trainable lora rank adapter adapters peft "
        "prefix prompt "
        /* data types */
        "dtype precision fp4 fp8 fp16 bf16 fp32 tf32 half float amp int4 int8 quant quantize quantized quantization "
        "bit bits compress "
        "compression "
        /* the batch and the length of its samples */
        "batch batches micro microbatch microbatches accumulation accumulate grad gradient gradients seq seqlen "
        "sequence sequences length "
        "lengths len context packing packed pack crop truncate "
        /* the plan and its memory */
        "parallel parallelism tensor tensors tp pp dp cp ep sp vp tmp pmp mp fsdp ddp zero stage stages pipeline "
        "virtual interleave "
        "interleaved chunk chunks shard sharded sharding split replica replicas mesh axis world gpu gpus node nodes "
        "nproc nnodes recompute "
        "recomputation checkpointing remat offload offloading swap schedule degree degrees ring ulysses loop loops "
        "repeat repeats recurrence "
        /* the kind of job */
        "task method algorithm algo mode objective rl dpo ppo grpo kto reward rollout infer inference generate "
        "generation sampling serve "
        "custom module modules spec specs plugin plugins optimizer optim optimiser muon lion sgd lamb adafactor";
    const char *dot = strrchr(key, '.');
    return has_word(key, "model config architecture parallel parallelism distributed", true) ||
           has_word(dot ? dot + 1 : key, WORDS, false);
}

bool tsim_may_be_batch(const char *key) {
    return has_word(key, "batch batches batchsize accum accumulation accumulate", false) &&
           !has_word(key,
                     "eval evaluation valid validation val test dev infer inference generate generation vllm map "
                     "tokenize tokenizer preprocess preprocessing encode rollout",
                     false);
}

bool tsim_may_be_layers(const char *key) {
    return has_word(key, "layer layers block blocks expert experts encoder projector", false);
}

/* Finds the first pattern that matches the setting. Returns its class, or NULL. */
static const struct tsim_setting_class *find_pattern(const char *key, const struct tsim_value *value,
                                                     const struct tsim_setting_classes *classes, const char **pattern,
                                                     size_t *length) {
    const bool is_off = value && tsim_value_is_off(value);
    for (size_t i = 0; i < classes->n; i++) {
        const struct tsim_setting_class *class = &classes->rows[i];
        if (class->of_section) {
            const size_t n = strlen(class->patterns);
            const struct tsim_setting_class *found = NULL;
            if (strncmp(key, class->patterns, n) == 0)
                found = find_pattern(key + n, value, class->of_section, pattern, length);
            if (found)
                return found;
            continue;
        }
        for (const char *at = class->patterns; *at; at += strspn(at, " ")) {
            *pattern = at;
            *length = strcspn(at, " ");
            if (matches(at, *length, key, value, is_off))
                return class;
            at += *length;
        }
    }
    return NULL;
}

const struct tsim_setting_class *tsim_setting_class_of(const char *key, const struct tsim_value *value,
                                                       const struct tsim_setting_classes *classes) {
    const char *pattern;
    size_t length;
    return find_pattern(key, value, classes, &pattern, &length);
}

bool tsim_is_any_of_family(const char *key, const struct tsim_value *value,
                           const struct tsim_setting_classes *classes) {
    static const char OF_FILES[] = "checkpoint checkpoints dataset datasets dataloader loader tokenizer callbacks "
                                   "callback loggers exp ci variables prompt streams lighteval launcher";
    const char *pattern, *dot = strrchr(key, '.');
    char text[128];
    size_t length = dot && (size_t)(dot - key) < sizeof text ? (size_t)(dot - key) : 0;
    memcpy(text, key, length);
    text[length] = '\0';
    if (has_word(text, OF_FILES, false) || tsim_is_housekeeping(key) || !tsim_may_change_run(dot ? dot + 1 : key) ||
        !find_pattern(key, value, classes, &pattern, &length) || memchr(pattern, '=', length))
        return false;
    if (length >= sizeof text)
        length = sizeof text - 1;
    memcpy(text, pattern, length);
    text[length] = '\0';
    dot = strrchr(text, '.');
    char *star = strchr(dot ? dot : text, '*');
    if (!star || strchr(text, '='))
        return false;
    *star = '\0';
    /* All that begins with "wandb_" or "eval_" is about logs or evaluation, whatever follows; a section is not. */
    return star == text || star[-1] == '.' || !tsim_is_housekeeping(text);
}

/* ---- reading ---- */

enum { MOST_DEPTH = 4 };

static enum tsim_status read_beside(struct tsim_arena *arena, const char *name, const struct tsim_value **root,
                                    struct tsim_diags *diags) {
    const char *folder = tsim_catalogue_folder(arena);
    return tsim_document_read(arena, tsim_arena_printf(arena, "%s/models/settings/%s.yaml", folder ? folder : "", name),
                              root, diags);
}

/* This reads one file. */
struct reader {
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    int depth;                                 /* files that name it, one the next */
    const struct tsim_value *common, *reasons; /* those of all files, and its own */
};

static enum tsim_status fail(const struct reader *reader, const struct tsim_value *at, const char *what) {
    tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, at, "settings", "%s", what);
    return TSIM_ERR_SCHEMA;
}

static const char *text_of(const struct tsim_value *value) {
    return value && value->kind == TSIM_VALUE_SCALAR ? value->text : NULL;
}

/* Finds the sentence of a row: its own, or the one that it names. */
static const char *why_of(const struct reader *reader, const struct tsim_value *row) {
    const char *name = text_of(tsim_value_find(row, "reason"));
    if (!name)
        return text_of(tsim_value_find(row, "why"));
    const struct tsim_value *own = reader->reasons ? tsim_value_find(reader->reasons, name) : NULL;
    return text_of(own ? own : tsim_value_find(reader->common, name));
}

static enum tsim_status read_file(struct reader reader, const char *name, struct tsim_setting_classes *classes);

static enum tsim_status read_row(const struct reader *reader, const struct tsim_value *row,
                                 struct tsim_setting_class *class) {
    static const char *const KINDS[] = {"no_effect", "not_modelled", "refused"};
    const char *of = text_of(tsim_value_find(row, "of")), *prefix = text_of(tsim_value_find(row, "prefix"));
    const struct tsim_value *near = tsim_value_find(row, "approximate");
    class->is_near = near && tsim_value_is_text(near, "true");
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0] && !class->patterns; i++) {
        class->patterns = text_of(tsim_value_find(row, KINDS[i]));
        class->changes_run = i == 2;
        class->why = i == 0 ? NULL : why_of(reader, row);
        if (class->patterns && i > 0 && !class->why)
            return fail(reader, row, "a row without a why, or with a reason that is not among the reasons");
    }
    if (class->patterns)
        return TSIM_OK;
    if (!of || reader->depth > MOST_DEPTH)
        return fail(reader, row,
                    of ? "files that name each other" : "a row needs one of no_effect, not_modelled, refused and of");
    struct tsim_setting_classes *section = TSIM_NEW(reader->arena, struct tsim_setting_classes);
    *class = (struct tsim_setting_class){.patterns = prefix ? prefix : "", .of_section = section};
    return read_file(*reader, of, section);
}

/* Reads a file that is named by the one that the reader has read last. */
static enum tsim_status read_file(struct reader reader, const char *name, struct tsim_setting_classes *classes) {
    const struct tsim_value *root;
    TSIM_TRY(read_beside(reader.arena, name, &root, reader.diags));
    reader.depth++;
    reader.reasons = tsim_value_find(root, "reasons");
    const struct tsim_value *rows = tsim_value_find(root, "settings");
    if (!rows || rows->kind != TSIM_VALUE_SEQUENCE)
        return fail(&reader, root, "the file has no list of settings");
    struct tsim_setting_class *read = TSIM_NEW_ARRAY(reader.arena, rows->n_items, struct tsim_setting_class);
    for (size_t i = 0; i < rows->n_items; i++)
        TSIM_TRY(read_row(&reader, rows->items[i], &read[i]));
    *classes = (struct tsim_setting_classes){read, rows->n_items};
    return TSIM_OK;
}

enum tsim_status tsim_setting_classes_read(struct tsim_arena *arena, const char *name,
                                           struct tsim_setting_classes *classes, struct tsim_diags *diags) {
    struct reader reader = {.arena = arena, .diags = diags};
    const struct tsim_value *root;
    *classes = (struct tsim_setting_classes){NULL, 0};
    TSIM_TRY(read_beside(arena, "common", &root, diags));
    reader.common = tsim_value_find(root, "reasons");
    return reader.common ? read_file(reader, name, classes) : fail(&reader, root, "the file has no reasons");
}
