"""Truegrade's benchmarks and profiles as external tasks of lm-evaluation-harness (``--include_path``).

Nothing here imports ``lm_eval``: the folder that `truegrade.integrations.lm_eval.task_folder` writes names the
functions of `truegrade.integrations.lm_eval.reply_scores`, and the harness calls them.
"""
