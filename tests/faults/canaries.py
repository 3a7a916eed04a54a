"""Hides twenty secrets from a hostile model that searches everywhere; none may leak.

    python tests/faults/canaries.py [FOLDER]

The run has a real server over stdio, a user who allows harmless commands, and an endpoint that
requests everything that could show secrets. Afterwards the run searches the children's
environments, the log, the state files, the messages to the editor, and the requests to the model.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

from support.editing import SERVE, Home  # noqa: E402 - the path comes first
from support.loopback_endpoint import (  # noqa: E402
    Answer,
    LoopbackEndpoint,
    Seen,
    raw,
    refuse,
    say,
)
from support.made_secrets import made_secrets  # noqa: E402
from support.process_facts import descendants  # noqa: E402
from support.raw_client import RawClient, raw_client  # noqa: E402

VARIABLES = (
    "OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "SECRET_KEY_BASE",
    "NPM_TOKEN", "AZURE_CLIENT_SECRET", "SMTP_PASS", "ANTHROPIC_API_KEY",
)  # fmt: skip
FORMS = ("github", "aws secret", "slack", "jwt", "address", "private key")
LOOKING = (
    "env; export -p; set",
    "env > child.txt",
    "cat /proc/$PPID/environ | tr '\\0' '\\n'",
    "for one in /proc/[0-9]*; do tr '\\0' '\\n' < $one/environ; cat $one/cmdline; done 2>/dev/null",
    "ps auxewww",
    "cat deploy.txt",
    "tail -n +1 *.txt",
    "python3 -c 'import os; print(os.environ)'",
    "git config --list --show-origin; git remote -v",
    "bash -c 'nonsense-command --key'; ls -la ~ . /proc/self/fd",
    "head -c 200000 /dev/zero | tr '\\0' x; cat deploy.txt",
)
TOOLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("read_file", {"path": ".env"}),
    ("read_file", {"path": "id_rsa"}),
    ("read_file", {"path": "deploy.txt"}),
    ("read_file", {"path": "../config/indwell/keys.json"}),
    ("read_file", {"path": "../.aws/credentials"}),
    ("read_file", {"path": "/proc/self/environ"}),
    ("grep", {"pattern": "canary|TOKEN|PRIVATE", "path": "."}),
    ("grep", {"pattern": "canary", "path": ".env"}),
    ("glob", {"pattern": "**/*"}),
    ("edit_file", {"path": "deploy.txt", "edits": [{"old": "nothing", "new": "x"}]}),
    ("read_file", {"path": "missing"}),
)
FAULTS = 3  # number of prompts that the endpoint refuses with an error that contains the key


class Canaries:
    """The secrets of one run, the file of each secret, and the texts in which a secret leaked."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder)
        mark = secrets.token_hex(6)
        self.variables = {name: f"canary-{mark}-{n}xY{n}" for n, name in enumerate(VARIABLES)}
        self.all = {f"variable {name}": value for name, value in self.variables.items()}
        texts = made_secrets(secrets.randbelow(10**6))
        self._lay_out({name: texts[name] for name in FORMS}, mark)
        self.found: dict[str, list[str]] = {}

    def _lay_out(self, forms: dict[str, tuple[str, str]], mark: str) -> None:
        home = self.home
        home.write("deploy.txt", "\n".join(text for text, _ in forms.values()))
        self.all |= {f"form {name}": secret for name, (_, secret) in forms.items()}
        for place in (".env", "id_rsa"):
            self.all[f"file {place}"] = f"canary-{mark}-{place}"
            home.write(place, f"SECRET={self.all[f'file {place}']}\n")
        for place in (".aws/credentials", "config/indwell/keys.json"):
            self.all[f"file ~/{place}"] = f"canary-{mark}-{place}"
            path = home.folder / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(
                json.dumps({"https://x": {"where": "file", "key": f"canary-{mark}-{place}"}})
            )
            path.chmod(0o600)
        self.all["login"] = f"canary-{mark}-login"

    def look(self, place: str, data: bytes) -> None:
        """Record the secrets that ``data`` contains."""
        hits = [name for name, secret in self.all.items() if secret.encode() in data]
        if hits:
            self.found[place] = sorted({*self.found.get(place, ()), *hits})


class HostileModel:
    """An endpoint that requests one call a round, ends the turn, and then refuses with the key."""

    def __init__(self, key: str) -> None:
        self._key = key
        calls = [("bash", {"command": command}) for command in LOOKING]
        self._calls = [(name, json.dumps(arguments)) for name, arguments in (*calls, *TOOLS)]
        self.results: list[str] = []

    def __call__(self, seen: Seen) -> Answer:
        if not seen.path.endswith("/chat/completions"):
            return raw(404)
        if self._calls:
            return say(calls=[self._calls.pop(0)], piece=4_096)
        if not self.results:
            found = [one for one in seen.body["messages"] if one["role"] == "tool"]
            self.results = [one["content"] for one in found]
            return say("That is all.")
        return refuse(401, f"wrong key {self._key}, sent as Bearer {self._key}")


def answer(params: Any) -> dict[str, str]:
    """Answer as the user: allow reading, except of files that hold secrets."""
    return {"answer": "once" if params["detail"] in LOOKING else "no"}


async def run(folder: Path) -> tuple[Canaries, list[str]]:
    """Let the model search; return the leaked secrets with their sources, and the model's texts."""
    canaries = Canaries(folder)
    home = canaries.home
    model = HostileModel(canaries.variables["OPENAI_API_KEY"])
    async with LoopbackEndpoint(model) as endpoint:
        environment = home.environment(endpoint.base_url, **canaries.variables)
        async with raw_client(home, command=SERVE, environment=environment) as client:
            client.replies["indwell/permission"] = answer
            await client.prompt("look around", timeout_s=90)
            for _ in range(FAULTS):
                canaries.look("editor", repr(await client.prompt("and again")).encode())
            for wish in (
                {"provider": canaries.all["login"]},
                {"provider": 7, "key": canaries.all["login"]},
            ):
                canaries.look(
                    "error data", repr(await client.request("indwell/login", wish)).encode()
                )
            _look_at_processes(canaries, client)
            _look_at_messages(canaries, client)
            await client.say_goodbye()
            canaries.look("log", client.stderr.encode())
        for seen in endpoint.seen:
            canaries.look("requests", seen.raw)
    _look_at_files(canaries)
    return canaries, model.results


def _look_at_processes(canaries: Canaries, client: RawClient) -> None:
    for pid in (client.pid, *descendants(client.pid)):
        for name in ("environ", "cmdline"):
            with contextlib.suppress(OSError):  # the process has ended
                canaries.look(f"{name} of processes", Path(f"/proc/{pid}/{name}").read_bytes())


def _look_at_messages(canaries: Canaries, client: RawClient) -> None:
    for message in client.messages:
        if "error" in message or message.get("method", "").startswith(("window/", "$/")):
            canaries.look("error data", repr(message).encode())


def _look_at_files(canaries: Canaries) -> None:
    home = canaries.home
    for paths in (home.state.rglob("*"), [home.workspace / "child.txt"]):
        for one in paths:
            if one.is_file():
                canaries.look(f"files: {one.name}", one.read_bytes())


def main() -> int:
    """Run once; return 0 if no secret leaked."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(name)
        canaries, told = asyncio.run(run(folder))
    print(
        f"{len(canaries.all)} canaries, {len(LOOKING) + len(TOOLS)} attempts, {len(told)} results"
    )
    for place, names in canaries.found.items():
        print(f"FOUND in {place}: {', '.join(names)}")
    return 1 if canaries.found else 0


if __name__ == "__main__":
    sys.exit(main())
