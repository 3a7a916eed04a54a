/**
 * The title of the session, which a click or F2 renames. New, history and more are in the view's
 * own toolbar.
 */

import { useRef, useState } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import { titleOf } from "../../shared/selectors.ts";
import type { ViewProps } from "../view-props.ts";
import { TitleField } from "./title-field.tsx";

export function Header({ state, post }: ViewProps) {
  const [renaming, setRenaming] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const { session } = state;
  const title = titleOf(state);
  // These pages have headings of their own.
  if (state.list !== null || state.mcp !== null || state.firstRun !== null) return null;
  // Screen readers go from heading to heading, and the page needs a first one.
  if (session === null || title === "")
    return (
      <header class="sr-only">
        <h1>Indwell</h1>
      </header>
    );
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
            dir="auto"
            title={t("{0}\nRename (F2)", title)}
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
