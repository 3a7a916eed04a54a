/** Shows the plan while it is carried out or revised: one line that opens to the plan's text. */

import { useState } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import { runningTurn } from "../../shared/selectors.ts";
import type { PanelState } from "../../shared/state.ts";
import { Icon } from "../icon.tsx";
import { Markdown } from "../markdown/markdown.tsx";
import type { ViewProps } from "../view-props.ts";

export function PlanLine({ state, post }: ViewProps) {
  const [open, setOpen] = useState(false);
  const words = planWords(state);
  if (state.plan === null || words === "") return null;
  return (
    <section class="todo" aria-label={t("Plan")}>
      <button type="button" class="todo-toggle" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? "chevron-down" : "chevron-right"} />
        <Icon name="list-ordered" />
        <span>{words}</span>
      </button>
      {open && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        <section class="plan-text" tabIndex={0} aria-label={t("Text of the plan")}>
          <Markdown text={state.plan.text} final post={post} />
        </section>
      )}
    </section>
  );
}

/**
 * Returns the line's text, or an empty text if the conversation shows the plan or the plan is
 * finished.
 */
function planWords(state: PanelState): string {
  if (state.plan?.state === "approved") return t("Plan approved");
  const isHidden = state.plan?.state === "proposed" && runningTurn(state) !== undefined;
  return isHidden ? t("Plan not approved yet") : "";
}
