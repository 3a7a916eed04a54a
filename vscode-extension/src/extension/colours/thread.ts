/** Runs in the thread that colours code, so that the extension host never waits for a grammar. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import type { Coloured } from "../../shared/coloured.ts";
import type { Catalogue } from "./catalogue.ts";
import { Colourer, type WantedTheme } from "./colourer.ts";
import { kindsOf } from "./kinds.ts";

/** The data that a thread needs. */
export interface ThreadData {
  readonly catalogue: Catalogue;
}

export interface Wish {
  readonly id: number;
  readonly code: string;
  readonly language: string;
  readonly theme: WantedTheme;
}

export interface Granted {
  readonly id: number;
  readonly coloured: Coloured | null;
  /** Why the editor's grammar or theme could not be used, or empty if both could be used. */
  readonly problem: string;
}

const { catalogue }: ThreadData = workerData;
const colourer = new Colourer(
  catalogue,
  (path) => readFile(path, "utf8"),
  async () => new Uint8Array(await readFile(join(__dirname, "onig.wasm"))).buffer,
);

// Requests run one after the other, because a theme is used until a later request names another
// theme.
let last: Promise<void> = Promise.resolve();
parentPort?.on("message", (wish: Wish) => {
  last = last.then(async () => parentPort?.postMessage(await granted(wish)));
});

async function granted({ id, code, language, theme }: Wish): Promise<Granted> {
  try {
    const coloured = await colourer.colour(code, language, theme);
    if (coloured !== null) return { id, coloured, problem: "" };
  } catch (error) {
    return { id, coloured: kindsOf(code, language), problem: String(error) };
  }
  return { id, coloured: kindsOf(code, language), problem: "" };
}
