"""A language model of 0.1 million random weights, written as a GGUF file that llama.cpp loads.

It writes nonsense, but by the same path as any other model: a real engine samples it, honours its seed, stop
strings and token limit. Architecture: Llama, 2 layers, width 64, byte-level tokenizer with two special tokens.
"""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

WIDTH, HEADS, LAYERS, HIDDEN, CONTEXT = 64, 4, 2, 128, 4096
PRINTABLE = range(0x20, 0x7F)
CHAT_TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"


def byte_tokens() -> list[str]:
    """The 256 characters that stand for the 256 bytes in a byte-level BPE vocabulary (GPT-2's mapping)."""
    shown = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in shown]
    place = {byte: byte for byte in shown} | {byte: 256 + i for i, byte in enumerate(hidden)}
    return [chr(place[byte]) for byte in range(256)]


def write_tiny_gguf(path: Path, *, seed: int = 0) -> Path:
    """Write the model to ``path``; the same seed gives the same weights."""
    tokens = [*byte_tokens(), "<s>", "</s>"]
    bos, eos = 256, 257
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.NORMAL] * 256 + [gguf.TokenType.CONTROL] * 2)
    writer.add_token_merges(["a a"])  # llama.cpp refuses an empty list; "aa" is no token, so it never applies
    writer.add_bos_token_id(bos)
    writer.add_eos_token_id(eos)
    writer.add_add_bos_token(True)
    writer.add_chat_template(CHAT_TEMPLATE)
    for name, weights in random_weights(len(tokens), seed).items():
        writer.add_tensor(name, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def random_weights(vocabulary: int, seed: int) -> dict[str, np.ndarray]:
    """Normal weights, bent so that only printable ASCII is ever sampled.

    Channel 0 carries the same value for every token and no layer writes to it, so that column 0 of the output
    matrix acts as a bias.
    """
    rng = np.random.default_rng(seed)

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(0.0, shape[-1] ** -0.5, shape).astype(np.float32)

    embedding, output = normal(vocabulary, WIDTH) * 4, normal(vocabulary, WIDTH)
    embedding[:, 0] = 4.0
    output[:, 0] = -20.0
    output[list(PRINTABLE), 0] = 0.0
    ones = np.ones(WIDTH, dtype=np.float32)
    weights = {"token_embd.weight": embedding, "output_norm.weight": ones, "output.weight": output}
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        weights |= {block + name + ".weight": ones for name in ("attn_norm", "ffn_norm")}
        weights |= {block + f"attn_{name}.weight": normal(WIDTH, WIDTH) for name in ("q", "k", "v", "output")}
        weights |= {block + f"ffn_{name}.weight": normal(HIDDEN, WIDTH) for name in ("gate", "up")}
        weights[block + "ffn_down.weight"] = normal(WIDTH, HIDDEN)
        weights[block + "attn_output.weight"][0] = weights[block + "ffn_down.weight"][0] = 0.0
    return weights
