#include "cli/commands.h"

#include "base/version.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/manual.h"
#include "config/reference.h"
#include "report/terminal/table.h"
#include "results/outcome.h"

#include <string.h>

static enum tsim_exit cmd_help(const struct tsim_arguments *arguments);
static enum tsim_exit cmd_version(const struct tsim_arguments *arguments);

#define LOG_OPTIONS (TSIM_HAS(TSIM_OPTION_DB) | TSIM_HAS(TSIM_OPTION_NO_DB))
/* Commands have these that read a file which others may have made, or simulate. */
#define BASE_OPTIONS (TSIM_HAS(TSIM_OPTION_MAX_MEMORY) | TSIM_HAS(TSIM_OPTION_TIMEOUT) | TSIM_HAS(TSIM_OPTION_QUIET))
/* --no-db is also for commands that never use one: scripts give the same options to all. */
#define INPUT_OPTIONS                                                                                                  \
    (BASE_OPTIONS | TSIM_HAS(TSIM_OPTION_SET) | TSIM_HAS(TSIM_OPTION_SEED) | TSIM_HAS(TSIM_OPTION_NO_DB))
#define JSON_OPTION TSIM_HAS(TSIM_OPTION_JSON)
#define CSV_OPTION TSIM_HAS(TSIM_OPTION_CSV)
#define JOBS_OPTION TSIM_HAS(TSIM_OPTION_JOBS)

static const struct tsim_command COMMANDS[] = {
    {"init", "[FILE]", "write a first scenario: five questions, a commented file",
     "Asks for the model, the node, the number of nodes, the fabric between them and\n"
     "the goal. An option answers its question; without a terminal nothing is asked.\n"
     "Then it finds the fastest plan that fits in memory and writes FILE (by default\n"
     "scenario.yaml; '-' is standard output). The default model is llama2-7b.",
     0, 1,
     TSIM_HAS(TSIM_OPTION_MODEL) | TSIM_HAS(TSIM_OPTION_NODE) | TSIM_HAS(TSIM_OPTION_NODES) |
         TSIM_HAS(TSIM_OPTION_FABRIC) | TSIM_HAS(TSIM_OPTION_GOAL) | JOBS_OPTION | BASE_OPTIONS,
     tsim_cmd_init,
     "tsim init my-job.yaml\n"
     "tsim init --model llama3-8b --nodes 4 my-job.yaml"},
    {"run", "SCENARIO", "simulate a scenario: step time, memory, energy, cost",
     "SCENARIO is a YAML file, or '-' for standard input. The run is logged in a\n"
     "database (tsim.db in the current folder). When the plan does not fit in memory,\n"
     "the exit status is 4 and the smallest changes that would fit are printed. --csv\n"
     "prints a line for each figure.",
     1, 1,
     INPUT_OPTIONS | LOG_OPTIONS | JSON_OPTION | CSV_OPTION | JOBS_OPTION | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY) |
         TSIM_HAS(TSIM_OPTION_TRACE) | TSIM_HAS(TSIM_OPTION_TRACE_RANKS) | TSIM_HAS(TSIM_OPTION_REPORT),
     tsim_cmd_run,
     "tsim run my-job.yaml --report page.html\n"
     "tsim run my-job.yaml --set parallelism.tensor=4"},
    {"check", "SCENARIO...", "read and validate scenarios, simulate nothing",
     "Reports all mistakes of all files. --json prints the scenario with every default\n"
     "filled in (a list when there are several files). For a file of the catalogue, an\n"
     "accelerator for example, it also says what is left to defaults and what is only\n"
     "an estimate.",
     1, SIZE_MAX, INPUT_OPTIONS | JSON_OPTION | JOBS_OPTION, tsim_cmd_check, "tsim check my-job.yaml"},
    {"explain", "SCENARIO [TERM]", "where the step and the memory go, and what limits them",
     "Shows memory by kind and stage, the roofline of every operator, the schedule,\n"
     "the critical path, exposed communication, sensitivities and advice. With a TERM\n"
     "of the summary, such as step.compute_s, mfu or memory, it shows the formula of\n"
     "that figure, down to each constant and its source. Nothing is logged. --csv\n"
     "prints one table after the other; the first column is the table's name.",
     1, 2, INPUT_OPTIONS | JSON_OPTION | CSV_OPTION | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY), tsim_cmd_explain,
     "tsim explain my-job.yaml\n"
     "tsim explain my-job.yaml mfu"},
    {"diagnose", "LAUNCH [LOG]", "why a running job is slow, and which options would help",
     "LAUNCH is what started the job (a script or a configuration), a scenario, or a\n"
     "log that names the job's settings: any file that 'tsim import' reads. LOG says\n"
     "how long steps take: a log of Megatron-LM, DeepSpeed, torchtitan or MaxText, or\n"
     "a profile (a trace of PyTorch's profiler, or nsys' SQLite). --set\n"
     "measured.step_time='13.7 s' says it without a LOG. The first table leads from\n"
     "the measured step to the one that this launch should reach on this machine (a\n"
     "line has what nothing explains), and on to the best plan: each change stands\n"
     "beside its gain and the option of the software that makes it. Where the job is\n"
     "slower than the interval of its prediction, a second table has the steps that\n"
     "some common faults would cause. Nothing is logged.",
     1, 2,
     INPUT_OPTIONS | JSON_OPTION | CSV_OPTION | JOBS_OPTION | TSIM_HAS(TSIM_OPTION_IGNORE) | TSIM_HAS(TSIM_OPTION_ENV),
     tsim_cmd_diagnose, "tsim diagnose train.sh train.log"},
    {"compare", "A B", "two scenarios or runs: what differs, and what that changes",
     "A and B are scenarios, or numbers of runs in the database, which this version\n"
     "simulates again. It shows the inputs that differ, where the step's time goes\n"
     "from A to B, and the figures that change, with the interval of each step.\n"
     "--sensitivity runs both again with each capacity, latency and rent a tenth lower\n"
     "and higher, one at a time, and says which of them would reverse the order, in\n"
     "time or in rent per token. --report makes a page with both runs. When one of\n"
     "them does not fit in memory, the exit status is 4. Nothing is logged.",
     2, 2,
     INPUT_OPTIONS | LOG_OPTIONS | JSON_OPTION | CSV_OPTION | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY) |
         TSIM_HAS(TSIM_OPTION_FAIL_ABOVE) | TSIM_HAS(TSIM_OPTION_REPORT) | TSIM_HAS(TSIM_OPTION_SENSITIVITY),
     tsim_cmd_compare,
     "tsim compare my-job.yaml other-job.yaml\n"
     "tsim compare 1 2 --report page.html"},
    {"validate", "SCENARIO...", "predicted beside measured, with the error of each and of all",
     "Runs each file that has a measured: section. When ten or more of them have a\n"
     "time or a rate, errors by source (the first word of the name) and by accelerator\n"
     "follow. A measurement with measured.doubtful is compared but not scored. Nothing\n"
     "is logged unless --db names a database.",
     1, SIZE_MAX,
     INPUT_OPTIONS | LOG_OPTIONS | JSON_OPTION | CSV_OPTION | JOBS_OPTION | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY) |
         TSIM_HAS(TSIM_OPTION_MAX_ERROR) | TSIM_HAS(TSIM_OPTION_RESIDUALS),
     tsim_cmd_validate, "tsim validate scenarios/published/*.yaml"},
    {"sweep", "SCENARIO", "every point of a space of scenarios, in parallel, resumable",
     "The points come from the scenario's sweep: section, or from --vary and --zip.\n"
     "Finished points are kept in the database, so that the same command goes on where\n"
     "it stopped. Points are ranked by tokens_per_s unless --objective says otherwise.\n"
     "Under srun and mpirun each process takes its share (--shard) into a database of\n"
     "its own, and tsim merge puts them together.",
     1, 1,
     INPUT_OPTIONS | LOG_OPTIONS | JSON_OPTION | CSV_OPTION | JOBS_OPTION | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY) |
         TSIM_HAS(TSIM_OPTION_VARY) | TSIM_HAS(TSIM_OPTION_ZIP) | TSIM_HAS(TSIM_OPTION_WHERE) |
         TSIM_HAS(TSIM_OPTION_OBJECTIVE) | TSIM_HAS(TSIM_OPTION_SHARD) | TSIM_HAS(TSIM_OPTION_REPORT),
     tsim_cmd_sweep, "tsim sweep my-job.yaml --vary parallelism.tensor=2,4,8 --where 'mfu > 0.3'"},
    {"plan", "SCENARIO", "the best parallelism plans, for one cluster or a choice of them",
     "Searches tensor, pipeline, virtual pipeline, context, expert and data\n"
     "parallelism, ZeRO, micro-batch, recomputation, schedule and sequence\n"
     "parallelism, whatever the scenario says of them. An axis (sweep.axes, --vary)\n"
     "over one of these keys lists the values to try; without one, all values are\n"
     "tried that the scenario's software can run, or all that there are with\n"
     "--any-software. Axes over other keys (cluster.node, cluster.nodes) are\n"
     "candidates. Plans keep the limits (sweep.limits, or --set sweep.limits.days=60;\n"
     "cost, power, memory or any other figure). A candidate without a plan is shown\n"
     "with the limit that it misses and by how much. Plans are ranked by tokens_per_s\n"
     "unless --objective says otherwise, and they are those that simulating all of\n"
     "them would find. --sensitivity asks whether the order of the two best candidates\n"
     "stays the same when each input is a tenth off. --report makes a page with a run\n"
     "of the best plan, --output a scenario of it. Nothing is logged.",
     1, 1,
     INPUT_OPTIONS | JSON_OPTION | CSV_OPTION | JOBS_OPTION | TSIM_HAS(TSIM_OPTION_VARY) | TSIM_HAS(TSIM_OPTION_ZIP) |
         TSIM_HAS(TSIM_OPTION_OBJECTIVE) | TSIM_HAS(TSIM_OPTION_SENSITIVITY) | TSIM_HAS(TSIM_OPTION_REPORT) |
         TSIM_HAS(TSIM_OPTION_ANY_SOFTWARE) | TSIM_HAS(TSIM_OPTION_OUTPUT),
     tsim_cmd_plan,
     "tsim plan my-job.yaml --output best.yaml\n"
     "tsim plan my-job.yaml --vary cluster.nodes=8,16,32"},
    {"buy", "[SCENARIO]", "rent, reserve or buy: which cluster meets a date and a budget",
     "Searches the machines of the catalogue, how many of each, and their plans (or\n"
     "the candidates of sweep: and --vary) for the one that is most likely to have\n"
     "trained --model on --tokens by the --deadline within the --budget, and among\n"
     "equals for the cheapest. A scenario can say the same in its goal: section. With\n"
     "--loss in place of --tokens, scaling laws say how many tokens it takes. With a\n"
     "budget or a loss but no model, they say which model to train. Days, dollars and\n"
     "energy come from one distribution of tsim's own error, luck with failures,\n"
     "prices and those laws. The answer names the runner-up of each kind, why it lost,\n"
     "and what would change the choice. --objective cost, days or energy ranks\n"
     "what meets the goal. --report makes a page with a run of the choice, --output a\n"
     "scenario of it, which 'tsim run' takes. When nothing meets the goal, the exit\n"
     "status is 3 and the nearest goal is shown. Nothing is logged.",
     0, 1,
     INPUT_OPTIONS | JSON_OPTION | JOBS_OPTION | TSIM_HAS(TSIM_OPTION_MODEL) | TSIM_HAS(TSIM_OPTION_TOKENS) |
         TSIM_HAS(TSIM_OPTION_LOSS) | TSIM_HAS(TSIM_OPTION_DEADLINE) | TSIM_HAS(TSIM_OPTION_BUDGET) |
         TSIM_HAS(TSIM_OPTION_VARY) | TSIM_HAS(TSIM_OPTION_ZIP) | TSIM_HAS(TSIM_OPTION_OBJECTIVE) |
         TSIM_HAS(TSIM_OPTION_REPORT) | TSIM_HAS(TSIM_OPTION_OUTPUT),
     tsim_cmd_buy, "tsim buy --model llama3-8b --tokens 2T --deadline '60 days' --budget '1 M USD'"},
    {"scale", "SCENARIO", "a scaling curve: efficiency, where it bends and why",
     "Shows strong scaling (the global batch stays the same) or, with --weak, weak\n"
     "scaling. Nodes are added or left out, and data-parallel replicas with them; the\n"
     "rest of the plan stays. --gpus lists the counts (without it: as many as there\n"
     "are, twice, four times, ...). Efficiency is relative to the smallest that runs.\n"
     "--replan also shows the best plan of each count, as 'tsim plan' finds it. The\n"
     "points are logged as a sweep.",
     1, 1,
     INPUT_OPTIONS | LOG_OPTIONS | JSON_OPTION | CSV_OPTION | JOBS_OPTION | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY) |
         TSIM_HAS(TSIM_OPTION_GPUS) | TSIM_HAS(TSIM_OPTION_WEAK) | TSIM_HAS(TSIM_OPTION_UNTIL_EFFICIENCY) |
         TSIM_HAS(TSIM_OPTION_REPLAN) | TSIM_HAS(TSIM_OPTION_REPORT),
     tsim_cmd_scale, "tsim scale my-job.yaml --gpus 128,256,512"},
    {"merge", "OUT.db IN.db...", "one database out of the shards of a sweep",
     "Merging twice changes nothing. Databases that different versions of tsim wrote\n"
     "are not mixed; the exit status is then 3.",
     2, SIZE_MAX, BASE_OPTIONS, tsim_cmd_merge, "tsim merge all.db part-1.db part-2.db"},
    {"query", "[VIEW|SQL]", "read the database: a ready view, or any SELECT", "Without an operand it lists the views.",
     0, 1, LOG_OPTIONS | JSON_OPTION | CSV_OPTION | BASE_OPTIONS, tsim_cmd_query,
     "tsim query best_per_gpu_count\n"
     "tsim query \"SELECT set_json, mfu FROM points WHERE mfu > 0.4\""},
    {"collective", "SCENARIO", "what nccl-tests would print on the scenario's cluster",
     "Runs one collective alone, size by size, with the algorithm and protocol that\n"
     "the library would choose. Sizes and bus bandwidth are defined as in nccl-tests:\n"
     "the size of an all_gather is that of the gathered buffer.",
     1, 1,
     INPUT_OPTIONS | JSON_OPTION | CSV_OPTION | TSIM_HAS(TSIM_OPTION_OP) | TSIM_HAS(TSIM_OPTION_SIZES) |
         TSIM_HAS(TSIM_OPTION_RANKS) | TSIM_HAS(TSIM_OPTION_ALGORITHM) | TSIM_HAS(TSIM_OPTION_PROTOCOL),
     tsim_cmd_collective, "tsim collective my-job.yaml --op all_gather --sizes 1MiB:1GiB"},
    {"report", "[RUN...]", "one page with charts, from the database, for any browser",
     "RUN is the number of a run, as 'tsim runs' lists them, or sweep:N. Without one,\n"
     "the page has the newest run and the newest sweep. Runs are simulated again from\n"
     "what was logged. The page is report.html unless --output names another file, and\n"
     "needs neither a network nor another file.",
     0, SIZE_MAX, LOG_OPTIONS | TSIM_HAS(TSIM_OPTION_OUTPUT) | BASE_OPTIONS, tsim_cmd_report,
     "tsim report 1 sweep:1 --output page.html"},
    {"export", "SCENARIO|RUN", "figures and charts for papers, sheets and monitoring",
     "Takes a scenario, the number of a logged run, or sweep:N of the database.\n"
     "--format is one of\n"
     "  csv, markdown, latex, prometheus\n"
     "               every figure as CSV, a table with units, or metrics\n"
     "  svg, png     a chart (svg is the default with --chart; png needs\n"
     "               rsvg-convert): for a run step, memory, schedule, streams,\n"
     "               roofline, links or sensitivity; for one with failures or costs\n"
     "               days, timeline, power, lost or ownership; for a sweep scaling,\n"
     "               pareto or heat\n"
     "  chakra       the step as execution traces for ASTRA-sim: NAME.RANK.et and\n"
     "               NAME.groups.json with --output NAME\n"
     "  megatron, nemo, torchtitan, deepspeed\n"
     "               the files that launch the plan (a script, YAML, TOML, JSON), for\n"
     "               the version of its software; 'tsim import' reads them back\n"
     "  slurm, kubernetes\n"
     "               a job with its ranks in the simulated order",
     1, 1,
     INPUT_OPTIONS | LOG_OPTIONS | TSIM_HAS(TSIM_OPTION_RANKS) | TSIM_HAS(TSIM_OPTION_FORMAT) |
         TSIM_HAS(TSIM_OPTION_CHART) | TSIM_HAS(TSIM_OPTION_OUTPUT) | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY),
     tsim_cmd_export,
     "tsim export my-job.yaml --format megatron --output train.sh\n"
     "tsim export my-job.yaml --format svg --chart memory --output memory.svg"},
    {"calibrate", "WHAT FILE...", "efficiencies from measured kernels, links from nccl-tests",
     "WHAT is\n"
     "  kernels FILE [MINE.yaml]   an accelerator's efficiencies; FILE is\n"
     "                             CSV with the columns accelerator, op,\n"
     "                             precision, batch, m, n, k, bytes,\n"
     "                             time_us, and any of direction, sum,\n"
     "                             kernel, causal, repeats, clock_mhz,\n"
     "                             power_w; op is gemm, grouped (of\n"
     "                             experts), attention, copy or\n"
     "                             elementwise. Or with the columns op,\n"
     "                             shape, share_of_PEAK_tflops (SimuMax's),\n"
     "                             for which --set accelerator=ID may be\n"
     "                             needed. MINE.yaml is for a node to name.\n"
     "  nccl-tests FILE...         what a node's links and the fabric\n"
     "                             reach; FILE is the output of nccl-tests,\n"
     "                             text or JSON. The names of its devices\n"
     "                             tell the machine, or --set\n"
     "                             cluster.node=ID and cluster.fabric=ID\n"
     "                             do. --op and --ranks say what the files\n"
     "                             do not. --output writes a node or a\n"
     "                             fabric; if both are fitted, NAME-node.yaml\n"
     "                             and NAME-fabric.yaml.\n"
     "  profile FILE SCENARIO      a profiler's trace of a step beside what\n"
     "                             is predicted. FILE comes from PyTorch's\n"
     "                             profiler (JSON, also .gz) or is a SQLite\n"
     "                             export of Nsight Systems.\n"
     "  intervals MEASURED BLIND [SIZES.csv]\n"
     "                             how wide intervals have to be, and how\n"
     "                             many runs of left-out sources and\n"
     "                             accelerators they hold. Both files are\n"
     "                             tables of validate --residuals; BLIND\n"
     "                             has runs that were predicted before they\n"
     "                             were compared. SIZES.csv is written.\n"
     "Fits what the measurements tell apart by least squares on relative errors, and\n"
     "prints each value beside the catalogue's with its 95 % interval, and each error.",
     2, SIZE_MAX,
     TSIM_HAS(TSIM_OPTION_SET) | TSIM_HAS(TSIM_OPTION_OP) | TSIM_HAS(TSIM_OPTION_RANKS) | TSIM_HAS(TSIM_OPTION_OUTPUT) |
         JSON_OPTION | CSV_OPTION | BASE_OPTIONS,
     tsim_cmd_calibrate, "tsim calibrate nccl-tests all_reduce.txt --output my-node.yaml"},
    {"import", "FORMAT FILE...", "a file of another program as a model or a scenario, in YAML",
     "FORMAT is one of\n"
     "  hf-config    config.json of a Hugging Face model: a model file\n"
     "  megatron     Megatron-LM's command line, script, YAML or log: a scenario\n"
     "  nemo         YAML of NeMo or Megatron-Bridge, or a log with it: a scenario\n"
     "  gpt-neox     YAML of GPT-NeoX: a scenario\n"
     "  deepspeed    DeepSpeed's JSON, or a log with it: a scenario\n"
     "  torchtitan   torchtitan's TOML, Python registry or log: a scenario\n"
     "  maxtext      MaxText's YAML, a script that starts it, or its log: a scenario\n"
     "  primus       Primus' YAML: a scenario\n"
     "  hf-trainer   a script, YAML or JSON for Hugging Face's Trainer: a scenario\n"
     "  nanotron     nanotron's YAML: a scenario\n"
     "  automodel    NeMo AutoModel's YAML: a scenario\n"
     "  llm-foundry  llm-foundry's YAML: a scenario\n"
     "  accelerate   YAML of accelerate config: a scenario\n"
     "  internevo    InternEvo's configuration in Python: a scenario\n"
     "  axolotl      axolotl's YAML: a scenario\n"
     "  llamafactory LLaMA-Factory's YAML or script: a scenario\n"
     "  nvidia-topo  what nvidia-smi topo -m prints: a node\n"
     "  rocm-topo    what rocm-smi --showtopo prints: a node\n"
     "  nccl-xml     NCCL's topology (NCCL_TOPO_DUMP_FILE): a node\n"
     "  lstopo       hwloc's XML (lstopo FILE.xml): a node\n"
     "  chakra       execution traces of MLCommons Chakra (.et), one for each rank:\n"
     "               what 'tsim replay' takes\n"
     "Facts that the file lacks, such as the machine, are assumed and marked; --set\n"
     "changes them. A setting that makes a run slower or faster and is not modelled is\n"
     "a warning. A setting that changes the model, the data type, the batch or the\n"
     "parallelism and is not understood is an error, and so is a contradiction. FILE\n"
     "may be '-'. A script is read, not run: --env gives it variables, and words after\n"
     "-- are its arguments. Files that it sources are read when they stand beside it.\n"
     "--model or --hf names the model where the file does not give its sizes; --gpus\n"
     "or --nodes gives the size of the cluster. Without them, the smallest cluster is\n"
     "taken that the plan can have and that holds the model.",
     1, SIZE_MAX,
     TSIM_HAS(TSIM_OPTION_MODEL) | TSIM_HAS(TSIM_OPTION_HF) | TSIM_HAS(TSIM_OPTION_NODE) | TSIM_HAS(TSIM_OPTION_NODES) |
         TSIM_HAS(TSIM_OPTION_GPUS) | TSIM_HAS(TSIM_OPTION_SET) | TSIM_HAS(TSIM_OPTION_OUTPUT) |
         TSIM_HAS(TSIM_OPTION_IGNORE) | TSIM_HAS(TSIM_OPTION_ENV) | TSIM_HAS(TSIM_OPTION_APPROXIMATE) |
         TSIM_HAS(TSIM_OPTION_VERBOSE) | BASE_OPTIONS,
     tsim_cmd_import,
     "tsim import megatron train.sh --output my-job.yaml\n"
     "tsim import hf-config config.json --output my-model.yaml"},
    {"replay", "FILE", "execution traces of a job, replayed on a cluster",
     "FILE names traces of MLCommons Chakra and a cluster, as 'tsim import chakra'\n"
     "writes it. Kernels take the time that was recorded, or that of a roofline\n"
     "(kernels: roofline). Collectives and messages are simulated on the cluster's\n"
     "links. 'tsim run FILE' does the same. Nothing is logged.",
     1, 1, (INPUT_OPTIONS & ~TSIM_HAS(TSIM_OPTION_SEED)) | JSON_OPTION | CSV_OPTION, tsim_cmd_replay,
     "tsim replay my-replay.yaml"},
    {"textbook", "[ID]", "the worked examples of a textbook, and what differs",
     "Shows each number of the text beside tsim's, which is simulated or computed\n"
     "anew. Where they differ, it says which is right and why. With an ID it shows\n"
     "only that example. --markdown prints docs/textbook.md.",
     0, 1, JSON_OPTION | CSV_OPTION | TSIM_HAS(TSIM_OPTION_MARKDOWN) | BASE_OPTIONS, tsim_cmd_textbook,
     "tsim textbook attention-intensity"},
    {"serve", "", "the workbench: change a scenario in a browser, and an API",
     "Serves a page for browsers, and over HTTP the JSON that the commands print,\n"
     "until it is interrupted (docs/serve.md). The page's address is printed. Other\n"
     "machines can reach it only with --bind, and need the token in the printed\n"
     "address. Each request is computed by a process apart, which may take\n"
     "--max-memory (2 GB) and --timeout (60 s). A run is logged when the request asks\n"
     "for it and --db names a database; otherwise nothing is written.",
     0, 0,
     TSIM_HAS(TSIM_OPTION_PORT) | TSIM_HAS(TSIM_OPTION_BIND) | TSIM_HAS(TSIM_OPTION_DB) |
         TSIM_HAS(TSIM_OPTION_READ_ONLY) | JOBS_OPTION | BASE_OPTIONS,
     NULL, "tsim serve --port 8000"},
    {"runs", "", "what is in the database: runs and sweeps",
     "Lists runs and sweeps with their numbers, which 'tsim report' and 'tsim export'\n"
     "take, and 'tsim compare' for runs. 'tsim query' reads all that is logged. --csv\n"
     "lists only the runs.",
     0, 0, LOG_OPTIONS | JSON_OPTION | CSV_OPTION | BASE_OPTIONS, tsim_cmd_runs, "tsim runs"},
    {"list", "[KIND]", "what is in the catalogue",
     "KIND is models, accelerators, nodes, fabrics, storage, software, regions or\n"
     "scenarios. Each entry is shown with what makes one choose it; without KIND only\n"
     "the ids of all kinds are shown. 'tsim show KIND/ID' tells the rest. --csv and\n"
     "--json list only ids, and for regions what their electricity emits and costs.",
     0, 1, JSON_OPTION | CSV_OPTION | TSIM_HAS(TSIM_OPTION_QUIET), tsim_cmd_list, "tsim list accelerators"},
    {"show", "KIND/ID|FILE", "one catalogue entry, each value with its source",
     "Shows each value of the entry, and where it was read. KIND may be left out when\n"
     "only one kind has the id.",
     1, 1, JSON_OPTION | CSV_OPTION | TSIM_HAS(TSIM_OPTION_QUIET), tsim_cmd_show,
     "tsim show model/llama2-70b\n"
     "tsim show my-accelerator.yaml"},
    {"help", "[COMMAND]", "this list, or one command's options",
     "--format man prints a manual page. --format bash and --format zsh print\n"
     "completions, which these shells source when they start (~/.bashrc). --format\n"
     "reference prints every key of scenarios and of the catalogue's files, as\n"
     "Markdown.",
     0, 1, TSIM_HAS(TSIM_OPTION_FORMAT), cmd_help,
     "tsim help run\n"
     "tsim help --format man run | man -l -\n"
     "source <(tsim help --format bash)"},
    {"version", "", "the version of tsim", NULL, 0, 0, 0, cmd_version, "tsim version"},
};
const struct tsim_commands TSIM_COMMANDS = {COMMANDS, sizeof COMMANDS / sizeof COMMANDS[0]};

const struct tsim_command *tsim_command_find(const char *name) {
    const char *names[sizeof COMMANDS / sizeof COMMANDS[0]];
    for (size_t i = 0; i < TSIM_COMMANDS.n_items; i++) {
        if (strcmp(COMMANDS[i].name, name) == 0)
            return &COMMANDS[i];
        names[i] = COMMANDS[i].name;
    }
    tsim_say_unknown("tsim: unknown command", name + strspn(name, "-"), names, TSIM_COMMANDS.n_items);
    if (tsim_is_yaml_name(name))
        fprintf(tsim_messages(), "A command comes first: tsim run %s\n", name);
    fputs("Try 'tsim help'.\n", tsim_messages());
    return NULL;
}

/* ---- help ---- */

/* One sentence, in lines that are about as long as the others. */
static void print_exits(FILE *out) {
    enum { MOST_COLUMNS = 84 };
    int column = fprintf(out, "Exit status:");
    for (size_t i = 0; i < TSIM_N_EXITS; i++) {
        char text[80];
        int length = snprintf(text, sizeof text, "%d %s%c", (int)TSIM_EXITS[i].status, TSIM_EXITS[i].text,
                              i + 1 < TSIM_N_EXITS ? ',' : '.');
        bool is_next = column + 1 + length > MOST_COLUMNS;
        fprintf(out, "%c%s", is_next ? '\n' : ' ', text);
        column = (is_next ? 0 : column + 1) + length;
    }
    fputc('\n', out);
}

static void print_commands(FILE *out) {
    fputs("tsim predicts how a neural network trains on a cluster of accelerators.\n\n"
          "usage: tsim COMMAND [OPTION]... [OPERAND]...\n\ncommands:\n",
          out);
    for (size_t i = 0; i < TSIM_COMMANDS.n_items; i++) {
        char left[40];
        snprintf(left, sizeof left, "%s %s", COMMANDS[i].name, COMMANDS[i].operands);
        fprintf(out, "  %-23s %s\n", left, COMMANDS[i].summary);
    }
    fputs("\n'tsim help COMMAND' lists a command's options.\n", out);
    print_exits(out);
}

static void print_command(const struct tsim_command *command, FILE *out) {
    fprintf(out, "tsim %s - %s\n\n", command->name, command->summary);
    fprintf(out, "usage: tsim %s [OPTION]...%s%s\n", command->name, command->operands[0] ? " " : "", command->operands);
    if (command->text)
        fprintf(out, "\n%s\n", command->text);
    fputs("\noptions:\n", out);
    for (int i = 0; i < TSIM_N_OPTIONS; i++) {
        char left[48];
        if (tsim_command_takes(command, (enum tsim_option)i))
            fprintf(out, "  %-20s %s\n", tsim_option_usage((enum tsim_option)i, left, sizeof left),
                    tsim_option_help(command, (enum tsim_option)i));
    }
    fputs(strchr(command->examples, '\n') ? "\nexamples:\n" : "\nexample:\n", out);
    for (const char *at = command->examples, *end; at; at = *end ? end + 1 : NULL) {
        end = at + strcspn(at, "\n");
        fprintf(out, "  %.*s\n", (int)(end - at), at);
    }
}

void tsim_help(const struct tsim_command *command, FILE *out) {
    enum { WRITTEN_FOR = 80 };
    struct tsim_style style = tsim_style_of(out);
    struct tsim_fold fold;
    FILE *lines = tsim_fold_open(&fold, &style, out);
    fold.joins = style.table_width < WRITTEN_FOR;
    if (command)
        print_command(command, lines);
    else
        print_commands(lines);
    tsim_fold_close(&fold);
}

static enum tsim_exit wrong_format(const char *format) {
    fprintf(stderr,
            "tsim help: --format needs text or man, or without a command bash, zsh or reference, not '%s'\n"
            "Try 'tsim help --help'.\n",
            format);
    return TSIM_EXIT_USAGE;
}

static void print_reference(void) {
    tsim_reference_print(stdout);
    tsim_outcome_reference(stdout);
}

static enum tsim_exit cmd_help(const struct tsim_arguments *arguments) {
    const struct tsim_command *command = NULL;
    const char *format = arguments->value[TSIM_OPTION_FORMAT] ? arguments->value[TSIM_OPTION_FORMAT] : "text";
    if (arguments->n_operands > 0) {
        command = tsim_command_find(arguments->operands[0]);
        if (!command)
            return TSIM_EXIT_USAGE;
    }
    if (strcmp(format, "text") == 0)
        tsim_help(command, stdout);
    else if (strcmp(format, "man") == 0)
        tsim_manual_page(&TSIM_COMMANDS, command, stdout);
    else if (strcmp(format, "bash") == 0 && !command)
        tsim_completion_bash(&TSIM_COMMANDS, stdout);
    else if (strcmp(format, "zsh") == 0 && !command)
        tsim_completion_zsh(&TSIM_COMMANDS, stdout);
    else if (strcmp(format, "reference") == 0 && !command)
        print_reference();
    else
        return wrong_format(format);
    return TSIM_EXIT_OK;
}

static enum tsim_exit cmd_version(const struct tsim_arguments *arguments) {
    (void)arguments;
    printf("tsim %s\n", TSIM_VERSION);
    return TSIM_EXIT_OK;
}
