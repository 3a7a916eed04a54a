"""Starts a Windows command that cannot write: with a restricted token at low integrity.

Each write must pass two checks of the kernel. At low integrity, a process writes only to objects
that are labelled low. With the restricting SID, a process writes only to objects whose access list
names this SID, the logon session, or everyone. Only Indwell's folder for temporary files passes
both checks; it is removed afterwards. No access list of the user's files is changed. Reading and
the network stay open (docs/decisions/0025-windows-without-access-lists.md).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from indwell.errors import ToolError
from indwell.sandbox.confine.cages import CAGES, NEEDED, Cage, strength_of
from indwell.sandbox.confine.trial import Proof
from indwell.sandbox.confinement import Strength
from indwell.sandbox.starting import Launch

if sys.platform == "win32":
    import asyncio
    import contextlib
    import ctypes
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

    from indwell.files.system.access import Ace
    from indwell.sandbox.confine.cages import (
        environment_block,
        is_open_to_containers,
        scratch_descriptor,
    )
    from indwell.sandbox.confine.token_start import (
        CagedProcess,
        standard_handles,
        start_suspended,
    )
    from indwell.sandbox.confine.trial import (
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
    _LABEL = 0x10  # The constant is LABEL_SECURITY_INFORMATION.
    _ALL = 0x10000000  # The constant is GENERIC_ALL.
    _EVERYONE = "S-1-1-0"
    _PACKAGE = "indwell.commands"

    @functools.cache
    def strength_here(greeting: tuple[str, ...]) -> tuple[Strength, Cage | None]:
        """Try the cages (tokens, AppContainer) and return the machine's strength; blocks up to 1 s.

        Args:
            greeting: The command by which the shell prints ``STARTED``, or empty if there is no
                shell.
        """
        free = effects_of(lambda place, script: _in_python(place, script, None), "python")
        tried: list[tuple[Cage, Proof]] = []
        for cage in CAGES:
            proof = _tried(cage, free, greeting)
            tried.append((cage, proof))
            if proof.held >= NEEDED:
                break
        return strength_of(tried)

    @functools.cache
    def container_here(greeting: tuple[str, ...]) -> Proof:
        """Try an AppContainer; blocks for half a second.

        Args:
            greeting: See ``strength_here``.
        """
        free = effects_of(lambda place, script: _in_python(place, script, None), "python")
        return _tried("container", free, greeting)

    def are_open_to_containers(folders: Iterable[str]) -> bool:
        """Return whether every AppContainer may read all of these folders."""
        try:
            return all(is_open_to_containers(_list_of(one)) for one in folders)
        except pywintypes.error:
            return False

    def _list_of(folder: str) -> tuple[Ace, ...]:
        found = api.GetNamedSecurityInfo(folder, api.SE_FILE_OBJECT, api.DACL_SECURITY_INFORMATION)
        given = found.GetSecurityDescriptorDacl()
        rows = [given.GetAce(number) for number in range(given.GetAceCount())] if given else []
        text = api.ConvertSidToStringSid
        return tuple(Ace(row[0][0], row[0][1], row[1], text(row[-1])) for row in rows)

    async def start_caged(launch: Launch, *, cage: Cage, scratch: Path) -> CagedProcess:
        """Start a program suspended, so that the caller can put it into a job first.

        Args:
            launch: The program, with an absolute path; ``start_caged`` sets ``TEMP`` and ``TMP``.
            cage: The cage, which decides the kernel's checks.
            scratch: An empty folder for the program's temporary files.

        Raises:
            ToolError: The program cannot be started with these checks.
        """
        assert not launch.pass_fds
        assert Path(launch.argv[0]).is_absolute(), "else it would come from the working folder"
        temporary = {"TEMP": str(scratch), "TMP": str(scratch)}
        try:
            await asyncio.to_thread(_open_scratch, scratch, cage)
            with standard_handles(launch.stdin, launch.stdout, launch.stderr) as handles:
                return _start(launch.argv, launch.cwd, {**launch.env, **temporary}, handles, cage)
        except (OSError, ValueError, pywintypes.error) as error:
            reason = getattr(error, "strerror", None) or error
            raise ToolError(
                f"{launch.argv[0]!r} could not be started without the right to write: {reason}"
            ) from error

    def _tried(cage: Cage, free: Effects, greeting: tuple[str, ...]) -> Proof:
        """Try a cage with this Python, and then with the shell for commands."""
        caged = effects_of(lambda place, script: _in_python(place, script, cage), "python")
        proof = judge(free, caged)
        if proof.held and greeting and not _starts(cage, greeting):
            return Proof(reason=f"{greeting[0]} does not start in it")
        return proof

    def _starts(cage: Cage, greeting: tuple[str, ...]) -> bool:
        return effects_of(lambda place, _: _said(greeting, place, cage), "python").started

    def _in_python(place: TrialPlace, script: str, cage: Cage | None) -> bytes:
        return _said([sys.executable, "-I", "-S", "-c", script], place, cage)

    def _said(words: Sequence[str], place: TrialPlace, cage: Cage | None) -> bytes:
        """Run a program in the folder of a trial; return its output.

        Raises:
            OSError: Windows refuses.
        """
        temporary = {"TEMP": str(place.inside), "TMP": str(place.inside)}
        environment = clean_environment(os.environ, temporary)
        reading, writing = os.pipe()
        with contextlib.ExitStack() as stack:
            stack.callback(os.close, writing)
            unread = stack.enter_context(contextlib.ExitStack())
            unread.callback(os.close, reading)
            stack.enter_context(_system_errors())
            if cage is not None:
                _let_everyone_write(place.folder, cage)
                _open_scratch(place.inside, cage)
            handles = stack.enter_context(standard_handles(subprocess.DEVNULL, writing, writing))
            started = _start(words, place.folder, environment, handles, cage)
            unread.pop_all()
        started.resume()
        pieces: list[bytes] = []

        def read() -> None:
            with os.fdopen(reading, "rb") as stream:
                pieces.extend(iter(stream.read1, b""))

        # If a process still holds the pipe afterwards, only the reader thread waits for the pipe.
        reader = threading.Thread(target=read, name="indwell-trial", daemon=True)
        reader.start()
        started.wait_for(_TRY_S)
        reader.join(1)
        return b"".join(pieces)

    @contextlib.contextmanager
    def _system_errors() -> Iterator[None]:
        """Raise errors of pywin32 as ``OSError``, because pywin32's errors are no subclass."""
        try:
            yield
        except pywintypes.error as error:
            raise OSError(None, error.strerror, None, error.winerror) from error

    def _start(
        words: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str],
        handles: tuple[int, int, int],
        cage: Cage | None,
    ) -> CagedProcess:
        """Start a program suspended.

        Raises:
            OSError: Windows refuses; also pywintypes.error.
            ValueError: A variable cannot be passed on.
        """
        line, block = subprocess.list2cmdline(words), environment_block(environment)
        if cage == "container":
            container = bytes(_package())
            return start_suspended(words[0], line, str(cwd), block, handles, container=container)
        token = _token(cage) if cage else None
        return start_suspended(words[0], line, str(cwd), block, handles, token=token)

    @functools.cache
    def _package() -> Any:  # noqa: ANN401 - a SID
        """Return the SID of Indwell's AppContainer, whose profile stays, but has no permissions.

        Raises:
            OSError: This Windows has no AppContainers.
        """
        try:
            create = ctypes.WinDLL("userenv").CreateAppContainerProfile
            derive = ctypes.WinDLL("userenv").DeriveAppContainerSidFromAppContainerName
        except AttributeError as error:
            raise OSError("it has no AppContainers") from error
        found, name = ctypes.c_void_p(), ctypes.c_wchar_p(_PACKAGE)
        if create(name, name, name, None, 0, ctypes.byref(found)) and derive(
            name, ctypes.byref(found)
        ):
            raise OSError("no AppContainer can be created")
        length = ctypes.WinDLL("advapi32").GetLengthSid(found)
        read: Any = api.SID  # The type annotations of pywin32 omit bytes.
        return read(ctypes.string_at(found, length))

    @functools.cache
    def _restricting_sid() -> str:
        """Return the SID for this process's commands, which is random and belongs to no account."""
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
        create: Any = api.CreateRestrictedToken  # The type annotations of pywin32 forbid None.
        if cage == "restricted":
            # The user is never in the list, because the user may write everywhere. PowerShell needs
            # its session and everyone; low integrity refuses what everyone may write.
            sids = [(one, 0) for one in (restricting, *logon, everyone)]
            token = create(own, flags | _WRITE_RESTRICTED, None, None, sids)
        else:
            token = create(own, flags, None, None, None)
        label = (api.ConvertStringSidToSid(_LOW), _INTEGRITY)
        api.SetTokenInformation(token, api.TokenIntegrityLevel, label)
        # The list says who may use objects that the command's processes create without an access
        # list.
        created = api.ACL()
        for sid in (user, restricting, *logon):
            created.AddAccessAllowedAce(api.ACL_REVISION, _ALL, sid)
        api.SetTokenInformation(token, api.TokenDefaultDacl, created)
        return token

    def _open_scratch(folder: Path, cage: Cage) -> None:
        """Let commands write to this folder; Windows may refuse the label, as Wine does.

        Raises:
            OSError: Windows refuses.
        """
        user = api.ConvertSidToStringSid(api.GetTokenInformation(_own_token(), api.TokenUser)[0])
        is_container = cage == "container"
        sid = api.ConvertSidToStringSid(_package()) if is_container else _restricting_sid()
        text = scratch_descriptor(user, sid)
        what = api.DACL_SECURITY_INFORMATION | api.PROTECTED_DACL_SECURITY_INFORMATION
        _secure(folder, text, what)
        with contextlib.suppress(OSError):  # The trial notices a missing folder.
            _secure(folder, text, _LABEL)

    def _let_everyone_write(folder: Path, cage: Cage) -> None:
        """Give everyone write access, so that only the cage can block the trial's write."""
        text = "D:(A;OICI;FA;;;OW)(A;OICI;FA;;;WD)"
        if cage == "container":
            text += f"(A;;0x1200a9;;;{api.ConvertSidToStringSid(_package())})"
        _secure(folder, text, api.DACL_SECURITY_INFORMATION)

    def _secure(folder: Path, text: str, what: int) -> None:
        made = api.ConvertStringSecurityDescriptorToSecurityDescriptor(text, 1)
        dacl = made.GetSecurityDescriptorDacl() if what & api.DACL_SECURITY_INFORMATION else None
        sacl = made.GetSecurityDescriptorSacl() if what & _LABEL else None
        with _system_errors():
            api.SetNamedSecurityInfo(str(folder), api.SE_FILE_OBJECT, what, None, None, dacl, sacl)

else:

    def container_here(greeting: tuple[str, ...]) -> Proof:
        """Report that this system has no cage to try."""
        del greeting
        return Proof(reason="only Windows has AppContainers")

    def are_open_to_containers(folders: Iterable[str]) -> bool:
        """Return False, because this system has no AppContainers."""
        del folders
        return False

    def strength_here(
        greeting: tuple[str, ...],
    ) -> tuple[Strength, Cage | None]:
        """Report that this system has no cage to try."""
        del greeting
        return strength_of(())

    async def start_caged(launch: Launch, *, cage: Cage, scratch: Path) -> NoReturn:
        """Refuse, because only Windows has such tokens."""
        del cage, scratch
        raise ToolError(f"{launch.argv[0]!r} was not run: only Windows has restricted tokens")
