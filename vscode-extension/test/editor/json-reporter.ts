/** A reporter for `node --test`: one line of JSON for each test, with its file. */
import { inspect } from "node:util";

interface Event {
  readonly type: string;
  readonly data: {
    readonly name?: string;
    readonly file?: string;
    readonly details?: {
      readonly duration_ms: number;
      readonly error?: { readonly failureType?: string; readonly cause?: unknown };
    };
  };
}

/** Yields lines of `{file, name, error, seconds}`; the error of a passed test is null. */
async function* report(events: AsyncIterable<Event>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    if (type !== "test:pass" && type !== "test:fail") continue;
    const failure = data.details?.error;
    if (failure?.failureType === "subtestsFailed") continue; // the subtests have their own lines
    const error = type === "test:pass" ? null : inspect(failure?.cause ?? failure, { depth: 4 });
    const seconds = (data.details?.duration_ms ?? 0) / 1000;
    yield `${JSON.stringify({ file: data.file ?? "", name: data.name ?? "", error, seconds })}\n`;
  }
}

// biome-ignore lint/style/noDefaultExport: Node loads a reporter by its default export
export default report;
