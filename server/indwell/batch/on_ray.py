"""Runs the attempts of a batch as tasks of a Ray cluster, which share one purse.

Ray and fsspec are optional, so only functions import them.

Ray places the attempts, moves them to the machines, and notices dead workers. A worker writes its
result into the store itself, so no finished task is lost if the cluster's head node dies.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from indwell.batch.attempt import AttemptJob, attempt, clear, sweep, work_folder
from indwell.batch.driver import WorkerLost, no_room_words
from indwell.batch.purse import Grant, GrantAnswer, NoRoom, Purse, PurseState
from indwell.batch.records import AttemptEnd, BatchStore, FolderStore, SpendingBound
from indwell.batch.warm_start import WarmStart
from indwell.errors import UserError
from indwell.files.append_log import make_private_folder
from indwell.sandbox.environment import own_environment

_JSON = msgspec.json
_STOP_S = 30.0  # the time for the attempts of a stopped batch to end in order, in seconds
_POLL_S = 1.0
_REACH_S = 20.0  # the time for the address of a cluster to answer, in seconds
_SETTINGS_FRAME = b"\x04"
_HTTP2_START = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + _SETTINGS_FRAME + bytes(5)
_FRAME_HEAD = 9  # bytes: three of the length, one of the type, five of flags and stream
_ANSWER_S = 30.0  # the time for the purse to answer, which may have to be started again


class ObjectStore:
    """A batch's results at an address that fsspec knows, such as ``s3://bucket/batch``.

    Whether exactly one of two writers at the same moment gets a name depends on the file system's
    mode ``create``.

    Args:
        address: The address.
    """

    def __init__(self, address: str) -> None:
        from fsspec.core import url_to_fs

        self._system, self._root = url_to_fs(address)

    def write_new(self, name: str, data: bytes) -> bool:
        """Write an object; return False if the name is taken."""
        path = f"{self._root}/{name}"
        self._system.makedirs(path.rpartition("/")[0], exist_ok=True)
        try:
            self._system.pipe_file(path, data, mode="create")
        except FileExistsError:
            return False
        return True

    def read(self, name: str) -> bytes | None:
        """Return the content of an object, or None if there is no such object."""
        try:
            return bytes(self._system.cat_file(f"{self._root}/{name}"))
        except FileNotFoundError:
            return None

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the names in a folder."""
        try:
            found = self._system.ls(f"{self._root}/{folder}", detail=False, refresh=True)
        except FileNotFoundError:
            return ()
        names = (str(one).rpartition("/")[2] for one in found)
        return tuple(sorted(one for one in names if one.endswith(".json")))


def store_at(place: str) -> BatchStore:
    """Return the store at an address of fsspec, or in a folder that all machines share.

    For ``file://``, the mode ``create`` of fsspec let several writers write one name.
    """
    place = place.removeprefix("file://")
    return ObjectStore(place) if "://" in place else FolderStore(Path(place))


class PurseActor:
    """The purse of all workers, as an actor of Ray; answers one question after the other.

    If the actor's process dies, Ray starts the actor again, which reads the bound of the spending.
    """

    def __init__(
        self,
        place: str,
        budget: float | None,
        tokens_per_minute: int | None,
        spent: float,
        named: str,
    ) -> None:
        self._bound = SpendingBound(store_at(place))
        self._purse = Purse(
            budget,
            tokens_per_minute,
            spent=max(spent, self._bound.most),
            named=named,
            now=time.monotonic(),
            # After a restart of the actor, no grant has the number of an earlier grant.
            first=int.from_bytes(os.urandom(7), "big"),
        )
        self._is_stopped = False

    def ask(self, holder: str, tokens: int, cost: float | None) -> bytes:
        """Answer a worker, as JSON."""
        answer = self._purse.ask(holder, tokens, cost, time.monotonic())
        if isinstance(answer, Grant):
            try:
                self._bound.cover(self._purse.state.most)
            except OSError as error:
                self._purse.settle(answer.id, 0, 0.0)
                answer = NoRoom(no_room_words(error))
        return _JSON.encode(answer)

    def settle(self, grant: int, tokens: int, cost: float | None) -> None:
        """Take what a call used."""
        self._purse.settle(grant, tokens, cost)

    def close_calls(self, holder: str) -> None:
        """Count the open calls of a worker that has ended."""
        self._purse.close_calls(holder)

    def spent(self) -> bytes:
        """Return what all workers have spent, as JSON."""
        return _JSON.encode(self._purse.state)

    def end(self) -> None:
        """Write the exact cost after the last call."""
        # The disk may be full; the bound that it has is higher.
        with contextlib.suppress(OSError):
            self._bound.end(self._purse.state.most)

    def stop(self) -> None:
        """Ask all workers to stop in order."""
        self._is_stopped = True

    def is_stopped(self) -> bool:
        """Return whether the workers have to stop."""
        return self._is_stopped


class _RemotePurse:
    """The purse as a worker on another machine sees it."""

    def __init__(self, actor: Any) -> None:  # noqa: ANN401 - a handle of Ray
        self._actor = actor

    async def ask(self, holder: str, tokens: int, cost: float | None) -> GrantAnswer:
        """Ask for a call."""
        data = await self._actor.ask.remote(holder, tokens, cost)
        answer: GrantAnswer = _JSON.decode(data, type=GrantAnswer)
        return answer

    async def settle(self, grant: int, tokens: int, cost: float | None) -> None:
        """Report what a call used."""
        await self._actor.settle.remote(grant, tokens, cost)

    async def close_calls(self, holder: str) -> None:
        """Report that the holder makes no more calls."""
        await self._actor.close_calls.remote(holder)


@functools.cache
def _environment() -> Mapping[str, str]:
    """Return all variables of a worker, whose secrets are taken from the system only once."""
    return own_environment()


@functools.cache
def _warm_start(secrets: tuple[str, ...]) -> WarmStart:
    """Return the process that starts all runs of this worker; the process ends with the worker."""
    return WarmStart(secrets)


def remote_attempt(job: bytes, place: str, actor: Any) -> bytes:  # noqa: ANN401 - as above
    """Run an attempt in a worker of Ray; the job and the end are JSON."""
    return asyncio.run(_attempt(job, place, actor))


async def _attempt(job: bytes, place: str, actor: Any) -> bytes:  # noqa: ANN401 - as above
    environment = _environment()
    work = work_folder(environment, place)
    make_private_folder(work)
    await asyncio.to_thread(sweep, work)
    stop = asyncio.Event()
    listening = asyncio.create_task(_listen(actor, stop))
    order = _JSON.decode(job, type=AttemptJob)
    try:
        end = await attempt(
            order,
            store=store_at(place),
            work=work,
            purse=_RemotePurse(actor),
            environment=environment,
            start=_warm_start(order.options.secrets),
            stop=stop,
        )
    finally:
        listening.cancel()
    return _JSON.encode(end)


async def _listen(actor: Any, stop: asyncio.Event) -> None:  # noqa: ANN401
    """Set ``stop`` when the driver asks for it, or when the head has died."""
    from ray.exceptions import RayError

    while not stop.is_set():
        try:
            if await actor.is_stopped.remote():
                stop.set()
        except RayError:
            stop.set()
        await asyncio.sleep(_POLL_S)


def remote_sweep(place: str) -> int:
    """Remove the workspaces that dead workers left on this machine."""
    return clear(work_folder(_environment(), place))


def check_reached(address: str, *, uses_tls: bool = False) -> None:
    """Connect to the cluster's address once, because Ray tries for minutes without a word.

    Ray speaks gRPC, whose servers answer the start of an HTTP/2 connection with a SETTINGS frame
    (RFC 9113, 3.4). With ``uses_tls``, only the connection is checked.

    Raises:
        OSError: Nothing answers within ``_REACH_S``, or a server of another kind answers.
    """
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdecimal():
        return
    with socket.create_connection((host.strip("[]"), int(port)), _REACH_S) as connection:
        if uses_tls:
            return
        try:
            connection.sendall(_HTTP2_START)
            answer = connection.recv(_FRAME_HEAD, socket.MSG_WAITALL)
        except TimeoutError:
            answer = b""
        if answer[3:4] != _SETTINGS_FRAME:
            raise OSError(f"the server at {address} does not answer like a Ray cluster")


class RayEngine:
    """Runs attempts on a cluster: the one of ``RAY_ADDRESS``, or one that starts here.

    Args:
        place: The place of the results, which all machines reach.
        budget: The most that all calls may cost, in US dollars, or None.
        tokens_per_minute: The most tokens of all calls in a minute, or None.
        spent: US dollars that earlier runs have spent.
        named: The option or setting that sets the budget.
        n_workers: The number of attempts at once, or None for the processors of the cluster.
        secrets: Variables that a cluster which starts here passes on to its workers.
        environment: All variables of this process, among them the token of the cluster.

    Raises:
        UserError: No cluster answers.
    """

    def __init__(
        self,
        place: str,
        *,
        budget: float | None,
        tokens_per_minute: int | None,
        spent: float,
        named: str,
        n_workers: int | None,
        secrets: Mapping[str, str],
        environment: Mapping[str, str],
    ) -> None:
        import ray

        self._ray = ray
        self._place = place
        # A cluster that starts here inherits the variables; nothing is in a task's description.
        hidden = {name: value for name, value in secrets.items() if name not in os.environ}
        own = {name: value for name, value in environment.items() if name.startswith("RAY_")}
        os.environ.update({**own, **hidden})
        try:
            with_tls = os.environ.get("RAY_USE_TLS", "").lower() in {"1", "true"}
            check_reached(os.environ.get("RAY_ADDRESS", ""), uses_tls=with_tls)
            ray.init(
                address=os.environ.get("RAY_ADDRESS"),
                log_to_driver=False,
                include_dashboard=None if "RAY_ADDRESS" in os.environ else False,
                logging_level="error",
            )
        except (OSError, RuntimeError, ValueError) as error:
            raise UserError(
                f"--on ray: no cluster could be used: {error}; if the cluster wants a token, set "
                "RAY_AUTH_MODE=token"
            ) from error
        finally:
            for name in hidden:
                del os.environ[name]
        n_cores = int(ray.cluster_resources().get("CPU", 1))
        self.n_workers = n_workers or max(1, n_cores)
        actor = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(PurseActor)
        self._actor: Any = actor.remote(place, budget, tokens_per_minute, spent, named)
        self._state = PurseState(spent, 0, 0.0, 0)
        self._run: Any = ray.remote(num_cpus=1, max_retries=0)(remote_attempt)
        self._sweep: Any = ray.remote(num_cpus=0, max_retries=0)(remote_sweep)

    async def attempt(self, job: AttemptJob, stop: asyncio.Event) -> AttemptEnd:
        """Run an attempt on one of the machines."""
        from ray.exceptions import RayError, TaskCancelledError

        running = self._run.remote(_JSON.encode(job), self._place, self._actor)
        future = asyncio.wrap_future(running.future())
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({future, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not future.done():
                self._actor.stop.remote()
                await asyncio.wait({future}, timeout=_STOP_S)
            if not future.done():
                self._ray.cancel(running, force=True)
            return _JSON.decode(await future, type=AttemptEnd)
        except TaskCancelledError:
            return AttemptEnd("stopped")
        except RayError as error:
            if isinstance(getattr(error, "cause", None), UserError):
                raise UserError(str(error.cause)) from error
            await self._close_calls(job.task.id)
            raise WorkerLost(str(error).strip().splitlines()[0]) from error
        finally:
            stopping.cancel()

    async def _close_calls(self, holder: str) -> None:
        """Count the open calls of a dead worker.

        Raises:
            UserError: The cluster has died, too.
        """
        from ray.exceptions import RayError

        try:
            await asyncio.wait_for(self._actor.close_calls.remote(holder), _ANSWER_S)
        except (RayError, TimeoutError) as error:
            raise UserError(
                "the Ray cluster does not answer any more; start it again, and go on with --resume"
            ) from error

    async def spent(self) -> PurseState:
        """Return what all workers have spent; the last known state if the cluster has died."""
        from ray.exceptions import RayError

        with contextlib.suppress(RayError, TimeoutError):
            data = await asyncio.wait_for(self._actor.spent.remote(), _ANSWER_S)
            self._state = _JSON.decode(data, type=PurseState)
        return self._state

    async def close_orphans(self) -> int:
        """Remove workspaces that dead workers left, on each machine."""
        from ray.exceptions import RayError
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

        try:
            nodes = [one["NodeID"] for one in self._ray.nodes() if one["Alive"]]
            swept = [
                self._sweep.options(scheduling_strategy=On(node, soft=False)).remote(self._place)
                for node in nodes
            ]
            found = await asyncio.gather(*swept, return_exceptions=True)
        except RayError:
            return 0
        return sum(one for one in found if isinstance(one, int))

    async def close(self) -> None:
        """Write the exact cost, and leave the cluster; a cluster that started here ends."""
        from ray.exceptions import RayError

        with contextlib.suppress(RayError, TimeoutError):
            await asyncio.wait_for(self._actor.end.remote(), _ANSWER_S)
        await asyncio.to_thread(self._ray.shutdown)
