/**
 * Finds text in the conversation, including rows that are not drawn: Ctrl+F opens the bar, Enter
 * and Shift+Enter go from match to match, Escape closes it.
 */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import { Icon } from "../elements.tsx";
import type { Row } from "./rows.ts";

/**
 * Returns the keys of all rows whose text contains the words, ignoring case; an empty list if there
 * are no words.
 */
export function matchingRows(rows: readonly Row[], words: string): readonly string[] {
  const wanted = words.toLowerCase();
  if (wanted === "") return [];
  return rows.flatMap((row) => (textOf(row).toLowerCase().includes(wanted) ? [row.key] : []));
}

/**
 * Returns the index of the match next to `current` (-1 means that no match is chosen yet), with
 * wrap-around.
 */
export function stepped(current: number, count: number, by: 1 | -1): number {
  if (count === 0) return -1;
  if (current < 0) return by === 1 ? 0 : count - 1;
  return (current + by + count) % count;
}

/**
 * Returns a text such as `2 of 5`; it also says whether turns that were not fetched may have more
 * matches.
 */
export function countWords(current: number, count: number, hasOlder: boolean): string {
  if (count === 0) return hasOlder ? t("No results in the turns shown") : t("No results");
  return hasOlder
    ? t("{0} of {1} in the turns shown", current + 1, count)
    : t("{0} of {1}", current + 1, count);
}

/** Returns the text of the row that a user sees. */
function textOf(row: Row): string {
  switch (row.kind) {
    case "prompt":
      return row.turn.words === "" ? row.turn.title : row.turn.words;
    case "end":
      return `${row.turn.message}\n${row.turn.verified}`;
    case "left":
      return "";
    case "part":
      return row.part.kind === "tool" ? `${row.part.target}\n${row.part.message}` : row.part.text;
    default:
      return row satisfies never;
  }
}

const ALL = "indwell-find";
const CURRENT = "indwell-find-current";

/**
 * Updates the highlights in `root` while rows come and go; the returned function removes them.
 * `row` has the index of the current row.
 */
function keepHighlights(root: Element, words: string, row: () => number | null): () => void {
  if (words === "" || CSS.highlights === undefined) return () => undefined;
  let frame = 0;
  const paint = (): void => {
    frame = 0;
    const here: Range[] = [];
    const others: Range[] = [];
    const current = row();
    for (const drawn of root.querySelectorAll("[data-row]")) {
      const isCurrent = Number(drawn.getAttribute("data-row")) === current;
      (isCurrent ? here : others).push(...rangesIn(drawn, words.toLowerCase()));
    }
    CSS.highlights.set(ALL, new Highlight(...others));
    CSS.highlights.set(CURRENT, new Highlight(...here));
  };
  const later = (): void => {
    if (frame === 0) frame = requestAnimationFrame(paint);
  };
  const changes = new MutationObserver(later);
  changes.observe(root, { childList: true, subtree: true, characterData: true });
  later();
  return () => {
    changes.disconnect();
    cancelAnimationFrame(frame);
    CSS.highlights.delete(ALL);
    CSS.highlights.delete(CURRENT);
  };
}

/**
 * Returns the ranges of the words in the text of an element; words across two elements are not
 * highlighted.
 */
function rangesIn(element: Element, words: string): readonly Range[] {
  const found: Range[] = [];
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const text = node.nodeValue?.toLowerCase() ?? "";
    for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + words.length)) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + words.length);
      found.push(range);
    }
  }
  return found;
}

interface Props {
  readonly rows: readonly Row[];
  /** Whether the host has earlier turns. */
  readonly hasOlder: boolean;
  readonly isLoading: boolean;
  readonly older: () => void;
  /** Shows a row. */
  readonly goTo: (key: string) => void;
  readonly close: () => void;
}

/**
 * Finds text in the conversation: Ctrl+F opens the bar, Enter and Shift+Enter go from match to
 * match, Escape closes it.
 */
export function FindBar({ rows, hasOlder, isLoading, older, goTo, close }: Props) {
  const [words, setWords] = useState("");
  const [chosen, setChosen] = useState<string | null>(null);
  const bar = useRef<HTMLElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const keys = matchingRows(rows, words);
  const place = chosen === null ? -1 : keys.indexOf(chosen);
  const current = useRef<number | null>(null);
  current.current = chosen === null ? null : rows.findIndex((row) => row.key === chosen);

  useLayoutEffect(() => field.current?.focus(), []);
  useEffect(() => {
    const list = bar.current?.parentElement?.querySelector("[data-part=scroller]") ?? null;
    return list === null ? undefined : keepHighlights(list, words, () => current.current);
  }, [words, chosen]);

  const show = (key: string | undefined) => {
    setChosen(key ?? null);
    if (key !== undefined) goTo(key);
  };
  const step = (by: 1 | -1) => show(keys[stepped(place, keys.length, by)]);
  const typed = (text: string) => {
    setWords(text);
    // The newest match comes first, because the user reads there.
    show(matchingRows(rows, text).at(-1));
  };
  return (
    <search ref={bar} class="find-bar" aria-label={t("Find in the conversation")}>
      <input
        ref={field}
        class="field"
        type="text"
        placeholder={t("Find")}
        aria-label={t("Find in the conversation")}
        value={words}
        onInput={(event) => typed(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.isComposing) return;
          if (event.key === "Escape") close();
          if (event.key === "Enter") step(event.shiftKey ? 1 : -1);
        }}
      />
      <span class="find-count" aria-live="polite">
        {words === "" ? "" : countWords(place, keys.length, hasOlder)}
      </span>
      {hasOlder && words !== "" && (
        <button type="button" class="link-button" disabled={isLoading} onClick={older}>
          {isLoading ? t("Loading…") : t("Load earlier turns")}
        </button>
      )}
      <Step icon="arrow-up" words={t("Previous place (Enter)")} press={() => step(-1)} />
      <Step icon="arrow-down" words={t("Next place (Shift+Enter)")} press={() => step(1)} />
      <Step icon="close" words={t("Close (Escape)")} press={close} />
    </search>
  );
}

function Step(props: {
  readonly icon: string;
  readonly words: string;
  readonly press: () => void;
}) {
  return (
    <button
      type="button"
      class="icon-button"
      title={props.words}
      aria-label={props.words}
      onClick={props.press}
    >
      <Icon name={props.icon} />
    </button>
  );
}
