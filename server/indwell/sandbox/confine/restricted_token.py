"""Starts a command on Windows so that it can write nothing: a restricted token at low integrity.

Two checks of the kernel apply to each write, and a write needs both. At low integrity, a process
writes only to objects that are labelled low. With the restricting SID, it writes only to objects
whose access list names this SID, its logon session, or everyone. One folder for temporary files
passes both checks; it is ours and is removed afterwards. No access list of the user's files is
changed. Reading and the network stay open (docs/decisions/0025-windows-without-access-lists.md).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from indwell.errors import ToolError
from indwell.sandbox.confine.cages import CAGES, NEEDED, Cage, strength_of
from indwell.sandbox.confine.trial import Proof
from indwell.sandbox.confinement import Strength

if sys.platform == "win32":
    import asyncio
    import contextlib
    import functools
    import os
    import secrets
    import subprocess
    import threading
    from typing import Any

    import pywintypes
    import win32api
    import win32con
    import win32security as api

    from indwell.sandbox.confine.cages import environment_block, scratch_descriptor
    from indwell.sandbox.confine.token_start import (
        CagedProcess,
        standard_handles,
        start_suspended,
    )
    from indwell.sandbox.confine.trial import (
        STARTED,
        Effects,
        TrialPlace,
        effects_of,
        judge,
    )
    from indwell.sandbox.environment import clean_environment

    _TRY_S = 10
    _DISABLE_MAX_PRIVILEGE, _LUA, _WRITE_RESTRICTED = 0x1, 0x4, 0x8
    _LOGON_ID = 0xC0000000
    _LOW, _INTEGRITY = "S-1-16-4096", 0x20
    _LABEL = 0x10  # LABEL_SECURITY_INFORMATION
    _ALL = 0x10000000  # GENERIC_ALL
    _EVERYONE = "S-1-1-0"

    @functools.cache
    def strength_here(shells: tuple[tuple[str, ...], ...]) -> tuple[Strength, Cage | None]:
        """Try the cages, and return the strength of this machine; blocks for a second at most.

        Args:
            shells: The words before the text of a command, for each shell that commands use.
        """
        free = effects_of(lambda place, script: _in_python(place, script, None), "python")
        tried: list[tuple[Cage, Proof]] = []
        for cage in CAGES:
            proof = _tried(cage, free, shells)
            tried.append((cage, proof))
            if proof.held >= NEEDED:
                break
        return strength_of(tried)

    async def start_caged(  # the parameters of a ``Starter``, and two more
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: int,
        stdout: int,
        stderr: int,
        pass_fds: tuple[int, ...],
        cage: Cage,
        scratch: Path,
    ) -> CagedProcess:
        """Start a program suspended, so that the caller can put it into a job first.

        Args:
            argv: The program and its arguments; its path is absolute.
            cwd: Its working directory.
            env: Its complete environment; ``TEMP`` and ``TMP`` are set here.
            stdin: A descriptor for its input, or ``DEVNULL``.
            stdout: A descriptor for its output.
            stderr: A descriptor for its errors, which may be the same.
            pass_fds: Not possible on Windows; has to be empty.
            cage: The checks that apply to it.
            scratch: An empty folder of ours for its temporary files.

        Raises:
            ToolError: It cannot be started like this.
        """
        assert not pass_fds
        assert Path(argv[0]).is_absolute(), "else it would come from the working folder"
        temporary = {"TEMP": str(scratch), "TMP": str(scratch)}
        try:
            await asyncio.to_thread(_open_scratch, scratch)
            with standard_handles(stdin, stdout, stderr) as handles:
                return start_suspended(
                    argv[0],
                    subprocess.list2cmdline(argv),
                    str(cwd),
                    environment_block({**env, **temporary}),
                    handles,
                    _token(cage),
                )
        except (OSError, ValueError, pywintypes.error) as error:
            reason = getattr(error, "strerror", None) or error
            raise ToolError(
                f"{argv[0]!r} could not be started without the right to write: {reason}"
            ) from error

    def _tried(cage: Cage, free: Effects, shells: tuple[tuple[str, ...], ...]) -> Proof:
        """Try a cage with our own Python, then whether the shells of commands start in it."""

        def caged(place: TrialPlace, script: str) -> bytes:
            _let_everyone_write(place.folder)
            _open_scratch(place.inside)
            return _in_python(place, script, cage)

        def starts(words: tuple[str, ...]) -> bool:
            def run(place: TrialPlace, _script: str) -> bytes:
                _open_scratch(place.inside)
                return _said([*words, f"echo {STARTED}"], place, cage)

            return effects_of(run, "python").started

        proof = judge(free, effects_of(caged, "python"))
        unfit = next((one[0] for one in shells if not starts(one)), "") if proof.held else ""
        return Proof(reason=f"{unfit} does not start in it") if unfit else proof

    def _in_python(place: TrialPlace, script: str, cage: Cage | None) -> bytes:
        return _said([sys.executable, "-I", "-S", "-c", script], place, cage)

    def _said(words: Sequence[str], place: TrialPlace, cage: Cage | None) -> bytes:
        """Run a program in the folder of a trial; returns its output."""
        temporary = {"TEMP": str(place.inside), "TMP": str(place.inside)}
        block = environment_block(clean_environment(os.environ, temporary))
        token = _token(cage) if cage else _own_token()
        reading, writing = os.pipe()
        try:
            with standard_handles(subprocess.DEVNULL, writing, writing) as handles:
                line = subprocess.list2cmdline(words)
                started = start_suspended(words[0], line, str(place.folder), block, handles, token)
        except pywintypes.error as error:
            os.close(reading)
            raise OSError(None, error.strerror, None, error.winerror) from error
        except OSError:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        started.resume()
        pieces: list[bytes] = []
        with os.fdopen(reading, "rb") as stream:
            reader = threading.Thread(target=lambda: pieces.append(stream.read()), daemon=True)
            reader.start()
            started.wait_for(_TRY_S)
            reader.join(1)
        return b"".join(pieces)

    @functools.cache
    def _restricting_sid() -> str:
        """Return the SID of this process's commands: random, and of no account."""
        parts = "-".join(str(secrets.randbits(32)) for _ in range(4))
        return f"S-1-9-{parts}"

    def _own_token() -> Any:  # noqa: ANN401 - a handle
        return api.OpenProcessToken(win32api.GetCurrentProcess(), win32con.MAXIMUM_ALLOWED)

    def _token(cage: Cage) -> Any:  # noqa: ANN401 - a handle
        """Create the token of a cage.

        Raises:
            pywintypes.error: Windows refuses.
        """
        own = _own_token()
        user = api.GetTokenInformation(own, api.TokenUser)[0]
        groups = api.GetTokenInformation(own, api.TokenGroups)
        logon = [sid for sid, attributes in groups if attributes & _LOGON_ID == _LOGON_ID]
        restricting = api.ConvertStringSidToSid(_restricting_sid())
        everyone = api.ConvertStringSidToSid(_EVERYONE)
        flags = _DISABLE_MAX_PRIVILEGE | _LUA
        create: Any = api.CreateRestrictedToken  # its types forbid None
        if cage == "restricted":
            # The user is never one of them: that would allow every write again. PowerShell needs
            # its session and everyone; what everyone may write, the low integrity refuses.
            sids = [(one, 0) for one in (restricting, *logon, everyone)]
            token = create(own, flags | _WRITE_RESTRICTED, None, None, sids)
        else:
            token = create(own, flags, None, None, None)
        label = (api.ConvertStringSidToSid(_LOW), _INTEGRITY)
        api.SetTokenInformation(token, api.TokenIntegrityLevel, label)
        created = api.ACL()  # who may use what its processes create without an access list
        for sid in (user, restricting, *logon):
            created.AddAccessAllowedAce(api.ACL_REVISION, _ALL, sid)
        api.SetTokenInformation(token, api.TokenDefaultDacl, created)
        return token

    def _open_scratch(folder: Path) -> None:
        """Let commands write to this folder of ours; the label may be refused, as by Wine.

        Raises:
            OSError: Windows refuses.
        """
        user = api.ConvertSidToStringSid(api.GetTokenInformation(_own_token(), api.TokenUser)[0])
        text = scratch_descriptor(user, _restricting_sid())
        what = api.DACL_SECURITY_INFORMATION | api.PROTECTED_DACL_SECURITY_INFORMATION
        _secure(folder, text, what)
        with contextlib.suppress(OSError):  # then commands lack a folder, which the trial notices
            _secure(folder, text, _LABEL)

    def _let_everyone_write(folder: Path) -> None:
        """Leave the forbidden write of a trial to the integrity level and the restricting SID."""
        _secure(folder, "D:(A;OICI;FA;;;OW)(A;OICI;FA;;;WD)", api.DACL_SECURITY_INFORMATION)

    def _secure(folder: Path, text: str, what: int) -> None:
        made = api.ConvertStringSecurityDescriptorToSecurityDescriptor(text, 1)
        dacl = made.GetSecurityDescriptorDacl() if what & api.DACL_SECURITY_INFORMATION else None
        sacl = made.GetSecurityDescriptorSacl() if what & _LABEL else None
        try:
            api.SetNamedSecurityInfo(str(folder), api.SE_FILE_OBJECT, what, None, None, dacl, sacl)
        except pywintypes.error as error:
            raise OSError(None, error.strerror, str(folder), error.winerror) from error

else:

    def strength_here(
        shells: tuple[tuple[str, ...], ...],
    ) -> tuple[Strength, Cage | None]:
        """Say that there is nothing to try on this system."""
        del shells
        return strength_of(())

    async def start_caged(
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: int,
        stdout: int,
        stderr: int,
        pass_fds: tuple[int, ...],
        cage: Cage,
        scratch: Path,
    ) -> NoReturn:
        """Refuse, as only Windows has such tokens."""
        del cwd, env, stdin, stdout, stderr, pass_fds, cage, scratch
        raise ToolError(f"{argv[0]!r} was not run: only Windows has restricted tokens")
