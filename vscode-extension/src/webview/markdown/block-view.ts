/**
 * Draws blocks of Markdown into an element, with the buttons of code. A final block is drawn once
 * and never changed; a growing block changes only where it differs, so that a selection stays.
 */
import { number, t } from "../../shared/l10n.ts";
import { visible } from "../../shared/visible.ts";
import type { Post } from "../host/channel.ts";
import type { BlockStream, StreamBlock } from "./block-stream.ts";
import { codeNodes, highlightSoon } from "./highlight.ts";
import { hides } from "./invisible.ts";
import { type Fence, readFence } from "./links.ts";
import type { ParsedBlock } from "./parser.ts";
import { sanitised } from "./sanitise.ts";

/** Makes the children of `drawn` equal to those of `wanted`, whose nodes are moved. */
function morphChildren(drawn: Node, wanted: Node): void {
  const old = [...drawn.childNodes];
  const fresh = [...wanted.childNodes];
  fresh.forEach((node, index) => {
    const there = old[index];
    if (there === undefined) drawn.appendChild(node);
    else if (!morph(there, node)) drawn.replaceChild(node, there);
  });
  for (const extra of old.slice(fresh.length)) drawn.removeChild(extra);
}

/** Makes one node equal to another; returns false if they are too different. */
function morph(there: Node, wanted: Node): boolean {
  if (there instanceof Text && wanted instanceof Text) {
    setText(there, wanted.data);
    return true;
  }
  if (!(there instanceof Element && wanted instanceof Element) || !sameTag(there, wanted))
    return false;
  morphChildren(there, wanted);
  return true;
}

/** Sets a text; if the text only grew, the new end is appended, so that a selection stays. */
function setText(node: Text, text: string): void {
  if (node.data === text) return;
  if (text.startsWith(node.data)) node.appendData(text.slice(node.data.length));
  else node.data = text;
}

function sameTag(left: Element, right: Element): boolean {
  return (
    left.tagName === right.tagName &&
    left.attributes.length === right.attributes.length &&
    [...left.attributes].every((one) => right.getAttribute(one.name) === one.value)
  );
}

/** A block with more lines is folded. */
const FOLD_LINES = 24;

/**
 * Draws a block of code with its buttons. The block grows while the model writes, and is coloured
 * when it is complete.
 */
class CodeView {
  readonly root = document.createElement("div");
  readonly #pre = document.createElement("pre");
  readonly #code = document.createElement("code");
  readonly #text = document.createTextNode("");
  readonly #more = document.createElement("button");
  readonly #fence: Fence;
  readonly #post: Post;
  #whole = "";
  #done = false;
  #open = false;

  constructor(info: string, post: Post) {
    this.#fence = readFence(info);
    this.#post = post;
    this.root.className = "code";
    this.root.dataset["language"] = this.#fence.language;
    this.#pre.tabIndex = 0;
    this.#pre.setAttribute("role", "region");
    this.#pre.setAttribute("aria-label", label(this.#fence));
    this.#code.append(this.#text);
    this.#pre.append(this.#code);
    this.#more.className = "code-more";
    this.#more.hidden = true;
    this.#more.addEventListener("click", () => this.#toggle());
    this.root.append(this.#bar(), this.#pre, this.#more);
  }

  /** Sets the code so far; `done` means that no code will be added. */
  update(text: string, done: boolean): void {
    if (text === this.#whole && done === this.#done) return;
    const grew = text !== this.#whole;
    this.#whole = text;
    this.#done = done;
    setText(this.#text, text);
    if (grew) this.#fold();
    if (!done) return;
    if (hides(text)) this.#code.replaceChildren(...codeNodes(text));
    highlightSoon(this.#code, text, this.#fence.language, this.#post);
    this.#pre.scrollTop = 0;
  }

  #fold(): void {
    const lines = lineCount(this.#whole);
    const folds = lines > FOLD_LINES;
    this.#more.hidden = !folds;
    this.root.classList.toggle("folded", folds && !this.#open);
    const words = this.#open ? t("Show less") : t("Show all {0} lines", number(lines));
    if (this.#more.textContent !== words) this.#more.textContent = words;
    this.#more.setAttribute("aria-expanded", String(this.#open));
    // While the model writes the code, the box shows the end of the code and keeps its height.
    if (folds && !this.#open && !this.#done) this.#pre.scrollTop = this.#pre.scrollHeight;
  }

  #toggle(): void {
    this.#open = !this.#open;
    this.#fold();
    if (!this.#open) this.root.scrollIntoView({ block: "nearest" });
  }

  #bar(): HTMLElement {
    const post = this.#post;
    const bar = document.createElement("div");
    bar.className = "code-bar";
    bar.setAttribute("role", "toolbar");
    bar.setAttribute("aria-label", t("Code"));
    bar.append(
      button("copy", t("Copy code"), () => post({ type: "copy", text: this.#whole })),
      button("insert", t("Insert at the cursor"), () =>
        post({ type: "insertCode", text: this.#whole }),
      ),
      button("git-pull-request-create", applyWords(this.#fence.target), () =>
        post({ type: "applyCode", text: this.#whole, target: this.#fence.target }),
      ),
    );
    return bar;
  }
}

/** Returns the button's label, which contains the file that the model named. */
function applyWords(target: string | null): string {
  return target === null ? t("Apply as an edit") : t("Apply as an edit of {0}", visible(target));
}

function button(icon: string, words: string, press: () => void): HTMLElement {
  const made = document.createElement("button");
  made.className = "icon-button";
  made.title = words;
  made.setAttribute("aria-label", words);
  const sign = document.createElement("span");
  sign.className = `codicon codicon-${icon}`;
  sign.setAttribute("aria-hidden", "true");
  made.append(sign);
  made.addEventListener("click", press);
  return made;
}

function label(fence: Fence): string {
  const { language, target } = fence;
  if (target === null) return language === "" ? t("Code") : t("Code, {0}", language);
  return language === "" ? t("Code, for {0}", target) : t("Code, {0}, for {1}", language, target);
}

function lineCount(text: string): number {
  let count = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

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
 * Returns the direction of a block by its first letter outside code, because a sentence in any
 * script may begin with a name of code. With `dir="auto"`, the browser would look for that letter
 * again at each change of a long list.
 */
function direction(html: string): "ltr" | "rtl" {
  const words = html
    .slice(0, BEGINNING)
    .replace(/<code\b.*?<\/code>/gs, " ")
    .replace(/<[^>]*>|&[^;\s]+;/g, " ");
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
