/** Entry of the tests that run inside the extension host: VS Code calls `run`. */
import Mocha from "mocha";

const TIMEOUT_MS = 30_000;

/** Runs all tests. Each result is a line of JSON on the console, which the page passes to inside-the-host.test.ts. */
export async function run(): Promise<void> {
  const mocha = new Mocha({ ui: "bdd", timeout: TIMEOUT_MS, slow: TIMEOUT_MS, reporter: "min" });
  mocha.suite.emit("pre-require", globalThis, "", mocha); // gives the tests `describe` and `it`
  await import("./commands.test.ts");
  await import("./server-process.test.ts");
  await import("./attention.test.ts");
  await import("./edits.test.ts");
  await import("./code-actions.test.ts");
  await import("./virtual-documents.test.ts");
  await import("./pending.test.ts");
  await import("./keys.test.ts");
  await import("./problems.test.ts");
  await import("./navigate.test.ts");
  const failures = await new Promise<number>((done) => {
    const runner = mocha.run(done);
    runner.on("pass", (test) =>
      report({ title: test.fullTitle(), error: null, ms: test.duration ?? 0 }),
    );
    runner.on("fail", (test, error: unknown) =>
      report({
        title: test.fullTitle(),
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
        ms: 0,
      }),
    );
  });
  if (failures > 0) throw new Error(`${failures} failed`);
}

function report(result: {
  readonly title: string;
  readonly error: string | null;
  readonly ms: number;
}): void {
  process.stdout.write(""); // keeps the host's console connected
  // biome-ignore lint/suspicious/noConsole: the only way out of the extension host under test
  console.log(`INDWELL-TEST ${JSON.stringify(result)}`);
}
