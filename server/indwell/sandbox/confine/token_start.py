"""Starts a program on Windows with a token or in an AppContainer: suspended, with three handles."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import asyncio
    import contextlib
    import ctypes
    import functools
    import msvcrt
    import os
    import subprocess
    import threading
    import weakref
    from collections.abc import Iterator
    from ctypes import wintypes
    from typing import Any

    import win32api
    import win32con

    _HANDLE_LIST = 0x20002  # The constant is PROC_THREAD_ATTRIBUTE_HANDLE_LIST.
    _CAPABILITIES = 0x20009  # The constant is PROC_THREAD_ATTRIBUTE_SECURITY_CAPABILITIES.
    _EXTENDED = 0x80000  # The constant is EXTENDED_STARTUPINFO_PRESENT.
    _SUSPENDED = 0x4
    _ON_ITS_OWN = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
    _UNICODE = 0x400  # The constant is CREATE_UNICODE_ENVIRONMENT.

    class _StartupInfo(ctypes.Structure):
        _fields_ = (
            ("cb", wintypes.DWORD),
            ("lpReserved", wintypes.LPWSTR),
            ("lpDesktop", wintypes.LPWSTR),
            ("lpTitle", wintypes.LPWSTR),
            ("dwX", wintypes.DWORD),
            ("dwY", wintypes.DWORD),
            ("dwXSize", wintypes.DWORD),
            ("dwYSize", wintypes.DWORD),
            ("dwXCountChars", wintypes.DWORD),
            ("dwYCountChars", wintypes.DWORD),
            ("dwFillAttribute", wintypes.DWORD),
            ("dwFlags", wintypes.DWORD),
            ("wShowWindow", wintypes.WORD),
            ("cbReserved2", wintypes.WORD),
            ("lpReserved2", ctypes.c_void_p),
            ("hStdInput", wintypes.HANDLE),
            ("hStdOutput", wintypes.HANDLE),
            ("hStdError", wintypes.HANDLE),
            ("lpAttributeList", ctypes.c_void_p),
        )

    class _ProcessInformation(ctypes.Structure):
        _fields_ = (
            ("hProcess", wintypes.HANDLE),
            ("hThread", wintypes.HANDLE),
            ("dwProcessId", wintypes.DWORD),
            ("dwThreadId", wintypes.DWORD),
        )

    class _SecurityCapabilities(ctypes.Structure):
        _fields_ = (
            ("AppContainerSid", ctypes.c_void_p),
            ("Capabilities", ctypes.c_void_p),
            ("CapabilityCount", wintypes.DWORD),
            ("Reserved", wintypes.DWORD),
        )

    _advapi = ctypes.WinDLL("advapi32", use_last_error=True)
    _kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    _advapi.CreateProcessAsUserW.argtypes = [
        wintypes.HANDLE,
        wintypes.LPCWSTR,
        wintypes.LPWSTR,
        ctypes.c_void_p,
        ctypes.c_void_p,
        wintypes.BOOL,
        wintypes.DWORD,
        ctypes.c_void_p,
        wintypes.LPCWSTR,
        ctypes.c_void_p,
        ctypes.c_void_p,
    ]
    _kernel.CreateProcessW.argtypes = _advapi.CreateProcessAsUserW.argtypes[1:]
    _kernel.InitializeProcThreadAttributeList.argtypes = [
        ctypes.c_void_p,
        wintypes.DWORD,
        wintypes.DWORD,
        ctypes.c_void_p,
    ]
    _kernel.UpdateProcThreadAttribute.argtypes = [
        ctypes.c_void_p,
        wintypes.DWORD,
        ctypes.c_size_t,
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_void_p,
        ctypes.c_void_p,
    ]
    _kernel.DeleteProcThreadAttributeList.argtypes = [ctypes.c_void_p]
    _ntdll = ctypes.WinDLL("ntdll")
    _ntdll.NtResumeProcess.argtypes = [wintypes.HANDLE]
    _kernel.CloseHandle.argtypes = [wintypes.HANDLE]
    _kernel.WaitForSingleObject.argtypes = [wintypes.HANDLE, wintypes.DWORD]
    _kernel.TerminateProcess.argtypes = [wintypes.HANDLE, wintypes.UINT]
    _kernel.GetExitCodeProcess.argtypes = [wintypes.HANDLE, ctypes.c_void_p]

    class CagedProcess:
        """A running program, with the parts of asyncio's process that ``run_program`` uses."""

        def __init__(self, pid: int, process: int) -> None:
            self.pid = pid
            self._process = process
            self._close = weakref.finalize(self, _kernel.CloseHandle, process)

        def resume(self) -> None:
            """Resume the suspended program, unless a job resumes it."""
            _ntdll.NtResumeProcess(self._process)

        async def wait(self) -> int:
            """Wait for the program's end; return its exit code."""
            loop = asyncio.get_running_loop()
            done: asyncio.Future[int] = loop.create_future()

            def tell() -> None:
                code = self.wait_for(None)
                with contextlib.suppress(RuntimeError):  # The event loop is closed.
                    loop.call_soon_threadsafe(_settle, done, code)

            # A pool thread is unsuitable, because commands may run for hours and other work needs
            # the pool.
            threading.Thread(target=tell, name="caged", daemon=True).start()
            return await done

        def wait_for(self, limit_s: float | None) -> int:
            """Wait for the program's end, and kill it after ``limit_s``; blocks."""
            limit_ms = 0xFFFFFFFF if limit_s is None else int(limit_s * 1000)
            if _kernel.WaitForSingleObject(self._process, limit_ms):
                _kernel.TerminateProcess(self._process, 1)
                _kernel.WaitForSingleObject(self._process, 1_000)
            code = wintypes.DWORD()
            _kernel.GetExitCodeProcess(self._process, ctypes.byref(code))
            self._close()
            return code.value

    def _settle(done: asyncio.Future[int], code: int) -> None:
        if not done.done():
            done.set_result(code)

    @contextlib.contextmanager
    def standard_handles(stdin: int, stdout: int, stderr: int) -> Iterator[tuple[int, int, int]]:
        """Duplicate three descriptors as handles that a child inherits."""
        own = win32api.GetCurrentProcess()
        with contextlib.ExitStack() as stack:
            handles: list[int] = []
            for descriptor in (stdin, stdout, stderr):
                if descriptor == subprocess.DEVNULL:
                    opened = os.open(os.devnull, os.O_RDWR)
                    stack.callback(os.close, opened)
                else:
                    opened = descriptor
                copy: Any = win32api.DuplicateHandle(
                    own,
                    msvcrt.get_osfhandle(opened),
                    own,
                    0,
                    True,  # noqa: FBT003 - as the function is
                    win32con.DUPLICATE_SAME_ACCESS,
                )
                stack.callback(copy.Close)
                handles.append(int(copy))
            yield handles[0], handles[1], handles[2]

    def start_suspended(
        program: str,
        line: str,
        cwd: str,
        block: str,
        handles: tuple[int, int, int],
        *,
        token: Any = None,  # noqa: ANN401 - a handle
        container: bytes | None = None,
    ) -> CagedProcess:
        """Start a program suspended, with three inherited handles and no others.

        Args:
            program: The program's path.
            line: The program's command line.
            cwd: The program's working directory.
            block: The program's environment.
            handles: The program's input, output and errors.
            token: The program's token, or None for Indwell's own token.
            container: The SID of the AppContainer in which the program runs, without any
                capability.

        Raises:
            OSError: Windows refuses.
        """
        passed = (wintypes.HANDLE * len(set(handles)))(*dict.fromkeys(handles))
        values: list[tuple[int, Any]] = [(_HANDLE_LIST, passed)]
        sid = ctypes.create_string_buffer(container, len(container)) if container else None
        if sid is not None:
            values.append((_CAPABILITIES, _SecurityCapabilities(ctypes.addressof(sid), None, 0, 0)))
        size = ctypes.c_size_t()
        _kernel.InitializeProcThreadAttributeList(None, len(values), 0, ctypes.byref(size))
        attributes = ctypes.create_string_buffer(size.value)
        if not _kernel.InitializeProcThreadAttributeList(
            attributes, len(values), 0, ctypes.byref(size)
        ):
            raise ctypes.WinError(ctypes.get_last_error())
        try:
            for which, value in values:
                if not _kernel.UpdateProcThreadAttribute(
                    attributes, 0, which, ctypes.byref(value), ctypes.sizeof(value), None, None
                ):
                    raise ctypes.WinError(ctypes.get_last_error())
            info = _StartupInfo()
            info.cb = ctypes.sizeof(info)
            info.dwFlags = subprocess.STARTF_USESTDHANDLES
            info.hStdInput, info.hStdOutput, info.hStdError = handles
            info.lpAttributeList = ctypes.addressof(attributes)
            started = _ProcessInformation()
            # The buffer is mutable, because Windows may write to the command line.
            written = ctypes.create_unicode_buffer(line)
            environment = ctypes.create_unicode_buffer(block, len(block))
            create: Any = _kernel.CreateProcessW
            if token is not None:
                create = functools.partial(_advapi.CreateProcessAsUserW, int(token))
            if not create(
                program,
                written,
                None,
                None,
                True,  # noqa: FBT003 - as the function is
                _SUSPENDED | _ON_ITS_OWN | _UNICODE | _EXTENDED,
                environment,
                cwd,
                ctypes.byref(info),
                ctypes.byref(started),
            ):
                raise ctypes.WinError(ctypes.get_last_error())
        finally:
            _kernel.DeleteProcThreadAttributeList(attributes)
        _kernel.CloseHandle(started.hThread)
        return CagedProcess(started.dwProcessId, started.hProcess)
