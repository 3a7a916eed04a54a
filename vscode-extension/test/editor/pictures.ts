/**
 * Takes the kept pictures of the panel in the real workbench: `node test/editor/pictures.ts FOLDER [SCENE …]`.
 *
 * Each scene is one PNG for each theme, FOLDER/SCENE-THEME.png. INDWELL_EXTENSION names another build to look at,
 * such as one of an earlier commit. A scene that an earlier build cannot reach has other steps for that build.
 */
import { copyFileSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { asChat, type Chat, withModel } from "./chat.ts";
import { type Model, startModel } from "./model.ts";
import { call, inOrder, refuse, say, think, wait } from "./model-script.ts";
import { addShopScripts } from "./shop.ts";
import { SHOP } from "./shop-files.ts";
import { STATES } from "./states.ts";
import { openWindow, type Theme } from "./window.ts";
import { startWorkbench, type Workbench } from "./workbench.ts";

const LOOKED_AT: readonly Theme[] = ["light", "dark", "contrast"];
const SIZE = { width: 1200, height: 700 };
const IS_EARLIER = process.env["INDWELL_EXTENSION"] !== undefined;
const WIDTH = 400;
const NARROW = 280;
const WIDE = 860;
const SETTLED_MS = 600; // colours of code and of the theme follow the text

/** A kept picture. */
interface Scene {
  readonly reach: (chat: Chat) => Promise<void>;
  readonly leave?: (chat: Chat) => Promise<void>;
  /** The steps in an earlier build, which cannot do those of `reach`. */
  readonly earlier?: (chat: Chat) => Promise<void>;
  readonly width?: number;
  /** The window with the file, or the panel alone. */
  readonly what?: "window" | "panel";
}

const PENDING = "Fix the rounding in invoice totals";
const state = (name: string, more: Partial<Scene> = {}): Scene => {
  const { steps, leave } = STATES[name] ?? {};
  if (steps === undefined) throw new Error(`no state ${name}`);
  return { reach: steps, ...(leave === undefined ? {} : { leave }), ...more };
};
const answered: Scene["reach"] = async (chat) => {
  await chat.ask(PENDING);
  await chat.panel.getByLabel("Pending changes").waitFor();
};
const listed: Scene["reach"] = async (chat) => {
  await chat.slash("sessions");
  await chat.panel.locator(".session-open").first().waitFor();
};
const rejected: NonNullable<Scene["leave"]> = (chat) =>
  chat.panel.getByLabel("Pending changes").getByRole("button", { name: "Reject" }).first().click();

const SCENES: Readonly<Record<string, Scene>> = {
  empty: { reach: async () => undefined },
  asking: state("permission"),
  streaming: {
    reach: async (chat) => {
      await chat.send("Explain how a total is rounded");
      await chat.panel.getByText(/only at the end/).waitFor();
    },
    leave: async (chat) => {
      await chat.command("indwell.cancel");
      await chat.idle();
    },
  },
  plan: {
    reach: async (chat) => {
      await chat.panel.locator(".mode-picker").getByText("review").waitFor();
      await chat.slash("mode plan");
      await chat.panel.locator(".mode-picker").getByText("plan").waitFor();
      await chat.ask("Outline how to move the tax rules");
      await chat.panel.getByRole("group", { name: "Plan" }).waitFor();
    },
    leave: (chat) => chat.slash("mode review"),
  },
  error: { reach: (chat) => chat.ask("Add a column for the tax") },
  review: { reach: answered, leave: rejected, what: "window" },
  narrow: { reach: answered, leave: rejected, width: NARROW },
  wide: { reach: answered, leave: rejected, width: WIDE },
  // The sessions of this scene keep running, so it is the last scene.
  sessions: {
    reach: async (chat) => {
      await chat.send("Install the shop");
      await chat.permission.waitFor();
      await chat.newSession();
      await chat.send("Explain how a total is rounded");
      await chat.panel.getByText(/only at the end/).waitFor();
      await chat.newSession();
      await chat.ask("Summarise the open invoices");
      await listed(chat);
    },
    // In that build, New Session asks whether to stop the running turn.
    earlier: async (chat) => {
      for (const prompt of ["Summarise the open invoices", "Say which tests are slow"]) {
        await chat.newSession();
        await chat.ask(prompt);
      }
      await listed(chat);
    },
  },
};

function teach(model: Model): void {
  addShopScripts(model);
  model.on(
    "Explain",
    inOrder(
      [
        think("Two places may round: the loop, and the return."),
        say("I look for the places that round."),
        call("read_file", { path: "shop/invoice.py" }),
        call("grep", { pattern: "round\\(" }),
      ],
      [
        say(
          "`total` rounds **each line** and adds the results. An invoice should round only at the end, ",
        ),
        wait(),
      ],
    ),
  );
  model.on("Add", () => [refuse(401, "no such key")]);
  model.on("Summarise", inOrder([say("Three invoices are open, 42.10 in total.")]));
}

async function takeAll(
  workbench: Workbench,
  model: Model,
  folder: string,
  only: readonly string[],
): Promise<void> {
  const wanted = (name: string): boolean => only.length === 0 || only.includes(name);
  const opening = { name: "shop", files: SHOP, open: ["shop/invoice.py"], theme: "dark" } as const;
  const take = async (chat: Chat, name: string, scene: Scene): Promise<void> => {
    process.stdout.write(`${name}\n`);
    await ((IS_EARLIER ? scene.earlier : undefined) ?? scene.reach)(chat);
    for (const theme of LOOKED_AT) {
      await chat.setTheme(theme);
      await chat.setPanelWidth(scene.width ?? WIDTH);
      await chat.page.waitForTimeout(SETTLED_MS);
      const taken = await chat.picture("kept", scene.what ?? "panel");
      copyFileSync(taken, join(folder, `${name}-${theme}.png`));
    }
    await chat.setPanelWidth(WIDTH);
    await scene.leave?.(chat);
  };
  if (wanted("welcome") || wanted("connect")) {
    const variables = { OLLAMA_HOST: `127.0.0.1:${model.port}` };
    const first = asChat(await openWindow(workbench, { ...opening, name: "first", variables }));
    await first.page.setViewportSize(SIZE);
    await first.showPanel();
    await take(first, "welcome", { reach: async () => undefined });
    await take(first, "connect", state("first-run"));
    await first.close();
  }
  const chat = asChat(await openWindow(workbench, withModel(opening, model)));
  await chat.page.setViewportSize(SIZE);
  await chat.showPanel();
  for (const [name, scene] of Object.entries(SCENES)) {
    if (!wanted(name)) continue;
    await chat.newSession();
    await take(chat, name, scene);
  }
  await chat.close();
}

const [out, ...only] = process.argv.slice(2);
if (out === undefined) throw new Error("name the folder of the pictures");
const folder = resolve(out);
mkdirSync(folder, { recursive: true });
const model = await startModel();
teach(model);
const workbench = await startWorkbench();
try {
  await takeAll(workbench, model, folder, only);
} finally {
  await workbench.close();
  await model.close();
}
