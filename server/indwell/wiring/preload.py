"""Prepares everything that a first prompt needs, as soon as a prompt seems likely."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import importlib
import logging
import pkgutil
import sys
from functools import partial
from pathlib import Path

import msgspec

from indwell.policy.commands.dangerous import why_dangerous
from indwell.policy.paths import matches_any
from indwell.service.endpoint.editor_models import NO_EDITOR, EditorModels
from indwell.settings.load import lacking
from indwell.settings.model import Settings
from indwell.wiring.model import Model, make_model, uses_editor

_M_TRIM_THRESHOLD = -1  # The number comes from malloc.h of glibc.
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
# The unit is bytes: glibc's initial value rises with every freed large block.
_LARGE_B = 128 * 1024


def give_memory_back() -> None:
    """Use one arena for all threads, allocate large blocks separately, and return free memory.

    By default each thread gets its own arena, and a freed block of up to 32 MB raises the size from
    which blocks are allocated separately. During ten minutes, the default kept 5 MB more than was
    in use (``tests/faults/soak.py``). Python's own lock is held during an allocation, so one arena
    costs nothing. Only glibc has these settings; other C libraries need the settings less.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)
        mallopt(_M_MMAP_THRESHOLD, _LARGE_B)
        mallopt(_M_TRIM_THRESHOLD, _LARGE_B)


_log = logging.getLogger(__name__)

_LIBRARIES = (
    *("rapidfuzz.distance", "rapidfuzz.process", "rapidfuzz.fuzz", "rapidfuzz.utils"),
    *("wcmatch.glob", "watchdog.events", "watchdog.observers"),
)
"""Modules that other code imports only when it needs the modules."""
_FLOORS = tuple(
    f"indwell.{one}"
    for one in (
        *("agent", "context", "files", "lsp", "policy", "prompt", "review", "sandbox"),
        *("secrets", "service", "sessions", "skills", "tools", "wiring", "workspace"),
    )
)
"""Other modules are loaded with the model, or are used only by some models (13 MB)."""


def warm_up(settings: Settings) -> None:
    """Import and read everything that a prompt needs; call this in a thread, for a second.

    The preparation uses no network. If a prompt comes first, the prompt loads the rest.
    """
    from indwell.bounds.command_bounds import strength
    from indwell.policy.commands.judge import judge
    from indwell.policy.commands.path_rules import Situation
    from indwell.providers import client, facts, retry
    from indwell.sandbox.shells import prefer_shell
    from indwell.tools.commands.bash import Shell
    from indwell.wiring import compose
    from indwell.wiring.features import standard_tools

    del compose, retry  # Only the imports are needed.
    prefer_shell(settings.command_shell)
    standard_tools(Shell(Path.cwd(), timeout_s=1.0))  # The call creates the schemas, once.
    matches_any("any.txt", settings.deny)  # The call compiles the patterns of secret files, once.
    why_dangerous("rm any.txt")  # The call loads the parser.
    judge("ls any.txt", Situation())
    strength()  # The call tests the sandbox, once per process.
    client.warm_up()
    facts.warm_up()
    # All loaded objects stay, so searching them for garbage would only delay the editor by 0.2 s.
    gc.freeze()


def load_rest() -> None:
    """Import everything that turns, rewinds and sessions need later; call this in a thread.

    An update may replace or delete the files of a running server.
    """
    for name in _LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for name in _FLOORS:
        _load_below(name)
    gc.freeze()  # All loaded objects stay, as above.
    _log.debug("all modules are loaded")


def _load_below(name: str) -> None:
    loaded = importlib.import_module(name)
    below = getattr(loaded, "__path__", ())  # A package may be a single module.
    for found in pkgutil.iter_modules(below, f"{name}."):
        if found.ispkg:
            _load_below(found.name)
        else:
            importlib.import_module(found.name)


class WarmModels:
    """Creates models in threads; one model may be ready before a session needs it.

    Args:
    pace_s: Seconds between two parts of the scripted model's text.
    """

    def __init__(self, *, pace_s: float = 0.0) -> None:
        self._pace_s = pace_s
        self._ready: tuple[Settings, asyncio.Future[Model]] | None = None
        self._warming: asyncio.Task[None] | None = None
        self._loading: asyncio.Task[None] | None = None

    def begin(self, settings: Settings) -> None:
        """Prepare for a prompt that may come; once, and without a report of failures.

        The preparation never reads a key from the keyring, because a dialog could open before the
        user has asked for anything.
        """
        if self._warming is None and settings.provider != "scripted":
            _spare_memory()
            self._warming = asyncio.create_task(self._warm(settings))

    async def get(self, settings: Settings, editor: EditorModels = NO_EDITOR) -> Model:
        """Create the model that ``settings`` name, for one session.

        Raises:
            UserError: The model cannot be used; the message says what to do.
        """
        if self._warming is None:
            _spare_memory()
            self._load_rest()
        if uses_editor(settings):
            await editor.look()
        # The key may have changed before the next session begins.
        ready, self._ready = self._ready, None
        if ready is not None and ready[0] == _of_model(settings):
            return await ready[1]
        return await self._made(settings, editor)

    async def _warm(self, settings: Settings) -> None:
        await asyncio.to_thread(warm_up, settings)
        if self._ready is None and not lacking(settings) and not uses_editor(settings):
            self._ready = _of_model(settings), self._made(settings, NO_EDITOR)
            await asyncio.wait({self._ready[1]})
        self._load_rest()

    def _load_rest(self) -> None:
        """Import the remaining modules while the first prompt runs, which does not need them."""
        if self._loading is None:
            self._loading = asyncio.create_task(asyncio.to_thread(_load_rest_logged))

    def _made(self, settings: Settings, editor: EditorModels) -> asyncio.Future[Model]:
        make = partial(make_model, settings, pace_s=self._pace_s, editor=editor)
        return asyncio.get_running_loop().run_in_executor(None, make)


def _load_rest_logged() -> None:
    try:
        load_rest()
    # The import failed after an update; the code that needs the module reports the error.
    except ImportError:
        _log.exception("not all modules could be loaded")


def _of_model(settings: Settings) -> Settings:
    """Return ``settings`` without the values that every turn may choose for itself."""
    return msgspec.structs.replace(settings, mode=Settings().mode)


def _spare_memory() -> None:
    """Limit the memory arenas; call this before there are threads, whose arenas keep memory."""
    give_memory_back()
