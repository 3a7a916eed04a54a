/** Runs functions of the tests inside the extension host, through the probe. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type * as VSCode from "vscode";

const PATIENCE_MS = 60_000;

/** A function that is sent as source text, so it can use only its arguments. */
export type Inside<A, R> = (
  vscode: typeof VSCode,
  argument: A,
  kept: Record<string, unknown>,
) => R | PromiseLike<R>;

/** The extension host of one window. */
export interface ExtensionHost {
  /** Runs a function in the extension host; the argument and the result are sent as JSON. */
  readonly run: <A, R>(inside: Inside<A, R>, argument: A) => Promise<R>;
  /** Forgets the current host: the next `run` waits for a new one. */
  readonly forget: () => void;
  /** Returns the host's process id. */
  readonly pid: () => Promise<number>;
}

/** Returns the host of the window that has this folder open. */
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
      const result = await answer.json();
      if (result.error !== undefined) throw new Error(`in the extension host: ${result.error}`);
      return result.value;
    },
    forget: () => rmSync(path, { force: true }),
    pid: async () => (await address()).pid,
  };
}
