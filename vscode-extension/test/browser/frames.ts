/**
 * The long form of frames.test.ts: `node test/browser/frames.ts [--messages 10000] [--chunks 100] [--seconds 10] [--size 20]`.
 * Prints one JSON object; times in milliseconds, sizes in bytes.
 */
import { parseArgs } from "node:util";
import { startPages } from "./page.ts";
import { measureStream } from "./stream-frames.ts";

const { values } = parseArgs({
  options: {
    messages: { type: "string", default: "10000" },
    chunks: { type: "string", default: "100" },
    seconds: { type: "string", default: "10" },
    size: { type: "string", default: "20" },
  },
});

const pages = await startPages();
try {
  const panel = await pages.open({ width: 400, height: 800 });
  const frames = await measureStream(panel, {
    messages: Number(values.messages),
    chunksPerSecond: Number(values.chunks),
    seconds: Number(values.seconds),
    size: Number(values.size),
  });
  process.stdout.write(`${JSON.stringify(frames, null, 1)}\n${panel.consoleErrors.join("\n")}\n`);
} finally {
  await pages.close();
}
