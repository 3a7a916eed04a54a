"""Writes the kept files of this release with the real program; run in ``tests``.

    python -m stored.write

The files are never written again, because they stand for what this release wrote. Git must be
installed. The machine's paths are replaced by ``scenario.ROOT``. The folder ``panel`` is added by
hand, from the storage of VS Code.
"""

from __future__ import annotations

import json
import os
import platform
import re
import socket
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from indwell import __version__
from indwell.cli.interactive.history import LineHistory
from indwell.cli.interactive.opening import OpenMark
from indwell.providers.offered_models import OfferedModel
from indwell.service.endpoint import model_list
from indwell.service.endpoint.learned_wires import keep_wire
from indwell.sessions.storage.automatic_deletion import SweepRecord, _write
from indwell.sessions.storage.drafts import DraftStore, WaitingWords
from indwell.sessions.storage.spending import SpendingLedger
from indwell.sessions.storage.store import folder_name
from indwell.settings.credentials import Secret
from indwell.settings.keys import KeyringUnusable, KeyStore, Ring
from indwell.settings.permission_rules import RuleBook
from stored.forms import forms
from stored.scenario import (
    EVALUATION,
    FIX,
    HERE,
    READING,
    ROOT,
    WORKING,
    schema_of,
    title,
    without_words,
    write_project,
)

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
PLAIN = {
    f"{platform.system()} {platform.release()}": "Linux 6.1",
    f'"host":"{socket.gethostname()}"': '"host":"machine"',
}
DROPPED = {"lock", "settings.lock", "key", "overview.json", "workspaces"}


def main() -> None:
    """Write the folder of this version."""
    target = HERE / __version__
    if target.exists():
        sys.exit(f"{target} exists; the files of a release are never written again")
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve() / "user"
        root.mkdir()
        schemas = run_all(root)
        store_more(root)
        copy(root, target)
    schema = HERE.parents[1] / "docs" / "protocol.schema.json"
    kept = json.dumps(without_words(json.loads(schema.read_text("utf-8"))), sort_keys=True) + "\n"
    (target / "protocol.schema.json").write_text(kept, encoding="utf-8")
    kept = json.dumps(forms(), sort_keys=True, indent=1) + "\n"
    (target / "forms.schema.json").write_text(kept, encoding="utf-8")
    text = json.dumps(schemas, indent=1, sort_keys=True) + "\n"
    (target / "outputs.schema.json").write_text(text, encoding="utf-8")


def environment(root: Path) -> dict[str, str]:
    """Return an environment without the machine's settings."""
    return {
        "HOME": str(root),
        "PATH": os.environ["PATH"],
        "XDG_CONFIG_HOME": str(root / "config"),
        "INDWELL_STATE": str(root / "state"),
        "INDWELL_PROVIDER": "scripted",
    }


def run_all(root: Path) -> dict[str, object]:
    """Run the commands; return the shapes of their outputs."""
    project = write_project(root)
    own = {**environment(root), "GIT_AUTHOR_NAME": "a", "GIT_COMMITTER_NAME": "a"}
    own |= {"GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_EMAIL": "a@example.org"}

    def call(*words: str) -> str:
        ended = subprocess.run(words, cwd=project, env=own, capture_output=True, check=False)
        if ended.returncode not in {0, 1}:
            sys.exit(f"{words} ended with {ended.returncode}: {ended.stderr.decode()}")
        return ended.stdout.decode()

    def indwell(*words: str) -> str:
        return call(sys.executable, "-m", "indwell", *words)

    call("git", "init", "-q")
    call("git", "add", "-A")
    call("git", "commit", "-qm", "Begin")
    (root / "config" / "indwell").mkdir(parents=True)
    settings = 'version = 1\nmode = "review"\nbudget_day = 5.0\n'
    (root / "config" / "indwell" / "config.toml").write_text(settings, encoding="utf-8")
    indwell("trust", "--yes", ".")
    indwell("mcp", "approve", "notes", "--yes")
    indwell("run", "--worktree", *FIX)
    rules = RuleBook(root / "state" / "permissions" / f"{folder_name(project)}.json")
    rules.replace((), f"bash in {project}: make check")
    found: dict[str, object] = {}
    for command in (EVALUATION, *WORKING[:-1]):
        found[title(command)] = schema_of(indwell(*command))
    indwell("run", *FIX)  # The bug is fixed already; the session is the one to delete.
    rows = json.loads(indwell("sessions", "--json"))
    newest, edited = rows[0]["id"], rows[1]["id"]
    last = [newest if word == "SESSION" else word for word in WORKING[-1]]
    found[title(WORKING[-1])] = schema_of(indwell(*last))
    rules.replace((), f"bash in {project}: make test")
    for command in READING:
        words = [edited if word == "SESSION" else word for word in command]
        found[title(command)] = schema_of(indwell(*words))
    return found


def store_more(root: Path) -> None:
    """Store with the program's own code what the commands above do not store."""

    def no_ring() -> Ring:
        raise KeyringUnusable("there is no keyring")

    state, project = root / "state", root / "project"
    keys = KeyStore(root / "config" / "indwell" / "keys.json", no_ring)
    keys.put("https://models.example", Secret("made-up-key"))
    keep_wire(state, "https://models.example/v1", "house-model", "responses")
    os.environ["INDWELL_STATE"] = str(state)
    told = model_list.Told(NOW, OfferedModel("house-model", window=64_000, price_in=1.0))
    model_list._keep({"0" * 32: told})
    drafts = DraftStore(state, project)
    drafts.keep(["An unsent prompt"], now=NOW)
    WaitingWords(state / "drafts" / folder_name(project)).keep({"1": "A waiting prompt"}, now=NOW)
    if not (state / "swept" / "record.json").exists():
        _write(state, SweepRecord(believed=NOW.isoformat()))
    ledger = SpendingLedger(state, lambda: NOW)
    ledger.add(0.25)
    ledger._thread.shutdown()
    LineHistory(state).keep("Fix the bug")
    OpenMark(project).put("20261128-120000-000-0123456789ab")


def copy(root: Path, target: Path) -> None:
    """Copy what is stored, without locks and machine-made caches, and without paths of here."""
    for name in ("state", "config", "batch", "eval", "state-worktrees"):
        for path in sorted((root / name).rglob("*")):
            parts = path.relative_to(root).parts
            if (
                path.suffix == ".lock"
                or not path.is_file()
                or path.is_symlink()
                or DROPPED & {*parts}
                or ".git" in parts
            ):
                continue
            data = path.read_bytes()
            for own, plain in PLAIN.items() | {(str(root), ROOT)}:
                data = data.replace(own.encode(), plain.encode())
            own = "/".join(parts).replace(folder_name(root / "project"), "project-HASH")
            place = target / re.sub(r"project-[0-9a-f]{16}", "project-WORKTREE", own)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)


if __name__ == "__main__":
    main()
