"""A hard link to a file with a denied name is not sent, either."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from lsprotocol.types import Position, Range

from indwell.cli.run.command import WrongPlace, selection_of
from indwell.lsp.prompts.attention import Attention
from indwell.lsp.wire import sync
from indwell.lsp.workspace.documents import Documents
from indwell.service.mentions import attachments, mention_of
from indwell.settings.model import Settings
from indwell.workspace.disk import DiskWorkspace
from support.platforms import posix_only
from support.secrets_of import names_in

SETTINGS = Settings()
ALL = Range(Position(0, 0), Position(1, 0))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder with a secret and a plain file, each with a hard link elsewhere in it."""
    for name, other in ((".env", "docs/hard.txt"), ("lib/index.js", "store/index.js")):
        for path in (tmp_path / name, tmp_path / other):
            path.parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"KEY=swordfish\n")
        (tmp_path / other).hardlink_to(tmp_path / name)
    (tmp_path / "soft.txt").symlink_to("docs/hard.txt")
    return tmp_path


@posix_only("symlinks")
async def test_rules_apply_to_a_selection_under_every_name_of_its_file(root: Path) -> None:
    documents = Documents()
    attention = Attention(documents, lambda: 0.0, lambda document: document.uri, names_in(root))

    async def goes_along(name: str, settings: Settings = SETTINGS) -> tuple[bool, bool]:
        uri = (root / name).as_uri()
        documents.open(
            sync.OpenedDocument(uri=uri, language_id="t", version=1, text="KEY=swordfish\n")
        )
        attention.focus(uri)
        attention.select(uri, 1, [ALL])
        before = attention.selection(settings) is not None
        await attention.look(settings)
        assert (attention.opened(settings) is None) == (attention.selection(settings) is None)
        return before, attention.selection(settings) is not None

    assert await goes_along("docs/hard.txt") == (False, False)
    assert await goes_along("soft.txt") == (False, False)
    assert await goes_along("store/index.js") == (False, True)  # not before the check of hard links
    assert await goes_along("store/index.js") == (True, True)
    own = msgspec.structs.replace(SETTINGS, deny=(*SETTINGS.deny, "lib/**"))
    assert await goes_along("store/index.js", own) == (False, False)
    (root / "store" / "more.txt").hardlink_to(root / "store" / "index.js")
    assert await goes_along("store/index.js") == (False, True), "it has another name since"
    (root / ".env").unlink()
    assert await goes_along("docs/hard.txt") == (True, True)


@posix_only("symlinks")
async def test_a_mention_of_a_secret_file_by_a_hard_link_is_refused(root: Path) -> None:
    workspace, names = DiskWorkspace([root]), names_in(root)
    wanted = [mention_of(one) for one in ("docs/hard.txt", "soft.txt", "store/index.js")]
    found = await attachments(workspace, SETTINGS, wanted, names)
    why = (
        "it is another name (a hard link) of '.env', which a rule of your settings (`deny`) keeps "
        "from the model"
    )
    assert [one.path for one in found.files] == ["store/index.js"]
    assert found.problems == (
        f"@docs/hard.txt is not attached: {why}",
        f"@soft.txt is not attached: {why}",
    )
    with pytest.raises(WrongPlace, match=r"another name \(a hard link\) of '.env'"):
        await selection_of("docs/hard.txt", workspace, SETTINGS)
    assert (await selection_of("store/index.js", workspace, SETTINGS)).text == "KEY=swordfish\n"
