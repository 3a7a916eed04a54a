/**
 * Draws the line below the input: mode, model, how full the window is, cost, and the send buttons.
 */
import { useCallback, useRef, useState } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import { isBusy, sessionCost } from "../../shared/state/selectors.ts";
import type { PanelState } from "../../shared/state/state.ts";
import { costFigure, shareFigure, tokenFigure } from "../../shared/words.ts";
import type { ViewProps } from "../host/channel.ts";
import { ContextBreakdown } from "./context-breakdown.tsx";
import { EffortPicker, ModelPicker, ModePicker } from "./pickers.tsx";
import { PickerButton, Popup } from "./popup.tsx";
import { SendButtons, type SendButtonsProps } from "./sending.tsx";

/** Shows the session's cost; shows nothing if the cost is unknown or zero. */
function Cost({ state }: { readonly state: PanelState }) {
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

/**
 * If at least this share of the window is full, the ring has the colour of warnings, because a
 * compaction is near.
 */
const NEARLY_FULL = 0.9;

/** Shows how full the model's window is: a ring with a number, which opens the breakdown. */
function WindowMeter({ state, post }: Pick<ViewProps, "state" | "post">) {
  const [open, setOpen] = useState(false);
  const anchor = useRef<HTMLButtonElement>(null);
  const close = useCallback(() => setOpen(false), []);
  const context = state.context;
  if (context === null) return null;
  const share = context.share;
  const figure = share === null ? tokenFigure(context.used) : shareFigure(share);
  const words =
    context.budget === null
      ? t("Next request: {0} tokens", tokenFigure(context.used))
      : t(
          "Window: {0} full, {1} of {2} tokens",
          figure,
          tokenFigure(context.used),
          tokenFigure(context.budget),
        );
  return (
    <>
      <PickerButton
        anchor={anchor}
        label={words}
        title={t("{0}. Show what fills it", words)}
        kind="dialog"
        open={open}
        popup="window-breakdown"
        class="window-meter"
        onToggle={() => setOpen(!open)}
      >
        <Ring share={share ?? 0} />
        {share !== null && <span class="meter-figure">{figure}</span>}
      </PickerButton>
      {open && (
        <Popup
          role="dialog"
          id="window-breakdown"
          label={t("Content of the context window")}
          anchor={anchor}
          align="end"
          onClose={close}
        >
          <ContextBreakdown
            context={context}
            running={isBusy(state)}
            cost={sessionCost(state)}
            onCommand={(command) => {
              close();
              post({ type: "command", command });
            }}
          />
        </Popup>
      )}
    </>
  );
}

const RADIUS = 5.5;
const ROUND = 2 * Math.PI * RADIUS;

function Ring({ share }: { readonly share: number }) {
  const full = Math.max(0, Math.min(1, share));
  return (
    <svg
      class={share >= NEARLY_FULL ? "ring nearly-full" : "ring"}
      width="16"
      height="16"
      viewBox="0 0 16 16"
      aria-hidden="true"
    >
      <circle class="ring-back" cx="8" cy="8" r={RADIUS} />
      <circle
        class="ring-front"
        cx="8"
        cy="8"
        r={RADIUS}
        stroke-dasharray={`${full * ROUND} ${ROUND}`}
        transform="rotate(-90 8 8)"
      />
    </svg>
  );
}

interface FooterProps extends Pick<ViewProps, "state" | "post"> {
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
