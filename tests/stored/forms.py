"""The forms of all JSON files that Indwell stores, with the schema of each."""

from __future__ import annotations

from typing import Any

import msgspec

from indwell.batch.records import BEGUN_FORM, END_FORM, PLAN_FORM, RESULT_FORM, SPENT_FORM
from indwell.bounds.git import known_state
from indwell.cli.serve import server_log
from indwell.cli.setup import command as setup
from indwell.compatibility import VERSIONS, StoredForm
from indwell.evaluation.report import REPORT_FORM
from indwell.service.endpoint import learned_wires, model_list
from indwell.service.sessions.worktrees import record as worktree
from indwell.sessions.storage import automatic_deletion, drafts, task_store
from indwell.settings import keys, permission_rules, trust_store
from stored.scenario import Schema, without_words

REWRITTEN: tuple[StoredForm[Any], ...] = (
    *(trust_store.FORM, permission_rules.FORM, keys.FORM, task_store.FORM, worktree.FORM),
    *(worktree.FILES_FORM, known_state.FORM, automatic_deletion.FORM, learned_wires.FORM),
    *(model_list.FORM, setup.FORM, server_log.FORM),
)
"""Forms of files that are written again as a whole, so that an unknown field would be lost."""

WRITTEN_ONCE: tuple[StoredForm[Any], ...] = (
    *(PLAN_FORM, BEGUN_FORM, END_FORM, RESULT_FORM, SPENT_FORM, REPORT_FORM, drafts.FORM),
)


def forms() -> Schema:
    """Return the version and the schema of each form, by its name and content."""
    return {
        f"{one.kind}: {getattr(one.content, '__name__', '')}": {
            "version": VERSIONS[one.kind],
            "is_rewritten": one in REWRITTEN,
            "schema": without_words(msgspec.json.schema(one.content)),
        }
        for one in (*REWRITTEN, *WRITTEN_ONCE)
    }
