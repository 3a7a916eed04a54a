/** One workbench and one model for all specs of a run: they start with the first test that wants them. */
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

/** Open a window without a model of its own. */
export async function openPlain(opening: Opening): Promise<Window> {
  return openWindow(await theWorkbench(), opening);
}

/** Open a window whose server knows the model of this run, with the panel shown. */
export async function openChat(opening: Opening): Promise<Chat> {
  const chat = asChat(await openPlain(withModel(opening, await theModel())));
  await chat.showPanel();
  return chat;
}

/** Open a window whose server knows no model but finds one on this machine, with the panel shown. */
export async function openFirstRun(opening: Opening): Promise<Chat> {
  const variables = { OLLAMA_HOST: `127.0.0.1:${(await theModel()).port}` };
  const chat = asChat(await openPlain({ ...opening, variables }));
  await chat.showPanel();
  return chat;
}

/** Within a `describe`: a test that fails leaves a picture of the window, named after it. */
export function keepPictures(chat: () => Chat): void {
  afterEach(async (context) => {
    const failed = "passed" in context && context.passed === false;
    if (failed) await chat().picture(`failed ${context.name}`.replaceAll(/[^a-z0-9]+/gi, "-"));
  });
}

after(async () => {
  await (await workbench)?.close();
  await (await model)?.close();
});
