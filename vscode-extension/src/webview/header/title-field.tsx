/**
 * A field for a session's title: Enter or leaving the field saves the title, Escape discards it.
 */

import { useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../../shared/l10n.ts";

interface Props {
  readonly title: string;
  /** Called once, with the typed text or null. */
  readonly done: (typed: string | null) => void;
}

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
