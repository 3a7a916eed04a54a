"""Runs a batch over made-up repositories while processes are killed, and checks what it promises.

    python benchmarks/batch.py [--tasks 200] [--repositories 50] [--jobs 2] [--kill 10] [--ray]

A loopback endpoint answers with a price of $0.02 for each call. The batch first runs with a budget
for half of the tasks, then is resumed. Every ``--kill`` seconds, the process of an attempt is
killed with -9 (on Ray, its parent worker), and the driver (on Ray, the head) once. If the program
runs as root, the disk of the results is full once. The program fails if a task has no result, if a
workspace or a process is left, or if the budget was passed. For comparison, ``indwell run`` does
some tasks alone.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.loopback_endpoint import Seen, endpoint_in_thread, say  # noqa: E402

SOURCE = "def total(items):\n    return sum(items) + {n}\n"
USAGE = {"prompt_tokens": 10, "completion_tokens": 2}
READ = ("read_file", json.dumps({"path": "shop.py"}))
EDIT = (
    "edit_file",
    json.dumps({"path": "shop.py", "edits": [{"old": "sum(items) +", "new": "sum(items) -"}]}),
)
CALL, CALLS = 0.02, 3  # dollars of a call, and calls of a task
INDWELL = (sys.executable, "-m", "indwell")
N_SERIAL = 6
LIMITED = 3  # the exit code of a used-up budget


def answers(seen: Seen):  # noqa: ANN201
    n_calls = sum(one["role"] == "tool" for one in seen.body["messages"])
    if n_calls < CALLS - 1:
        return say("", calls=[(READ, EDIT)[n_calls]], usage=USAGE)
    return say("Done.", usage=USAGE)


def make(folder: Path, n_tasks: int, n_repositories: int) -> Path:
    """Write the repositories and the file of tasks."""
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.example")
    for n in range(n_repositories):
        place = folder / f"repo{n}"
        place.mkdir(parents=True)
        (place / "shop.py").write_text(SOURCE.format(n=n))
        for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "one")):
            subprocess.run([*git, *words], cwd=place, check=True)
    rows = (
        {"id": f"t{n}", "repository": f"repo{n % n_repositories}", "prompt": f"Fix {n}."}
        for n in range(n_tasks)
    )
    tasks = folder / "tasks.jsonl"
    tasks.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return tasks


def children(mark: str) -> dict[int, int]:
    """Return the processes of attempts with their parents; their arguments contain ``mark``."""
    found = {}
    for place in Path("/proc").iterdir():
        try:
            words = (place / "cmdline").read_bytes()
            if mark.encode() in words and b"--metered" in words:
                found[int(place.name)] = int((place / "stat").read_text().rsplit(")")[1].split()[1])
        except (OSError, ValueError):
            continue
    return found


class Proof:
    """One batch with its faults."""

    def __init__(self, options: argparse.Namespace, folder: Path, base_url: str) -> None:
        self.options, self.folder = options, folder
        self.tasks = make(folder / "in", options.tasks, options.repositories)
        self.out = folder / "out"
        config = folder / "config" / "indwell" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text("price_in = 1.0\nprice_out = 10000.0\nmax_output = 2\n")
        self.environment = {
            **os.environ,
            "XDG_CONFIG_HOME": str(folder / "config"),
            "INDWELL_STATE": str(folder / "state"),
            "OPENAI_BASE_URL": base_url,
            "INDWELL_MODEL": "made-up",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
        }
        self.facts: Counter[str] = Counter()
        self.chance = random.Random(1)

    def results(self) -> Mapping[str, dict]:
        found = (json.loads(one.read_bytes()) for one in (self.out / "results").glob("*.json"))
        return {one["id"]: one for one in found}

    def batch(self, *more: str) -> subprocess.Popen[bytes]:
        words = [*INDWELL, "batch", str(self.tasks), "--to", str(self.out), "--trust"]
        words += ["--jobs", str(self.options.jobs), *more]
        words += ["--resume"] if (self.out / "plan.json").exists() else []
        words += ["--on", "ray"] if self.options.ray else []
        return subprocess.Popen(
            words,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / "log").open("ab"),
        )

    def run(self, *more: str, dies: bool = False) -> int:
        """Run the batch to its end; kill attempts meanwhile, and with ``dies`` the driver."""
        driver = self.batch(*more)
        n_before, last = len(self.results()), time.monotonic()
        while driver.poll() is None:
            time.sleep(0.2)
            if dies and len(self.results()) >= n_before + self.options.jobs + 1:
                self.facts["killed heads" if self.options.ray else "killed drivers"] += 1
                if self.options.ray:
                    self.kill_head()
                else:
                    driver.kill()
                dies = False
            if self.options.kill and time.monotonic() - last > self.options.kill:
                last = time.monotonic()
                if running := children(str(self.folder)):
                    pid = self.chance.choice(list(running))
                    os.kill(running[pid] if self.options.ray else pid, signal.SIGKILL)
                    self.facts["killed workers"] += 1
        return driver.wait()

    def kill_head(self) -> None:
        os.killpg(self.head.pid, signal.SIGKILL)
        self.head.wait()
        self.stop_nodes()
        self.start_nodes()

    def start_nodes(self) -> None:
        """Start a head and a second node on this machine, with half of the workers each."""
        port = str(20_000 + self.chance.randrange(20_000))
        each = str(max(1, self.options.jobs // 2))
        ray = [str(Path(sys.executable).parent / "ray"), "start", "--block", "--num-cpus", each]
        ray += ["--object-store-memory", "100000000"]
        head = ["--head", "--port", port, "--include-dashboard", "false"]
        log = (self.folder / "ray.log").open("ab")
        start = {"env": self.environment, "stdout": log, "stderr": log, "start_new_session": True}
        self.head = subprocess.Popen([*ray, *head], **start)
        time.sleep(12)  # The head writes no sign of its readiness that a program could wait for.
        self.node = subprocess.Popen([*ray, "--address", f"127.0.0.1:{port}"], **start)
        time.sleep(8)
        self.environment["RAY_ADDRESS"] = f"127.0.0.1:{port}"

    def stop_nodes(self) -> None:
        for one in (self.node, self.head):
            if one.poll() is None:
                os.killpg(one.pid, signal.SIGKILL)
                one.wait()

    @contextmanager
    def small_disk(self) -> Iterator[Self]:
        """Put the results on a disk of their own, if this user may mount one."""
        self.out.mkdir()
        if os.geteuid():
            yield self
            return
        place = str(self.out)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", place], check=True)
        try:
            yield self
        finally:
            subprocess.run(["umount", "--lazy", place], check=True)

    def run_on_a_full_disk(self) -> None:
        """Fill the disk of the results, run the batch, and make room again."""
        if os.geteuid():
            return
        before = self.results()
        filler = self.out / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 16))
            except OSError:
                self.facts["full disks"] += 1
        code = self.run()
        assert code == 1, code
        assert self.results() == before
        filler.unlink()

    def serial_s(self) -> float:
        """Return the seconds of ``indwell run`` for one task."""
        began = time.monotonic()
        for n in range(N_SERIAL):
            copy = self.folder / f"serial{n}"
            subprocess.run(["cp", "-r", self.folder / "in" / "repo0", copy], check=True)
            words = [*INDWELL, "run", "--trust", "--json", "--folder", str(copy), "Fix it."]
            subprocess.run(words, env=self.environment, check=True, capture_output=True)
        return (time.monotonic() - began) / N_SERIAL

    def check(self) -> None:
        """Compare what the batch left with what it promises."""
        results = self.results()
        assert sorted(results) == sorted(f"t{n}" for n in range(self.options.tasks)), len(results)
        self.facts.update(one["ending"] for one in results.values())
        for one in results.values():
            if one["ending"] == "done":
                assert one["patch"]["files"] == ["shop.py"], one
        until = time.monotonic() + 30
        while time.monotonic() < until and children(str(self.folder)):
            time.sleep(0.2)
        assert children(str(self.folder)) == {}
        left = self.folder / "state-batches"
        assert not left.exists() or not list(left.iterdir()), list(left.rglob("*"))[:5]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--repositories", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kill", type=float, default=10.0)
    parser.add_argument("--ray", action="store_true")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as name,
        endpoint_in_thread(answers) as endpoint,
        Proof(options, Path(name).resolve(), endpoint.base_url).small_disk() as proof,
    ):
        if options.ray:
            proof.start_nodes()
        try:
            one_s = proof.serial_s()
            calls_before = len(endpoint.seen)
            budget = options.tasks * CALLS * CALL / 2
            code = proof.run("--max-cost", f"{budget:g}")
            spent = (len(endpoint.seen) - calls_before) * CALL
            print(
                f"budget ${budget:.2f}: {len(proof.results())} results, ${spent:.2f}, code {code}"
            )
            assert code == LIMITED, code
            assert spent <= budget + 0.001, spent
            n_before = len(proof.results())
            proof.run_on_a_full_disk()
            proof.run(dies=True)
            began, n_begun = time.monotonic(), len(proof.results())
            code = proof.run()
            each_s = (time.monotonic() - began) / max(1, len(proof.results()) - n_begun)
            print(
                f"resumed at {n_before} and {n_begun}: {len(proof.results())} results, code {code}"
            )
            proof.check()
            print(dict(proof.facts))
            print(f"{one_s:.2f} s for one run alone, {each_s:.2f} s for each task of the batch")
            print(f"throughput: {one_s / each_s:.2f} runs one after the other")
        except BaseException:
            print((proof.folder / "log").read_text()[-3000:], file=sys.stderr)
            raise
        finally:
            if options.ray:
                proof.stop_nodes()


if __name__ == "__main__":
    main()
