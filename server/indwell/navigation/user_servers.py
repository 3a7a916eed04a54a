"""Runs the language servers in the user's settings; starts them on demand, for all sessions.

A server ends with the last session that uses the server. No server is started in a folder that is
not trusted, and a project cannot define servers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from indwell.navigation.language_server import ANSWER_S, LanguageServer, RequestRefused
from indwell.navigation.lsp_answers import CodeReply, answer_of, method_of, params_of
from indwell.navigation.navigator import CodeAnswer, CodeQuestion, SourceFailed
from indwell.sandbox.confinement import Confinement
from indwell.sandbox.spawn import spawn_server
from indwell.settings.table_types import LanguageServerSetting

# the limit of starts for one server; a server that ends more often is not started again
MOST_STARTS = 3
MOST_SYNCED = 20  # the limit of unsaved documents that are sent to a server
_log = logging.getLogger(__name__)

_SUFFIXES: Mapping[str, str] = {
    "c": ".c .h",
    "cpp": ".cc .cpp .cxx .hh .hpp .hxx",
    "csharp": ".cs",
    "css": ".css",
    "dart": ".dart",
    "elixir": ".ex .exs",
    "erlang": ".erl .hrl",
    "go": ".go",
    "haskell": ".hs",
    "html": ".html .htm",
    "java": ".java",
    "javascript": ".js .mjs .cjs",
    "javascriptreact": ".jsx",
    "json": ".json",
    "kotlin": ".kt .kts",
    "lua": ".lua",
    "ocaml": ".ml .mli",
    "perl": ".pl .pm",
    "php": ".php",
    "python": ".py .pyi",
    "ruby": ".rb",
    "rust": ".rs",
    "scala": ".scala",
    "shellscript": ".sh .bash",
    "swift": ".swift",
    "typescript": ".ts .mts .cts",
    "typescriptreact": ".tsx",
    "vue": ".vue",
    "yaml": ".yaml .yml",
    "zig": ".zig",
}
_LANGUAGES: Mapping[str, str] = {
    suffix: language for language, suffixes in _SUFFIXES.items() for suffix in suffixes.split()
}


def language_for(path: Path, setting: LanguageServerSetting) -> str | None:
    """Return a file's language, or None if the server does not support the file."""
    for glob, named in setting.files.items():
        if path.match(glob):
            return named
    language = _LANGUAGES.get(path.suffix.lower())
    return language if language in setting.languages else None


class ServerKey(NamedTuple):
    """The key of a server; sessions with the same folders and definition share a server."""

    roots: tuple[Path, ...]
    name: str
    setting: bytes


class _SharedServer:
    """A server, its users, and the number of starts."""

    def __init__(self, server: LanguageServer) -> None:
        self.server = server
        self.n_starts = 1
        self.users: set[object] = set()


class RunningServers:
    """The language servers of one process, by event loop."""

    def __init__(self) -> None:
        self._by_loop: WeakKeyDictionary[
            asyncio.AbstractEventLoop, dict[ServerKey, _SharedServer]
        ] = WeakKeyDictionary()

    @property
    def _shared(self) -> dict[ServerKey, _SharedServer]:
        return self._by_loop.setdefault(asyncio.get_running_loop(), {})

    async def get(
        self, key: ServerKey, user: object, make: Callable[[], LanguageServer]
    ) -> LanguageServer:
        """Return a server for a session; start the server if it is new or has ended.

        Raises:
            SourceFailed: The server has ended too often.
        """
        shared = self._shared.get(key)
        if shared is None:
            shared = self._shared[key] = _SharedServer(make())
        elif shared.server.is_broken and shared.n_starts < MOST_STARTS:
            broken, shared.server = shared.server, make()
            shared.n_starts += 1
            await broken.close()
        shared.users.add(user)
        return shared.server

    async def release(self, user: object) -> None:
        """Release the servers that a session uses; stop servers that no session uses."""
        ended = []
        for key, shared in tuple(self._shared.items()):
            shared.users.discard(user)
            if not shared.users:
                del self._shared[key]
                ended.append(shared.server.close())
        await asyncio.gather(*ended)


RUNNING = RunningServers()


class UserServers:
    """Asks the language servers of the settings; one object for each session.

    Args:
        running: The servers of the process.
        roots: The folders of the workspace.
        settings: Returns the servers of the user's settings, by name.
        confine: Returns a sandbox in which a program can write no file, or None if there is no
            sandbox.
        is_trusted: Returns whether the folders are trusted now.
        answer_s: The time limit for a server's answer, in seconds.
    """

    def __init__(
        self,
        running: RunningServers,
        roots: Sequence[Path],
        settings: Callable[[], Mapping[str, LanguageServerSetting]],
        confine: Callable[[], Confinement | None],
        is_trusted: Callable[[], bool],
        *,
        answer_s: float = ANSWER_S,
    ) -> None:
        self._running = running
        self._roots = tuple(roots)
        self._settings = settings
        self._confine = confine
        self._is_trusted = is_trusted
        self._answer_s = answer_s
        self._used: set[LanguageServer] = set()
        self._changed: set[Path] = set()

    async def ask(self, question: CodeQuestion) -> CodeAnswer | None:
        """Answer a question with the language servers; return None if none supports the file."""
        settings = self._settings()
        if not settings or not self._is_trusted():
            return None
        if question.path is None:
            return await self._search(question, settings)
        for name, setting in settings.items():
            if language_for(question.path, setting) is not None:
                server = await self._server(name, setting)
                return await self._asked(server, setting, question)
        return None

    async def _search(
        self, question: CodeQuestion, settings: Mapping[str, LanguageServerSetting]
    ) -> CodeAnswer | None:
        """Search the workspace with the server of each language in which the name occurs."""
        files = await question.texts.containing(question.symbol)
        answers = []
        for name, setting in settings.items():
            about = next((one for one in files if language_for(one, setting)), None)
            if about is not None:
                server = await self._server(name, setting)
                answers.append(await self._asked(server, setting, question, about))
        if not answers:
            return None
        places = tuple(place for one in answers for place in one.places)
        return CodeAnswer(", ".join(one.source for one in answers), places)

    async def _server(self, name: str, setting: LanguageServerSetting) -> LanguageServer:
        key = ServerKey(self._roots, name, msgspec.json.encode(setting))
        make = partial(self._made, name, setting)
        server = await self._running.get(key, self, make)
        await server.ready()
        self._used.add(server)
        return server

    def _made(self, name: str, setting: LanguageServerSetting) -> LanguageServer:
        bounds = self._confine() if setting.confined else None
        if setting.confined and bounds is None:
            raise SourceFailed(
                f"the language server {name} was not started: this machine has no sandbox for it; "
                f"`confined = false` in [language_servers.{name}] lets it run with all your "
                f"permissions"
            )

        async def run(**streams: Any) -> Any:  # noqa: ANN401 - as ``RunServer`` has them
            return await spawn_server(
                setting.command,
                cwd=self._roots[0],
                env={},
                confinement=bounds,
                never_in=self._roots,
                on_note=lambda note: _log.warning("language server %s: %s", name, note),
                **streams,
            )

        settings = setting.settings
        return LanguageServer(name, run, self._roots, settings, answer_s=self._answer_s)

    async def _asked(
        self,
        server: LanguageServer,
        setting: LanguageServerSetting,
        question: CodeQuestion,
        about: Path | None = None,
    ) -> CodeAnswer:
        path = question.path or about
        assert path is not None
        await self._sync(server, setting, question, path)
        if question.action == "problems":
            return CodeAnswer(server.name, problems=await server.problems(path))
        method = method_of(question)
        assert method is not None
        is_outline = question.action == "symbols" and question.path is not None
        send = server.request if is_outline else server.settled
        try:
            result = await send(method, params_of(question, server.encoding))
        except RequestRefused as error:
            refusal = str(error) if question.action == "rename" else ""
            return CodeAnswer(server.name, refusal=refusal)
        replies = [CodeReply(result, server.encoding)]
        return await asyncio.to_thread(answer_of, question, replies, server.name)

    async def _sync(
        self,
        server: LanguageServer,
        setting: LanguageServerSetting,
        question: CodeQuestion,
        path: Path,
    ) -> None:
        """Send the server all open texts that differ from the disk."""
        if self._changed:
            changed, self._changed = sorted(self._changed), set()
            for used in self._used:
                if not used.is_broken:
                    await used.changed(changed)
        texts: dict[Path, tuple[str, str]] = {}
        unsaved = question.texts.unsaved()
        for one in dict.fromkeys((*tuple(unsaved)[:MOST_SYNCED], *server.open_paths, path)):
            language = language_for(one, setting)
            text = unsaved.get(one) or await question.texts.read(one)
            if language is not None and text is not None:
                texts[one] = language, text
            elif text is None:
                await server.forget(one)
        # Move the text to the end, because the question is about this file.
        texts[path] = texts.pop(path)
        await server.sync(texts)

    def note_changed(self, paths: Sequence[Path]) -> None:
        """Remember that files have changed on disk; servers are told before the next question."""
        self._changed.update(paths if self._used else ())

    async def close(self) -> None:
        """Stop the servers that only this session uses."""
        await self._running.release(self)
