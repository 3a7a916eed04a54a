"""Four sessions run 100 calls each at once; every permission stays in its own session."""

from __future__ import annotations

import re
from collections import Counter

from indwell.agent.permission.permit import MOST_REFUSED
from indwell.service.turns.turns import MOST_AT_ONCE
from support.editing import bash, results
from support.loopback_endpoint import say
from support.turns_at_once import a_desk

CALLS = 100
# A deleting command needs a question, with and without a sandbox.
# The calls alternate, because a turn that repeats one call is stopped.
SHARED = ("rm -f gone; echo ran", "rm -f lost; echo ran")
ANSWERS = {"yes": "Once", "no": "No", "standing": "This session", "by turns": ""}


async def test_no_permission_of_four_parallel_turns_reaches_another_session(tmp_path) -> None:
    assert len(ANSWERS) == MOST_AT_ONCE
    asked: Counter[str] = Counter()

    def choose(message: str, _titles: object) -> str:
        found = re.match(r"In the session “Do <(.+?)>\.”: ", message)
        word = found[1] if found else "yes"  # questions of the current session have no prefix
        asked[word] += 1
        return ANSWERS[word] or ("Once" if asked[word] % 3 else "No")

    async with a_desk(tmp_path) as desk:
        desk.editor.answers.choose = choose
        sessions = {word: await desk.older(word) for word in ANSWERS if word != "yes"}
        for word in ANSWERS:
            desk.scripts.play(
                word, *(bash(SHARED[number % 2]) for number in range(CALLS)), say(f"{word} ends.")
            )
        turns = {"yes": desk.prompt("yes", "new")}
        await desk.asked("yes")
        turns |= {word: desk.prompt(word, session) for word, session in sessions.items()}
        for word, turn in turns.items():
            assert (await turn).answer == f"{word} ends."
        ran = {
            word: [one.startswith("ran") for one in results(desk.scripts.seen[word][-1])[-CALLS:]]
            for word in ANSWERS
        }
    assert asked == {"yes": CALLS, "no": MOST_REFUSED, "standing": len(SHARED), "by turns": CALLS}
    assert ran == {
        "yes": [True] * CALLS,
        "no": [False] * CALLS,
        "standing": [True] * CALLS,
        "by turns": [number % 3 != 0 for number in range(1, CALLS + 1)],
    }
