/** Reduces the composer's part of the state: attachments, prompts being sent, drafts, history. */
import type { ContextResult } from "../../protocol.ts";
import type { Action } from "./action.ts";
import type { Attachment, PanelState } from "./state.ts";

/** The separator between returned text and text typed since. */
const BETWEEN = "\n\n";

/**
 * Returns the composer's text after `draft` is added. Typed text is never lost: `replace` puts the
 * draft's text first, `append` last. Text that is already in the composer is not repeated. `remove`
 * deletes the text of an earlier draft, unless the user changed it.
 */
export function withDraft(
  typed: string,
  draft: Pick<PanelState["draft"], "text" | "mode">,
): string {
  const words = draft.text;
  if (words.trim() === "") return typed;
  if (draft.mode === "remove") return without(typed, words);
  if (typed.trim() === "") return words;
  const first = draft.mode === "replace" ? words : typed;
  const last = draft.mode === "replace" ? typed : words;
  const there = draft.mode === "replace" ? typed.startsWith(words) : typed.endsWith(words);
  return there ? typed : `${first.trimEnd()}${BETWEEN}${last.trimStart()}`;
}

function without(typed: string, words: string): string {
  if (typed.trim() === words.trim()) return "";
  const before = `${words.trimEnd()}${BETWEEN}`;
  if (typed.startsWith(before)) return typed.slice(before.length);
  const behind = `${BETWEEN}${words.trimStart()}`;
  return typed.endsWith(behind) ? typed.slice(0, -behind.length) : typed;
}

/** The number of earlier prompts that are kept for the arrow key. */
export const HISTORY_KEPT = 100;
const SELECTIONS_KEPT = 50;

/** Adds an attachment; an existing attachment with the same id is replaced. */
export function attached(state: PanelState, attachment: Attachment): PanelState {
  const others = state.attachments.filter((one) => !isReplaced(one, attachment));
  return { ...state, attachments: [...others, attachment] };
}

function isReplaced(one: Attachment, by: Attachment): boolean {
  if (one.id === by.id) return true;
  return one.kind === "context" && namesOf(by).includes(one.label);
}

/**
 * Returns the names that the server may use for an attachment: the label, and the path in the
 * workspace with the lines.
 */
function namesOf(one: Attachment): readonly string[] {
  if (one.kind !== "mention") return [];
  const path = one.path.replace(/#L(\d+)(?:-(\d+))?$/, (_, from, to) => `:${from}-${to ?? from}`);
  return [one.label, path];
}

/** Removes an attachment. */
export function unattached(state: PanelState, id: string): PanelState {
  return { ...state, attachments: state.attachments.filter((one) => one.id !== id) };
}

/** Stores the server's context of the next request, and puts the chips of automatic context first. */
export function contextTold(state: PanelState, context: ContextResult): PanelState {
  const own = state.attachments.filter((one) => one.kind !== "context");
  const twice = saidTwice(own, context);
  const told = context.attached
    .filter((row) => !twice.includes(row.id) && !state.sentSelections.includes(row.id))
    .map(
      (row): Attachment => ({ kind: "context", id: row.id, label: row.label, tokens: row.tokens }),
    );
  return { ...state, context, attachments: [...told, ...own] };
}

/**
 * Returns the ids of automatic context that the user also attached; its chip is not needed beside
 * the user's own.
 */
export function saidTwice(own: readonly Attachment[], context: ContextResult): readonly string[] {
  const pinned = new Set(own.flatMap(namesOf));
  return context.attached.filter((row) => pinned.has(row.label)).map((row) => row.id);
}

/**
 * Reduces a sent prompt: adds the prompt to the outgoing prompts and to the history, and removes
 * its attachments from the composer.
 */
export function sent(
  state: PanelState,
  { id, words, images, taken }: Extract<Action, { readonly type: "sent" }>,
): PanelState {
  const selections = state.attachments.filter(isSelection).map((one) => one.id);
  return {
    ...state,
    attachments: state.attachments.filter((one) => !taken.includes(one.id) && !isSelection(one)),
    sentSelections: [...state.sentSelections, ...selections].slice(-SELECTIONS_KEPT),
    outgoing: [...state.outgoing, { id, words, images, session: state.session }],
    history: remembered(state.history, words),
    banner: state.banner?.level === "info" ? state.banner : null,
  };
}

/** Reduces an answered prompt; its attachments return if the prompt was not sent. */
export function answered(state: PanelState, id: number, given: readonly Attachment[]): PanelState {
  const outgoing = state.outgoing.filter((one) => one.id !== id);
  const isBack = given.length > 0 || outgoing.length < state.outgoing.length;
  const next = given.reduce(attached, { ...state, outgoing });
  return isBack ? withSelections(next) : next;
}

/**
 * Makes selections that were sent available again: for another session, or after a prompt that
 * could not be sent.
 */
function withSelections(state: PanelState): PanelState {
  if (state.sentSelections.length === 0) return state;
  const next = { ...state, sentSelections: [] };
  return state.context === null ? next : contextTold(next, state.context);
}

/**
 * Returns whether a chip is a selection; such a chip disappears after sending, because the server
 * sends the same text only once.
 */
function isSelection(one: Attachment): boolean {
  return one.kind === "context" && one.id.startsWith("selection");
}

/** Adds a prompt to the history: newest first, each prompt once. */
function remembered(history: readonly string[], words: string): readonly string[] {
  if (words.trim() === "") return history;
  return [words, ...history.filter((one) => one !== words)].slice(0, HISTORY_KEPT);
}
