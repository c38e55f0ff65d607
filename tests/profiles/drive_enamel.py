"""ENAMEL's own evaluator: the inputs that it makes, and what it says of answers."""

import hashlib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv[1]) / "q-rz+enamel"))

from enam.evaluate import Evaluator, calc_eff_at_k, calc_exec_time


def main():
    asked = json.load(sys.stdin)
    if "values" in asked:
        best = [[float(calc_eff_at_k(row, k)) for k in range(1, len(row) + 1)] for row in asked["values"]]
        print(json.dumps({"typical": [float(calc_exec_time(row)) for row in asked["values"]], "best": best}))
        return
    codes = {int(number): samples for number, samples in asked["codes"].items()}
    evaluator = Evaluator(
        asked["dataset"], sorted(codes), n_tests=[8, 4, 4, 4], n_reps=6, hardness=[0.0, 3.0, 3.0, 4.0],
        memory_giga=4.0, timeout_factor=2.0, tolerence_sec=0.01, seed=998244353,
    )  # fmt: skip
    evaluator.make_tests()
    found = {}
    for number, samples in codes.items():
        refs = evaluator.compute_refs(number)
        said = [evaluator.evaluate1(number, code, refs, verbose=False) for code in samples]
        # An answer that is late on the easiest level is failed there with fewer than its eight tests measured.
        said = [[passed, levels, bool(taken) and len(taken[0]) < 8] for passed, levels, taken in said]
        texts = [repr(tuple(test.input)) for _, tests in evaluator.tests[number] for test in tests]
        found[number] = {"said": said, "inputs": [hashlib.sha256(text.encode()).hexdigest() for text in texts]}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
