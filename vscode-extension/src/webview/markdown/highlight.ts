/**
 * Colours complete code as the editor does, through the extension host, which has the editor's
 * grammars and theme.
 */

import { type CodeStyle, type Coloured, LONGEST_COLOURED } from "../../shared/coloured.ts";
import { t } from "../../shared/l10n.ts";
import type { Post } from "../host/channel.ts";
import { runs } from "./invisible.ts";

interface Wanted {
  readonly element: HTMLElement;
  readonly code: string;
  readonly language: string;
  readonly post: Post;
}

/** The elements of code whose colours were requested, by the id of the request. */
const waiting = new Map<string, Wanted>();
/** Colours that have arrived, and wait for the next drawing. */
const undrawn: [Wanted, Coloured][] = [];
/** Code on the page, to be coloured again in another theme. */
const coloured = new Map<HTMLElement, Wanted>();
/** If more blocks than this are known, the blocks that are no longer in the page are forgotten. */
const MOST_KNOWN = 200;
/** A prefix for the ids of requests; each page that the panel loads has another prefix. */
const page = Math.random().toString(36).slice(2);
let last = 0;

/**
 * Requests colours for the code inside an element; only the colours of the code will change, not
 * its text.
 */
export function highlightSoon(
  element: HTMLElement,
  code: string,
  language: string,
  post: Post,
): void {
  if (language === "" || code === "" || code.length > LONGEST_COLOURED) return;
  requestIdleCallback(() => {
    if (element.isConnected) ask({ element, code, language, post });
  });
}

function ask(wanted: Wanted): void {
  last += 1;
  const id = `${page}-${last}`;
  const { code, language, post } = wanted;
  if (coloured.size > MOST_KNOWN)
    for (const element of coloured.keys()) if (!element.isConnected) coloured.delete(element);
  coloured.set(wanted.element, wanted);
  waiting.set(id, wanted);
  post({ type: "colour", id, code, language, theme: themeName() });
}

/**
 * Stores the colours of the host's answer. They appear when the panel draws the next time, so that
 * colours cause no additional drawing.
 */
export function coloursCame(id: string, found: Coloured | null): void {
  const wanted = waiting.get(id);
  waiting.delete(id);
  if (wanted !== undefined && found !== null) undrawn.push([wanted, found]);
}

/** Draws the colours that have come since the last drawing. */
export function drawColours(): void {
  for (const [wanted, found] of undrawn.splice(0)) draw(wanted, found);
}

function draw(wanted: Wanted, found: Coloured): void {
  const { element, code } = wanted;
  if (!element.isConnected || coloured.get(element) !== wanted) return;
  if (isSelected(element)) {
    setTimeout(() => draw(wanted, found), 1000);
    return;
  }
  let at = 0;
  const nodes: Node[] = [];
  for (let index = 0; index < found.runs.length; index += 2) {
    const end = at + (found.runs[index] ?? 0);
    const style = found.styles[found.runs[index + 1] ?? 0];
    nodes.push(...pieces(code.slice(at, end), style));
    at = end;
  }
  element.replaceChildren(...nodes, ...codeNodes(code.slice(at)));
}

function pieces(text: string, style: CodeStyle | undefined): readonly Node[] {
  const nodes = codeNodes(text);
  if (style === undefined || isPlain(style)) return nodes;
  const span = document.createElement("span");
  if (style.kind !== "") span.className = style.kind;
  // The style is set by a property, because the page's policy forbids styles in HTML.
  if (style.colour !== "") span.style.color = style.colour;
  if (style.italic) span.style.fontStyle = "italic";
  if (style.bold) span.style.fontWeight = "bold";
  if (style.underline) span.style.textDecoration = "underline";
  span.append(...nodes);
  return [span];
}

function isPlain({ colour, kind, italic, bold, underline }: CodeStyle): boolean {
  return colour === "" && kind === "" && !italic && !bold && !underline;
}

/**
 * Returns whether text of the element is selected; colouring creates new nodes, which would remove
 * a selection.
 */
function isSelected(element: HTMLElement): boolean {
  const selection = document.getSelection();
  return selection !== null && !selection.isCollapsed && selection.containsNode(element, true);
}

/** Returns the theme's name, which VS Code sets as an attribute of each webview's body. */
function themeName(): string {
  return document.body.dataset["vscodeThemeId"] ?? "";
}

/** Colours all code again when the user chooses another theme. */
export function watchTheme(): void {
  let shown = themeName();
  new MutationObserver(() => {
    if (themeName() === shown) return;
    shown = themeName();
    waiting.clear();
    const all = [...coloured.values()];
    coloured.clear();
    for (const wanted of all) if (wanted.element.isConnected) ask(wanted);
  }).observe(document.body, { attributeFilter: ["data-vscode-theme-id"] });
}

/** Text of code with hidden characters made visible. */
export function codeNodes(text: string): readonly Node[] {
  return runs(text, "name").map((run) => {
    if (!run.hidden) return document.createTextNode(run.text);
    const span = document.createElement("span");
    span.className = "md-hidden";
    span.title = t("hidden character");
    span.textContent = run.text;
    return span;
  });
}
