/**
 * Finds text in the conversation: Ctrl+F opens the bar, Enter and Shift+Enter go from match to
 * match, Escape closes it.
 */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import type { Row } from "../conversation/rows.ts";
import { Icon } from "../icon.tsx";
import { keepHighlights } from "./highlights.ts";
import { countWords, matchingRows, stepped } from "./matches.ts";

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
