/**
 * The title of the session, which a click or F2 renames. New, history and more are in the view's
 * own toolbar.
 */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import { titleOf } from "../../shared/state/selectors.ts";
import type { ViewProps } from "../host/channel.ts";

interface Props {
  readonly title: string;
  /** Called once, with the typed text or null. */
  readonly done: (typed: string | null) => void;
}

/**
 * A field for a session's title: Enter or leaving the field saves the title, Escape discards it.
 */
export function TitleField({ title, done }: Props) {
  const field = useRef<HTMLInputElement>(null);
  const ended = useRef(false);
  // The focus must move before the user presses the next key, which is meant for the field.
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, []);
  const end = (typed: string | null) => {
    if (ended.current) return;
    ended.current = true;
    done(typed);
  };
  return (
    <input
      ref={field}
      class="field"
      dir="auto"
      type="text"
      maxLength={200}
      aria-label={t("Title of the session")}
      defaultValue={title}
      onBlur={(event) => end(event.currentTarget.value.trim())}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.isComposing) return;
        if (event.key === "Enter") end(event.currentTarget.value.trim());
        if (event.key === "Escape") end(null);
      }}
    />
  );
}

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
