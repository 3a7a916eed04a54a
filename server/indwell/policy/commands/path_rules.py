"""Rules for the paths that a command names: secret, protected, outside the workspace."""

from __future__ import annotations

from collections.abc import Sequence

from indwell.policy.commands.finding import Finding, ask, secret, shown
from indwell.policy.commands.places import SINKS, TEMPORARY, Grounds
from indwell.policy.commands.shell_words import HOME, STAR, UNKNOWN
from indwell.policy.commands.use import Use
from indwell.policy.commands.words import Word
from indwell.policy.paths import is_beneath
from indwell.policy.widening import Widening

_SHALLOW = Use("reads")


class PathRules:
    """What paths ask for.

    Args:
        grounds: What they are seen from.
        are_hidden: A sandbox hides secret files, and keeps writes in the workspace.
    """

    def __init__(self, grounds: Grounds, *, are_hidden: bool) -> None:
        self._grounds = grounds
        self._are_hidden = are_hidden

    def secret(
        self, words: Sequence[Word], folders: tuple[str, ...], use: Use = _SHALLOW
    ) -> Finding | None:
        """Secret files among what is read, or beneath it."""
        are_hidden = self._are_hidden and not use.is_past
        for word in words:
            for text in _path_texts(word):
                for path in self._grounds.paths(text, folders or ("",)):
                    if self._grounds.is_secret(path, are_hidden=are_hidden):
                        return secret(text)
        if self._are_hidden:
            return self._far(words, folders, is_deep=use.is_deep)
        if not use.is_deep:
            return None
        for text in [text for word in words for text in word.options] or ["."]:
            for path in self._grounds.paths(text, folders or ("",)):
                if self._grounds.holds_secrets(path, use.skips_hidden, use.only):
                    return secret(text)
        return None

    def _far(
        self, words: Sequence[Word], folders: tuple[str, ...], *, is_deep: bool
    ) -> Finding | None:
        """Whole folders outside the workspace, where no sandbox knows what is secret."""
        if not (self._grounds.roots or self._grounds.cwd):
            return None
        for word in words:
            if word.source.startswith("<("):
                continue  # a pipe
            for text in word.options if is_deep else [one for one in word.options if STAR in one]:
                for path in self._grounds.paths(text, folders or ("",)):
                    if not (
                        self._grounds.is_inside(path)
                        or self._grounds.is_open(path)
                        or is_beneath(path, TEMPORARY)
                    ):
                        return ask("outside", f"searches {shown(text)!r}, outside the workspace")
        return None

    def protected(self, words: Sequence[Word], folders: tuple[str, ...]) -> Finding | None:
        """Protected files among what is written."""
        for word in words:
            for text in _path_texts(word):
                for path in self._grounds.paths(text, folders or ("",)):
                    if self._grounds.is_protected(path):
                        return ask(
                            "protected",
                            f"{shown(text)!r} configures tools that run on this machine",
                            Widening(unconfined=True),
                        )
        return None

    def outside(self, word: Word, folders: tuple[str, ...]) -> str:
        """What a word names outside the workspace that not everybody may read; or nothing."""
        for text in _path_texts(word):
            for path in self._grounds.paths(text, folders):
                if not (self._grounds.is_inside(path) or self._grounds.is_open(path)):
                    return shown(text)
        return ""

    def unwritable(self, word: Word, folders: tuple[str, ...]) -> str:
        """What a word names that the sandbox does not let be written; or nothing."""
        if not word.is_known:
            return ""  # the sandbox tells
        for text in _path_texts(word):
            for path in self._grounds.paths(text, folders or ("",)):
                inside = self._grounds.is_inside(path) or is_beneath(path, TEMPORARY)
                if not (inside or path in SINKS):
                    return shown(text)
        return ""

    def is_scratch(self, word: Word, folders: tuple[str, ...]) -> bool:
        """Does a word surely name what a sandbox has for itself: beneath ``/tmp``, or no file?"""
        paths = [
            path
            for text in _path_texts(word)
            for path in self._grounds.paths(text, folders or ("",))
        ]
        return word.is_known and bool(folders) and bool(paths) and all(map(self._is_own, paths))

    def _is_own(self, path: str) -> bool:
        if path in SINKS:
            return True
        is_sure = path.startswith("/") and not any(one in path for one in (STAR, HOME, UNKNOWN))
        is_beside = is_sure and is_beneath(path, TEMPORARY) and not self._grounds.is_inside(path)
        return is_beside and not any(is_beneath(root, (path,)) for root in self._grounds.roots)


def _path_texts(word: Word) -> list[str]:
    """What of a word may be a path: it, and what stands behind an option's name."""
    texts = []
    for text in word.options:
        if not text.startswith("-"):
            texts.append(text)
        elif "=" in text:
            texts.append(text.partition("=")[2])
        elif len(text) > 2 and not text.startswith("--") and text[2:] != "/":  # noqa: PLR2004
            texts.append(text[2:])  # `-fFILE`, but not `cut -d/`
    return [text for text in texts if text]
