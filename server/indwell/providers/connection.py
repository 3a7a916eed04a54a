"""What is told of an endpoint: steps of a test, servers on this machine, how a login ended."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from indwell.providers.models import OfferedModel

State: TypeAlias = Literal["ok", "warn", "fail", "skipped"]


class Step(msgspec.Struct, frozen=True):
    """One thing that was tried.

    Attributes:
        name: ``reachable``, ``key``, ``models``, ``streaming``, ``tools``, ``stored``.
        state: How it went.
        sentence: What was seen, in plain words.
        mend: What to do about it; empty if nothing is to be done.
    """

    name: str
    state: State
    sentence: str
    mend: str = ""

    @property
    def words(self) -> str:
        """The sentence, with what to do."""
        return f"{self.sentence}; {self.mend}" if self.mend else self.sentence


class LocalServer(msgspec.Struct, frozen=True):
    """A model server that runs on this machine.

    Attributes:
        name: Of its row in the catalogue.
        title: As people call it.
        base_url: Where its API starts.
        models: What it offers; empty if nothing is loaded.
        needs_key: It answered that it wants a key.
        warning: What will disturb, such as a context that is too small; and how to mend it.
    """

    name: str
    title: str
    base_url: str
    models: tuple[OfferedModel, ...] = ()
    needs_key: bool = False
    warning: str = ""

    @property
    def is_ready(self) -> bool:
        """Can it be used as it runs now?"""
        return bool(self.models) and not self.needs_key


class LoginOutcome(msgspec.Struct, frozen=True):
    """How the attempt to connect to an endpoint, and to store it, ended.

    Attributes:
        ok: Endpoint, model and key were tested and are stored; else nothing is.
        base_url: Of the endpoint.
        model: The chosen one; empty if it did not come that far.
        steps: What was tried, in order.
        message: The end in one sentence.
        notes: What the user should know besides, a sentence each.
        offered: What can be chosen, where no model was: the same once more, with one of them.
        origin: The key is the client's to keep, for this origin; empty if it is kept here.
    """

    ok: bool
    base_url: str
    model: str
    steps: tuple[Step, ...]
    message: str
    notes: tuple[str, ...] = ()
    offered: tuple[OfferedModel, ...] = ()
    origin: str = ""


def failure(steps: tuple[Step, ...]) -> Step | None:
    """The first step that failed."""
    return next((step for step in steps if step.state == "fail"), None)
