/** Manages the completion list of one composer: asks the host, ignores late answers, tracks the chosen row. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { FoundRow } from "../../shared/messages.ts";
import type { Channel } from "../channel.ts";
import type { Post } from "../view-props.ts";
import { type CompletionToken, tokenAt } from "./completion-token.ts";
import { commandRows, mentionRows, type Offered, type ShownRow } from "./found-rows.ts";

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
