/**
 * Converts Markdown to HTML text, one top-level block at a time; HTML in the source stays text. The
 * result must still be sanitised.
 */
import MarkdownIt, { type RendererRule, type Token } from "markdown-it";
import { t } from "../../shared/l10n.ts";
import { runs, type Strictness } from "./invisible.ts";
import { fileReference, linkTarget } from "./links.ts";

const TASK = /^\[([ xX])\] /;

/**
 * Changes the tokens of a text. The boxes are plain characters, so the sanitiser needs no
 * exception.
 */
function markTasks(tokens: readonly Token[]): void {
  for (const [at, token] of tokens.entries()) {
    const first = token.children?.[0];
    if (tokens[at - 2]?.type !== "list_item_open" || first?.type !== "text") continue;
    const isDone = TASK.exec(first.content)?.[1]?.trim() !== "";
    first.content = first.content.replace(TASK, isDone ? "☑ " : "☐ ");
  }
}

/** A top-level block: its lines (from 0, end exclusive) and its kind. */
export type ParsedBlock =
  | { readonly kind: "prose"; readonly start: number; readonly html: string }
  | { readonly kind: "code"; readonly start: number; readonly info: string; readonly text: string };

type Carried = NonNullable<Parameters<RendererRule>[3]>;
const IN_LINK = "inLink";

const md = new MarkdownIt({ html: false, linkify: true, typographer: false, breaks: false });
md.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
// Link definitions are off: a definition may come long after the block that uses it was drawn.
md.disable("reference");
// If the target is not allowed, the source of the link is drawn as text, including the target.
md.validateLink = (href) => linkTarget(href) !== null;

/** Parses the blocks of a text whose line breaks are all `\n`. */
export function parseBlocks(text: string): readonly ParsedBlock[] {
  const tokens = md.parse(text, {});
  markTasks(tokens);
  const blocks: ParsedBlock[] = [];
  for (let first = 0; first < tokens.length; ) {
    const next = endOfBlock(tokens, first);
    const head = tokens[first];
    if (head !== undefined) blocks.push(blockOf(head, tokens.slice(first, next)));
    first = next;
  }
  return blocks;
}

function endOfBlock(tokens: readonly Token[], first: number): number {
  let depth = 0;
  for (let at = first; at < tokens.length; at += 1) {
    depth += tokens[at]?.nesting ?? 0;
    if (depth === 0) return at + 1;
  }
  return tokens.length;
}

function blockOf(head: Token, tokens: Token[]): ParsedBlock {
  const start = head.map?.[0] ?? 0;
  if (head.type === "fence" || head.type === "code_block") {
    return { kind: "code", start, info: head.info.trim(), text: head.content.replace(/\n$/, "") };
  }
  return { kind: "prose", start, html: md.renderer.render(tokens, md.options, {}) };
}

/** Escapes a text and makes hidden characters visible. */
function escaped(text: string, strictness: Strictness): string {
  return runs(text, strictness)
    .map((run) => {
      const inner = md.utils.escapeHtml(run.text);
      return run.hidden
        ? `<span class="md-hidden" title="${md.utils.escapeHtml(t("hidden character"))}">${inner}</span>`
        : inner;
    })
    .join("");
}

/** Returns the opening tag of a link, or null if the target is not allowed. */
function opening(href: string): string | null {
  const target = linkTarget(href);
  if (target === null) return null;
  const where = md.utils.escapeHtml(target.kind === "web" ? target.href : target.target);
  const data = target.kind === "web" ? `data-link="${where}"` : `data-file="${where}"`;
  return `<a class="md-${target.kind}" role="link" tabindex="0" title="${where}" ${data}>`;
}

/**
 * Returns whether the token is inside a link. Each rule passes this state to the next, because a
 * search back over the tokens would take quadratic time.
 */
function inLink(carried: Carried | undefined): boolean {
  return carried?.[IN_LINK] === true;
}

const text: RendererRule = (tokens, at, _options, carried) =>
  escaped(tokens[at]?.content ?? "", inLink(carried) ? "name" : "prose");

const code: RendererRule = (tokens, at, _options, carried) => {
  const content = tokens[at]?.content ?? "";
  const inner = `<code>${escaped(content, "name")}</code>`;
  const file = inLink(carried) ? null : fileReference(content);
  const open = file === null ? null : opening(encodeURI(file));
  return open === null ? inner : `${open}${inner}</a>`;
};

/**
 * Draws an image as a link, because images are never loaded: the image's text links to the image if
 * this target may be opened.
 */
const image: RendererRule = (tokens, at, _options, carried) => {
  const token = tokens[at];
  const source = String(token?.attrGet("src") ?? "");
  const label = escaped(token?.content === "" ? source : (token?.content ?? source), "name");
  const open = inLink(carried) ? null : opening(source);
  return open === null ? label : `${open}${label}</a>`;
};

const linkOpen: RendererRule = (tokens, at, _options, carried) => {
  if (carried !== undefined) carried[IN_LINK] = true;
  const href = String(tokens[at]?.attrGet("href") ?? "");
  return opening(href) ?? '<a class="md-dead">';
};

const linkClose: RendererRule = (_tokens, _at, _options, carried) => {
  if (carried !== undefined) carried[IN_LINK] = false;
  return "</a>";
};

const fence: RendererRule = (tokens, at) => {
  const token = tokens[at];
  const language = (token?.info ?? "").trim().split(/[\s:{,]/)[0] ?? "";
  const body = md.utils.escapeHtml(token?.content ?? "");
  return `<pre data-language="${md.utils.escapeHtml(language)}"><code>${body}</code></pre>`;
};

/** Draws headings at levels below those of the panel. */
const heading: RendererRule = (tokens, at) => {
  const token = tokens[at];
  const level = Math.min(6, Number(token?.tag.slice(1) ?? 1) + 2);
  return token?.nesting === 1 ? `<h${level}>` : `</h${level}>`;
};

/** Draws the alignment as a class, because styles are forbidden. */
const cell: RendererRule = (tokens, at) => {
  const token = tokens[at];
  const side = /text-align:\s*(right|center)/.exec(String(token?.attrGet("style") ?? ""))?.[1];
  return side === undefined ? `<${token?.tag}>` : `<${token?.tag} class="md-${side}">`;
};

Object.assign(md.renderer.rules, {
  text,
  code_inline: code,
  image,
  link_open: linkOpen,
  link_close: linkClose,
  fence,
  code_block: fence,
  heading_open: heading,
  heading_close: heading,
  th_open: cell,
  td_open: cell,
  table_open: () => '<div class="md-table"><table>',
  table_close: () => "</table></div>",
} satisfies Record<string, RendererRule>);
