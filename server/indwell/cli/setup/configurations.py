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
    "VS Code starts a language server only through an extension. In a checkout of Indwell:\n\n"
    "    scripts/package-vscode\n"
    "    code --install-extension dist/indwell-*.vsix\n\n"
    "The extension brings a server of its own and installs it on first use; nothing else has to be "
    "set up. Over SSH, in WSL and in containers, install it there: it runs where the files are. "
    "To start another server, set indwell.serverPath. See docs/editors/vscode.md."
)
