"""Defines each editor's configuration: its template with the command, and its file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Literal, NamedTuple

import msgspec

from indwell.files.private import read_own
from indwell.lazy_pattern import lazy_pattern

PLAIN = ("indwell", "serve", "--stdio")
"""The server's command line as the documentation pages show it."""

PLUGIN = Path(__file__).parent / "nvim"
"""Neovim's plugin: a folder for its ``runtimepath``."""

PACKAGE = Path(__file__).parent / "emacs"
"""Emacs' package: a folder for its ``load-path``."""

_TEMPLATES = Path(__file__).parent / "templates"
_PAGE_PLUGIN = "/path/of/the/plugin"  # the plugin's folder in the documentation pages
_PAGE_PACKAGE = "/path/of/the/package"  # the package's folder in the documentation pages
_LIMIT_B = 1 << 20
# modules of the plugin, which a configuration without the plugin also uses
_MODULES = "../nvim/lua/indwell"
_SHARED = "@WORDS@\n"  # the position at which the functions of ``words.lua`` are inserted
_GAP = lazy_pattern("@(?:COMMAND|PROGRAM|ARGUMENTS|PLUGIN|PACKAGE)@")


def lua(word: str) -> str:
    r"""Return a string of Lua.

    The string has single quotes, as in Neovim's documentation; ``\`` and ``'`` are escaped.
    """
    return "'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'"


def lua_list(words: Sequence[str]) -> str:
    """Return a Lua table with the words."""
    return "{ " + ", ".join(map(lua, words)) + " }"


def quoted(word: str) -> str:
    """Return a JSON string; if the word is printable, it is also valid TOML and Emacs Lisp."""
    return json.dumps(word, ensure_ascii=False)


def json_list(words: Sequence[str]) -> str:
    """Return a list that is valid JSON and TOML."""
    return json.dumps(list(words), ensure_ascii=False)


def elisp_list(words: Sequence[str]) -> str:
    """Return an Emacs Lisp list, without the quote sign that must come before the list."""
    return "(" + " ".join(map(quoted, words)) + ")"


def vim(word: str) -> str:
    """Return a string of Vim script in single quotes, in which only the quote is special."""
    return "'" + word.replace("'", "''") + "'"


def vim_arguments(words: Sequence[str]) -> str:
    """Return a command line for ALE after ``%e``, quoted for the shell; ``%`` is special to ALE."""
    shell = " ".join(_shell(word.replace("%", "%%")) for word in words)
    return vim(f"%e {shell}")


def _shell(word: str) -> str:
    plain = word.replace("-", "").replace("_", "").replace("/", "").replace(".", "")
    return word if plain.isalnum() else "'" + word.replace("'", "'\\''") + "'"


class Language(NamedTuple):
    """The language of a configuration file.

    Attributes:
        name: The language's name in a Markdown fence.
        comment: The start of a comment, or empty if the language has no comments.
        words: Returns a list of strings as source text.
        word: Returns a string as source text.
    """

    name: str
    comment: str
    words: Callable[[Sequence[str]], str] = json_list
    word: Callable[[str], str] = quoted


_ELISP = Language("elisp", ";;", elisp_list)
_JSON = Language("json", "")
_LUA = Language("lua", "--", lua_list, lua)


class EditorConfiguration(msgspec.Struct, frozen=True):
    """The configuration of an editor.

    Attributes:
        editor: The editor's name.
        page: The documentation page, which contains each template word for word.
        language: The language of the templates.
        templates: The template files; the first template is sufficient.
        next_steps: The next steps for the user.
    """

    editor: str
    page: str
    language: Language
    templates: tuple[str, ...]
    next_steps: tuple[str, ...]

    def shown(
        self,
        command: Sequence[str] = PLAIN,
        plugin: str = _PAGE_PLUGIN,
        package: str = _PAGE_PACKAGE,
    ) -> tuple[str, ...]:
        """Return the templates' texts with the server's command and Indwell's own folders."""
        filled = {
            "@COMMAND@": self.language.words(command),
            "@PROGRAM@": self.language.word(command[0]),
            "@ARGUMENTS@": self.language.words(command[1:]),
            "@PLUGIN@": self.language.word(plugin),
            "@PACKAGE@": self.language.word(package),
        }
        # Replace all placeholders in one pass, because an inserted value may look like a
        # placeholder.
        return tuple(
            _GAP.sub(lambda gap: filled[gap[0]], _template(name)) for name in self.templates
        )

    def text(self, command: Sequence[str] = PLAIN) -> str:
        """Return all templates in order."""
        return "\n".join(self.shown(command, str(PLUGIN), PACKAGE.as_posix()))


def _template(name: str) -> str:
    text = read_own(_TEMPLATES / name, _LIMIT_B).decode().replace("\r\n", "\n")
    if _SHARED not in text:
        return text
    functions, _, _ = _template(f"{_MODULES}/words.lua").partition("return {")
    return text.replace(_SHARED, functions)


_START_NEOVIM = "Restart Neovim, open a file of a folder with .git, and press gra on a line."
_START_EMACS = "Restart Emacs and open a file of a project."

CONFIGURATIONS: Mapping[str, EditorConfiguration] = {
    "nvim": EditorConfiguration(
        "Neovim",
        "neovim.md",
        _LUA,
        ("neovim/plugin.lua",),
        (_START_NEOVIM, "`:checkhealth indwell` says what is missing; `:help indwell` says more."),
    ),
    "nvim-plain": EditorConfiguration(
        "Neovim without the plugin",
        "neovim-plain.md",
        _LUA,
        (
            *("neovim/own_file.lua", "neovim/base.lua", f"{_MODULES}/checks.lua"),
            *(f"{_MODULES}/display.lua", "neovim/questions.lua", f"{_MODULES}/navigate.lua"),
            *(f"{_MODULES}/lenses.lua", "neovim/keys.lua"),
        ),
        (_START_NEOVIM, "`:checkhealth vim.lsp` says whether the server runs."),
    ),
    "nvim-older": EditorConfiguration(
        "Neovim 0.7 to 0.10",
        "neovim-older.md",
        _LUA,
        ("neovim/older.lua", "neovim/older_questions.lua", "neovim/older_keys.lua"),
        (_START_NEOVIM,),
    ),
    "emacs": EditorConfiguration(
        "Emacs",
        "emacs.md",
        _ELISP,
        ("emacs/package.el",),
        (
            "Restart Emacs, open a file of a project, and press C-c i: a menu shows all actions.",
            "`indwell setup emacs --eglot` and `--lsp-mode` set up these clients instead.",
        ),
    ),
    "emacs-eglot": EditorConfiguration(
        "Emacs with eglot",
        "emacs-eglot.md",
        _ELISP,
        (
            *("emacs/eglot.el", "emacs/ask.el", "emacs/eglot_ask.el", "emacs/eglot_code.el"),
            "emacs/eglot_keys.el",
        ),
        (_START_EMACS, "`M-x eglot-code-actions` shows what Indwell offers."),
    ),
    "emacs-lsp-mode": EditorConfiguration(
        "Emacs with lsp-mode",
        "emacs-lsp-mode.md",
        _ELISP,
        ("emacs/lsp_mode.el", "emacs/ask.el", "emacs/lsp_mode_ask.el", "emacs/lsp_mode_keys.el"),
        (_START_EMACS, "`M-x lsp-execute-code-action` shows what Indwell offers."),
    ),
    "helix": EditorConfiguration(
        "Helix",
        "helix.md",
        Language("toml", "#"),
        ("helix.toml",),
        (
            "Add more languages in the same way; `hx --health LANGUAGE` shows their own servers.",
            "Restart Helix (or :lsp-restart) and press Space a on a line.",
        ),
    ),
    "kate": EditorConfiguration(
        "Kate",
        "kate.md",
        _JSON,
        ("kate.json",),
        (
            "Kate uses one server per language: Indwell replaces the Python server.",
            "Enable Settings > Configure Kate > Plugins > LSP Client, and restart Kate.",
            "Allow the command when Kate asks.",
        ),
    ),
    "sublime": EditorConfiguration(
        "Sublime Text",
        "sublime.md",
        _JSON,
        ("sublime.json",),
        ("Install the package LSP (Package Control), and open a folder with a project.",),
    ),
    "zed": EditorConfiguration(
        "Zed",
        "zed.md",
        _JSON,
        ("zed.json",),
        (
            "Zed starts only servers that Zed or an extension defines.",
            "Indwell has no extension yet, so it replaces pylsp for Python.",
        ),
    ),
    "vim": EditorConfiguration(
        "Vim with ALE",
        "vim.md",
        Language("vim", '"', vim_arguments, vim),
        ("ale.vim",),
        ("Restart Vim, open a file of a folder with .git, and type :ALECodeAction.",),
    ),
}

VSCODE = (
    "VS Code starts a language server only through an extension. In a checkout of Indwell:\n\n"
    "    scripts/package-vscode\n"
    "    code --install-extension dist/indwell-*.vsix\n\n"
    "The extension brings a server of its own and installs it on first use; nothing else has to be "
    "set up. Over SSH, in WSL and in containers, install it there: it runs where the files are. "
    "To start another server, set indwell.serverPath. See docs/editors/vscode.md."
)


How = Literal["own file", "marked", "toml", "json"]
"""How to add a configuration: as a separate file, between comments in a file, or merged."""


class SetupTarget(msgspec.Struct, frozen=True):
    """A configuration file, and the way to add Indwell's configuration to the file."""

    path: Path
    how: How


def target(
    name: str,
    home: Path,
    environment: Mapping[str, str],
    platform: str,
    exists: Callable[[Path], bool],
) -> SetupTarget:
    """Return the file of an editor.

    Args:
        name: The editor's name, as in ``CONFIGURATIONS``.
        home: The user's home folder.
        environment: The environment variables, such as ``XDG_CONFIG_HOME`` and ``APPDATA``.
        platform: The platform, as in ``sys.platform``.
        exists: Returns whether a path exists.
    """
    config = _absolute(environment.get("XDG_CONFIG_HOME", "")) or home / ".config"
    roaming = _absolute(environment.get("APPDATA", "")) or home / "AppData" / "Roaming"
    local = _absolute(environment.get("LOCALAPPDATA", "")) or home / "AppData" / "Local"
    support = home / "Library" / "Application Support"
    is_windows, is_mac = platform == "win32", platform == "darwin"
    match name:
        case "nvim" | "nvim-plain" | "nvim-older":
            folder = (local if is_windows else config) / "nvim"
            return SetupTarget(folder / "plugin" / "indwell.lua", "own file")
        case "vim":
            folder = home / ("vimfiles" if is_windows else ".vim")
            return SetupTarget(folder / "plugin" / "indwell.vim", "own file")
        case "emacs" | "emacs-eglot" | "emacs-lsp-mode":
            return SetupTarget(_emacs(roaming if is_windows else home, config, exists), "marked")
        case "helix":
            return SetupTarget(
                (roaming if is_windows else config) / "helix" / "languages.toml", "toml"
            )
        case "kate":
            # Qt calls this folder AppConfigLocation.
            preferences = home / "Library" / "Preferences"
            folder = local if is_windows else preferences if is_mac else config
            return SetupTarget(folder / "kate" / "lspclient" / "settings.json", "json")
        case "sublime":
            folder = roaming / "Sublime Text" if is_windows else config / "sublime-text"
            folder = support / "Sublime Text" if is_mac else folder
            return SetupTarget(folder / "Packages" / "User" / "LSP.sublime-settings", "json")
        case _:
            folder = roaming / "Zed" if is_windows else config / "zed"
            return SetupTarget(folder / "settings.json", "json")


def _emacs(home: Path, config: Path, exists: Callable[[Path], bool]) -> Path:
    """Return the first existing file in Emacs' order (Info node "Find Init"), or a default."""
    for path in (home / ".emacs.el", home / ".emacs", home / ".emacs.d" / "init.el"):
        if exists(path):
            return path
    folder = config / "emacs"
    if exists(folder) and not exists(home / ".emacs.d"):
        return folder / "init.el"
    return home / ".emacs.d" / "init.el"


def _absolute(text: str) -> Path | None:
    return Path(text) if text and PurePath(text).is_absolute() else None
