"""What rules for files, secrets and untrusted folders say of a command, by the files it names."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache

from indwell.policy.asked import Asked, Policy
from indwell.policy.commands.verdict import Part, Verdict
from indwell.policy.named_files import named_files, named_paths
from indwell.policy.paths import is_beneath, matching_glob
from indwell.policy.rules import FileEffect, file_rule, globs_of, is_for_files
from indwell.settings.model import SECRETS

_TOKEN = re.compile(r"[^\s;&|<>()\"'$=`]+")


def by_file_rules(verdict: Verdict, asked: Asked, policy: Policy) -> Verdict:
    """The verdict, or a stricter one; by text alone, for the sandbox keeps a program from files."""
    if _acts_in_restricted(verdict, asked, policy):
        return Verdict("deny", "restricted folder", "it names a folder that is not trusted")
    own = own_globs(policy.deny)
    if not own and not any(map(is_for_files, (*policy.rules.deny, *policy.rules.ask))):
        return verdict
    effects: tuple[FileEffect, ...] = ("read", "edit")
    named = named_files(verdict.parts, asked.cwd, policy.roots)
    names = tuple(name for name in named if name.isprintable())  # no mark of what a run makes of it
    secret = next((one for one in names if matching_glob(one, own)), "")
    if secret:
        by = f"deny: {matching_glob(secret, own)}"
        return Verdict("deny", by, f"the user keeps {secret!r} from you", verdict.parts)
    for effect in effects[: 1 if verdict.reads_only else 2]:
        by_rule = file_rule(effect, names, policy.rules.deny)
        if by_rule:
            return Verdict(
                "deny",
                f"deny: {by_rule}",
                f"the user's rule {by_rule!r} denies a file that it names",
            )
        by_rule = file_rule(effect, names, policy.rules.ask)
        if by_rule and verdict.decision != "deny":
            reason = verdict.reason or "your rules ask about a file that it names"
            verdict = Verdict(
                "ask", f"ask: {by_rule}", reason, verdict.parts, widening=verdict.widening
            )
    is_known = len(names) == len(named) and all(part.folders for part in verdict.parts)
    is_sure = is_known or verdict.reads_only or verdict.decision != "allow"
    if is_sure or not globs_of("edit", (*policy.rules.deny, *policy.rules.ask)):
        return verdict
    reason = "only a run can tell which files it names, and you have rules for files"
    return Verdict("ask", "ask: edit", reason, verdict.parts, widening=verdict.widening)


def _acts_in_restricted(verdict: Verdict, asked: Asked, policy: Policy) -> bool:
    """Does it name a folder that is not trusted, and do more there than read?

    To git it is one: what only looks runs what the settings of a repository say.
    """
    if not policy.restricted:
        return False
    words = (word for part in verdict.parts for word in part.words)
    if verdict.reads_only and not any(posixpath.basename(word) == "git" for word in words):
        return False
    tokens = Part(asked.command, 0, 0, tuple(_TOKEN.findall(asked.command)), "ask", "")
    places = named_paths((*verdict.parts, tokens), asked.cwd, policy.roots)
    return any(is_beneath(place, policy.restricted) for place in places)


@lru_cache(maxsize=64)
def own_globs(deny: tuple[str, ...]) -> tuple[str, ...]:
    """Those of ``deny`` that are no defaults: what they name is denied, and not asked for."""
    if deny[: len(SECRETS)] != SECRETS:
        return deny
    spared = tuple(one for one in deny if one.startswith("!"))
    return (*(one for one in deny[len(SECRETS) :] if not one.startswith("!")), *spared)
