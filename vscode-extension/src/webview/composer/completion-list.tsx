/**
 * Draws the list above the composer: files for `@`, commands for `/`. The focus stays in the text.
 */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { FoundRow } from "../../shared/messages.ts";
import { Icon } from "../icon.tsx";
import { rowIcon, type ShownRow } from "./found-rows.ts";
import { marked } from "./fuzzy.ts";

export const LIST_ID = "composer-completions";

/** Returns the id of a row, for `aria-activedescendant`. */
export function rowId(index: number): string {
  return `${LIST_ID}-${index}`;
}

export interface CompletionListProps {
  readonly rows: readonly ShownRow[];
  readonly at: number;
  readonly label: string;
  readonly onChoose: (row: ShownRow) => void;
  readonly onHover: (index: number) => void;
}

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
