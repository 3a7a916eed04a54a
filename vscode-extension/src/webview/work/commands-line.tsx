/**
 * Lists background commands: one line that opens to a list, where each command has its output and a
 * stop button.
 */

import { useEffect, useState } from "preact/hooks";
import type { BackgroundCommand } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import {
  commandFigure,
  commandsWords,
  isFailed,
  runningCommands,
} from "../../shared/tool-words.ts";
import { readable } from "../conversation/tool-detail.tsx";
import { Icon, usePressOnce } from "../elements.tsx";
import type { Post, ViewProps } from "../host/channel.ts";
import { codeNodes } from "../markdown/highlight.ts";

/** Milliseconds between two requests of the output of running commands, while the list is open. */
const LOOK_MS = 2000;
/** The maximum number of characters of an output's end that are drawn. */
const MOST = 4000;

export function CommandsLine({ state, post }: ViewProps) {
  const [open, setOpen] = useState(false);
  const { commands } = state;
  const running = runningCommands(commands);
  const watches = open && running.length > 0;
  useEffect(() => {
    if (!watches) return undefined;
    const look = () => post({ type: "commands", stop: null });
    look();
    const timer = setInterval(look, LOOK_MS);
    return () => clearInterval(timer);
  }, [watches, post]);
  if (commands.length === 0) return null;
  const newest = running.at(-1);
  return (
    <section class="todo" aria-label={t("Background commands")}>
      <button type="button" class="todo-toggle" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? "chevron-down" : "chevron-right"} />
        <Icon name="server-process" />
        <span class={running.length === 0 ? "todo-count muted" : "todo-count"}>
          {commandsWords(commands)}
        </span>
        {!open && newest !== undefined && (
          <span class="todo-now muted">· {oneLine(newest.command)}</span>
        )}
      </button>
      {open && (
        <ul class="commands-list">
          {commands.map((command) => (
            <CommandRow key={command.id} command={command} post={post} />
          ))}
        </ul>
      )}
    </section>
  );
}

function CommandRow(props: { readonly command: BackgroundCommand; readonly post: Post }) {
  const { command, post } = props;
  const [open, setOpen] = useState(false);
  const once = usePressOnce(command.state);
  const words = oneLine(command.command);
  const isRunning = command.state === "running";
  return (
    <li class="command">
      <div class="row command-head">
        <button
          type="button"
          class="command-toggle"
          aria-expanded={open}
          title={command.command}
          onClick={() => setOpen(!open)}
        >
          <Icon name={open ? "chevron-down" : "chevron-right"} />
          <code class="command-words">{words}</code>
        </button>
        <span class={isFailed(command) ? "figure failed" : "figure"}>{commandFigure(command)}</span>
        {isRunning && (
          <button
            type="button"
            class="icon-button"
            title={t("Stop")}
            aria-label={t("Stop {0}", words)}
            aria-disabled={once.pressed}
            onClick={() => once.press(() => post({ type: "commands", stop: command.id }))}
          >
            <Icon name="debug-stop" />
          </button>
        )}
      </div>
      {open && (
        <>
          {command.command !== words && <pre class="output">{command.command}</pre>}
          <Tail text={command.tail} />
        </>
      )}
    </li>
  );
}

/**
 * Draws the end of a command's output as plain text; escape sequences of terminals have no effect.
 */
function Tail({ text }: { readonly text: string }) {
  const [element, setElement] = useState<HTMLPreElement | null>(null);
  const shown = readable(text, MOST).text;
  useEffect(() => {
    if (element === null) return;
    element.replaceChildren(...codeNodes(shown));
    element.scrollTop = element.scrollHeight;
  }, [element, shown]);
  if (shown === "") return <p class="muted command-silent">{t("It has written nothing yet.")}</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    // biome-ignore lint/a11y/useSemanticElements: it is text of a program, so a pre
    <pre class="output" ref={setElement} tabIndex={0} role="region" aria-label={t("Output")} />
  );
}

function oneLine(command: string): string {
  return command.replace(/\s+/g, " ").trim();
}
