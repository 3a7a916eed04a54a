"""The package indwell.el: its code, what it sends, its neighbours, and the keys of its page."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from editors import emacs
from editors.place import environment, put_files, run, serve_model
from editors.scenarios import (
    DONE,
    FILES,
    NEW,
    OLD,
    PATH,
    READ,
    STUCK,
    TEXT,
    USAGE,
    Model,
    edits,
    tool,
)
from editors.terminal import Terminal
from indwell.cli.setup.configurations import CONFIGURATIONS, PACKAGE
from support.loopback_endpoint import (
    Answer,
    LoopbackEndpoint,
    Seen,
    endpoint_in_thread,
    raw,
    say,
)

HERE = Path(__file__).resolve().parent
TINY = HERE.parent / "support" / "tiny_language_server.py"
LINT = "/usr/share/emacs/site-lisp/elpa/package-lint-*/package-lint.el"
NOT_LINT = ("Homepage or URL", "uninstallable in all released Emacs")  # see the test


def lisp(tmp_path: Path, *words: str) -> str:
    """Run Emacs in a copy of the package; return what it printed."""
    folder = tmp_path / "package"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("*.elc"))
    argv = [emacs.emacs(), "--batch", "-Q", "-L", str(folder), *words]
    names = sorted(path.name for path in folder.glob("*.el"))
    told = subprocess.run(
        [*argv, *names], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert told.returncode == 0 or "lint" in str(words), told.stderr
    return told.stdout + told.stderr


def test_the_package_compiles_without_a_warning(tmp_path: Path) -> None:
    assert lisp(tmp_path, "-f", "batch-byte-compile") == ""


def test_the_doc_strings_of_the_package_pass_checkdoc(tmp_path: Path) -> None:
    check = (
        "(progn (require 'checkdoc) (setq checkdoc-verb-check-experimental-flag nil)"
        ' (mapc #\'checkdoc-file (directory-files "." t "\\\\.el\\\\\'"))'
        " (setq command-line-args-left nil))"
    )
    assert lisp(tmp_path, "--eval", check) == ""


def test_the_package_passes_package_lint(tmp_path: Path) -> None:
    """Two findings are left: there is no public address, and Debian's lint is older than 28.1."""
    found = sorted(Path("/").glob(LINT[1:]))
    if not found:
        pytest.skip("package-lint is not installed; on Debian: apt-get install elpa-package-lint")
    main = ("--eval", '(setq package-lint-main-file "indwell.el")')
    told = lisp(
        tmp_path, *("-l", str(found[0]), *main, "-f", "package-lint-batch-and-exit")
    ).splitlines()
    findings = [line for line in told if re.match(r"\S+\.el:\d", line)]
    assert [one for one in findings if not any(known in one for known in NOT_LINT)] == []


# --- in a batch: the text that is sent, and the server of eglot


def check(name: str, folder: Path, model: Model) -> Any:
    """Run a function of ``indwell_checks.el`` in a project; return its report."""
    root = put_files(FILES, folder)
    init, report = folder / "init.el", folder / "report.json"
    init.write_text(CONFIGURATIONS["emacs"].text(serve_model()), "utf-8")
    place = {
        "path": str(root / PATH),
        "root": str(root),
        "other": [sys.executable, str(TINY), "under eglot"],
    }
    with endpoint_in_thread(model) as endpoint:
        variables = {
            "INDWELL_CHECK": name,
            "INDWELL_PLACE": json.dumps(place, ensure_ascii=False),
            "INDWELL_REPORT": str(report),
            "OPENAI_BASE_URL": endpoint.base_url,
            "INDWELL_MODEL": "loopback-model",
        }
        options = ("--batch", "-q", *emacs.UNCOMPILED, "-f", "package-initialize")
        loads = ("-l", str(init), "-l", str(HERE / "indwell_checks.el"))
        seen = run([emacs.emacs(), *options, *loads], folder, report, variables)
    assert "failed" not in seen, seen
    return seen


def offset(text: str, place: Mapping[str, int], encoding: str) -> int:
    """Return the index in ``text`` of a position of the protocol."""
    starts = [0, *(found.end() for found in re.finditer(r"\r\n|\r|\n", text))]
    at, units = starts[place["line"]], 0
    while units < place["character"]:
        units += {"utf-8": len(text[at].encode()), "utf-16": 1 + (text[at] > "\uffff")}.get(
            encoding, 1
        )
        at += 1
    assert units == place["character"], "a position inside of a character"
    return at


def test_the_server_has_the_text_of_the_buffer_after_any_edits(tmp_path: Path) -> None:
    incremental = 0
    for one in check("sync", tmp_path, Model(())):
        text, version = one["start"], 0
        for change in one["changes"]:
            assert change["textDocument"]["version"] > version
            version = change["textDocument"]["version"]
            for part in change["contentChanges"]:
                if "range" not in part:
                    text = part["text"]
                    continue
                incremental += 1
                start, end = (
                    offset(text, part["range"][side], one["encoding"]) for side in ("start", "end")
                )
                text = text[:start] + part["text"] + text[end:]
        assert text == one["final"]
        assert version == one["version"]
    assert incremental > 100, "most changes are not sent as a whole text"


def test_a_document_that_the_server_shows_runs_no_code_of_its_local_variables(
    tmp_path: Path,
) -> None:
    assert check("shown", tmp_path, Model([])) == {"column": 33, "obeyed": False}


def test_the_server_of_eglot_is_asked_and_otherwise_left_alone(tmp_path: Path) -> None:
    hover = tool("navigate", action="hover", path=PATH, line=4, symbol="is_free")
    model = Model((hover, READ, edits((OLD[0], NEW[0])), DONE))
    seen = check("beside", tmp_path, model)
    assert model.results()[0].endswith(f": {len(TEXT)} characters; under eglot")
    after = TEXT.replace(OLD[0], NEW[0])
    assert (seen["ending"], seen["text"], seen["pending"]) == ("done", after, 1)
    assert seen["untouched"], (seen["before"], seen["after"])
    assert "characters; under eglot" in seen["hover"]


# --- with keys in a terminal

ESCAPE, RETURN = "\x1b", "\r"
MENU = "\x03i"  # C-c i
SEND = "\x03\x03"  # C-c C-c
FIELD = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "  # before the words to send


class Offering(Model):
    """A model whose endpoint lists a second model, too."""

    def __call__(self, seen: Seen) -> Answer:
        """Answer a request."""
        if seen.path != "/v1/models":
            return super().__call__(seen)
        names = ("loopback-model", "other-model")
        listed = {"object": "list", "data": [{"id": name, "object": "model"} for name in names]}
        return raw(200, json.dumps(listed), headers={"Content-Type": "application/json"})


class Keys:
    """Emacs in a terminal, and what its user sees."""

    def __init__(self, terminal: Terminal, report: Path, model: Model) -> None:
        self._terminal, self._report, self.model = terminal, report, model

    def press(self, keys: str) -> None:
        """Press keys."""
        self._terminal.press(keys)

    def seen(self) -> Mapping[str, Any]:
        """Return what the user sees; nothing before the server runs."""
        return json.loads(self._report.read_text("utf-8")) if self._report.exists() else {}

    def until(self, what: str, holds: Callable[[Mapping[str, Any]], bool]) -> Mapping[str, Any]:
        """Wait for a condition about what the user sees."""
        try:
            self._terminal.wait_for(what, lambda: holds(self.seen()))
        except AssertionError as error:
            raise AssertionError(f"{what}: {json.dumps(self.seen(), indent=1)}") from error
        return self.seen()

    def turn(self, number: int, ending: str = "done") -> Mapping[str, Any]:
        """Wait for the end of a turn."""
        return self.until(
            f"the end of turn {number}",
            lambda it: (
                not it.get("running")
                and it.get("chat", "").count("\n── ") == number
                and f"── {ending}" in it["chat"].rsplit(f"▌ You · turn {number}", 1)[-1]
            ),
        )

    def sent(self) -> str:
        """Return the newest request to the model."""
        return json.dumps(self.model.bodies[-1]["messages"], ensure_ascii=False)


def start(folder: Path, endpoint: LoopbackEndpoint, model: Model) -> tuple[Terminal, Path]:
    root = put_files(FILES, folder)
    init, report = folder / "init.el", folder / "report.json"
    init.write_text(CONFIGURATIONS["emacs"].text(serve_model()), "utf-8")
    # -Q: without the packages of this machine, and what Emacs says when it compiles them
    options = ("-nw", "-Q", "-l", str(init), "-l", str(HERE / "indwell_keys.el"))
    variables = {
        **environment(folder),
        "INDWELL_PATH": str(root / PATH),
        "INDWELL_REPORT": str(report),
        "OPENAI_BASE_URL": endpoint.base_url,
        "INDWELL_MODEL": "loopback-model",
    }
    return Terminal((emacs.emacs(), *options), root, variables), report


ANSWER = say("It ships orders.", usage=USAGE)


def with_keys(folder: Path, replies: tuple[Answer, ...], play: Callable[[Keys], None]) -> None:
    """Start Emacs in a terminal with a model, and play."""
    model = Offering(replies)
    with endpoint_in_thread(model, gets=True) as endpoint:
        terminal, report = start(folder, endpoint, model)
        with terminal:
            keys = Keys(terminal, report, model)
            terminal.wait_for("the file", lambda: "is_free" in terminal.shown)
            play(keys)


def test_the_keys_for_the_chat_prompts_questions_and_files_work(tmp_path: Path) -> None:
    def play(keys: Keys) -> None:
        keys.press(f"{MENU}c")
        keys.until("the chat", lambda it: it.get("buffer", "").startswith("*Indwell"))
        keys.press("what is @lib/sh\t")
        keys.until("the file's name", lambda it: f"what is @{PATH}" in it["chat"])
        keys.press(f"?{SEND}")
        seen = keys.turn(1)
        assert "It ships orders." in seen["chat"]
        assert "return weight * 2" in keys.sent(), "the mentioned file is attached"
        keys.press(f"\x18o{MENU}i")  # C-x o: in the file
        keys.until("the question for words", lambda it: "What should" in it["minibuffer"])
        keys.press(f"second prompt{RETURN}")
        assert "second prompt" in keys.turn(2)["chat"]
        keys.press(f"{ESCAPE}<\x00\x0e\x0e{MENU}a")  # a region of two lines
        keys.until("the question for words", lambda it: "Ask about" in it["minibuffer"])
        keys.press(f"first line{ESCAPE}{RETURN}")  # M-RET: several lines
        keys.until("the buffer for words", lambda it: "your words" in it["buffer"])
        keys.press(f"{RETURN}second line{SEND}")
        keys.turn(3)
        assert "first line\\nsecond line" in keys.sent()
        keys.press(f"\x18d{RETURN}")  # C-x d
        keys.until("Dired", lambda it: it["buffer"] == "lib")
        keys.press(f"{MENU}a")
        keys.until("the question for words", lambda it: "Ask about" in it["minibuffer"])
        keys.press(f"and here?{RETURN}")
        assert "with lib" in keys.turn(4)["chat"].split("and here?")[-1]
        keys.press(f"\x18b*scratch*{RETURN}{MENU}f")
        seen = keys.until("the sentence", lambda it: "visits no file" in it["message"])
        assert "save it with C-x C-w, or ask about it" in seen["message"]

    with_keys(tmp_path, (ANSWER,) * 4, play)


def test_the_keys_for_edits_review_mode_rewind_and_sessions_work(tmp_path: Path) -> None:
    def play(keys: Keys) -> None:
        keys.press(f"{ESCAPE}<\x00{ESCAPE}>{MENU}r")
        keys.until("the question for words", lambda it: "Refactor how" in it.get("minibuffer", ""))
        keys.press(f"correct all{RETURN}")
        seen = keys.turn(1)
        assert "correct all" in seen["chat"]
        seen = keys.until("the changes", lambda it: it["pending"] == 3)
        assert all(one in seen["old"] for one in OLD), "old lines are above the new ones"
        assert "3±" in seen["segment"]
        assert f"-    return {OLD[1]}" not in seen["visible"], "the diff is folded"
        keys.press(f"{MENU}c{ESCAPE}<\x13edit_file{RETURN}\t")  # C-s
        keys.until("the diff", lambda it: f"-    return {OLD[1]}" in it["visible"])
        keys.press("\t")
        keys.until("no diff", lambda it: f"-    return {OLD[1]}" not in it["visible"])
        keys.press(f"\x18o{ESCAPE}<{MENU}n")
        keys.press("y")
        keys.until("the accepted change", lambda it: it["pending"] == 2)
        keys.press("n")
        keys.press("x")
        seen = keys.until("the rejected change", lambda it: it["pending"] == 1)
        after = TEXT.replace(OLD[0], NEW[0]).replace(OLD[2], NEW[2])
        keys.until("the old line", lambda it: it["text"] == after)
        keys.press(f"{MENU}m")
        keys.until("the modes", lambda it: "Mode (now review)" in it["minibuffer"])
        keys.press(f"plan\t{RETURN}")
        keys.until("the mode", lambda it: it["mode"] == "plan")
        keys.press(f"{MENU}b")
        keys.until("the turns", lambda it: "Go back" in it["minibuffer"])
        keys.press(f"turn 1\t{RETURN}")
        keys.until("the files", lambda it: "Restore the files" in it["message"] + it["minibuffer"])
        keys.press("y")
        keys.until("the text before", lambda it: it["text"] == TEXT)
        keys.until("the words are back", lambda it: "correct all" in it["chat"].split(FIELD)[-1])
        session = keys.seen()["session"]
        keys.press(f"{MENU}w")
        keys.until("no session", lambda it: it.get("session") in (None, {}))
        keys.press(f"{MENU}s")
        keys.until("the sessions", lambda it: "Session: " in it["minibuffer"])
        keys.press(f"\t{RETURN}")
        keys.until("the earlier session", lambda it: it.get("session") == session)

    with_keys(tmp_path, (READ, edits(*zip(OLD, NEW, strict=True)), DONE), play)


def test_the_keys_for_steering_stopping_and_answering_a_question_work(tmp_path: Path) -> None:
    def play(keys: Keys) -> None:
        keys.press(f"{MENU}c")
        keys.until("the chat", lambda it: it.get("buffer", "").startswith("*Indwell"))
        keys.press(f"remove it{SEND}")
        keys.until("the question", lambda it: "Type a word (no, allow-once" in it["minibuffer"])
        keys.press(f"once{RETURN}")
        keys.until("the question again", lambda it: '"once" is not one' in it["minibuffer"])
        keys.press(f"allow-o{RETURN}")
        keys.until("the next call", lambda it: "I am thinking" in it["chat"])
        keys.press(f"hurry up{SEND}")
        keys.until("the words are taken", lambda it: "at its next step" in it["message"])
        keys.press("\x03\x0b")  # C-c C-k
        seen = keys.turn(1, "stopped")
        assert "hurry up" in seen["chat"].split(FIELD)[-1], "unsent words come back"
        keys.press(SEND)
        keys.until("a question", lambda it: "Type a word (no, allow-once" in it["minibuffer"])
        keys.press(f"{ESCAPE}xindwell-stop{RETURN}")
        keys.turn(2, "stopped")
        keys.until("no question", lambda it: it["minibuffer"] == "" and it["asks"] == 0)
        keys.press(f"once more{SEND}")
        keys.until("the options", lambda it: "(choose-green, choose-red" in it["minibuffer"])
        keys.press(f"choose-r{RETURN}")
        keys.until("the next question", lambda it: "(choose-dark, choose-pale" in it["minibuffer"])
        assert "red" in str(keys.model.bodies[-1]["messages"][-1]["content"])
        keys.press(f"choose-o{RETURN}")
        keys.until("the buffer for words", lambda it: "your words" in it["buffer"])
        keys.press(f"a mild blue{SEND}")
        keys.turn(3)
        assert "a mild blue" in keys.sent()

    asking = tool("bash", command="rm -r lib")
    first = tool("ask_user", question="Which colour?", options=["green", "red"])
    second = tool("ask_user", question="How strong?", options=["dark", "pale"])
    with_keys(tmp_path, (asking, STUCK, asking, first, second, ANSWER), play)


def test_the_keys_for_waiting_prompts_stopping_and_the_model_work(tmp_path: Path) -> None:
    def play(keys: Keys) -> None:
        keys.press(f"{MENU}c")
        keys.until("the chat", lambda it: it.get("buffer", "").startswith("*Indwell"))
        keys.press(f"think{SEND}")
        keys.until("the turn", lambda it: "I am thinking" in it["chat"])
        keys.press("and then this\x03\x17")  # C-c C-w
        keys.until("the waiting words", lambda it: "1 waiting" in it["waiting"])
        keys.press(f"{MENU}k")
        keys.turn(1, "stopped")
        keys.until("the reason", lambda it: "held" in it["waiting"])
        keys.press(f"{MENU}l")
        keys.until("the models", lambda it: "Model: " in it["minibuffer"])
        keys.press(f"other\t{RETURN}")
        keys.until("the model", lambda it: it["model"] == "other-model")

    with_keys(tmp_path, (STUCK,), play)


def test_the_next_prompt_starts_an_ended_server_and_continues_its_session(tmp_path: Path) -> None:
    def play(keys: Keys) -> None:
        keys.press(f"{MENU}c")
        keys.until("the chat", lambda it: it.get("buffer", "").startswith("*Indwell"))
        keys.press("first words\x03\r")  # C-c RET
        keys.turn(1)
        session = keys.seen()["session"]
        keys.press(f"{ESCAPE}xindwell-quit{RETURN}")
        keys.until("the end", lambda it: "The server has ended" in it["chat"])
        keys.press(f"second words{SEND}")
        seen = keys.until("the answer", lambda it: it["chat"].count("It ships orders.") == 2)
        assert seen["session"] == session
        assert "first words" in keys.sent()

    with_keys(tmp_path, (ANSWER, ANSWER), play)
