#!/bin/bash
DIR=${DIR:-"/opt/NeMo-Framework-Launcher"}
HYDRA_FULL_ERROR=1 python3 ${DIR}/launcher_scripts/main.py \
training=gpt3/20b \
stages=[training] \
launcher_scripts_path=${DIR}/launcher_scripts \
training.run.name="20b" \
training.trainer.num_nodes=$1 \
training.model.micro_batch_size=2 \
training.model.tensor_model_parallel_size=2 \
++training.model.fp8=true \
+training.model.optim.grad_sync_dtype=bf16
