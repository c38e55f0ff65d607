"""What runs beside a foreign grader, in its process: loads it, calls it, makes plain values of what it returns.

The jail gets the text of this file as its program, so nothing but the standard library is imported. Graders and
what they run may replace whatever they reach; the built-in names that this file uses are its own.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

globals()["__builtins__"] = dict(vars(builtins))

MAX_ITEMS, MAX_TEXT, MAX_DEPTH = 100, 2000, 6
TAIL_BYTES = 2000
COUNTED = ("score", "reward", "rewards", "scores", "passed", "is_correct", "correct")
"""Attributes of an object that say what a grader thinks."""
_held: dict[str, Any] = {}


def answer(step: str, payload: dict[str, Any]) -> Any:
    """One step of the conversation: ``open`` once, then ``grade`` or ``run`` for each probe."""
    if step == "grade":
        return called(_held["grader"], payload, _held.get("adapter"))
    return {"open": open_grader, "run": run_command}[step](payload)


# --------------------------------------------------------------------------------------------- functions


def open_grader(settings: dict[str, Any]) -> bool:
    """Set the process up as a grader finds one, and load the grader if it is a function.

    Args:
        settings: ``environment``; of a function also ``path``, put ahead of where modules are looked up;
            ``folder`` to work in, empty for the one it is in; ``grader`` and ``adapter`` as `loaded` takes them,
            or None; ``named`` and ``given``: names and number of arguments that it will get, which is ``checked``.

    Raises:
        BaseException: whatever the loading raises.
        TypeError: the function does not take these arguments.
    """
    # An interpreter started anew would look for this one's script.
    sys.modules["__main__"] = ModuleType("__main__")
    sys.path[:0] = settings.get("path", [])
    os.environ.update(settings["environment"])
    if settings.get("folder"):
        os.chdir(settings["folder"])
    if settings.get("grader"):
        _held["grader"] = loaded(*settings["grader"])
        check_callable(_held["grader"], settings["given"], settings["named"] if settings["checked"] else None)
    if settings.get("adapter"):
        _held["adapter"] = loaded(*settings["adapter"])
    return True


def loaded(module: str, file: str, attribute: str) -> Any:
    """An attribute, which may be dotted, of a module; ``file`` is the path of one in no package, else empty.

    Raises:
        AttributeError: it has none of that name.
        BaseException: whatever running it raises.
    """
    if file:
        spec = importlib.util.spec_from_file_location(module, file)
        if spec is None or spec.loader is None:
            raise ImportError(f"{file} is no Python file")
        found: Any = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(module, found)  # pickles and dataclasses look it up
        spec.loader.exec_module(found)
    else:
        found = importlib.import_module(module)
    for name in attribute.split("."):
        found = getattr(found, name)
    return found


def check_callable(function: Any, given: int, named: list[str] | None) -> None:
    """Refuse what cannot be called, or not with so many arguments and these names; raises TypeError."""
    if isinstance(function, type) or not callable(function):
        raise TypeError(f"it is a {type(function).__name__ if not isinstance(function, type) else 'class'}")
    if named is None:
        return
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    signature.bind(*[None] * given, **fitting(function, dict.fromkeys(named)))


def fitting(function: Any, named: dict[str, Any]) -> dict[str, Any]:
    """Those of the named arguments that the function takes: all, if it takes any name."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return named
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return named
    taken = {one.name for one in parameters}
    return {name: value for name, value in named.items() if name in taken}


def called(function: Any, payload: dict[str, Any], adapter: Any = None) -> Any:
    """Call a function with ``args`` and ``kwargs``, or with what an adapter makes of ``problem`` and ``reply``."""
    if adapter is None:
        named = payload["kwargs"] | of_trainer(payload.get("trainer", ()))
        value = function(*payload["args"], **fitting(function, named))
    else:
        made = adapter(payload["problem"], payload["reply"])
        if isinstance(made, dict):
            value = function(**made)
        elif isinstance(made, tuple) and [*map(type, made)] == [tuple, dict]:
            value = function(*made[0], **made[1])
        else:
            value = function(*made) if isinstance(made, tuple | list) else function(made)
    if inspect.isawaitable(value):
        import asyncio  # takes longer than all else here

        value = asyncio.run(_awaited(value))
    return plain(value)


def of_trainer(names: Any) -> dict[str, Any]:
    """Stand-ins for objects of a trainer by the names of the arguments.

    They are the state of TRL's trainer before its first step (``transformers.TrainerState``), and its two
    functions that log, whose values are dropped.
    """
    if not names:
        return {}
    from types import SimpleNamespace

    state = SimpleNamespace(
        epoch=0.0, global_step=0, max_steps=1, logging_steps=1, eval_steps=1, save_steps=1, train_batch_size=1,
        num_train_epochs=1, num_input_tokens_seen=0, total_flos=0.0, log_history=[], best_metric=None,
        best_global_step=None, best_model_checkpoint=None, is_local_process_zero=True, is_world_process_zero=True,
        is_hyper_param_search=False, trial_name=None, trial_params=None, stateful_callbacks={},
    )  # fmt: skip
    made = {
        "trainer_state": state,
        "log_extra": lambda column, values: None,
        "log_metric": lambda name, value: None,
    }
    return {name: made[name] for name in names}


async def _awaited(value: Any) -> Any:
    return await value


def plain(value: Any, depth: int = 0) -> Any:
    """Numbers, texts, lists and dictionaries for a value; ``{"opaque": type}`` for what has no such likeness."""
    if value is None or type(value) in (bool, int, float, str):
        return value[:MAX_TEXT] if type(value) is str else value
    if depth < MAX_DEPTH:
        if isinstance(value, dict):
            return {str(key): plain(value[key], depth + 1) for key in list(value)[:MAX_ITEMS]}
        if isinstance(value, list | tuple):
            return [plain(one, depth + 1) for one in value[:MAX_ITEMS]]
        return _likeness(value, depth)
    return {"opaque": type(value).__name__}


def _likeness(value: Any, depth: int) -> Any:
    """A plain value for an object: what it converts itself to, what it holds, what it is a kind of."""
    for method in ("tolist", "item"):  # arrays, tensors and their scalars
        if callable(getattr(type(value), method, None)):
            return plain(getattr(value, method)(), depth + 1)
    held = {name: getattr(value, name) for name in COUNTED if hasattr(value, name)}
    if held:
        return {name: plain(one, depth + 1) for name, one in held.items()}
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return plain(kind(value), depth + 1)
    return {"opaque": type(value).__name__}


# ---------------------------------------------------------------------------------------------- commands


def run_command(payload: dict[str, Any]) -> dict[str, Any]:
    """Run a command on files in a folder of their own, which is removed afterwards.

    Args:
        payload: ``words`` of the command, in which ``{name}`` stands for the path of a file; ``files``: name to
            file name and text.

    Returns:
        ``status``: exit status, or minus a signal; ``said``: the end of what it wrote to stdout; ``last``: of
        both streams.

    Raises:
        OSError: it cannot be started.
    """
    folder = Path(tempfile.mkdtemp(prefix="probe-"))
    try:
        paths = {name: folder / file for name, (file, _) in payload["files"].items()}
        for name, (_, text) in payload["files"].items():
            paths[name].write_text(text, encoding="utf-8", errors="surrogatepass")
        words = payload["words"]
        for name, path in paths.items():
            words = [word.replace("{" + name + "}", str(path)) for word in words]
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as errors:
            status = subprocess.run(
                words, cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=errors, check=False
            ).returncode
            out, err = _tail(said), _tail(errors)
        return {"status": status, "said": out, "last": (err or out)[-200:]}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _tail(file: Any) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - TAIL_BYTES))
    return str(file.read().decode("utf-8", "replace")).strip()
