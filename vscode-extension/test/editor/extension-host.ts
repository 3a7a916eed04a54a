/** Functions of the tests, run inside the extension host by the probe. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type * as VSCode from "vscode";

const PATIENCE_MS = 60_000;

/** A function that is sent as text: it sees nothing but its arguments. */
export type Inside<A, R> = (
  vscode: typeof VSCode,
  argument: A,
  kept: Record<string, unknown>,
) => R | PromiseLike<R>;

/** The extension host of one window. */
export interface ExtensionHost {
  /** Run a function there; argument and result travel as JSON. */
  readonly run: <A, R>(inside: Inside<A, R>, argument: A) => Promise<R>;
  /** Forget the present host: the next `run` waits for one that begins after now. */
  readonly forget: () => void;
  /** The id of its process. */
  readonly pid: () => Promise<number>;
}

/** The host of the window that has this folder open. */
export function extensionHost(probe: string, workspace: string, token: string): ExtensionHost {
  const path = join(probe, workspace);
  const address = async (): Promise<{ port: number; pid: number }> => {
    const deadline = Date.now() + PATIENCE_MS;
    while (!existsSync(path)) {
      if (Date.now() > deadline) throw new Error("the extension host did not start");
      await sleep(50);
    }
    return JSON.parse(readFileSync(path, "utf8"));
  };
  return {
    run: async (inside, argument) => {
      const { port } = await address();
      const answer = await fetch(`http://127.0.0.1:${port}/`, {
        method: "POST",
        headers: { authorization: token },
        body: JSON.stringify({ code: inside.toString(), argument }),
      });
      const told = await answer.json();
      if (told.error !== undefined) throw new Error(`in the extension host: ${told.error}`);
      return told.value;
    },
    forget: () => rmSync(path, { force: true }),
    pid: async () => (await address()).pid,
  };
}
