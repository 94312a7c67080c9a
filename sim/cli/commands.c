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
/* The options of commands that simulate or that read a file of unknown origin. */
#define BASE_OPTIONS (TSIM_HAS(TSIM_OPTION_MAX_MEMORY) | TSIM_HAS(TSIM_OPTION_TIMEOUT) | TSIM_HAS(TSIM_OPTION_QUIET))
/* --no-db is also for commands that never use one: scripts give the same options to all. */
#define INPUT_OPTIONS                                                                                                  \
    (BASE_OPTIONS | TSIM_HAS(TSIM_OPTION_SET) | TSIM_HAS(TSIM_OPTION_SEED) | TSIM_HAS(TSIM_OPTION_NO_DB))
#define JSON_OPTION TSIM_HAS(TSIM_OPTION_JSON)
#define CSV_OPTION TSIM_HAS(TSIM_OPTION_CSV)
#define JOBS_OPTION TSIM_HAS(TSIM_OPTION_JOBS)

static const struct tsim_command COMMANDS[] = {
    {"init", "[FILE]", "write a first scenario from five questions",
     "Asks for the model, the node, the number of nodes, the fabric between them and\n"
     "the goal, finds the fastest plan that fits in memory and writes a commented FILE\n"
     "(by default scenario.yaml; '-' is standard output). Each option answers one\n"
     "question. Without a terminal nothing is asked; the default model is llama2-7b.",
     0, 1,
     TSIM_HAS(TSIM_OPTION_MODEL) | TSIM_HAS(TSIM_OPTION_NODE) | TSIM_HAS(TSIM_OPTION_NODES) |
         TSIM_HAS(TSIM_OPTION_FABRIC) | TSIM_HAS(TSIM_OPTION_GOAL) | JOBS_OPTION | BASE_OPTIONS,
     tsim_cmd_init,
     "tsim init my-job.yaml\n"
     "tsim init --model llama3-8b --nodes 4 my-job.yaml"},
    {"run", "SCENARIO", "simulate a scenario: step time, memory, energy, cost",
     "SCENARIO is a YAML file, or '-' for standard input. The run is logged in a\n"
     "database (tsim.db in the current folder). When the plan does not fit in memory,\n"
     "the exit status is 4 and the smallest changes that would make it fit are\n"
     "printed. --csv prints one line per figure.",
     1, 1,
     INPUT_OPTIONS | LOG_OPTIONS | JSON_OPTION | CSV_OPTION | JOBS_OPTION | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY) |
         TSIM_HAS(TSIM_OPTION_TRACE) | TSIM_HAS(TSIM_OPTION_TRACE_RANKS) | TSIM_HAS(TSIM_OPTION_REPORT),
     tsim_cmd_run,
     "tsim run my-job.yaml --report page.html\n"
     "tsim run my-job.yaml --set parallelism.tensor=4"},
    {"check", "SCENARIO...", "read and validate scenarios without simulating them",
     "Reports all mistakes of all files; a folder stands for its .yaml files. --json\n"
     "prints the scenario with every default filled in (a list when there are several\n"
     "files). For a file of the catalogue, such as an accelerator, it also lists which\n"
     "values are defaults and which are only estimates.",
     1, SIZE_MAX, INPUT_OPTIONS | JSON_OPTION | JOBS_OPTION, tsim_cmd_check, "tsim check my-job.yaml"},
    {"explain", "SCENARIO [TERM]", "show where time and memory go, and what limits them",
     "Shows memory by kind and stage, the roofline of every operator, the schedule,\n"
     "the critical path, exposed communication, sensitivities and advice. With a TERM\n"
     "of the summary, such as step.compute_s, mfu or memory, it shows the formula of\n"
     "that figure, down to each constant and its source. --csv prints one table after\n"
     "another, with the table's name in the first column. Nothing is logged.",
     1, 2, INPUT_OPTIONS | JSON_OPTION | CSV_OPTION | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY), tsim_cmd_explain,
     "tsim explain my-job.yaml\n"
     "tsim explain my-job.yaml mfu"},
    {"diagnose", "LAUNCH [LOG]", "find why a running job is slow and what would help it",
     "LAUNCH is what started the job (a script or a configuration), a log that names\n"
     "the job's settings, or a scenario: any file that 'tsim import' reads. LOG says\n"
     "how long the job's steps take: a log of Megatron-LM, DeepSpeed, torchtitan or\n"
     "MaxText, or a profile (a trace of PyTorch's profiler, or nsys' SQLite). Without\n"
     "a LOG, give the time with --set measured.step_time='13.7 s'.\n"
     "\n"
     "The first table leads from the measured step to the predicted step of the same\n"
     "launch, and from there to the best plan. Each row is a change with its gain and\n"
     "the software's option for it; one row is the time that nothing explains. When\n"
     "the measured step is longer than the prediction's interval, a second table shows\n"
     "how long steps would be with some common faults. Nothing is logged.",
     1, 2,
     INPUT_OPTIONS | JSON_OPTION | CSV_OPTION | JOBS_OPTION | TSIM_HAS(TSIM_OPTION_IGNORE) | TSIM_HAS(TSIM_OPTION_ENV),
     tsim_cmd_diagnose, "tsim diagnose train.sh train.log"},
    {"compare", "A B", "compare two scenarios or runs: inputs, time, figures",
     "A and B are scenarios, or numbers of logged runs, which this version simulates\n"
     "again. Shows the inputs that differ, how the step's time changes from A to B,\n"
     "and the other figures that change, with the interval of each step time.\n"
     "--sensitivity varies each capacity, latency and rent by 10 % down and up, one at\n"
     "a time, in both, and says which of them would reverse the order, in time or in\n"
     "rent per token. --report writes a page with both runs. When A or B does not fit\n"
     "in memory, the exit status is 4. Nothing is logged.",
     2, 2,
     INPUT_OPTIONS | LOG_OPTIONS | JSON_OPTION | CSV_OPTION | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY) |
         TSIM_HAS(TSIM_OPTION_FAIL_ABOVE) | TSIM_HAS(TSIM_OPTION_REPORT) | TSIM_HAS(TSIM_OPTION_SENSITIVITY),
     tsim_cmd_compare,
     "tsim compare my-job.yaml other-job.yaml\n"
     "tsim compare 1 2 --report page.html"},
    {"validate", "SCENARIO...", "compare predictions with measurements",
     "Runs each file that has a measured: section and shows its prediction beside its\n"
     "measurement, with the error of each and the mean of all; a folder stands for\n"
     "its .yaml files. With ten or more measured times or rates, it also shows errors\n"
     "by source (the first word of the scenario's name) and by accelerator. A\n"
     "measurement with measured.doubtful is compared but not scored. Nothing is\n"
     "logged unless --db names a database.",
     1, SIZE_MAX,
     INPUT_OPTIONS | LOG_OPTIONS | JSON_OPTION | CSV_OPTION | JOBS_OPTION | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY) |
         TSIM_HAS(TSIM_OPTION_MAX_ERROR) | TSIM_HAS(TSIM_OPTION_RESIDUALS),
     tsim_cmd_validate, "tsim validate scenarios/published"},
    {"sweep", "SCENARIO", "simulate every combination of values, in parallel",
     "The combinations come from the scenario's sweep: section, or from --vary and\n"
     "--zip. Finished points are kept in the database: the same command, started\n"
     "again, goes on where it stopped. Points are ranked by tokens_per_s unless\n"
     "--objective says otherwise. Under srun and mpirun each process takes its share\n"
     "(--shard) and writes a database of its own; 'tsim merge' joins them.",
     1, 1,
     INPUT_OPTIONS | LOG_OPTIONS | JSON_OPTION | CSV_OPTION | JOBS_OPTION | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY) |
         TSIM_HAS(TSIM_OPTION_VARY) | TSIM_HAS(TSIM_OPTION_ZIP) | TSIM_HAS(TSIM_OPTION_WHERE) |
         TSIM_HAS(TSIM_OPTION_OBJECTIVE) | TSIM_HAS(TSIM_OPTION_SHARD) | TSIM_HAS(TSIM_OPTION_REPORT),
     tsim_cmd_sweep, "tsim sweep my-job.yaml --vary parallelism.tensor=2,4,8 --where 'mfu > 0.3'"},
    {"plan", "SCENARIO", "find the best parallelism plan, and the best cluster",
     "Searches tensor, pipeline, virtual pipeline, context, expert and data\n"
     "parallelism, ZeRO, micro-batch size, recomputation, schedule and sequence\n"
     "parallelism; the scenario's own values of these keys do not count. To limit\n"
     "a key, list the values to try as an axis (sweep.axes, --vary). Otherwise all\n"
     "values are tried that the scenario's software can run, or with --any-software\n"
     "all that exist. An axis over any other key (cluster.node, cluster.nodes) makes\n"
     "each of its values a candidate, and each candidate gets its best plan.\n"
     "\n"
     "Plans keep the limits (sweep.limits, or --set sweep.limits.days=60; cost, power,\n"
     "memory or any other figure). A candidate without such a plan is shown with the\n"
     "limit that it misses and by how much. Plans are ranked by tokens_per_s unless\n"
     "--objective says otherwise. The search skips plans that cannot win, but finds\n"
     "the same best plans as simulating all of them would.\n"
     "\n"
     "--sensitivity asks whether the two best candidates keep their order when each\n"
     "input is 10 % off. --report writes a page with a run of the best plan, --output\n"
     "a scenario of it. Nothing is logged.",
     1, 1,
     INPUT_OPTIONS | JSON_OPTION | CSV_OPTION | JOBS_OPTION | TSIM_HAS(TSIM_OPTION_VARY) | TSIM_HAS(TSIM_OPTION_ZIP) |
         TSIM_HAS(TSIM_OPTION_OBJECTIVE) | TSIM_HAS(TSIM_OPTION_SENSITIVITY) | TSIM_HAS(TSIM_OPTION_REPORT) |
         TSIM_HAS(TSIM_OPTION_ANY_SOFTWARE) | TSIM_HAS(TSIM_OPTION_OUTPUT),
     tsim_cmd_plan,
     "tsim plan my-job.yaml --output best.yaml\n"
     "tsim plan my-job.yaml --vary cluster.nodes=8,16,32"},
    {"buy", "[SCENARIO]", "find a cluster that meets a deadline and a budget",
     "Searches the machines of the catalogue, how many of each, whether to rent,\n"
     "reserve or buy them, and their plans (or the candidates of sweep: and --vary).\n"
     "The answer is the cluster that is most likely to train --model on --tokens by\n"
     "the --deadline within the --budget and, among equally likely ones, the cheapest.\n"
     "A scenario can state the same in its goal: section. With --loss in place of\n"
     "--tokens, scaling laws say how many tokens that loss takes. With a budget or\n"
     "a loss but no --model, they also say which model to train.\n"
     "\n"
     "Days, dollars and energy are distributions: they combine tsim's own error, luck\n"
     "with failures, prices and the uncertainty of scaling laws. The answer names the\n"
     "runners-up, why they lost, and what would change the choice. --objective cost,\n"
     "days or energy ranks the clusters that meet the goal by that figure. --report\n"
     "writes a page with a run of the choice, --output a scenario of it for 'tsim\n"
     "run'. When nothing meets the goal, the exit status is 3 and the nearest goal\n"
     "that can be met is shown. Nothing is logged.",
     0, 1,
     INPUT_OPTIONS | JSON_OPTION | JOBS_OPTION | TSIM_HAS(TSIM_OPTION_MODEL) | TSIM_HAS(TSIM_OPTION_TOKENS) |
         TSIM_HAS(TSIM_OPTION_LOSS) | TSIM_HAS(TSIM_OPTION_DEADLINE) | TSIM_HAS(TSIM_OPTION_BUDGET) |
         TSIM_HAS(TSIM_OPTION_VARY) | TSIM_HAS(TSIM_OPTION_ZIP) | TSIM_HAS(TSIM_OPTION_OBJECTIVE) |
         TSIM_HAS(TSIM_OPTION_REPORT) | TSIM_HAS(TSIM_OPTION_OUTPUT),
     tsim_cmd_buy, "tsim buy --model llama3-8b --tokens 2T --deadline '60 days' --budget '1 M USD'"},
    {"scale", "SCENARIO", "show how efficiency falls with more nodes, and why",
     "Shows strong scaling (the global batch is constant) or, with --weak, weak\n"
     "scaling (the batch per accelerator is constant). Only the number of nodes and\n"
     "with it the number of data-parallel replicas changes; the rest of the plan stays\n"
     "as it is. --gpus lists the counts of accelerators; without it they start at the\n"
     "scenario's and double. Efficiency is relative to the smallest count that runs.\n"
     "--replan also shows the best plan of each count, as 'tsim plan' finds it. The\n"
     "points are logged as a sweep.",
     1, 1,
     INPUT_OPTIONS | LOG_OPTIONS | JSON_OPTION | CSV_OPTION | JOBS_OPTION | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY) |
         TSIM_HAS(TSIM_OPTION_GPUS) | TSIM_HAS(TSIM_OPTION_WEAK) | TSIM_HAS(TSIM_OPTION_UNTIL_EFFICIENCY) |
         TSIM_HAS(TSIM_OPTION_REPLAN) | TSIM_HAS(TSIM_OPTION_REPORT),
     tsim_cmd_scale, "tsim scale my-job.yaml --gpus 128,256,512"},
    {"merge", "OUT.db IN.db...", "merge the databases of a sweep's shards",
     "Merging the same database twice changes nothing. Databases that different\n"
     "versions of tsim wrote are not merged; the exit status is then 3.",
     2, SIZE_MAX, BASE_OPTIONS, tsim_cmd_merge, "tsim merge all.db part-1.db part-2.db"},
    {"query", "[VIEW|SQL]", "read the database: a ready-made view or any SELECT",
     "Without an operand it lists the views.", 0, 1, LOG_OPTIONS | JSON_OPTION | CSV_OPTION | BASE_OPTIONS,
     tsim_cmd_query,
     "tsim query best_per_gpu_count\n"
     "tsim query \"SELECT set_json, mfu FROM points WHERE mfu > 0.4\""},
    {"collective", "SCENARIO", "predict what nccl-tests would print on the cluster",
     "Runs one collective alone at each size, with the algorithm and protocol that the\n"
     "library would choose. Sizes and bus bandwidth are defined as in nccl-tests: the\n"
     "size of an all_gather is that of the gathered buffer.",
     1, 1,
     INPUT_OPTIONS | JSON_OPTION | CSV_OPTION | TSIM_HAS(TSIM_OPTION_OP) | TSIM_HAS(TSIM_OPTION_SIZES) |
         TSIM_HAS(TSIM_OPTION_RANKS) | TSIM_HAS(TSIM_OPTION_ALGORITHM) | TSIM_HAS(TSIM_OPTION_PROTOCOL),
     tsim_cmd_collective, "tsim collective my-job.yaml --op all_gather --sizes 1MiB:1GiB"},
    {"report", "[RUN...]", "write a page with charts from logged runs",
     "RUN is the number of a run, as 'tsim runs' lists them, or sweep:N. Without one,\n"
     "the page shows the newest run and the newest sweep. Runs are simulated again\n"
     "from their logged scenarios. The page is report.html unless --output names\n"
     "another file; it is one file that any browser shows without a network.",
     0, SIZE_MAX, LOG_OPTIONS | TSIM_HAS(TSIM_OPTION_OUTPUT) | BASE_OPTIONS, tsim_cmd_report,
     "tsim report 1 sweep:1 --output page.html"},
    {"export", "SCENARIO|RUN", "write figures, charts, launch files or traces",
     "Takes a scenario, the number of a logged run, or sweep:N of the database.\n"
     "--format is one of\n"
     "  csv, markdown, latex, prometheus\n"
     "               every figure as CSV, a table with units, or metrics\n"
     "  svg, png     a chart (svg is the default with --chart; png needs\n"
     "               rsvg-convert). Charts of a run: step, memory, schedule,\n"
     "               streams, roofline, links, sensitivity; with failures or\n"
     "               costs also days, timeline, power, lost, ownership. Charts\n"
     "               of a sweep: scaling, pareto, heat\n"
     "  chakra       the step as execution traces for ASTRA-sim: NAME.RANK.et and\n"
     "               NAME.groups.json with --output NAME\n"
     "  megatron, nemo, torchtitan, deepspeed\n"
     "               the files that launch the plan (a script, YAML, TOML, JSON), for\n"
     "               the version of its software; 'tsim import' reads them back\n"
     "  slurm, kubernetes\n"
     "               a job that places its ranks in the simulated order",
     1, 1,
     INPUT_OPTIONS | LOG_OPTIONS | TSIM_HAS(TSIM_OPTION_RANKS) | TSIM_HAS(TSIM_OPTION_FORMAT) |
         TSIM_HAS(TSIM_OPTION_CHART) | TSIM_HAS(TSIM_OPTION_OUTPUT) | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY),
     tsim_cmd_export,
     "tsim export my-job.yaml --format megatron --output train.sh\n"
     "tsim export my-job.yaml --format svg --chart memory --output memory.svg"},
    {"calibrate", "WHAT FILE...", "fit efficiencies and links to your own measurements",
     "WHAT is\n"
     "  kernels FILE [MINE.yaml]   fits an accelerator's efficiencies. FILE is\n"
     "                             CSV with the columns accelerator, op,\n"
     "                             precision, batch, m, n, k, bytes and\n"
     "                             time_us, and any of direction, sum,\n"
     "                             kernel, causal, repeats, clock_mhz and\n"
     "                             power_w; op is gemm, grouped (of\n"
     "                             experts), attention, copy or\n"
     "                             elementwise. SimuMax's columns op, shape\n"
     "                             and share_of_PEAK_tflops are read, too;\n"
     "                             --set accelerator=ID may then be needed.\n"
     "                             MINE.yaml is written: an accelerator\n"
     "                             that a node can name.\n"
     "  nccl-tests FILE...         fits what a node's links and the fabric\n"
     "                             reach. FILE is the output of nccl-tests,\n"
     "                             text or JSON. The machine follows from\n"
     "                             the names of its devices, or from --set\n"
     "                             cluster.node=ID and cluster.fabric=ID;\n"
     "                             --op and --ranks say what the files do\n"
     "                             not. --output writes a node or a fabric;\n"
     "                             if both are fitted, NAME-node.yaml and\n"
     "                             NAME-fabric.yaml.\n"
     "  profile FILE SCENARIO      compares a profiler's trace of a step with\n"
     "                             the prediction. FILE comes from PyTorch's\n"
     "                             profiler (JSON, also .gz) or is a SQLite\n"
     "                             export of Nsight Systems.\n"
     "  intervals MEASURED BLIND [SIZES.csv]\n"
     "                             computes how wide intervals must be, and\n"
     "                             how many runs they hold of sources and\n"
     "                             accelerators that were left out. Both\n"
     "                             files are tables of validate --residuals;\n"
     "                             BLIND has the runs that were predicted\n"
     "                             before their measurement was known.\n"
     "                             SIZES.csv is written.\n"
     "The fit minimizes squared relative errors over the values that the measurements\n"
     "can tell apart. Each fitted value is printed with its 95 % interval beside the\n"
     "catalogue's value, and each measurement with its error.",
     2, SIZE_MAX,
     TSIM_HAS(TSIM_OPTION_SET) | TSIM_HAS(TSIM_OPTION_OP) | TSIM_HAS(TSIM_OPTION_RANKS) | TSIM_HAS(TSIM_OPTION_OUTPUT) |
         JSON_OPTION | CSV_OPTION | BASE_OPTIONS,
     tsim_cmd_calibrate, "tsim calibrate nccl-tests all_reduce.txt --output my-node.yaml"},
    {"import", "FORMAT FILE...", "convert another program's file to a scenario or model",
     "FORMAT is one of\n"
     "  hf-config     config.json of a Hugging Face model: a model file\n"
     "  megatron      Megatron-LM's command line, script, YAML or log: a scenario\n"
     "  nemo          YAML of NeMo or Megatron-Bridge, or a log with it: a scenario\n"
     "  gpt-neox      YAML of GPT-NeoX: a scenario\n"
     "  deepspeed     DeepSpeed's JSON, or a log with it: a scenario\n"
     "  torchtitan    torchtitan's TOML, Python registry or log: a scenario\n"
     "  maxtext       MaxText's YAML, a script that starts it, or its log: a scenario\n"
     "  primus        Primus' YAML: a scenario\n"
     "  hf-trainer    a script, YAML or JSON for Hugging Face's Trainer: a scenario\n"
     "  nanotron      nanotron's YAML: a scenario\n"
     "  automodel     NeMo AutoModel's YAML: a scenario\n"
     "  llm-foundry   llm-foundry's YAML: a scenario\n"
     "  accelerate    YAML of accelerate config: a scenario\n"
     "  internevo     InternEvo's configuration in Python: a scenario\n"
     "  axolotl       axolotl's YAML: a scenario\n"
     "  llamafactory  LLaMA-Factory's YAML or script: a scenario\n"
     "  verl          script that starts verl: a scenario\n"
     "  nvidia-topo   what nvidia-smi topo -m prints: a node\n"
     "  rocm-topo     what rocm-smi --showtopo prints: a node\n"
     "  nccl-xml      NCCL's topology (NCCL_TOPO_DUMP_FILE): a node\n"
     "  lstopo        hwloc's XML (lstopo FILE.xml): a node\n"
     "  nccl-tests    what nccl-tests prints: as 'tsim calibrate nccl-tests'\n"
     "  chakra        execution traces of MLCommons Chakra (.et), one for each rank:\n"
     "                a file for 'tsim replay'\n"
     "What the file lacks, such as the machine, is assumed and marked; --set changes\n"
     "it. A setting that affects the time but is not modelled gives a warning. It is\n"
     "an error when a setting that changes the model, the data type, the batch or the\n"
     "parallelism is not understood, or when two settings contradict each other.\n"
     "\n"
     "FILE may be '-'. A script is read, not run: --env sets its variables, words\n"
     "after -- are its arguments, and files that it sources are read when they stand\n"
     "beside it. --model or --hf names the model when the file does not give its\n"
     "sizes. --gpus or --nodes gives the size of the cluster; without them, it is the\n"
     "smallest that allows the plan and holds the model.",
     1, SIZE_MAX,
     TSIM_HAS(TSIM_OPTION_MODEL) | TSIM_HAS(TSIM_OPTION_HF) | TSIM_HAS(TSIM_OPTION_NODE) | TSIM_HAS(TSIM_OPTION_NODES) |
         TSIM_HAS(TSIM_OPTION_GPUS) | TSIM_HAS(TSIM_OPTION_SET) | TSIM_HAS(TSIM_OPTION_OUTPUT) |
         TSIM_HAS(TSIM_OPTION_IGNORE) | TSIM_HAS(TSIM_OPTION_ENV) | TSIM_HAS(TSIM_OPTION_APPROXIMATE) |
         TSIM_HAS(TSIM_OPTION_VERBOSE) | BASE_OPTIONS,
     tsim_cmd_import,
     "tsim import megatron train.sh --output my-job.yaml\n"
     "tsim import hf-config config.json --output my-model.yaml"},
    {"replay", "FILE", "replay a job's execution traces on a cluster",
     "FILE names traces of MLCommons Chakra and a cluster; 'tsim import chakra' writes\n"
     "such a file. Kernels take the time that was recorded or, with kernels: roofline,\n"
     "a predicted time. Collectives and messages are simulated on the cluster's links.\n"
     "'tsim run FILE' does the same. Nothing is logged.",
     1, 1, (INPUT_OPTIONS & ~TSIM_HAS(TSIM_OPTION_SEED)) | JSON_OPTION | CSV_OPTION, tsim_cmd_replay,
     "tsim replay my-replay.yaml"},
    {"textbook", "[ID]", "compute a textbook's worked examples again",
     "Shows each number of the text beside tsim's own, simulated or computed. Where\n"
     "they differ, it says which is right and why. With an ID it shows only that\n"
     "example. --markdown prints docs/textbook.md.",
     0, 1, JSON_OPTION | CSV_OPTION | TSIM_HAS(TSIM_OPTION_MARKDOWN) | BASE_OPTIONS, tsim_cmd_textbook,
     "tsim textbook attention-intensity"},
    {"serve", "", "serve the workbench for browsers, and an HTTP API",
     "Serves a page in which scenarios can be changed and run, and an API with the\n"
     "JSON that the commands print, until it is interrupted (docs/serve.md). It prints\n"
     "the page's address. Other machines can reach it only with --bind, and need the\n"
     "token in the printed address. Each request is computed in a process of its own,\n"
     "which may take --max-memory (2 GB) and --timeout (60 s). A run is logged only\n"
     "when the request asks for it and --db names a database.",
     0, 0,
     TSIM_HAS(TSIM_OPTION_PORT) | TSIM_HAS(TSIM_OPTION_BIND) | TSIM_HAS(TSIM_OPTION_DB) |
         TSIM_HAS(TSIM_OPTION_READ_ONLY) | JOBS_OPTION | BASE_OPTIONS,
     NULL, "tsim serve --port 8000"},
    {"runs", "", "list the runs and sweeps in the database",
     "Their numbers are operands of 'tsim report' and 'tsim export', those of runs\n"
     "also of 'tsim compare'. 'tsim query' reads everything that is logged. --csv\n"
     "lists only the runs.",
     0, 0, LOG_OPTIONS | JSON_OPTION | CSV_OPTION | BASE_OPTIONS, tsim_cmd_runs, "tsim runs"},
    {"list", "[KIND]", "list what is in the catalogue",
     "KIND is models, accelerators, nodes, fabrics, storage, software, regions or\n"
     "scenarios. Each entry is shown with its main figures; without KIND only ids are\n"
     "shown, those of all kinds. 'tsim show KIND/ID' shows all of an entry. --csv and\n"
     "--json list only ids, and for regions the emissions and the price of their\n"
     "electricity.",
     0, 1, JSON_OPTION | CSV_OPTION | TSIM_HAS(TSIM_OPTION_QUIET), tsim_cmd_list, "tsim list accelerators"},
    {"show", "KIND/ID|FILE", "show one catalogue entry, each value with its source",
     "KIND may be left out when only one kind has the id.", 1, 1,
     JSON_OPTION | CSV_OPTION | TSIM_HAS(TSIM_OPTION_QUIET), tsim_cmd_show,
     "tsim show model/llama2-70b\n"
     "tsim show my-accelerator.yaml"},
    {"help", "[COMMAND]", "show this list, or one command's options",
     "--format man prints a manual page. --format bash and --format zsh print\n"
     "completions, which these shells source when they start (~/.bashrc). --format\n"
     "reference prints every key of scenarios and of the catalogue's files, as\n"
     "Markdown.",
     0, 1, TSIM_HAS(TSIM_OPTION_FORMAT), cmd_help,
     "tsim help run\n"
     "tsim help --format man run | man -l -\n"
     "source <(tsim help --format bash)"},
    {"version", "", "print the version", NULL, 0, 0, 0, cmd_version, "tsim version"},
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

/* Prints the exit statuses as one sentence, in lines about as long as the others. */
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
