"""Sends spans by the SDK of OpenTelemetry, in a thread of the SDK, to one endpoint per process.

The SDK is optional, so only functions import it. The SDK's own messages are muted: the feature
tells the user once that spans cannot be sent.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from indwell import __version__
from indwell.agent.features.traces.attributes import Attributes
from indwell.errors import UserError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span
else:
    Span: TypeAlias = Any

NO_SDK = (
    "traces are on, but OpenTelemetry is not installed; run `pip install 'indwell[otel]'`, or set "
    "`export = false` in `[traces]`"
)
NO_ENDPOINT = (
    "traces are on, but no endpoint is set, so nothing is sent; set `endpoint` in `[traces]`, or "
    "OTEL_EXPORTER_OTLP_ENDPOINT"
)
REFUSED = (
    "the endpoint for traces accepts no spans, so traces are lost; check `endpoint` in `[traces]`"
)
VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PATH = "/v1/traces"
_TIMEOUT_S = 5.0  # the limit of seconds for one request, with all retries
_FLUSH_S = 1.0  # the limit of seconds that the end of a session waits for the endpoint
_EVERY_MS = 2_000  # milliseconds between two requests
_log = logging.getLogger(__name__)


class Tracing:
    """Starts spans that the SDK sends to one endpoint.

    Args:
        endpoint: The base address of the endpoint, or empty for the address in the variables.

    Attributes:
        failure: Why the last request failed, or empty.
    """

    def __init__(self, endpoint: str) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
        from opentelemetry.sdk.trace.export import (
            BatchSpanProcessor,
            SpanExporter,
            SpanExportResult,
        )

        # The user gets one notice. The SDK would print a line for each request that fails.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        tracing = self
        base = endpoint.rstrip("/")
        address = (base if base.endswith(_PATH) else base + _PATH) if base else None
        otlp = OTLPSpanExporter(endpoint=address, timeout=_TIMEOUT_S)

        class Watched(SpanExporter):
            """Sends spans, and remembers whether the endpoint took them."""

            def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
                result = otlp.export(spans)
                is_sent = result is SpanExportResult.SUCCESS
                tracing.failure = "" if is_sent else REFUSED
                if not is_sent:
                    _log.info("%d spans could not be sent", len(spans))
                return result

            def shutdown(self) -> None:
                otlp.shutdown()  # type: ignore[no-untyped-call]

        self.failure = ""
        resource = Resource.create({"service.name": "indwell", "service.version": __version__})
        self._provider: TracerProvider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(
            BatchSpanProcessor(Watched(), schedule_delay_millis=_EVERY_MS)
        )
        self._tracer = self._provider.get_tracer("indwell", __version__)

    def start(
        self,
        name: str,
        attributes: Attributes,
        *,
        within: Span | None = None,
        kind: Literal["client", "internal"] = "internal",
    ) -> Span:
        """Start a span, as a child of ``within`` or as the root of a trace."""
        from opentelemetry.context import Context
        from opentelemetry.trace import SpanKind, set_span_in_context

        context = Context() if within is None else set_span_in_context(within, Context())
        kinds = {"client": SpanKind.CLIENT, "internal": SpanKind.INTERNAL}
        return self._tracer.start_span(name, context, kinds[kind], attributes)

    async def flush(self) -> None:
        """Send all ended spans; wait a second at most, so that no endpoint delays an end."""
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def send() -> None:
            self._provider.force_flush()
            # The loop may have ended meanwhile, because nobody waits for a slow endpoint.
            if not loop.is_closed():
                loop.call_soon_threadsafe(done.set)

        threading.Thread(target=send, name="indwell-traces", daemon=True).start()
        try:
            async with asyncio.timeout(_FLUSH_S):
                await done.wait()
        except TimeoutError:
            _log.info("the endpoint for traces is slow; the last spans may be lost")


def fail(span: Span, error: str) -> None:
    """Mark a span as failed; ``error`` is a class of errors, never a message with contents."""
    from opentelemetry.trace import StatusCode

    span.set_attribute("error.type", error)
    span.set_status(StatusCode.ERROR)


@cache
def tracing_to(endpoint: str) -> Tracing:
    """Return the process's tracing to an endpoint; imports the SDK, which blocks for a moment.

    Raises:
        UserError: The SDK is not installed, or no endpoint is set.
    """
    if not endpoint and not any(os.environ.get(name) for name in VARIABLES):
        raise UserError(NO_ENDPOINT)
    if not all(map(_is_there, ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"))):
        raise UserError(NO_SDK)
    return Tracing(endpoint)


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # A package around the module is missing.
        return False
