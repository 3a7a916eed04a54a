/** Draws the state of a session's work: an icon and a word. */
import { WORK_WORDS } from "../../shared/mark-words.ts";
import type { SessionWork } from "../../shared/state.ts";
import { Icon } from "../icon.tsx";

export function WorkBadge({ work }: { readonly work: SessionWork }) {
  return (
    <span class={`work-badge ${work}`}>
      <Icon name={ICONS[work]} spin={work === "running"} /> {WORK_WORDS[work]}
    </span>
  );
}

const ICONS: Readonly<Record<SessionWork, string>> = {
  running: "loading",
  asking: "question",
  done: "check",
  failed: "error",
  stopped: "debug-stop",
};
