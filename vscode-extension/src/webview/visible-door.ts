/**
 * Makes hidden or reversing characters visible as code points, in every text and tooltip that
 * Preact draws. Other people choose names of sessions, models, files and tools. Text that the user
 * typed is unchanged.
 */
import { options } from "preact";
import { visible } from "../shared/visible.ts";

/** Attributes that people read. */
const READ = ["title", "aria-label", "alt", "placeholder", "label"] as const;
/** Elements with the user's own text. */
const TYPED = new Set(["textarea", "prompt-words"]);

/** Installs the hook; call this function once, before anything is drawn. */
export function openVisibleDoor(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    before?.(vnode);
    const { type } = vnode;
    if (typeof type !== "string") return;
    const props: Record<string, unknown> = vnode.props;
    for (const name of READ) props[name] !== undefined && showAll(props, name);
    if (!TYPED.has(type) && !TYPED.has(String(props["class"]))) showAll(props, "children");
  };
}

function showAll(props: Record<string, unknown>, name: string): void {
  const value = props[name];
  if (typeof value === "string") props[name] = visible(value);
  else if (Array.isArray(value))
    props[name] = value.map((one: unknown) => (typeof one === "string" ? visible(one) : one));
}
