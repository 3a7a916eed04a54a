import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Attachment,
  initialState,
  type PanelState,
} from "../../../../src/shared/state/state.ts";
import { emptyTurn } from "../../../../src/shared/state/turn-list.ts";
import { chipWords, openTarget } from "../../../../src/webview/composer/chips.tsx";
import { commandRows, mentionRows } from "../../../../src/webview/composer/completion.tsx";
import { modelWords, shortModelName } from "../../../../src/webview/composer/pickers.tsx";
import { popupPlace } from "../../../../src/webview/composer/popup.tsx";
import { sendHow, sendProblem } from "../../../../src/webview/composer/sending.tsx";

const MODEL = {
  name: "maker/large",
  window: 128_000,
  input: 0.3,
  output: 1.2,
  tools: true,
  chosen: true,
};
const OFFERED = { modes: ["plan", "review"], models: [MODEL], efforts: ["low", "high"] };

test("commands and the host's skills are listed with the best match first", () => {
  const skill = {
    kind: "skill",
    label: "/release",
    detail: "Make a release",
    value: "/release",
  } as const;
  const labels = (query: string) =>
    commandRows(query, OFFERED, [skill]).map((shown) => shown.row.label);
  assert.equal(labels("")[0], "/new");
  assert.deepEqual(labels("re").slice(0, 4).toSorted(), [
    "/release",
    "/request",
    "/restart",
    "/review",
  ]);
  assert.deepEqual(labels("mod").slice(0, 2), ["/mode", "/model"]);
  assert.deepEqual(labels("mode r"), ["review"]);
  assert.deepEqual(labels("model lar"), ["maker/large"]);
  assert.deepEqual(labels("effort "), ["auto", "low", "high"]);
  assert.equal(labels("worktree me")[0], "merge");
});

test("the host's rows keep their order and get marks for the matched letters", () => {
  const rows = ["b/invoice.py", "a/inv.py"].map((label) => ({
    kind: "file" as const,
    label,
    detail: "",
    value: label,
  }));
  assert.deepEqual(mentionRows(rows, "inv"), [
    { row: rows[0], at: [2, 3, 4] },
    { row: rows[1], at: [2, 3, 4] },
  ]);
});

test("one line states a model's window, price and tools, and omits unknown values", () => {
  assert.equal(modelWords(MODEL), "128k window · $0.30 in, $1.20 out per million · tools");
  assert.equal(
    modelWords({ ...MODEL, window: null, input: 0, output: 0, tools: false }),
    "free · no tools",
  );
  assert.equal(modelWords({ ...MODEL, window: null, input: null, output: null, tools: null }), "");
  assert.equal(
    modelWords({ ...MODEL, name: "copilot/gpt-5@vscode", input: null, output: null }),
    "through VS Code · 128k window · tools",
  );
  assert.equal(shortModelName("open/maker/model@vscode"), "maker/model@vscode");
  assert.deepEqual(["maker/large", "small", "odd/"].map(shortModelName), [
    "large",
    "small",
    "odd/",
  ]);
});

test("each kind of chip has its icon and description, and labels and targets contain the lines", () => {
  const chips: readonly Attachment[] = [
    { kind: "context", id: "selection:1", label: "a.py:1–3", tokens: 1_200 },
    { kind: "context", id: "opened:1", label: "a.py", tokens: 30 },
    { kind: "mention", id: "m", label: "a.py", path: "a.py#L3-9" },
    { kind: "mention", id: "f", label: "src/", path: "src/" },
    { kind: "image", id: "i", label: "a.png", mime: "image/png", data: "AAAA" },
    { kind: "text", id: "t", label: "Pasted text, 50 lines", text: "abcd" },
    { kind: "problems", id: "p", label: "2 problems", uri: null },
    { kind: "changes", id: "c", label: "Changes" },
  ];
  assert.deepEqual(
    chips.map((chip) => {
      const { icon, title } = chipWords(chip);
      return [icon, title.split("\n")[1]];
    }),
    [
      ["selection", "From the editor, about 1.2k tokens"],
      ["eye", "From the editor, about 30 tokens"],
      ["file", "Its text goes along. Press to open it"],
      ["folder", "Its text goes along. Press to open it"],
      ["file-media", "Picture, 3 B"],
      ["note", "About 1 token. Press to turn it back into text"],
      ["warning", "The problems that the editor reports"],
      ["source-control", "What git would commit, or the changes of the tree"],
    ],
  );
  const lines = ["src/a.py:3-9", "src/a.py:25-25", "src/a.py"].map(
    (label) => chipWords({ kind: "context", id: "c", label, tokens: 1 }).label,
  );
  assert.deepEqual(lines, ["a.py:3-9", "a.py:25", "a.py"]);
  assert.deepEqual(["a.py#L3-9", "a.py#L3", "a.py"].map(openTarget), [
    "a.py:3-9",
    "a.py:3",
    "a.py",
  ]);
});

test("a popup opens above its button, or below a button at the top, and stays inside the panel", () => {
  const panel = { width: 300, height: 600 };
  const anchor = { left: 250, right: 290, top: 560, bottom: 582 };
  assert.deepEqual(popupPlace(anchor, 200, panel, "start"), {
    left: 88,
    bottom: 44,
    top: null,
    maxHeight: 544,
    maxWidth: 276,
  });
  assert.deepEqual(popupPlace({ ...anchor, left: 4, right: 60 }, 900, panel, "end"), {
    left: 12,
    bottom: 44,
    top: null,
    maxHeight: 544,
    maxWidth: 276,
  });
  const low = popupPlace({ left: 0, right: 20, top: 40, bottom: 60 }, 100, panel, "start");
  assert.deepEqual([low.top, low.bottom, low.maxHeight], [64, null, 524]);
});

const READY: PanelState = { ...initialState, connection: { kind: "ready" } };

function running(attachments: PanelState["attachments"]): PanelState {
  const turn = { ...emptyTurn("s", 1), ending: "running" } as const;
  return { ...READY, turns: [turn], attachments };
}

test("a prompt steers a running turn unless the user attached chips to it", () => {
  const chip = { kind: "mention", id: "m", label: "a", path: "a" } as const;
  const context = { kind: "context", id: "s", label: "a", tokens: 1 } as const;
  assert.equal(sendHow(READY, "send"), "auto");
  assert.equal(sendHow(running([context]), "send"), "steer");
  assert.equal(sendHow(running([chip]), "send"), "next");
  assert.equal(sendHow(running([]), "sendNext"), "next");
});

test("a prompt that cannot be sent has a reason", () => {
  assert.equal(sendProblem(READY, "words"), "");
  assert.equal(sendProblem(READY, " \n"), "Write something first");
  const stopped = { kind: "stopped", reason: "The server has ended" } as const;
  assert.equal(sendProblem({ ...READY, connection: stopped }, "words"), "The server has ended");
});
