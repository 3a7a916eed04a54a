"""Implements POSIX's file calls on Windows, such as opening a path without following links.

NT can open a name below an open folder, as ``openat`` does. All handles are shared for reading,
writing and deleting, so no handle blocks another program. Callers use ``files.system.calls``.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import stat as kinds
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import PureWindowsPath
from typing import TypeAlias, cast

from indwell.files.system import windows_facts as facts
from indwell.files.system.held_files import is_shared_out

Name: TypeAlias = str | os.PathLike[str]

NOFOLLOW, DIRECTORY, PATH = 1 << 24, 1 << 25, 1 << 26  # bits that the C library does not use

_READ_DATA, _WRITE_DATA, _APPEND, _TRAVERSE = 0x1, 0x2, 0x4, 0x20  # the values of winnt.h
_READ_FACTS, _WRITE_FACTS, _DELETE, _SYNCHRONIZE = 0x80, 0x100, 0x10000, 0x100000
_SHARE_ALL, _ANY_CASE = 0x7, 0x40
# The values of ntddk.h, as for the next constants.
_OPEN, _CREATE, _OPEN_IF, _OVERWRITE, _OVERWRITE_IF = 1, 2, 3, 4, 5
_IS_FOLDER, _SYNCHRONOUS, _NO_FOLDER, _LINK_ITSELF = 0x1, 0x20, 0x40, 0x200000
_RENAME, _DISPOSITION, _DISPOSITION_EX, _RENAME_EX = 10, 13, 64, 65
_NO_SUCH_CLASS = frozenset({0xC0000003, 0xC0000002, 0xC000000D, 0xC00000BB})
_BASIC, _STREAMS, _TAG, _ENTRIES, _ENTRIES_AGAIN = 0, 7, 9, 10, 11
# The attributes hidden, system, archive and not indexed, then encrypted.
_COPIED, _ENCRYPTED = 0x2 | 0x4 | 0x20 | 0x2000, 0x4000
_MORE_DATA = 234
_MOST_NAME_B, _FAILED = 0xFFFF, 0x80000000
_END_OF_FILE = 38
_BUFFER_B = 1 << 16
_ORDINARY = 0x80  # an ordinary attribute, because 0 would keep the old attributes


if sys.platform == "win32":
    import msvcrt

    _nt = ctypes.WinDLL("ntdll")
    _kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    _kernel.CloseHandle.argtypes = (ctypes.c_void_p,)
    _kernel.GetFileInformationByHandle.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    for _call in (_kernel.GetFileInformationByHandleEx, _kernel.SetFileInformationByHandle):
        _call.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32)
    _kernel.ReOpenFile.argtypes = (ctypes.c_void_p, *(ctypes.c_uint32,) * 3)
    _kernel.ReOpenFile.restype = ctypes.c_void_p
    for _call in (_kernel.ReadFile, _kernel.WriteFile):
        _call.argtypes = (
            ctypes.c_void_p,
            ctypes.c_char_p,
            ctypes.c_uint32,
            *(ctypes.c_void_p,) * 2,
        )
    _kernel.GetFinalPathNameByHandleW.argtypes = (
        ctypes.c_void_p,
        ctypes.c_wchar_p,
        *(ctypes.c_uint32,) * 2,
    )

    def open_file(path: Name, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """Open a file like ``os.open``; the file is private if ``mode`` gives others no access."""
        access = _SYNCHRONIZE | _READ_FACTS
        writes = flags & (os.O_WRONLY | os.O_RDWR)
        if flags & PATH:
            access |= _TRAVERSE
        elif not writes & os.O_WRONLY:
            access |= _READ_DATA
        if writes:
            append_only = flags & os.O_APPEND
            access |= _APPEND | _WRITE_FACTS | (0 if append_only else _WRITE_DATA)
        options = _SYNCHRONOUS | (_IS_FOLDER if flags & DIRECTORY else 0)
        if writes:
            options |= _NO_FOLDER
        if flags & os.O_CREAT:
            how = _CREATE if flags & os.O_EXCL else _OPEN_IF
            how = _OVERWRITE_IF if flags & os.O_TRUNC and how == _OPEN_IF else how
        else:
            how = _OVERWRITE if flags & os.O_TRUNC else _OPEN
        is_private = bool(flags & os.O_CREAT) and not mode & 0o077
        handle = _opened(
            path,
            access,
            how,
            options,
            dir_fd,
            follows=not flags & NOFOLLOW,
            is_private=is_private,
        )
        try:
            return msvcrt.open_osfhandle(handle, (flags & os.O_APPEND) | os.O_NOINHERIT)
        except BaseException:
            _kernel.CloseHandle(handle)
            raise

    def stat(
        path: Name, *, dir_fd: int | None = None, follow_symlinks: bool = True
    ) -> os.stat_result:
        """Return a file's stat; ``st_ctime`` is the time of change, ``st_ino`` the file's index."""
        with _held(path, _READ_FACTS, dir_fd, follows=follow_symlinks) as handle:
            return _facts(handle)

    lstat = functools.partial(stat, follow_symlinks=False)

    def fstat(descriptor: int) -> os.stat_result:
        """Return the stat of an open file."""
        return _facts(msvcrt.get_osfhandle(descriptor))

    def mkdir(path: Name, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        """Create a folder, which is private if ``mode`` gives others no access."""
        access, is_private = _READ_FACTS | _SYNCHRONIZE, not mode & 0o077
        options = _IS_FOLDER | _SYNCHRONOUS
        handle = _opened(path, access, _CREATE, options, dir_fd, is_private=is_private)
        _kernel.CloseHandle(handle)

    def replace(
        src: Name, dst: Name, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        """Rename a file and replace an existing file, even if Indwell has it open."""
        with _held(src, _DELETE | _SYNCHRONIZE, src_dir_fd) as handle:
            _named(handle, dst, dst_dir_fd)

    def may_be_deleted(path: Name, *, dir_fd: int | None = None) -> bool:
        """Return whether an existing file may be deleted, if no program has it open."""
        try:
            with _held(path, _DELETE | _SYNCHRONIZE, dir_fd) as handle:
                return not kinds.S_ISDIR(_facts(handle).st_mode)
        except OSError as error:
            return is_shared_out(error)

    def remove_at(path: Name, *, is_folder: bool, dir_fd: int | None = None) -> None:
        """Remove a file or an empty folder, and free its name immediately if the disk can."""
        options = _SYNCHRONOUS | (_IS_FOLDER if is_folder else 0)
        access = _DELETE | _SYNCHRONIZE | _READ_FACTS
        with _held(path, access, dir_fd, options=options) as handle:
            is_link = kinds.S_ISLNK(_facts(handle).st_mode)
            if not is_folder and not is_link and kinds.S_ISDIR(_facts(handle).st_mode):
                raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
            # The flags delete the file, free the name immediately, and ignore a read-only
            # attribute.
            how = ctypes.c_uint32(0x1 | 0x2 | 0x10)
            status = _set(handle, _DISPOSITION_EX, how)
            if status in _NO_SUCH_CLASS:
                # An older disk keeps the name while a program has the file open, so free the name
                # first.
                if not is_folder:
                    aside = PureWindowsPath(path).with_name(f".indwell-{os.urandom(16).hex()}.tmp")
                    with suppress(OSError):
                        _named(handle, aside, dir_fd)
                _set_read_only(handle, is_read_only=False)
                status = _set(handle, _DISPOSITION, ctypes.c_ubyte(1))
            _check(status, path)

    def unlink(path: Name, *, dir_fd: int | None = None) -> None:
        """Remove a file, a link or a junction."""
        remove_at(path, is_folder=False, dir_fd=dir_fd)

    def rmdir(path: Name, *, dir_fd: int | None = None) -> None:
        """Remove an empty folder."""
        remove_at(path, is_folder=True, dir_fd=dir_fd)

    def pread(descriptor: int, length: int, offset: int) -> bytes:
        """Read at an offset, and move the position of ``os.read``, unlike POSIX's call."""
        room, n_bytes = ctypes.create_string_buffer(length), ctypes.c_uint32()
        at = facts.Overlapped(offset=offset)
        handle = msvcrt.get_osfhandle(descriptor)
        if _kernel.ReadFile(handle, room, length, ctypes.byref(n_bytes), ctypes.byref(at)):
            return room.raw[: n_bytes.value]
        error = ctypes.get_last_error()
        if error == _END_OF_FILE:
            return b""
        raise ctypes.WinError(error)

    def pwrite(descriptor: int, data: bytes, offset: int) -> int:
        """Write at an offset; like ``pread``, the function moves the position."""
        n_bytes, at = ctypes.c_uint32(), facts.Overlapped(offset=offset)
        handle = msvcrt.get_osfhandle(descriptor)
        if _kernel.WriteFile(handle, data, len(data), ctypes.byref(n_bytes), ctypes.byref(at)):
            return n_bytes.value
        raise ctypes.WinError(ctypes.get_last_error())

    def set_mode(descriptor: int, mode: int) -> None:
        """Set or clear the read-only attribute, the only mode that Windows has."""
        handle = msvcrt.get_osfhandle(descriptor)
        if kinds.S_ISREG(_facts(handle).st_mode):
            _set_read_only(handle, is_read_only=not mode & 0o222)

    def copy_facts(source: int, fresh: int) -> bool:
        """Copy a file's creation time and hidden attribute; return False if a copy would lose data.

        A copy loses encryption and further streams, such as the file's origin on the web.
        """
        old, new = msvcrt.get_osfhandle(source), msvcrt.get_osfhandle(fresh)
        basic = facts.BasicFacts()
        size = ctypes.sizeof(basic)
        if not _kernel.GetFileInformationByHandleEx(old, _BASIC, ctypes.byref(basic), size):
            raise ctypes.WinError(ctypes.get_last_error())
        if basic.attributes & _ENCRYPTED or _n_streams(old) > 1:
            return False
        given = facts.BasicFacts(
            created=basic.created, attributes=basic.attributes & _COPIED or 0x80
        )
        return bool(_kernel.SetFileInformationByHandle(new, _BASIC, ctypes.byref(given), size))

    def _n_streams(handle: int) -> int:
        room = ctypes.create_string_buffer(_BUFFER_B)
        get = _kernel.GetFileInformationByHandleEx
        if not get(handle, _STREAMS, room, _BUFFER_B):
            too_many = ctypes.get_last_error() == _MORE_DATA
            return 2 if too_many else 1  # the disk supports no streams
        number, at = 1, 0
        while following := struct.unpack_from("<I", room, at)[0]:
            number, at = number + 1, at + following
        return number

    def final_path(descriptor: int) -> str:
        """Return the path of an open file, without the prefix for long paths."""
        return facts.plain_path(_final_path(msvcrt.get_osfhandle(descriptor)))

    def check_beneath(descriptor: int, root: int, parts: Sequence[str]) -> None:
        """Check that an open file has the requested path below the open folder ``root``.

        Raises:
            OSError: ELOOP if a link or a short name led to another file.
        """
        top, found = (_final_path(msvcrt.get_osfhandle(one)) for one in (root, descriptor))
        wanted = "\\".join((top.rstrip("\\"), *(part for part in parts if part != ".")))
        if os.path.normcase(found.rstrip("\\")) != os.path.normcase(wanted):
            raise OSError(errno.ELOOP, facts.LINK_WORDS, "/".join(parts))

    class _Entries:
        """The entries of a folder, like those of ``os.scandir``; also a context manager."""

        def __init__(self, handle: int, path: str, *, is_ours: bool) -> None:
            self._handle = handle
            self._is_ours = is_ours
            self._path = path
            self._volume = _facts(handle).st_dev
            self._found = self._read()

        def __enter__(self) -> Iterator[facts.WindowsEntry]:
            return self._found

        def __exit__(self, *_: object) -> None:
            if self._is_ours:
                self._is_ours = False
                _kernel.CloseHandle(self._handle)

        def _read(self) -> Iterator[facts.WindowsEntry]:
            buffer = ctypes.create_string_buffer(_BUFFER_B)
            which = _ENTRIES_AGAIN
            get = _kernel.GetFileInformationByHandleEx
            while get(self._handle, which, buffer, _BUFFER_B):
                which = _ENTRIES
                yield from facts.entries_in(buffer.raw, self._path, self._volume)
            error = ctypes.get_last_error()
            if error not in {18, 2}:  # the folder has no more files, or no files
                raise ctypes.WinError(error)

    def scan(path: Name | int) -> _Entries:
        """List a folder like ``os.scandir``, by path or descriptor, with times of change.

        A file with several hard links may show an outdated size.
        """
        if isinstance(path, int):
            return _Entries(msvcrt.get_osfhandle(path), "", is_ours=False)
        access = _READ_DATA | _SYNCHRONIZE | _READ_FACTS
        handle = _opened(path, access, _OPEN, _IS_FOLDER | _SYNCHRONOUS, None, follows=True)
        return _Entries(handle, os.fspath(path), is_ours=True)

    @contextmanager
    def _held(
        path: Name,
        access: int,
        dir_fd: int | None,
        *,
        options: int = 0,
        follows: bool = False,
    ) -> Iterator[int]:
        options |= _SYNCHRONOUS if access & _SYNCHRONIZE else 0
        flags = options | (0 if follows else _LINK_ITSELF)
        handle = _create(path, access, _OPEN, flags, dir_fd)
        try:
            yield handle
        finally:
            _kernel.CloseHandle(handle)

    def _opened(
        path: Name,
        access: int,
        how: int,
        options: int,
        dir_fd: int | None,
        *,
        follows: bool = False,
        is_private: bool = False,
    ) -> int:
        """Open or create a file; unless ``follows``, refuse links, but not cloud placeholders."""
        if how in {_CREATE, _OPEN_IF, _OVERWRITE_IF}:
            facts.check_new_name(PureWindowsPath(path).name)
        security = private_descriptor() if is_private else None
        if follows:
            return _create(path, access, how, options, dir_fd, security)
        # Overwrite an existing file only after a check that it is not a link.
        first = {_OVERWRITE: _OPEN, _OVERWRITE_IF: _OPEN_IF}.get(how, how)
        handle = _create(path, access, first, options | _LINK_ITSELF, dir_fd, security)
        again = None
        try:
            attributes, tag = _attributes_of(handle)
            _refuse_if(
                path, is_elsewhere=bool(attributes & facts.REPARSE and tag & facts.SURROGATE)
            )
            _refuse_if(path, is_elsewhere="~" in str(path) and _is_short(handle, path))
            if not attributes & facts.REPARSE and first == how:
                handle, again = 0, handle
            else:  # This reparse point, such as a cloud file, is no link, so its target is opened.
                again = _create(path, access, how, options, dir_fd, security)
                is_same = os.path.samestat(_facts(again), _facts(handle))
                _refuse_if(path, is_elsewhere=not is_same)
        except BaseException:
            if again is not None:
                _kernel.CloseHandle(again)
            raise
        finally:
            if handle:
                _kernel.CloseHandle(handle)
        return again

    def _refuse_if(path: Name, *, is_elsewhere: bool) -> None:
        if is_elsewhere:
            raise OSError(errno.ELOOP, facts.LINK_WORDS, str(path))

    def _create(  # noqa: PLR0917 - the arguments of the system's call
        path: Name,
        access: int,
        how: int,
        options: int,
        dir_fd: int | None,
        security: ctypes.Array[ctypes.c_char] | None = None,
    ) -> int:
        text = os.fspath(path)
        folder = None
        if dir_fd is None:
            text = facts.nt_path(text)
        else:
            folder = msvcrt.get_osfhandle(dir_fd)
            text = facts.one_name(text)
        raw = ctypes.create_string_buffer(text.encode("utf-16-le", "surrogatepass"))
        if len(raw) > _MOST_NAME_B:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), str(path))
        name = facts.UnicodeString(len(raw) - 1, len(raw) - 1, ctypes.addressof(raw))
        given = ctypes.addressof(security) if security is not None else None
        size = ctypes.sizeof(facts.ObjectAttributes)
        attributes = facts.ObjectAttributes(
            size, folder, ctypes.pointer(name), _ANY_CASE, given, None
        )
        handle, status = ctypes.c_void_p(), facts.StatusBlock()
        code = _nt.NtCreateFile(
            ctypes.byref(handle),
            ctypes.c_uint32(access),
            ctypes.byref(attributes),
            ctypes.byref(status),
            None,
            0x80,
            _SHARE_ALL,
            how,
            options,
            None,
            0,
        )
        _check(code, path)
        assert handle.value is not None
        return handle.value

    def _named(handle: int, dst: Name, dir_fd: int | None) -> None:
        facts.check_new_name(PureWindowsPath(dst).name)
        folder = 0
        text = os.fspath(dst)
        if dir_fd is None:
            text = facts.nt_path(text)
        else:
            folder, text = msvcrt.get_osfhandle(dir_fd), facts.one_name(text)
        raw = text.encode("utf-16-le", "surrogatepass")
        # Replace as POSIX does, even if a file is open or read-only.
        rest = struct.pack("<QI", folder, len(raw)) + raw + b"\0\0"
        status = _set(handle, _RENAME_EX, _bytes(struct.pack("<Q", 0x1 | 0x2 | 0x40) + rest))
        if status in _NO_SUCH_CLASS:
            with suppress(OSError), _held(dst, _READ_FACTS, dir_fd) as target:
                _set_read_only(target, is_read_only=False)
            status = _set(handle, _RENAME, _bytes(struct.pack("<Q", 1) + rest))
        _check(status, dst)

    def _bytes(data: bytes) -> ctypes.Array[ctypes.c_char]:
        return (ctypes.c_char * len(data)).from_buffer_copy(data)

    def _set(handle: int, which: int, value: ctypes._CData) -> int:
        done = facts.StatusBlock()
        size = ctypes.sizeof(value)
        call = _nt.NtSetInformationFile
        code = call(ctypes.c_void_p(handle), ctypes.byref(done), ctypes.byref(value), size, which)
        return int(code) & 0xFFFFFFFF

    def _check(code: int, path: Name) -> None:
        code &= 0xFFFFFFFF
        if code < _FAILED:
            return
        known = facts.ERRNOS.get(code)
        if known is not None:
            words = facts.LINK_WORDS if known == errno.ELOOP else os.strerror(known)
            raise OSError(known, words, str(path))
        error = _nt.RtlNtStatusToDosError(code)
        raise OSError(None, ctypes.FormatError(error).rstrip(". "), str(path), error)

    def _attributes_of(handle: int) -> tuple[int, int]:
        found = (ctypes.c_uint32 * 2)()
        if not _kernel.GetFileInformationByHandleEx(handle, _TAG, found, ctypes.sizeof(found)):
            raise ctypes.WinError(ctypes.get_last_error())
        return found[0], found[1]

    def _is_short(handle: int, path: Name) -> bool:
        """Return whether a name is a short name (``GIT~1``), because rules know the long name."""
        asked, real = (PureWindowsPath(one).name for one in (path, _final_path(handle)))
        return os.path.normcase(asked) != os.path.normcase(real)

    def _final_path(handle: int) -> str:
        room = ctypes.create_unicode_buffer(1 << 15)
        if not _kernel.GetFinalPathNameByHandleW(handle, room, len(room), 0):
            raise ctypes.WinError(ctypes.get_last_error())
        return room.value

    def _facts(handle: int) -> os.stat_result:
        found, basic = facts.HandleFacts(), facts.BasicFacts()
        if not _kernel.GetFileInformationByHandle(handle, ctypes.byref(found)):
            raise ctypes.WinError(ctypes.get_last_error())
        size = ctypes.sizeof(basic)
        if not _kernel.GetFileInformationByHandleEx(handle, _BASIC, ctypes.byref(basic), size):
            raise ctypes.WinError(ctypes.get_last_error())
        tag = _attributes_of(handle)[1] if found.attributes & facts.REPARSE else 0
        return facts.stat_result(
            facts.StatFacts(
                found.attributes,
                tag,
                found.index_high << 32 | found.index_low,
                found.volume,
                found.n_links,
                found.size_high << 32 | found.size_low,
                basic.read,
                basic.written,
                basic.changed or basic.written,
            )
        )

    def _set_read_only(handle: int, *, is_read_only: bool) -> None:
        basic = facts.BasicFacts()
        size = ctypes.sizeof(basic)
        if not _kernel.GetFileInformationByHandleEx(handle, _BASIC, ctypes.byref(basic), size):
            raise ctypes.WinError(ctypes.get_last_error())
        if bool(basic.attributes & facts.READ_ONLY) == is_read_only:
            return
        other = _kernel.ReOpenFile(handle, _READ_FACTS | _WRITE_FACTS, _SHARE_ALL, 0)
        if other in {None, ctypes.c_void_p(-1).value}:
            raise ctypes.WinError(ctypes.get_last_error())
        try:
            attributes = basic.attributes & ~facts.READ_ONLY | (
                facts.READ_ONLY if is_read_only else 0
            )
            new = facts.BasicFacts(attributes=attributes or 0x80)
            if not _kernel.SetFileInformationByHandle(other, _BASIC, ctypes.byref(new), size):
                raise ctypes.WinError(ctypes.get_last_error())
        finally:
            _kernel.CloseHandle(other)

    @functools.cache
    def user_sid() -> str:
        """Return the user's security identifier."""
        import win32api  # noqa: PLC0415 - 10 ms, and rarely needed
        import win32security as api  # noqa: PLC0415 - as above

        token = api.OpenProcessToken(win32api.GetCurrentProcess(), api.TOKEN_QUERY)
        return str(api.ConvertSidToStringSid(api.GetTokenInformation(token, api.TokenUser)[0]))

    @functools.cache
    def private_descriptor() -> ctypes.Array[ctypes.c_char]:
        """Return the access list of private files: only the user and SYSTEM have access."""
        import win32security as api  # noqa: PLC0415 - as above

        text = f"D:P(A;OICI;FA;;;{user_sid()})(A;OICI;FA;;;SY)"
        made = api.ConvertStringSecurityDescriptorToSecurityDescriptor(text, api.SDDL_REVISION_1)
        return _bytes(bytes(cast("bytes", made)))  # pywin32's types do not declare the buffer
