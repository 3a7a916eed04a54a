"""Small and local models: calls written as text, and turns that report honestly how they ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.editing import EDIT, MENDED, READ, SOURCE, USAGE, Home
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen, chunk, say, stream
from support.model_server import answering, listed
from support.terminal import Ended, indwell

LOOK = json.dumps({"name": READ[0], "arguments": json.loads(READ[1])})
CALL = json.dumps({"name": EDIT[0], "arguments": json.loads(EDIT[1])}, indent=2)
STOP = chunk({}, finish="stop")
BEHIND_WORDS = f"I will mend the file.\n\n```json\n{CALL}\n```"


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def run(home: Home, endpoint: LoopbackEndpoint, *arguments: str) -> Ended:
    home.configure(f'model = "m"\nbase_url = "{endpoint.base_url}"\n')
    environment = home.environment()
    return await indwell(*arguments, environment=environment, folder=home.workspace)


@pytest.mark.parametrize("form", ["```json\n{}\n```", "<tool_call>{}</tool_call>"])
async def test_a_call_that_is_written_as_text_is_run_and_never_shown_as_text(home, form) -> None:
    said = (form.format(LOOK), form.format(CALL), "It is mended.")
    script = [say(one, usage=USAGE) for one in said]
    async with LoopbackEndpoint(script) as endpoint:
        ended = await run(home, endpoint, "run", "--mode", "auto", "--json", "mend it")
    assert ended.code == 0, ended
    assert home.shop.read_text(encoding="utf-8") == MENDED
    assert '"name"' not in "".join(one.get("text", "") for one in ended.events)
    notices = [one["message"] for one in ended.events if one["type"] == "notice"]
    told = "this model writes its tool calls as text; Indwell reads them from the text"
    assert notices.count(told) == 1
    sent = endpoint.seen[-1].body["messages"]
    assert [len(one.get("tool_calls", ())) for one in sent if one["role"] == "assistant"] == [1, 1]


async def test_a_written_call_after_other_text_is_requested_again_before_the_turn_fails(
    home,
) -> None:
    async with LoopbackEndpoint([say(BEHIND_WORDS, usage=USAGE)] * 2) as endpoint:
        ended = await run(home, endpoint, "run", "--mode", "auto", "mend it")
    assert ended.code == 1
    assert "wrote a tool call as text, twice in a row" in ended.stderr
    assert home.shop.read_text(encoding="utf-8") != MENDED
    assert "reply with the call and no other words" in str(endpoint.seen[1].body["messages"][-1])


async def test_the_turn_continues_if_the_model_then_makes_a_real_call(home) -> None:
    script = [say(one, usage=USAGE) for one in (LOOK, BEHIND_WORDS, CALL, "Done.")]
    async with LoopbackEndpoint(script) as endpoint:
        ended = await run(home, endpoint, "run", "--mode", "auto", "mend it")
    assert (ended.code, home.shop.read_text(encoding="utf-8")) == (0, MENDED), ended


@pytest.mark.parametrize(("form", "said"), [
    ("{}", "✓ m calls tools, as text, which is read"),
    ("I call it:\n{}", "! m writes tool calls as text, in a form that cannot be read"),
])  # fmt: skip
async def test_login_reports_how_a_model_calls_tools(home, form, said) -> None:
    def chat(seen: Seen) -> Answer:
        text = json.dumps({"name": "report", "arguments": {"word": "ready"}})
        return say(form.format(text) if seen.body.get("tools") else "Hello.", usage=USAGE)

    async with LoopbackEndpoint(answering(listed("m"), chat=chat)) as endpoint:
        ended = await indwell(
            "login", endpoint.base_url, environment=home.environment(), folder=home.workspace
        )
    assert said in ended.stdout.splitlines(), ended


async def test_a_reply_that_repeats_endlessly_is_cut_off_and_fails_the_turn(home) -> None:
    text = "I will read the file again. " * 2_000
    async with LoopbackEndpoint([say(text, usage=USAGE)] * 2) as endpoint:
        ended = await run(home, endpoint, "run", "mend it")
    assert ended.code == 1
    assert "repeats itself without end and was cut off there; ask to go on" in ended.stderr
    assert len(endpoint.seen) == 1


@pytest.mark.parametrize(("words", "mode", "is_said"), [
    ("Fix the total", "auto", True), ("please rename total", "review", True),
    ("The total is one too small. Fix it.", "auto", True),
    ("How would you fix the total?", "auto", False),
    ("What is wrong with the total?", "auto", False), ("Fix the total", "plan", False),
])  # fmt: skip
async def test_a_turn_asked_for_a_change_reports_if_no_file_was_changed(
    home, words, mode, is_said
) -> None:
    script = [say(calls=[READ], usage=USAGE), say("I have fixed it.", usage=USAGE)]
    async with LoopbackEndpoint(script) as endpoint:
        ended = await run(home, endpoint, "run", "--mode", mode, words)
    assert ended.code == 0, ended
    assert ("no file was changed" in ended.stderr) == is_said


async def test_a_turn_that_ran_a_command_does_not_report_no_file_was_changed(home) -> None:
    called = ("bash", json.dumps({"command": "ls"}))
    script = [say(calls=[called], usage=USAGE), say("Done.", usage=USAGE)]
    async with LoopbackEndpoint(script) as endpoint:
        ended = await run(home, endpoint, "run", "--allow-commands", "Fix the total")
    assert ended.code == 0, ended
    assert "no file was changed" not in ended.stderr


async def test_the_share_of_the_prompt_that_was_read_is_reported_before_the_reply(home) -> None:
    def read(n: int) -> dict[str, object]:
        return {"choices": [], "prompt_progress": {"total": 1_200, "cache": 200, "processed": n}}

    spoken = stream(*map(read, (200, 500, 900, 1_200)), chunk({"content": "Hello."}), STOP)
    async with LoopbackEndpoint([spoken, spoken]) as endpoint:
        shown = await run(home, endpoint, "run", "hello")
        environment = home.environment()
        told = await indwell(
            "run", "--json", "hello", environment=environment, folder=home.workspace
        )
    lines = [line for line in shown.stderr.splitlines() if "reading" in line]
    assert lines == ["reading the prompt, 30 %", "reading the prompt, 70 %"]
    shares = [one["share"] for one in told.events if one["type"] == "promptRead"]
    assert shares == [0, 0.3, 0.7, 1]


async def test_lines_included_in_the_prompt_can_be_edited_without_a_read(home) -> None:
    for file, is_edited in ((("--file", "shop.py:1-2"), True), ((), False)):
        home.shop.write_bytes(SOURCE.encode())
        script = [say(calls=[EDIT], usage=USAGE), say("Done.", usage=USAGE)]
        async with LoopbackEndpoint(script) as endpoint:
            environment = home.environment(endpoint.base_url)
            ended = await indwell(
                *("run", "--mode", "auto", *file, "mend it"),
                environment=environment,
                folder=home.workspace,
            )
        assert ended.code == 0, ended
        assert (home.shop.read_text(encoding="utf-8") == MENDED) == is_edited, file


async def test_a_file_too_long_for_the_prompt_is_shortened_with_a_pointer_to_the_rest(home) -> None:
    home.write("long.py", "value = 1  # a line of a long file\n" * 900)
    home.configure('model = "m"\nbase_url = "URL"\nwindow = 20_000\n')
    path = home.config / "indwell" / "config.toml"
    text = path.read_text(encoding="utf-8")
    async with LoopbackEndpoint([say("I see.", usage=USAGE)]) as endpoint:
        path.write_bytes(text.replace("URL", endpoint.base_url).encode())
        ended = await indwell(
            *("run", "--file", "long.py", "--stdin", "--json", "what is it?"),
            environment=home.environment(),
            folder=home.workspace,
            stdin=b"a line of a log\n" * 4_000,
        )
    assert ended.code == 0, ended
    file, log = (
        one["message"]
        for one in ended.events
        if one["type"] == "notice" and "too long" in one["message"]
    )
    assert file == (
        "long.py:1-900 is too long for one message: the model gets its beginning and its end, and "
        "can read the rest in the file"
    )
    assert log.startswith("standard input is too long for one message")
    kept = Path(log.rpartition(" in ")[2])
    assert kept.read_text(encoding="utf-8") == "a line of a log\n" * 4_000


@pytest.mark.parametrize(("n_ctx", "is_said"), [(8_192, True), (32_768, False)])
async def test_login_warns_of_a_small_window_and_says_how_to_start_with_more(
    home, n_ctx, is_said
) -> None:
    more = {"/props": {"default_generation_settings": {"n_ctx": n_ctx}}}
    script = answering(listed("m", owned_by="llamacpp"), more=more)
    async with LoopbackEndpoint(script) as endpoint:
        ended = await indwell(
            "login", endpoint.base_url, environment=home.environment(), folder=home.workspace
        )
    assert ended.code == 0, ended
    warned = "! m runs with a window of 8,192 tokens, which is little for work on code"
    assert (warned in ended.stdout.splitlines()) == is_said
    assert (
        "`-c 32768` for llama.cpp, `OLLAMA_CONTEXT_LENGTH=32768` for" in ended.stdout
    ) == is_said


@pytest.mark.parametrize(("name", "n_params", "is_stored"), [
    ("llama3.2", 3_212_749_888, True), ("llama3.2:3b", 3_212_749_888, False),
    ("qwen3-coder", 30_532_122_624, False),
])  # fmt: skip
async def test_login_stores_the_lean_profile_for_a_small_model_whose_name_does_not_tell(
    home, name, n_params, is_stored
) -> None:
    shown = {
        "capabilities": ["tools"],
        "model_info": {"general.parameter_count": n_params, "llama.context_length": 131_072},
    }
    script = answering(listed(name, owned_by="library"), more={"/api/show": shown})
    async with LoopbackEndpoint(script) as endpoint:
        ended = await indwell(
            "login", endpoint.base_url, environment=home.environment(), folder=home.workspace
        )
    assert ended.code == 0, ended
    said = f"{name} has 3.2 billion parameters, so sessions with it are lean"
    assert (said in ended.stdout) == is_stored
    config = (home.config / "indwell" / "config.toml").read_text(encoding="utf-8")
    assert ('profile = "lean"' in config) == is_stored


async def test_calls_written_as_text_are_reported_once_per_session(home) -> None:
    said = (LOOK, "I have read it.", LOOK, "I have read it again.")
    async with LoopbackEndpoint([say(one, usage=USAGE) for one in said]) as endpoint:
        ended = await indwell(
            *("run", "--input-format", "jsonl", "--json"),
            environment=home.environment(endpoint.base_url),
            folder=home.workspace,
            stdin=b'{"text": "read it"}\n{"text": "read it again"}\n',
        )
    assert ended.code == 0, ended
    notices = [one["message"] for one in ended.events if one["type"] == "notice"]
    assert sum("writes its tool calls as text" in one for one in notices) == 1
