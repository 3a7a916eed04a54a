/** A plan to be approved: as Markdown, or as it is written where Markdown would leave something of it unseen. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Markdown } from "../markdown/markdown.tsx";
import type { Post } from "../view-props.ts";
import { hidesWords } from "./unseen.ts";

export function PlanText({ text, post }: { readonly text: string; readonly post: Post }) {
  const element = useRef<HTMLDivElement>(null);
  // For which text: another plan is drawn as Markdown first.
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

/** The name of a language that code is coloured by says nothing; a longer word might. */
const LANGUAGE = /^[a-z+#]{1,12}$/;

/** What can be read there, each link followed by its target, which its tooltip shows. */
function drawnWords(node: Node): string {
  if (node instanceof Text) return node.data;
  const inside = [...node.childNodes].map(drawnWords).join("");
  if (node instanceof HTMLAnchorElement) return `${inside} ${node.title}`;
  const language = node instanceof HTMLElement ? (node.dataset["language"] ?? "") : "";
  return LANGUAGE.test(language) ? `${language} ${inside}` : inside;
}
