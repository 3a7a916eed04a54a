/** One workbench and one model for all specs of a run; they start with the first test that needs them. */
import { after, afterEach } from "node:test";
import { asChat, type Chat, withModel } from "./chat.ts";
import { type Model, startModel } from "./model.ts";
import { addShopScripts } from "./shop.ts";
import { type Opening, openWindow, type Window } from "./window.ts";
import { startWorkbench, type Workbench } from "./workbench.ts";

let workbench: Promise<Workbench> | undefined;
let model: Promise<Model> | undefined;

/** The workbench of this run. */
export function theWorkbench(): Promise<Workbench> {
  workbench ??= startWorkbench();
  return workbench;
}

/** The model of this run. */
export function theModel(): Promise<Model> {
  model ??= startModel().then((started) => {
    addShopScripts(started);
    return started;
  });
  return model;
}

/** Opens a window without a model. */
export async function openPlain(opening: Opening): Promise<Window> {
  return openWindow(await theWorkbench(), opening);
}

/** Opens a window whose server uses the model of this run, and shows the panel. */
export async function openChat(opening: Opening): Promise<Chat> {
  const chat = asChat(await openPlain(withModel(opening, await theModel())));
  await chat.showPanel();
  return chat;
}

/** Opens a window whose server has no model but can find a local one, and shows the panel. */
export async function openFirstRun(opening: Opening): Promise<Chat> {
  const variables = { OLLAMA_HOST: `127.0.0.1:${(await theModel()).port}` };
  const chat = asChat(await openPlain({ ...opening, variables }));
  await chat.showPanel();
  return chat;
}

/** Within a `describe`: takes a picture of the window after a failed test, named after the test. */
export function pictureFailures(chat: () => Chat): void {
  afterEach(async (context) => {
    const failed = "passed" in context && context.passed === false;
    if (failed) await chat().picture(`failed ${context.name}`.replaceAll(/[^a-z0-9]+/gi, "-"));
  });
}

after(async () => {
  await (await workbench)?.close();
  await (await model)?.close();
});
