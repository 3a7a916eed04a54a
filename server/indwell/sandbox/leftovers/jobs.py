"""Ends or pauses a program with everything it started, by a Job object of Windows.

A program starts suspended, joins the job of its run, and then runs, so all its descendants are in
the job. Only this process has a handle of the job. The system closes the handle when this process
ends, however it ends, and kills all processes in the job (PRC-03).

Every program has its own invisible console. CTRL_BREAK reaches only programs of the sender's
console, so a helper process joins that console and sends the signal.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import asyncio
    import contextlib
    import ctypes
    import subprocess
    import threading
    import time
    from collections.abc import AsyncIterator, Iterator
    from contextlib import asynccontextmanager
    from ctypes import wintypes
    from pathlib import PureWindowsPath
    from typing import Any

    import msgspec
    import pywintypes
    import win32api
    import win32con
    import win32event
    import win32job
    import win32process
    import winerror

    from indwell.errors import ToolError

    SEARCH_S = 5.0  # A job may take 5 s to become empty after its end.
    # A shorter grace period, in seconds, ends before the helper process has started.
    HELPER_S = 0.5
    # Processes that Indwell kills get this exit code, as shells report a killed program.
    KILLED = 137
    # The search takes at most 2 s for processes that start others while they are suspended.
    _PAUSE_SEARCH_S = 0.2
    _LOOK_S = 0.002
    _MOST_IDS = 4_096
    _MOST_PATH = 32_768  # No path of Windows has more characters.
    # The value has all JOB_OBJECT_UILIMIT_*: handles, clipboard, settings, atoms, desktop, exit.
    _NO_UI = 0xFF
    # The system's process for a console is no leftover of a program.
    _CONSOLE = "conhost.exe"
    _BREAK = (
        "import ctypes, sys\n"
        "k = ctypes.WinDLL('kernel32')\n"
        "pid = int(sys.argv[1])\n"
        "k.FreeConsole()\n"
        "sys.exit(not (k.AttachConsole(pid) and k.GenerateConsoleCtrlEvent(1, pid)))\n"
    )
    _ntdll = ctypes.WinDLL("ntdll")
    _kernel32 = ctypes.WinDLL("kernel32")
    # These three functions are missing in pywin32.
    for _name in ("NtSuspendProcess", "NtResumeProcess"):
        getattr(_ntdll, _name).argtypes = [wintypes.HANDLE]
    _kernel32.QueryFullProcessImageNameW.argtypes = [
        wintypes.HANDLE,
        wintypes.DWORD,
        wintypes.LPWSTR,
        ctypes.POINTER(wintypes.DWORD),
    ]

    class LeftoverRun(msgspec.Struct, frozen=True):
        """Processes that a run left running.

        Attributes:
            n: How many processes were killed.
            is_gone: Whether certainly no process is left; False if the search took too long.
        """

        n: int
        is_gone: bool = True

    class Run(msgspec.Struct, frozen=True):
        """One program that the sandbox runs.

        Attributes:
            mark: A random decimal number, in the environment of all descendants.
            job: The handle of the run's job.
        """

        mark: str
        job: Any

    @asynccontextmanager
    async def running(mark: str, *, alone: bool = False) -> AsyncIterator[Run]:
        """Keep a run's job open until the program has ended; then end everything in the job."""
        del alone  # The argument has no use on Windows, because an empty job costs nothing.
        create: Any = win32job.CreateJobObject  # The type stub of pywin32 has no result.
        job = create(None, "")  # With None, no child inherits the handle.
        set_limits(job, {})
        try:
            yield Run(mark, job)
        finally:
            with contextlib.suppress(pywintypes.error):
                win32job.TerminateJobObject(job, KILLED)
            job.Close()

    def set_limits(job: Any, limits: dict[str, int]) -> None:  # noqa: ANN401 - a handle
        """Limit a job, so that it ends with its last handle and no program shows a dialog.

        Args:
            job: The job.
            limits: ``processes``, ``memory_b`` of all processes, ``cpu_s`` of each process; all
                optional.
        """
        which = win32job.JobObjectExtendedLimitInformation
        told = win32job.QueryInformationJobObject(job, which)
        basic = told["BasicLimitInformation"]
        flags = win32job.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
        flags |= win32job.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION
        if n_processes := limits.get("processes"):
            flags |= win32job.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
            basic["ActiveProcessLimit"] = n_processes
        if memory_b := limits.get("memory_b"):
            flags |= win32job.JOB_OBJECT_LIMIT_JOB_MEMORY
            told["JobMemoryLimit"] = memory_b
        if cpu_s := limits.get("cpu_s"):
            flags |= win32job.JOB_OBJECT_LIMIT_PROCESS_TIME
            basic["PerProcessUserTimeLimit"] = cpu_s * 10_000_000  # The unit is 100 ns.
        basic["LimitFlags"] = flags
        win32job.SetInformationJobObject(job, which, told)

    def adopt(pid: int, run: Run, *, has_ui: bool = True) -> None:
        """Put a program that was started suspended into the job of its run, and let it run.

        Args:
            pid: The program.
            run: The program's run.
            has_ui: Whether the program may use other programs' windows and the clipboard. Otherwise
                the job forbids this, unless the job is inside another job, where Windows allows no
                such limit.

        Raises:
            ToolError: The system refuses; the program was killed.
        """
        rights = win32con.PROCESS_SET_QUOTA | win32con.PROCESS_TERMINATE
        with _opened(pid, rights | win32con.PROCESS_SUSPEND_RESUME) as process:
            try:
                win32job.AssignProcessToJobObject(run.job, process)
            except pywintypes.error as error:
                win32api.TerminateProcess(process, KILLED)
                raise ToolError(
                    f"Windows refused to put the command into a job ({error.strerror}), so it was "
                    "not run"
                ) from error
            if not has_ui:
                with contextlib.suppress(pywintypes.error):
                    win32job.SetInformationJobObject(
                        run.job,
                        win32job.JobObjectBasicUIRestrictions,
                        {"UIRestrictionsClass": _NO_UI},
                    )
            _ntdll.NtResumeProcess(int(process))

    def waited_for(pid: int) -> None:
        """Do nothing, because on Windows no process reaps another process."""
        del pid

    def ended(pid: int) -> None:
        """Do nothing, because an open handle keeps a process id from being used again."""
        del pid

    def prepare() -> None:
        """Do nothing, because other programs of this user can always read the memory."""

    def process_ids(run: Run) -> tuple[int, ...]:
        """Return the processes of a run, without those of its consoles."""
        which = win32job.JobObjectBasicProcessIdList
        found = win32job.QueryInformationJobObject(run.job, which)
        return tuple(pid for pid in found[:_MOST_IDS] if _image(pid) != _CONSOLE)

    def n_active(run: Run) -> int:
        """Count the processes of a run, with those of its consoles."""
        which = win32job.JobObjectBasicAccountingInformation
        told = win32job.QueryInformationJobObject(run.job, which)
        return int(told["ActiveProcesses"])

    def memory_b(pid: int) -> int:
        """Return the memory that only this process uses, or 0 if the process has ended."""
        rights = win32con.PROCESS_QUERY_LIMITED_INFORMATION | win32con.PROCESS_VM_READ
        with contextlib.suppress(pywintypes.error), _opened(pid, rights) as process:
            return int(win32process.GetProcessMemoryInfo(process)["PagefileUsage"])
        return 0

    def is_alive(pid: int) -> bool:
        """Return whether there is a process with this id, perhaps of another user."""
        try:
            with _opened(pid, win32con.SYNCHRONIZE) as process:
                return win32event.WaitForSingleObject(process, 0) == win32con.WAIT_TIMEOUT
        except OverflowError:
            return False
        except pywintypes.error as error:
            return bool(error.winerror == winerror.ERROR_ACCESS_DENIED)

    async def ask_to_end(pid: int, run: Run, grace_s: float, *, is_wrapped: bool) -> bool:
        """Send CTRL_BREAK to a program; return False if that failed, so that no wait is needed.

        Args:
            pid: The started program, which leads its own process group.
            run: The program's run.
            grace_s: Seconds that the caller waits afterwards.
            is_wrapped: Has no effect on Windows.
        """
        del run, is_wrapped
        return grace_s >= HELPER_S and await asyncio.to_thread(_send_break, pid)

    def signal_group(pid: int, name: str) -> bool:
        """Return False, because Windows has no such signals."""
        del pid, name
        return False

    def kill(pid: int, run: Run) -> None:
        """Kill a program with everything it started."""
        del pid
        win32job.TerminateJobObject(run.job, KILLED)

    def end_descendants(pid: int, run: Run) -> LeftoverRun:
        """Kill a run's remaining processes, and wait until they are gone. Blocks.

        Args:
            pid: The started program.
            run: The program's run, which starts no more processes.
        """
        left = set(process_ids(run)) - {pid} if n_active(run) else set()
        n_left = sum(map(is_alive, left))  # A job also lists processes that have just ended.
        win32job.TerminateJobObject(run.job, KILLED)
        until = time.monotonic() + SEARCH_S
        while n_active(run):
            if time.monotonic() > until:
                return LeftoverRun(n_left, is_gone=False)
            time.sleep(_LOOK_S)
        return LeftoverRun(n_left)

    end_wrapped = end_descendants

    class Pause:
        """Pauses and resumes a run, which may begin later; thread-safe."""

        def __init__(self) -> None:
            self._lock = threading.Lock()
            self._run: Run | None = None
            self._wanted_by: set[str] = set()
            self._stopped: set[int] = set()

        def begin(self, pid: int, run: Run) -> None:
            """Record that the program was started; pause it if a pause was requested."""
            del pid
            with self._lock:
                self._run = run
                if self._wanted_by:
                    self._stop()

        def end(self) -> None:
            """Record that the program has ended."""
            with self._lock:
                self._run = None
                self._stopped.clear()

        def hold(self, who: str, *, is_still: bool) -> bool:
            """Pause the run, or resume it unless another caller wants a pause; blocks.

            Returns:
                Whether pausing succeeded; False if processes appear faster than they can be
                stopped.
            """
            with self._lock:
                if is_still:
                    self._wanted_by.add(who)
                    return self._stop()
                self._wanted_by.discard(who)
                if not self._wanted_by:
                    stopped, self._stopped = self._stopped, set()
                    for pid in stopped:
                        _suspend(pid, is_still=False)
                return True

        def _stop(self) -> bool:
            """Suspend all processes, until a check finds no new one."""
            until = time.monotonic() + _PAUSE_SEARCH_S
            while self._run is not None:
                new = set(process_ids(self._run)) - self._stopped
                if not new:
                    return True
                if time.monotonic() > until:
                    return False
                for pid in new:
                    _suspend(pid, is_still=True)
                self._stopped |= new
            return True

    @contextlib.contextmanager
    def _opened(pid: int, rights: int) -> Iterator[Any]:
        process: Any = win32api.OpenProcess(rights, False, pid)  # noqa: FBT003 - as the function is
        try:
            yield process
        finally:
            process.Close()

    def _suspend(pid: int, *, is_still: bool) -> None:
        call = _ntdll.NtSuspendProcess if is_still else _ntdll.NtResumeProcess
        rights = win32con.PROCESS_SUSPEND_RESUME
        with (
            contextlib.suppress(pywintypes.error),
            _opened(pid, rights) as process,
        ):  # The process may also have ended.
            call(int(process))

    def _image(pid: int) -> str:
        """Return the name of a process's program, or an empty text if the process has ended.

        The system knows the name before the process has loaded its first module.
        """
        path = ctypes.create_unicode_buffer(_MOST_PATH)
        n_path = wintypes.DWORD(_MOST_PATH)
        with (
            contextlib.suppress(pywintypes.error),
            _opened(pid, win32con.PROCESS_QUERY_LIMITED_INFORMATION) as process,
        ):
            _kernel32.QueryFullProcessImageNameW(int(process), 0, path, ctypes.byref(n_path))
        return PureWindowsPath(path.value).name.lower()

    def _send_break(pid: int) -> bool:
        """Send CTRL_BREAK through a helper process; return False if that is not possible."""
        try:
            helper = subprocess.run(  # noqa: S603 - our own words
                [sys.executable, "-I", "-S", "-c", _BREAK, str(pid)],
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=SEARCH_S,
                creationflags=subprocess.DETACHED_PROCESS,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return helper.returncode == 0
