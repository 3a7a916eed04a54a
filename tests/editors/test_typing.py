"""Types into a file while a question arrives; no typed key may answer the question.

The test types in each editor a few times, and 30 times with ``INDWELL_TYPING_RUNS=30``. Several
editors run at once, because a person who types and reads needs most of the time.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from editors import emacs, neovim, neovim07
from editors.clients import vim
from editors.place import environment, put_files, serve_model
from editors.scenarios import DONE, FILES, PATH, tool
from editors.terminal import PATIENCE_S, Terminal
from indwell.cli.setup.configurations import CONFIGURATIONS
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen, endpoint_in_thread

HERE = Path(__file__).resolve().parent
RUNS = int(os.environ.get("INDWELL_TYPING_RUNS", "2"))
LINES = (
    *("b = 2\r", "1\r", "once = 1\r", "o\r", "yes\r", "2\r", "for one in all:\r", "n\r\r", "s\r"),
    *("once\r", "always\r", "this\r", "y\r", "allow\r", "choose\r"),
)
REFUSED = "did not allow"
SECOND = "quartz"  # The screen shows this name only in the second question.


@dataclass(frozen=True)
class Editor:
    """How a user starts an editor, types text, and answers a question.

    Attributes:
        setup: The editor's configuration.
        insert: Keys that begin to type a text.
        question: Text on the screen when the question can be answered.
        no: Keys that answer the question with No.
        bare: Whether the configuration lacks Indwell's lines that ask questions.
    """

    setup: str
    insert: str
    question: str
    no: str
    bare: bool = False


EDITORS = {
    "nvim": Editor("nvim", "Go", "Type a word (", "no\r"),
    "nvim, bare": Editor("nvim-plain", "Go", "Type number and <Enter>", "1\r", bare=True),
    "nvim07": Editor("nvim-older", "Go", "Type a word (", "no\r"),
    "indwell.el": Editor("emacs", "", "Type a word (", "no\r"),
    "eglot": Editor("emacs-eglot", "", "Type a word (", "no\r"),
    "lsp-mode": Editor("emacs-lsp-mode", "", "Type a word (", "no\r"),
    "vim": Editor("vim", "Go", "Type a word (", "no\r"),
}
PROGRAMS = {
    "Neovim": ("nvim", "nvim, bare", "nvim07"),
    "Emacs": ("indwell.el", "eglot", "lsp-mode"),
    "Vim": ("vim",),
}
AT_ONCE = 6  # the number of editors that run at the same time


class Model:
    """A model that asks to run commands, some time after the prompt; the first removes a folder.

    Args:
        delay_s: The time until the first answer, in seconds.
        later: The commands after the first.
    """

    def __init__(self, delay_s: float, *later: str) -> None:
        self._delay_s = delay_s
        self._later = later
        self.results: list[Any] = []

    def __call__(self, seen: Seen) -> Answer:
        # A note about the user's typing may follow the result: the selection counts as read.
        results = [one["content"] for one in seen.body["messages"] if one["role"] == "tool"]
        if results:
            self.results.append(results[-1])
            done = len(results) - 1
            return tool("bash", command=self._later[done]) if done < len(self._later) else DONE
        time.sleep(self._delay_s)
        return tool("bash", command="rm -r build")


def argv(editor: Editor, folder: Path) -> Sequence[str]:
    configuration = CONFIGURATIONS[editor.setup]
    blocks = configuration.shown(serve_model())
    text = blocks[1] if editor.bare else configuration.text(serve_model())
    path = str(folder / "my projéct" / PATH)
    if editor.setup.startswith("nvim"):
        init, user = folder / "init.lua", HERE / "typing_user.lua"
        init.write_text(f"vim.opt.shortmess:append('F')\n{text}", "utf-8")
        program = neovim07.neovim07() if editor.setup == "nvim-older" else neovim.neovim()
        return (program, "--clean", "-n", "-u", str(init), "-S", str(user), path)
    if editor.setup == "vim":
        init, before = folder / "vimrc", folder / "before.vim"
        init.write_text(text, "utf-8")
        before.write_text("set nocompatible encoding=utf-8\npackadd! ale\n")
        files = ("-u", str(before), "--cmd", "set noswapfile viminfo=", "-S", str(init))
        return (vim(), "-N", *files, "-S", str(HERE / "typing_user.vim"))
    feature = "lsp-mode" if editor.setup == "emacs-lsp-mode" else "eglot"
    init = folder / "init.el"
    init.write_text(text, "utf-8")
    options = ("-nw", "-q", *emacs.UNCOMPILED, "-f", "package-initialize", "-l", str(init))
    return (emacs.emacs(feature), *options, "-l", str(HERE / "typing_user.el"))


def variables(folder: Path, endpoint: LoopbackEndpoint) -> Mapping[str, str]:
    return {
        **environment(folder),
        "INDWELL_PATH": str(folder / "my projéct" / PATH),
        "OPENAI_BASE_URL": endpoint.base_url,
        "INDWELL_MODEL": "loopback-model",
    }


def answered(terminal: Terminal, model: Model, keys: str, n_results: int) -> None:
    """Answer a question; a busy machine may drop the first answer as keys typed ahead."""
    until = time.monotonic() + PATIENCE_S
    while len(model.results) < n_results:
        assert time.monotonic() < until, f"no answer is taken: {terminal.shown[-3_000:]}"
        terminal.press(keys)
        time.sleep(2.0)  # time in which the user reads


def at_once(work: Callable[..., Any], arguments: Sequence[Sequence[Any]]) -> list[Any]:
    """Call a function with each of the arguments, in several threads."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda one: work(*one), arguments))


def play(editor: Editor, folder: Path, seed: int) -> list[Any]:
    """Type while the question arrives; return the texts for the model before the user answered."""
    chance = random.Random(seed)
    folder.mkdir()
    root = put_files(FILES, folder)
    (root / "build").mkdir()
    (root / "build" / "made.txt").write_text("made\n")
    model = Model(chance.uniform(0.2, 2.0))
    with (
        endpoint_in_thread(model) as endpoint,
        Terminal(argv(editor, folder), root, variables(folder, endpoint)) as terminal,
    ):
        terminal.wait_for("the turn", lambda: len(endpoint.seen) > 0)
        terminal.press(editor.insert)
        lines = [chance.choice(LINES) for _ in range(10)]
        stop = chance.randrange(3, 8)  # the user pauses here, and continues
        thinks_s = chance.uniform(2.0, 4.0)
        for number, line in enumerate(lines):
            if number == stop:
                time.sleep(thinks_s)
            terminal.type(line, lambda: chance.uniform(0.03, 0.15))
        by_typing = list(model.results)
        while editor.bare and not model.results:  # a second question may follow the first
            time.sleep(4.0)
            terminal.press(editor.no)
        if not by_typing and not editor.bare:
            seen = terminal.shown.count(editor.question)
            if not seen:
                terminal.wait_for(
                    "the question", lambda: terminal.shown.count(editor.question) > seen
                )
            time.sleep(2.0)  # time in which the user reads
            by_typing = list(model.results)
            answered(terminal, model, editor.no, 1)
            assert REFUSED in str(model.results[0]), terminal.shown[-2_000:]
    assert (root / "build" / "made.txt").exists() or by_typing
    return by_typing


@pytest.mark.timeout(200 + 120 * RUNS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_no_key_that_is_meant_for_a_file_answers_a_question(tmp_path: Path, program: str) -> None:
    plays = [(name, seed) for name in PROGRAMS[program] for seed in range(RUNS)]
    told = at_once(
        play, [(EDITORS[name], tmp_path / f"{name}{seed}", seed) for name, seed in plays]
    )
    for (name, seed), results in zip(plays, told, strict=True):
        # a typed 1 means No, and the command does not run
        is_bare = EDITORS[name].bare
        answers = [one for one in results if not is_bare or REFUSED not in str(one)]
        assert answers == [], f"{name}, seed {seed}"


@pytest.mark.timeout(200)
@pytest.mark.parametrize("program", PROGRAMS)
def test_typed_text_answers_no_question_and_the_start_of_a_title_chooses_an_answer(
    tmp_path: Path, program: str
) -> None:
    names = [name for name in PROGRAMS[program] if not EDITORS[name].bare]
    told = at_once(choose, [(EDITORS[name], tmp_path / name) for name in names])
    assert not [one for results in told for one in results if REFUSED in str(one)]


def choose(editor: Editor, folder: Path) -> list[Any]:
    """Answer two questions by words, the first after text that answers nothing."""
    folder.mkdir()
    root = put_files(FILES, folder)
    (root / "build").mkdir()
    model = Model(0.0, f"rm -r {SECOND}")
    with (
        endpoint_in_thread(model) as endpoint,
        Terminal(argv(editor, folder), root, variables(folder, endpoint)) as terminal,
    ):
        for number, keys in enumerate(("\r", "once\r")):
            terminal.wait_for("it", lambda n=number: terminal.shown.count("not one of") >= n)
            terminal.wait_for("it", lambda: editor.question in terminal.shown[-3_000:])
            time.sleep(1.0)  # time in which the user reads
            assert model.results == []
            terminal.press(keys)
        terminal.wait_for("it", lambda: terminal.shown.count("not one of") >= 2)
        time.sleep(1.0)
        answered(terminal, model, "allow-o\r", 1)
        terminal.wait_for("the next question, without a key", lambda: SECOND in terminal.shown)
        time.sleep(2.0)
        answered(terminal, model, "allow-o\r", 2)
    assert not (root / "build").exists()
    return model.results
