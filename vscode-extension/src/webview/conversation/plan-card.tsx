/** Below the answer of a turn in plan mode: what is to become of the plan. */
import type { Channel } from "../channel.ts";
import { usePressOnce } from "../press-once.ts";
import type { Post } from "../view-props.ts";

interface Props {
  /** The plan, as Markdown. */
  readonly text: string;
  readonly post: Post;
  readonly channel: Channel;
}

export function PlanCard({ text, post, channel }: Props) {
  const once = usePressOnce(text);
  const carryOut = () =>
    once.press(() => {
      post({ type: "mode", mode: "review" });
      post({ type: "send", text: "Carry out the plan.", how: "alone" });
    });
  return (
    // biome-ignore lint/a11y/useSemanticElements: buttons that belong to one question
    <div class="plan card" role="group" aria-label="Plan">
      <p>In plan mode nothing is changed. Carrying the plan out changes the mode to review.</p>
      <div class="button-row">
        <button type="button" class="button" aria-disabled={once.pressed} onClick={carryOut}>
          Carry out the plan
        </button>
        <button
          type="button"
          class="button secondary"
          onClick={() => post({ type: "editPlan", text })}
        >
          Edit the plan
        </button>
        <button type="button" class="button secondary" onClick={() => channel.focus("composer")}>
          Keep planning
        </button>
      </div>
    </div>
  );
}
