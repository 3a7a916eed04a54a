/**
 * Determines the title and icon of a chat's editor tab, and reads what its page has stored for a
 * reload. Pure.
 */
import { t } from "../../../shared/l10n.ts";
import {
  ownQuestions,
  runningTurn,
  sending,
  sessionOf,
  titleOf,
} from "../../../shared/selectors.ts";
import type { PanelState } from "../../../shared/state.ts";
import { visible } from "../../../shared/visible.ts";

/** The maximum number of characters of a title. */
const LONGEST = 60;

/** Returns the title and the icon of a tab; `icon` is a name in `media/tab`. */
export function tabLook(state: PanelState): {
  readonly title: string;
  readonly icon: "plain" | "running" | "asking";
} {
  const whole = visible(titleOf(state)) || t("New Session");
  const title = whole.length > LONGEST ? `${whole.slice(0, LONGEST - 1)}…` : whole;
  const asks = ownQuestions(state).some((one) => sessionOf(one) !== "");
  if (asks) return { title: t("{0} (asks you)", title), icon: "asking" };
  const isRunning = state.connection.kind === "ready" && runningTurn(state) !== undefined;
  return { title, icon: isRunning || sending(state).length > 0 ? "running" : "plain" };
}

/** Returns the id and the session that a page has stored, or null if it has stored none. */
export function keptTab(state: unknown): {
  readonly id: string | null;
  readonly session: string | null;
} {
  const tab = fieldOf(state, "tab");
  return { id: textOf(fieldOf(tab, "id")), session: textOf(fieldOf(tab, "session")) };
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && /^[\w-]{1,200}$/.test(value) ? value : null;
}
