/**
 * Texts of the user interface that depend on the state. Verbs come first, without "I", as in the
 * docs.
 */
import type { Compacted } from "../protocol.ts";
import type { TurnEnding } from "./state.ts";

/** Returns the text of a compaction, as in the transcript. */
export function compactedWords(event: Compacted): string {
  const { layer, before, after, note } = event;
  const words = `The conversation was compacted (${layer}): from ${grouped(before)} to ${grouped(after)} tokens`;
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
  return `Checking with ${what}`;
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
      return "Stopped";
    case "failed":
      return "Failed";
    case "limit":
      return "Stopped at the limit of rounds";
    case "repeated":
      return "Stopped: the same call again and again";
    case "budget":
      return "Stopped: the next call could pass a budget";
    case "interrupted":
      return "Interrupted: Indwell ended while this turn ran";
    default:
      return ending satisfies never;
  }
}

/**
 * Formats a number like `1,234,567`, independently of the machine's locale, so that host and
 * webview do not differ.
 */
export function grouped(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",");
}
