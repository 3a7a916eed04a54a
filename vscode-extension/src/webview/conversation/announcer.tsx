/** Tells screen readers what matters, and only that: a turn that ended, a question, an error. */
import type { PanelState } from "../../shared/state.ts";
import { memo } from "../memo.tsx";
import { announcement } from "./announcement.ts";

/** A polite live region, out of sight. */
export const Announcer = memo(({ state }: { readonly state: PanelState }) => (
  <div class="sr-only" role="status" aria-live="polite" data-part="announcer">
    {announcement(state)}
  </div>
));
