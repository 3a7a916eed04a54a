"""Traces turns, model calls and tool calls by OpenTelemetry, if the user turns this on."""
