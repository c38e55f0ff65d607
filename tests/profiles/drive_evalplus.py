"""EvalPlus' own functions, with tree-sitter (the extra `parity`)."""

import ast
import base64
import json
import pickle
import sys
import types
from pathlib import Path

REPOSITORY = Path(sys.argv[1]) / "evalplus+evalplus"


def stub(name, **members):
    module = sys.modules[name] = types.ModuleType(name)
    module.__dict__.update(members)


def prepare():
    sys.path.insert(0, str(REPOSITORY))
    stub("psutil", virtual_memory=lambda: types.SimpleNamespace(total=1 << 40))
    stub("termcolor", colored=None, cprint=None)
    names = ("get_human_eval_plus", "get_mbpp_plus", "load_solutions", "write_directory", "write_jsonl")
    stub("evalplus.data", **dict.fromkeys(names))


def published_examples():
    """(reply, entry point, result) of the project's own tests of its sanitizer, made with tree-sitter."""
    tree = ast.parse((REPOSITORY / "tests" / "test_treesitter_sanitizer.py").read_text())
    for test in tree.body:
        texts = {}
        for node in ast.walk(test):
            if isinstance(node, ast.Assign):
                texts[node.targets[0].id] = ast.literal_eval(node.value)
            if isinstance(node, ast.Compare) and node.left.func.id == "sanitize" and len(node.left.args) == 2:
                yield texts[node.left.args[0].id], node.left.args[1].value, ast.literal_eval(node.comparators[0])


def check(request):
    """Base and plus statuses, as `evaluate.check_correctness` gets them, with outputs of the peer's own making."""
    from evalplus.eval import untrusted_check
    from evalplus.eval._special_oracle import MBPP_OUTPUT_NOT_NONE_TASKS
    from evalplus.gen.util import trusted_exec
    from evalplus.sanitize import sanitize

    groups = pickle.loads(base64.b64decode(request["inputs"]))
    dataset, entry_point = request["dataset"], request["entry_point"]
    solution = sanitize(request["reply"], entry_point) if "reply" in request else request["solution"]
    not_none = dataset == "mbpp" and entry_point in MBPP_OUTPUT_NOT_NONE_TASKS
    statuses = []
    for inputs in groups:
        expected, seconds = trusted_exec(request["reference"], inputs, entry_point, True, not_none)
        arguments = (dataset, solution, inputs, entry_point, expected, request["atol"], seconds)
        statuses.append(untrusted_check(*arguments, fast_check=True)[0])
    return statuses


def main():
    requests = json.load(sys.stdin)
    prepare()
    from evalplus.provider import utility
    from evalplus.sanitize import code_extract, sanitize

    print(json.dumps({
        "spans": [code_extract(reply) for reply in requests["replies"]],
        "sanitized": [sanitize(reply, entry) for reply, entry in requests["sanitize"]],
        "published": list(published_examples()),
        "statuses": [check(request) for request in requests["checks"]],
        "stops": [utility.EOS, utility.extra_eos_for_direct_completion("humaneval"),
                  utility.extra_eos_for_direct_completion("mbpp")],
        "chat": utility.make_raw_chat_prompt(
            requests["prompt"], "<instruction>", "<response>",
            types.SimpleNamespace(chat_template="", apply_chat_template=lambda turns, tokenize: "|".join(
                turn["content"] for turn in turns))),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
