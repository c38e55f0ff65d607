"""DSL-List, built anew: programs of a small language of list functions, with inputs and outputs."""

from truegrade.builders.dsl_list.build import DslListOptions, build, variant_of
from truegrade.builders.dsl_list.operations import GRAMMARS, Type
from truegrade.builders.dsl_list.terms import Fitted, Weights, fit, read_weights

__all__ = ["GRAMMARS", "DslListOptions", "Fitted", "Type", "Weights", "build", "fit", "read_weights", "variant_of"]
