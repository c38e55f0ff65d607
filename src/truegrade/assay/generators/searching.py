"""Searching for an input on which a program that all known inputs accept differs from the references."""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec

from truegrade.assay.generators.domain import Arguments, Domain
from truegrade.assay.generators.mutating import ValueMutator
from truegrade.assay.generators.named import named_calls
from truegrade.assay.labelling import OracleLabeller
from truegrade.assay.oracle import OracleInput, ProblemOracle
from truegrade.assay.oracle_building import generated_inputs, rule_of, valid_inputs
from truegrade.assay.records import Witness
from truegrade.grading.executor import Executor

MOST_NAMED = 60
"""Inputs that a program names, in a batch of their own: a reference may take many steps on a large one."""
BATCH = 100
"""Inputs that are validated and asked together."""


class FoundWitness(msgspec.Struct, frozen=True, kw_only=True):
    """An input that shows a program to be wrong."""

    input: OracleInput
    witness: Witness


def find_witness(
    oracle: ProblemOracle,
    domain: Domain,
    program: str,
    executor: Executor,
    *,
    budget_inputs: int,
    seed: int = 0,
    beyond: bool = False,
) -> FoundWitness | None:
    """Search the domain near known inputs and near the constants of a program.

    Args:
        oracle: of the problem; its inputs are known not to tell the program from the references.
        domain: of its inputs (`infer_domain`).
        program: whole.
        executor: the jail.
        budget_inputs: the most inputs to try.
        seed: equal seeds give equal inputs.
        beyond: try inputs as well that only the program names, which may be larger than the known ones.
    """
    known = [one.arguments for one in oracle.inputs]
    programs = [program, *oracle.references]
    own_seed = f"{seed} {oracle.problem_id} {program}"
    fresh = generated_inputs(rule_of(oracle), known, programs, seed=own_seed, limit=budget_inputs, domain=domain)
    for start in range(0, len(fresh), BATCH):
        found = _differing(oracle, program, fresh[start : start + BATCH], executor)
        if found is not None:
            return found
    if not beyond or not oracle.entry_point:
        return None
    mutator = ValueMutator(random.Random(own_seed))
    named = named_calls(domain, program, oracle.references, mutator, limit=MOST_NAMED)
    return _differing(oracle, program, named, executor)


def _differing(
    oracle: ProblemOracle, program: str, inputs: Sequence[Arguments], executor: Executor
) -> FoundWitness | None:
    """The first valid input on which the program is wrong."""
    valid = valid_inputs(oracle.references, rule_of(oracle), inputs, executor).inputs
    asked = tuple(OracleInput(arguments=arguments, source="generated") for arguments in valid)
    labelled = OracleLabeller(msgspec.structs.replace(oracle, inputs=asked), executor).label(program)
    if labelled.witness is None:
        return None
    calls = {rule_of(oracle).written(one.arguments): one for one in asked}
    return FoundWitness(input=calls[labelled.witness.call], witness=labelled.witness)
