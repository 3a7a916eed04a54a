"""The doctor names the configuration that a Neovim needs, and detects an unusable one."""

from __future__ import annotations

import pytest

from indwell.cli.doctor.machine import EDITORS, finding_of
from indwell.cli.parser import EDITORS as KNOWN
from indwell.cli.setup.configurations import CONFIGURATIONS

NEOVIM = next(one for one in EDITORS if one.program == "nvim")
OLDER = "`indwell setup nvim-older"


@pytest.mark.parametrize(
    ("version", "name", "state", "fix"),
    [
        ("NVIM v0.9.5", "", "skipped", f"{OLDER}` says how"),
        ("NVIM v0.11.4", "", "skipped", "`indwell setup nvim` says how"),
        ("NVIM v0.10.4-dev+1", "nvim", "warn", f"{OLDER} --write` makes one"),
        ("NVIM v0.9.5", "nvim-older", "ok", ""),
        ("NVIM v0.12.0", "nvim", "ok", ""),
        ("its version is not known", "nvim", "ok", ""),
    ],
)
def test_an_older_neovim_gets_its_own_configuration(version, name, state, fix) -> None:
    ours = [CONFIGURATIONS[name].text().encode()] if name else []
    found = finding_of(NEOVIM, version, ours)
    assert found.state == state
    assert found.fix.startswith(fix)
    assert bool(found.fix) == bool(fix)
    assert not found.fix or found.fix.split("`")[1].split()[2] in KNOWN
