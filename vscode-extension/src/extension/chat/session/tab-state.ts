/**
 * An editor tab of a chat: its title and icon, what its page has stored for a reload, and the
 * storage of its draft, chips and session. Independent of VS Code.
 */
import { t } from "../../../shared/l10n.ts";
import {
  ownQuestions,
  runningTurn,
  sending,
  sessionOf,
  titleOf,
} from "../../../shared/state/selectors.ts";
import type { PanelState } from "../../../shared/state/state.ts";
import { visible } from "../../../shared/visible.ts";
import type { Memory } from "../ports.ts";

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

const PREFIX = "indwell.tab.";
/**
 * The maximum number of stored tabs; VS Code does not say which tabs of an earlier window are gone.
 */
const MOST_TABS = 30;
/** Values of the workspace, which the panel stores. */
const SHARED = new Set(["history"]);

/** VS Code's `Memento`. */
export interface Stored {
  keys(): readonly string[];
  get(key: string): unknown;
  update(key: string, value: unknown): PromiseLike<void>;
}

/**
 * The storage of editor tabs, each with its own draft, chips and session. Independent of VS Code.
 */
export class TabMemories {
  readonly #stored: Stored;
  readonly #taken = new Set<string>();

  constructor(stored: Stored) {
    this.#stored = stored;
    const order = this.#order();
    for (const id of order.slice(MOST_TABS)) this.#clear(id);
    if (order.length > MOST_TABS) void stored.update(`${PREFIX}ids`, order.slice(0, MOST_TABS));
  }

  /** Returns the storage of a tab; the oldest tabs are forgotten first. */
  of(id: string): Memory {
    this.#taken.add(id);
    const order = [id, ...this.#order().filter((one) => one !== id)];
    void this.#stored.update(`${PREFIX}ids`, order);
    return {
      get: (key) => this.#stored.get(nameOf(id, key)),
      set: (key, value) =>
        SHARED.has(key) ? undefined : this.#stored.update(nameOf(id, key), value),
    };
  }

  /** Returns the newest tab of the earlier window that is not restored yet, or null. */
  left(): string | null {
    return this.#order().find((id) => !this.#taken.has(id)) ?? null;
  }

  /** The user closed the tab. */
  forget(id: string): void {
    const order = this.#order().filter((one) => one !== id);
    void this.#stored.update(`${PREFIX}ids`, order);
    this.#clear(id);
  }

  #order(): readonly string[] {
    const order = this.#stored.get(`${PREFIX}ids`);
    return Array.isArray(order) ? order.map(String) : [];
  }

  #clear(id: string): void {
    for (const key of this.#stored.keys())
      if (key.startsWith(`${PREFIX}${id}.`)) void this.#stored.update(key, undefined);
  }
}

function nameOf(id: string, key: string): string {
  return SHARED.has(key) ? `indwell.chat.${key}` : `${PREFIX}${id}.${key}`;
}
