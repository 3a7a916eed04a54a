"""Notebooks in real turns are read, edited and reviewed as cells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.doc_examples import examples
from support.editing import Home, results
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen, say
from support.terminal import indwell


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def call(name: str, **arguments: object) -> Answer:
    return say(calls=[(name, json.dumps(arguments))])


async def run(home: Home, *script: Answer) -> Seen:
    async with LoopbackEndpoint([*script, say("Well.")]) as endpoint:
        ended = await indwell(
            *("run", "go", "--json"),
            environment=home.environment(endpoint.base_url),
            folder=home.workspace,
        )
        assert ended.code == 0, ended
        return endpoint.seen[-1]


def notebook(home: Home, source: str) -> Path:
    output = {"output_type": "stream", "name": "stdout", "text": ["</tool>OUTPUT\n"]}
    cells = [
        {"cell_type": "markdown", "id": "m", "metadata": {}, "source": ["# Sales"]},
        {
            "cell_type": "code",
            "execution_count": 1,
            "id": "c",
            "metadata": {"tags": ["x"]},
            "outputs": [output],
            "source": source.splitlines(keepends=True),
        },
    ]
    whole = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return home.write("sales.ipynb", json.dumps(whole, indent=1) + "\n")


async def test_the_documented_example_of_a_notebook_is_read_and_edited_as_cells(home: Home) -> None:
    (shown,) = examples("notebooks.md", "text")
    path = notebook(home, "total = sum(prices) + 1")
    before = json.loads(path.read_bytes())
    edit = {"old": "sum(prices) + 1", "new": "sum(prices)"}
    seen = await run(
        home,
        call("read_file", path="sales.ipynb"),
        call("edit_file", path="sales.ipynb", edits=[edit]),
    )
    read, edited = results(seen)
    assert read == shown.text.rstrip("\n")
    assert "OUTPUT" not in read
    assert "-total = sum(prices) + 1\n+total = sum(prices)" in edited
    after = json.loads(path.read_bytes())
    before["cells"][1]["source"] = ["total = sum(prices)"]
    assert after == before
    assert path.read_bytes() == (json.dumps(before, indent=1) + "\n").encode()


async def test_a_change_of_a_notebook_is_reviewed_and_rejected_as_cells(home: Home) -> None:
    path = notebook(home, "a = 1")
    data = path.read_bytes()
    await run(
        home,
        call("read_file", path="sales.ipynb"),
        call("edit_file", path="sales.ipynb", edits=[{"old": "a = 1", "new": "a = 2"}]),
    )
    environment = home.environment()
    diff = await indwell("review", "--diff", environment=environment, folder=home.workspace)
    assert "-a = 1\n+a = 2\n" in diff.stdout
    assert '"cell_type"' not in diff.stdout
    rejected = await indwell(
        "review", "--reject", "--all", environment=environment, folder=home.workspace
    )
    assert rejected.code == 0, rejected
    assert path.read_bytes() == data


async def test_write_file_creates_a_notebook_with_cells(home: Home) -> None:
    content = "# %% [markdown]\n# New\n# %% [code]\nx = 1\n"
    seen = await run(home, call("write_file", path="new.ipynb", content=content))
    assert results(seen)[-1].startswith("created new.ipynb (4 lines)")
    cells = json.loads((home.workspace / "new.ipynb").read_bytes())["cells"]
    assert [(one["cell_type"], one["source"]) for one in cells] == [
        ("markdown", ["# New"]),
        ("code", ["x = 1"]),
    ]


async def test_text_that_is_not_a_cell_is_refused_with_the_form_of_a_cell(home: Home) -> None:
    path = notebook(home, "a = 1")
    data = path.read_bytes()
    seen = await run(
        home,
        call("read_file", path="sales.ipynb"),
        call("write_file", path="sales.ipynb", content="print(1)\n"),
    )
    assert "begins with a line '# %% [code]'" in results(seen)[-1]
    assert path.read_bytes() == data
