"""The seven clients whose ``initialize`` was recorded: their capabilities and behaviour.

The behaviour comes from runs of these editors and from their source code.
"""

from __future__ import annotations

from support.fake_editor.declared import CAPABILITIES
from support.fake_editor.profiles import Behaviour, Profile

_NEOVIM = Behaviour(
    versions="not older", refusal="true", transactional=False, clobbers=True, late=True
)
"""Drops edits that are older than its buffer, and answers that all was applied."""


def _client(name: str, behaviour: Behaviour, client: tuple[str, str] | None = None) -> Profile:
    return Profile(name=name, capabilities=CAPABILITIES[name], behaviour=behaviour, client=client)


VSCODE = _client(
    "vscode-1.139.1",
    Behaviour(reason="", one_ending=True, reloads=True),
    ("code-server", "1.139.1"),
)
"""vscode-languageclient looks at all versions first, and gives no reason for its no."""

NEOVIM_11 = _client("nvim-0.11.4", _NEOVIM, ("Neovim", "0.11.4+v0.11.4"))
"""Offers utf-8 first, and tells of changes 150 ms later."""

NEOVIM_07 = _client("nvim-0.7.2", _NEOVIM, ("Neovim", "0.7.2"))
"""Names no encoding, so it counts utf-16."""

EGLOT = _client(
    "eglot-1.9",
    Behaviour(
        refusal="error",
        reason="the edits require another version",
        confirms=True,
        transactional=False,
        creates=False,
    ),
)
"""Asks before each edit, unless ``eglot-confirm-server-initiated-edits`` is nil."""

LSP_MODE = _client("lsp-mode-8.0.0", Behaviour(reason=""), ("emacs", "GNU Emacs 28.2"))
"""Looks at all versions first, and answers false when an edit fails. Lenses are off."""

KATE = _client("kate-22.12", Behaviour(versions="any", creates=False))
"""Declares no ``applyEdit`` and obeys it, whatever the version is."""

ALE = _client(
    "ale-3.3.0",
    Behaviour(versions="any", answer="never", creates=False, whole=True, chooses=False),
)
"""Declares ``applyEdit: false``, applies it, and never answers that or any other request."""

CLIENTS = (VSCODE, NEOVIM_11, NEOVIM_07, EGLOT, LSP_MODE, KATE, ALE)
