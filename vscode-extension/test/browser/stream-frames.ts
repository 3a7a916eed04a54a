/** Measures the panel while a model streams into a long session: its frames and its processor time, in milliseconds. */
import type { Action } from "../../src/shared/state/action.ts";
import type { PanelState, Turn } from "../../src/shared/state/state.ts";
import type { Panel } from "./page.ts";
import { emptyState, text, tool, turn } from "./scenes.ts";

/** The parameters of a stream. */
export interface Stream {
  /** Messages in the session before the stream: half are prompts, half are answers. */
  readonly messages: number;
  readonly chunksPerSecond: number;
  readonly seconds: number;
  /** Characters in a chunk. */
  readonly size: number;
}

/** The measurements of a stream. */
export interface Frames {
  readonly count: number;
  readonly p50: number;
  readonly p95: number;
  readonly worst: number;
  /** The number of tasks that took more than 50 ms. */
  readonly long: number;
  readonly perSecond: number;
  /** Frames per second in which the conversation changed. */
  readonly drawings: number;
  /** Processor time of the page's main thread, in milliseconds; other programs do not lengthen it. */
  readonly processor: number;
  readonly heapBefore: number;
  readonly heapAfter: number;
  readonly nodes: number;
}

/** The turn that a long session repeats; each copy has its own number. */
const REPEATED = turn(0, {
  words: "Question #: where is the rounding of totals done, and why is it off by a cent?",
  parts: [
    tool("r", "read_file", "invoice_#.py", { figure: "120 lines" }),
    text(
      "t",
      "Answer #: in `invoice_#.py:44`.\n\nThe sum is rounded **per line**. The sum is rounded **per line**.\n\n- one\n- two\n\n```python\nx = round(#, 2)\n```\n",
    ),
  ],
});

/** Returns a session of `messages` messages: half are prompts, half are answers. */
export function longSession(messages: number): PanelState {
  return repeated({ base: emptyState(), model: REPEATED, count: messages / 2 });
}

/** Shows a long session. It is created in the page, because sending it there would take longer than the test. */
async function showLong(panel: Panel, messages: number): Promise<void> {
  const source = `(${repeated.toString()})(${JSON.stringify({ base: emptyState(), model: REPEATED, count: messages / 2 })})`;
  await panel.page.evaluate(
    `window.dispatchEvent(new MessageEvent("message", { data: { type: "snapshot", state: ${source}, typed: "" } }))`,
  );
}

/** Also runs in the page. */
function repeated(how: {
  readonly base: PanelState;
  readonly model: Turn;
  readonly count: number;
}): PanelState {
  const turns = Array.from({ length: how.count }, (_, index) => {
    const copy: Turn = JSON.parse(JSON.stringify(how.model).replaceAll("#", String(index + 1)));
    return { ...copy, number: index + 1 };
  });
  return { ...how.base, turns };
}

const PROSE =
  "The total is rounded **per line**, so `three` lines of 0.333 give 0.99. See [the test](tests/test_invoice.py#L12).\n\n" +
  "- first, the loop adds what was rounded\n- then the tax is taken of that\n\n" +
  "```python\ndef total(lines):\n    exact = sum(line.price * line.count for line in lines)\n    return round(exact, 2)\n```\n\n" +
  "| case | before | after |\n| --- | ---: | ---: |\n| thirds | 0.99 | 1.00 |\n\n";

/** Streams into the panel as the host does: one batch every 33 ms. */
export async function measureStream(panel: Panel, stream: Stream): Promise<Frames> {
  const number = stream.messages / 2 + 1;
  await panel.show(emptyState());
  await showLong(panel, stream.messages);
  const started: Action = {
    type: "event",
    session: "s1",
    seq: 1,
    at: 0,
    event: {
      type: "turnStarted",
      agent: "",
      turn: number,
      title: "",
      words: "Explain it all",
      model: "m",
      attached: [],
      mode: "review",
    },
  };
  await panel.play([started]);
  const devtools = await panel.devtools();
  const heap = async (): Promise<number> => {
    await devtools.send("HeapProfiler.collectGarbage");
    return (await devtools.send("Runtime.getHeapUsage")).usedSize;
  };
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  const processor = async (): Promise<number> => {
    const { metrics } = await devtools.send("Performance.getMetrics");
    return 1000 * (metrics.find((metric) => metric.name === "TaskDuration")?.value ?? Number.NaN);
  };
  const heapBefore = await heap();
  const processorBefore = await processor();
  const seen = await panel.page.evaluate(streamInPage, {
    ...stream,
    prose: PROSE,
    turn: number,
    revision: 2,
  });
  const used = (await processor()) - processorBefore;
  return { ...seen, processor: used, heapBefore, heapAfter: await heap() };
}

interface InPage extends Stream {
  readonly prose: string;
  readonly turn: number;
  readonly revision: number;
}

/** Runs in the page. */
function streamInPage(
  how: InPage,
): Promise<Omit<Frames, "processor" | "heapBefore" | "heapAfter">> {
  const work: number[] = [];
  let long = 0;
  let handled = 0;
  let drawings = 0;
  let dirty = false;
  let going = true;
  const channel = new MessageChannel();
  let began = 0;
  channel.port1.onmessage = () => {
    work.push(performance.now() - began + handled);
    handled = 0;
    if (dirty) drawings += 1;
    dirty = false;
  };
  new PerformanceObserver((list) => {
    long += list.getEntries().length;
  }).observe({ type: "longtask" });
  // This callback runs first in its frame; its message arrives after the frame's layout and painting.
  const frame = (): void => {
    began = performance.now();
    channel.port2.postMessage(0);
    if (going) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  const scroller = document.querySelector("[data-part=scroller]");
  const watch = new MutationObserver(() => {
    dirty = true;
  });
  watch.observe(scroller ?? document.body, { subtree: true, childList: true, characterData: true });
  // Syntax colours are applied in idle time, and do not count as a drawing.
  const idle = window.requestIdleCallback.bind(window);
  window.requestIdleCallback = (work) =>
    idle((deadline) => {
      work(deadline);
      watch.takeRecords();
    });

  let sent = 0;
  let seq = 1;
  let { revision } = how;
  const begin = performance.now();
  return new Promise((done) => {
    const timer = setInterval(() => {
      const passed = (performance.now() - begin) / 1000;
      const due = Math.min(how.seconds, passed) * how.chunksPerSecond;
      const actions = [];
      while (sent < due) {
        const from = (sent * how.size) % how.prose.length;
        const text = (how.prose + how.prose).slice(from, from + how.size);
        seq += 1;
        actions.push({
          type: "event",
          session: "s1",
          seq,
          at: passed * 1000,
          event: { type: "text", turn: how.turn, text, restart: false, agent: "" },
        });
        sent += 1;
      }
      revision += actions.length;
      const before = performance.now();
      // Dispatched synchronously, so that its duration can be measured.
      if (actions.length > 0)
        window.dispatchEvent(
          new MessageEvent("message", { data: { type: "actions", actions, revision } }),
        );
      handled += performance.now() - before;
      if (passed < how.seconds) return;
      clearInterval(timer);
      going = false;
      setTimeout(() => {
        work.sort((left, right) => left - right);
        const at = (share: number): number =>
          work[Math.min(work.length - 1, Math.floor(work.length * share))] ?? 0;
        done({
          count: work.length,
          p50: at(0.5),
          p95: at(0.95),
          worst: at(1),
          long,
          perSecond: work.length / passed,
          drawings: drawings / passed,
          nodes: document.getElementsByTagName("*").length,
        });
      }, 200);
    }, 33);
  });
}
