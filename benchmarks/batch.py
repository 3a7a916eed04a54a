"""Runs a batch over made-up repositories while processes are killed, and checks what it promises.

    python benchmarks/batch.py [--tasks 200] [--repositories 50] [--jobs 2] [--kill 10] [--ray]
    python benchmarks/batch.py --throughput [--tasks 16]
    python benchmarks/batch.py --workers 1000

A loopback endpoint answers with a price of $0.02 for each call. The batch first runs with a budget
for half of the tasks, then with a budget for three quarters, then without one. Every ``--kill``
seconds, the process of an attempt is killed with -9 (on Ray, its parent worker), and the driver (on
Ray, the head) once. If the program runs as root, the disk of the results is full once. The program
fails if a task has no result, if a workspace or a process is left, or if a budget was exceeded.

``--throughput`` compares batches with ``indwell run``, one run after the other, in turns.
``--workers N`` lets N simulated workers ask the actor of Ray that grants model calls.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
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
SECRET = f"sk-{secrets.token_hex(16)}"
CALL, CALLS = 0.02, 3  # dollars of a call, and calls of a task
INDWELL = (sys.executable, "-m", "indwell")
N_SERIAL = 4  # runs between two batches
N_TURNS = 3
END_S = 90.0  # the time for a driver to notice that the head has died, in seconds
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


def children(folder: str) -> dict[int, int]:
    """Return the runs that work below ``folder``, with the workers that their forks belong to."""
    found, parents = {}, {}
    for place in Path("/proc").iterdir():
        try:
            pid = int(place.name)
            parents[pid] = int((place / "stat").read_text().rsplit(")")[1].split()[1])
            is_run = b"indwell" in (place / "cmdline").read_bytes()
            if is_run and str((place / "cwd").readlink()).startswith(folder):
                found[pid] = 0
        except (OSError, ValueError):
            continue
    # A run is a fork of the process that forks, which is a child of the worker.
    return {pid: parents.get(parents[pid], 0) for pid in found}


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
            "OPENAI_API_KEY": SECRET,
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
        words += ["--jobs", str(self.options.jobs), "--secret", "OPENAI_API_KEY", *more]
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
        late_at = math.inf
        while driver.poll() is None:
            time.sleep(0.2)
            if time.monotonic() > late_at:
                self.facts["drivers that did not end with the head"] += 1
                driver.kill()
                break
            if dies and len(self.results()) >= n_before + self.options.jobs + 1:
                self.facts["killed heads" if self.options.ray else "killed drivers"] += 1
                if self.options.ray:
                    self.kill_head()
                    late_at = time.monotonic() + END_S
                else:
                    driver.kill()
                dies = False
            if self.options.kill and time.monotonic() - last > self.options.kill:
                last = time.monotonic()
                if running := children(str(self.folder)):
                    pid = self.chance.choice(list(running))
                    # A run whose parent has just ended has no worker any more.
                    os.kill(running[pid] or pid if self.options.ray else pid, signal.SIGKILL)
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

    def serial(self, turn: int) -> tuple[float, float]:
        """Return the wall and processor seconds of ``indwell run`` for one task."""
        copies = [self.folder / f"serial{turn}.{n}" for n in range(N_SERIAL)]
        for copy in copies:
            subprocess.run(["cp", "-r", self.folder / "in" / "repo0", copy], check=True)
        began = clocks()
        for copy in copies:
            words = [*INDWELL, "run", "--trust", "--json", "--folder", str(copy), "Fix it."]
            subprocess.run(words, env=self.environment, check=True, capture_output=True)
        return since(began, N_SERIAL)

    def whole(self, turn: int, jobs: int) -> tuple[float, float]:
        """Return the wall and processor seconds of a batch for one task, with its start."""
        self.out = self.folder / f"out{turn}.{jobs}"
        self.options.jobs = jobs
        began = clocks()
        assert self.batch().wait() == 0
        return since(began, self.options.tasks)

    def check(self) -> None:
        """Compare what the batch left with what it promises."""
        for file in self.out.rglob("*.json*"):
            assert SECRET.encode() not in file.read_bytes(), file
        assert SECRET.encode() not in (self.folder / "log").read_bytes()
        results = self.results()
        assert sorted(results) == sorted(f"t{n}" for n in range(self.options.tasks)), len(results)
        self.facts.update(one["ending"] for one in results.values())
        for one in results.values():
            if one["ending"] != "done":
                print(one["id"], one["ending"], one["message"][:300])
            else:
                assert one["patch"]["files"] == ["shop.py"], one
        until = time.monotonic() + 30
        while time.monotonic() < until and children(str(self.folder)):
            time.sleep(0.2)
        assert children(str(self.folder)) == {}
        left = self.folder / "state-batches"
        assert not left.exists() or not list(left.iterdir()), list(left.rglob("*"))[:5]


def clocks() -> tuple[float, float]:
    now = os.times()
    return time.monotonic(), now.children_user + now.children_system


def since(began: tuple[float, float], n_tasks: int) -> tuple[float, float]:
    wall, cpu = clocks()
    return (wall - began[0]) / n_tasks, (cpu - began[1]) / n_tasks


def load() -> str:
    return (
        f"{time.strftime('%Y-%m-%d %H:%M')}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )


def prove(proof: Proof, n_calls: Callable[[], int]) -> None:
    """Run the batch with faults: two budgets that end it, a full disk, a dead driver or head."""
    most = proof.options.tasks * CALLS * CALL
    begun = time.monotonic()
    for share, dies in ((0.5, False), (0.75, True), (0.75, False)):
        budget = share * most
        code = proof.run("--max-cost", f"{budget:g}", dies=dies)
        spent = n_calls() * CALL
        n_results = len(proof.results())
        print(f"budget ${budget:.2f}: ${spent:.2f} spent, {n_results} results, code {code}")
        assert dies or code == LIMITED, code
        assert spent <= budget + 0.001, spent
        if not proof.facts["full disks"]:
            proof.run_on_a_full_disk()
    code = proof.run()
    print(f"no budget: {len(proof.results())} results, code {code}")
    proof.check()
    print(dict(proof.facts))
    print(f"{proof.options.tasks} tasks in {time.monotonic() - begun:.0f} s ({load()})")


def compare(proof: Proof) -> None:
    """Compare batches with single runs, in turns, because other programs use the machine."""
    names = ("run", "batch --jobs 1", f"batch --jobs {proof.options.jobs}")
    jobs = proof.options.jobs
    sums = {name: [0.0, 0.0] for name in names}
    for turn in range(N_TURNS):
        rows = (proof.serial(turn), proof.whole(turn, 1), proof.whole(turn, jobs))
        for name, row in zip(names, rows, strict=True):
            sums[name] = [one + other for one, other in zip(sums[name], row, strict=True)]
    for name, (wall, cpu) in sums.items():
        print(f"{name}: {wall / N_TURNS:.2f} s, {cpu / N_TURNS:.2f} s of processor time for a task")
    (run, run_cpu), (one, one_cpu), (many, _) = sums.values()
    print(
        f"overhead for a task: {(one - run) / N_TURNS * 1000:.0f} ms, "
        f"{(one_cpu - run_cpu) / N_TURNS * 1000:.0f} ms of processor time"
    )
    print(f"throughput: {run / many:.2f} times one run after the other ({load()})")


def simulate(n_workers: int) -> None:
    """Let workers ask the actor for calls; print its rate, and the memory of Ray's processes."""
    import ray  # noqa: PLC0415 - Ray is an optional extra

    from indwell.batch.on_ray import PurseActor  # noqa: PLC0415

    calls_each, n_clients = 20, 8
    quiet = {"include_dashboard": False, "logging_level": "error", "log_to_driver": False}
    ray.init("local", num_cpus=2, **quiet)
    with tempfile.TemporaryDirectory() as place:
        actor = ray.remote(num_cpus=0)(PurseActor).remote(place, 1e6, 10**12, 0.0, "")
        before = memory()

        @ray.remote(num_cpus=0)
        def client(first: int, n: int) -> float:
            """Act for ``n`` workers at once; return the longest wait for an answer."""
            longest = 0.0
            for _ in range(calls_each):
                began = time.monotonic()
                asked = [actor.ask.remote(f"w{first + one}", 1_000, 0.02) for one in range(n)]
                grants = [json.loads(one)["id"] for one in ray.get(asked)]
                longest = max(longest, time.monotonic() - began)
                ray.get([actor.settle.remote(one, 900, 0.01) for one in grants])
            return longest

        share = n_workers // n_clients
        ray.get([client.remote(n, 1) for n in range(n_clients)])  # The processes start.
        began = time.monotonic()
        longest = max(ray.get([client.remote(n * share, share) for n in range(n_clients)]))
        seconds = time.monotonic() - began
        state = json.loads(ray.get(actor.spent.remote()))
        n_requests = 2 * share * n_clients * calls_each
        print(f"{n_workers} workers: {n_requests / seconds:.0f} requests/s, {n_requests} requests")
        print(f"longest wait for {share} answers of one client: {longest:.2f} s")
        print(f"{state['n_calls']} calls, ${state['cost']:.2f}, ${state['held']:.2f} held")
        n_bounds = len(list(Path(place, "spent").iterdir()))
        print(f"{n_bounds} records of the bound; {load()}")
        for name, now in memory().items():
            print(f"{name}: {now >> 20} MiB ({(now - before.get(name, 0)) >> 20:+d} MiB)")
    ray.shutdown()


def memory() -> dict[str, int]:
    """Return the memory of the head's server, and of the actor's process."""
    found = {}
    for place in Path("/proc").iterdir():
        try:
            words = (place / "cmdline").read_bytes()
            if b"gcs_server" in words.split(b"\0")[0] or b"PurseActor" in words:
                name = "head (gcs_server)" if b"gcs_server" in words else "actor"
                found[name] = int((place / "statm").read_text().split()[1]) * 4096
        except (OSError, IndexError):
            continue
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--repositories", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kill", type=float, default=10.0)
    parser.add_argument("--ray", action="store_true")
    parser.add_argument("--throughput", action="store_true")
    parser.add_argument("--workers", type=int)
    options = parser.parse_args()
    if options.workers:
        simulate(options.workers)
        return
    with (
        tempfile.TemporaryDirectory() as name,
        endpoint_in_thread(answers) as endpoint,
        Proof(options, Path(name).resolve(), endpoint.base_url).small_disk() as proof,
    ):
        try:
            if options.throughput:
                compare(proof)
                return
            if options.ray:
                proof.start_nodes()
            prove(proof, lambda: len(endpoint.seen))
        except BaseException:
            print((proof.folder / "log").read_text()[-3000:], file=sys.stderr)
            raise
        finally:
            if options.ray:
                proof.stop_nodes()


if __name__ == "__main__":
    main()
