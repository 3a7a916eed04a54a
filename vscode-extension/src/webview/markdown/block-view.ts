/** Draws blocks into an element. A final block is drawn once and never changed. */
import { t } from "../../shared/l10n.ts";
import type { Post } from "../view-props.ts";
import type { BlockStream, StreamBlock } from "./block-stream.ts";
import { CodeView } from "./code-view.ts";
import { highlightSoon } from "./highlight.ts";
import { morphChildren } from "./morph.ts";
import type { ParsedBlock } from "./parser.ts";
import { sanitised } from "./sanitise.ts";

interface Drawn {
  block: ParsedBlock;
  done: boolean;
  readonly root: HTMLElement;
  readonly code: CodeView | null;
}

export class BlocksView {
  readonly #root: HTMLElement;
  readonly #post: Post;
  readonly #drawn: Drawn[] = [];

  constructor(root: HTMLElement, post: Post) {
    this.#root = root;
    this.#post = post;
  }

  /** Updates the drawn blocks from the stream; with `anew`, draws everything again. */
  update(stream: BlockStream, anew: boolean): void {
    if (anew) this.#cut(0);
    const doneBefore = this.#doneCount();
    for (let at = doneBefore; at < stream.doneCount; at += 1) this.#put(at, stream.done[at]);
    for (const [index, block] of stream.open.entries()) this.#put(stream.doneCount + index, block);
    this.#cut(stream.doneCount + stream.open.length);
  }

  #doneCount(): number {
    const open = this.#drawn.findIndex((drawn) => !drawn.done);
    return open < 0 ? this.#drawn.length : open;
  }

  #put(at: number, wanted: StreamBlock | undefined): void {
    if (wanted === undefined) return;
    const there = this.#drawn[at];
    if (there !== undefined && redraw(there, wanted, this.#post)) return;
    const made = this.#make(wanted);
    if (there === undefined) this.#root.append(made.root);
    else this.#root.replaceChild(made.root, there.root);
    this.#drawn[at] = made;
  }

  #make({ block, done }: StreamBlock): Drawn {
    if (block.kind === "code") {
      const code = new CodeView(block.info, this.#post);
      code.update(block.text, done);
      // Code can only be coloured after the element is in the page, so the caller requests the
      // colours.
      return { block, done, root: code.root, code };
    }
    const root = document.createElement("div");
    root.className = "md-block";
    root.dir = direction(block.html);
    root.append(sanitised(block.html));
    if (done) finish(root, this.#post);
    return { block, done, root, code: null };
  }

  #cut(count: number): void {
    for (const gone of this.#drawn.splice(count)) gone.root.remove();
  }
}

/** Changes the drawn nodes into the wanted nodes; returns whether this was possible. */
function redraw(drawn: Drawn, { block, done }: StreamBlock, post: Post): boolean {
  if (block.kind === "code") {
    if (drawn.code === null || drawn.block.kind !== "code" || drawn.block.info !== block.info)
      return false;
    drawn.code.update(block.text, done);
  } else {
    if (drawn.block.kind !== "prose") return false;
    if (drawn.block.html !== block.html) {
      morphChildren(drawn.root, sanitised(block.html));
      drawn.root.dir = direction(block.html);
    }
    if (done && !drawn.done) finish(drawn.root, post);
  }
  drawn.block = block;
  drawn.done = done;
  return true;
}

/** The beginning of a block, in characters, whose first letter decides the direction. */
const BEGINNING = 4000;
const FROM_THE_RIGHT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;

/**
 * Returns the direction of a block by its first letter. With `dir="auto"`, the browser would look
 * for that letter again at each change of a long list.
 */
function direction(html: string): "ltr" | "rtl" {
  const words = html.slice(0, BEGINNING).replace(/<[^>]*>|&[^;\s]+;/g, " ");
  const [letter] = /\p{L}/u.exec(words) ?? [""];
  return FROM_THE_RIGHT.test(letter) ? "rtl" : "ltr";
}

/** Colours the code inside lists and quotes, and makes wide content scrollable by keyboard. */
function finish(root: HTMLElement, post: Post): void {
  for (const table of root.querySelectorAll<HTMLElement>(".md-table")) {
    table.tabIndex = 0;
    table.setAttribute("role", "region");
    table.setAttribute("aria-label", t("Table"));
  }
  for (const pre of root.querySelectorAll<HTMLElement>("pre[data-language]")) {
    const code = pre.firstElementChild;
    if (code instanceof HTMLElement)
      highlightSoon(code, code.textContent, pre.dataset["language"] ?? "", post);
    pre.tabIndex = 0;
  }
}
