"""What a command does: wrappers and shells are opened, then the tables of programs are asked."""

from __future__ import annotations

import msgspec

from indwell.policy.commands.doers import doing
from indwell.policy.commands.flags import UnknownOption
from indwell.policy.commands.git import git
from indwell.policy.commands.items import Simple
from indwell.policy.commands.places import TEMPORARY, Grounds
from indwell.policy.commands.readers import reading
from indwell.policy.commands.use import Use, working
from indwell.policy.commands.words import Word
from indwell.policy.commands.wrappers import (
    QUIET,
    SHELLS,
    base_name,
    fed_by_xargs,
    is_unknown_option,
    program_name,
    read_by_xargs,
    sets_variables,
    shell_text,
    unwrapped,
)
from indwell.policy.paths import is_beneath
from indwell.policy.widening import ANY_HOST


def use_of(words: tuple[Word, ...], one: Simple, grounds: Grounds) -> Use:
    """What a command does.

    Args:
        words: Its words, which need not be all of the simple command: a wrapper's are fewer.
        one: The simple command.
        grounds: What paths are seen from.
    """
    name = program_name(words[0])
    lower = base_name(words[0]).lower()
    text = shell_text(words)
    if text is not None and lower in SHELLS:
        if not text.is_literal:
            return Use("unknown", "runs a text that only a run can tell")
        return working("runs a text in another shell", text.text)
    if lower in SHELLS:
        return _shell(words, one)
    if name == "eval":
        if all(word.is_literal for word in words[1:]):
            return working("'eval' runs its words", " ".join(word.text for word in words[1:]))
        return Use("unknown", "'eval' runs what only a run can tell")
    try:
        inner = unwrapped(words)
    except UnknownOption as error:
        return Use("unknown", f"{lower!r} runs another program, and {is_unknown_option(error)}")
    if not name:  # one of its own folder, whatever it is called; what it is given counts as well
        own = _of_folder(words, grounds)
        return msgspec.structs.replace(own, inner=(inner,)) if inner else own
    if inner is not None:
        return _wrapped(name, words, inner)
    if name == "git":
        return git(words[1:])
    return reading(name, words[1:]) or doing(name, words[1:])


def _shell(words: tuple[Word, ...], one: Simple) -> Use:
    """A shell that runs a file, or what it is fed."""
    operands = [word for word in words[1:] if not word.text.startswith("-")]
    if operands:
        return Use("writes", "runs a script", reads=tuple(operands[:1]), is_work=True)
    if one.input:
        return working("runs what it is fed", *one.input)
    return Use("unknown", "runs whatever it reads")


def _wrapped(name: str, words: tuple[Word, ...], inner: tuple[Word, ...]) -> Use:
    if not inner:
        quiet = name in {"env", "nice"} or (name == "xargs" and all(w.is_literal for w in words))
        return Use("reads" if quiet else "unknown", f"{name!r} runs nothing that can be seen")
    if name in {"sudo", "doas"}:
        return Use("privileged", f"{name!r} runs it with all rights", inner=(inner,))
    if name == "npx":  # what it runs is a package, whatever its name
        return Use("network", "'npx' may load a program from the network", hosts=(ANY_HOST,))
    if name == "xargs":
        return Use("reads", reads=read_by_xargs(words), inner=(fed_by_xargs(words, inner),))
    if name in QUIET and not sets_variables(words):
        return Use("reads", inner=(inner,))
    reason = f"{name!r} changes how a program runs"
    return Use("writes", reason, inner=(inner,), is_work=True)


def _of_folder(words: tuple[Word, ...], grounds: Grounds) -> Use:
    """A program by its path, or one that is not known before it runs."""
    first = words[0]
    if not first.is_literal or not first.text:
        return Use("unknown", "only a run can tell which program that is")
    if "/" in first.text and any(
        grounds.is_inside(path) or is_beneath(path, TEMPORARY)
        for path in grounds.paths(first.text, ("",))
    ):
        return working(f"runs a program of the workspace, {first.text!r}")
    return Use("unknown", f"runs the program {first.text!r}, which is not known")
