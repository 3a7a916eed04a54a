/** Shows the session's cost; shows nothing if the cost is unknown or zero. */
import { costFigure } from "../../shared/figures.ts";
import { sessionCost } from "../../shared/selectors.ts";
import type { PanelState } from "../../shared/state.ts";

export function Cost({ state }: { readonly state: PanelState }) {
  const cost = sessionCost(state);
  const session = costFigure(cost);
  const turn = state.turns.at(-1);
  const title = [
    `This session: ${session}`,
    turn === undefined ? "" : `Newest turn: ${costFigure(turn.cost) ?? "not known"}`,
  ];
  if (session === null || cost === 0) return null;
  return (
    <span class="cost figure" title={title.filter((line) => line !== "").join("\n")}>
      <span class="sr-only">Cost of the session: </span>
      {session}
    </span>
  );
}
