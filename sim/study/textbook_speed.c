/* One accelerator's speed: precision, attention, batches. */
#include "study/textbook_table.h"

#define H100 "h100-sxm"

/* A layer of 4096 x 4096 over a batch: the product that the text's warps stand for. */
#define LAYER_S(op_, batch) PRODUCT(op_, H100, "bf16", 1, batch, 4096, 4096)

#define WIDTH(n) "llama-7b-24gb model.ffn_hidden=" #n

static const struct textbook_row WAVES[] = {
    {.key = "33",
     .what = "time with a batch of 33 over that with 32",
     .unit = "x",
     .text = 2,
     .right = TSIM_TEXTBOOK_TSIM,
     .why = "The text gives each sample a thread of a warp. Products are cut into tiles of 64 rows or more instead, so "
            "that 32 and 33 cost the same.",
     .terms = {LAYER_S('+', 33), LAYER_S('/', 32)}},
    {.key = "64", .what = "with 64 over 33", .unit = "x", .text = 1, .terms = {LAYER_S('+', 64), LAYER_S('/', 33)}},
    {.key = "65",
     .what = "with 65 over 64",
     .unit = "x",
     .text = 1.5,
     .right = TSIM_TEXTBOOK_TSIM,
     .why =
         "65 rows need a second tile of 64: the time is that of 128 rows. Not twice that of 64, because with two tiles "
         "a product of this size is cut along its depth less often and reuses more.",
     .terms = {LAYER_S('+', 65), LAYER_S('/', 64)}},
    {.key = "128",
     .what = "with 65 over 128",
     .unit = "x",
     .text = (double)NAN,
     .terms = {LAYER_S('+', 65), LAYER_S('/', 128)}},
    {.key = "utilization",
     .what = "useful work of the matrix units with 33, of that with 64",
     .unit = "%",
     .text = 52,
     .terms = {NUM('+', 33.0 / 64), LAYER_S('*', 64), LAYER_S('/', 33)}},
    {.key = "alignment",
     .what = "a product with an inner width of 10,922, no multiple of 8, over 10,928",
     .unit = "x",
     .text = (double)NAN,
     .why = "The text's rule, dimensions in multiples of 8, 32 or 64: matrix units load 16 bytes at a time. Measured "
            "on H100: "
            "1.45.",
     .terms = {OPERATOR('+', WIDTH(10922), "ffn up (forward)", SECONDS),
               OPERATOR('/', WIDTH(10928), "ffn up (forward)", SECONDS)}},
    {.key = "tail",
     .what = "one row beyond a full wave (132 tiles on 132 SMs)",
     .unit = "x",
     .text = 2,
     .right = TSIM_TEXTBOOK_TSIM,
     .why =
         "With the same tiles it would be 2. Libraries choose among tiles, and smaller ones leave less of the second "
         "wave empty.",
     .terms = {PRODUCT('+', H100, "bf16", 1, 256 * 11 + 1, 128 * 12, 512),
               PRODUCT('/', H100, "bf16", 1, 256 * 11, 128 * 12, 512)}},
};

#define IMAGES(n) "batch-size training.global_batch_size=" #n " training.micro_batch_size=" #n

static const struct textbook_row BATCHES[] = {
    {.key = "256",
     .what = "images a second with 256, of those with 1,024 (16 GB more)",
     .unit = "%",
     .text = 90,
     .text_to = 100,
     .why = "The text means the hardware's utilization. In FLOPs it is 20 % of the A100's peak whatever the batch: "
            "batch norms, pools and short convolutions are bound by memory.",
     .terms = {FIGURE('+', "batch-size", "throughput.samples_per_s"),
               FIGURE('/', IMAGES(1024), "throughput.samples_per_s")}},
    {.key = "32",
     .what = "with 32",
     .unit = "%",
     .text = 60,
     .text_to = 70,
     .right = TSIM_TEXTBOOK_NOBODY,
     .why = "Depends on the host: with 7 us an operator it still keeps up with the A100 here.",
     .terms = {FIGURE('+', IMAGES(32), "throughput.samples_per_s"),
               FIGURE('/', IMAGES(1024), "throughput.samples_per_s")}},
    {.key = "16",
     .what = "with 16",
     .unit = "%",
     .text = 60,
     .text_to = 70,
     .right = TSIM_TEXTBOOK_NOBODY,
     .why = "Depends on the host as well.",
     .terms = {FIGURE('+', IMAGES(16), "throughput.samples_per_s"),
               FIGURE('/', IMAGES(1024), "throughput.samples_per_s")}},
    {.key = "accumulated",
     .what = "512 as eight times 64 over 512 at once: images a second",
     .unit = "%",
     .text = 94,
     .why = "85 % over 90 % of utilization in the text.",
     .terms = {FIGURE('+', "batch-size training.global_batch_size=512 training.micro_batch_size=64",
                      "throughput.samples_per_s"),
               FIGURE('/', IMAGES(512), "throughput.samples_per_s")}},
    {.key = "memory",
     .what = "activations of 512 at once over those of 64",
     .unit = "x",
     .text = 8,
     .terms = {FIGURE('+', IMAGES(512), "memory.activations_bytes"),
               FIGURE('/', IMAGES(64), "memory.activations_bytes")}},
};

#define V100_FP32 "precision"
#define V100_FP16 "precision training.precision=fp16"
#define A100_BF16 "precision training.precision=bf16 cluster.node=single-a100-80gb"
#define H100_FP8 "precision training.precision=fp8 cluster.node=single-h100-sxm"
#define ABOVE_PEAK(peak)                                                                                               \
    "GPT-2 XL takes 10.5 TFLOP a sequence of 1,024 tokens (6 N and attention): the text's rate is " peak               \
    ". It is not of this model; a figure for GPT-2 small, a twelfth of it, would be possible."

static const struct textbook_row GENERATIONS[] = {
    {.key = "v100-fp32",
     .what = "V100, fp32",
     .unit = "samples/s",
     .text = 18,
     .right = TSIM_TEXTBOOK_TSIM,
     .why = ABOVE_PEAK("190 TFLOP/s where the V100's fp32 peak is 15.7"),
     .terms = {FIGURE('+', V100_FP32, "throughput.samples_per_s")}},
    {.key = "v100-fp16",
     .what = "V100, fp16",
     .unit = "samples/s",
     .text = 45,
     .right = TSIM_TEXTBOOK_TSIM,
     .why = ABOVE_PEAK("470 TFLOP/s where the peak is 125"),
     .terms = {FIGURE('+', V100_FP16, "throughput.samples_per_s")}},
    {.key = "a100",
     .what = "A100, bf16",
     .unit = "samples/s",
     .text = 165,
     .right = TSIM_TEXTBOOK_TSIM,
     .why = ABOVE_PEAK("1,700 TFLOP/s where the peak is 312"),
     .terms = {FIGURE('+', A100_BF16, "throughput.samples_per_s")}},
    {.key = "h100",
     .what = "H100, fp8",
     .unit = "samples/s",
     .text = 380,
     .right = TSIM_TEXTBOOK_TSIM,
     .why = ABOVE_PEAK("4,000 TFLOP/s where the peak is 1,979"),
     .terms = {FIGURE('+', H100_FP8, "throughput.samples_per_s")}},
    {.key = "v100-speedup",
     .what = "V100: fp16 over fp32",
     .unit = "x",
     .text = 2.5,
     .right = TSIM_TEXTBOOK_TSIM,
     .why =
         "The peaks are 8 apart. 2.5 is usual where memory binds as much as the matrix units (the text's GPT-2 small "
         "or a CNN, next example); products of this width are bound by compute in both precisions.",
     .terms = {ROW('+', "v100-fp16"), ROW('/', "v100-fp32")}},
    {.key = "a100-speedup",
     .what = "A100 in bf16 over V100 in fp32",
     .unit = "x",
     .text = 9.2,
     .right = TSIM_TEXTBOOK_TSIM,
     .why = "As above: the peaks are 20 apart.",
     .terms = {ROW('+', "a100"), ROW('/', "v100-fp32")}},
    {.key = "h100-speedup",
     .what = "H100 in fp8 over V100 in fp32",
     .unit = "x",
     .text = 21,
     .right = TSIM_TEXTBOOK_TSIM,
     .why = "As above: the peaks are 126 apart.",
     .terms = {ROW('+', "h100"), ROW('/', "v100-fp32")}},
    {.key = "implied",
     .what = "TFLOP/s that the text's A100 rate means",
     .unit = "TFLOP/s",
     .text = (double)NAN,
     .terms = {FIGURE('+', A100_BF16, "model.step_model_flops"), NUM('/', 32), NUM('*', 165)}},
};

#define RESNET_FP32                                                                                                    \
    "batch-size cluster.node=single-v100-32gb training.precision=fp32 training.global_batch_size=128 "                 \
    "training.micro_batch_size=128"
#define RESNET_FP16                                                                                                    \
    "batch-size cluster.node=single-v100-32gb training.precision=fp16 training.global_batch_size=128 "                 \
    "training.micro_batch_size=128"
#define ON_32 "gradient-accumulation-32"

static const struct textbook_row MIXED[] = {
    {.key = "fp32",
     .what = "GPT-2 XL on 32 V100, fp32",
     .unit = "samples/s",
     .text = 90,
     .right = TSIM_TEXTBOOK_TSIM,
     .why = "The text does not say on how many V100. 90 sequences a second are 950 TFLOP/s, more than the peak of 60 "
            "of them "
            "in fp32.",
     .terms = {FIGURE('+', ON_32 " training.precision=fp32 training.micro_batch_size=4", "throughput.samples_per_s")}},
    {.key = "fp16",
     .what = "the same, fp16",
     .unit = "samples/s",
     .text = 220,
     .right = TSIM_TEXTBOOK_TSIM,
     .why = "With full recomputation, as the text's memory needs it. 220 are 2,300 TFLOP/s, 58 % of the peak of 32.",
     .terms = {FIGURE('+', ON_32 " training.micro_batch_size=4", "throughput.samples_per_s")}},
    {.key = "speedup",
     .what = "fp16 over fp32",
     .unit = "x",
     .text = 2.4,
     .right = TSIM_TEXTBOOK_TSIM,
     .why = "Products are bound by compute in both precisions, and the peaks are 8 apart. See the next row.",
     .terms = {ROW('+', "fp16"), ROW('/', "fp32")}},
    {.key = "cost",
     .what = "two weeks of 32 V100 at AWS's list price",
     .unit = "k USD",
     .text = 50,
     .right = TSIM_TEXTBOOK_NOBODY,
     .why = "The text does not say what an hour costs: 4.65 USD by this row, 4.34 by the next, 16 in its accumulation "
            "example. "
            "AWS asked 3.06, others less than 1.",
     .terms = {HARDWARE('+', "accelerator/v100-32gb", "rent"), NUM('*', 32 * 14 * 86400.0)}},
    {.key = "cost16",
     .what = "1.2 weeks of them",
     .unit = "k USD",
     .text = 28,
     .right = TSIM_TEXTBOOK_NOBODY,
     .why = "As before.",
     .terms = {HARDWARE('+', "accelerator/v100-32gb", "rent"), NUM('*', 32 * 1.2 * 7 * 86400.0)}},
    {.key = "resnet",
     .what = "ResNet-50 on one V100: fp16 over fp32",
     .unit = "x",
     .text = (double)NAN,
     .why = "For a CNN, whose batch norms are bound by memory, NVIDIA measured 3.2 to 3.6 "
            "(scenarios/published/dle-resnet50-"
            "v100-*): tsim is too slow in fp32 there.",
     .terms = {FIGURE('+', RESNET_FP16, "throughput.samples_per_s"),
               FIGURE('/', RESNET_FP32, "throughput.samples_per_s")}},
};

#define STANDARD(tokens) "flash-attention training.sequence_length=" #tokens
#define FLASH(tokens) STANDARD(tokens) " training.attention=flash software.attention_kernel=flash1"
#define HEADS16                                                                                                        \
    "flash-attention model.heads=16 model.hidden=1024 training.sequence_length=4096 training.precision=fp32 "          \
    "training.gradient_precision=fp32 training.micro_batch_size=1 training.global_batch_size=1 "                       \
    "software.dropout=0"
#define FUSED " software.attention_kernel=fused-softmax"
#define BATCH_UNKNOWN                                                                                                  \
    "The text does not say how many sequences at once. With four the memory of its table comes out within a fifth, "   \
    "and "                                                                                                             \
    "most times within a factor of two; its forward times grow less with the sequence than the FLOPs do."
#define TABLE_MS(key_, what_, run, text_, which)                                                                       \
    {                                                                                                                  \
        .key = (key_), .what = (what_), .unit = "ms", .text = (text_), .right = TSIM_TEXTBOOK_NOBODY,                  \
        .why = BATCH_UNKNOWN, .terms = {                                                                               \
            OPERATOR('+', run, which, SECONDS)                                                                         \
        }                                                                                                              \
    }
#define TABLE_GB(key_, what_, run, ...)                                                                                \
    {                                                                                                                  \
        .key = (key_), .what = (what_), .unit = "GB", __VA_ARGS__, .terms = {                                          \
            FIGURE('+', run, "memory.peak_bytes"),                                                                     \
            HARDWARE('-', "accelerator/a100-40gb", "reserve")                                                          \
        }                                                                                                              \
    }

static const struct textbook_row ATTENTION[] = {
    {.key = "head",
     .what = "scores of one head in fp32, 4,096 tokens",
     .unit = "MB",
     .text = 67,
     .terms = {KEPT('+', HEADS16, "attention: scores and their masks"), NUM('/', 16)}},
    {.key = "heads",
     .what = "of 16 heads",
     .unit = "GB",
     .text = 1,
     .tolerance_frac = 0.1, /* one digit */
     .terms = {KEPT('+', HEADS16, "attention: scores and their masks")}},
    {.key = "flash-head",
     .what = "queries, keys and values of one head (all that flash attention keeps, but for 16 kB)",
     .unit = "MB",
     .text = 3,
     .terms = {KEPT('+', HEADS16, "queries, keys, values"), NUM('/', 16)}},
    {.key = "reduction",
     .what = "scores over queries, keys and values",
     .unit = "x",
     .text = 21,
     .terms = {ROW('+', "head"), ROW('/', "flash-head")}},
    {.key = "kept",
     .what = "all that attention keeps: standard over flash",
     .unit = "x",
     .text = (double)NAN,
     .why = "Standard attention keeps queries, keys and values, too.",
     .terms = {ROW('+', "head"), ROW('+', "flash-head"), ROW('/', "flash-head")}},
    {.key = "traffic",
     .what = "HBM traffic, forward: standard over flash",
     .unit = "x",
     .text = 64,
     .tolerance_frac = 0.15,
     .why = "n / d. Of a causal softmax, fused with its mask, the lower triangle alone is read.",
     .terms = {OPERATOR('+', HEADS16 FUSED, "attention scores (forward)", BYTES),
               OPERATOR('+', HEADS16 FUSED, "attention softmax (forward)", BYTES),
               OPERATOR('+', HEADS16 FUSED, "attention values (forward)", BYTES),
               OPERATOR('/', HEADS16 " training.attention=flash software.attention_kernel=flash1",
                        "attention core (forward)", BYTES)}},
    {.key = "flops",
     .what = "FLOPs of flash attention over those of standard, both passes, for the same scores",
     .unit = "x",
     .text = 1.2,
     .why = "Scores are computed again in the backward pass: 3.5 instead of 3. Of causal attention flash leaves the "
            "masked half out, which is not counted here.",
     .terms = {OPERATOR('+', FLASH(2048), "attention core (forward)", FLOPS),
               OPERATOR('+', FLASH(2048), "attention core (backward)", FLOPS), NUM('*', 2),
               OPERATOR('/', STANDARD(2048), "attention scores (forward)", FLOPS), NUM('/', 6)}},
};

static const struct textbook_row FLASH_TABLE[] = {
    {.key = "f512",
     .what = "512 tokens, standard, forward",
     .unit = "ms",
     .text = 12,
     .right = TSIM_TEXTBOOK_NOBODY,
     .why = BATCH_UNKNOWN,
     .terms = {OPERATOR('+', STANDARD(512), "(forward)", SECONDS)}},
    TABLE_MS("ff512", "512 tokens, flash, forward", FLASH(512), 8, "(forward)"),
    TABLE_MS("b512", "512 tokens, standard, backward", STANDARD(512), 35, "(backward)"),
    TABLE_MS("fb512", "512 tokens, flash, backward", FLASH(512), 18, "(backward)"),
    TABLE_GB("m512", "512 tokens, standard, memory", STANDARD(512), .text = 4.2, .right = TSIM_TEXTBOOK_NOBODY,
             .why = BATCH_UNKNOWN),
    TABLE_GB("fm512", "512 tokens, flash, memory", FLASH(512), .text = 2.8, .right = TSIM_TEXTBOOK_NOBODY,
             .why = BATCH_UNKNOWN),
    TABLE_MS("f2048", "2,048 tokens, standard, forward", STANDARD(2048), 45, "(forward)"),
    TABLE_MS("ff2048", "2,048 tokens, flash, forward", FLASH(2048), 15, "(forward)"),
    {.key = "b2048",
     .what = "2,048 tokens, standard, backward",
     .unit = "ms",
     .text = 120,
     .terms = {OPERATOR('+', STANDARD(2048), "(backward)", SECONDS)}},
    TABLE_MS("fb2048", "2,048 tokens, flash, backward", FLASH(2048), 35, "(backward)"),
    TABLE_GB("m2048", "2,048 tokens, standard, memory", STANDARD(2048), .text = 18),
    TABLE_GB("fm2048", "2,048 tokens, flash, memory", FLASH(2048), .text = 6, .right = TSIM_TEXTBOOK_NOBODY,
             .why = BATCH_UNKNOWN),
    {.key = "speedup-forward",
     .what = "2,048 tokens: flash over standard, forward",
     .unit = "x",
     .text = 3,
     .right = TSIM_TEXTBOOK_NOBODY,
     .why = "As the first. Dao et al. 2022 measured 2 to 4 for attention, depending on what the standard one fuses.",
     .terms = {ROW('+', "f2048"), ROW('/', "ff2048")}},
    {.key = "speedup-backward",
     .what = "the same, backward",
     .unit = "x",
     .text = 3.4,
     .right = TSIM_TEXTBOOK_NOBODY,
     .why = "As the first. What both kernels have around them (copies of queries, keys and values) is counted.",
     .terms = {ROW('+', "b2048"), ROW('/', "fb2048")}},
    TABLE_GB("m4096", "4,096 tokens, standard, memory (out of 40 GB)", STANDARD(4096), .text = 40,
             .text_to = (double)INFINITY),
    {.key = "oom",
     .what = "4,096 tokens, standard: does it fit? (1: yes)",
     .unit = "",
     .text = 0,
     .terms = {FIGURE('+', STANDARD(4096), "memory.fits")}},
    TABLE_MS("ff4096", "4,096 tokens, flash, forward", FLASH(4096), 32, "(forward)"),
    TABLE_MS("fb4096", "4,096 tokens, flash, backward", FLASH(4096), 85, "(backward)"),
    TABLE_GB("fm4096", "4,096 tokens, flash, memory", FLASH(4096), .text = 12, .right = TSIM_TEXTBOOK_NOBODY,
             .why = BATCH_UNKNOWN),
    TABLE_GB("m8192", "8,192 tokens, standard, memory", STANDARD(8192), .text = 80, .text_to = (double)INFINITY),
    TABLE_MS("ff8192", "8,192 tokens, flash, forward", FLASH(8192), 68, "(forward)"),
    TABLE_MS("fb8192", "8,192 tokens, flash, backward", FLASH(8192), 180, "(backward)"),
    TABLE_GB("fm8192", "8,192 tokens, flash, memory", FLASH(8192), .text = 24, .right = TSIM_TEXTBOOK_NOBODY,
             .why = BATCH_UNKNOWN),
    {.key = "fits",
     .what = "8,192 tokens, flash: does it fit? (1: yes)",
     .unit = "",
     .text = 1,
     .terms = {FIGURE('+', FLASH(8192), "memory.fits")}},
};

#define ACCUMULATED "gradient-accumulation training.micro_batch_size=4"
#define WIDE "gradient-accumulation-32 training.micro_batch_size=4"

static const struct textbook_row ACCUMULATION[] = {
    {.key = "naive-gpus",
     .what = "GPUs for 512 sequences of 16 each",
     .unit = "GPUs",
     .text = 32,
     .terms = {FIGURE('+', "gradient-accumulation-32", "accelerators")}},
    {.key = "peak",
     .what = "memory with 16 sequences at once and full recomputation",
     .unit = "GB",
     .text = 32,
     .right = TSIM_TEXTBOOK_TSIM,
     .why = "16 do not fit beside 25 GB of parameters and optimizer state: the layer that is computed again and the "
            "logits "
            "take 10 GB. Four do (next row), so here 8 GPUs accumulate 16 times, and 32 GPUs 4 times.",
     .terms = {FIGURE('+', "gradient-accumulation", "memory.peak_bytes")}},
    {.key = "peak4",
     .what = "memory with 4 sequences at once",
     .unit = "GB",
     .text = (double)NAN,
     .terms = {FIGURE('+', ACCUMULATED, "memory.peak_bytes")}},
    {.key = "batch",
     .what = "sequences a step of 8 GPUs that accumulate",
     .unit = "samples",
     .text = 512,
     .terms = {FIGURE('+', ACCUMULATED, "throughput.samples_per_s"), FIGURE('*', ACCUMULATED, "step.time_s")}},
    {.key = "gpu-batch",
     .what = "of each GPU",
     .unit = "samples",
     .text = 64,
     .terms = {ROW('+', "batch"), FIGURE('/', ACCUMULATED, "accelerators")}},
    {.key = "naive-rate",
     .what = "rent of 32 GPUs at 16 USD",
     .unit = "USD/h",
     .text = 512,
     .terms = {FIGURE('+', WIDE, "campaign.rent_usd"), FIGURE('/', WIDE, "campaign.days"), NUM('/', 24)}},
    {.key = "rate",
     .what = "rent of 8 GPUs",
     .unit = "USD/h",
     .text = 128,
     .terms = {FIGURE('+', ACCUMULATED, "campaign.rent_usd"), FIGURE('/', ACCUMULATED, "campaign.days"), NUM('/', 24)}},
    {.key = "hourly",
     .what = "less an hour",
     .unit = "USD/h",
     .text = 384,
     .terms = {ROW('+', "naive-rate"), ROW('-', "rate")}},
    {.key = "cost",
     .what = "50,000 steps on 8 GPUs",
     .unit = "k USD",
     .text = 43,
     .right = TSIM_TEXTBOOK_TSIM,
     .why = "The text takes two weeks for either cluster.",
     .terms = {FIGURE('+', ACCUMULATED, "campaign.rent_usd")}},
    {.key = "naive-cost",
     .what = "50,000 steps on 32 GPUs",
     .unit = "k USD",
     .text = 172,
     .right = TSIM_TEXTBOOK_TSIM,
     .why = "32 GPUs are done in a quarter of the time.",
     .terms = {FIGURE('+', WIDE, "campaign.rent_usd")}},
    {.key = "saving",
     .what = "saved by accumulating on 8 GPUs",
     .unit = "%",
     .text = 75,
     .right = TSIM_TEXTBOOK_TSIM,
     .why = "The text's saving is that of an hour. For the same 50,000 steps 8 GPUs need four times as long, and what "
            "they "
            "save is the communication of the 32.",
     .terms = {NUM('-', 1), FIGURE('*', ACCUMULATED, "campaign.rent_usd"), FIGURE('/', WIDE, "campaign.rent_usd"),
               NUM('+', 1)}},
    {.key = "days",
     .what = "days on 8 GPUs over days on 32",
     .unit = "x",
     .text = (double)NAN,
     .terms = {FIGURE('+', ACCUMULATED, "campaign.days"), FIGURE('/', WIDE, "campaign.days")}},
    {.key = "communication",
     .what = "communication saved by reducing once instead of after each of 4 micro-batches",
     .unit = "%",
     .text = 75,
     .tolerance_frac = 0.1,
     .terms = {FIGURE('-', "gradient-accumulation", "communication_exposed.data_s"),
               FIGURE('/', "gradient-accumulation training.global_batch_size=128", "communication_exposed.data_s"),
               NUM('/', 4), NUM('+', 1)}},
    {.key = "overhead",
     .what = "4 micro-batches of 16 over one step of 16, times 4",
     .unit = "%",
     .text = 2,
     .text_to = 8,
     .right = TSIM_TEXTBOOK_TSIM,
     .why = "The text: 8 % slower; elsewhere 2 to 5 %. There is nothing to synchronize between micro-batches, and the "
            "optimizer and the reduction run once instead of four times: it is faster.",
     .terms = {FIGURE('+', "gradient-accumulation", "step.time_s"),
               FIGURE('/', "gradient-accumulation training.global_batch_size=128", "step.time_s"), NUM('/', 4),
               NUM('-', 1)}},
};

static const struct textbook_spec SPECS[] = {
    {.id = "wave-quantization",
     .title = "Waves: a batch of 33 against 32, 65 against 64",
     .problem =
         "Work comes in pieces of fixed size, and a piece more costs as much as a full one. A layer of 4096 x 4096 on "
         "an H100.",
     TEXTBOOK_ROWS(WAVES)},
    {.id = "batch-size",
     .title = "Batch size and utilization",
     .problem =
         "A batch of 256 or more reaches over 90 % of what the hardware can do, one of 16 to 32 only 60 to 70 %. Here: "
         "ResNet-50 on an A100.",
     TEXTBOOK_ROWS(BATCHES)},
    {.id = "precision-by-generation",
     .title = "Precision by GPU generation",
     .problem = "GPT-2 XL on one GPU, samples (of 1,024 tokens) a second.",
     TEXTBOOK_ROWS(GENERATIONS)},
    {.id = "mixed-precision",
     .title = "The speed of mixed precision, and its cost",
     .problem = "GPT-2 on V100: 90 samples a second in fp32, 220 in fp16; two weeks of 32 V100 cost 50,000 USD.",
     TEXTBOOK_ROWS(MIXED)},
    {.id = "attention-memory",
     .title = "Standard and flash attention: memory and traffic",
     .problem = "16 heads of dimension 64, 4,096 tokens.",
     TEXTBOOK_ROWS(ATTENTION)},
    {.id = "flash-attention",
     .title = "The flash attention table",
     .problem =
         "GPT-2 small on an A100 of 40 GB, 512 to 8,192 tokens: times of the passes and memory. Here four sequences "
         "at once, FlashAttention-1; memory without the driver's.",
     TEXTBOOK_ROWS(FLASH_TABLE)},
    {.id = "gradient-accumulation",
     .title = "What gradient accumulation costs",
     .problem =
         "512 sequences a step for GPT-2 XL on V100 of 32 GB: 32 GPUs at once, or 8 that accumulate, at 16 USD an hour "
         "and GPU.",
     TEXTBOOK_ROWS(ACCUMULATION)},
};
const struct textbook_part tsim_textbook_speed = {.specs = SPECS, .n_specs = sizeof SPECS / sizeof SPECS[0]};
