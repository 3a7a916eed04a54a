"""Calling a skill of an untrusted folder is reported, and nothing is sent."""

from __future__ import annotations

from indwell.agent.features.skills.feature import SkillCatalogue
from indwell.agent.features.skills.folders import SkillFolders
from indwell.bounds.folder_trust import FolderTrust
from indwell.settings.model import Settings
from support.editing import USAGE, Home
from support.loopback_endpoint import LoopbackEndpoint, say
from support.terminal import indwell

SKILL = ".agents/skills/house/SKILL.md"
SAID = "the skill '/House' is this folder's, which you have not trusted with its present files"


async def test_the_terminal_reports_skills_of_an_untrusted_folder_and_sends_none(tmp_path) -> None:
    home = Home(tmp_path)
    home.write(SKILL, "# House\n\nSlowly.\n")
    home.trusted = ()
    async with LoopbackEndpoint([say("Done.", usage=USAGE)]) as endpoint:
        environment = home.environment(endpoint.base_url)
        ended = await indwell("run", "/House do it", environment=environment, folder=home.workspace)
        assert endpoint.seen == []
    assert ended.code == 1
    assert SAID in " ".join((ended.stdout + ended.stderr).split())


def test_a_skill_changed_after_the_folder_was_trusted_is_not_sent(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    home = Home(tmp_path)
    path = home.write(SKILL, "# House\n\nSlowly.\n")
    trust = FolderTrust({"INDWELL_STATE": str(tmp_path / "state")})
    (standing,) = trust.look([home.workspace], Settings())
    trust.answer(standing, trusted=True)
    trust.look([home.workspace], Settings())
    skill_catalogue = SkillCatalogue(SkillFolders([home.workspace], Settings, trust))
    skill_catalogue.look_now()
    assert skill_catalogue.not_trusted("/House do it") == ""
    path.write_bytes(b"# House\n\nFast.\n")
    skill_catalogue.look_now()
    assert skill_catalogue.not_trusted("/House do it").startswith(SAID)
    assert skill_catalogue.not_trusted("/homes do it") == ""
