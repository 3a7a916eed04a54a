"""Lists the sentences of the server for users, and checks the catalogues against the source.

    python scripts/languages.py           counts the sentences by folder, with the share translated
    python scripts/languages.py FOLDER    lists the sentences of a folder that no catalogue has

The script reads the source as a tree, so it finds f-strings and sentences over several lines. A
sentence counts as one for users if it is an argument of a call that shows it or raises an error for
users (``SHOWN``), a title, or already in a catalogue. ``tests/house/test_languages.py`` runs the
checks.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "server" / "indwell"
LANGUAGES = ("de", "zh")

ERRORS = {
    "UserError", "ProviderError", "Unreachable", "TooSlow", "RateLimited", "ServerFault",
    "NotAuthorised", "OutOfCredit", "ToolsUnsupported", "ContextOverflow", "RequestRejected",
    "BadReply", "EmptyReply", "ConversationTooLarge", "WindowTooSmall", "NobodyThere",
    "SettingsError", "SessionError", "WrongArgument", "UnknownSession", "SessionOpen",
    "RecordsLost", "WrongInput", "WrongAddress", "WrongTasks", "WrongCassette", "NewerVersion",
}  # fmt: skip
SHOWN = ERRORS | {
    "show", "tell", "warn", "fail", "choose", "allow", "type_line", "Notice", "Question", "Ask",
    "ActionOffer", "AskParams", "Offered", "EndpointStep", "Check", "add_argument", "add_parser",
    "print", "_line", "_command", "diff_command", "verdict_command", "FirstRunParams",
}  # fmt: skip
# Folders with texts for the model only, or for developers.
SILENT = {"context", "files", "navigation", "prompt", "tools"}
# Sentences with a clause that no single string of the source contains.
COMPOSED = {
    "Edit this: {words}",
    (
        "[bold]Indwell demo[/] with the scripted model that ships with Indwell "
        "(no language model, no key, no network)"
    ),
    "show program's version number and exit",  # of argparse, as the next two
    "show this help message and exit",
    "positional arguments",
    "Run a command in the background, in {place}?",
    "1 change in {words}",
    "1 change stays pending ({words})",
    "{number} changes stay pending ({words})",
    "the change that was shown is no longer pending, and nothing was done for it",
    "{number} of those shown are no longer pending, and nothing was done for it",
    "{words} awaits your verdict again",
    "{words} await your verdict again",
    "1 change in {words} awaits your verdict again",
    "{number} changes in {words} await your verdict again",
    "{number} changes in {number_files} files await your verdict again",
    "Indwell: stopped, and goes on with your next one",
    "1 prompt still waits",
    "{number} prompts still wait",
    "{number} changes to review in all",
    "nothing is stored for {endpoint}",
    "there are no sessions on this machine",
    "there are no sessions for {folder}; `--all` shows other folders'",
}

_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_KEPT = re.compile(r"\{[^{}]*\}|`[^`]*`")
_PUNCTUATION = re.compile(r"\{[^{}]*\}|[,;:.?()\[\]“”…`\n]")
_PROSE = re.compile(r"[A-Za-z]{2,}[.,:;]? [A-Za-z{(`]")


def catalogue(language: str) -> dict[str, str]:
    """Return the translations of a language."""
    path = SOURCE / "languages" / f"{language}.json"
    return json.loads(path.read_text("utf-8"))


def normal(sentence: str) -> str:
    """Return a sentence with ``{}`` for each placeholder, so that names do not matter."""
    return re.sub(r"(\{\})+", "{}", _PLACEHOLDER.sub("{}", sentence))


def sentences(tree: ast.AST, *, is_shown: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield each text of a module that is no docstring, and whether users certainly see it."""
    if isinstance(tree, ast.Constant | ast.JoinedStr):
        text = _text(tree)
        if text is not None:
            yield text, is_shown and _PROSE.search(text) is not None
    elif isinstance(tree, ast.Call):
        name = getattr(tree.func, "attr", getattr(tree.func, "id", ""))
        is_shown = is_shown or name in SHOWN
    for node in ast.iter_child_nodes(tree):
        if isinstance(tree, ast.JoinedStr) and isinstance(node, ast.Constant):
            continue  # a part of the f-string
        if not isinstance(node, _PLAIN) and not _is_docstring(node):
            yield from sentences(node, is_shown=is_shown or _is_title(tree, node))


_PLAIN = (ast.Name, ast.operator, ast.expr_context, ast.Import, ast.ImportFrom, ast.cmpop)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_title(parent: ast.AST, node: ast.AST) -> bool:
    if not isinstance(parent, ast.Dict) or node not in parent.values:
        return False
    key = parent.keys[parent.values.index(node)]
    return isinstance(key, ast.Constant) and key.value == "title"


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return normal(node.value)
    if isinstance(node, ast.JoinedStr):
        pieces = [one.value if isinstance(one, ast.Constant) else "{}" for one in node.values]
        return normal("".join(map(str, pieces)))
    return None


def source() -> Mapping[Path, Mapping[str, bool]]:
    """Return the texts of each module, and whether users certainly see each."""
    found: dict[Path, dict[str, bool]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        if path.relative_to(SOURCE).parts[0] in SILENT:
            continue
        texts = found[path.relative_to(SOURCE)] = {}
        for text, is_shown in sentences(ast.parse(path.read_text("utf-8"))):
            texts[text] = texts.get(text, False) or is_shown
    return found


def stale(entries: Mapping[str, str], found: Mapping[Path, Mapping[str, bool]]) -> list[str]:
    """Return the keys with words that the source does not contain any more.

    The source may put a sentence together from several strings, so each clause is looked for.
    """
    known = "\0".join(text for texts in found.values() for text in texts).lower()
    return [
        key
        for key in entries
        if key not in COMPOSED
        and not all(clause.strip(" -").lower() in known for clause in _PUNCTUATION.split(key))
    ]


def wrong(entries: Mapping[str, str]) -> list[str]:
    """Return the keys whose translation has other placeholders or commands, or is empty."""
    return [
        key
        for key, one in entries.items()
        if not one or sorted(_KEPT.findall(key)) != sorted(_KEPT.findall(one))
    ]


def share(entries: Mapping[str, str], texts: Mapping[str, bool]) -> tuple[int, int]:
    """Return how many sentences for users are translated, and how many the texts contain."""
    keys = {normal(key) for key in entries}
    wanted = {text for text, is_shown in texts.items() if is_shown or text in keys}
    return len(wanted & keys), len(wanted)


def main(folder: str = "") -> None:
    """Print the counts, or the sentences of a folder that the first language lacks."""
    entries, found = catalogue(LANGUAGES[0]), source()
    if folder:
        keys = {normal(key) for key in entries}
        for path, texts in found.items():
            for text, is_shown in texts.items():
                if path.as_posix().startswith(folder) and text not in keys and is_shown:
                    print(f"{path}: {text!r}")
        return
    folders: dict[str, dict[str, bool]] = {}
    for path, texts in found.items():
        folders.setdefault("/".join(path.parts[:2]), {}).update(texts)
    for name, texts in folders.items():
        done, number = share(entries, texts)
        if number:
            print(f"{done:5} of {number:5}  {name}")
    everything = {text: one for texts in found.values() for text, one in texts.items()}
    print("{:5} of {:5}  all".format(*share(entries, everything)))


if __name__ == "__main__":
    main(*sys.argv[1:])
