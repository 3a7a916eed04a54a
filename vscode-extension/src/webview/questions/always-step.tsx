/** The second step of the answer Always: shows exactly what would be stored, and asks again. */

import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import { visibleText } from "../../shared/visible.ts";
import { Early } from "./early.tsx";
import { Pieces } from "./pieces.tsx";
import { marked } from "./risky-parts.ts";

interface Props {
  readonly rule: string;
  readonly armed: boolean;
  /** The message about an early answer; see `Early`. */
  readonly early: string;
  readonly back: RefObject<HTMLButtonElement | null>;
  readonly cancel: () => void;
  readonly confirm: () => void;
}

export function AlwaysStep({ rule, armed, early, back, cancel, confirm }: Props) {
  useEffect(() => back.current?.focus(), []);
  return (
    <section class="always" aria-label={t("Always allow this")}>
      <p>
        {t(
          "Always allow exactly this in this workspace, without a question? It ends when a file that it runs changes, or when you take it back.",
        )}
      </p>
      <code class="asked-text always-rule">
        <Pieces pieces={marked(visibleText(rule, "command"), [])} />
      </code>
      <div class={armed ? "answers" : "answers waiting"}>
        <button ref={back} type="button" class="button" title={t("Back (Escape)")} onClick={cancel}>
          {t("Back")}
        </button>
        <button
          type="button"
          class="button secondary"
          aria-keyshortcuts="A"
          title={t("Always allow (A)")}
          onClick={confirm}
        >
          {t("Always allow")}
        </button>
        <Early words={early} />
      </div>
    </section>
  );
}
