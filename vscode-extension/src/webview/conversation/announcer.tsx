/** Informs screen readers of important events only: a turn that ended, a question, an error. */
import type { PanelState } from "../../shared/state.ts";
import { memo } from "../memo.tsx";
import { announcement } from "./announcement.ts";

/** A polite live region, which is not visible. */
export const Announcer = memo(({ state }: { readonly state: PanelState }) => (
  <div class="sr-only" role="status" aria-live="polite" data-part="announcer">
    {announcement(state)}
  </div>
));
