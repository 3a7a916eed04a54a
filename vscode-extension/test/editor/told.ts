/** A reporter for `node --test`: one line of JSON for each test, so that a run of many specs is told apart. */
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

/** Lines of `{file, name, error, seconds}`; the error is null where a test passed. */
async function* told(events: AsyncIterable<Event>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    if (type !== "test:pass" && type !== "test:fail") continue;
    const failure = data.details?.error;
    if (failure?.failureType === "subtestsFailed") continue; // they tell it themselves
    const error = type === "test:pass" ? null : inspect(failure?.cause ?? failure, { depth: 4 });
    const seconds = (data.details?.duration_ms ?? 0) / 1000;
    yield `${JSON.stringify({ file: data.file ?? "", name: data.name ?? "", error, seconds })}\n`;
  }
}

// biome-ignore lint/style/noDefaultExport: Node takes a reporter from there
export default told;
