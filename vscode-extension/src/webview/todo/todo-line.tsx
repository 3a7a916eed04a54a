/** Shows the model's to-do list: one line that opens to the list. */

import { useState } from "preact/hooks";
import type { TodoRow } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import { Icon } from "../icon.tsx";
import type { ViewProps } from "../view-props.ts";
import { todoWords, waitsFor } from "./todo-words.ts";

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
