/** Draws a plan for approval: as Markdown, or as source if Markdown would hide a part of it. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Markdown } from "../markdown/markdown.tsx";
import type { Post } from "../view-props.ts";
import { hidesWords } from "./unseen.ts";

export function PlanText({ text, post }: { readonly text: string; readonly post: Post }) {
  const element = useRef<HTMLDivElement>(null);
  // The text of the plan that is shown as source; any other plan is first drawn as Markdown.
  const [plainFor, setPlainFor] = useState<string | null>(null);
  const isPlain = plainFor === text;
  useLayoutEffect(() => {
    if (isPlain || element.current === null) return;
    if (hidesWords(text, drawnWords(element.current))) setPlainFor(text);
  }, [text, isPlain]);
  if (isPlain) return <pre class="output plan-plain">{text}</pre>;
  return (
    <div ref={element}>
      <Markdown text={text} final post={post} />
    </div>
  );
}

/**
 * Matches the name of a code block's language, which cannot hide a message; a longer word might.
 */
const LANGUAGE = /^[a-z+#]{1,12}$/;

/**
 * Returns the visible text; each link is followed by its target, because the link's tooltip shows
 * the target.
 */
function drawnWords(node: Node): string {
  if (node instanceof Text) return node.data;
  const inside = [...node.childNodes].map(drawnWords).join("");
  if (node instanceof HTMLAnchorElement) return `${inside} ${node.title}`;
  const language = node instanceof HTMLElement ? (node.dataset["language"] ?? "") : "";
  return LANGUAGE.test(language) ? `${language} ${inside}` : inside;
}
