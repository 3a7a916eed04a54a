/**
 * The title of the session, which a click or F2 renames. New, history and more are in the view's
 * own toolbar.
 */
import { useRef, useState } from "preact/hooks";
import type { PanelState } from "../../shared/state.ts";
import type { ViewProps } from "../view-props.ts";
import { TitleField } from "./title-field.tsx";

export function Header({ state, post }: ViewProps) {
  const [renaming, setRenaming] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const { session } = state;
  const title = titleOf(state);
  if (
    session === null ||
    title === "" ||
    state.list !== null ||
    state.mcp !== null ||
    state.firstRun !== null
  )
    return null;
  const done = (typed: string | null) => {
    setRenaming(false);
    if (typed !== null && typed !== title) post({ type: "renameSession", session, title: typed });
    requestAnimationFrame(() => button.current?.focus());
  };
  return (
    <header class="panel-header">
      {renaming ? (
        <TitleField title={title} done={done} />
      ) : (
        <h1>
          <button
            ref={button}
            type="button"
            class="header-title"
            title={`${title}\nRename (F2)`}
            onClick={() => setRenaming(true)}
            onKeyDown={(event) => event.key === "F2" && setRenaming(true)}
          >
            {title}
          </button>
        </h1>
      )}
    </header>
  );
}

/**
 * Returns the server's title; for a session that is only shown for reading, the beginning of its
 * first prompt.
 */
function titleOf(state: PanelState): string {
  const said = state.status?.session === state.session ? (state.status?.title ?? "") : "";
  const first = state.turns[0];
  if (said === "" && state.title !== "") return state.title;
  return said !== "" ? said : (first?.title || first?.words.split("\n")[0] || "").slice(0, 120);
}
