/** Reduces the beginning and the end of a turn. */
import type { TurnFinished, TurnStarted, UsageReported } from "../protocol.ts";
import type { PanelState, Turn } from "./state.ts";
import { emptyTurn, onTurn, withTurn } from "./turn-list.ts";
import { ended } from "./turn-tools.ts";

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
export function chips(
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
