/* Recipes of other programs: the scenarios that public ones give, places of contradictions, damaged files. */
#include "import/formats.h"
#include "model/model.h"
#include "support/damage.h"
#include "support/training_rig.h"

#include <string.h>

static enum tsim_status import_text(const char *format, const char *text, struct tsim_import_result *result) {
    struct tsim_import_input input = {"file", text, strlen(text), NULL, 0};
    return tsim_import_format_find(format)->read(&arena, &input, result, &diags);
}

/* The figures that are published for these models. BLOOM: 176,247,271,424 with the norm behind its embedding, which is
 * 2 x 14,336 and not modelled. Mixtral 8x7B: 46,702,792,704. Llama 3 8B: 8,030,261,248; the script has 128 more rows of
 * vocabulary in two tables of 4,096, and 65 layer norms with a bias. */
static const struct {
    const char *format, *file, *nodes;
    double parameters;
    int64_t accelerators, tensor, pipeline, data;
    int zero;
} RECIPES[] = {
    {"megatron", "megatron-bloom-176b.slurm", NULL, 176247271424.0 - 2 * 14336, 384, 4, 12, 8, 1},
    {"megatron", "megatron-mixtral-8x7b.sh", "8", 46702792704.0, 64, 1, 4, 16, 1},
    {"megatron", "megatron-llama3-8b-fp8.sh", NULL, 8030261248.0 + 128 * 2 * 4096 + 65 * 4096, 8, 1, 1, 8, 1},
    /* It has 24 layers: 4 x 1024^2 + 3 x 1024 x 2688 + 4 x 1024 of norms; the last norm; two tables of 50,304 rows. */
    {"megatron", "megatron-gpt.yaml", NULL, 24 * (4 * 1048576.0 + 3 * 1024 * 2688 + 4096) + 2048 + 2 * 50304 * 1024.0,
     1, 1, 1, 1, 0},
    /* Llama 3 70B: 70,553,706,496; 128,256 rows become 128,512 in two tables of 8,192 */
    {"nemo", "nemo-llama3.1-70b.yaml", NULL, 70553706496.0 + 256 * 2 * 8192, 1024, 4, 4, 32, 1},
    {"nemo", "nemo2-llama3-8b.yaml", NULL, 8030261248.0, 8, 1, 1, 4, 1},
    {"deepspeed", "deepspeed-zero3-offload.json", NULL, 6738415616.0, 8, 1, 1, 8, 3},
    {"deepspeed", "deepspeed-zero3-auto.json", "2", 6738415616.0, 16, 1, 1, 16, 3},
    {"torchtitan", "torchtitan-llama3-70b.toml", NULL, 70553706496.0, 64, 8, 1, 8, 3},
    {"torchtitan", "torchtitan-llama3-405b.toml", NULL, 405853388800.0, 128, 8, 1, 16, 3},
};
enum { N_RECIPES = sizeof RECIPES / sizeof RECIPES[0] };

static const char *recipe_file(int i) {
    return tsim_arena_printf(&arena, "%s/tests/data/import/%s", TSIM_SOURCE_TREE, RECIPES[i].file);
}

TSIM_TEST_LOOP(public_recipes, 0, N_RECIPES) {
    struct tsim_override nodes = {"cluster.nodes", RECIPES[_i].nodes};
    const struct tsim_import_input options = {.overrides = &nodes, .n_overrides = RECIPES[_i].nodes ? 1 : 0};
    struct tsim_import_result result = {NULL, NULL};
    const char *file = recipe_file(_i);
    ck_assert_int_eq(
        tsim_import_files(&arena, tsim_import_format_find(RECIPES[_i].format), &file, 1, &options, &result, &diags),
        TSIM_OK);
    const struct tsim_scenario *sc = load_text(result.yaml);
    ck_assert_double_eq(tsim_model_parameters(sc->model), RECIPES[_i].parameters);
    ck_assert_int_eq(sc->n_accelerators, RECIPES[_i].accelerators);
    ck_assert_int_eq(sc->parallelism.tensor, RECIPES[_i].tensor);
    ck_assert_int_eq(sc->parallelism.pipeline, RECIPES[_i].pipeline);
    ck_assert_int_eq(sc->parallelism.data, RECIPES[_i].data);
    ck_assert_int_eq(sc->parallelism.zero, RECIPES[_i].zero);
}

#define STAGED                                                                                                         \
    "pretrain_gpt.py --num-layers 16 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --vocab-size "      \
    "50257 "                                                                                                           \
    "--micro-batch-size 1 --global-batch-size 16 --max-position-embeddings 1024 --bf16 "                               \
    "--pipeline-model-parallel-size 4 "

/* A layout gives stages, layers that predict further tokens in the last of them, and moments in 16 bits. */
TSIM_TEST(stages_of_a_layout) {
    static const struct {
        const char *arguments;
        int64_t layers, further, stages, last;
    } READ[] = {
        {"--pipeline-model-parallel-layout 'Et*3|t*5|t*4|t*4L'", 16, 0, 1, 4},
        {"--pipeline-model-parallel-layout 'Et, t|(tt|)*6ttmL' --mtp-num-layers 1", 17, 1, 2, 3},
        {"--mtp-num-layers 1", 17, 1, 1, 5},
        {"--mtp-num-layers 1 --num-layers-per-virtual-pipeline-stage 2", 17, 1, 2, 3},
        {"--exp-avg-dtype bf16 --exp-avg-sq-dtype bf16", 16, 0, 1, 0},
    };
    for (size_t i = 0; i < sizeof READ / sizeof READ[0]; i++) {
        struct tsim_import_result result = {NULL, NULL};
        const char *text = tsim_arena_printf(&arena, STAGED "%s\n", READ[i].arguments);
        ck_assert_int_eq(import_text("megatron", text, &result), TSIM_OK);
        const struct tsim_scenario *sc = load_text(result.yaml);
        ck_assert_int_eq(sc->model->layers, READ[i].layers);
        ck_assert_int_eq(sc->model->mtp_layers, READ[i].further);
        ck_assert_int_eq(sc->parallelism.virtual_pipeline, READ[i].stages);
        const char *list = strstr(result.yaml, "layers_per_stage: ["), *end = list ? strchr(list, ']') : NULL;
        ck_assert_int_eq(list != NULL, READ[i].last != 0);
        if (list)
            ck_assert_int_eq(end[-1] - '0', READ[i].last);
        ck_assert_int_eq(strstr(result.yaml, "state_precision: bf16") != NULL, i == 4);
    }
    static const char *const REFUSED[] = {
        "--pipeline-model-parallel-layout 'Et*3|t*5|(tt|)*2t*4L'",
        "--pipeline-model-parallel-layout 'Ett|((tt|)*6ttL'",
        "--pipeline-model-parallel-layout 'Et*|t|t|tL'",
        "--pipeline-model-parallel-layout 'Et*3|x*5|t*4|t*4L'",
        "--pipeline-model-parallel-layout 'Et*3|t*5|t*4|t*3L'",
        "--pipeline-model-parallel-layout '(t|)*1000(t|)*999'",
        "--exp-avg-dtype bf16",
    };
    for (size_t i = 0; i < sizeof REFUSED / sizeof REFUSED[0]; i++) {
        struct tsim_import_result result = {NULL, NULL};
        const size_t before = diags.n_errors;
        ck_assert_int_ne(import_text("megatron", tsim_arena_printf(&arena, STAGED "%s\n", REFUSED[i]), &result),
                         TSIM_OK);
        ck_assert_uint_eq(diags.n_errors, before + 1);
    }
}

#define SIZES                                                                                                          \
    "--num-layers 8 --hidden-size 512 --num-attention-heads 8 --seq-length 256 --max-position-embeddings 256 "         \
    "--micro-batch-size 1 --global-batch-size 64 --nproc_per_node 8 --nnodes 1 "

static const struct tsim_scenario *megatron(const char *arguments) {
    struct tsim_import_result result = {NULL, NULL};
    ck_assert_int_eq(import_text("megatron", tsim_arena_printf(&arena, SIZES "%s", arguments), &result), TSIM_OK);
    return load_text(result.yaml);
}

/* The meaning of the arguments is read from megatron/training/arguments.py. */
TSIM_TEST(megatron_s_defaults) {
    const struct tsim_scenario *sc = megatron("");
    ck_assert_int_eq(sc->training.precision, TSIM_FP32);
    ck_assert_int_eq(sc->model->ffn_hidden, 2048);
    ck_assert_int_eq(sc->model->position, TSIM_POSITION_LEARNED);
    ck_assert(sc->model->tied_embeddings && sc->model->bias);
    ck_assert_double_eq(sc->software->dropout, 0.1);
    ck_assert_int_eq(sc->parallelism.zero, 0);
    ck_assert_int_eq(sc->model->vocab, 50304);                       /* 50,257 in whole 128 */
    ck_assert_int_eq(megatron("--swiglu")->model->ffn_hidden, 1344); /* 4 x 512 x 2 / 3 = 1,365.3 in whole 64 */
    ck_assert_int_eq(megatron("--vocab-size 1000 --tensor-model-parallel-size 4")->model->vocab, 1024);
    ck_assert_int_eq(megatron("--vocab-size 1024 --tokenizer-type NullTokenizer")->model->vocab, 1152);
}

TSIM_TEST(megatron_s_arguments) {
    ck_assert_int_eq(megatron("--fp16")->training.gradient_precision, TSIM_FP16);
    ck_assert_int_eq(megatron("--bf16")->training.gradient_precision, TSIM_FP32);
    ck_assert_int_eq(megatron("--bf16 --grad-reduce-in-bf16")->training.gradient_precision, TSIM_BF16);
    ck_assert_int_eq(megatron("--bf16 --fp8-format hybrid")->training.precision, TSIM_FP8);
    ck_assert_int_eq(megatron("--recompute-activations")->training.recompute, TSIM_RECOMPUTE_SELECTIVE);
    ck_assert_int_eq(megatron("--recompute-activations --recompute-granularity full")->training.recompute,
                     TSIM_RECOMPUTE_SELECTIVE);
    ck_assert_int_eq(megatron("--recompute-granularity full --recompute-method uniform --recompute-num-layers 2")
                         ->training.recompute_every,
                     2);
    ck_assert_int_eq(megatron("--recompute-granularity full --recompute-method block --recompute-num-layers 2")
                         ->training.recompute_layers,
                     2);
    ck_assert_uint_eq(
        megatron("--recompute-granularity selective --recompute-modules core_attn mlp")->training.recompute_parts,
        TSIM_RECOMPUTE_ATTENTION | TSIM_RECOMPUTE_FFN);
    ck_assert_int_eq(megatron("--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2")
                         ->parallelism.virtual_pipeline,
                     2);
    ck_assert_int_eq(megatron("--use-torch-fsdp2")->parallelism.zero, 3);
    ck_assert_int_eq(megatron("--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads")->parallelism.zero,
                     2);
    ck_assert_int_eq(megatron("--data-parallel-sharding-strategy optim_grads")->parallelism.zero, 0);
    ck_assert_int_eq(
        megatron("--use-distributed-optimizer --num-distributed-optimizer-instances 2")->parallelism.zero_group_ranks,
        4);
    ck_assert_int_eq(megatron("--context-parallel-size 2 --cp-comm-type a2a")->parallelism.context_exchange,
                     TSIM_CONTEXT_ALL_TO_ALL);
    const struct tsim_scenario *sc =
        megatron("--num-experts 16 --moe-router-topk 4 --moe-layer-freq '([0]*3+[1]*5)' --moe-ffn-hidden-size 128 "
                 "--moe-shared-expert-intermediate-size 256 --expert-model-parallel-size 8");
    ck_assert_int_eq(sc->model->experts.first, 3);
    ck_assert_int_eq(sc->model->experts.shared, 2);
    ck_assert_int_eq(sc->model->experts.active, 4);
    ck_assert_int_eq(sc->parallelism.expert, 8);
}

/* Without --moe-grouped-gemm experts are SequentialMLP; the fused permutation came after the dispatcher by width. */
TSIM_TEST(megatron_s_experts) {
    const struct tsim_software *plain = megatron("--num-experts 8")->software;
    ck_assert_int_eq(plain->expert_products, TSIM_PRODUCTS_SEQUENTIAL);
    ck_assert_int_eq(plain->expert_dispatch, TSIM_DISPATCH_BY_WIDTH);
    ck_assert_int_eq(plain->expert_permutation, TSIM_PERMUTATION_WRITTEN_OUT);
    const struct tsim_software *fused = megatron("--num-experts 8 --moe-grouped-gemm --moe-permute-fusion")->software;
    ck_assert_int_eq(fused->expert_products, TSIM_PRODUCTS_GROUPED);
    ck_assert_int_eq(fused->expert_dispatch, TSIM_DISPATCH_ALL_TO_ALL);
    ck_assert_int_eq(fused->expert_permutation, TSIM_PERMUTATION_FUSED);
    const struct tsim_software *deepep = megatron("--num-experts 8 --moe-permute-fusion --moe-enable-deepep")->software;
    ck_assert_int_eq(deepep->expert_dispatch, TSIM_DISPATCH_PER_NODE);
}

/* Layers by Megatron-Core or Transformer Engine, or the whole iteration; parts of a layer are not modelled. */
TSIM_TEST(megatron_s_graphs) {
    static const struct {
        const char *arguments;
        enum tsim_cuda_graphs graphs;
    } CASES[] = {
        {"", TSIM_GRAPHS_NONE},
        {"--enable-cuda-graph", TSIM_GRAPHS_LAYERS},
        {"--external-cuda-graph --cuda-graph-warmup-steps 3", TSIM_GRAPHS_LAYERS},
        {"--cuda-graph-impl none", TSIM_GRAPHS_NONE},
        {"--cuda-graph-impl transformer_engine --cuda-graph-scope full", TSIM_GRAPHS_LAYERS},
        {"--cuda-graph-impl local --cuda-graph-scope full_iteration", TSIM_GRAPHS_STEP},
        {"--cuda-graph-impl transformer_engine --cuda-graph-scope attn moe_router moe_preprocess", TSIM_GRAPHS_LAYERS},
        {"--cuda-graph-impl transformer_engine --cuda-graph-scope attn", TSIM_GRAPHS_NONE}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        ck_assert_msg(megatron(CASES[i].arguments)->software->cuda_graphs == CASES[i].graphs, "%s", CASES[i].arguments);
}

/* The job is on half of a DGX-2: eight of its sixteen. */
TSIM_TEST(nodes_larger_than_the_launch) {
    struct tsim_import_result result = {NULL, NULL};
    ck_assert_int_eq(import_text("megatron", "#SBATCH --constraint=v100\npretrain_gpt.py --fp16 " SIZES, &result),
                     TSIM_OK);
    const struct tsim_scenario *sc = load_text(result.yaml);
    ck_assert_str_eq(sc->cluster.node->name, "dgx-2");
    ck_assert_int_eq(sc->n_accelerators, 8);
}

TSIM_TEST(accelerators_of_a_node_can_be_set) {
    struct tsim_override each = {"cluster.accelerators_per_node", "4"};
    static const char TEXT[] = "{\"train_micro_batch_size_per_gpu\": 2, \"bf16\": {\"enabled\": true}}";
    struct tsim_import_input input = {"file", TEXT, strlen(TEXT), &each, 1};
    struct tsim_import_result result = {NULL, NULL};
    ck_assert_int_eq(tsim_import_format_find("deepspeed")->read(&arena, &input, &result, &diags), TSIM_OK);
    const struct tsim_scenario *sc = load_text(result.yaml);
    ck_assert_int_eq(sc->cluster.accelerators_per_node, 4);
    ck_assert_int_eq(sc->n_microbatches, 1);
}

TSIM_TEST(a_flag_of_yaml_can_be_off) {
    static const char TEXT[] =
        "num_layers: 8\nhidden_size: 512\nnum_attention_heads: 8\nseq_length: 256\nmax_position_embeddings: 256\n"
        "micro_batch_size: 1\nfp16: true\naccumulate_allreduce_grads_in_fp32: false\n";
    struct tsim_import_result result = {NULL, NULL};
    ck_assert_int_eq(import_text("megatron", TEXT, &result), TSIM_OK);
    ck_assert_int_eq(load_text(result.yaml)->training.gradient_precision, TSIM_FP16);
}

/* Stages without a layer to divide. */
TSIM_TEST(more_stages_than_layers) {
    struct tsim_import_result result = {NULL, NULL};
    ck_assert_int_eq(
        import_text("megatron",
                    SIZES "--num-layers 4 --pipeline-model-parallel-size 8 --num-layers-per-virtual-pipeline-stage 1 "
                          "--recompute-granularity full",
                    &result),
        TSIM_ERR_INFEASIBLE);
    ck_assert_ptr_nonnull(strstr(diags.items[0].message, "0 layers of a stage"));
}

/* Places of those beyond the limit are not looked for, which would take minutes. */
TSIM_TEST(too_many_arguments_end_soon) {
    enum { N = 100000 };
    char *text = tsim_arena_alloc(&arena, sizeof SIZES + 4 * N), *to = text + sizeof SIZES - 1;
    struct tsim_import_result result = {NULL, NULL};
    memcpy(text, SIZES, sizeof SIZES - 1);
    for (int i = 0; i < N; i++)
        memcpy(to + (ptrdiff_t)4 * i, "--a ", 4);
    to[(ptrdiff_t)4 * N] = '\0';
    ck_assert_int_ne(import_text("megatron", text, &result), TSIM_OK);
    ck_assert_ptr_nonnull(strstr(diags.items[0].message, "more than 4096 settings"));
}

static const struct {
    const char *text, *message;
    int column;
} CONTRADICTIONS[] = {
    {"--bf16 --fp16 " SIZES, "cannot be together", 8},
    {"--tensor-model-parallel-size 16 " SIZES, "--gpus 16", 209},
    {"--num-layers-per-virtual-pipeline-stage 3 --pipeline-model-parallel-size 2 " SIZES, "does not divide", 41},
    {"--train-iters 5 --train-samples 7 " SIZES, "cannot be together", 33},
    {"--num-experts 8 --expert-model-parallel-size 3 " SIZES, "", 46},
    {"--recompute-granularity some " SIZES, "neither full nor selective", 25},
    {"--swiglu --squared-relu " SIZES, "cannot be together", 10},
    {"--position-embedding-type rope --num-layers many " SIZES, NULL, 0}, /* the last one counts */
};

TSIM_TEST_ROWS(contradictions_have_a_place, CONTRADICTIONS) {
    struct tsim_import_result result = {NULL, NULL};
    enum tsim_status status = import_text("megatron", CONTRADICTIONS[_i].text, &result);
    if (!CONTRADICTIONS[_i].message) {
        ck_assert_int_eq(status, TSIM_OK);
        return;
    }
    ck_assert_int_ne(status, TSIM_OK);
    ck_assert_uint_eq(diags.n_errors, 1);
    ck_assert_ptr_null(result.yaml);
    for (size_t i = 0; i < diags.n_items; i++)
        if (!diags.items[i].is_warning) {
            ck_assert_int_eq(diags.items[i].at.line, 1);
            ck_assert_int_eq(diags.items[i].at.column, CONTRADICTIONS[_i].column);
            ck_assert_ptr_nonnull(strstr(diags.items[i].message, CONTRADICTIONS[_i].message));
        }
}

/* DeepSpeed's train_batch_size is micro-batch x accumulation x accelerators. */
TSIM_TEST(deepspeed_s_batches) {
    struct tsim_import_result result = {NULL, NULL};
    ck_assert_int_eq(import_text("deepspeed",
                                 "{\"train_batch_size\": 256, \"train_micro_batch_size_per_gpu\": 4, "
                                 "\"gradient_accumulation_steps\": 4, \"bf16\": {\"enabled\": true}}",
                                 &result),
                     TSIM_OK);
    const struct tsim_scenario *sc = load_text(result.yaml);
    ck_assert_int_eq(sc->n_accelerators, 16);
    ck_assert_int_eq(sc->n_microbatches, 4);
    ck_assert_int_eq(sc->parallelism.zero, 0);
    ck_assert_int_eq(import_text("deepspeed",
                                 "{\"train_batch_size\": 250, \"train_micro_batch_size_per_gpu\": 4,\n"
                                 "\"gradient_accumulation_steps\": 4, \"fp16\": {\"enabled\": true}, "
                                 "\"bf16\": {\"enabled\": true}}",
                                 &result),
                     TSIM_ERR_INFEASIBLE);
    ck_assert_uint_eq(diags.n_errors, 2);
    ck_assert_int_eq(diags.items[0].at.line, 1);
    ck_assert_int_eq(diags.items[0].at.column, 22);
    ck_assert_int_eq(diags.items[1].at.line, 2);
}

/* "auto" of reduce_bucket_size is the square of the hidden size (4,096 of Llama 2 7B). */
TSIM_TEST(deepspeed_s_auto) {
    struct tsim_import_result result = {NULL, NULL};
    ck_assert_int_eq(import_text("deepspeed",
                                 "{\"zero_optimization\": {\"stage\": 2, \"reduce_bucket_size\": \"auto\"},\n"
                                 "\"bf16\": {\"enabled\": \"auto\"}}",
                                 &result),
                     TSIM_OK);
    const struct tsim_scenario *sc = load_text(result.yaml);
    ck_assert_int_eq(sc->software->bucket_elements, 4096 * 4096);
    ck_assert_int_eq(sc->training.precision, TSIM_BF16);
    ck_assert_ptr_nonnull(
        strstr(result.notes, "file:1:58: note: zero_optimization.reduce_bucket_size: auto: the square"));
    ck_assert_ptr_nonnull(strstr(result.notes, "file:2:21: note: bf16.enabled: auto: bf16 of the Trainer"));
}

/* Degrees whose product no whole number of 64 bits holds: so many accelerators are refused, they are not counted
 * wrong. */
TSIM_TEST(torchtitan_s_largest_degrees) {
    static const char TEXT[] = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[parallelism]\n"
                               "tensor_parallel_degree = 100000\npipeline_parallel_degree = 100000\n"
                               "context_parallel_degree = 100000\ndata_parallel_replicate_degree = 100000\n"
                               "data_parallel_shard_degree = 100000\n";
    struct tsim_import_result result = {NULL, NULL};
    ck_assert_int_ne(import_text("torchtitan", TEXT, &result), TSIM_OK);
    ck_assert_str_eq(diags.items[0].field, "cluster.nodes");
    ck_assert_str_eq(diags.items[0].message, "125000000000 is out of range");
}

TSIM_TEST(torchtitan_s_settings) {
    struct tsim_import_result result = {NULL, NULL};
    static const char TEXT[] = "[model]\nflavor = \"8B\"\n[training]\nlocal_batch_size = 4\nseq_len = 8_192\n"
                               "[parallelism]\npipeline_parallel_degree = 2\ndata_parallel_replicate_degree = 2\n"
                               "data_parallel_shard_degree = 4\npipeline_parallel_schedule = 'GPipe'\n"
                               "[activation_checkpoint]\nmode = 'none'\n";
    ck_assert_int_eq(import_text("torchtitan", TEXT, &result), TSIM_OK);
    const struct tsim_scenario *sc = load_text(result.yaml);
    ck_assert_int_eq(sc->n_accelerators, 16);
    ck_assert_int_eq(sc->parallelism.zero, 2); /* gathered parameters stay in a pipeline */
    ck_assert_int_eq(sc->parallelism.zero_group_ranks, 4);
    ck_assert_int_eq(sc->parallelism.schedule, TSIM_SCHEDULE_GPIPE);
    ck_assert_int_eq(sc->training.micro_batch_size, 1);
    ck_assert_int_eq(sc->n_microbatches, 4);
    ck_assert_int_eq(sc->training.global_batch_size, 4 * 8);
}

static const struct {
    const char *format, *text;
    int line, column;
} MISTAKES[] = {
    {"torchtitan", "[model]\nname = \"llama3\nflavor = '8B'\n", 2, 8},
    {"torchtitan", "[[model]]\n", 1, 1},
    {"torchtitan", "[model\n", 1, 7},
    {"torchtitan", "a = 1\na = 2\n", 2, 1},
    {"torchtitan", "a = [1, 2\nb = 3\n", 2, 1},
    {"torchtitan", "a = 1 2\n", 1, 7},
    {"torchtitan", "[model]\nflavor = '9B'\n", 2, 10},
    {"torchtitan", "[model]\nflavor = '8B'\n[parallelism]\ntensor_parallel_degree = 'two'\n", 4, 26},
    {"nemo", "model:\n  num_layers: 2\n  hidden_size: many\n  num_attention_heads: 2\n", 3, 16},
    {"nemo", "model: {config: {_target_: a.b.NoConfig}}\n", 1, 28},
    {"deepspeed", "{\"zero_optimization\": {\"stage\": 4}}", 1, 33},
};

TSIM_TEST_ROWS(mistakes_have_a_place, MISTAKES) {
    struct tsim_import_result result = {NULL, NULL};
    ck_assert_int_ne(import_text(MISTAKES[_i].format, MISTAKES[_i].text, &result), TSIM_OK);
    ck_assert_ptr_null(result.yaml);
    ck_assert_int_eq(diags.items[0].at.line, MISTAKES[_i].line);
    ck_assert_int_eq(diags.items[0].at.column, MISTAKES[_i].column);
}

/* Every argument is in the scenario, a warning with a comment, or aside; of one that is not known nobody can say which,
 * and the user may leave it out. */
TSIM_TEST(nothing_is_passed_over) {
    static const char TEXT[] = SIZES "--lr 3e-4 --deterministic-mode --made-up-layers 7", *const IGNORED[] = {
                                                                                              "--made-up-layers"};
    struct tsim_import_input input = {.file = "file", .text = TEXT, .size = strlen(TEXT)};
    struct tsim_import_result result = {.yaml = NULL};
    const struct tsim_import_format *megatron_s = tsim_import_format_find("megatron");
    ck_assert_int_ne(megatron_s->read(&arena, &input, &result, &diags), TSIM_OK);
    ck_assert_uint_eq(diags.n_errors, 1);
    ck_assert_ptr_nonnull(strstr(diags.items[diags.n_items - 1].message, "does not know"));
    input.ignored = IGNORED;
    input.n_ignored = 1;
    ck_assert_int_eq(megatron_s->read(&arena, &input, &result, &diags), TSIM_OK);
    ck_assert_ptr_nonnull(strstr(result.yaml, "#   --deterministic-mode (line 1): tsim does not model"));
    ck_assert_ptr_nonnull(strstr(result.yaml, "#   --made-up-layers (line 1): left out by --ignore"));
    ck_assert_ptr_nonnull(strstr(result.yaml, "# Without effect on performance: 1 setting."));
    ck_assert_ptr_nonnull(strstr(result.no_effect, "note: --lr 3e-4: no effect"));
    ck_assert_uint_eq(result.n_no_effect, 1);
}

/* Names that nobody knows and whose words are about nothing that is simulated share one warning. */
TSIM_TEST(unknown_names_share_a_warning) {
    struct tsim_import_result result = {.yaml = NULL};
    ck_assert_int_eq(import_text("megatron", SIZES "--made-up 7 --fancy-banner --telemetry-pipe x", &result), TSIM_OK);
    ck_assert_uint_eq(diags.n_errors, 0);
    const char *message = diags.items[diags.n_items - 1].message;
    ck_assert_msg(strstr(message, " 2 ") && strstr(message, "--made-up, --fancy-banner"), "%s", message);
}

/* A setting that changes the model, the data type, the batch or the parallelism, or is no training, is refused by
 * its name; each of them with the words of its reason. */
static const struct {
    const char *arguments, *reason;
} REFUSED[] = {{"--hybrid-layer-pattern M*M-", "for each layer"},
               {"--hybrid-override-pattern M*M-M*G-", "for each layer"},
               {"--hybrid-override-pattern M*M-M*ME", "num_experts"},
               {"--hybrid-override-pattern M*M-M*M- --window-size 127,0", "beside Mamba-2"},
               {"--is-hybrid-model --hybrid-attention-ratio 0.25", "not said"},
               {"--linear-attention-freq 4", "linear attention"},
               {"--spec megatron.core.models.gdn.layer_specs gated_delta_spec", "linear attention"},
               {"--spec my.own.layers spec", "of its own"},
               {"--freeze-LM", "not trained"},
               {"--freeze-ViT", "not trained"},
               {"--img-h 448", "images"},
               {"--inference-max-requests 8", "inference"},
               {"--skip-train", "evaluates"},
               {"--task LAMBADA", "evaluates"},
               {"--perform-rl-step", "reinforcement"},
               {"--export-kd-teacher-load x", "distils"},
               {"--retro-add-retriever", "retrieval"},
               {"--num-nextn-predict-layers 1", "further tokens"},
               {"--sliding-window-pattern 5", "windows"},
               {"--fp32-residual-connection", "data type"},
               {"--main-grads-dtype fp16", "data type"},
               {"--moe-extended-tp", "experts"},
               {"--pipeline-model-parallel-layout 'Et*4|x*4L'", "layout"},
               {"--num-experts 8 --expert-model-parallel-size 8 --moe-token-dispatcher-type allgather", "gathering"},
               {"--num-experts 8 --moe-layer-freq '([1]*2+[0]*3+[1]*3)'", "which layers"},
               {"--optimizer soap", "soap"},
               {"--position-embedding-type relative", "relative"},
               {"--use-checkpoint-args", "another file"},
               {"--made-up-width 8", "does not know"}};

TSIM_TEST_ROWS(what_is_not_understood_is_refused, REFUSED) {
    struct tsim_import_result result = {.yaml = NULL};
    const char *text = tsim_arena_printf(&arena, SIZES "%s", REFUSED[_i].arguments);
    ck_assert_int_ne(import_text("megatron", text, &result), TSIM_OK);
    ck_assert_uint_eq(diags.n_errors, 1);
    ck_assert_msg(strstr(diags.items[0].message, REFUSED[_i].reason) != NULL, "%s", diags.items[0].message);
    ck_assert_int_gt(diags.items[0].at.column, 1);
}

static const struct {
    const char *program, *reason;
} PROGRAMS[] = {{"examples/multimodal/train.py", "images"},
                {"pretrain_vlm.py", "images"},
                {"examples/mimo/train.py", "images"},
                {"tools/run_text_generation_server.py", "inference"},
                {"examples/inference/gpt/gpt_static.py", "inference"},
                {"tasks/main.py", "evaluates"},
                {"pretrain_retro.py", "retrieval"},
                {"pretrain_mamba.py", NULL},
                {"pretrain_jamba.py", "state-space"},
                {"pretrain_t5.py", "encoder"},
                {"train_rl.py", "reinforcement"},
                {"tools/checkpoint/convert.py", "checkpoint"},
                {"/opt/support/pretrain_gpt.py", NULL},
                {"-m tasks.main", "evaluates"},
                {"-m my.pretraining", NULL},
                {"endpoint/train.py", NULL},
                {"src/train.py", NULL}};

TSIM_TEST_ROWS(what_is_no_training_is_refused, PROGRAMS) {
    struct tsim_import_result result = {.yaml = NULL};
    const char *text = tsim_arena_printf(&arena, "torchrun %s " SIZES, PROGRAMS[_i].program);
    bool is_good = import_text("megatron", text, &result) == TSIM_OK;
    ck_assert_int_eq(is_good, PROGRAMS[_i].reason == NULL);
    ck_assert(is_good || strstr(diags.items[0].message, PROGRAMS[_i].reason));
}

/* Letters of layers by their older and newer name, whose own number of layers they are; without any all are Mamba-2. */
TSIM_TEST(layers_of_one_block) {
    const struct tsim_model *m =
        megatron("--hybrid-override-pattern M-M-M-*- --squared-relu --mamba-state-dim 64")->model;
    ck_assert_uint_eq(m->n_pattern, 8);
    ck_assert_int_eq(m->pattern[6].kind, TSIM_MIXING_ATTENTION);
    ck_assert_int_eq(m->pattern[7].kind, TSIM_MIXING_NONE);
    ck_assert_int_eq(m->pattern[7].feed_forward, TSIM_FOLLOWING_DENSE);
    ck_assert_int_eq(m->activation, TSIM_ACTIVATION_RELU);
    ck_assert_int_eq(m->mamba.state, 64);
    ck_assert_int_eq(m->mamba.heads, 2 * 512 / 64);
    m = megatron("--spec megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec --mamba-num-heads 32")->model;
    ck_assert_uint_eq(m->n_pattern, 1);
    ck_assert_int_eq(m->pattern[0].kind, TSIM_MIXING_MAMBA);
    ck_assert_int_eq(m->mamba.heads, 32);
    struct tsim_import_result result = {.yaml = NULL};
    ck_assert_int_eq(import_text("megatron",
                                 "pretrain_hybrid.py --hybrid-layer-pattern M*ME --hidden-size 512 --num-experts 4 "
                                 "--num-attention-heads 8 --seq-length 256 --max-position-embeddings 256 "
                                 "--micro-batch-size 1 --global-batch-size 8 --nproc_per_node 8",
                                 &result),
                     TSIM_OK);
    ck_assert_int_eq(load_text(result.yaml)->model->layers, 4);
}

/* Settings that are off, or have the value that tsim has, are no reason to refuse a file. */
TSIM_TEST(what_is_off_is_not_refused) {
    struct tsim_import_result result = {.yaml = NULL};
    ck_assert_int_eq(import_text("megatron",
                                 SIZES "--exp-avg-dtype fp32 --mtp-num-layers 0 --spec local --is-hybrid-model false "
                                       "--made-up false --num-experts 8 --moe-token-dispatcher-type allgather",
                                 &result),
                     TSIM_OK);
}

/* --step-batch-size-schedule: even steps are a ramp, of others the last counts. SIZES have 64 samples of 256 tokens. */
TSIM_TEST(schedules_of_batches) {
    const struct tsim_training_spec *t = &megatron("--step-batch-size-schedule '0:16 1M:40 2M:64'")->training;
    ck_assert_int_eq(t->global_batch_size, 64);
    ck_assert_double_eq(t->batch_ramp.from, 16);
    ck_assert_double_eq(t->batch_ramp.increment, 24);
    ck_assert_double_eq(t->batch_ramp.samples, 2e6 / 256 - 0.5); /* whole samples */
    t = &megatron("--step-batch-size-schedule '0:16 1.5M:40 2M:64'")->training;
    ck_assert_int_eq(t->global_batch_size, 64);
    ck_assert_double_eq(t->batch_ramp.from, 0);
    t = &megatron("--rampup-batch-size 16 16 300_000")->training;
    ck_assert_double_eq(t->batch_ramp.from, 16);
    ck_assert_double_eq(t->batch_ramp.samples, 300000);
    static const char *const BAD[] = {"--step-batch-size-schedule '0:16 1M:40'",
                                      "--step-batch-size-schedule 64",
                                      "--step-batch-size-schedule '0:64 1M:40'",
                                      "--rampup-batch-size 16 16",
                                      "--step-batch-size-schedule '1M:64'",
                                      "--rampup-batch-size 16 16 300 --step-batch-size-schedule '0:16 1M:64'"};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        struct tsim_import_result result = {.yaml = NULL};
        const char *text = tsim_arena_printf(&arena, SIZES "%s", BAD[i]);
        ck_assert_msg(import_text("megatron", text, &result) != TSIM_OK, "%s", BAD[i]);
    }
}

/* DeepSpeed's file says how the states are divided, also one that the script writes. */
TSIM_TEST(a_file_of_deepspeed_that_a_script_writes) {
    struct tsim_import_result result = {NULL, NULL};
    const char *script = tsim_arena_printf(
        &arena,
        "STAGE=2\ncat <<EOT > ds.json\n{\"zero_optimization\": {\"stage\": $STAGE, \"offload_optimizer\": {\"device\": "
        "\"cpu\"}}}\nEOT\n" SIZES "%s",
        "--deepspeed --deepspeed_config=./ds.json --zero-stage 1\n");
    ck_assert_int_eq(import_text("megatron", script, &result), TSIM_OK);
    const struct tsim_scenario *sc = load_text(result.yaml);
    ck_assert_int_eq(sc->parallelism.zero, 2);
    ck_assert(sc->training.offload.optimizer);
}

TSIM_TEST(deepspeed_s_offload) {
    static const struct {
        const char *text;
        bool is_good, is_offloaded;
    } CASES[] = {
        {"{\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\"}}}", true, true},
        {"{\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"none\"}}}", true, false},
        {"{\"zero_optimization\": {\"stage\": 2, \"cpu_offload\": true}}", true, true},
        {"{\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\", \"ratio\": 0.3}}}", false,
         false},
        {"{\"zero_optimization\": {\"stage\": 3, \"zero_quantized_weights\": true}}", false, false},
        {"{\"zero_optimization\": {\"stage\": 3, \"zero_quantized_weights\": false}}", true, false},
        {"{\"curriculum_learning\": {\"enabled\": true}}", false, false},
        {"{\"made_up_precision\": true}", false, false},
        {"{\"made_up\": true}", true, false}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct tsim_import_result result = {.yaml = NULL};
        bool is_good = import_text("deepspeed", CASES[i].text, &result) == TSIM_OK;
        ck_assert_msg(is_good == CASES[i].is_good, "%s", CASES[i].text);
        if (is_good)
            ck_assert_int_eq(load_text(result.yaml)->training.offload.optimizer, CASES[i].is_offloaded);
    }
}

/* A value that the script is given from outside is empty; the message names what stands for it. */
TSIM_TEST(lost_values_are_named) {
    struct tsim_import_result result = {.yaml = NULL};
    ck_assert_int_ne(
        import_text("megatron", "H=\"--hidden-size $2\"\npretrain_gpt.py --num-layers ${LAYERS} $H --bf16", &result),
        TSIM_OK);
    ck_assert_ptr_nonnull(strstr(diags.items[0].message, "$LAYERS is empty"));
    ck_assert_ptr_nonnull(strstr(diags.items[1].message, "$2 is empty"));
}

/* If no command has them, all that was assigned is read, and what variables hand on once. */
TSIM_TEST(arguments_are_read_once) {
    struct tsim_import_result result = {.yaml = NULL};
    ck_assert_int_eq(import_text("megatron", "A='" SIZES "'\nB=\"$A --lr 1\"\nC=\"$B\"\nD=\"$C\"\n", &result), TSIM_OK);
    ck_assert_uint_eq(result.n_no_effect, 1);
}

/* fp8 weights are gathered in fp8 here; a recipe that does otherwise is told. */
TSIM_TEST(gathers_of_fp8_weights) {
    static const struct {
        const char *format, *text;
        unsigned warnings;
    } CASES[] = {
        {"megatron", SIZES "--bf16 --fp8-format hybrid", 1},
        {"megatron", SIZES "--bf16 --fp8-format hybrid --fp8-param-gather", 0},
        {"torchtitan", "[model]\nname = 'llama3'\nflavor = '8B'\nconverters = 'float8'\n", 1},
        {"torchtitan",
         "[model]\nname = 'llama3'\nflavor = '8B'\nconverters = 'float8'\n[float8]\nenable_fsdp_float8_all_gather = "
         "true\n",
         0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct tsim_import_result result = {NULL, NULL};
        size_t before = diags.n_warnings;
        ck_assert_int_eq(import_text(CASES[i].format, CASES[i].text, &result), TSIM_OK);
        ck_assert_uint_eq(diags.n_warnings - before, CASES[i].warnings);
    }
}

/* A file gives a scenario that loads or at least one error. */
static void read_damaged(const void *context, const char *text, size_t size) {
    const int *i = context;
    struct tsim_import_input input = {RECIPES[*i].file, text, size, NULL, 0};
    struct tsim_import_result result = {NULL, NULL};
    enum tsim_status status = tsim_import_format_find(RECIPES[*i].format)->read(&arena, &input, &result, &diags);
    TSIM_ALWAYS((status == TSIM_OK) == (result.yaml != NULL) && (status == TSIM_OK) == (diags.n_errors == 0),
                "%s: %.*s", RECIPES[*i].file, (int)size, text);
    if (status == TSIM_OK)
        load_text(result.yaml);
}

TSIM_TEST_LOOP(damaged_files_are_scenarios_or_errors, 0, N_RECIPES) {
    const size_t n_trials = (size_t)random_cases(6);
    size_t size;
    const char *text = damage_file(recipe_file(_i), &size);
    const struct damage damage = {.junk = "\"'{}[]()$:,9-\n\xff&*#\\",
                                  .changes = 1,
                                  .apart = (int32_t)(size / n_trials) + 1,
                                  .seed = (uint64_t)_i};
    damage_everywhere(&damage, text, size, read_damaged, &_i);
}

TSIM_MAIN(60, set_up, tear_down)
