/**
 * Stores the last shown conversation on disk, so that a reloaded window shows it before the server
 * answers.
 */
import * as v from "valibot";
import { t } from "../../../shared/l10n.ts";
import type { Action } from "../../../shared/state/action.ts";
import type { PanelState, Part, Turn } from "../../../shared/state/state.ts";
import { type Clock, debounced } from "../../clock.ts";
import type { Memory } from "../ports.ts";

const MOST_TURNS = 12;
/** The maximum number of characters on disk, which VS Code reads whenever a window opens. */
const MOST_CHARACTERS = 150_000;
const SAVE_MS = 100;
/**
 * The version of the stored form. Increment this number when the type of a turn changes, so that an
 * older form is not read.
 */
const SHAPE = 1;

const PART = v.looseObject({ kind: v.picklist(["text", "thinking", "tool", "line"]) });
const TURN = v.looseObject({
  number: v.number(),
  words: v.string(),
  parts: v.array(PART),
  chips: v.array(v.unknown()),
});
const KEPT = v.object({
  shape: v.literal(SHAPE),
  session: v.string(),
  title: v.string(),
  hasOlder: v.boolean(),
  turns: v.array(TURN),
});

export class LastShown {
  readonly #memory: Memory;
  readonly #save: { (): void; dispose(): void };
  #state: PanelState | undefined;

  constructor(memory: Memory, clock: Clock) {
    this.#memory = memory;
    this.#save = debounced(clock, SAVE_MS, () => this.#write());
  }

  /** Returns the action that shows the conversation of `session` again, if it is on disk. */
  restore(session: string | null): readonly Action[] {
    const kept = this.#memory.get("lastShown");
    if (session === null || !v.is(KEPT, kept) || kept.session !== session) return [];
    // `#write` below wrote the data in the form that the version names.
    const turns = kept.turns as unknown as readonly Turn[];
    const { title, hasOlder } = kept;
    return turns.length === 0 ? [] : [{ type: "remembered", session, title, turns, hasOlder }];
  }

  /** Stores, with a delay, what an action changed. */
  heard(action: Action, state: PanelState): void {
    this.#state = state;
    switch (action.type) {
      case "event":
        // Text deltas come too often; the end of a turn has all of the text.
        if (action.event.type !== "text" && action.event.type !== "thinking") this.#save();
        return;
      case "missed":
      case "page":
      case "opened":
      case "status":
        this.#save();
        return;
      default:
        return;
    }
  }

  dispose(): void {
    this.#save.dispose();
    this.#write();
  }

  #write(): void {
    const state = this.#state;
    // Before the server has answered, the disk is newer than the state.
    if (state === undefined || state.isRemembered) return;
    void this.#memory.set("lastShown", kept(state));
  }
}

function kept(state: PanelState): unknown {
  const { session, status } = state;
  if (session === null) return null;
  const own = status?.session === session ? status.title : "";
  const turns: Turn[] = [];
  let left = MOST_CHARACTERS;
  for (const turn of state.turns.filter((one) => !one.left).toReversed()) {
    let lean = leanTurn(turn);
    if (turns.length === 0 && sizeOf(lean) > left) lean = shortenedTurn(lean, left);
    left -= sizeOf(lean);
    if (left < 0 || turns.length === MOST_TURNS) break;
    turns.unshift(lean);
  }
  const hasOlder = state.older !== "none" || turns.length < state.turns.length;
  return { shape: SHAPE, session, title: own || state.title, hasOlder, turns };
}

/**
 * Returns the part of a turn that is visible while all cards are closed; the server has the rest.
 */
function leanTurn(turn: Turn): Turn {
  return {
    ...turn,
    images: turn.images.map((image) => ({ ...image, url: null })),
    parts: turn.parts.map(leanPart),
  };
}

function leanPart(part: Part): Part {
  return part.kind === "tool"
    ? { ...part, output: "", result: null, arguments: null, inner: [] }
    : part;
}

/**
 * Returns the end of a turn that is too long by itself, with a line that says so. A part that does
 * not fit keeps the end of its text, or is left out.
 */
function shortenedTurn(turn: Turn, most: number): Turn {
  const line: Part = {
    kind: "line",
    key: "shortened",
    what: "info",
    text: t("The beginning of this long turn is shown as soon as the server answers."),
  };
  const words = turn.words.slice(0, most / 8);
  const bare: Turn = { ...turn, words, draft: "", parts: [line], round: 0, next: null };
  const end: Part[] = [];
  let room = most - sizeOf(bare);
  for (const part of turn.parts.toReversed()) {
    const fitting = fittingPart(part, room - 1);
    if (fitting === null) break;
    end.push(fitting);
    room -= sizeOf(fitting) + 1;
    if (fitting !== part) break;
  }
  return { ...bare, parts: [line, ...end.toReversed()] };
}

function fittingPart(part: Part, room: number): Part | null {
  if (sizeOf(part) <= room) return part;
  if (part.kind === "tool" || part.kind === "line") return null;
  const rest = room - sizeOf({ ...part, text: "" });
  return rest <= 0 ? null : { ...part, text: tail(part.text, rest) };
}

/** Returns the end of a text that takes `most` characters as JSON, from the beginning of a line. */
function tail(text: string, most: number): string {
  if (sizeOf(text) <= most) return text;
  let end = text.slice(-Math.floor(most));
  while (sizeOf(end) > most) end = end.slice(Math.ceil(end.length / 4));
  return end.slice(end.indexOf("\n") + 1);
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value).length;
}
