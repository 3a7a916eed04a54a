/** The scrolling part of the panel: only visible rows are in the page. */

import type { ComponentChild } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";
import { plural, t } from "../../shared/l10n.ts";
import { RowLayout } from "./row-layout.ts";
import { type Row, turnKey } from "./rows.ts";
import { ScrollKeeper } from "./scroll-keeper.ts";

interface Props {
  readonly rows: readonly Row[];
  /** Rows before this index are the same as at the last rendering. */
  readonly changedFrom: number;
  /** A value that changes whenever there is new content at the end. */
  readonly newest: unknown;
  readonly draw: (row: Row) => ComponentChild;
  /** Called when content above the first row is needed. */
  readonly onTop: () => void;
  /** A row to scroll to, once for each object. */
  readonly target: { readonly key: string } | null;
  /** The number of the newest turn; if it grows, the user has sent a prompt and wants to see it. */
  readonly sent: number;
  readonly busy: boolean;
  /** Content below the last row. */
  readonly tail: ComponentChild;
}

/** Pixels between the top and a row that was searched for. */
const FOUND_BELOW = 60;

/** A list that stays in place where the user reads. */
export function ScrollList(props: Props) {
  const { rows, changedFrom, newest, draw, onTop, target, sent, busy, tail } = props;
  const [, again] = useReducer((count: number) => count + 1, 0);
  const element = useRef<HTMLDivElement>(null);
  const above = useRef<HTMLDivElement>(null);
  const below = useRef<HTMLDivElement>(null);
  const kept = useRef<ScrollKeeper | null>(null);
  kept.current ??= new ScrollKeeper(new RowLayout(), () => again(undefined));
  const keeper = kept.current;
  const unseen = useUnseen(newest, keeper.following);
  keeper.layout.setRows(rows, changedFrom);
  const shown = keeper.range();

  useEffect(
    () => (element.current === null ? undefined : keeper.attach(element.current)),
    [keeper],
  );
  useLayoutEffect(() => {
    if (above.current !== null && below.current !== null)
      keeper.drawn(shown, above.current, below.current);
    if (shown.first < 3) onTop();
  });
  useLayoutEffect(() => {
    if (target === null) return;
    const at = keeper.layout.indexOf(target.key, 0);
    if (at >= 0) keeper.toRow(at, FOUND_BELOW);
  }, [keeper, target]);
  const sentBefore = useRef(sent);
  useLayoutEffect(() => {
    if (sent > sentBefore.current) keeper.toEnd();
    sentBefore.current = sent;
  }, [keeper, sent]);

  return (
    <div class="conversation">
      {/* biome-ignore lint/a11y/useSemanticElements: a section has the same role, but no focus by the keys */}
      <div
        class="conversation-rows"
        data-part="scroller"
        role="region"
        aria-label={t("Conversation")}
        aria-busy={busy}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        tabIndex={0}
        ref={element}
        onKeyDown={(event) => jump(event, keeper)}
      >
        <div class="conversation-space" ref={above} />
        {articles(rows, shown.first, shown.last).map(({ key, label, first, inside }) => (
          <article key={key} class="turn" aria-label={label}>
            {inside.map((row, index) => (
              <div key={row.key} class={`turn-row turn-${row.kind}`} data-row={first + index}>
                {draw(row)}
              </div>
            ))}
          </article>
        ))}
        <div class="conversation-space" ref={below} />
        {tail}
      </div>
      {!keeper.following && (
        <button
          type="button"
          class={unseen ? "to-end unseen" : "to-end"}
          aria-label={unseen ? t("Go to the new output") : t("Go to the end")}
          title={unseen ? t("Go to the new output") : t("Go to the end")}
          onClick={() => keeper.toEnd()}
        >
          <span class="codicon codicon-arrow-down" aria-hidden="true" />
          {unseen && <span>{t("New output")}</span>}
        </button>
      )}
    </div>
  );
}

/** Returns whether new content came since the user left the end. */
function useUnseen(newest: unknown, following: boolean): boolean {
  const seen = useRef(newest);
  if (following) seen.current = newest;
  return seen.current !== newest;
}

interface Article {
  readonly key: string;
  readonly label: string;
  readonly first: number;
  readonly inside: readonly Row[];
}

/** Returns the visible rows, grouped by turns. */
function articles(rows: readonly Row[], first: number, last: number): readonly Article[] {
  const found: Article[] = [];
  for (let at = first; at < last; ) {
    const row = rows[at];
    if (row === undefined) break;
    let end = at + 1;
    while (end < last && rows[end]?.turn.number === row.turn.number) end += 1;
    const label =
      row.kind === "left"
        ? plural(row.turns.length, "{0} turn left behind", "{0} turns left behind")
        : t("Turn {0}", row.turn.number);
    found.push({ key: turnKey(row.turn), label, first: at, inside: rows.slice(at, end) });
    at = end;
  }
  return found;
}

/**
 * Handles Alt+Up and Alt+Down, which go from prompt to prompt, and End, which follows the newest
 * row.
 */
function jump(event: KeyboardEvent, keeper: ScrollKeeper): void {
  if (event.key === "End" && event.target === event.currentTarget) keeper.toEnd();
  if (!event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
  const step = event.key === "ArrowUp" ? -1 : 1;
  for (let at = keeper.topIndex + step; keeper.layout.row(at) !== undefined; at += step) {
    if (keeper.layout.row(at)?.kind !== "prompt") continue;
    keeper.toRow(at);
    event.preventDefault();
    return;
  }
}
