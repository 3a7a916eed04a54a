"""Decides which parts of the home folder a sandboxed command can read.

No list of paths with keys is complete, so the whole home folder is hidden, except for:
toolchains, package managers' data, the folders in PATH, the repository around the workspace, and
the paths in the user's own settings. All of these are read-only.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from indwell.errors import ToolError
from indwell.files.contents.reading import read_bytes
from indwell.files.watch.tree import names_in
from indwell.lazy_pattern import lazy_pattern

if sys.platform != "win32":
    import pwd

TOOLCHAINS = """
.cargo .rustup .nvm .fnm .volta .asdf .mise .nodenv .nodebrew .n .pyenv .rbenv .rubies .rvm .sdkman
.jenv .jabba .goenv .gvm .gimme .deno .bun .fvm .swiftly .zvm .ghcup .cabal .stack .opam .elan
.juliaup .julia .mix .kiex .kerl .dotnet .nimble .choosenim .pub-cache .elm .moon .proto .rye
.phpenv .plenv .crenv .luaver .luarocks .krew/bin .linuxbrew .nix-profile .local/state/nix/profiles
.poetry .pdm .hatch .pixi .rattler .virtualenvs .venvs .venv .envs .conda/envs .conda/pkgs
miniconda3 anaconda3 miniforge3 mambaforge micromamba miniconda anaconda perl5 R go sdk flutter
.composer/vendor .config/composer/vendor .gem .npm .npm-global .npm-packages .node-gyp .node_modules
.yarn/bin .yarn/global .config/yarn/global .pnpm .pnpm-store .m2/repository .m2/wrapper
.gradle/caches .gradle/wrapper .gradle/native .gradle/jdks .jdks .ivy2/cache .ivy2/local .sbt/boot
.sbt/launchers .coursier .konan .nuget/packages .bundle/cache .bundle/plugin .hex/packages
.terraform.d/plugins .terraform.d/plugin-cache .tfenv .local/bin .local/lib .local/lib64
.local/include .local/opt .local/pipx .local/venv .local/virtualenvs .local/share/uv
.local/share/mise .local/share/rtx .local/share/pipx .local/share/virtualenvs
.local/share/virtualenv .local/share/pnpm .local/share/fnm .local/share/nvm .local/share/hatch
.local/share/pypoetry .local/share/pdm .local/share/gem .local/share/cargo .local/share/rustup
.local/share/coursier .local/share/swiftly .local/share/bob .local/share/R .local/share/pixi
.local/share/go .local/share/man .local/share/fonts .fonts .local/share/zoneinfo
.local/share/aquaproj-aqua .local/share/NuGet/v3-cache .local/share/yarn .local/share/npm
.local/share/asdf .local/share/pyenv Android/Sdk Library/Android/sdk Library/Python Library/pnpm
Library/Caches/pip Library/Caches/uv Library/Caches/go-build Library/Caches/Homebrew Library/Java
.cache/pip .cache/uv .cache/pypoetry .cache/pipenv .cache/pre-commit .cache/prek .cache/hatch
.cache/pdm .cache/rye .cache/pixi .cache/rattler .cache/go-build .cache/golangci-lint .cache/bazel
.cache/bazelisk .cache/ms-playwright .cache/Cypress .cache/puppeteer .cache/electron
.cache/electron-builder .cache/node-gyp .cache/node .cache/yarn .cache/pnpm .cache/deno
.cache/esbuild .cache/turbo .cache/swc .cache/prisma .cache/typescript .cache/ccache .ccache
.cache/sccache .cache/zig .cache/nim .cache/dune .cache/coursier .cache/cabal .cache/composer
.cache/rebar3 .cache/torch .cache/huggingface/hub .cache/huggingface/datasets .cache/kagglehub
.cache/matplotlib .cache/fontconfig .cache/black .cache/pylint .cache/mypy .cache/ruff
.cache/selenium .cache/helm/repository .cache/trunk .cache/wasm-pack .cache/.wasm-pack .cache/gopls
.cache/staticcheck .cache/jdtls .cache/nix .cache/lima .cache/buf .cache/vcpkg .vcpkg .conan/data
.conan2/p .platformio/packages .platformio/platforms .espressif .arduino15/packages .config/go/env
.config/matplotlib .config/fontconfig .config/pycodestyle .config/flake8 .config/yamllint
.config/black .gitignore .gitignore_global .gitignore.global .gitattributes .gitmessage
.config/git/ignore .config/git/attributes .editorconfig .terminfo
"""
"""Visible paths of the home folder: compilers, interpreters, packages, caches of builds."""

_OPEN_PLACES = tuple(TOOLCHAINS.split())

CONFIGURATIONS = (
    *(".config/git/config", ".cargo/config.toml", ".cargo/config"),
    *(".config/mise/config.toml", ".config/pnpm/rc", ".m2/toolchains.xml", ".tool-versions"),
)
"""Files that commands may see if they contain no key; the same rule applies to `.gitconfig*`."""

KEYS_WITHIN = (
    *(".cargo/credentials", ".cargo/credentials.toml", ".local/share/cargo/credentials"),
    *(".local/share/cargo/credentials.toml", ".gem/credentials", ".npm/_logs", ".stack/upload"),
    *(".cabal/config", ".cabal/packages/upload", ".dotnet/corefx", ".julia/servers"),
    *(".julia/logs", ".pub-cache/credentials.json", ".luarocks/upload_config.lua"),
    *(".local/share/pypoetry/auth.toml", ".local/share/uv/credentials", ".pdm/config.toml"),
    *(".asdf/.credentials", ".moon/credentials", ".proto/credentials"),
    *(".mix/hex.config", ".elm/credentials", ".rye/credentials", ".nix-profile/credentials"),
    *(".deno/credentials", ".bun/install/credentials", ".poetry/auth.toml", ".conda/tokens"),
    *(".luarocks/upload_config", ".nimble/github_api_token", ".cache/pypoetry/auth.toml"),
)
"""Paths of keys, which stay hidden inside the visible folders."""

_KEYS = (*KEYS_WITHIN, *CONFIGURATIONS)

VARIABLES = (
    *("VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "GOPATH", "GOROOT", "GOMODCACHE", "GOCACHE"),
    *("CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "NVM_DIR", "NVM_BIN", "VOLTA_HOME", "PNPM_HOME"),
    *("DOTNET_ROOT", "ANDROID_HOME", "UV_CACHE_DIR"),
)
"""Environment variables that name folders of toolchains."""

_KEY = lazy_pattern(
    rb"(?i)token|passw|secret|api[-_]?key|authorization|extraheader|bearer|://[^/\s:@]*:[^/\s@]+@"
    rb"|://[^/\s@]{16,}@"
    rb"|BEGIN [A-Z ]*PRIVATE"
)
_MOST_B = 256 << 10
_SYSTEM = ("/", "/usr", "/bin", "/etc", "/var", "/opt", "/srv", "/home", "/nonexistent", "/dev")
_PREFIXED = frozenset(["bin", "sbin", "Scripts", "shims"])
_NO_PREFIX = frozenset([".local", ".config", ".cache", ".", "Documents", "Desktop", "Downloads"])
_PLAIN = frozenset(["snap", "Library"])  # folders of programs whose names begin without a dot


class HomeView(msgspec.Struct, frozen=True):
    """The hidden and visible parts of the home folder, as absolute paths without links.

    Attributes:
        hidden: Folders and files that commands do not see.
        shown: Paths within hidden folders that commands do see.
        environment: Variables for git, if git's configuration is hidden because it contains a key.
    """

    hidden: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}


def home_view(
    homes: Iterable[Path],
    roots: Sequence[Path],
    environment: Mapping[str, str],
    extra: Sequence[str] = (),
) -> HomeView:
    """Scan the home folders; blocks for a few milliseconds.

    Args:
        homes: The user's home folders; a folder of the system is skipped.
        roots: The workspace's folders, resolved.
        environment: The server's environment variables, such as PATH and those of toolchains.
        extra: Paths that the user's settings show: relative to the home folder, or absolute.
    """
    hidden: dict[str, None] = {}
    shown: dict[str, None] = {}
    told: dict[str, str] = {}
    for home in dict.fromkeys(one.resolve() for one in homes):
        if str(home) in _SYSTEM or not _is_folder(home):
            continue
        visible = [
            one
            for one in dict.fromkeys(_candidates(home, roots, environment, extra))
            if one.is_relative_to(home) and one != home and not _is_within(one, roots, home)
        ]
        visible = [one for one in visible if _is_there(one)]
        names = dict.fromkeys(map(str, visible))
        names |= dict.fromkeys(str(real) for one in visible if _is_apt(real := one.resolve(), home))
        is_project = any(home.is_relative_to(root) for root in roots)
        hidden |= dict.fromkeys(_dotted(home, names) if is_project else [str(home)])
        shown |= names
        hidden |= dict.fromkeys(_keys(home, names))
        told = told or _for_git(home)
    return HomeView(tuple(hidden), tuple(shown), told)


def homes() -> tuple[Path, ...]:
    """Return the user's home folders, as named by the environment and by the system."""
    found = [Path.home()]
    if sys.platform != "win32":
        with contextlib.suppress(KeyError):
            found.append(Path(pwd.getpwuid(os.getuid()).pw_dir))
    return tuple(dict.fromkeys(one.resolve() for one in found))


def is_private(path: Path, roots: Sequence[Path], homes: Iterable[Path]) -> bool:
    """Return whether a path belongs to programs, if the home folder itself is the project.

    All names that begin with a dot belong to programs, except toolchains and caches.
    """
    for home in homes:
        if not any(home.is_relative_to(root) for root in roots) or not path.is_relative_to(home):
            continue
        parts = path.relative_to(home).parts
        if not parts or not (parts[0].startswith(".") or parts[0] in _PLAIN) or parts[0] == ".git":
            continue
        inner = "/".join(parts)
        if not _is_in(inner, _OPEN_PLACES) or _is_in(inner, _KEYS):
            return True
    return False


def _is_in(path: str, folders: Iterable[str]) -> bool:
    return any(path == one or path.startswith(f"{one}/") for one in folders)


def _is_within(path: Path, roots: Sequence[Path], home: Path) -> bool:
    """Return whether the path is in the workspace, which is always visible."""
    return any(path.is_relative_to(one) for one in roots if not home.is_relative_to(one))


def _is_apt(real: Path, home: Path) -> bool:
    """Return whether the path may be shown; a link may only lead into the home folder."""
    return real.is_relative_to(home) and real != home


def _candidates(
    home: Path, roots: Sequence[Path], environment: Mapping[str, str], extra: Sequence[str]
) -> Iterator[Path]:
    # One listing is faster than checking each name, because most names are missing.
    there = frozenset(names_in(home))
    known = [one for one in (*_OPEN_PLACES, *CONFIGURATIONS) if one.partition("/")[0] in there]
    open_ones = (home / one for one in known)
    configurations = frozenset(home / one for one in CONFIGURATIONS)
    yield from (one for one in open_ones if one not in configurations or not _holds_key(one))
    ours = (home / one for one in there if one.startswith(".gitconfig"))
    yield from (one for one in ours if not _holds_key(one))
    for name in VARIABLES:
        yield from map(Path, filter(None, environment.get(name, "").split(os.pathsep)))
    yield from (Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[1])
    for entry in environment.get("PATH", os.defpath).split(os.pathsep):
        if Path(entry).is_absolute():
            yield from _of_path(Path(entry), home)
    for root in roots:
        yield from _repositories(root, home)
        yield from _base_of(root / ".venv")
        yield from _base_of(root / "venv")
    yield from (home / Path(one).expanduser() for one in extra)


def _of_path(entry: Path, home: Path) -> Iterator[Path]:
    """Return a folder of PATH, and the folder of the tool that contains it."""
    yield entry
    above = entry.parent
    is_tool = entry.name in _PREFIXED and above != home and above.name not in _NO_PREFIX
    if is_tool and any(_is_folder(above / one) for one in ("lib", "libexec", "share", "include")):
        yield above


def _base_of(environment: Path) -> Iterator[Path]:
    """Return the Python from which a virtual environment was created, if that is certain."""
    for line in _text(environment / "pyvenv.cfg").splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "home" and Path(value.strip()).is_absolute():
            prefix = Path(value.strip()).resolve().parent
            found = names_in(prefix / "lib")
            if any(
                one.startswith("python3") and _is_there(prefix / "lib" / one / "os.py")
                for one in found
            ):
                yield prefix


def _repositories(root: Path, home: Path) -> Iterator[Path]:
    """Return the repository around a workspace, and git's folder of a linked working tree."""
    for folder in (root, *root.parents):
        if folder == home or not folder.is_relative_to(home):
            return
        at = folder / ".git"
        if _is_there(at):
            yield folder
            yield from () if _is_folder(at) else _linked(at)


def _linked(file: Path) -> Iterator[Path]:
    """Return the target of a `.git` file, if the target is certainly a repository."""
    said, _, place = _text(file).strip().partition("gitdir:")
    if said or not place:
        return
    folder = Path(os.path.normpath(file.parent / place.strip()))
    common = Path(os.path.normpath(folder / _text(folder / "commondir").strip()))
    if all(_is_there(common / one) for one in ("HEAD", "objects", "refs")):
        yield common
        yield folder


def _dotted(home: Path, shown: Mapping[str, None]) -> Iterator[str]:
    """If the home folder is the project, return all dot names and the other known paths."""
    for name in sorted(names_in(home)):
        path = f"{home}/{name}"
        is_of_programs = (name.startswith(".") and name != ".git") or name in _PLAIN
        if is_of_programs and path not in shown:
            yield path


def _keys(home: Path, shown: Mapping[str, None]) -> Iterator[str]:
    for one in _KEYS:
        path = f"{home}/{one}"
        if path not in shown and any(path.startswith(f"{folder}/") for folder in shown):
            yield path


def _for_git(home: Path) -> dict[str, str]:
    """If the user's git configuration contains a key, return only the committer's identity."""
    at = home / ".gitconfig"
    if not _is_there(at) or not _holds_key(at):
        return {}
    found: dict[str, str] = {"GIT_CONFIG_GLOBAL": os.devnull}
    section = ""
    for line in _text(at).splitlines():
        if header := re.match(r"\s*\[([^\]]*)\]", line):
            section = header[1].strip().casefold()
        name, _, value = line.partition("=")
        who = {"name": "NAME", "email": "EMAIL"}.get(name.strip().casefold(), "")
        plain = value.strip().strip('"')
        if section == "user" and who and plain.isprintable():
            found |= {f"GIT_AUTHOR_{who}": plain, f"GIT_COMMITTER_{who}": plain}
    return found


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - that of pathlib fails on a closed folder above


def _is_there(path: Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110 - as above


def _text(path: Path) -> str:
    return (_bytes(path) or b"").decode("utf-8", "replace")


def _bytes(path: Path) -> bytes | None:
    """Return the bytes of a file of the user, through links, or None if unreadable."""
    try:
        return read_bytes(path.resolve(), (Path(path.anchor),), _MOST_B)
    except (OSError, ToolError):
        return None


def _holds_key(path: Path) -> bool:
    """Return whether the file contains a text that looks like a key, or is unreadable."""
    data = _bytes(path)
    return data is None or _KEY.search(data) is not None
