/** Colours finished code when the browser is idle. */
import { runs } from "./invisible.ts";
import { marked } from "./languages.ts";

/** Longer code stays plain: colouring it would take longer than a frame. In UTF-16 units. */
const LONGEST = 20_000;

/** Colour the code inside an element soon; its text stays the same. */
export function highlightSoon(element: HTMLElement, code: string, language: string): void {
  if (language === "" || code.length > LONGEST) return;
  requestIdleCallback(() => {
    if (!element.isConnected) return;
    if (isSelected(element)) {
      setTimeout(() => highlightSoon(element, code, language), 1000);
      return;
    }
    const html = marked(code, language);
    if (html !== null) element.replaceChildren(...elements(html));
  });
}

/** Colouring creates new nodes, which would remove a selection. */
function isSelected(element: HTMLElement): boolean {
  const selection = document.getSelection();
  return selection !== null && !selection.isCollapsed && selection.containsNode(element, true);
}

/** Nodes of marked code: it is only text, entities and spans, so no HTML parser is needed and none is used. */
function elements(html: string): readonly Node[] {
  const top = document.createElement("span");
  const open: HTMLElement[] = [top];
  for (const [part] of html.matchAll(/<span class="[^"]*">|<\/span>|[^<]+/g)) {
    const inner = open.at(-1) ?? top;
    if (part === "</span>") {
      if (open.length > 1) open.pop();
    } else if (part.startsWith("<")) {
      const span = document.createElement("span");
      span.className = part.slice(13, -2).replace(/[^\w\s-]/g, "");
      inner.append(span);
      open.push(span);
    } else {
      inner.append(...codeNodes(unescaped(part)));
    }
  }
  return [...top.childNodes];
}

/** Text of code with hidden characters made visible. */
export function codeNodes(text: string): readonly Node[] {
  return runs(text, "name").map((run) => {
    if (!run.hidden) return document.createTextNode(run.text);
    const span = document.createElement("span");
    span.className = "md-hidden";
    span.title = "hidden character";
    span.textContent = run.text;
    return span;
  });
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["&amp;", "&"],
  ["&lt;", "<"],
  ["&gt;", ">"],
  ["&quot;", '"'],
  ["&#x27;", "'"],
]);

function unescaped(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => ENTITIES.get(entity) ?? entity);
}
