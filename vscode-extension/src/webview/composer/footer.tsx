/** Draws the line below the input: mode, model, window, cost, and the send buttons. */
import type { ViewProps } from "../view-props.ts";
import { Cost } from "./cost.tsx";
import { EffortPicker } from "./effort-picker.tsx";
import { ModePicker } from "./mode-picker.tsx";
import { ModelPicker } from "./model-picker.tsx";
import { SendButtons, type SendButtonsProps } from "./send-buttons.tsx";
import { WindowMeter } from "./window-meter.tsx";

export interface FooterProps extends Pick<ViewProps, "state" | "post"> {
  readonly sending: SendButtonsProps;
}

export function Footer({ state, post, sending }: FooterProps) {
  return (
    <div class="footer">
      <ModePicker state={state} post={post} />
      <ModelPicker state={state} post={post} />
      <EffortPicker state={state} post={post} />
      <span class="footer-space" />
      <WindowMeter state={state} post={post} />
      <Cost state={state} />
      <SendButtons {...sending} />
    </div>
  );
}
