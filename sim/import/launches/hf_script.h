/* hf_script.h - private to import: a launch script of Hugging Face's Trainer as the settings of hf_trainer.h. */
#ifndef TSIM_IMPORT_HF_SCRIPT_H
#define TSIM_IMPORT_HF_SCRIPT_H

#include "import/launches/hf_trainer.h"

/* The classes of such a script's arguments that nothing asks for. */
extern const struct tsim_setting_class TSIM_HF_SCRIPT[];
extern const size_t TSIM_N_HF_SCRIPT;

/* Adds the arguments of the command that trains, and what its launcher says. */
enum tsim_status tsim_hf_script_read(struct tsim_recipe *r);

/* The same of a YAML file with such names. */
enum tsim_status tsim_hf_recipe_read(struct tsim_recipe *r, const struct tsim_value *root);
/* Adds what deepspeed --include, or CUDA_VISIBLE_DEVICES in the script say of the machine, where nothing else does. */
void tsim_hf_script_world(struct tsim_recipe *r);

/* Adds what settings of accelerate's file, which the recipe has by their paths, say in the keys of hf_trainer.h (accelerate.c). */
void tsim_accelerate_add(struct tsim_recipe *r);

#endif
