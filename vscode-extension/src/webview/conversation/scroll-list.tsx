/**
 * The scrolling part of the panel: only visible rows are in the page. Keeps the text that the user
 * reads in place while rows above and below change, and follows the end of the conversation only
 * while the user is there.
 */
import type { ComponentChild } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";
import { plural, t } from "../../shared/l10n.ts";
import { type Range, type Row, RowLayout, turnKey } from "./rows.ts";

/** At this distance or less, in pixels, the list counts as scrolled to the end. */
const NEAR_END = 24;
/** Rows at this distance or less outside of the view are drawn, too. */
const OVERSCAN = 600;
/** The maximum number of rows that are kept in the page for the selection or the focus. */
const MOST_KEPT = 400;

/**
 * Keeps the text that the user reads in place while rows above and below change, and follows the
 * end of the conversation only while the user is there. Measures rows as they change. All scrolling
 * is done in this module, which is independent of Preact.
 */
class ScrollKeeper {
  readonly layout: RowLayout;
  /** Called when other rows become visible, and when the user reaches or leaves the end. */
  readonly #changed: () => void;
  readonly #sizes = new ResizeObserver((entries) => this.#resized(entries));
  readonly #watched = new Set<Element>();
  #element: HTMLElement | null = null;
  #above: HTMLElement | null = null;
  #below: HTMLElement | null = null;
  #shown: Range = { first: 0, last: 0 };
  #anchor: { readonly key: string; readonly index: number; readonly offset: number } | null = null;
  #lastTop = 0;
  #selecting = false;
  following = true;

  constructor(layout: RowLayout, changed: () => void) {
    this.layout = layout;
    this.#changed = changed;
  }

  /** Attaches to a scrolling element; returns a function that detaches. */
  attach(element: HTMLElement): () => void {
    this.#element = element;
    const scrolled = () => this.#scrolled();
    const wheel = (event: WheelEvent) => {
      if (event.deltaY < 0 && element.scrollTop > 0) this.#follow(false);
    };
    // The selection is read only when it changes, because reading it forces a layout of the page.
    const selected = () => {
      this.#selecting = isSelecting(element);
      if (this.#selecting) this.#follow(false);
    };
    document.addEventListener("selectionchange", selected);
    element.addEventListener("scroll", scrolled, { passive: true });
    element.addEventListener("wheel", wheel, { passive: true });
    this.#sizes.observe(element);
    return () => {
      document.removeEventListener("selectionchange", selected);
      element.removeEventListener("scroll", scrolled);
      element.removeEventListener("wheel", wheel);
      this.#sizes.disconnect();
      this.#watched.clear();
      this.#element = null;
    };
  }

  /** Return the rows to draw now. */
  range(): Range {
    const height = this.#element?.clientHeight ?? 800;
    const top = this.following ? this.layout.height - height : this.#anchoredTop();
    const wanted = this.layout.range(Math.max(0, top - OVERSCAN), top + height + OVERSCAN);
    return this.#keeping(wanted);
  }

  /** Watch the drawn rows after drawing, and correct the scroll position. */
  drawn(shown: Range, above: HTMLElement, below: HTMLElement): void {
    this.#shown = shown;
    this.#above = above;
    this.#below = below;
    this.#watch();
    this.#space();
    this.#restore();
  }

  /**
   * Follows the end from now on; clears the selection, because a selection keeps the list in place.
   */
  toEnd(): void {
    if (this.#selecting) document.getSelection()?.removeAllRanges();
    this.#follow(true);
    this.#changed();
    this.#restore();
  }

  /** Scroll a row to the top, or `below` pixels below the top. */
  toRow(index: number, below = 0): void {
    const row = this.layout.row(index);
    if (row === undefined) return;
    this.#follow(false);
    this.#anchor = { key: row.key, index, offset: -below };
    this.#changed();
    this.#restore();
  }

  /**
   * Scrolls to the nearest prompt above (`step` -1) or below (1) the top edge of the view; returns
   * false if there is none.
   */
  toPrompt(step: 1 | -1): boolean {
    const top = this.#element?.scrollTop ?? 0;
    const { layout } = this;
    for (let at = layout.at(top); layout.row(at) !== undefined; at += step) {
      // The scroll position is rounded, so a prompt at the edge can seem to be up to a pixel away.
      if (layout.row(at)?.kind !== "prompt" || step * (layout.top(at) - top) <= 1) continue;
      this.toRow(at);
      return true;
    }
    return false;
  }

  #watch(): void {
    const rows = new Set<Element>(this.#element?.querySelectorAll("[data-row]"));
    for (const gone of this.#watched) {
      if (rows.has(gone)) continue;
      this.#sizes.unobserve(gone);
      this.#watched.delete(gone);
    }
    for (const row of rows) {
      if (this.#watched.has(row)) continue;
      this.#watched.add(row);
      this.#sizes.observe(row);
    }
  }

  #resized(entries: readonly ResizeObserverEntry[]): void {
    let other = false;
    for (const entry of entries) {
      if (entry.target === this.#element) {
        other = true;
        continue;
      }
      const index = Number(entry.target.getAttribute("data-row"));
      const height = entry.borderBoxSize[0]?.blockSize ?? entry.contentRect.height;
      if (entry.target.isConnected && this.layout.measure(index, height)) other = true;
    }
    if (!other) return;
    this.#space();
    this.#restore();
    const { first, last } = this.range();
    if (first < this.#shown.first || last > this.#shown.last) this.#changed();
  }

  #space(): void {
    const { layout } = this;
    if (this.#above !== null) this.#above.style.height = `${layout.top(this.#shown.first)}px`;
    const below = layout.height - layout.top(this.#shown.last);
    if (this.#below !== null) this.#below.style.height = `${below}px`;
  }

  #anchoredTop(): number {
    const anchor = this.#anchor;
    const now = this.#element?.scrollTop ?? 0;
    if (anchor === null) return now;
    const index = this.layout.indexOf(anchor.key, anchor.index);
    return index < 0 ? now : this.layout.top(index) + anchor.offset;
  }

  #restore(): void {
    const element = this.#element;
    if (element === null) return;
    const target = this.following
      ? element.scrollHeight - element.clientHeight
      : this.#anchoredTop();
    if (Math.abs(element.scrollTop - target) > 0.5) element.scrollTop = target;
    this.#lastTop = element.scrollTop;
    this.#rejoin(element);
    if (this.#anchor === null || this.following) this.#takeAnchor();
  }

  /** Follows the end again if the list shrank so much that nothing can be scrolled any more. */
  #rejoin(element: HTMLElement): void {
    if (this.following || this.#selecting) return;
    if (element.scrollHeight - element.clientHeight < NEAR_END) this.#follow(true);
  }

  #scrolled(): void {
    const element = this.#element;
    if (element === null) return;
    const top = element.scrollTop;
    if (Math.abs(top - this.#lastTop) < 1) return;
    const isUp = top < this.#lastTop;
    this.#lastTop = top;
    this.#takeAnchor();
    const left = element.scrollHeight - top - element.clientHeight;
    if (left < NEAR_END && !isUp) this.#follow(true);
    else if (isUp && left >= 1) this.#follow(false);
    const { first, last } = this.range();
    if (first < this.#shown.first || last > this.#shown.last || top < OVERSCAN) this.#changed();
  }

  #takeAnchor(): void {
    const top = this.#element?.scrollTop ?? 0;
    const index = this.layout.at(top);
    const row = this.layout.row(index);
    this.#anchor =
      row === undefined ? null : { key: row.key, index, offset: top - this.layout.top(index) };
  }

  #follow(following: boolean): void {
    if (this.following === following) return;
    this.following = following;
    this.#takeAnchor();
    this.#changed();
  }

  /** Returns the range, extended by the rows of the selection and of the focus. */
  #keeping(range: Range): Range {
    let { first, last } = range;
    for (const index of this.#held()) {
      if (index < first && first - index < MOST_KEPT) first = index;
      if (index >= last && index - last < MOST_KEPT) last = index + 1;
    }
    return { first, last };
  }

  #held(): readonly number[] {
    const element = this.#element;
    if (element === null) return [];
    const selection = document.getSelection();
    const ends = [selection?.anchorNode ?? null, selection?.focusNode ?? null];
    return [...ends, document.activeElement].flatMap((node) => {
      if (node === null || node === element || !element.contains(node)) return [];
      const inner = node instanceof Element ? node : node.parentElement;
      const row = inner?.closest("[data-row]")?.getAttribute("data-row");
      return row === null || row === undefined ? [] : [Number(row)];
    });
  }
}

/**
 * Returns whether text inside an element is selected, so that the text must not move under the
 * pointer.
 */
function isSelecting(element: HTMLElement | null): boolean {
  const selection = document.getSelection();
  return (
    selection !== null && !selection.isCollapsed && element?.contains(selection.anchorNode) === true
  );
}

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
  /**
   * The number of the newest turn plus the number of prompts that wait for their turn; if it grows,
   * the user has sent a prompt and wants to see it.
   */
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
  if (keeper.toPrompt(event.key === "ArrowUp" ? -1 : 1)) event.preventDefault();
}
