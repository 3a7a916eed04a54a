/** Shows a proposed plan below its turn, with the buttons for a decision. */

import { useState } from "preact/hooks";
import type { PlanResult } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import type { Channel } from "../channel.ts";
import { usePressOnce } from "../press-once.ts";
import type { Post } from "../view-props.ts";
import { PlanText } from "./plan-text.tsx";
import { RejectForm } from "./reject-form.tsx";

interface Props {
  readonly plan: PlanResult;
  readonly post: Post;
  readonly channel: Channel;
}

export function PlanCard({ plan, post, channel }: Props) {
  const [isRejecting, setRejecting] = useState(channel.kept.draft(REJECTION) !== null);
  const once = usePressOnce(plan);
  const say = (action: "approve" | "reject", words: string | null) =>
    once.press(() => {
      channel.kept.keepDraft(REJECTION, null);
      post({ type: "plan", action, text: action === "approve" ? plan.text : null, words });
    });
  return (
    // biome-ignore lint/a11y/useSemanticElements: buttons that belong to one question
    <div class="plan card" role="group" aria-label={t("Plan")}>
      <PlanText text={plan.text} post={post} />
      {isRejecting ? (
        <RejectForm
          kept={channel.kept}
          draft={REJECTION}
          waits={once.pressed}
          reject={(words) => say("reject", words)}
          close={() => setRejecting(false)}
        />
      ) : (
        <div class="button-row">
          <button
            type="button"
            class="button"
            aria-disabled={once.pressed}
            title={t("Carry the plan out, in the earlier mode")}
            onClick={() => say("approve", null)}
          >
            {t("Approve")}
          </button>
          <button
            type="button"
            class="button secondary"
            title={t("Open the plan as a document. Its text is what you approve")}
            onClick={() => post({ type: "plan", action: "open", text: null, words: null })}
          >
            {t("Edit")}
          </button>
          <button
            type="button"
            class="button secondary"
            aria-disabled={once.pressed}
            title={t("Say what should be different")}
            onClick={() => setRejecting(true)}
          >
            {t("Reject…")}
          </button>
        </div>
      )}
    </div>
  );
}

/** The key of the text that is being typed. */
const REJECTION = "plan rejection";
