/* Jobs of Slurm and Kubernetes. They start the ranks where the simulation had them: rank r on node r / ranks of a node,
 * and a rank's number is its coordinates along the axes of parallelism.order, innermost first (cluster/placement.h).
 *
 * Megatron-LM, NeMo, torchtitan and DeepSpeed number tensor ranks innermost, then context, expert, data and pipeline
 * (megatron/core/parallel_state.py, order "tp-cp-ep-dp-pp"; torchtitan's mesh; DeepSpeed's
 * PipeModelDataParallelTopology), Megatron with --use-tp-pp-dp-mapping data outermost. If the scenario's order differs,
 * Slurm is told for each rank of the software the node of the simulated rank. */
#include "import/launches/launch_writer.h"

#include <string.h>

static const char AXIS_LETTERS[TSIM_N_AXES] = {'t', 'c', 'e', 'd', 'p'};

struct axes {
    int64_t size[TSIM_N_AXES];
    enum tsim_axis theirs[TSIM_N_AXES];
};

static struct axes axes_of(const struct tsim_launch_writer *w) {
    const struct tsim_parallelism_spec *p = &w->scenario->parallelism;
    const enum tsim_axis *mapped = tsim_launch_tp_pp_dp(w);
    int64_t experts = tsim_expert_ranks(p).data;
    experts = experts > 0 ? experts : 1;
    struct axes a = {.size = {p->tensor, p->context, experts, p->data / experts, p->pipeline}};
    for (int i = 0; i < TSIM_N_AXES; i++)
        a.theirs[i] = mapped ? mapped[i] : (enum tsim_axis)i;
    return a;
}

/* Axes of one rank have no place in an order. */
static bool is_their_order(const struct tsim_launch_writer *w) {
    struct axes a = axes_of(w);
    int ours = 0;
    for (int i = 0; i < TSIM_N_AXES; i++) {
        if (a.size[a.theirs[i]] == 1)
            continue;
        while (a.size[w->scenario->parallelism.order[ours]] == 1)
            ours++;
        if (w->scenario->parallelism.order[ours++] != a.theirs[i])
            return false;
    }
    return true;
}

enum tsim_status tsim_job_check(const struct tsim_launch_writer *w, bool is_kubernetes, struct tsim_diags *diags) {
    if (!is_kubernetes || is_their_order(w))
        return TSIM_OK;
    tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, w->scenario->plan_at, "parallelism.order",
                                    "ranks in another order than %s numbers them, which pods cannot have",
                                    w->scenario->software->name),
                   "--format slurm places rank by rank; or leave parallelism.order out");
    return TSIM_ERR_INFEASIBLE;
}

/* ---- what is started ---- */

static bool is_megatron(const struct tsim_launch_writer *w) {
    return w->launch >= TSIM_LAUNCH_MEGATRON_2021 && w->launch <= TSIM_LAUNCH_MEGATRON_DEEPSPEED;
}

/* Returns the file that the program reads, beside the job; of Megatron the script that starts it. */
static const char *file_name(const struct tsim_launch_writer *w) {
    const char *ending = is_megatron(w)                       ? "sh"
                         : w->launch == TSIM_LAUNCH_NEMO      ? "yaml"
                         : w->launch == TSIM_LAUNCH_DEEPSPEED ? "json"
                                                              : "toml";
    return tsim_arena_printf(w->arena, "%s.%s", tsim_launch_job_name(w), ending);
}

static void write_file(struct tsim_launch_writer *w) {
    if (is_megatron(w))
        tsim_write_megatron(w);
    else if (w->launch == TSIM_LAUNCH_NEMO)
        tsim_write_nemo(w);
    else if (w->launch == TSIM_LAUNCH_DEEPSPEED)
        tsim_write_deepspeed(w);
    else
        tsim_write_torchtitan(w);
}

/* Returns the program with that file in `folder`. */
static const char *program(const struct tsim_launch_writer *w, const char *folder) {
    switch (w->launch) {
    case TSIM_LAUNCH_NEMO:
        return tsim_arena_printf(w->arena, "megatron_gpt_pretraining.py --config-path=%s --config-name=%s", folder,
                                 tsim_launch_job_name(w));
    case TSIM_LAUNCH_DEEPSPEED:
        return tsim_arena_printf(w->arena, "\"${TRAIN:-train.py}\" --deepspeed %s/%s", folder, file_name(w));
    case TSIM_LAUNCH_TORCHTITAN_2024:
        return tsim_arena_printf(w->arena, "train.py --job.config_file %s/%s", folder, file_name(w));
    default:
        return tsim_arena_printf(w->arena, "-m torchtitan.train --job.config_file %s/%s", folder, file_name(w));
    }
}

static const char *order_words(const struct tsim_launch_writer *w) {
    struct axes a = axes_of(w);
    const char *text = "";
    for (int i = 0; i < TSIM_N_AXES; i++) {
        enum tsim_axis axis = w->scenario->parallelism.order[i];
        if (a.size[axis] > 1)
            text = tsim_arena_printf(w->arena, "%s%s%s %lld", text, *text ? ", " : "", tsim_axis_name(axis),
                                     (long long)a.size[axis]);
    }
    return *text ? text : "one rank";
}

/* ---- Slurm ---- */

/* Writes, for each rank of the software, the node on which the rank of the same coordinates was simulated. */
static void write_host_file(struct tsim_launch_writer *w) {
    const struct tsim_scenario *scenario = w->scenario;
    struct axes a = axes_of(w);
    int64_t below = 1;
    TSIM_WRITE(w,
               "# Slurm is given the node of each rank, because the software numbers its ranks in another order.\n"
               "export SLURM_HOSTFILE=$PWD/hosts.$SLURM_JOB_ID\n"
               "mapfile -t hosts < <(scontrol show hostnames \"$SLURM_JOB_NODELIST\")\n"
               "for ((rank = 0; rank < %lld; rank++)); do\n",
               (long long)scenario->n_accelerators);
    for (int i = 0; i < TSIM_N_AXES; i++) {
        enum tsim_axis axis = a.theirs[i];
        TSIM_WRITE(w, "%s%c = rank / %lld %% %lld%s", i == 0 ? "    ((" : "", AXIS_LETTERS[axis], (long long)below,
                   (long long)a.size[axis], i + 1 < TSIM_N_AXES ? ", " : ", 1))\n");
        below *= a.size[axis];
    }
    below = 1;
    TSIM_WRITE(w, "    echo \"${hosts[(");
    for (int i = 0; i < TSIM_N_AXES; i++) {
        enum tsim_axis axis = scenario->parallelism.order[i];
        TSIM_WRITE(w, "%s%c * %lld", i > 0 ? " + " : "", AXIS_LETTERS[axis], (long long)below);
        below *= a.size[axis];
    }
    TSIM_WRITE(w, ") / %lld]}\"\ndone >\"$SLURM_HOSTFILE\"\n", (long long)scenario->cluster.accelerators_per_node);
}

void tsim_write_slurm(struct tsim_launch_writer *w) {
    const struct tsim_cluster_spec *cluster = &w->scenario->cluster;
    bool is_block = is_their_order(w);
    TSIM_WRITE(w, "#!/bin/bash\n#SBATCH --job-name=%s\n#SBATCH --nodes=%lld\n#SBATCH --ntasks-per-node=%lld\n",
               tsim_launch_job_name(w), (long long)cluster->nodes, (long long)cluster->accelerators_per_node);
    TSIM_WRITE(w, "#SBATCH --gpus-per-node=%lld\n#SBATCH --exclusive\n", (long long)cluster->accelerators_per_node);
    TSIM_WRITE(w, "# %s, for %s. Arguments of this script (data, steps) go to the program.\n", w->scenario->name,
               w->scenario->software->name);
    TSIM_WRITE(w, "# Ranks fill node after node, innermost first: %s.\n", order_words(w));
    if (is_megatron(w))
        tsim_launch_write_carried(w, "");
    if (w->scenario->software->launch_blocking)
        TSIM_WRITE(w, "export CUDA_LAUNCH_BLOCKING=1\n");
    TSIM_WRITE(w, "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n"
                  "export MASTER_ADDR MASTER_PORT=${MASTER_PORT:-29500}\n");
    if (!is_block)
        write_host_file(w);
    if (w->launch == TSIM_LAUNCH_MEGATRON_DEEPSPEED)
        TSIM_WRITE(w, "cat >ds_config.json <<'EOF'\n%s\nEOF\n", tsim_deepspeed_line(w));
    if (!is_megatron(w)) {
        TSIM_WRITE(w, "cat >%s <<'EOF'\n", file_name(w));
        write_file(w);
        TSIM_WRITE(w, "EOF\n");
    }
    TSIM_WRITE(w,
               "srun --distribution=%s bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS "
               "exec \"$@\"' rank \\\n    python ",
               is_block ? "block:block" : "arbitrary");
    if (is_megatron(w)) {
        TSIM_WRITE(w, "%s \\\n", tsim_megatron_program(w));
        tsim_write_arguments(w, "    ");
    } else {
        TSIM_WRITE(w, "%s \\\n", program(w, "."));
    }
    TSIM_WRITE(w, "    \"$@\"\n");
}

/* ---- Kubernetes ---- */

/* Writes the file in a ConfigMap, line by line behind its indent. */
static void write_config_map(struct tsim_launch_writer *w) {
    struct tsim_lines before = w->out;
    w->out = (struct tsim_lines){NULL, 0, 0};
    write_file(w);
    char *text = tsim_arena_strdup(w->arena, w->out.text);
    tsim_heap_free(w->out.text);
    w->out = before;
    TSIM_WRITE(w, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata:\n  %s: |\n", tsim_launch_job_name(w),
               file_name(w));
    while (*text) {
        size_t length = strcspn(text, "\n");
        TSIM_WRITE(w, "%s%.*s\n", length > 0 ? "    " : "", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

void tsim_write_kubernetes(struct tsim_launch_writer *w) {
    const struct tsim_cluster_spec *cluster = &w->scenario->cluster;
    const char *name = tsim_launch_job_name(w);
    const char *resource = cluster->node->accelerator->kubernetes_resource;
    TSIM_WRITE(w, "# %s, for %s: kubectl apply -f this file, with the image of your own%s.\n", w->scenario->name,
               w->scenario->software->name,
               resource ? "" : ", and for RESOURCE your device plugin's name of the accelerators");
    TSIM_WRITE(w, "# Pod i is node i, and ranks fill node after node, innermost first: %s.\n", order_words(w));
    write_config_map(w);
    TSIM_WRITE(w,
               "---\napiVersion: v1\nkind: Service\nmetadata: {name: %s}\n"
               "spec: {clusterIP: None, selector: {job-name: %s}}\n",
               name, name);
    TSIM_WRITE(w,
               "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: %s}\nspec:\n  completions: %lld\n"
               "  parallelism: %lld\n  completionMode: Indexed\n  template:\n    spec:\n      subdomain: %s\n"
               "      restartPolicy: Never\n      containers:\n      - name: train\n        image: IMAGE\n",
               name, (long long)cluster->nodes, (long long)cluster->nodes, name);
    TSIM_WRITE(w,
               "        env:\n        - {name: MASTER_ADDR, value: %s-0.%s}\n        command:\n        - bash\n"
               "        - -c\n        - |\n",
               name, name);
    if (is_megatron(w))
        TSIM_WRITE(w, "          NODE_RANK=$JOB_COMPLETION_INDEX bash /tsim/%s\n", file_name(w));
    else
        TSIM_WRITE(w,
                   "          torchrun --nnodes %lld --nproc-per-node %lld --node-rank \"$JOB_COMPLETION_INDEX\" \\\n"
                   "            --master-addr \"$MASTER_ADDR\" --master-port 29500 %s\n",
                   (long long)cluster->nodes, (long long)cluster->accelerators_per_node, program(w, "/tsim"));
    TSIM_WRITE(w,
               "        resources: {limits: {%s: %lld}}\n        volumeMounts:\n"
               "        - {name: launch, mountPath: /tsim}\n      volumes:\n"
               "      - {name: launch, configMap: {name: %s}}\n",
               resource ? resource : "RESOURCE", (long long)cluster->accelerators_per_node, name);
}
