"""Answers ``initialize`` without the protocol's heavy libraries. Pure.

Importing lsprotocol takes a quarter of a second, for which a starting editor should not wait. The
server's capabilities are therefore plain data, which ``tests/wire/test_handshake.py`` compares with
the registered handlers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from indwell import __version__
from indwell.compatibility import PROTOCOL
from indwell.lsp.messages.features import (
    ACTION_KINDS,
    CHAT_FEATURES,
    CHAT_OPTIONS,
    COMMAND_NAMES,
    METHOD_NAMES,
    VIRTUAL_SCHEMES,
    dynamic_chat_features,
    has_text_documents,
    names_encodings,
)
from indwell.lsp.wire import base_protocol
from indwell.lsp.wire.base_protocol import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    Drop,
    Framer,
    Leave,
    Refuse,
    RpcRequest,
    Take,
    framed,
    verdict,
)
from indwell.prepared_types import prepared

# If the editor does not say how it counts columns, complete texts are safer than changes.
_WHOLE, _INCREMENTAL = 1, 2
_ENCODINGS = ("utf-8", "utf-16", "utf-32")


class _WorkspaceFolder(msgspec.Struct):
    uri: str


class _Params(msgspec.Struct, rename="camel"):
    capabilities: dict[str, Any] = msgspec.field(default_factory=dict)
    process_id: int | None = None
    root_uri: str | None = None
    root_path: str | None = None
    workspace_folders: list[_WorkspaceFolder] | None = None
    initialization_options: Any = None
    client_info: Any = None
    locale: Any = None

    @property
    def client(self) -> str:
        info = self.client_info
        name = info.get("name") if isinstance(info, dict) else None
        return name if isinstance(name, str) else ""

    @property
    def client_version(self) -> str:
        info = self.client_info
        version = info.get("version") if isinstance(info, dict) else None
        return version if isinstance(version, str) else ""


class ClientIdentity(msgspec.Struct, frozen=True):
    """The editor's description of itself in ``initialize``.

    Attributes:
        process_id: The process of the editor, or None if unknown; the server ends with this
            process.
        capabilities: The capabilities as the editor declared them.
        encoding: The code units of positions: ``utf-8``, ``utf-16`` or ``utf-32``.
        folder_uris: The workspace's folders, in order, without repetition.
        folder_path: The folder's path, from an old editor without URIs; empty from other editors.
        options: The object ``initializationOptions``, or empty if missing.
        client: The editor's name, or empty if the editor sent no name.
        client_version: The editor's version, or empty if the editor sent no version.
        locale: The locale of the editor's user interface, such as ``de``, or empty if unknown.
    """

    process_id: int | None = None
    capabilities: Mapping[str, Any] = {}
    encoding: str = "utf-16"
    folder_uris: tuple[str, ...] = ()
    folder_path: str = ""
    options: Mapping[str, Any] = {}
    client: str = ""
    client_version: str = ""
    locale: str = ""


class Opening:
    """Handles a connection up to the answer of ``initialize``; performs no input or output.

    Args:
        framer: The connection's framer, which the open connection uses afterwards.
        admits: Returns whether an ``initializationOptions.token`` is correct. No token is needed if
            only the editor can reach the connection.
        on_initialize: Called with the bodies of each ``initialize`` and its answer.

    Attributes:
        opened: The editor's description, after ``initialize``.
        rest: Bodies that arrived after ``initialize``.
        leave: The exit code, if the connection has ended.
    """

    def __init__(
        self,
        framer: Framer,
        admits: Callable[[str], bool] = lambda _token: True,
        on_initialize: Callable[[bytes, bytes], object] = lambda _body, _reply: None,
    ) -> None:
        self._framer = framer
        self._admits = admits
        self._on_initialize = on_initialize
        self.opened: ClientIdentity | None = None
        self.rest: list[bytes] = []
        self.leave: int | None = None

    def receive(self, data: bytes) -> bytes:
        """Process received bytes; return the framed bytes to send back."""
        bodies = self._framer.feed(data)
        replies: list[bytes] = []
        for number, body in enumerate(bodies):
            reply = self._take(body)
            replies += [framed(reply)] if reply else []
            if self.opened is not None or self.leave is not None:
                self.rest = bodies[number + 1 :]
                break
        if self._framer.broken and self.opened is None:
            self.leave = 1
        return b"".join(replies)

    def _take(self, body: bytes) -> bytes:
        message = base_protocol.opened(body)
        match verdict("unopened", message):
            case Refuse(error=error):
                return base_protocol.refusal(error.id, error.code, error.message)
            case Leave(code=code):
                self.leave = code
                return b""
            case Drop():
                return b""
            case Take():
                assert isinstance(message, RpcRequest)
                reply = self._initialize(message)
                self._on_initialize(body, reply)
                return reply

    def _initialize(self, request: RpcRequest) -> bytes:
        try:
            params = _params(base_protocol.parsed(request.params))
        except (ValueError, RecursionError) as error:
            return base_protocol.refusal(request.id, INVALID_PARAMS, f"initialize: {error}")
        options = params.initialization_options
        plain = dict(options) if isinstance(options, dict) else {}
        given = plain.pop("token", "")
        if not self._admits(given if isinstance(given, str) else ""):
            self.leave = 1
            words = "this connection needs the token that the server printed when it started"
            return base_protocol.refusal(request.id, INVALID_REQUEST, words)
        uris = [folder.uri for folder in params.workspace_folders or ()]
        if not uris and params.root_uri:
            uris = [params.root_uri]
        self.opened = ClientIdentity(
            process_id=params.process_id,
            capabilities=params.capabilities,
            encoding=_encoding(params.capabilities),
            folder_uris=tuple(dict.fromkeys(uris)),
            folder_path=params.root_path or "",
            options=plain,
            client=params.client,
            client_version=params.client_version,
            locale=params.locale if isinstance(params.locale, str) else "",
        )
        return base_protocol.answer(request.id, _result(self.opened))


def _params(value: object) -> _Params:
    try:
        return msgspec.convert(value, prepared(_Params))
    except msgspec.ValidationError:
        if not isinstance(value, dict) or not isinstance(value.get("processId"), float):
            raise
        return msgspec.convert({**value, "processId": int(value["processId"])}, prepared(_Params))


def _result(opened: ClientIdentity) -> Mapping[str, Any]:
    renamed = {"filters": [{"scheme": "file", "pattern": {"glob": "**/*"}}]}
    workspace: dict[str, Any] = {
        "workspaceFolders": {"supported": True, "changeNotifications": True},
        "fileOperations": {"didRename": renamed},
    }
    if has_text_documents(opened.capabilities):
        workspace["textDocumentContent"] = {"schemes": list(VIRTUAL_SCHEMES)}
    return {
        "capabilities": {
            "positionEncoding": opened.encoding,
            "textDocumentSync": {
                "openClose": True,
                "change": _INCREMENTAL if names_encodings(opened.capabilities) else _WHOLE,
                "save": True,
            },
            **_notebooks(opened.capabilities),
            "codeActionProvider": {"codeActionKinds": list(ACTION_KINDS)},
            "codeLensProvider": {"resolveProvider": False},
            "executeCommandProvider": {"commands": list(COMMAND_NAMES)},
            "workspace": workspace,
            **_chat_providers(opened.capabilities),
            "experimental": {
                "indwell": {
                    "protocol": PROTOCOL,
                    "methods": list(METHOD_NAMES),
                    "commands": list(COMMAND_NAMES),
                }
            },
        },
        "serverInfo": {"name": "indwell", "version": __version__},
    }


def _notebooks(capabilities: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the capabilities for notebooks, if the editor supports notebooks."""
    if not isinstance(capabilities.get("notebookDocument"), Mapping):
        return {}
    selector = {"notebook": {"notebookType": "jupyter-notebook", "scheme": "file"}}
    return {"notebookDocumentSync": {"notebookSelector": [selector], "save": True}}


def _chat_providers(capabilities: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add chat requests for all documents, if the editor cannot register them for chats only."""
    dynamic = dynamic_chat_features(capabilities)
    return {f"{name}Provider": CHAT_OPTIONS[name] for name in CHAT_FEATURES if name not in dynamic}


def _encoding(capabilities: Mapping[str, Any]) -> str:
    """Return the editor's first position encoding that the server supports; default utf-16."""
    general = capabilities.get("general")
    offered = general.get("positionEncodings") if isinstance(general, Mapping) else None
    wanted = offered if isinstance(offered, list) else []
    return next((one for one in wanted if one in _ENCODINGS), "utf-16")
