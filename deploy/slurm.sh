#!/bin/bash
# One run as a job of Slurm, which its time limit ends and which then waits again and goes on:
#   sbatch deploy/slurm.sh humaneval --model vllm/NAME --base-url http://HOST:8000/v1 --out runs/humaneval
#   TRUEGRADE="apptainer run truegrade.sif" sbatch deploy/slurm.sh …
#SBATCH --job-name=truegrade
#SBATCH --cpus-per-task=8
#SBATCH --mem=16G
#SBATCH --time=04:00:00
#SBATCH --signal=TERM@60
#SBATCH --requeue
#SBATCH --open-mode=append

# Without the option here, srun of Slurm 22.05 and later gives the step one core.
# shellcheck disable=SC2086
srun --cpus-per-task="$SLURM_CPUS_PER_TASK" ${TRUEGRADE:-truegrade} run "$@" --workers "$SLURM_CPUS_PER_TASK"
status=$?
# 143 is SIGTERM, sent a minute before the limit. Other failures would come again.
if [ "$status" -eq 143 ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$status"
