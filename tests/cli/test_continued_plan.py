"""A stopped turn that carried out a plan continues with the same command."""

from __future__ import annotations

from support.editing import USAGE, Home, texts_of
from support.loopback_endpoint import LoopbackEndpoint, say
from support.plan_asking import propose
from support.terminal import indwell

CARRYING = ("run", "--continue", "--approve-plan")


async def test_approving_an_approved_plan_again_continues_the_plan(tmp_path) -> None:
    home = Home(tmp_path)
    broken = say(calls=[("read_file", '{"path": "shop.py"}')], usage=USAGE)
    script = [propose(), *[broken] * 2, say("Well.", usage=USAGE)]
    async with LoopbackEndpoint(script) as endpoint:
        environment = home.environment(endpoint.base_url)

        async def typed(*arguments: str):
            return await indwell(*arguments, environment=environment, folder=home.workspace)

        await typed("run", "--mode", "plan", "mend it")
        cut = await typed(*CARRYING, "--max-rounds", "1")
        assert cut.code == 3, cut
        done = await typed(*CARRYING)
        assert done.code == 0
        said = texts_of(endpoint.seen[-1].body["messages"])
    assert said.endswith("Go on where you stopped.")
    assert "Take one off the total" in said
