"""Reads a page as strictly as the tests need it: every element closed, everything it refers to collected."""

from __future__ import annotations

from html.parser import HTMLParser

from support.packed_samples import unpack

VOID = {"meta", "input", "br", "hr"}


class StrictPage(HTMLParser):
    """Parse ``page``; AssertionError where an element is not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.stack: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.handlers: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(page)
        self.close()
        assert self.stack == [], f"never closed: {self.stack}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "srcset", "data", "action", "poster", "xlink:href"):
                self.references.append(value)
            if name.startswith("on"):
                self.handlers.append(name)
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack, f"</{tag}> closes nothing"
        assert self.stack[-1] == tag, f"</{tag}> inside <{self.stack[-1]}>"
        self.stack.pop()

    def handle_data(self, data):
        self.texts.append((self.stack[-1] if self.stack else "", data))

    @property
    def text(self) -> str:
        """What a person reads, runs of spaces as one."""
        shown = (data for tag, data in self.texts if tag not in ("script", "style", "title"))
        return " ".join(" ".join(shown).split())

    @property
    def samples(self) -> dict:
        """The data of the sample browser: its index, all samples, all prompts."""
        names = [name.removeprefix("block-") for name in self.ids if name.startswith("block-")]
        texts = [data for tag, data in self.texts if tag == "script"]
        blocks = dict(zip(names, map(unpack, texts), strict=False))
        samples = [s for name, block in blocks.items() if name.startswith("samples-") for s in block]
        prompts = {k: v for name, block in blocks.items() if name.startswith("prompts-") for k, v in block.items()}
        return {"index": blocks["index"], "samples": samples, "prompts": prompts}
