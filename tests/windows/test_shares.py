"""Tests that the server never opens a network share that a repository names."""

from __future__ import annotations

import pytest

from indwell.files.disk_names import OtherShare, leads_abroad, real_path_here
from indwell.workspace.git.repository import repository_of

SHARE = "//indwell-test.invalid/share"


def test_a_git_configuration_that_names_a_share_is_read_and_not_followed(tmp_path) -> None:
    git = tmp_path / ".git"
    for name in ("objects", "refs"):
        (git / name).mkdir(parents=True)
    (git / "HEAD").write_bytes(b"ref: refs/heads/main\n")
    settings = f"[core]\nhooksPath = {SHARE}/hooks\n[include]\npath = {SHARE}/config\n"
    (git / "config").write_text(settings, encoding="utf-8")
    repository = repository_of(tmp_path)
    assert repository is not None
    assert [one.path for one in repository.configurations] == [git / "config"]
    assert [one.name for one in repository.hooks] == ["hooks"]
    assert all(one.is_relative_to(tmp_path.resolve()) for one in repository.hooks)


def test_a_share_is_refused_unless_the_workspace_is_on_it(tmp_path) -> None:
    with pytest.raises(OtherShare, match="leads to the network share '//indwell-test.invalid/"):
        real_path_here(f"{SHARE}/x", (tmp_path,))
    assert leads_abroad(f"{SHARE}/x", (tmp_path,))
    assert not leads_abroad(f"{SHARE}/x", (type(tmp_path)(f"{SHARE}/work"),))
    assert not leads_abroad(tmp_path / "x", (tmp_path,))
