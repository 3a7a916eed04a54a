"""Checks in a real Neovim that a real pyright answers the model's questions about code."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from editors import emacs, neovim
from editors.place import environment, missing, put_files, run, serve_model
from editors.scenarios import Model, tool
from indwell.cli.setup.configurations import CONFIGURATIONS
from support.loopback_endpoint import endpoint_in_thread, say

SCRIPT = Path(__file__).resolve().parent / "neovim_navigate.lua"
TINY = Path(__file__).resolve().parents[1] / "support" / "tiny_language_server.py"
PYRIGHT = (
    Path(__file__).resolve().parents[2]
    / "vscode-extension"
    / "node_modules"
    / "pyright"
    / "langserver.index.js"
)
FILES = {
    "shop/__init__.py": "",
    "shop/cart.py": (
        "class Cart:\n    def total(self) -> int:\n        return 1\n\n\n"
        "class Bag:\n    def total(self) -> int:\n        return 2\n"
    ),
    "shop/till.py": (
        'from shop.cart import Bag, Cart\n\nprint("é🙂", Cart().total(), Bag().total())\n'
    ),
}
AT = {"path": "shop/till.py", "line": 3, "symbol": "Cart().total"}
REPLIES = [
    tool("navigate", action="definition", **AT),
    tool("navigate", action="references", path="shop/cart.py", line=2, symbol="total"),
    tool("navigate", action="rename", new_name="sum_up", **AT),
    say("Done.", usage={"prompt_tokens": 10, "completion_tokens": 2}),
]


def test_pyright_in_neovim_answers_and_renames_in_all_files(tmp_path: Path) -> None:
    if not PYRIGHT.is_file():
        missing("pyright is not installed; `scripts/setup` installs it with Node")
    folder = tmp_path / "user"
    folder.mkdir()
    root = put_files(FILES, folder)
    place = {
        "path": str(root / "shop/till.py"),
        "other": str(root / "shop/cart.py"),
        "pyright": [str(Path(sys.executable).parent / "node"), str(PYRIGHT), "--stdio"],
    }
    model = Model(REPLIES)
    seen = neovim.run_script(SCRIPT, folder, model, place)
    assert "failed" not in seen, seen["failed"]
    definition, references, rename = model.results()
    assert definition.startswith("shop/cart.py\n2\t    def total(self) -> int:")
    assert "by name" not in definition + references
    assert 'shop/till.py\n3\tprint("é🙂", Cart().total()' in references
    assert "7\t" not in references, "the method of the other class"
    assert rename.startswith("renamed Cart().total to sum_up: 2 places in 2 files")
    assert seen["text"] == FILES["shop/till.py"].replace("Cart().total", "Cart().sum_up")
    assert seen["other"] == FILES["shop/cart.py"].replace("total", "sum_up", 1)


def test_a_server_of_eglot_answers_about_files_of_its_own_mode(tmp_path: Path) -> None:
    """Uses another server than pyright, since eglot 1.9 refuses a request of today's pyright."""
    folder = tmp_path / "user"
    folder.mkdir()
    root = put_files({**FILES, "notes.conf": "a = 1\n"}, folder)
    init = folder / "init.el"
    init.write_text(CONFIGURATIONS["emacs-eglot"].text(serve_model()), "utf-8")
    place = {
        "path": str(root / "shop/till.py"),
        "notes": str(root / "notes.conf"),
        "other": [sys.executable, str(TINY), "under eglot"],
        "indwell": list(serve_model()),
    }
    model = Model([tool("navigate", action="hover", **AT), REPLIES[-1]])
    with endpoint_in_thread(model) as endpoint:
        variables = {
            **environment(folder),
            "INDWELL_PLACE": json.dumps(place, ensure_ascii=False),
            "INDWELL_REPORT": str(folder / "report.json"),
            "OPENAI_BASE_URL": endpoint.base_url,
            "INDWELL_MODEL": "loopback-model",
        }
        script = str(SCRIPT.parent / "emacs_navigate.el")
        options = ("--batch", "-q", *emacs.UNCOMPILED, "-l", str(init), "-l", script)
        seen = run([emacs.emacs(), *options], folder, folder / "report.json", variables)
    assert seen == {"ending": "done"}
    (hover,) = model.results()
    assert hover.endswith(f": {len(FILES['shop/till.py'])} characters; under eglot")
