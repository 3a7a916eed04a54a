/** A form for an optional comment on a rejected plan. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import type { KeptWords } from "../kept-words.ts";

interface Props {
  readonly kept: KeptWords;
  /** The key of the text that was typed before. */
  readonly draft: string;
  readonly waits: boolean;
  /** Called with the comment, or with null if the user wrote no comment. */
  readonly reject: (words: string | null) => void;
  readonly close: () => void;
}

export function RejectForm({ kept, draft, waits, reject, close }: Props) {
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(kept.draft(draft) ?? "");
  useLayoutEffect(() => field.current?.focus(), []);
  const back = () => {
    kept.keepDraft(draft, null);
    close();
  };
  return (
    <form
      class="plan-reject"
      onSubmit={(event) => {
        event.preventDefault();
        reject(text.trim() === "" ? null : text);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.isComposing) return;
        event.stopPropagation();
        back();
      }}
    >
      <input
        ref={field}
        class="field"
        type="text"
        value={text}
        aria-label={t("What should be different")}
        placeholder={t("What should be different? (optional)")}
        onInput={(event) => {
          setText(event.currentTarget.value);
          kept.keepDraft(draft, event.currentTarget.value);
        }}
      />
      <div class="button-row">
        <button type="submit" class="button" aria-disabled={waits}>
          {t("Reject")}
        </button>
        <button type="button" class="button secondary" onClick={back}>
          {t("Back")}
        </button>
      </div>
    </form>
  );
}
