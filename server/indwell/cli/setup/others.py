"""The configurations of Helix, Kate, Sublime Text and Zed, whose settings are data.

Looked up in their own documentation and sources: Helix 25.07 (book, languages.toml), Kate 22.12 and
master (lspclientplugin.cpp, lspclientserver.cpp), LSP for Sublime Text 4070-2.x (client
configuration, sessions.py), Zed 1.x (configuring-languages, issues 52653 and 55220).
"""

from __future__ import annotations

from indwell.cli.setup.configuration import Configuration
from indwell.cli.setup.quoting import json_list, quoted

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

HELIX = Configuration(
    editor="Helix",
    page="helix.md",
    language="toml",
    blocks=(_HELIX,),
    words=json_list,
    word=quoted,
    comment="#",
    next_steps=(
        "Add more languages in the same way; `hx --health LANGUAGE` shows their own servers.",
        "Start Helix anew (or :lsp-restart) and press Space a on a line.",
    ),
)

KATE = Configuration(
    editor="Kate",
    page="kate.md",
    language="json",
    blocks=(_KATE,),
    words=json_list,
    word=quoted,
    comment="",
    next_steps=(
        "Kate speaks with one server for a language: Indwell takes the place of Python's.",
        "Switch on Settings > Configure Kate > Plugins > LSP Client, and start Kate anew.",
        "Allow the command when Kate asks.",
    ),
)

SUBLIME = Configuration(
    editor="Sublime Text",
    page="sublime.md",
    language="json",
    blocks=(_SUBLIME,),
    words=json_list,
    word=quoted,
    comment="",
    next_steps=("Install the package LSP (Package Control), and open a folder with a project.",),
)

ZED = Configuration(
    editor="Zed",
    page="zed.md",
    language="json",
    blocks=(_ZED,),
    words=json_list,
    word=quoted,
    comment="",
    next_steps=(
        "Zed starts only servers that it or an extension knows.",
        "Until there is one for Indwell, it stands in the place of pylsp, for Python.",
    ),
)
