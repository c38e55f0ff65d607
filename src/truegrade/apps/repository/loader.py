"""What stands before an answer: the modules of its package, without what it is to write.

The text of `load_without_answer` is the beginning of a problem's prefix, so it imports the standard library alone.
"""

from __future__ import annotations

from typing import Any


def load_without_answer(packed: str, module: str, answer: str, namespace: dict[str, Any]) -> None:
    """Make the modules importable, import one, and give a namespace its names, all but one.

    Args:
        packed: JSON, compressed, in base 85: dotted names to path, whether it is a package, and text.
        module: the one that the answer belongs to.
        answer: name of the function that is missing; what stands for it in the module looks for it in the
            namespace when it is called.
        namespace: of the program.
    """
    import base64
    import importlib
    import importlib.util
    import json
    import sys
    import zlib

    run, to_code = exec, compile  # the module may have its own, and its names become this one's
    texts = json.loads(zlib.decompress(base64.b85decode(packed)))

    class Finder:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> Any:
            if name not in texts:
                return None
            return importlib.util.spec_from_loader(name, Finder, is_package=texts[name][1])  # type: ignore[arg-type]

        @staticmethod
        def create_module(spec: object) -> None:
            return None

        @staticmethod
        def exec_module(loaded: Any) -> None:
            path, _, text = texts[loaded.__name__]
            loaded.__file__ = path
            if loaded.__name__ == module:
                loaded._truegrade_answer = namespace
            run(to_code(text, path, "exec", dont_inherit=True), loaded.__dict__)

    for name in texts:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, Finder)
    made = importlib.import_module(module)
    hidden = (answer, "_truegrade_answer")
    shown = {name: value for name, value in vars(made).items() if not (name[:2] == name[-2:] == "__")}
    namespace.update({name: value for name, value in shown.items() if name not in hidden})
    namespace["__package__"] = made.__package__
