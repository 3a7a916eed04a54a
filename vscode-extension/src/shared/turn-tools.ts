/** Tool calls of a turn: each is one part that changes as its events come. */
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

/** Characters of live output that a card keeps. */
export const OUTPUT_KEPT = 64_000;

/** What became of a call that has no end, when nothing of its turn runs any more. */
export const STOPPED = { state: "stopped", figure: "" } as const;

/** A call begins. Some endpoints give the same id in every round: only a card that waits is the same one. */
export function withToolStarted(turn: Turn, event: ToolStarted, key: string): Turn {
  const waits = placeOfTool(turn.parts, event.id);
  const part = waits < 0 ? undefined : turn.parts[waits];
  if (part?.kind === "tool" && isOpen(part)) {
    const again: ToolPart = { ...part, name: event.name, target: event.target, state: "running" };
    return { ...turn, parts: turn.parts.with(waits, again) };
  }
  return pushed(turn, newTool(event.id, event.name, event.target, key));
}

/** A running command wrote something. */
export function withOutput(turn: Turn, event: ToolOutput): Turn {
  return changed(turn, event.id, (part) => {
    const whole = part.output + event.text;
    if (whole.length <= OUTPUT_KEPT) return { ...part, output: whole };
    const start = wholeCharacter(whole, whole.length - OUTPUT_KEPT);
    return { ...part, output: whole.slice(start), cut: part.cut + start };
  });
}

/** A call ended; one whose begin was missed is shown all the same. */
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

/** How the server's words begin for a call that a rule, the user or nobody's answer kept from running. */
const REFUSED = [
  "not allowed:",
  "the user did not allow this",
  "nobody answered whether this may run",
];
/** And for one that Indwell's end, or the user, stopped. */
const CUT = [
  "interrupted before it finished",
  "unknown outcome: Indwell ended",
  "not done: Indwell ended",
];

/** How a call ended, live and in history alike: only the server's words tell a refusal from a failure. */
export function callEnd(
  isError: boolean,
  message: string,
): { readonly state: ToolPart["state"]; readonly figure?: string } {
  if (!isError) return { state: "done" };
  const words = message.replace(/^\[/, "");
  if (REFUSED.some((begin) => words.startsWith(begin))) return { state: "denied" };
  return CUT.some((begin) => words.startsWith(begin)) ? STOPPED : { state: "failed" };
}

/** A file reads differently now. */
export function withEdit(turn: Turn, event: EditApplied): Turn {
  const { path, added, removed, diff, created } = event;
  const edit = { path, added, removed, diff, created };
  return changed(turn, event.id, (part) => ({ ...part, diffs: [...part.diffs, edit] }));
}

/** The user is being asked about a call, or has answered. */
export function withPermission(turn: Turn, event: PermissionAsked | PermissionAnswered): Turn {
  return changed(turn, event.id, (part) => {
    if (!isOpen(part) && part.state !== "denied") return part;
    if (event.type === "permissionAsked") return { ...part, state: "asking" };
    return { ...part, state: isNo(event.answer) ? "denied" : "running" };
  });
}

/** What the host fetched when a card was opened. */
export function withDetail(turn: Turn, id: string, result: string, given: string): Turn {
  return changed(turn, id, (part) => ({ ...part, result, arguments: given }));
}

/** The parts of a turn that has ended: nothing of it runs any more. */
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

/** What the sub-agent of the call `id` does, as if it were a turn of its own; without its card nothing is shown. */
export function withinAgent(turn: Turn, id: string, change: (inner: Turn) => Turn): Turn {
  return changed(turn, id, (part) => {
    const own = { parts: part.inner, round: 0, next: null, input: part.tokens, output: 0 };
    const { parts, input, output } = change({ ...turn, ...own });
    return { ...part, inner: parts, tokens: input + output };
  });
}

/** A card at its begin. */
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
  // A call comes when the reply is whole, so the words before it will not be taken back.
  const parts = [...closed(begun.parts), part];
  return { ...begun, parts, round: parts.length };
}

function changed(turn: Turn, id: string, change: (part: ToolPart) => ToolPart): Turn {
  const place = placeOfTool(turn.parts, id);
  const part = turn.parts[place];
  if (part?.kind !== "tool") return turn;
  return { ...turn, parts: turn.parts.with(place, change(part)) };
}

/** The newest card of a call; -1 if there is none. */
function placeOfTool(parts: readonly Part[], id: string): number {
  return parts.findLastIndex((part) => part.kind === "tool" && part.id === id);
}

function isOpen(part: ToolPart): boolean {
  return part.state === "running" || part.state === "asking";
}

function isNo(answer: PermissionAnswered["answer"]): boolean {
  return answer === "no" || answer === "unanswered" || answer === "uncovered";
}

/** `place`, or one further if it is in the middle of a surrogate pair. */
function wholeCharacter(text: string, place: number): number {
  const code = text.charCodeAt(place);
  return code >= 0xdc00 && code <= 0xdfff ? place + 1 : place;
}
