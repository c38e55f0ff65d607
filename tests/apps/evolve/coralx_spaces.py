"""What CORAL-X's configurations let vary, written out for the tests.

Sources, skishore23/coralx@fd75b33: ``config/codellama_modal.yaml``, and the deleted ``config/main.yaml`` of
``1b8597a^``. The learning rate and the epochs are the trainer's, the modules those that both files name.
"""

from truegrade.apps.evolve.genomes import ATTENTION, Space

FIXED = {"modules": (ATTENTION,), "learning_rate": (2e-4, 2e-4), "epochs": (5, 5)}

MODAL = Space(
    kinds=("lora",),
    ranks=(8, 16, 32),
    alphas=(8, 16, 32),
    dropouts=(0.05, 0.1, 0.15),
    temperature=(0.3, 0.8),
    top_p=(0.85, 0.95),
    top_k=(20, 50),
    repetition_penalty=(1.0, 1.2),
    max_tokens=(100, 300),
    **FIXED,
)

ARCHIVE = Space(
    kinds=("dora",),
    ranks=(4, 8, 16, 24, 32, 48),
    alphas=(4, 8, 16, 24, 32, 48, 64, 96),
    dropouts=(0.05, 0.1, 0.15, 0.2, 0.3),
    temperature=(0.2, 0.8),
    top_p=(0.75, 0.92),
    top_k=(20, 50),
    repetition_penalty=(1.1, 1.3),
    max_tokens=(120, 350),
    **FIXED,
)
