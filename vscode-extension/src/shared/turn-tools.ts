/** Reduces the tool calls of a turn: each is one part that changes with its events. */
import type {
  EditApplied,
  PermissionAnswered,
  PermissionAsked,
  ToolFinished,
  ToolOutput,
  ToolStarted,
} from "../protocol.ts";
import type { Part, ToolPart, Turn } from "./state.ts";
import { closed, inNextRound, withoutReading } from "./turn-text.ts";

/** The number of characters of live output that a card keeps. */
export const OUTPUT_KEPT = 64_000;

/** The outcome of a call that has no end although its turn is over. */
export const STOPPED = { state: "stopped", figure: "" } as const;

/**
 * Reduces the start of a call. Some endpoints repeat ids in every round, so a card with the same id
 * is the same call only if the card still waits.
 */
export function withToolStarted(turn: Turn, event: ToolStarted, key: string): Turn {
  const waits = placeOfTool(turn.parts, event.id);
  const part = waits < 0 ? undefined : turn.parts[waits];
  if (part?.kind === "tool" && isOpen(part)) {
    const again: ToolPart = { ...part, name: event.name, target: event.target, state: "running" };
    return { ...turn, parts: turn.parts.with(waits, again) };
  }
  return pushed(turn, newTool(event.id, event.name, event.target, key));
}

/** Reduces output of a running command. */
export function withOutput(turn: Turn, event: ToolOutput): Turn {
  return changed(turn, event.id, (part) => {
    const whole = part.output + event.text;
    if (whole.length <= OUTPUT_KEPT) return { ...part, output: whole };
    const start = wholeCharacter(whole, whole.length - OUTPUT_KEPT);
    return { ...part, output: whole.slice(start), cut: part.cut + start };
  });
}

/** Reduces the end of a call; a call whose start was missed is shown, too. */
export function withToolFinished(turn: Turn, event: ToolFinished, key: string): Turn {
  const there =
    placeOfTool(turn.parts, event.id) >= 0
      ? turn
      : pushed(turn, newTool(event.id, event.name, event.target, key));
  const { type, turn: _, isError, agent, result, ...told } = event;
  return changed(there, event.id, (part) => ({
    ...part,
    ...told,
    ...(part.state === "denied" ? { state: "denied" } : callEnd(isError, event.message)),
    inner: ended(part.inner),
  }));
}

/**
 * The beginnings of the server's texts for calls that a rule, the user or a missing answer
 * prevented.
 */
export const REFUSED: readonly string[] = [
  "not allowed:",
  "the user did not allow this",
  "nobody answered whether this may run",
];
/** The beginnings of the server's texts for calls that the user or the end of Indwell stopped. */
export const CUT: readonly string[] = [
  "interrupted before it finished",
  "unknown outcome: Indwell ended",
  "not done: Indwell ended",
];

/**
 * Returns the outcome of a call, for live events and for those of the log. Only the server's text
 * shows whether the call was refused or failed.
 */
export function callEnd(
  isError: boolean,
  message: string,
): { readonly state: ToolPart["state"]; readonly figure?: string } {
  if (!isError) return { state: "done" };
  const words = message.replace(/^\[/, "");
  if (REFUSED.some((begin) => words.startsWith(begin))) return { state: "denied" };
  return CUT.some((begin) => words.startsWith(begin)) ? STOPPED : { state: "failed" };
}

/** Reduces a changed file of a call. */
export function withEdit(turn: Turn, event: EditApplied): Turn {
  const { path, added, removed, diff, created } = event;
  const edit = { path, added, removed, diff, created };
  return changed(turn, event.id, (part) => ({ ...part, diffs: [...part.diffs, edit] }));
}

/** Reduces an open or answered question about a call. */
export function withPermission(turn: Turn, event: PermissionAsked | PermissionAnswered): Turn {
  return changed(turn, event.id, (part) => {
    if (!isOpen(part) && part.state !== "denied") return part;
    if (event.type === "permissionAsked") return { ...part, state: "asking" };
    return { ...part, state: isNo(event.answer) ? "denied" : "running" };
  });
}

/** Stores the data that the host fetched for an opened card. */
export function withDetail(turn: Turn, id: string, result: string, given: string): Turn {
  return changed(turn, id, (part) => ({ ...part, result, arguments: given }));
}

/** Returns the parts of an ended turn, without running calls. */
export function ended(all: readonly Part[]): readonly Part[] {
  const parts = withoutReading(all);
  return parts.some((part) => part.kind === "tool" && isOpen(part))
    ? closed(parts).map((part) =>
        part.kind === "tool" && isOpen(part)
          ? { ...part, ...STOPPED, inner: ended(part.inner) }
          : part,
      )
    : closed(parts);
}

/**
 * Reduces events of the sub-agent of the call `id` as those of a turn; without the call's card,
 * events are ignored.
 */
export function withinAgent(turn: Turn, id: string, change: (inner: Turn) => Turn): Turn {
  return changed(turn, id, (part) => {
    const own = { parts: part.inner, round: 0, next: null, input: part.tokens, output: 0 };
    const { parts, input, output } = change({ ...turn, ...own });
    return { ...part, inner: parts, tokens: input + output };
  });
}

/** Creates the card of a call that begins. */
export function newTool(id: string, name: string, target: string, key: string): ToolPart {
  return {
    kind: "tool",
    key,
    id,
    name,
    target,
    state: "running",
    figure: "",
    seconds: null,
    message: "",
    output: "",
    cut: 0,
    result: null,
    arguments: null,
    diffs: [],
    inner: [],
    tokens: 0,
  };
}

function pushed(turn: Turn, part: ToolPart): Turn {
  const begun = inNextRound(turn);
  // A call comes when the reply is complete, so earlier text is final.
  const parts = [...closed(begun.parts), part];
  return { ...begun, parts, round: parts.length };
}

function changed(turn: Turn, id: string, change: (part: ToolPart) => ToolPart): Turn {
  const place = placeOfTool(turn.parts, id);
  const part = turn.parts[place];
  if (part?.kind !== "tool") return turn;
  return { ...turn, parts: turn.parts.with(place, change(part)) };
}

/** Returns the index of the newest card of a call, or -1 if there is no card. */
function placeOfTool(parts: readonly Part[], id: string): number {
  return parts.findLastIndex((part) => part.kind === "tool" && part.id === id);
}

function isOpen(part: ToolPart): boolean {
  return part.state === "running" || part.state === "asking";
}

function isNo(answer: PermissionAnswered["answer"]): boolean {
  return answer === "no" || answer === "unanswered" || answer === "uncovered";
}

/** Returns `place`, or the next index if `place` is in the middle of a surrogate pair. */
function wholeCharacter(text: string, place: number): number {
  const code = text.charCodeAt(place);
  return code >= 0xdc00 && code <= 0xdfff ? place + 1 : place;
}
