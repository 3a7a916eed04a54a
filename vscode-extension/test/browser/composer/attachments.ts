/** Attachments of the composer: chips, pasted text and pictures, dropped files. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ToHost } from "../../../src/shared/messages.ts";
import type { Panel } from "../page.ts";
import { chips, composerState } from "../scenes-composer.ts";
import { open, postedActions, press, text } from "./panel.ts";

/** Dispatches a paste or drag event with a real `DataTransfer`. */
async function dispatchTransfer(
  panel: Panel,
  event: "paste" | "dragenter" | "drop",
  carried: {
    readonly texts?: Readonly<Record<string, string>>;
    readonly files?: readonly (readonly [string, string, number])[];
  },
): Promise<void> {
  await panel.page.evaluate(
    ([name, data]) => {
      const moved = new DataTransfer();
      for (const [type, value] of Object.entries(data.texts ?? {})) moved.setData(type, value);
      for (const [file, type, size] of data.files ?? [])
        moved.items.add(new File([new Uint8Array(size)], file, { type }));
      const made =
        name === "paste"
          ? new ClipboardEvent("paste", { clipboardData: moved, bubbles: true, cancelable: true })
          : new DragEvent(name, { dataTransfer: moved, bubbles: true, cancelable: true });
      document.querySelector(".prompt-text")?.dispatchEvent(made);
    },
    [event, carried] as const,
  );
}

const waitForPosted = (panel: Panel, type: ToHost["type"]) =>
  panel.page.waitForFunction((wanted) => {
    const posted: { type: string }[] = Reflect.get(window, "__posted");
    return posted.some((one) => one.type === wanted);
  }, type);

test("chips are removed by mouse and keyboard, and the focus moves to a neighbouring chip", async () => {
  const panel = await open(composerState({ attachments: chips.slice(0, 3) }));
  await press(panel, "Backspace");
  assert.match(
    await panel.page.evaluate(() => document.activeElement?.textContent ?? ""),
    /totals\.py/,
  );
  await press(panel, "ArrowLeft", "Delete");
  assert.deepEqual(await postedActions(panel), [{ type: "unattach", id: "opened" }]);
  await panel.play([{ type: "unattach", id: "opened" }]);
  assert.match(
    await panel.page.evaluate(() => document.activeElement?.textContent ?? ""),
    /totals\.py/,
  );
  await panel.page.getByRole("button", { name: "Remove invoice.py:41–58", exact: true }).click();
  assert.deepEqual((await postedActions(panel)).at(-1), { type: "unattach", id: "selection" });
  await panel.page.getByRole("button", { name: "Add context" }).click();
  assert.deepEqual((await postedActions(panel)).at(-1), { type: "pickContext" });
});

test("a pasted picture is attached, and a picture of an unsupported type or size shows a message", async () => {
  const panel = await open(composerState());
  await dispatchTransfer(panel, "paste", { files: [["a.png", "image/png", 3]] });
  await waitForPosted(panel, "attachImage");
  assert.deepEqual(await postedActions(panel), [
    { type: "attachImage", label: "a.png", mime: "image/png", data: "AAAA" },
  ]);
  await dispatchTransfer(panel, "paste", { files: [["a.svg", "image/svg+xml", 3]] });
  assert.match(
    (await panel.page.getByRole("alert").textContent()) ?? "",
    /PNG, JPEG, GIF and WebP/,
  );
  await dispatchTransfer(panel, "paste", { files: [["a.png", "image/png", 5 * 1024 * 1024 + 1]] });
  assert.match((await panel.page.getByRole("alert").textContent()) ?? "", /larger than 5 MB/);
});

test("a long pasted text is attached, and a click on its chip inserts the text", async () => {
  const long = "line\n".repeat(60);
  const panel = await open(composerState({ attachments: [] }), "see: ");
  await dispatchTransfer(panel, "paste", { texts: { "text/plain": long } });
  assert.deepEqual(await postedActions(panel), [
    { type: "attachText", label: "Pasted text, 60 lines", text: long },
  ]);
  assert.equal(await text(panel), "see: ");
  await panel.play([
    {
      type: "attach",
      attachment: { kind: "text", id: "text:9", label: "Pasted text, 60 lines", text: long },
    },
  ]);
  await panel.page.locator(".chip-name").click();
  assert.equal(await text(panel), `see: ${long}`);
  assert.deepEqual((await postedActions(panel)).at(-1), { type: "unattach", id: "text:9" });
});

test("files and pictures can be dropped on the composer, which shows a hint during the drag", async () => {
  const panel = await open(composerState());
  const uris = { "application/vnd.code.uri-list": "file:///ws/a.py\r\nfile:///ws/b.py" };
  await dispatchTransfer(panel, "dragenter", { texts: uris });
  await panel.page.getByText("Drop files or pictures").waitFor();
  await dispatchTransfer(panel, "drop", { texts: uris });
  assert.equal(await panel.page.getByText("Drop files or pictures").count(), 0);
  await dispatchTransfer(panel, "drop", { files: [["b.webp", "image/webp", 3]] });
  await waitForPosted(panel, "attachImage");
  assert.deepEqual(await postedActions(panel), [
    { type: "attachUris", uris: ["file:///ws/a.py", "file:///ws/b.py"] },
    { type: "attachImage", label: "b.webp", mime: "image/webp", data: "AAAA" },
  ]);
});
