"""Names in the answer to ``initialize``, in a module of their own without heavy imports.

``tests/wire/test_handshake.py`` keeps them equal to the tables of ``protocol`` and to the kinds of
``code_actions``.
"""

from __future__ import annotations

ACTION_KINDS = ("quickfix.indwell", "refactor.indwell", "source.indwell")

VIRTUAL_SCHEMES = ("indwell-base", "indwell-diff", "indwell-request", "indwell-transcript")

TASK_COMMANDS = (
    "indwell.fix",
    "indwell.fixAll",
    "indwell.explain",
    "indwell.document",
    "indwell.test",
    "indwell.refactor",
    "indwell.ask",
)
COMMAND_NAMES = (
    *TASK_COMMANDS,
    "indwell.accept",
    "indwell.reject",
    "indwell.cancel",
    "indwell.newSession",
    "indwell.compact",
    "indwell.continue",
    "indwell.commands",
    "indwell.explainRequest",
    "indwell.open",
    "indwell.resume",
    "indwell.fork",
    "indwell.rewind",
    "indwell.plan",
    "indwell.effort",
    "indwell.mode",
    "indwell.trust",
    "indwell.chat",
    "indwell.send",
    "indwell.memory",
)

METHOD_NAMES = (
    "indwell/ask",
    "indwell/changes",
    "indwell/commands",
    "indwell/complete",
    "indwell/context",
    "indwell/delete",
    "indwell/detach",
    "indwell/diagnostics",
    "indwell/didChangeDiagnostics",
    "indwell/didChangeEditorModels",
    "indwell/didChangeSelection",
    "indwell/didFocus",
    "indwell/editorModels",
    "indwell/event",
    "indwell/events",
    "indwell/firstRun",
    "indwell/login",
    "indwell/modelPieces",
    "indwell/models",
    "indwell/permission",
    "indwell/plan",
    "indwell/prompt",
    "indwell/providers",
    "indwell/queue",
    "indwell/rename",
    "indwell/save",
    "indwell/session",
    "indwell/sessions",
    "indwell/setModel",
    "indwell/skills",
    "indwell/status",
    "indwell/steer",
)
