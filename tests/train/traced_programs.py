"""An executor for programs of the list language that starts no process."""

from __future__ import annotations

import ast

from truegrade.builders.list_language import GRAMMARS, read_program
from truegrade.builders.repair_items import trace


class TracedPrograms:
    """An executor for programs of the list language: they are interpreted, which the jail's test shows equal."""

    level = 3

    def call(self, program, function, calls, on_result, **limits):
        source = program.split("\n\ndef _truegrade_call")[0]
        functions = [ast.get_source_segment(source, node) for node in ast.parse(source).body]
        terms = [read_program(function, GRAMMARS["published"]) for function in functions]
        for number, (_, kwargs) in enumerate(calls):
            try:  # of several the last chooses by number
                answered = Result(trace(terms[kwargs.get("number", 0)], kwargs["a1"])[0], None)
            except (IndexError, ZeroDivisionError) as error:
                answered = Result(None, type(error).__name__)
            if not on_result(number, answered):
                break
        return Result(None, None)


class Result:
    def __init__(self, value, error):
        self.value, self.error = value, error
        self.status, self.detail = "passed", ""
