/** The actions of a user in the chat panel of a window. */
import type { Locator } from "playwright-core";
import type { Model } from "./model.ts";
import { until } from "./waiting.ts";
import type { Opening, Window } from "./window.ts";

/** A window whose panel is open. */
export interface Chat extends Window {
  /** The text box for prompts. */
  readonly composer: Locator;
  /** The card that asks for a permission. */
  readonly permission: Locator;
  /** Types a prompt and sends it. */
  readonly send: (words: string) => Promise<void>;
  /** Waits until no turn runs and no prompt is being sent. */
  readonly idle: () => Promise<void>;
  /** Sends a prompt and waits for the end of its turn. */
  readonly ask: (words: string) => Promise<void>;
  /** Runs a command of the composer, such as `sessions`. */
  readonly slash: (command: string) => Promise<void>;
  /** Waits until the permission card is armed, and clicks its button. */
  readonly answer: (button: "No" | "Once" | "This session") => Promise<void>;
  /** Starts an empty session. */
  readonly newSession: () => Promise<void>;
}

/** Time-out for the composer to take a key, in milliseconds. */
const SOON_MS = 2_000;

// The context meter and the cost need prices and a context window.
const CONFIG =
  'models = ["coder-small"]\nwindow = 32000\nprice_in = 2.0\nprice_out = 8.0\nprice_cached = 0.2\n';

/** Adds variables for the tests' model to the options of a window. */
export function withModel(opening: Opening, model: Model): Opening {
  const own = {
    OPENAI_BASE_URL: model.url,
    OPENAI_API_KEY: "sk-test",
    INDWELL_MODEL: "coder-large",
  };
  return { ...opening, config: CONFIG, variables: { ...own, ...opening.variables } };
}

/** Adds the actions of a user to a window. */
export function asChat(window: Window): Chat {
  const { panel } = window;
  const composer = panel.getByLabel("Prompt", { exact: true });
  const permission = panel.locator("[role=alertdialog]").first();
  const send = async (words: string): Promise<void> => {
    await composer.click();
    await composer.fill(words);
    // While the server starts, Enter keeps the text. Without a model, the first run replaces the composer.
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
      throw new Error(`the turn did not end; the panel shows: ${shown}`, {
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
      // The turn appears after a moment; until then the last turn is an older one, which has ended.
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
    newSession: async () => {
      await window.command("indwell.newSession");
      await panel.locator("article.turn").first().waitFor({ state: "detached" });
    },
  };
}

/** Runs inside the panel. Returns the number of the last turn, or 0 without a turn. */
function newestTurn(root: Element): number {
  const last = [...root.querySelectorAll("article.turn")].at(-1);
  return Number(/\d+/.exec(last?.ariaLabel ?? "")?.[0] ?? 0);
}

/** Runs inside the panel. Returns the markup of the last turn and of a prompt that is being sent. */
function lastTurn(root: Element): string {
  const last = [...root.querySelectorAll("article.turn")].at(-1);
  const sending = root.querySelector(".sending, [aria-label=Stop]")?.outerHTML;
  return `${last?.outerHTML ?? "no turn"}; being sent: ${sending ?? "nothing"}`;
}

/** Runs inside the panel. Returns whether the last turn has ended and no prompt is being sent. */
function isIdle(root: Element): boolean {
  const last = [...root.querySelectorAll("article.turn")].at(-1);
  const busy = root.querySelector(".sending, [aria-label=Stop]") !== null;
  return !busy && last !== undefined && last.querySelector(".end-line") !== null;
}
