/**
 * Reduces one turn: its beginning and end, the model's text and reasoning as they stream, and its
 * tool calls, each one part that changes with its events.
 */
import type {
  EditApplied,
  PermissionAnswered,
  PermissionAsked,
  ToolFinished,
  ToolOutput,
  ToolStarted,
  TurnFinished,
  TurnStarted,
  UsageReported,
} from "../../protocol.ts";
import { t } from "../l10n.ts";
import type { LinePart, PanelState, Part, TextPart, ToolPart, Turn } from "./state.ts";
import { emptyTurn, onTurn, withTurn } from "./turn-list.ts";

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
function inNextRound(turn: Turn): Turn {
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

/** The number of characters of live output that a card keeps. */
export const OUTPUT_KEPT = 64_000;

/** The outcome of a call that has no end although its turn is over. */
const STOPPED = { state: "stopped", figure: "" } as const;

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
function callEnd(
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
function ended(all: readonly Part[]): readonly Part[] {
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
function newTool(id: string, name: string, target: string, key: string): ToolPart {
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

/**
 * Reduces the beginning of a turn; data of the turn from a page is dropped, because all events of
 * the turn will follow.
 */
export function begun(state: PanelState, event: TurnStarted): PanelState {
  const session = state.session ?? "";
  const sent = state.outgoing.find((one) => one.words === event.words);
  const images = sent?.images ?? [];
  const turn: Turn = {
    ...emptyTurn(session, event.turn),
    words: event.words,
    title: event.title,
    chips: chips(event.attached, images),
    images,
    mode: event.mode,
    model: event.model,
    whole: true,
  };
  return {
    ...state,
    turns: withTurn(state.turns.map(abandoned), turn),
    outgoing: state.outgoing.filter((one) => one !== sent),
    status: state.status && { ...state.status, session, running: event.turn },
  };
}

/** Returns chips without those of pictures, because the pictures themselves are shown. */
function chips(
  attached: readonly string[],
  images: readonly { readonly label: string }[],
): Turn["chips"] {
  const shown = new Set(images.map((image) => image.label));
  return attached.filter((label) => !shown.has(label)).map((label) => ({ label }));
}

/** Adds a picture of the prompt after its file was read, and removes the picture's chip. */
export function withPicture(turn: Turn, label: string): Turn {
  const chips = turn.chips.filter((chip) => chip.label !== label);
  return { ...turn, chips, images: [...turn.images, { label, url: null }] };
}

/** Sets the turn's tokens and cost; the next text belongs to another model call. */
export function counted(turn: Turn, event: UsageReported): Turn {
  return {
    ...turn,
    ...tokens(event.total),
    cost: event.totalCost,
    next: turn.parts.length,
  };
}

/** Reduces the end of a turn; text that never reached the model returns as a draft. */
export function finished(state: PanelState, event: TurnFinished, key: string): PanelState {
  const { type, turn: _, agent, usage, answer: last, rounds, figures, toReview, ...told } = event;
  const over = onTurn(state, event.turn, (turn) => {
    const isSilent = !turn.parts.some((part) => part.kind === "text");
    const answer = isSilent && last !== "" ? [textOf(last, key)] : [];
    return {
      ...turn,
      ...told,
      parts: [...ended(turn.parts), ...answer],
      ...tokens(usage),
      next: null,
    };
  });
  return {
    ...over,
    status: over.status && {
      ...over.status,
      running: null,
      cost: sum(state.status?.cost ?? null, event.cost, isFirst(state)),
    },
    draft: given(over, event.draft),
    pending: { ...over.pending, total: toReview },
  };
}

/** Ends a turn whose end will not be reported, because the server is gone or another turn runs. */
export function abandoned(turn: Turn): Turn {
  return turn.ending === "running"
    ? { ...turn, ending: "interrupted", parts: ended(turn.parts) }
    : turn;
}

function textOf(text: string, key: string): Turn["parts"][number] {
  return { kind: "text", key, text, final: true, ms: null, since: null };
}

function tokens(
  usage: UsageReported["total"],
): Pick<Turn, "input" | "cached" | "output" | "thinking"> {
  const { input, cached, output, thinking } = usage;
  return { input, cached, output, thinking };
}

function isFirst(state: PanelState): boolean {
  return state.older === "none" && state.turns.length <= 1;
}

function sum(before: number | null, cost: number | null, first: boolean): number | null {
  if (before === null) return first ? cost : null;
  return cost === null ? null : before + cost;
}

function given(state: PanelState, text: string): PanelState["draft"] {
  return text === "" ? state.draft : { id: state.draft.id + 1, text, mode: "append" };
}
