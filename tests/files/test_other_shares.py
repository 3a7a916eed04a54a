"""Windows links that lead to a network share of another host are never followed."""

from __future__ import annotations

import pytest

from indwell.files.disk_names import share_behind

LINKS = {
    "C:/work/out": r"\\evil\share\x",
    "C:/work/long": r"\\?\UNC\evil\share\x",
    "C:/work/native": r"\??\UNC\evil\share",
    "C:/work/slashes": "//Evil/Share",
    "C:/work/hidden": r"\\?\GLOBALROOT\Device\Mup\evil\share",
    "C:/work/host": r"\\evil",
    "C:/work/double": r"\\evil\\share",
    "C:/work/pipe": r"\\.\pipe\x",
    "C:/work/twice": "out",
    "C:/work/up": r"..\work\out",
    "C:/work/other": r"C:\other",
    "C:/other/out": r"\\evil\share",
    "C:/work/root": r"\work\out",
    "C:/work/near": r"src",
    "C:/work/drive": r"\\?\D:\data",
    "C:/work/volume": r"\\?\Volume{26a21bda-a627-11d7-9931-806e6f6e6963}\data",
    "C:/work/junction": r"\??\C:\other",
    "C:/work/loop": "loop",
    "//host/ws/own": r"\\HOST\WS\other",
    "//host/ws/root": r"\other",
    "//host/ws/out": r"\\evil\share",
    "//host/ws/beside": r"\\host\other\x",
}
EVIL = "//evil/share"


def target_of(path: str) -> str | None:
    assert not path.lower().startswith("//evil"), "nothing may look there"
    return LINKS.get(path)


@pytest.mark.parametrize(
    ("path", "share"),
    [
        *((f"C:\\work\\{name}", EVIL) for name in ("out", "long", "native", "slashes")),
        *((f"C:/work/{name}/file", EVIL) for name in ("out", "twice", "up", "root", "slashes")),
        ("C:/work/other/out/file", EVIL),
        ("C:/work/junction/out", EVIL),
        ("C:/work/near/../out", EVIL),
        ("C:/work/hidden/x", "//?/globalroot"),
        ("C:/work/pipe", "//./pipe"),
        ("C:/work/host", "//evil"),
        ("C:/work/double", EVIL),
        (r"\\evil\share\x", EVIL),
        (r"\\host\ws\out", EVIL),
        (r"\\host\ws\beside", "//host/other"),
        (r"\\?\C:\work\out", EVIL),
        *((f"C:/work/{name}/x", "") for name in ("near", "drive", "volume", "other", "loop")),
        ("C:/work/src/a.py", ""),
        ("C:/work/missing/../src", ""),
        (r"\\host\ws\own\x", ""),
        (r"\\host\ws\root\x", ""),
        ("C:/", ""),
    ],
)
def test_a_link_to_another_share_is_recognised_by_its_text(path: str, share: str) -> None:
    assert share_behind(path, (r"C:\work", r"\\host\ws\folder"), target_of) == share


def test_a_share_that_the_user_has_opened_may_be_a_target() -> None:
    assert share_behind("C:/work/out", (r"\\EVIL\share\folder",), LINKS.get) == ""
    assert share_behind("C:/work/out", (r"\\evil\another",), target_of) == EVIL
