"""Policy gradient on a LoRA adapter of the embedded model: samples with their probabilities, and GRPO's update."""
