# A recipe of NeMo 2, in functions that take arguments.
import nemo_run as run
from nemo.collections import llm
from nemo.collections.llm.recipes.precision.mixed_precision import bf16_with_fp8_mixed

NODES = 2


def configure(nodes: int = 1, gpus_per_node: int = 8, tune=False):
    recipe = llm.llama3_8b.pretrain_recipe(
        dir="/checkpoints",  # where they go
        name="pretraining",
        num_nodes=nodes,
        num_gpus_per_node=gpus_per_node,
    )
    recipe.trainer.val_check_interval = 100
    return recipe


def pretraining():
    recipe = configure(NODES, gpus_per_node=8)
    recipe.trainer.strategy.tensor_model_parallel_size = 2
    recipe.trainer.strategy.context_parallel_size = 1
    recipe.data.global_batch_size = 64 * NODES
    recipe.trainer.plugins = bf16_with_fp8_mixed()
    run.run(recipe, name="pretraining")


def tuning():
    recipe = llm.llama31_70b.finetune_recipe(name="tuning", dir="/checkpoints", num_nodes=1, peft_scheme="lora")
    recipe.peft.dim = 8
    run.run(recipe)


def other():
    recipe = llm.llama3_8b.pretrain_recipe(num_nodes=1)
    recipe.data = my_data(recipe)
    recipe.trainer.plugins = my_plugin()


def unknown():
    recipe = llm.nobody_7b.pretrain_recipe(num_nodes=1)
