/**
 * The buttons of a permission question: No comes first; Always shows the rule that would be stored,
 * and asks once more.
 */

import type { RefObject } from "preact";
import { t } from "../../shared/l10n.ts";
import type { Offer } from "./answers.ts";
import { Early } from "./early.tsx";

interface Props {
  readonly offers: readonly Offer[];
  readonly armed: boolean;
  /** The message about an early answer; see `Early`. */
  readonly early: string;
  readonly sent: boolean;
  readonly no: RefObject<HTMLButtonElement | null>;
  readonly give: (offer: Offer) => void;
}

export function AnswerRow({ offers, armed, early, sent, no, give }: Props) {
  const blocked = offers.find((offer) => offer.blocked !== "")?.blocked ?? "";
  const keys = offers.map((offer) => offer.key).join(", ");
  return (
    <div class={armed && !sent ? "answers" : "answers waiting"}>
      {offers.map((offer) => (
        <button
          key={offer.answer}
          ref={offer.answer === "no" ? no : null}
          type="button"
          class={offer.answer === "no" ? "button" : "button secondary"}
          aria-disabled={offer.blocked !== "" || sent}
          aria-keyshortcuts={offer.key}
          title={offer.blocked === "" ? `${offer.label} (${offer.key})` : offer.blocked}
          onClick={() => give(offer)}
        >
          {offer.label}
        </button>
      ))}
      {blocked !== "" && <span class="muted answers-why">{blocked}</span>}
      <div class="muted answers-hint">
        <span class="hint-outside">{t("Shift+Tab leads here; then {0}", keys)}</span>
        <span class="hint-inside">
          {armed || sent ? t("Keys: {0}", keys) : t("Ready for keys in a moment")}
        </span>
        <Early words={sent ? "" : early} />
      </div>
    </div>
  );
}
