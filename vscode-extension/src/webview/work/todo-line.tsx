/** Shows the model's to-do list: one line that opens to the list. */
import { useState } from "preact/hooks";
import type { TodoRow } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import { Icon } from "../elements.tsx";
import type { ViewProps } from "../host/channel.ts";

/**
 * Returns `3 of 5` with the item that is being done or comes next, or an empty text if all items
 * are done.
 */
export function todoWords(rows: readonly TodoRow[]): {
  readonly count: string;
  readonly now: string;
} {
  const done = rows.filter((row) => row.state === "done").length;
  const now =
    rows.find((row) => row.state === "doing") ??
    rows.find((row) => row.state === "open" && waitsFor(row, rows) === "") ??
    rows.find((row) => row.state === "open");
  return { count: t("{0} of {1}", done, rows.length), now: now?.text ?? "" };
}

/**
 * Returns a text such as `waits for 1, 2`, with the unfinished items that must be done before this
 * item, or an empty text if there are none.
 */
export function waitsFor(row: TodoRow, rows: readonly TodoRow[]): string {
  if (row.state === "done") return "";
  const before = row.after.filter((number) => rows[number - 1]?.state !== "done");
  return before.length === 0 ? "" : t("waits for {0}", before.join(", "));
}

export function TodoLine({ state }: ViewProps) {
  const [open, setOpen] = useState(false);
  if (state.todo.length === 0) return null;
  const { count, now } = todoWords(state.todo);
  // Rows have numbers only if some row names a number.
  const isNumbered = state.todo.some((row) => row.after.length > 0);
  return (
    <section class="todo" aria-label={t("To do")}>
      <button type="button" class="todo-toggle" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? "chevron-down" : "chevron-right"} />
        <Icon name="checklist" />
        <span class="todo-count">{count}</span>
        {!open && now !== "" && (
          <span class="todo-now muted">
            · <bdi>{now}</bdi>
          </span>
        )}
      </button>
      {open && (
        <ol class="todo-list">
          {state.todo.map((row, index) => (
            <li key={`${index + 1}`} class={`todo-row ${row.state}`}>
              <Icon name={ICONS[row.state]} />
              <span class="todo-text" dir="auto">
                {isNumbered && <span class="todo-number">{index + 1}. </span>}
                {row.text}
              </span>
              <Waits words={waitsFor(row, state.todo)} />
              <span class="sr-only">, {WORDS[row.state]}</span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function Waits({ words }: { readonly words: string }) {
  return words === "" ? null : <span class="muted todo-waits">{words}</span>;
}

const ICONS: Readonly<Record<TodoRow["state"], string>> = {
  open: "circle-large",
  doing: "arrow-circle-right",
  done: "pass",
};

const WORDS: Readonly<Record<TodoRow["state"], string>> = {
  open: t("open"),
  doing: t("being done"),
  done: t("done"),
};
