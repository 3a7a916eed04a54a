/** Shows the session's cost; shows nothing if the cost is unknown or zero. */

import { costFigure } from "../../shared/figures.ts";
import { t } from "../../shared/l10n.ts";
import { sessionCost } from "../../shared/selectors.ts";
import type { PanelState } from "../../shared/state.ts";

export function Cost({ state }: { readonly state: PanelState }) {
  const cost = sessionCost(state);
  const session = costFigure(cost);
  const turn = state.turns.at(-1);
  const title = [
    t("This session: {0}", session ?? ""),
    turn === undefined ? "" : t("Newest turn: {0}", costFigure(turn.cost) ?? t("not known")),
  ];
  if (session === null || cost === 0) return null;
  return (
    <span class="cost figure" title={title.filter((line) => line !== "").join("\n")}>
      <span class="sr-only">{t("Cost of the session:")} </span>
      {session}
    </span>
  );
}
