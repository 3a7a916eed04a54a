/** Starts the panel: connects to the extension host, and draws at most once per frame. */
import "./host/language.ts";
import "./styles/main.css";
import { render } from "preact";
import type { ToHost } from "../shared/messages.ts";
import type { PanelState } from "../shared/state/state.ts";
import { App } from "./app.tsx";
import { HostChannel } from "./host/channel.ts";
import type { Slot } from "./host/kept-words.ts";
import { drawColours, watchTheme } from "./markdown/highlight.ts";
import { openVisibleDoor } from "./visible-door.ts";

declare function acquireVsCodeApi(): Slot & { postMessage(message: ToHost): void };

const editor = acquireVsCodeApi();
let shown: PanelState | null = null;
let due = false;
let drawnAt = Number.NEGATIVE_INFINITY;

/**
 * Milliseconds between two drawings: 30 pictures a second are enough to read, however fast a model
 * streams.
 */
const PACE = 33;
/** The share of time that drawing may take, so that keys and clicks never wait for long. */
const SHARE = 1 / 3;
let pause = PACE;

const channel = new HostChannel(
  {
    send: (message) => editor.postMessage(message),
    receive: (take) => window.addEventListener("message", (event) => take(event.data)),
  },
  (state) => {
    shown = state;
    if (due) return;
    due = true;
    requestAnimationFrame(draw);
  },
  editor,
  named("tab"),
);

function draw(now: number): void {
  if (now - drawnAt < pause - 1) {
    requestAnimationFrame(draw);
    return;
  }
  due = false;
  drawnAt = now;
  const root = document.getElementById("root");
  if (shown === null || root === null) return;
  render(<App state={shown} post={channel.post} channel={channel} />, root);
  drawColours();
  pause = Math.max(PACE, (performance.now() - now) / SHARE);
}

// Commands of the palette act on the chat in which the user worked last.
window.addEventListener("focus", () => channel.post({ type: "focused" }));
openVisibleDoor();
watchTheme();
// A page is loaded again when it is shown again, and then the state that the page contains is old.
channel.beginWith(channel.kept.isNew(named("page") ?? "") ? (named("first") ?? "") : "");

/** Returns what the extension host has written into the page. */
function named(name: "tab" | "page" | "first"): string | null {
  return document.getElementById("root")?.dataset[name] ?? null;
}
