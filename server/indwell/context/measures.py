"""Figures under the names of OpenTelemetry's conventions for generative AI and ours (H37). Pure."""

from __future__ import annotations

from indwell.context.figures import Figures


def named(figures: Figures) -> dict[str, object]:
    """Figures as JSON; cached tokens are in input, costs are US dollars, null if one is unknown."""
    usage = figures.usage
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.cache_read.input_tokens": usage.cached,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
        "gen_ai.usage.output_tokens": usage.output,
        "indwell.requests": figures.requests,
        "indwell.requests.estimated": figures.estimated,
        "indwell.requests.unpriced": figures.unpriced,
        "indwell.cache.hit_rate": figures.hit_rate,
        "indwell.cost": figures.cost,
        "indwell.cost.known": figures.known_cost,
        "indwell.compactions": {
            layer: {"count": one.count, "tokens_saved": one.saved}
            for layer, one in sorted(figures.compactions.items())
        },
        "indwell.compaction.tokens_saved": figures.saved,
    }
