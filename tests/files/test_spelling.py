r"""One table of path spellings for Linux, macOS and Windows, tested purely on each system."""

from __future__ import annotations

import posixpath

import msgspec
import pytest

from indwell.errors import ToolError
from indwell.files.spelling import (
    System,
    compared,
    exact_parts,
    folded,
    is_absolute,
    is_device,
    is_short_name,
    long_form,
    plain_path,
    quoted,
    relative,
    slashed,
    slashed_glob,
)
from indwell.policy.call_facts import Allow, Ask, CallFacts, Policy
from indwell.policy.commands.judge import judge
from indwell.policy.commands.path_rules import Situation
from indwell.policy.decide import decide
from indwell.policy.guarded_paths import is_bare, is_repository_sign, kind_of
from indwell.policy.paths import (
    could_be_beneath,
    is_chat,
    is_inside,
    is_protected,
    is_short_at_root,
    is_unknown,
    listed_matching_glob,
    loader_of,
    matches_any,
    matching_glob,
)
from indwell.policy.rules import PatternRules, covers_files, file_rule
from indwell.settings.credentials import SECRETS

SYSTEMS: tuple[System, ...] = ("linux", "darwin", "win32")

REFUSED = "refused"

MEANINGS: tuple[tuple[str, str, str], ...] = (
    # The columns are the written path, its meaning on Windows, and its meaning on Linux and macOS.
    ("a.py", "a.py", "a.py"),
    ("src/a.py", "src/a.py", "src/a.py"),
    (r"src\a.py", "src/a.py", r"src\a.py"),
    (r"src\sub/a.py", "src/sub/a.py", r"src\sub/a.py"),
    (r".\src\..\a.py", "./src/../a.py", r".\src\..\a.py"),
    ("C:/w/a.py", "C:/w/a.py", "C:/w/a.py"),
    ("c:/w/a.py", "C:/w/a.py", "c:/w/a.py"),
    (r"C:\w\a.py", "C:/w/a.py", r"C:\w\a.py"),
    (r"c:\w/a.py", "C:/w/a.py", r"c:\w/a.py"),
    (r"C:\\w\\a.py", "C://w//a.py", r"C:\\w\\a.py"),
    ("C:/", "C:/", "C:/"),
    ("C:a.py", REFUSED, "C:a.py"),
    ("c:", REFUSED, "c:"),
    (r"C:.git\config", REFUSED, r"C:.git\config"),
    (r"\work\a.py", "/work/a.py", r"\work\a.py"),
    ("/work/a.py", "/work/a.py", "/work/a.py"),
    ("/c/w/a.py", "C:/w/a.py", "/c/w/a.py"),
    ("/C/w/a.py", "C:/w/a.py", "/C/w/a.py"),
    ("/c", "C:/", "/c"),
    ("/c/", "C:/", "/c/"),
    ("/mnt/c/w/a.py", "C:/w/a.py", "/mnt/c/w/a.py"),
    ("/mnt/data/a.py", "/mnt/data/a.py", "/mnt/data/a.py"),
    ("/cygdrive/d/a.py", "D:/a.py", "/cygdrive/d/a.py"),
    ("/code/a.py", "/code/a.py", "/code/a.py"),
    (r"\\server\share\a.py", "//server/share/a.py", r"\\server\share\a.py"),
    ("//server/share/a.py", "//server/share/a.py", "//server/share/a.py"),
    (r"\\?\C:\w\a.py", "C:/w/a.py", r"\\?\C:\w\a.py"),
    (r"\\?\c:\w\a.py", "C:/w/a.py", r"\\?\c:\w\a.py"),
    ("//?/C:/w/a.py", "C:/w/a.py", "//?/C:/w/a.py"),
    (r"\\.\C:\w\a.py", "C:/w/a.py", r"\\.\C:\w\a.py"),
    (r"\\?\UNC\server\share\a.py", "//server/share/a.py", r"\\?\UNC\server\share\a.py"),
    (r"\\?\unc\server\share\a.py", "//server/share/a.py", r"\\?\unc\server\share\a.py"),
    (r"\\.\PhysicalDrive0", REFUSED, r"\\.\PhysicalDrive0"),
    (r"\\.\pipe\x", REFUSED, r"\\.\pipe\x"),
    (r"\\.\NUL", REFUSED, r"\\.\NUL"),
    (r"\\?\GLOBALROOT\Device\x", REFUSED, r"\\?\GLOBALROOT\Device\x"),
    (r"\\?\Volume{0}\x", REFUSED, r"\\?\Volume{0}\x"),
    (r"\\?\C:", REFUSED, r"\\?\C:"),
    (r"\\?\C:a.py", REFUSED, r"\\?\C:a.py"),
    (r"\??\C:\w\a.py", REFUSED, r"\??\C:\w\a.py"),
    ("//./COM1", REFUSED, "//./COM1"),
    ("file:///c%3A/w/a.py", "C:/w/a.py", "/c:/w/a.py"),
    ("file:///C:/w/a.py", "C:/w/a.py", "/C:/w/a.py"),
    ("file:///c%3a/w/a%20b.py", "C:/w/a b.py", "/c:/w/a b.py"),
    ("file:/C:/w/a.py", "C:/w/a.py", "/C:/w/a.py"),
    ("file://C:/w/a.py", "C:/w/a.py", REFUSED),
    ("file://localhost/C:/w/a.py", "C:/w/a.py", "/C:/w/a.py"),
    ("file:///c%3A/w/%E2%82%AC.py", "C:/w/\u20ac.py", "/c:/w/\u20ac.py"),
    ("file:///c%3A%5Cw%5Ca.py", "C:/w/a.py", r"/c:\w\a.py"),
    ("file://server/share/a.py", "//server/share/a.py", REFUSED),
    ("file:////server/share/a.py", "//server/share/a.py", "//server/share/a.py"),
    ("file:///%5C%5C.%5Cpipe%5Cx", REFUSED, r"/\\.\pipe\x"),
    ("file:///work/%2egit/config", "/work/.git/config", "/work/.git/config"),
    ("http://server/a.py", REFUSED, REFUSED),
    ("vscode-remote://wsl/a.py", REFUSED, REFUSED),
    ("file://[/a.py", REFUSED, REFUSED),
    ("a.py.", "a.py", "a.py."),
    ("a.py ", "a.py", "a.py "),
    ("a.py. . ", "a.py", "a.py. . "),
    ("src./a.py", "src/a.py", "src./a.py"),
    (r".git \config", ".git/config", r".git \config"),
    ("...", REFUSED, "..."),
    (". .", REFUSED, ". ."),
    (".. /x", REFUSED, ".. /x"),
    ("a.py:zone", REFUSED, "a.py:zone"),
    ("a.py::$DATA", REFUSED, "a.py::$DATA"),
    ("src::$INDEX_ALLOCATION/a.py", REFUSED, "src::$INDEX_ALLOCATION/a.py"),
    (".env:x", REFUSED, ".env:x"),
    ("C:/w/a.py:zone", REFUSED, "C:/w/a.py:zone"),
    ("a\ud800.py", REFUSED, "a\ud800.py"),
    ("con", REFUSED, "con"),
    ("CON", REFUSED, "CON"),
    ("src/nul", REFUSED, "src/nul"),
    ("nul.txt", REFUSED, "nul.txt"),
    ("NUL .txt", REFUSED, "NUL .txt"),
    ("aux.c", REFUSED, "aux.c"),
    ("aux/x.c", REFUSED, "aux/x.c"),
    ("prn.tar.gz", REFUSED, "prn.tar.gz"),
    ("com1", REFUSED, "com1"),
    ("LPT9.log", REFUSED, "LPT9.log"),
    ("COM\u00b9", REFUSED, "COM\u00b9"),
    ("lpt\u00b3.txt", REFUSED, "lpt\u00b3.txt"),
    ("CONIN$", REFUSED, "CONIN$"),
    ("conout$", REFUSED, "conout$"),
    ("com10", "com10", "com10"),
    ("console.py", "console.py", "console.py"),
    ("null.txt", "null.txt", "null.txt"),
    ("a?.py", REFUSED, "a?.py"),
    ("a*.py", REFUSED, "a*.py"),
    ("a<b", REFUSED, "a<b"),
    ('a"b', REFUSED, 'a"b'),
    ("a|b", REFUSED, "a|b"),
    ("a\tb", REFUSED, "a\tb"),
    ("a\nb", REFUSED, "a\nb"),
    ("caf\u00e9.py", "caf\u00e9.py", "caf\u00e9.py"),
    ("cafe\u0301.py", "cafe\u0301.py", "cafe\u0301.py"),
    ("GIT~1/x", "GIT~1/x", "GIT~1/x"),
)  # fmt: skip


def meaning(written: str, system: System) -> str:
    try:
        return plain_path(written, system)
    except ToolError:
        return REFUSED


@pytest.mark.parametrize("system", SYSTEMS)
def test_each_spelling_has_one_meaning_on_each_system(system: System) -> None:
    at = 1 if system == "win32" else 2
    wrong = {
        one[0]: (found, one[at])
        for one in MEANINGS
        if (found := meaning(one[0], system)) != one[at]
    }
    assert wrong == {}
    assert len(MEANINGS) >= 95


def test_normalising_a_normalised_path_changes_nothing() -> None:
    for system in SYSTEMS:
        found = {one for row in MEANINGS if (one := meaning(row[0], system)) != REFUSED}
        assert {one for one in found if "://" not in one and meaning(one, system) != one} == set()


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (
            "C:a.py",
            (
                "'C:a.py' depends on the current folder of drive C:; write C:/… or a path from "
                "the workspace"
            ),
        ),
        (r"x\a.py:zone", "'x/a.py:zone' names a stream of 'a.py'; name the file itself"),
        (r"x\nul.txt", "'x/nul.txt' holds 'nul.txt', which is not a name of a file on Windows"),
        ("a?b", "'a?b' holds '?', which no name on Windows can hold"),
        (r"\\.\pipe\x", "'//./pipe/x' names a device, not a file; write a path"),
        ("http://x/y", "'http://x/y' is not a file of this machine; write a path"),
    ],
)
def test_a_refused_path_error_suggests_a_valid_form(written: str, words: str) -> None:
    with pytest.raises(ToolError) as caught:
        plain_path(written, "win32")
    assert str(caught.value) == words


# Names -----------------------------------------------------------------------------------------

ANYWHERE = {
    ".git/config": (
        ".GIT/config", ".Git\\Config", ".git./config", ".git /config", ".git. . /config ",
        ".git::$INDEX_ALLOCATION/config", ".git:$I30:$INDEX_ALLOCATION/config",
        ".git/config::$DATA",
        "C:.git/config", "C:.git\\config", "c:/w/.git/config", "\\\\?\\C:\\w\\.git\\config",
        "/mnt/c/w/.git/config", "//server/share/.git/config", "GIT~1/config", "git~2\\CONFIG",
        "GIT~1./config", "GIT~1::$INDEX_ALLOCATION\\config", "GI7EBA~1/config", "gi7eba~1\\hooks",
        ".g\u200cit/config", ".gi\ufefft/config", ".g\u202eit/config", "\u200b.git/config",
        ".g\u0131t/config", ".G\u0130T/config", ".git\u206a/config", "./.git//./config",
        "sub/.GiT/hooks/x", "C:GIT~1\\config", ".git/CONFIG~1", "GIT~1/CONFIG~1",
    ),
    "package.json": (
        "PACKAGE.JSON", "Package.Json", "package.json.", "package.json ", "package.json. .",
        "package.json::$DATA", "package.json:stream", "package.json:a:$DATA", "C:package.json",
        "web\\package.json", "PACKAG~1.JSO", "packag~2.jso", "PACKAG~1.JSO::$DATA",
        "PA1234~1.JSO", "pac\u212aage.json", "pac\u200dkage.json", "package.j\u017fon",
        "\\\\server\\share\\package.json", "file:///c%3A/w/package.json", "C:\\w\\PACKAG~1.JSO",
    ),
    "AGENTS.md": (
        "agents.md", "AGENTS.MD", "AGENTS~1.MD", "AGENTS.MD::$DATA", "AGENTS.md:x",
        "sub/AGENTS.md. ", "AGENT\u017f.md", "C:AGENTS.md",
    ),
    ".vscode/tasks.json": (
        ".VSCODE/x", "VSCODE~1/tasks.json", ".vscode::$INDEX_ALLOCATION/x", "C:.vscode/x",
        ".v\u017fcode/x",
    ),
    ".husky/pre-push": ("HUSKY~1/pre-push", ".HUSKY./x", ".hus\u212ay/x"),
    ".github/workflows/x.yml": (
        "GITHUB~1/WORKFL~1/x.yml", ".github::$INDEX_ALLOCATION/workflows/x",
    ),
    "my.code-workspace": ("MY5D2A~1.COD", "my.code-workspace:x", "MYCODE~1.COD"),
}  # fmt: skip
"""By protected name, what opens it on Windows, on macOS, or on one of their disks elsewhere."""

HIDDEN = {
    ".env": (
        ".ENV", ".env.", ".env ", ".env:x", ".env::$DATA", ".env::$data", "C:.env", "ENV~1",
        "env~1", "ENV~1.", "ENV~1:x", "EN12AB~1", "\\\\?\\C:\\w\\.env", "sub\\.env", ".e\u200cnv",
        ".env\ufe0f", "file:///c%3A/w/.env", "/c/w/ENV~1", "ENV~1.LOC", ".env.local:x",
    ),
    ".ssh/id_rsa": (
        ".SSH/ID_RSA", "SSH~1/ID_RSA", "SSH~1\\x", "ssh~1/known_hosts", ".ssh::$INDEX_ALLOCATION/x",
        "C:.ssh\\id_rsa", "ID_RSA~1.PUB", "id_rsa:x", "id_rsa::$DATA", "id_r\u017fa", ".\u017fsh/x",
        "C:/Users/me/SSH~1/config", "//server/home/.ssh/x", "id_rsa.", ".ssh /x", ".ssh./x",
    ),
    "server.pem": ("SERVER.PEM", "server.pem::$DATA", "SERVER~1.PEM", "s.pem. "),
    "credentials.json": ("CREDEN~1.JSO", "credentials.json:x", "CRED1F~1.JSO", "credential\u017f"),
    ".aws/credentials": ("AWS~1/x", ".aws:$I30:$INDEX_ALLOCATION/x", ".AWS\\config"),
    "prod.tfstate": ("PRODTF~1.TFS", "PROD~1.TFS", "prod.tfstate:x"),
    ".kube/config": ("KUBE~1/config", ".kube/config::$DATA", ".\u212aube/config"),
}  # fmt: skip

INNOCENT = (
    "RUNNER~1", "C:/Users/RUNNER~1/AppData/Local/Temp/x.py", "PROGRA~1/x.py", "DOCUME~1/a.txt",
    "READ~1.TXT", "ADMINI~1", "backup~1", "main.py~", "main.py~1~", "a.py:12", "a.py:zone",
    "foo~bar", "~1", "x~", "APPDAT~1", "test~1.py", "MAKEFI~1.BAK", "notes.txt::$DATA", "C:a.py",
    "D:/w/a.py", "src/git/config", "environment~1.py",
)  # fmt: skip


def test_a_protected_name_is_protected_in_every_spelling() -> None:
    n_spellings = sum(map(len, ANYWHERE.values()))
    assert n_spellings >= 70
    assert [name for name in ANYWHERE if not is_protected(name)] == []
    assert [one for ones in ANYWHERE.values() for one in ones if not is_protected(one)] == []
    assert [one for one in INNOCENT if is_protected(one)] == []


def test_a_secret_name_is_secret_in_every_spelling() -> None:
    assert [name for name in HIDDEN if not matches_any(name, SECRETS)] == []
    assert [one for ones in HIDDEN.values() for one in ones if not matches_any(one, SECRETS)] == []
    assert [one for one in INNOCENT if matches_any(one, SECRETS)] == []


def test_files_excluded_from_the_secret_patterns_stay_readable() -> None:
    excluded = (".env.example", ".ENV.EXAMPLE", ".env.sample.", "sub\\.env.template")
    assert [one for one in excluded if matches_any(one, SECRETS)] == []
    # An 8.3 name that could mean this file could also mean a secret file.
    assert matching_glob("ENV~1.EXA", SECRETS) == ".env.*"


def test_a_users_own_globs_hold_in_every_spelling() -> None:
    globs = ("private/**", "*.sec[rv]et", "/keys/*.asc", "Notizb\u00fccher/**")
    hit = (
        "PRIVAT~1/a", "private::$INDEX_ALLOCATION/a", "C:private/a", "a.secret:x", "MY1234~1.SEC",
        "KEYS/a.asc::$DATA", "keys\\a.ASC", "NOTIZB~1/x", "notizbu\u0308cher/x",
    )  # fmt: skip
    assert [one for one in hit if not matches_any(one, globs)] == []
    assert [
        one for one in ("public~1/a", "PUBLIC~1", "x/keys.asc") if matches_any(one, globs)
    ] == []


def test_an_allow_rule_applies_only_to_the_plain_spelling() -> None:
    allow = ("edit: docs/**", "edit: package.json")
    assert covers_files("edit", ("docs/a.md",), allow) == "edit: docs/**"
    assert covers_files("edit", ("DOCS/a.md",), allow) == "edit: docs/**"
    for other in ("DOCS~1/a.md", "C:docs/a.md", "docs:x/a.md", "PACKAG~1.JSO", "package.json:x"):
        assert covers_files("edit", (other,), allow) == "", other
        deny = ("edit: docs/**", "edit: package.json")
        assert file_rule("edit", (other,), deny) in deny, other


def test_a_name_that_a_disk_lists_is_not_read_as_the_short_form_of_another_name() -> None:
    assert listed_matching_glob("ENV~1", SECRETS) == ""
    assert listed_matching_glob(".ENV", SECRETS) == ".env"


def test_too_many_short_names_in_one_path_count_as_protected() -> None:
    assert is_protected("/".join(["EN1234~1"] * 40))
    assert matches_any("/".join(["EN1234~1"] * 40), SECRETS)


def test_a_chat_file_is_recognised_in_every_spelling_of_its_name() -> None:
    assert [is_chat(one) for one in ("a.chat.md", "A.CHAT.MD. ", "a.chat.md:x", "a.md")] == [
        True, True, True, False,
    ]  # fmt: skip


def test_an_unknown_dot_name_is_recognised_in_every_spelling() -> None:
    names = (".foo", ".FOO::$DATA", ".foo. ", ".gitignore", "foo~1")
    assert [is_unknown(one) for one in names] == [True, True, True, False, False]


@pytest.mark.parametrize(
    ("path", "is_short"),
    [
        *((one, True) for one in ("ACME~1", "acme~1/config", "ACMELO~1.JSO", "AC7EBA~1", "./X~1")),
        *((one, False) for one in ("notes~", "src/ACME~1", "a~longer", "~1", "/ACME~1", "acme")),
    ],
)
def test_an_8_3_name_at_the_root_may_mean_an_unknown_dot_name(path: str, *, is_short: bool) -> None:
    assert is_short_at_root(path) == is_short
    assert not is_short_at_root(path, ("acme~1", "acmelo~1.jso", "ac7eba~1", "x~1"))


def test_a_change_beneath_an_unresolved_8_3_name_needs_a_question() -> None:
    policy = Policy("auto", roots=("C:/work",))
    asked = CallFacts("write_file", "edit", paths=("ACME~1/config",))
    # The disk has resolved the name, or the system is not Windows.
    assert isinstance(decide(asked, policy), Allow)
    decision = decide(msgspec.structs.replace(asked, unknown=("ACME~1",)), policy)
    assert isinstance(decision, Ask)
    assert "'ACME~1/config' has the form of a short name of Windows" in decision.reason
    allowing = PatternRules(allow=("cp *",)).for_commands
    for system, folder in (("win32", "C:/work"), ("linux", "/work")):
        here = Situation(cwd=folder, roots=(folder,), rules=allowing, system=system)
        rule = "protected" if system == "win32" else "allow: cp *"
        assert judge("cp a ACME~1/config", here).rule == rule
        assert judge("cp a acme/config", here).rule == "allow: cp *"


def test_a_bare_repository_is_known_by_its_head_as_the_disk_compares_names() -> None:
    assert [is_bare("HEAD", folds=one) for one in (False, True)] == [True, True]
    assert [is_bare("head", folds=one) for one in (False, True)] == [False, True]
    assert [is_repository_sign("Head", folds=one) for one in (False, True)] == [False, True]
    assert kind_of((), folds=True)("bare/head") == "protected"
    assert kind_of((), folds=False)("bare/head") == ""


def test_a_windows_short_name_is_matched_to_its_package_loader() -> None:
    assert loader_of("PACKAG~1.JSO") == loader_of("package.json") == "npm"


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("git~1", True), ("agents~1.md", True), ("abcdef~12", False), ("abcde~12", True),
        ("a~1", True), ("foo~bar", False), ("foo~", False), ("g8y3jx~i", True), ("foo.py~1", False),
        ("abcdef~1.html", False), ("~1", False),
    ],
)  # fmt: skip
def test_a_short_name_is_recognised_by_its_form(name: str, *, is_one: bool) -> None:
    assert is_short_name(name) == is_one


def test_file_names_are_case_folded_by_the_rules_of_the_strictest_disk() -> None:
    assert folded("\u212aelvin \u017f \u0131 \u0130 stra\u00dfe") == "kelvin s i i strasse"
    assert folded("cafe\u0301") == folded("CAF\u00c9") == "caf\u00e9"
    ignorable = "".join(map(chr, (*range(0x200C, 0x2010), *range(0x202A, 0x202F))))
    ignorable += "".join(map(chr, (*range(0x206A, 0x2070), 0xFEFF)))
    assert folded(f".g{ignorable}it") == ".git"  # a character that HFS+ ignores


def test_devices_are_recognised_by_their_stems() -> None:
    names = ("nul", "NUL.tar.gz", "com\u00b2", "conin$", "clock$", "nul:x", "aux .c")
    assert [one for one in names if not is_device(one)] == []
    assert [one for one in ("null", "com", "com12", "xcon", "con_", "lpt") if is_device(one)] == []


# Roots -----------------------------------------------------------------------------------------

INSIDE = (
    r"C:\w\a.py", "C:/w/a.py", "c:/w/a.py", "c:\\W\\A.PY", r"\\?\C:\w\a.py", "/c/w/a.py",
    "/mnt/c/w/a", "C:/w", "c:\\W\\", "C:/w/./a", "C://w//a",
)  # fmt: skip
OUTSIDE = (
    r"C:\w2\a.py", "D:/w/a.py", "C:w/a.py", "/w/a.py", r"\\C\w\a.py", r"\\?\C:\x", "w/a.py", "C:/",
    "C:/w/.. /x", "C:/w/... /x", "c/w/a.py", r"\\server\share\w\a.py", "C:/\u212a/a", "/cc/w/a",
)  # fmt: skip


def test_a_root_holds_its_paths_in_every_spelling_on_windows() -> None:
    for root in (r"C:\w", "c:/W", "C:/w/", r"\\?\C:\w", "/c/w"):
        assert [one for one in INSIDE if not is_inside(one, (root,), "win32")] == [], root
        assert [one for one in OUTSIDE if is_inside(one, (root,), "win32")] == [], root


def test_a_windows_network_share_is_a_root_of_its_own() -> None:
    root = (r"\\server\share\w",)
    inside = ("//SERVER/share/W/a", r"\\?\UNC\server\share\w\a", r"\\server\share\w")
    assert [one for one in inside if not is_inside(one, root, "win32")] == []
    outside = ("/server/share/w/a", "server/share/w/a", "//server/share2/w/a", "//server/w/a")
    assert [one for one in outside if is_inside(one, root, "win32")] == []


def test_similar_letters_of_another_script_do_not_match_a_root() -> None:
    assert not is_inside("C:/wor\u212a/a", ("C:/work",), "win32")
    assert not is_inside("C:/stra\u00dfe/a", ("C:/strasse",), "win32")
    assert is_inside("C:/CAF\u00c9/a", ("C:/caf\u00e9",), "win32")


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_on_linux_a_root_is_compared_exactly(system: System) -> None:
    assert is_inside("/w/a", ("/w",), system)
    for other in ("/W/a", "\\w\\a", "/w2/a", "C:/w/a", "/mnt/w/a"):
        assert not is_inside(other, ("/w",), system), other
    assert exact_parts("/w//./a", system) == ("w", "a")


@pytest.mark.parametrize(
    ("path", "root", "shown"),
    [
        (r"C:\w\src\a.py", r"C:\w", "src/a.py"),
        (r"z:\W\Src\A.py", r"Z:\w", "Src/A.py"),
        (r"\\?\Z:\w\a.py", r"Z:\w", "a.py"),
        (r"C:\w", "C:/w/", "."),
        (r"C:\w2\a", r"C:\w", None),
        (r"\\s\h\w\a", r"\\S\h\w", "a"),
        ("C:/a", "C:/", "a"),
        ("C:/w/.. /a", "C:/w", None),
    ],
)
def test_a_path_is_shown_from_its_root_on_windows(path: str, root: str, shown: str | None) -> None:
    assert relative(path, root, "win32") == shown


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_a_path_is_shown_from_its_root_on_other_systems(system: System) -> None:
    assert relative("/w/a\\b", "/w", system) == "a\\b"
    assert relative("/w", "/w", system) == "."
    assert relative("/a", "/", system) == "a"
    assert relative("/W/a", "/w", system) is None


def test_a_restricted_folder_may_not_be_reached_by_a_short_name() -> None:
    folders = ("C:/w/untrusted folder",)
    reached = ("C:/w/UNTRUS~1/x", "c:\\W\\Untrusted Folder", "C:/w/untrusted folder:x/y")
    assert [one for one in reached if not could_be_beneath(one, folders)] == []
    assert [
        one for one in ("C:/w/TRUSTE~1", "C:/w/a:b", "C:/w") if could_be_beneath(one, folders)
    ] == []
    assert not could_be_beneath("C:/w/UNTRUS~1", ())


def test_a_path_has_one_form_for_the_rules_and_for_people() -> None:
    assert slashed(r"c:\Users\x", "win32") == "C:/Users/x"
    assert slashed(r"a\b", "linux") == r"a\b"
    assert quoted(r"C:\Users\x", "win32") == "'C:/Users/x'"
    assert quoted("a\nb", "win32") == r"'a\nb'"
    assert slashed_glob(r"src\**\*.py", "win32") == "src/**/*.py"
    assert slashed_glob(r"\[x]", "linux") == r"\[x]"
    assert compared(r"c:\W\.ENV", "win32") == compared("C:/w/.env", "win32")
    assert compared("/W/.ENV", "linux") == "/W/.ENV"


def test_an_absolute_path_is_recognised_by_the_rules_of_its_system() -> None:
    assert [is_absolute(one, "win32") for one in ("C:/x", "/x", "//s/h", "C:x", "x", "C:")] == [
        True, True, True, False, False, False,
    ]  # fmt: skip
    assert [is_absolute(one, "linux") for one in ("C:/x", "/x")] == [False, True]


def test_a_long_path_gets_a_form_that_exceeds_the_limit_of_windows() -> None:
    deep = "\\".join(["folder"] * 40)
    assert long_form(f"C:\\{deep}", "win32") == f"\\\\?\\C:\\{deep}"
    assert long_form(f"\\\\s\\h\\{deep}", "win32") == f"\\\\?\\UNC\\s\\h\\{deep}"
    assert long_form(f"\\\\?\\C:\\{deep}", "win32") == f"\\\\?\\C:\\{deep}"
    assert long_form("C:\\short", "win32") == "C:\\short"
    assert long_form(f"/{deep}", "linux") == f"/{deep}"


def test_a_plain_path_stays_below_its_folder_only_by_dots() -> None:
    for written, on_windows, _ in MEANINGS:
        if on_windows != REFUSED and not is_absolute(on_windows, "win32") and ".." not in written:
            assert not posixpath.normpath(on_windows).startswith(".."), written
