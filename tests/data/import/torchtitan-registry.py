# One configuration as torchtitan's config_registry.py has them (made up).
from torchtitan.config import ActivationCheckpointConfig, CompileConfig, ParallelismConfig, TrainingConfig

from . import model_registry

SEQUENCE = 2 * 4096


def llama3_70b_tp8() -> Trainer.Config:
    """Says (nothing."""
    compile_config = CompileConfig(enable=True, components=["model", "loss"])
    is_compiled = compile_config.enable and "model" in compile_config.components
    config = Trainer.Config(
        model_spec=model_registry(
            "70B",
            converters=[Float8LinearConverter.Config(enable_fsdp_float8_all_gather=True, model_compile_enabled=is_compiled)],
        ),
        optimizer=OptimizersContainer.Config(lr=8e-5),
        training=TrainingConfig(local_batch_size=8, seq_len=SEQUENCE, steps=1000),
        parallelism=ParallelismConfig(tensor_parallel_degree=4),
        activation_checkpoint=ActivationCheckpointConfig(mode="full"),
        compile=compile_config,
    )
    config.parallelism.tensor_parallel_degree = 8  # afterwards
    return config
