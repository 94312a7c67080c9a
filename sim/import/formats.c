#include "import/formats.h"

#include "base/file_bytes.h"
#include "config/text/document.h"
#include "import/launches/recipes.h"
#include "import/machines/machine.h"
#include "import/models/hf_config.h"
#include "import/traces/chakra_file.h"

#include <string.h>

static enum tsim_status read_hf_config(struct tsim_arena *arena, const struct tsim_import_input *input,
                                       struct tsim_import_result *result, struct tsim_diags *diags) {
    const struct tsim_value *root;
    const struct tsim_model *model;
    TSIM_TRY(tsim_document_parse_wide(arena, input->file, input->text, input->size, &root, diags));
    result->notes = "";
    return tsim_hf_config_import(arena, root, input, &model, &result->yaml, diags);
}

static const char *read_model(struct tsim_arena *arena, const struct tsim_import_input *input,
                              const struct tsim_value *config, struct tsim_diags *diags) {
    const struct tsim_model *model;
    const char *yaml;
    return tsim_hf_config_import(arena, config, input, &model, &yaml, diags) == TSIM_OK ? yaml : NULL;
}

const struct tsim_import_format TSIM_IMPORT_FORMATS[] = {
    {"hf-config", "config.json of Hugging Face: a model", false, TSIM_DOCUMENT_MAX_BYTES, read_hf_config,
     .takes_ignored = true, .approximates = true},
    {"megatron", "Megatron-LM's command line, launch script, YAML or log: a scenario", true, TSIM_LOG_MAX_BYTES,
     tsim_import_megatron, .takes_ignored = true, .is_script = true},
    {"nemo", "YAML or a script of NeMo or Megatron-Bridge, or a log with it: a scenario", true, TSIM_LOG_MAX_BYTES,
     tsim_import_nemo, .takes_ignored = true, .is_script = true},
    {"gpt-neox", "YAML of GPT-NeoX: a scenario", true, TSIM_DOCUMENT_MAX_BYTES, tsim_import_neox,
     .takes_ignored = true},
    {"deepspeed", "DeepSpeed's JSON, or a log with it: a scenario", true, TSIM_LOG_MAX_BYTES, tsim_import_deepspeed,
     .takes_ignored = true},
    {"torchtitan", "torchtitan's TOML or config_registry.py, or a log with its configuration: a scenario", true,
     TSIM_LOG_MAX_BYTES, tsim_import_torchtitan, .takes_ignored = true, .is_script = true},
    {"maxtext", "MaxText's YAML, a script that starts it, or its log: a scenario", true, TSIM_LOG_MAX_BYTES,
     tsim_import_maxtext, .takes_ignored = true, .is_script = true},
    {"primus", "Primus' YAML, of Megatron-LM, torchtitan or MaxText: a scenario", true, TSIM_DOCUMENT_MAX_BYTES,
     tsim_import_primus, .takes_ignored = true, .takes_environment = true},
    {"nanotron", "nanotron's YAML: a scenario", true, TSIM_DOCUMENT_MAX_BYTES, tsim_import_nanotron,
     .takes_ignored = true},
    {"automodel", "NeMo AutoModel's YAML: a scenario", true, TSIM_DOCUMENT_MAX_BYTES, tsim_import_automodel,
     .takes_ignored = true, .takes_environment = true},
    {"llm-foundry", "llm-foundry's YAML: a scenario", true, TSIM_DOCUMENT_MAX_BYTES, tsim_import_llm_foundry,
     .takes_ignored = true, .takes_environment = true},
    {"accelerate", "YAML of accelerate config: a scenario", true, TSIM_DOCUMENT_MAX_BYTES, tsim_import_accelerate,
     .takes_ignored = true},
    {"internevo", "InternEvo's configuration in Python: a scenario", true, TSIM_DOCUMENT_MAX_BYTES,
     tsim_import_internevo, .takes_ignored = true},
    {"hf-trainer", "script on Hugging Face's Trainer, or its arguments as YAML or JSON: a scenario", true,
     TSIM_DOCUMENT_MAX_BYTES, tsim_import_hf_trainer, .takes_ignored = true, .is_script = true},
    {"axolotl", "axolotl's YAML: a scenario", true, TSIM_DOCUMENT_MAX_BYTES, tsim_import_axolotl,
     .takes_ignored = true},
    {"llamafactory", "LLaMA-Factory's YAML or script: a scenario", true, TSIM_DOCUMENT_MAX_BYTES,
     tsim_import_llama_factory, .takes_ignored = true, .is_script = true},
    {"verl", "script that starts verl: a scenario", true, TSIM_DOCUMENT_MAX_BYTES, tsim_import_verl,
     .takes_ignored = true, .is_script = true},
    {"nvidia-topo", "output of nvidia-smi topo -m: a node", true, TSIM_IMPORT_MAX_BYTES, tsim_import_nvidia_topo},
    {"rocm-topo", "output of rocm-smi --showtopo: a node", true, TSIM_IMPORT_MAX_BYTES, tsim_import_rocm_topo},
    {"nccl-xml", "NCCL's topology (NCCL_TOPO_DUMP_FILE): a node", true, TSIM_IMPORT_MAX_BYTES, tsim_import_nccl_xml},
    {"lstopo", "hwloc's XML (lstopo FILE.xml): a node", true, TSIM_IMPORT_MAX_BYTES, tsim_import_lstopo},
    {"chakra", "execution traces of MLCommons Chakra (.et), a file a rank: a replay", true, TSIM_CHAKRA_MAX_BYTES,
     tsim_import_chakra, true},
};
const size_t TSIM_N_IMPORT_FORMATS = sizeof TSIM_IMPORT_FORMATS / sizeof TSIM_IMPORT_FORMATS[0];

const struct tsim_import_format *tsim_import_format_find(const char *name) {
    for (size_t i = 0; i < TSIM_N_IMPORT_FORMATS; i++)
        if (strcmp(TSIM_IMPORT_FORMATS[i].name, name) == 0)
            return &TSIM_IMPORT_FORMATS[i];
    return NULL;
}

/* These texts stand in files of one format and of no other; the first row that fits tells which. */
static const struct sign {
    const char *format;
    const char *texts[2]; /* both; the second may be NULL */
    bool is_json;         /* the file begins with a brace */
} SIGNS[] = {
    {"megatron", {"- arguments -", "end of arguments"}, false},
    {"torchtitan", {"Running with args:", NULL}, false},
    {"nemo", {"Task Configuration", NULL}, false},
    {"deepspeed", {"json = {", NULL}, false},
    {"maxtext", {"Config param ", NULL}, false},
    {"primus", {"pre_trainer:", "framework:"}, false},
    {"primus", {"post_trainer:", "framework:"}, false},
    {"maxtext", {"base_emb_dim:", NULL}, false},
    {"maxtext", {"per_device_batch_size:", "base_config:"}, false},
    {"maxtext", {"per_device_batch_size:", "max_target_length:"}, false},
    {"nccl-xml", {"<system", "<cpu"}, false},
    {"lstopo", {"<topology", "<object"}, false},
    {"rocm-topo", {"GPU0", "between two GPUs"}, false},
    {"nvidia-topo", {"GPU0", "Affinity"}, false},
    {"gpt-neox", {"pipe-parallel-size", NULL}, false},
    {"gpt-neox", {"pipe_parallel_size", NULL}, false},
    {"nanotron", {"batch_accumulation_per_replica:", "model_config:"}, false},
    {"axolotl", {"base_model:", "micro_batch_size:"}, false},
    {"llamafactory", {"model_name_or_path:", "finetuning_type:"}, false},
    {"hf-trainer", {"\"per_device_train_batch_size\"", NULL}, true},
    {"deepspeed", {"\"zero_optimization\"", NULL}, true},
    {"deepspeed", {"\"train_micro_batch_size_per_gpu\"", NULL}, true},
    {"deepspeed", {"\"train_batch_size\"", NULL}, true},
    {"hf-config", {"\"model_type\"", NULL}, true},
    {"verl", {"verl.trainer", "algorithm.adv_estimator"}, false},
    {"torchtitan", {"torchtitan.train", NULL}, false},
    {"torchtitan", {"run_train.sh", "CONFIG"}, false},
    {"megatron", {"--num-layers", NULL}, false},
    {"llamafactory", {"--finetuning_type", "--stage"}, false},
    {"hf-trainer", {"--per_device_train_batch_size", NULL}, false},
    {"megatron", {"pretrain_", "--"}, false},
    {"torchtitan", {"[training]", "[model]"}, false},
    {"torchtitan", {"from torchtitan", "Config"}, false},
    {"automodel", {"nemo_automodel", NULL}, false},
    {"automodel", {"step_scheduler:", "local_batch_size:"}, false},
    {"llm-foundry", {"device_train_microbatch_size:", NULL}, false},
    {"llm-foundry", {"global_train_batch_size:", NULL}, false},
    {"accelerate", {"compute_environment:", "distributed_type:"}, false},
    {"internevo", {"hybrid_zero_optimizer", "micro_num"}, false},
    {"nemo", {"nemo_run", "_recipe("}, false},
    {"nemo", {"launcher_scripts/main.py", NULL}, false},
    {"nemo", {"megatron_gpt_pretraining.py", NULL}, false},
    {"nemo", {"trainer:", "model:"}, false},
    {"nemo", {"_target_:", "megatron"}, false},
    {"nemo", {"model:", "num_layers:"}, false},
    {"megatron", {"num-layers:", NULL}, false},
    {"megatron", {"num_layers:", NULL}, false},
};

/* Finds the first row that fits; if `own` is given, only among the rows of that format. */
static const struct tsim_import_format *find_sign(const char *text, size_t size, const char *own) {
    size_t blanks = 0;
    while (blanks < size && strchr(" \t\r\n", text[blanks]))
        blanks++;
    bool is_json = blanks < size && text[blanks] == '{';
    for (size_t i = 0; i < sizeof SIGNS / sizeof SIGNS[0]; i++) {
        const struct sign *sign = &SIGNS[i];
        bool has = (!sign->is_json || is_json) && (!own || strcmp(sign->format, own) == 0);
        for (int k = 0; k < 2 && has && sign->texts[k]; k++)
            has = tsim_bytes_have(text, size, sign->texts[k]);
        if (has)
            return tsim_import_format_find(sign->format);
    }
    return NULL;
}

const struct tsim_import_format *tsim_import_format_of(const char *text, size_t size) {
    return find_sign(text, size, NULL);
}

/* Says of a file that could not be read which other format it has, if nothing in it is of this one. */
static void say_other_format(const struct tsim_import_format *format, const struct tsim_import_input *input,
                             struct tsim_diags *diags) {
    const struct tsim_import_format *other = find_sign(input->text, input->size, NULL);
    if (other && other != format && !find_sign(input->text, input->size, format->name))
        tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_SCHEMA, (struct tsim_place){.file = input->file}, NULL,
                                        "it looks like a file of '%s', not of '%s'", other->name, format->name),
                       "tsim import %s %s", other->name, strcmp(input->file, "<stdin>") == 0 ? "-" : input->file);
}

bool tsim_import_is_ours(const char *text, size_t size) {
    return tsim_bytes_have(text, size, "tsim/v1");
}

/* Reads a file that another one names, from that one's folder: under its path, or, if the path begins elsewhere, under
 * its name. */
static const char *read_beside(struct tsim_arena *arena, const char *file, const char *path, size_t *size) {
    const char *slash = strrchr(file, '/'), *last = strrchr(path, '/');
    const char *folder = slash ? tsim_arena_strndup(arena, file, (size_t)(slash - file)) : ".";
    const char *name = path[0] == '/' && last ? last + 1 : path;
    struct tsim_file_bytes bytes;
    struct tsim_diags unheard;
    const char *text = NULL;
    if (!*name || strcmp(file, "<stdin>") == 0)
        return NULL;
    tsim_diags_init(&unheard);
    if (tsim_file_read(arena, tsim_arena_printf(arena, "%s/%s", folder, name), TSIM_IMPORT_MAX_BYTES, "", &bytes,
                       &unheard) == TSIM_OK) {
        text = tsim_arena_strndup(arena, bytes.text, bytes.size);
        *size = strlen(text);
        tsim_heap_free(bytes.text);
    }
    tsim_diags_release(&unheard);
    return text;
}

/* Tries larger clusters until one holds the model. If none does, the result and its `n_warnings` stay as they are. */
static void find_smallest(struct tsim_arena *arena, const struct tsim_import_format *format,
                          struct tsim_import_input *input, struct tsim_import_result *result, size_t n_warnings,
                          struct tsim_diags *diags) {
    enum { MOST_GPUS = 16384 };
    for (int64_t gpus = 2 * result->assumed_gpus; gpus <= MOST_GPUS; gpus *= 2) {
        struct tsim_import_result larger = {.notes = ""};
        struct tsim_diags unheard;
        tsim_diags_init(&unheard);
        unheard.is_mute = true;
        input->gpus = gpus;
        input->is_smallest = true;
        bool is_good = format->read(arena, input, &larger, &unheard) == TSIM_OK;
        tsim_diags_release(&unheard);
        if (!is_good || !larger.fits)
            continue;
        diags->n_warnings -= diags->n_items - n_warnings; /* they are given again, of the larger cluster */
        diags->n_items = n_warnings;
        format->read(arena, input, result, diags);
        return;
    }
}

enum tsim_status tsim_import_files(struct tsim_arena *arena, const struct tsim_import_format *format,
                                   const char *const *files, size_t n, const struct tsim_import_input *options,
                                   struct tsim_import_result *result, struct tsim_diags *diags) {
    struct tsim_import_input *inputs = TSIM_NEW_ARRAY(arena, n, struct tsim_import_input);
    struct tsim_file_bytes *bytes = TSIM_NEW_ARRAY(arena, n, struct tsim_file_bytes);
    enum tsim_status status = TSIM_OK;
    const size_t n_warnings = diags->n_items;
    TSIM_ASSERT(n == 1 || format->takes_many);
    *result = (struct tsim_import_result){.notes = ""};
    for (size_t i = 0; i < n && status == TSIM_OK; i++) {
        status = tsim_file_read(arena, files[i], format->most_bytes, format->help, &bytes[i], diags);
        inputs[i] = *options;
        inputs[i].file = bytes[i].file;
        inputs[i].text = bytes[i].text;
        inputs[i].size = bytes[i].size;
        inputs[i].read_beside = read_beside;
        inputs[i].read_model = read_model;
        inputs[i].next = i + 1 < n ? &inputs[i + 1] : NULL;
    }
    if (status == TSIM_OK) {
        status = format->read(arena, inputs, result, diags);
        if (status != TSIM_OK)
            say_other_format(format, inputs, diags);
    }
    if (status == TSIM_OK && result->assumed_gpus > 0 && !result->fits)
        find_smallest(arena, format, inputs, result, n_warnings, diags);
    for (size_t i = 0; i < n; i++)
        tsim_heap_free(bytes[i].text);
    return status;
}

void tsim_import_bytes(const char *format, const char *text, size_t size) {
    const struct tsim_import_format *found = tsim_import_format_find(format);
    struct tsim_import_input input = {.file = "<bytes>", .text = text, .size = size, .read_model = read_model};
    struct tsim_import_result result = {.notes = ""};
    struct tsim_arena arena;
    struct tsim_diags diags;
    if (!found || size > found->most_bytes)
        return;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    found->read(&arena, &input, &result, &diags);
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
}
