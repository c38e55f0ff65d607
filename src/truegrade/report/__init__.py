"""What a person sees: text for the terminal, progress, and one self-contained page. Reads runs, runs nothing."""
