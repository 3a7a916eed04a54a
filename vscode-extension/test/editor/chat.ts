/** What a user does in the chat panel of a window. */
import type { Locator } from "playwright-core";
import type { Model } from "./model.ts";
import { until } from "./waiting.ts";
import type { Opening, Window } from "./window.ts";

/** A window whose panel is open. */
export interface Chat extends Window {
  /** Where the user writes. */
  readonly composer: Locator;
  /** The card that asks for a permission. */
  readonly permission: Locator;
  /** Type a prompt and send it. */
  readonly send: (words: string) => Promise<void>;
  /** Wait until nothing runs and nothing is on its way. */
  readonly idle: () => Promise<void>;
  /** Send a prompt and wait for the end of its turn. */
  readonly ask: (words: string) => Promise<void>;
  /** Run a command of the composer, such as `sessions`. */
  readonly slash: (command: string) => Promise<void>;
  /** Press a button of the permission card, once it counts. */
  readonly answer: (button: "No" | "Once" | "This session") => Promise<void>;
  /** Begin an empty session. */
  readonly fresh: () => Promise<void>;
}

/** Until when a composer that is there has taken a key, in milliseconds. */
const SOON_MS = 2_000;

// Prices and a window, so that the meter and the cost have something to show.
const CONFIG =
  'models = ["coder-small"]\nwindow = 32000\nprice_in = 2.0\nprice_out = 8.0\nprice_cached = 0.2\n';

/** The opening with variables that name the model of the tests. */
export function withModel(opening: Opening, model: Model): Opening {
  const own = {
    OPENAI_BASE_URL: model.url,
    OPENAI_API_KEY: "sk-test",
    INDWELL_MODEL: "coder-large",
  };
  return { ...opening, config: CONFIG, variables: { ...own, ...opening.variables } };
}

/** The panel of a window as a user has it. */
export function asChat(window: Window): Chat {
  const { panel } = window;
  const composer = panel.getByLabel("Prompt", { exact: true });
  const permission = panel.locator("[role=alertdialog]").first();
  const send = async (words: string): Promise<void> => {
    await composer.click();
    await composer.fill(words);
    // While the server starts, Enter does nothing: the words stay. Without a model the first run takes its place.
    await until(`"${words}" to leave the composer`, async () => {
      try {
        await composer.press("Enter", { timeout: SOON_MS });
        return (await composer.inputValue({ timeout: SOON_MS })) === "";
      } catch (error) {
        if (!(error instanceof Error && error.name === "TimeoutError")) throw error;
        return (await composer.count()) === 0;
      }
    });
  };
  const newest = (): Promise<number> => panel.locator(":root").evaluate(newestTurn);
  const idle = async (): Promise<unknown> => {
    try {
      return await until("the end of the turn", () => panel.locator(":root").evaluate(isIdle));
    } catch (error) {
      const shown = await panel.locator(":root").evaluate(lastTurn);
      throw new Error(`the end of the turn did not come; the panel shows: ${shown}`, {
        cause: error,
      });
    }
  };
  return {
    ...window,
    composer,
    permission,
    send,
    idle: async () => {
      await idle();
    },
    ask: async (words) => {
      const before = await newest();
      await send(words);
      // A moment passes before the turn is there: the one before has ended long ago.
      await until("a turn for the prompt", async () => (await newest()) > before);
      await idle();
    },
    slash: async (command) => {
      await composer.click();
      await composer.fill(`/${command}`);
      await composer.press("Enter");
    },
    answer: async (button) => {
      await permission.and(panel.locator("[data-armed=true]")).waitFor();
      await permission.getByRole("button", { name: button, exact: true }).click();
      await permission.waitFor({ state: "hidden" });
    },
    fresh: async () => {
      await window.command("indwell.newSession");
      await panel.locator("article.turn").first().waitFor({ state: "detached" });
    },
  };
}

/** Runs inside the panel: the number of the last turn, 0 if there is none. */
function newestTurn(root: Element): number {
  const last = [...root.querySelectorAll("article.turn")].at(-1);
  return Number(/\d+/.exec(last?.ariaLabel ?? "")?.[0] ?? 0);
}

/** Runs inside the panel: the markup of the last turn, and whether something is being sent. */
function lastTurn(root: Element): string {
  const last = [...root.querySelectorAll("article.turn")].at(-1);
  const sending = root.querySelector(".sending, [aria-label=Stop]")?.outerHTML;
  return `${last?.outerHTML ?? "no turn"}; being sent: ${sending ?? "nothing"}`;
}

/** Runs inside the panel. */
function isIdle(root: Element): boolean {
  const last = [...root.querySelectorAll("article.turn")].at(-1);
  const busy = root.querySelector(".sending, [aria-label=Stop]") !== null;
  return !busy && last !== undefined && last.querySelector(".end-line") !== null;
}
