"""Find out what a real Windows offers for confining commands, for docs/decisions/0025.

    python scripts/windows_probe.py

Needs Windows and an installed Indwell (`pip install indwell`), no administrator rights. It takes some
seconds, changes only temporary folders of its own and one AppContainer profile, and removes both.
Please send us the output: it names the version of Windows and the paths of shells, nothing else.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

TITLES = {"restricted": "restricted token, low integrity", "low": "low integrity"}


def shells() -> Iterator[tuple[str, ...]]:
    """The words before the text of a command, for each shell that is here."""
    root = Path(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32")
    yield str(root / "cmd.exe"), "/d", "/c"
    powershell = root / "WindowsPowerShell" / "v1.0" / "powershell.exe"
    for found in (str(powershell) if powershell.exists() else None, shutil.which("pwsh")):
        if found:
            yield found, "-NoProfile", "-NonInteractive", "-Command"
    git = shutil.which("git")
    beside = Path(git).resolve().parents[1] / "bin" / "bash.exe" if git else None
    if beside and beside.exists():
        yield str(beside), "--norc", "--noprofile", "-c"


def words(held: frozenset[str], reason: str) -> str:
    """One line about a trial."""
    return f"holds {', '.join(sorted(held)) or 'nothing'}" + (f" ({reason})" if reason else "")


if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    import win32security as api

    from indwell.sandbox.confine import restricted_token as tokens
    from indwell.sandbox.confine import token_start as starting
    from indwell.sandbox.confine.cages import CAGES, environment_block
    from indwell.sandbox.confine.trial import STARTED, Effects, TrialPlace, effects_of, judge
    from indwell.sandbox.environment import clean_environment

    PROFILE = "indwell.probe"
    CAPABILITIES = 0x20009  # PROC_THREAD_ATTRIBUTE_SECURITY_CAPABILITIES

    class SecurityCapabilities(ctypes.Structure):
        _fields_ = (
            ("AppContainerSid", ctypes.c_void_p),
            ("Capabilities", ctypes.c_void_p),
            ("CapabilityCount", wintypes.DWORD),
            ("Reserved", wintypes.DWORD),
        )

    def in_container(line: list[str], place: TrialPlace, sid: ctypes.c_void_p) -> bytes:
        """Run a program in an AppContainer without capabilities; returns its output."""
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        text = api.ConvertSidToStringSid(api.SID(ctypes.string_at(sid, 28 + 12)))
        for folder in (place.folder, place.inside):  # it may list the one and write to the other
            rights = "FA" if folder == place.inside else "FR"
            made = f"D:(A;OICI;FA;;;OW)(A;;{rights};;;{text})"
            tokens._secure(folder, made, api.DACL_SECURITY_INFORMATION)
        capabilities = SecurityCapabilities(sid.value, None, 0, 0)
        said = place.inside / "said"
        size = ctypes.c_size_t()
        kernel.InitializeProcThreadAttributeList(None, 1, 0, ctypes.byref(size))
        attributes = ctypes.create_string_buffer(size.value)
        kernel.InitializeProcThreadAttributeList(attributes, 1, 0, ctypes.byref(size))
        done = kernel.UpdateProcThreadAttribute(
            attributes,
            0,
            ctypes.c_size_t(CAPABILITIES),
            ctypes.byref(capabilities),
            ctypes.c_size_t(ctypes.sizeof(capabilities)),
            None,
            None,
        )
        if not done:
            raise ctypes.WinError(ctypes.get_last_error())
        info = starting._StartupInfo()
        info.cb = ctypes.sizeof(info)
        info.lpAttributeList = ctypes.addressof(attributes)
        started = starting._ProcessInformation()
        block = environment_block(clean_environment(os.environ, {"TEMP": str(place.inside)}))
        variables = ctypes.create_unicode_buffer(block, len(block))
        with said.open("wb") as output:
            os.set_inheritable(output.fileno(), True)
            info.dwFlags = subprocess.STARTF_USESTDHANDLES
            import msvcrt

            os.set_handle_inheritable(msvcrt.get_osfhandle(output.fileno()), True)
            info.hStdOutput = info.hStdError = msvcrt.get_osfhandle(output.fileno())
            flags = starting._SUSPENDED | starting._ON_ITS_OWN | starting._UNICODE
            if not kernel.CreateProcessW(
                ctypes.c_wchar_p(line[0]),
                ctypes.create_unicode_buffer(subprocess.list2cmdline(line)),
                None,
                None,
                True,
                flags | starting._EXTENDED,
                variables,
                ctypes.c_wchar_p(str(place.folder)),
                ctypes.byref(info),
                ctypes.byref(started),
            ):
                raise ctypes.WinError(ctypes.get_last_error())
            process = starting.CagedProcess(started.dwProcessId, started.hProcess)
            process.resume()
            process.wait_for(10)
        return said.read_bytes()

    def container() -> str:
        """Try an AppContainer; one line."""
        userenv = ctypes.WinDLL("userenv")
        sid = ctypes.c_void_p()
        name = ctypes.c_wchar_p(PROFILE)
        userenv.DeleteAppContainerProfile(name)
        failed = userenv.CreateAppContainerProfile(name, name, name, None, 0, ctypes.byref(sid))
        if failed or not sid.value:
            return f"cannot be created ({failed & 0xFFFFFFFF:#x})"
        try:
            free = effects_of(lambda place, script: python(place, script, None), "python")
            command = [sys.executable, "-I", "-S", "-c"]
            run: Callable[[TrialPlace, str], bytes] = lambda place, script: in_container(
                [*command, script], place, sid
            )
            found = judge(free, effects_of(run, "python"))
            fit = [one[0] for one in shells() if starts(one, lambda a, b: in_container(a, b, sid))]
            return f"{words(found.held, found.reason)}; starts {', '.join(fit) or 'no shell'}"
        finally:
            userenv.DeleteAppContainerProfile(name)

    def python(place: TrialPlace, script: str, cage: str | None) -> bytes:
        return tokens._in_python(place, script, cage)

    def starts(shell: tuple[str, ...], run: Callable[[list[str], TrialPlace], bytes]) -> bool:
        def one(place: TrialPlace, _script: str) -> bytes:
            tokens._open_scratch(place.inside)
            return run([*shell, f"echo {STARTED}"], place)

        return effects_of(one, "python").started

    def main() -> int:
        print(
            f"Windows {platform.version()}, {platform.machine()}, Python {platform.python_version()}"
        )
        free: Effects = effects_of(lambda place, script: python(place, script, None), "python")
        print(f"unconfined: achieves {', '.join(sorted(free.done)) or 'nothing'} {free.said!r}")
        for cage in CAGES:
            proof = tokens._tried(cage, free, ())
            fit = [
                shell[0]
                for shell in shells()
                if starts(shell, lambda a, b, cage=cage: tokens._said(a, b, cage))
            ]
            line = f"{words(proof.held, proof.reason)}; starts {', '.join(fit) or 'no shell'}"
            print(f"{TITLES[cage]}: {line}")
        try:
            print(f"AppContainer: {container()}")
        except (OSError, AttributeError) as error:
            print(f"AppContainer: cannot be tried ({error})")
        return 0

else:

    def main() -> int:
        print("This script needs Windows.")
        return 1


if __name__ == "__main__":
    sys.exit(main())
