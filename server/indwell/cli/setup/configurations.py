"""Every configuration by its name."""

from __future__ import annotations

from collections.abc import Mapping

from indwell.cli.setup.configuration import Configuration
from indwell.cli.setup.emacs import EGLOT, LSP_MODE
from indwell.cli.setup.neovim import NEOVIM, NEOVIM_OLDER
from indwell.cli.setup.others import HELIX, KATE, SUBLIME, ZED
from indwell.cli.setup.vim import VIM

CONFIGURATIONS: Mapping[str, Configuration] = {
    "nvim": NEOVIM,
    "nvim-older": NEOVIM_OLDER,
    "emacs": EGLOT,
    "emacs-lsp-mode": LSP_MODE,
    "helix": HELIX,
    "kate": KATE,
    "sublime": SUBLIME,
    "zed": ZED,
    "vim": VIM,
}

VSCODE = (
    "VS Code starts a language server only through an extension. Indwell's own extension comes "
    "with a later version; nothing has to be set up before. See docs/editors/vscode.md."
)
