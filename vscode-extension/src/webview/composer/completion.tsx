/**
 * Completes `@` and `/`: finds the token at the caret, asks the host, chooses the rows, best first,
 * and draws the list above the composer. The focus stays in the text.
 */
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ModelRow } from "../../protocol.ts";
import { COMMANDS } from "../../shared/commands.ts";
import { type FoundRow, mentionQuery } from "../../shared/messages.ts";
import { AUTO, effortWords, modeWords } from "../../shared/words.ts";
import { Icon } from "../elements.tsx";
import type { Channel, Post } from "../host/channel.ts";
import { modelWords } from "./pickers.tsx";

/**
 * A token: `start` and `end` are UTF-16 offsets of the whole token; `query` is the token without
 * its first sign.
 */
interface CompletionToken {
  readonly what: "@" | "/";
  readonly start: number;
  readonly end: number;
  readonly query: string;
}

/** A longer word, in characters, is not completed. */
const LONGEST = 200;

/**
 * Returns the token that ends at the caret, or null if there is no token. `@` begins a token only
 * at the start of a word, `/` only as the very first character of the text (a command may have one
 * value after a blank).
 */
export function tokenAt(text: string, caret: number): CompletionToken | null {
  const before = text.slice(Math.max(0, caret - LONGEST), caret);
  if (/^\/[^\s/]*(?: [^\s]*)?$/.test(before) && caret <= LONGEST) {
    return { what: "/", start: 0, end: caret, query: before.slice(1) };
  }
  const mention = /(?:^|[\s([{"'`])@([^\s@]*)$/.exec(before);
  if (mention === null) return null;
  const query = mention[1] ?? "";
  return { what: "@", start: caret - query.length - 1, end: caret, query };
}

/** A match: a higher `score` is better, and `at` has the positions of the found letters. */
interface FuzzyMatch {
  readonly score: number;
  readonly at: readonly number[];
}

/**
 * Matches if `label` contains all letters of `query` in order, ignoring case. Consecutive letters
 * rank above scattered letters, and beginnings of words above middles.
 */
export function fuzzy(query: string, label: string): FuzzyMatch | null {
  const wanted = query.toLowerCase();
  const text = label.toLowerCase();
  if (wanted === "") return { score: 0, at: [] };
  const run = bestRun(wanted, text);
  if (run !== -1) {
    const at = Array.from(wanted, (_, index) => run + index);
    return { score: 100 + (beginsWord(text, run) ? 50 : 0) - run / 100, at };
  }
  const at: number[] = [];
  let score = 0;
  let from = 0;
  for (const letter of wanted) {
    const place = text.indexOf(letter, from);
    if (place === -1) return null;
    score += beginsWord(text, place) ? 8 : place === from && at.length > 0 ? 4 : 1;
    at.push(place);
    from = place + letter.length;
  }
  return { score: score - text.length / 1000, at };
}

/** Splits `label` into parts, with the matches marked. */
export function marked(
  label: string,
  at: readonly number[],
): readonly { readonly text: string; readonly hit: boolean }[] {
  const hits = new Set(at);
  const pieces: { text: string; hit: boolean }[] = [];
  for (let index = 0; index < label.length; index += 1) {
    const hit = hits.has(index);
    const last = pieces.at(-1);
    if (last?.hit === hit) last.text += label[index];
    else pieces.push({ text: label[index] ?? "", hit });
  }
  return pieces;
}

/**
 * Returns the position of a match at the beginning of a word. If there is none, returns the last
 * match, which is most likely in the name at the end of a path, or -1 without any match.
 */
function bestRun(wanted: string, text: string): number {
  for (let place = text.indexOf(wanted); place !== -1; place = text.indexOf(wanted, place + 1)) {
    if (beginsWord(text, place)) return place;
  }
  return text.lastIndexOf(wanted);
}

function beginsWord(text: string, place: number): boolean {
  return place === 0 || !/[\p{L}\p{N}]/u.test(text[place - 1] ?? "");
}

/**
 * The maximum number of rows of a list that the webview makes; the host limits the rows that it
 * sends.
 */
const MOST_ROWS = 50;

/** A row with the matched positions of its label. */
export interface ShownRow {
  readonly row: FoundRow;
  readonly at: readonly number[];
}

/** The arguments offered for a command. */
interface Offered {
  readonly modes: readonly string[];
  readonly models: readonly ModelRow[];
  readonly efforts: readonly string[];
}

/**
 * Returns the host's rows for `@`, in the host's order, with the positions that match the typed
 * text.
 */
export function mentionRows(found: readonly FoundRow[], typed: string): readonly ShownRow[] {
  const { query } = mentionQuery(typed);
  return found.slice(0, MOST_ROWS).map((row) => ({ row, at: fuzzy(query, row.label)?.at ?? [] }));
}

/** Returns commands, values for `/mode `, `/model ` and `/effort `, and skills from the host. */
export function commandRows(
  query: string,
  offered: Offered,
  found: readonly FoundRow[],
): readonly ShownRow[] {
  const space = query.indexOf(" ");
  if (space !== -1)
    return ranked(query.slice(space + 1), valueRows(query.slice(0, space), offered));
  const own = COMMANDS.map(
    (one): FoundRow => ({
      kind: "command",
      label: `/${one.name}`,
      detail: one.detail,
      value: `/${one.name}`,
    }),
  );
  const names = new Set(own.map((row) => row.value));
  return ranked(query, [...own, ...found.filter((row) => !names.has(row.value))]);
}

function valueRows(command: string, offered: Offered): readonly FoundRow[] {
  const row = (label: string, detail: string): FoundRow => ({
    kind: "command",
    label,
    detail,
    value: `/${command} ${label}`,
  });
  if (command === "mode") return offered.modes.map((mode) => row(mode, modeWords(mode)));
  if (command === "model") return offered.models.map((model) => row(model.name, modelWords(model)));
  if (command === "effort")
    return [AUTO, ...offered.efforts].map((one) => row(one, effortWords(one)));
  const values = COMMANDS.find((one) => one.name === command)?.values;
  return Array.isArray(values) ? values.map((verb) => row(verb.name, verb.detail)) : [];
}

function ranked(query: string, rows: readonly FoundRow[]): readonly ShownRow[] {
  const matches = rows.flatMap((row) => {
    const match = fuzzy(query, row.label);
    return match === null ? [] : [{ row, at: match.at, score: match.score }];
  });
  return matches
    .toSorted((left, right) => right.score - left.score)
    .slice(0, MOST_ROWS)
    .map(({ row, at }) => ({ row, at }));
}

/** Returns the codicon for a kind of row. */
function rowIcon(kind: FoundRow["kind"]): string {
  switch (kind) {
    case "file":
      return "file";
    case "folder":
      return "folder";
    case "symbol":
      return "symbol-method";
    case "problems":
      return "warning";
    case "changes":
      return "source-control";
    case "selection":
      return "selection";
    case "narrow":
      return "search";
    case "resource":
      return "database";
    case "terminal":
      return "terminal";
    case "command":
      return "chevron-right";
    case "skill":
      return "lightbulb";
    default:
      return kind satisfies never;
  }
}

/** Milliseconds between the last key and the request to the host. */
const ASK_AFTER = 40;

export interface Completion {
  readonly rows: readonly ShownRow[];
  readonly at: number;
  readonly token: CompletionToken | null;
  readonly open: boolean;
  readonly look: (text: string, caret: number) => void;
  /** Called when the user closes this list. */
  readonly close: () => void;
  /** Called when a row was chosen, or the text was sent. */
  readonly done: () => void;
  readonly move: (by: number) => void;
  readonly point: (index: number) => void;
}

interface Found {
  readonly what: "@" | "/";
  readonly rows: readonly FoundRow[];
}

const NOTHING: Found = { what: "@", rows: [] };

/**
 * Manages the completion list of one composer: asks the host, ignores late answers, tracks the
 * chosen row.
 */
export function useCompletion(channel: Channel, post: Post, offered: Offered): Completion {
  const [token, setToken] = useState<CompletionToken | null>(null);
  const [found, setFound] = useState<Found>(NOTHING);
  const [at, setAt] = useState(0);
  // The start of the token whose list the user closed; the list stays closed while the user types
  // in this token.
  const closed = useRef<number | null>(null);
  const asked = useRef<{ id: number; what: "@" | "/" } | null>(null);
  const next = useRef(1);

  useEffect(
    () =>
      channel.onFound((id, rows) => {
        if (asked.current?.id !== id) return;
        setFound({ what: asked.current.what, rows });
        setAt(0);
      }),
    [channel],
  );

  const what = token?.what;
  const query = token?.query;
  useEffect(() => {
    if (what === undefined || query === undefined) {
      asked.current = null;
      return;
    }
    // From now on, answers to earlier requests are ignored.
    const id = next.current++;
    asked.current = { id, what };
    const timer = setTimeout(() => post({ type: "find", id, what, query }), ASK_AFTER);
    return () => clearTimeout(timer);
  }, [what, query, post]);

  const look = useCallback((text: string, caret: number) => {
    const here = tokenAt(text, caret);
    if (here === null || here.start !== closed.current) closed.current = null;
    const shown = closed.current === null ? here : null;
    setToken((before) => (sameToken(before, shown) ? before : shown));
    setAt(0);
  }, []);
  const done = () => {
    closed.current = null;
    setToken(null);
    setFound(NOTHING);
  };
  const close = () => {
    done();
    closed.current = token?.start ?? null;
  };

  const rows = rowsOf(token, found, offered);
  const row = Math.min(at, Math.max(0, rows.length - 1));
  const move = (by: number) => setAt((((row + by) % rows.length) + rows.length) % rows.length);
  return { rows, at: row, token, open: rows.length > 0, look, close, done, move, point: setAt };
}

function rowsOf(
  token: CompletionToken | null,
  found: Found,
  offered: Offered,
): readonly ShownRow[] {
  if (token === null) return [];
  const rows = found.what === token.what ? found.rows : [];
  return token.what === "@"
    ? mentionRows(rows, token.query)
    : commandRows(token.query, offered, rows);
}

function sameToken(left: CompletionToken | null, right: CompletionToken | null): boolean {
  return (
    left?.what === right?.what &&
    left?.start === right?.start &&
    left?.end === right?.end &&
    left?.query === right?.query
  );
}

export const LIST_ID = "composer-completions";

/** Returns the id of a row, for `aria-activedescendant`. */
export function rowId(index: number): string {
  return `${LIST_ID}-${index}`;
}

interface CompletionListProps {
  readonly rows: readonly ShownRow[];
  readonly at: number;
  readonly label: string;
  readonly onChoose: (row: ShownRow) => void;
  readonly onHover: (index: number) => void;
}

/**
 * Draws the list above the composer: files for `@`, commands for `/`. The focus stays in the text.
 */
export function CompletionList({ rows, at, label, onChoose, onHover }: CompletionListProps) {
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    list.current?.querySelector("[aria-selected='true']")?.scrollIntoView({ block: "nearest" });
  });
  const icons = rows.every((shown) => shown.row.kind !== "command");
  return (
    <div
      ref={list}
      id={LIST_ID}
      class={icons ? "completions" : "completions commands"}
      role="listbox"
      aria-label={label}
    >
      {rows.map((shown, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the text box has the focus and its keys choose
        <div
          key={`${shown.row.kind}:${shown.row.value}`}
          id={rowId(index)}
          class="completion"
          role="option"
          tabIndex={-1}
          aria-selected={index === at}
          title={shown.row.detail}
          // The text keeps the focus, which a click would otherwise move.
          onPointerDown={(event) => event.preventDefault()}
          onPointerMove={() => index !== at && onHover(index)}
          onClick={() => onChoose(shown)}
        >
          {icons && <Icon name={rowIcon(shown.row.kind)} />}
          <span class="completion-name">
            {marked(shown.row.label, shown.at).map((piece, place) =>
              piece.hit ? <b key={place}>{piece.text}</b> : <span key={place}>{piece.text}</span>,
            )}
          </span>
          <Detail row={shown.row} />
        </div>
      ))}
    </div>
  );
}

function Detail({ row }: { readonly row: FoundRow }) {
  if (row.detail === "" || row.detail === row.label) return null;
  return (
    <>
      <span class="sr-only">, </span>
      <span class="completion-detail">{row.detail}</span>
    </>
  );
}
