/** Reduces the model's text and its reasoning, as they stream into a turn. */
import { t } from "./l10n.ts";
import type { LinePart, Part, TextPart, Turn } from "./state.ts";

/** Adds text; `key` is new for every event. */
export function withText(
  turn: Turn,
  kind: TextPart["kind"],
  text: string,
  key: string,
  at: number,
): Turn {
  if (text === "") return turn;
  const begun = inNextRound(turn);
  const last = begun.parts.at(-1);
  const isMore =
    last !== undefined && last.kind === kind && !last.final && begun.parts.length > begun.round;
  if (isMore) return { ...begun, parts: begun.parts.with(-1, longer(last, text, at)) };
  const part: TextPart = { kind, key, text, final: false, ms: 0, since: at };
  return { ...begun, parts: [...closed(begun.parts), part] };
}

/** Drops the text of the newest model call, because the call is repeated. */
export function forgetRound(turn: Turn): Turn {
  const kept = turn.parts.filter((part, place) => place < turn.round || !isWords(part));
  return { ...turn, parts: kept, round: Math.min(turn.round, kept.length), next: null };
}

/**
 * Begins another model call if the usage of the previous call was reported, because then the next
 * text belongs to a new call.
 */
export function inNextRound(turn: Turn): Turn {
  return turn.next === null ? turn : { ...turn, round: turn.next, next: null };
}

/** Adds a thin line at the end; earlier text is final. */
export function withLine(turn: Turn, what: LinePart["what"], text: string, key: string): Turn {
  return { ...turn, parts: [...closed(turn.parts), { kind: "line", key, what, text }] };
}

/**
 * Matches the server's text before another attempt: the reason, and the seconds until the attempt.
 */
const RETRY = /^(.*); trying again in (\d+) s$/s;

/** Adds the line of a notice; the attempts of one call share a line, which counts down. */
export function withNotice(
  turn: Turn,
  level: "info" | "warning" | "error",
  text: string,
  key: string,
  at: number,
): Turn {
  const [, reason, seconds] = RETRY.exec(text) ?? [];
  if (reason === undefined) return withLine(turn, level, text, key);
  const parts = closed(turn.parts);
  const last = parts.at(-1);
  const isAgain = last?.kind === "line" && last.what === "retrying";
  const until = at + 1000 * Number(seconds);
  const line: LinePart = {
    kind: "line",
    key: isAgain ? last.key : key,
    what: "retrying",
    text: reason,
    until,
  };
  return { ...turn, parts: isAgain ? parts.with(-1, line) : [...parts, line] };
}

/** Removes the progress of reading the prompt, because another event came. */
export function withoutReading(parts: readonly Part[]): readonly Part[] {
  const last = parts.at(-1);
  return last?.kind === "line" && last.what === "reading" ? parts.slice(0, -1) : parts;
}

/** Returns a text about how much of the prompt the endpoint has read. */
export function readingWords(share: number): string {
  return t("Reading the prompt, {0} %", Math.round(share * 100));
}

/** Marks the last part as final, if it is text. */
export function closed(parts: readonly Part[]): readonly Part[] {
  const last = parts.at(-1);
  return last !== undefined && isWords(last) && !last.final
    ? parts.with(-1, { ...last, final: true })
    : parts;
}

function isWords(part: Part): part is TextPart {
  return part.kind === "text" || part.kind === "thinking";
}

function longer(part: TextPart, text: string, at: number): TextPart {
  const ms = part.since === null ? part.ms : Math.max(0, at - part.since);
  return { ...part, text: part.text + text, ms };
}
