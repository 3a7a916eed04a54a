/** A field that edits the text of a waiting prompt. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import { Icon } from "../icon.tsx";

interface QueueEditProps {
  readonly text: string;
  /**
   * The initial text of the field, which differs from the prompt's text if the user edited the
   * prompt before.
   */
  readonly begun: string;
  readonly changed: (text: string) => void;
  /** Called with the new text, or with null if the text did not change. */
  readonly onEnd: (text: string | null) => void;
  /** Called if the row disappeared during the edit. */
  readonly onLost: (text: string) => void;
}

export function QueueEdit({ text, begun, changed, onEnd, onLost }: QueueEditProps) {
  const box = useRef<HTMLTextAreaElement>(null);
  const typed = useRef(begun);
  const before = useRef(text);
  const ended = useRef(false);
  const lost = useRef(onLost);
  lost.current = onLost;
  const end = (words: string | null) => {
    ended.current = true;
    onEnd(words !== null && words.trim() !== "" && words !== text ? words : null);
  };
  useLayoutEffect(() => {
    const edited = box.current;
    edited?.focus();
    edited?.setSelectionRange(edited.value.length, edited.value.length);
    // If the prompt began or was removed during the edit, the edited text is kept.
    return () => {
      if (!ended.current && typed.current !== before.current) lost.current(typed.current);
    };
  }, []);
  return (
    <div class="queue-edit">
      <textarea
        ref={box}
        class="queue-text"
        dir="auto"
        rows={1}
        aria-label={t("Words of the waiting prompt. Enter saves them, Escape discards the change")}
        defaultValue={typed.current}
        onInput={(event) => {
          typed.current = event.currentTarget.value;
          changed(typed.current);
        }}
        onKeyDown={(event) => {
          if (event.isComposing || event.keyCode === 229) return;
          if (event.key === "Escape") end(null);
          else if (event.key === "Enter" && !event.shiftKey) end(typed.current);
          else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
      <button
        type="button"
        class="icon-button"
        title={t("Keep")}
        aria-label={t("Keep the change")}
        onClick={() => end(typed.current)}
      >
        <Icon name="check" />
      </button>
      <button
        type="button"
        class="icon-button"
        title={t("Drop the change")}
        aria-label={t("Drop the change")}
        onClick={() => end(null)}
      >
        <Icon name="close" />
      </button>
    </div>
  );
}
