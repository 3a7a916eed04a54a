"""The configuration of each editor, by name; those of Helix, Kate, Sublime Text and Zed in full."""

from __future__ import annotations

from collections.abc import Mapping

from indwell.cli.setup.configuration import EditorConfiguration, json_list, quoted
from indwell.cli.setup.emacs import EGLOT, LSP_MODE
from indwell.cli.setup.neovim import NEOVIM, NEOVIM_OLDER
from indwell.cli.setup.vim import VIM

_HELIX = """[language-server.indwell]
command = @PROGRAM@
args = @ARGUMENTS@

[[language]]
name = "python"
language-servers = ["ty", "ruff", "jedi", "pylsp", "indwell"]

[[language]]
name = "markdown"
language-servers = ["marksman", "markdown-oxide", "indwell"]
"""

_KATE = """{
  "servers": {
    "python": {
      "command": @COMMAND@,
      "rootIndicationFileNames": [".git", ".indwell"],
      "highlightingModeRegex": "^Python$"
    },
    "markdown": {
      "command": @COMMAND@,
      "rootIndicationFileNames": [".git", ".indwell"],
      "highlightingModeRegex": "^Markdown$"
    }
  }
}
"""

_SUBLIME = """{
  "show_code_lens": "annotation",
  "clients": {
    "indwell": {
      "enabled": true,
      "command": @COMMAND@,
      "selector": "source | text.html.markdown"
    }
  }
}
"""

_ZED = """{
  "languages": {
    "Python": {
      "language_servers": ["pylsp", "..."]
    }
  },
  "lsp": {
    "pylsp": {
      "binary": {
        "path": @PROGRAM@,
        "arguments": @ARGUMENTS@
      }
    }
  }
}
"""

HELIX = EditorConfiguration(
    editor="Helix",
    page="helix.md",
    language="toml",
    blocks=(_HELIX,),
    words=json_list,
    word=quoted,
    comment="#",
    next_steps=(
        "Add more languages in the same way; `hx --health LANGUAGE` shows their own servers.",
        "Restart Helix (or :lsp-restart) and press Space a on a line.",
    ),
)

KATE = EditorConfiguration(
    editor="Kate",
    page="kate.md",
    language="json",
    blocks=(_KATE,),
    words=json_list,
    word=quoted,
    comment="",
    next_steps=(
        "Kate uses one server per language: Indwell replaces the Python server.",
        "Enable Settings > Configure Kate > Plugins > LSP Client, and restart Kate.",
        "Allow the command when Kate asks.",
    ),
)

SUBLIME = EditorConfiguration(
    editor="Sublime Text",
    page="sublime.md",
    language="json",
    blocks=(_SUBLIME,),
    words=json_list,
    word=quoted,
    comment="",
    next_steps=("Install the package LSP (Package Control), and open a folder with a project.",),
)

ZED = EditorConfiguration(
    editor="Zed",
    page="zed.md",
    language="json",
    blocks=(_ZED,),
    words=json_list,
    word=quoted,
    comment="",
    next_steps=(
        "Zed starts only servers that Zed or an extension defines.",
        "Indwell has no extension yet, so it replaces pylsp for Python.",
    ),
)


CONFIGURATIONS: Mapping[str, EditorConfiguration] = {
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
