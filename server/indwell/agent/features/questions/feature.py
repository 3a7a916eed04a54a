"""Questions of the model as a feature of its session."""

from __future__ import annotations

from typing import Any

from indwell.agent.feature import Feature
from indwell.agent.features.questions.board import QuestionBoard
from indwell.agent.session import Session
from indwell.tools.base import Tool


def questions_feature(board: QuestionBoard, tool: Tool[Any]) -> Feature[Session]:
    """The question that waits for the user, who may answer it in words to the running turn."""
    return Feature(
        name="questions", tools=(tool,), door=board, steered=board.hear, for_child=lambda: None
    )


def question_of(session: Session) -> QuestionBoard:
    """The question of a session, for front doors.

    Raises:
        LookupError: The session asks none, as a sub-agent asks none.
    """
    return session.parts.features.door(QuestionBoard)
