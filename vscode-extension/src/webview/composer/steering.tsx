/** Shows steering text that waits for the turn's next step, so that nobody thinks it is lost. */
import { t } from "../../shared/l10n.ts";
import type { SteeringWords } from "./steering-words.ts";

export function Steering({ waiting }: { readonly waiting: readonly SteeringWords[] }) {
  if (waiting.length === 0) return null;
  return (
    <ul class="steering" aria-label={t("Words that the model gets at its next step")}>
      {waiting.map((one, index) => (
        <li key={`${index}:${one.words}`} title={one.words}>
          <span class="muted">{t("At the next step:")} </span>
          {one.words.split("\n", 1)[0]}
        </li>
      ))}
    </ul>
  );
}
