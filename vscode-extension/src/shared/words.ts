/**
 * Texts of the user interface that depend on the state. Verbs come first, without "I", as in the
 * docs.
 */

import type { Compacted } from "../protocol.ts";
import { number, t } from "./l10n.ts";
import type { TurnEnding } from "./state.ts";

/** Returns the text of a compaction, as in the transcript. */
export function compactedWords(event: Compacted): string {
  const { layer, before, after, note } = event;
  const words = t(
    "The conversation was compacted ({0}): from {1} to {2} tokens",
    layer,
    grouped(before),
    grouped(after),
  );
  return note === "" ? words : `${words}; ${note}`;
}

/**
 * Matches a message that names a session by its id, as terminals need it; the panel names sessions
 * by their titles.
 */
const FORKED = /^forked from session \S+,/;

/** Returns the text of a notice, as a line of the conversation. */
export function noticeWords(message: string): string {
  const words = message.replace(FORKED, "forked from another session,");
  // A path or a name is unchanged.
  return /^[a-z]+[ ,]/.test(words) ? words.slice(0, 1).toUpperCase() + words.slice(1) : words;
}

/** Returns the text of a running check of the project. */
export function checkingWords(what: string): string {
  return t("Checking with {0}", what);
}

/**
 * Describes the end of a turn in one or two words; returns an empty text if it ended normally or
 * still runs.
 */
export function endingWords(ending: TurnEnding): string {
  switch (ending) {
    case "running":
    case "done":
      return "";
    case "cancelled":
      return t("Stopped");
    case "failed":
      return t("Failed");
    case "limit":
      return t("Stopped at the limit of rounds");
    case "repeated":
      return t("Stopped: the same call again and again");
    case "budget":
      return t("Stopped: the next call could pass a budget");
    case "interrupted":
      return t("Interrupted: Indwell ended while this turn ran");
    default:
      return ending satisfies never;
  }
}

/** Formats a number like `1,234,567`, as the language does it. */
export function grouped(count: number): string {
  return number(Math.round(count));
}
