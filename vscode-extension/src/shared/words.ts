/**
 * Texts and figures that the editor and the panel both show. Verbs come first, without "I", as in
 * the docs. Pure.
 */
import type { Compacted } from "../protocol.ts";
import { number, t } from "./l10n.ts";
import type { Question, SessionWork, TurnEnding } from "./state/state.ts";
import { visible } from "./visible.ts";

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

/** The shortest time in seconds that is shown. */
export const LEAST_TIME = 0.1;

/** Formats a duration: `0.1 s`, `12 s`, `3 min 5 s`, `1 h 2 min`. */
export function durationFigure(seconds: number): string {
  if (seconds < 9.95) return t("{0} s", fixed(Math.max(0, seconds), 1));
  const whole = Math.round(seconds);
  if (whole < 60) return t("{0} s", whole);
  const minutes = Math.floor(whole / 60);
  if (minutes >= 60) {
    const hours = Math.floor(minutes / 60);
    return minutes % 60 > 0 ? t("{0} h {1} min", hours, minutes % 60) : t("{0} h", hours);
  }
  return whole % 60 > 0 ? t("{0} min {1} s", minutes, whole % 60) : t("{0} min", minutes);
}

/**
 * Formats US dollars: `$0.04`, `$0.0012`, `under $0.0001`; returns null if the price is unknown.
 */
export function costFigure(cost: number | null): string | null {
  if (cost === null) return null;
  if (cost === 0) return dollars(0, 2);
  if (cost < 0.0001) return t("under {0}", dollars(0.0001, 4));
  return cost < 0.01 ? dollars(cost, 4) : dollars(cost, 2);
}

/** Formats tokens: `980`, `12.4k`, `24k`, `1.2M`. */
export function tokenFigure(tokens: number): string {
  if (tokens < 1000) return String(tokens);
  if (tokens < 99_950) return `${short(tokens / 1000)}k`;
  if (tokens < 999_500) return `${Math.round(tokens / 1000)}k`;
  return `${short(tokens / 1_000_000)}M`;
}

function short(value: number): string {
  return number(value, { maximumFractionDigits: 1 });
}

function fixed(value: number, digits: number): string {
  return number(value, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function dollars(value: number, digits: number): string {
  return number(value, {
    style: "currency",
    currency: "USD",
    currencyDisplay: "narrowSymbol",
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

/** Formats a share of 0 or more: `38 %`; below one percent `under 1 %`. */
export function shareFigure(share: number): string {
  if (share > 0 && share < 0.01) return t("under 1 %");
  return t("{0} %", Math.round(share * 100));
}

/** Formats added and removed lines: `+3 −1`. */
export function linesFigure(added: number, removed: number): string {
  return `+${grouped(added)} −${grouped(removed)}`;
}

/** Formats bytes: `512 B`, `12 KB`, `3.4 MB`. */
export function sizeFigure(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return t("{0} KB", Math.round(bytes / 1000));
  return t("{0} MB", fixed(bytes / 1_000_000, 1));
}

/** The effort that lets the model decide how much it thinks. */
export const AUTO = "auto";

const WORDS: Readonly<Record<string, string>> = {
  auto: t("The model decides"),
  none: t("It answers at once"),
  minimal: t("Hardly any thinking"),
  low: t("Little thinking: faster and cheaper"),
  medium: t("As much thinking as usual"),
  high: t("Much thinking, for hard work"),
  xhigh: t("Very much thinking: slow and expensive"),
  max: t("As much thinking as possible: slowest and most expensive"),
};

/** Returns the meaning of an effort, or empty for an effort that this version does not know. */
export function effortWords(effort: string): string {
  return WORDS[effort] ?? "";
}

/** Returns one sentence that describes a mode, or an empty text for an unknown mode. */
export function modeWords(mode: string): string {
  switch (mode) {
    case "plan":
      return t("Reads and plans; changes nothing");
    case "ask":
      return t("Asks before each edit");
    case "review":
      return t("Edits at once; you accept or reject each change afterwards");
    case "auto":
      return t("Edits at once, without review");
    default:
      return "";
  }
}

/** The state of a session in the list. */
export const WORK_WORDS: Readonly<Record<SessionWork, string>> = {
  running: t("Running"),
  asking: t("Asks you"),
  done: t("Done"),
  failed: t("Failed"),
  stopped: t("Stopped"),
};

/** Returns the question of a session that is not shown, as one line that names the session. */
export function behindWords(question: Question, title: string): string {
  const asked = question.kind === "permission" ? question.asked.title : question.prompt;
  const line = visible(asked).replace(/\s+/g, " ").trim();
  const short = line.length > 120 ? `${line.slice(0, 119)}…` : line;
  // The server already names the session of a permission question.
  if (short.startsWith(t("In the session"))) return t("Indwell asks. {0}", short);
  return title === ""
    ? t("Another session asks: {0}", short)
    : t("The session “{0}” asks: {1}", title, short);
}

/** Adds a capital letter and a full stop, and removes marks of Markdown and terminals. */
export function plainSentence(words: string): string {
  const plain = words.trim().replace(/`([^`\n]*)`/g, "$1");
  // Only an ordinary word gets a capital letter; a path, a method or another name is unchanged.
  const isWord = /^[a-z]+[ ,]/.test(plain);
  const begun = isWord ? `${plain.charAt(0).toUpperCase()}${plain.slice(1)}` : plain;
  return begun === "" || /[.!?…:]$/.test(begun) ? begun : `${begun}.`;
}

/**
 * `sentence` names what is missing; `details` is the server's full text, or empty if that text says
 * no more.
 */
interface LackingWords {
  readonly sentence: string;
  readonly details: string;
}

/** Parses `lacking` of `indwell/status`, or the `reason` of a first run. */
export function lackingWords(reason: string): LackingWords {
  const [what = "", ...advice] = reason.split("; ");
  const isPlain = /^no [A-Za-z ]+ is set$/.test(what.trim());
  const sentence = plainSentence(isPlain ? `${what.trim()} yet` : what);
  return { sentence, details: advice.length === 0 ? "" : plainSentence(advice.join("; ")) };
}

/**
 * Returns the last name of a path, with its lines: `src/shop/invoice.py:41-58` becomes
 * `invoice.py:41-58`, and `src/shop/invoice.py:41-41` becomes `invoice.py:41`.
 */
export function baseName(label: string): string {
  const isFolder = label.endsWith("/");
  const names = label.split("/").filter((name) => name !== "");
  return isFolder ? `${names.at(-1) ?? ""}/` : (names.at(-1) ?? label).replace(/:(\d+)-\1$/, ":$1");
}
