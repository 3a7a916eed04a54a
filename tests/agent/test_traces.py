"""Traces by OpenTelemetry: real runs send spans to a real OTLP/HTTP server on this machine."""

from __future__ import annotations

import gzip
import importlib
import json
import os
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from indwell.agent.core.events import Notice
from indwell.agent.features.traces.attributes import provider_name
from indwell.agent.features.traces.feature import SessionTraces
from indwell.agent.features.traces.sending import REFUSED, tracing_to
from indwell.secrets import is_secret
from indwell.settings.model import Settings
from indwell.settings.table_types import TraceSettings
from indwell.settings.tighten import tighten
from support.editing import EDIT, READ, USAGE, Home
from support.loopback_endpoint import Answer, LoopbackEndpoint, say
from support.session import a_world, says
from support.terminal import Ended, indwell

DOCS = Path(__file__).parents[2] / "docs"
KEY = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cD3eF5"
GONE = ("read_file", json.dumps({"path": "no.py"}))
TASK = ("agent", json.dumps({"task": "look around"}))
PROMPT = f"Find the odd addition, {KEY}"

pytestmark = pytest.mark.skipif(
    find_spec("opentelemetry.exporter") is None and os.environ.get("CI") != "true",
    reason="the SDK of OpenTelemetry, an optional package, is not installed",
)


class Collector(ThreadingHTTPServer):
    """Takes spans as a collector does; ``paths`` has the path of each request."""

    daemon_threads = True

    def __init__(self, status: int = 200) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.status = status
        self.paths: list[str] = []
        self.spans: list[dict[str, Any]] = []
        self.resource: dict[str, Any] = {}

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def take(self, body: bytes) -> None:
        module = "opentelemetry.proto.collector.trace.v1.trace_service_pb2"
        message = importlib.import_module(module).ExportTraceServiceRequest
        for one in message.FromString(body).resource_spans:
            self.resource = {each.key: each.value.string_value for each in one.resource.attributes}
            for span in (span for scope in one.scope_spans for span in scope.spans):
                pairs = [(each.key, each.value) for each in span.attributes]
                found = {key: getattr(value, value.WhichOneof("value")) for key, value in pairs}
                self.spans.append({
                    "name": span.name, "id": span.span_id, "parent": span.parent_span_id,
                    "kind": span.kind, "failed": span.status.code == 2, "attributes": found,
                    "ns": span.end_time_unix_nano - span.start_time_unix_nano,
                    "events": [event.name for event in span.events],
                })  # fmt: skip

    def named(self, name: str) -> list[dict[str, Any]]:
        return [one for one in self.spans if one["name"] == name]


class _Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.paths.append(self.path)
        self.server.take(body)
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def collector(status: int = 200) -> Iterator[Collector]:
    with Collector(status) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.write("shop.py", "total = 1 + 1\n")
    return made


async def run(
    home: Home, *script: Answer, words: tuple[str, ...] = (PROMPT,), **more: str
) -> Ended:
    async with LoopbackEndpoint([*script, say("It is mended.", usage=USAGE)]) as endpoint:
        return await indwell(
            *("run", *words, "--json"),
            environment=home.environment(endpoint.base_url, **more),
            folder=home.workspace,
        )


def work() -> tuple[Answer, ...]:
    calls = [say(calls=[one], usage=USAGE) for one in (READ, GONE, EDIT, TASK)]
    return (*calls, say("Nothing odd.", usage=USAGE))


async def test_a_turn_its_calls_and_verdicts_are_spans_without_contents(home: Home) -> None:
    with collector() as ours, collector() as evil:
        home.configure(
            f'price_in = 1\nprice_out = 2\n[traces]\nexport = true\nendpoint = "{ours.address}"\n'
        )
        home.write(
            ".indwell/config.toml",
            f'[traces]\nexport = true\nendpoint = "{evil.address}"\ncontents = true\n',
        )
        ended = await run(home, *work())
        assert ended.code == 0, ended
        (session,) = {path.name for path in home.state.glob("sessions/*/2*")}
        accepted = await indwell(
            *("review", "--accept", "--all"), environment=home.environment(), folder=home.workspace
        )
        assert accepted.code == 0, accepted
        again = await run(home, words=("--resume", session, "thanks"))
        assert again.code == 0, again
        # A project may neither choose the endpoint nor turn contents on.
        assert (evil.paths, set(ours.paths)) == ([], {"/v1/traces"})
        assert ours.resource["service.name"] == "indwell"
        turn, later = ours.named("invoke_agent indwell")
        about = turn["attributes"]
        assert about["gen_ai.operation.name"] == "invoke_agent"
        assert (about["gen_ai.conversation.id"], about["gen_ai.agent.name"]) == (session, "indwell")
        assert (about["indwell.ending"], about["indwell.turn"], turn["parent"]) == ("done", 1, b"")
        assert (about["gen_ai.usage.input_tokens"], about["gen_ai.usage.output_tokens"]) == (60, 12)
        assert (about["indwell.files.changed"], later["attributes"]["indwell.turn"]) == (1, 2)
        calls = [one for one in ours.spans if one["name"].startswith("chat ")]
        parents = [one["parent"] == turn["id"] for one in calls]
        (agent,) = ours.named("execute_tool agent")
        assert sorted(parents) == [False, False, *[True] * 5]
        assert [
            one["parent"] for one in calls if one["parent"] not in {turn["id"], later["id"]}
        ] == [agent["id"]]
        first = calls[0]
        assert (first["kind"], first["attributes"]["gen_ai.usage.input_tokens"]) == (3, 10)
        assert first["name"] == f"chat {first['attributes']['gen_ai.request.model']}"
        failures = [one["failed"] for one in ours.named("execute_tool read_file")]
        assert failures == [False, True]
        assert all(one["ns"] > 0 for one in (turn, first, agent))
        (review,) = ours.named("review")
        assert review["attributes"]["indwell.review.accepted"] == 1
        # The dashboard asks only for attributes that a run really sends.
        assert used_by_dashboard() <= {name for one in ours.spans for name in one["attributes"]}
        assert used_by_page() >= {name for one in ours.spans for name in one["attributes"]}
        written = str(ours.spans)
        held = ("odd addition", "shop.py", "total", "mended", KEY, "look around", "Nothing odd")
        assert [one for one in held if one in written] == []


def used_by_dashboard() -> set[str]:
    text = (DOCS / "grafana" / "indwell.json").read_text("utf-8")
    panels = json.loads(text)["panels"]
    queries = [target.get("query", "") for one in panels for target in one.get("targets", ())]
    names = {name for query in queries for name in re.findall(r"span\.([a-z_.]+[a-z_])", query)}
    assert len(names) >= 8
    return names


def used_by_page() -> set[str]:
    page = (DOCS / "session-data.md").read_text("utf-8").partition("## Traces")[2]
    return set(re.findall(r"`((?:gen_ai|indwell|error)\.[a-z_.]+)`", page))


async def test_contents_are_sent_only_if_the_user_asks_and_never_with_a_key(home: Home) -> None:
    with collector() as ours:
        home.configure("[traces]\nexport = true\ncontents = true\n")
        ended = await run(
            home, *work(), OTEL_EXPORTER_OTLP_ENDPOINT=ours.address, OTEL_BSP_SCHEDULE_DELAY="50"
        )
        assert ended.code == 0, ended
        (turn,) = ours.named("invoke_agent indwell")
        (prompt,) = json.loads(turn["attributes"]["gen_ai.input.messages"])
        assert prompt["parts"][0]["content"].startswith("Find the odd addition, ")
        assert "It is mended." in turn["attributes"]["gen_ai.output.messages"]
        read = ours.named("execute_tool read_file")[0]["attributes"]
        assert json.loads(read["gen_ai.tool.call.arguments"]) == {"path": "shop.py"}
        assert "total = 1 + 1" in read["gen_ai.tool.call.result"]
        assert KEY not in str(ours.spans)


async def test_nothing_is_sent_unless_the_users_own_settings_turn_traces_on(home: Home) -> None:
    with collector() as ours:
        home.write(".indwell/config.toml", "[traces]\nexport = true\n")
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": ours.address}
        off = await run(home, **variables)
        assert (off.code, ours.paths) == (0, [])
    home.configure("[traces]\nexport = true\n")
    told = await run(home)
    assert (told.code, "traces are on, but no endpoint is set" in told.stdout) == (0, True)
    (home.folder / "hides").mkdir()
    without = "import sys; sys.modules['opentelemetry.sdk'] = None\n"
    (home.folder / "hides" / "sitecustomize.py").write_text(without, "utf-8")
    told = await run(home, PYTHONPATH=str(home.folder / "hides"), **variables)
    assert (told.code, "pip install 'indwell[otel]'" in told.stdout) == (0, True)


def test_an_editor_and_a_project_cannot_change_anything_about_traces() -> None:
    own = Settings()
    table = {"traces": {"export": True, "endpoint": "https://evil.example", "contents": True}}
    for chooses in (True, False):
        tight = tighten(own, table, "a file", chooses=chooses)
        assert (tight.settings, len(tight.notices)) == (own, 1)
    assert is_secret("OTEL_EXPORTER_OTLP_HEADERS")
    assert not is_secret("OTEL_EXPORTER_OTLP_ENDPOINT")


async def test_an_endpoint_that_is_down_breaks_no_turn(home: Home) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home.configure(f'[traces]\nexport = true\nendpoint = "http://127.0.0.1:{port}"\n')
    ended = await run(home, *work())
    assert (ended.code, ended.events[-1]["type"], ended.stderr) == (0, "turnFinished", "")


async def test_an_endpoint_that_takes_no_spans_is_reported_once(tmp_path: Path) -> None:
    with collector(status=400) as refusing:
        own = TraceSettings(export=True, endpoint=refusing.address)
        feature = SessionTraces(lambda: Settings(traces=own)).feature()
        async with a_world(tmp_path, [says("Hi.")] * 3, features=[feature]) as made:
            await made.turn("hello")
            await tracing_to(refusing.address).flush()
            await made.turn("hello")
            await made.turn("hello")
            notices = [one for one in made.events if isinstance(one, Notice)]
    assert [one.message for one in notices] == [REFUSED]


def test_the_provider_is_named_by_the_address() -> None:
    addresses = (None, "http://localhost:1/v1", "https://api.anthropic.com", "https://[", "")
    named = [provider_name(Settings(base_url=one)) for one in addresses]
    assert named == ["openai", "openai", "anthropic", "openai", "openai"]
    azure = Settings(base_url="https://x.openai.azure.com/openai")
    assert provider_name(azure) == "azure.ai.openai"
