/** The states of the panel by name, and the steps to each. Screenshots, axe and `look.ts` share them. */
import { asChat, type Chat, withModel } from "./chat.ts";
import type { Model } from "./model.ts";
import { addShopScripts } from "./shop.ts";
import { SHOP } from "./shop-files.ts";
import type { Opening, Window } from "./window.ts";

/** A state of the panel. */
export interface State {
  /** Whether the window has a model from the start. */
  readonly model: boolean;
  readonly steps: (chat: Chat) => Promise<void>;
  /** Leaves the state, so that the same window can reach another one. */
  readonly leave?: (chat: Chat) => Promise<void>;
}

async function stop(chat: Chat): Promise<void> {
  await chat.command("indwell.cancel");
  await chat.idle();
}

/** The states; the key is the name that `look.ts --state` takes. */
export const STATES: Readonly<Record<string, State>> = {
  empty: { model: true, steps: async () => undefined },
  answer: { model: true, steps: (chat) => chat.ask("Fix the rounding in invoice totals") },
  markdown: { model: true, steps: (chat) => chat.ask("markdown Show all that Markdown can do") },
  streaming: {
    model: true,
    steps: async (chat) => {
      await chat.send("hang Reading the invoice");
      await chat.panel.getByText("Reading the invoice …").waitFor();
    },
    leave: stop,
  },
  queue: {
    model: true,
    steps: async (chat) => {
      await chat.send("hang Reading the invoice");
      await chat.panel.getByText("Reading the invoice …").waitFor();
      await chat.composer.fill("say the second prompt waits");
      await chat.composer.press("Control+Enter");
      await chat.panel.getByLabel("Waiting prompts").waitFor();
    },
    leave: async (chat) => {
      await chat.panel.locator(".queue-row").hover();
      await chat.panel.getByRole("button", { name: /^Remove: / }).click();
      await stop(chat);
    },
  },
  permission: {
    model: true,
    steps: async (chat) => {
      await chat.send("Install the shop");
      await chat.permission.and(chat.panel.locator("[data-armed=true]")).waitFor();
    },
    leave: async (chat) => {
      await chat.answer("No");
      await chat.idle();
    },
  },
  agents: {
    model: true,
    steps: async (chat) => {
      await chat.send("helpers Look at the totals");
      await chat.panel.locator(".agent-now").getByText("Run sleep 60").waitFor();
    },
    leave: stop,
  },
  plan: {
    model: true,
    steps: async (chat) => {
      await chat.panel.locator(".mode-picker").getByText("review").waitFor();
      await chat.slash("mode plan");
      await chat.panel.locator(".mode-picker").getByText("plan").waitFor();
      await chat.ask("plan Move the tax rules");
      await chat.panel.getByRole("group", { name: "Plan" }).waitFor();
    },
    leave: (chat) => chat.slash("mode review"),
  },
  commands: {
    model: true,
    steps: async (chat) => {
      await chat.ask("serve it");
      await chat.panel.getByRole("button", { name: /^1 command running/ }).click();
    },
  },
  question: {
    model: true,
    steps: async (chat) => {
      await chat.send("crossroads ahead");
      await chat.panel.locator(".question.of-model[data-armed=true]").waitFor();
    },
    leave: stop,
  },
  failed: { model: true, steps: (chat) => chat.ask("fail 400") },
  sessions: {
    model: true,
    steps: async (chat) => {
      await chat.ask("say The totals are rounded once now.");
      await chat.newSession();
      await chat.ask("say The report has a header.");
      await chat.slash("sessions");
      await chat.panel.locator(".session-open").nth(1).waitFor();
    },
    leave: (chat) => chat.panel.getByRole("button", { name: "Back to the conversation" }).click(),
  },
  context: {
    model: true,
    steps: async (chat) => {
      await chat.ask("read shop/invoice.py");
      await chat.panel.locator(".window-meter").click();
      await chat.panel.locator(".breakdown").waitFor();
    },
    leave: (chat) => chat.page.keyboard.press("Escape"),
  },
  "first-run": {
    model: false,
    steps: async (chat) => {
      await chat.send("say hello");
      await chat.panel.locator(".first-run").waitFor();
    },
  },
};

/** Opens a window for a state with `open`; `reach` then brings the window to the state. */
export async function openFor(
  name: string,
  open: (opening: Opening) => Promise<Window>,
  model: Model,
): Promise<Chat> {
  addShopScripts(model);
  const opening = {
    name: "shop",
    files: SHOP,
    open: ["shop/invoice.py"],
    variables: { OLLAMA_HOST: `127.0.0.1:${model.port}` }, // a local model server that the first run finds
  };
  return asChat(await open(stateOf(name).model ? withModel(opening, model) : opening));
}

/** Brings a window to the state that it was opened for. */
export async function reach(name: string, chat: Chat): Promise<void> {
  await chat.showPanel();
  await stateOf(name).steps(chat);
}

function stateOf(name: string): State {
  const state = STATES[name];
  if (state === undefined) {
    throw new Error(`there is no state ${name}: ${Object.keys(STATES).join(", ")}`);
  }
  return state;
}
