"""Notebooks are read as cells, and an edit changes no other byte."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest

from indwell.errors import TextMoved, ToolError
from indwell.workspace.disk import DiskWorkspace
from indwell.workspace.encoding.notebook import (
    NotebookCell,
    about_cells,
    cells_of,
    cells_text,
    new_notebook,
    notebook_text,
    with_cells,
)

CELLS = [
    {"cell_type": "markdown", "id": "m1", "metadata": {"x": 1}, "source": ["# Title\n", "é"]},
    {
        "cell_type": "code",
        "execution_count": 3,
        "id": "c1",
        "metadata": {},
        "outputs": [{"output_type": "stream", "name": "stdout", "text": ["SECRET OUTPUT\n"]}],
        "source": ["import x\n", "x.go()"],
    },
    {"cell_type": "raw", "id": "r1", "metadata": {}, "source": []},
]
WHOLE = {"cells": CELLS, "metadata": {"kernelspec": {}}, "nbformat": 4, "nbformat_minor": 5}
TEXT = "# %% [markdown]\n# Title\né\n# %% [code]\nimport x\nx.go()\n# %% [raw]\n\n"

STYLES = {
    "jupyter": json.dumps(WHOLE, indent=1, ensure_ascii=False) + "\n",
    "ascii": json.dumps(WHOLE, indent=1) + "\n",
    "two blanks": json.dumps(WHOLE, indent=2, ensure_ascii=False),
    "tabs": json.dumps(WHOLE, indent="\t", ensure_ascii=False) + "\n",
    "compact": json.dumps(WHOLE, separators=(",", ":")),
    "one line": json.dumps(WHOLE) + "\n",
    "by hand": '{ "nbformat":4,"cells" : [ {"cell_type":"code","source":"a = 1e5" ,\n"metadata":'
    '{"n":1E5}} ]\n, "nbformat_minor":2, "metadata":{}, "metadata":{} }',
}


@pytest.mark.parametrize("style", STYLES)
def test_a_notebook_is_read_as_its_cells_without_outputs(style: str) -> None:
    text = notebook_text(STYLES[style])
    assert text == ("# %% [code]\na = 1e5\n" if style == "by hand" else TEXT)
    assert cells_text(cells_of(text)) == text


@pytest.mark.parametrize("behind", ["x", "{}", "\n# run me", "\0", "\xa0"])
def test_a_notebook_with_text_after_its_json_is_shown_unchanged(behind: str) -> None:
    for raw in STYLES.values():
        assert notebook_text(raw + behind) is None
        with pytest.raises(ValueError, match="text behind the notebook"):
            with_cells(raw + behind, TEXT)


@pytest.mark.parametrize("style", STYLES)
def test_an_unchanged_text_changes_no_byte(style: str) -> None:
    raw = STYLES[style]
    text = notebook_text(raw)
    assert text is not None
    assert with_cells(raw, text) == raw


@pytest.mark.parametrize("style", [one for one in STYLES if one != "by hand"])
def test_an_edited_cell_is_written_in_the_style_of_the_notebook(style: str) -> None:
    raw = STYLES[style]
    changed = with_cells(raw, TEXT.replace("x.go()", "x.stop()\ny = 'ü'"))
    whole = json.loads(changed)
    cells = json.loads(raw)["cells"]
    cells[1]["source"] = ["import x\n", "x.stop()\n", "y = 'ü'"]
    assert whole["cells"] == cells, "ids, metadata and outputs stay"
    indent = {"jupyter": 1, "ascii": 1, "two blanks": 2, "tabs": "\t"}.get(style)
    separators = (",", ":") if style == "compact" else None
    same = json.dumps(whole, indent=indent, ensure_ascii=changed.isascii(), separators=separators)
    assert changed.rstrip("\n") == same, "as if the same program had written it"


def test_an_edit_keeps_the_formatting_of_a_notebook_written_by_hand() -> None:
    raw = STYLES["by hand"]
    assert with_cells(raw, "# %% [code]\nb\n") == raw.replace('"a = 1e5"', '"b"')


@pytest.mark.parametrize("style", ["jupyter", "two blanks", "compact"])
def test_cells_are_added_moved_and_removed_with_their_neighbours_intact(style: str) -> None:
    raw = STYLES[style]
    added = with_cells(raw, f"{TEXT}# %% [code]\nnew = 1\n")
    cells = json.loads(added)["cells"]
    assert cells[:3] == CELLS
    assert (cells[3]["source"], cells[3]["outputs"], len(cells[3]["id"])) == (["new = 1"], [], 8)
    removed = with_cells(added, TEXT)
    assert removed == raw
    first = with_cells(raw, "# %% [code]\nimport x\nx.go()\n# %% [markdown]\nother\n")
    sources = [(one["cell_type"], one.get("id") == "c1") for one in json.loads(first)["cells"]]
    assert sources == [("code", True), ("markdown", False)]
    assert json.loads(with_cells(raw, ""))["cells"] == []


def test_an_old_notebook_gets_no_ids() -> None:
    old = json.dumps({**WHOLE, "nbformat_minor": 2}, indent=1)
    cells = json.loads(with_cells(old, f"{TEXT}# %% [markdown]\nx\n"))["cells"]
    assert cells[3] == {"cell_type": "markdown", "metadata": {}, "source": ["x"]}


def test_an_empty_notebook_gets_its_first_cell_in_its_own_style() -> None:
    raw = json.dumps({**WHOLE, "cells": []}, indent=1) + "\n"
    assert notebook_text(raw) == ""
    made = with_cells(raw, "# %% [code]\nx\n")
    assert made == json.dumps(json.loads(made), indent=1) + "\n"


@pytest.mark.parametrize(
    "raw",
    [
        *(
            "",
            "{}",
            "[]",
            "nonsense",
            '{"cells": [], "nbformat": 3}',
            '{"cells": 1, "nbformat": 4}',
        ),
        '{"nbformat": 4, "cells": [{"cell_type": "code", "source": "# %% [code]"}]}',
        '{"nbformat": 4, "cells": [{"cell_type": "odd", "source": ""}]}',
        '{"nbformat": 4, "cells": [{"cell_type": "code", "source": "a\\r\\nb"}]}',
        '{"nbformat": 4, "cells": [{"cell_type": "code"}]}',
        '{"nbformat": 4, "cells": [' + "[" * 100_000,
    ],
)
def test_an_unsupported_notebook_is_shown_unchanged(raw: str) -> None:
    assert notebook_text(raw) is None


def test_random_edits_keep_unchanged_cells() -> None:
    """A cell that is in both texts keeps its JSON, whatever changes around the cell."""
    chance = random.Random(7)
    for _ in range(200):
        n_cells = chance.randint(0, 6)
        cells = [
            {
                "cell_type": "code",
                "execution_count": number,
                "id": f"id{number}",
                "metadata": {},
                "outputs": [number],
                "source": [f"cell {number}\n", "x"],
            }
            for number in range(n_cells)
        ]
        raw = json.dumps({**WHOLE, "cells": cells}, indent=chance.choice([None, 1, 2]))
        kept = [one for one in range(n_cells) if chance.random() < 0.7]
        new = [NotebookCell("code", f"cell {one}\nx") for one in kept]
        for number in range(chance.randint(0, 3)):
            new.insert(chance.randint(0, len(new)), NotebookCell("markdown", f"new {number}"))
        text = cells_text(new)
        assert text is not None
        made = with_cells(raw, text)
        assert notebook_text(made) == text
        after = {one.get("id"): one for one in json.loads(made)["cells"]}
        assert all(after[f"id{one}"] == cells[one] for one in kept)


def test_the_note_names_the_first_line_of_each_cell() -> None:
    assert about_cells(TEXT) == (
        "a notebook of 3 cells as text, outputs left out; their sources begin in lines 2, 5, 8"
    )


async def test_the_workspace_reads_and_writes_cells(tmp_path: Path) -> None:
    workspace = DiskWorkspace([tmp_path])
    path = workspace.roots[0] / "a.ipynb"
    path.write_bytes(STYLES["jupyter"].encode())
    snapshot = await workspace.read(path)
    assert snapshot.text == TEXT
    change = await workspace.write(path, snapshot, TEXT.replace("go", "stop"), label="x")
    assert (change.verified, change.before, "x.stop()" in change.after) == (True, TEXT, True)
    assert json.loads(path.read_bytes())["cells"][1]["outputs"] == CELLS[1]["outputs"]
    with pytest.raises(TextMoved):
        await workspace.write(path, snapshot, TEXT, label="x")
    ran = json.loads(path.read_bytes())
    ran["cells"][1]["outputs"] = []
    path.write_text(json.dumps(ran, indent=1), encoding="utf-8")
    again = await workspace.read(path)
    assert again.stamp == change.stamp, "running a cell changes no source"
    with pytest.raises(ToolError, match="begins with a line"):
        await workspace.write(path, again, "no cells\n", label="x")


async def test_a_new_notebook_is_created_from_cells_or_json(tmp_path: Path) -> None:
    workspace = DiskWorkspace([tmp_path])
    path = workspace.roots[0] / "new.ipynb"
    change = await workspace.write(path, None, "# %% [code]\nx = 1", label="x")
    assert (change.after, change.verified) == ("# %% [code]\nx = 1\n", True)
    assert json.loads(path.read_bytes())["nbformat"] == 4
    other = workspace.roots[0] / "other.ipynb"
    await workspace.write(other, None, STYLES["two blanks"], label="x")
    assert other.read_text(encoding="utf-8") == STYLES["two blanks"]
    with pytest.raises(ToolError, match="begins with a line"):
        await workspace.write(workspace.roots[0] / "c.ipynb", None, "x = 1\n", label="x")
    assert new_notebook("").startswith("{")


def test_a_notebook_of_many_equal_cells_is_edited_fast() -> None:
    cell = {"cell_type": "raw", "metadata": {}, "source": "x"}
    raw = json.dumps({"cells": [cell] * 8_000, "metadata": {}, "nbformat": 4})
    text = "# %% [raw]\nfirst\n" + "# %% [raw]\nx\n" * 8_000 + "# %% [raw]\nlast\n"
    began = time.process_time()
    assert notebook_text(with_cells(raw, text)) == text
    assert time.process_time() - began < 4
