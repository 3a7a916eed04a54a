/**
 * Draws a block of code with its buttons. The block grows while the model writes, and is coloured
 * when it is complete.
 */
import { number, t } from "../../shared/l10n.ts";
import { visible } from "../../shared/visible.ts";
import type { Post } from "../view-props.ts";
import { type Fence, readFence } from "./fence.ts";
import { codeNodes, highlightSoon } from "./highlight.ts";
import { hides } from "./invisible.ts";
import { setText } from "./morph.ts";

/** A block with more lines is folded. */
const FOLD_LINES = 24;

export class CodeView {
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
