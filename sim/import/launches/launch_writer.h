/* launch_writer.h - private to import: functions that all writers of launch files (launch_file.h) use. */
#pragma once

#include "config/scenario.h"
#include "import/launches/recipe.h"

/* An option has Megatron's name, with underscores. */
struct tsim_launch_option {
    const char *key, *value; /* value NULL: a flag */
};

struct tsim_launch_writer {
    struct tsim_arena *arena;
    const struct tsim_scenario *scenario;
    const struct tsim_value *resolved; /* the scenario with every default */
    enum tsim_launch_kind launch;
    const char *const *carried; /* settings as "PATH=VALUE" */
    size_t n_carried;
    struct tsim_lines out;
    struct tsim_launch_option *options; /* on the heap */
    size_t n_options, options_capacity;
};

/* Appends to the file. */
#define TSIM_WRITE(w, ...) tsim_lines_add((w)->arena, &(w)->out, __VA_ARGS__)
/* Returns the word of a key of the resolved scenario; "" if it is absent or no scalar. */
const char *tsim_launch_text(const struct tsim_launch_writer *w, const char *path);
/* Writes the carried settings as comments, each line behind `indent`. JSON has no comments (deepspeed_json.c) and does
 * not use it. */
void tsim_launch_write_carried(struct tsim_launch_writer *w, const char *indent);
/* Returns the name of the scenario in a form for files and jobs: small letters, digits and dashes. */
const char *tsim_launch_job_name(const struct tsim_launch_writer *w);
/* Returns whether the software is Megatron-Core with Transformer Engine, on which NeMo is built. */
bool tsim_launch_is_core(const struct tsim_launch_writer *w);
/* Returns the order of the scenario's ranks if it is that of --use-tp-pp-dp-mapping and the software has this option;
 * else NULL. */
const enum tsim_axis *tsim_launch_tp_pp_dp(const struct tsim_launch_writer *w);
/* Returns the number of replicas. */
int64_t tsim_launch_replicas(const struct tsim_launch_writer *w);

/* Returns the letter of an entry of model.pattern in --hybrid-override-pattern; '\0' if there is none. */
char tsim_launch_hybrid_letter(const struct tsim_value *entry);
/* Returns whether Megatron-Core starts the model by another program than GPT's, as it does with Mamba-2 layers. */
bool tsim_launch_is_hybrid(const struct tsim_launch_writer *w);

/* Adds the options of a GPT that Megatron-LM and NeMo share to w->options. */
void tsim_gpt_options(struct tsim_launch_writer *w);
/* Returns whether the options give the number of layers of each stage. */
bool tsim_gpt_says_stages(const struct tsim_launch_writer *w);

/* Each writes a whole file. */
void tsim_write_megatron(struct tsim_launch_writer *w);
void tsim_write_nemo(struct tsim_launch_writer *w);
void tsim_write_torchtitan(struct tsim_launch_writer *w);
void tsim_write_deepspeed(struct tsim_launch_writer *w);
void tsim_write_slurm(struct tsim_launch_writer *w);
void tsim_write_kubernetes(struct tsim_launch_writer *w);

/* Writes "    --name value \" for each option, behind `indent`, and the program. */
void tsim_write_arguments(struct tsim_launch_writer *w, const char *indent);
const char *tsim_megatron_program(const struct tsim_launch_writer *w);
/* Checks that pods can have the simulated order of ranks. If they cannot, the scenario is wrong. */
enum tsim_status tsim_job_check(const struct tsim_launch_writer *w, bool is_kubernetes, struct tsim_diags *diags);
/* Finds torchtitan's name and flavor of a model with these sizes (torchtitan.c); returns false if there is none. */
bool tsim_titan_flavor(const struct tsim_launch_writer *w, const char **name, const char **flavor);
/* Returns DeepSpeed's JSON, without the settings that it carries, on one line. */
const char *tsim_deepspeed_line(struct tsim_launch_writer *w);
