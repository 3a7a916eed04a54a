/**
 * Colours code by kinds of words, such as keywords, if the editor's grammar or theme is on another
 * machine.
 */
import type { CodeStyle, Coloured } from "../../shared/coloured.ts";
import { marked } from "./languages.ts";

/**
 * Returns the kinds of words, for which the panel has colours of the theme, or null for an unknown
 * language.
 */
export function kindsOf(code: string, language: string): Coloured | null {
  const html = marked(code, language);
  if (html === null) return null;
  const styles: CodeStyle[] = [];
  const known = new Map<string, number>();
  const runs: number[] = [];
  const open: string[] = [];
  // The highlighted code has only text, entities and spans.
  for (const [part] of html.matchAll(/<span class="[^"]*">|<\/span>|[^<]+/g)) {
    if (part === "</span>") open.pop();
    else if (part.startsWith("<")) open.push(part.slice(13, -2).replace(/[^\w\s-]/g, ""));
    else {
      const kind = open.at(-1) ?? "";
      let style = known.get(kind);
      if (style === undefined) {
        style = styles.push({ ...PLAIN, kind }) - 1;
        known.set(kind, style);
      }
      runs.push(unescaped(part).length, style);
    }
  }
  return { styles, runs };
}

const PLAIN = { colour: "", italic: false, bold: false, underline: false };

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
