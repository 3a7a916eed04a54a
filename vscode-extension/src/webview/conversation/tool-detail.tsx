/**
 * Shows the details of a tool call: its live output, or its result once the host has fetched it;
 * output of programs is shown as plain text.
 */
import { useEffect, useRef } from "preact/hooks";
import { plural, t } from "../../shared/l10n.ts";
import type { ToolPart } from "../../shared/state/state.ts";
import { isGoing } from "../../shared/tool-words.ts";
import { visible } from "../../shared/visible.ts";
import { Icon } from "../elements.tsx";
import type { Post } from "../host/channel.ts";
import { codeNodes } from "../markdown/highlight.ts";

const ORDERS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are removed
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

/**
 * Returns at most `most` characters from the end, and the number of characters that were left out
 * before them.
 */
export function readable(
  text: string,
  most: number,
): { readonly text: string; readonly cut: number } {
  const cut = Math.max(0, text.length - most);
  const kept = text.slice(cut).replace(ORDERS, "").replace(/\r\n/g, "\n");
  const lines = kept.split("\n").map(overwritten);
  return { text: lines.join("\n").replace(/\n+$/, ""), cut };
}

/** Returns the last version of a line, because a progress bar overwrites its line many times. */
function overwritten(line: string): string {
  if (!line.includes("\r")) return line;
  return line.split("\r").findLast((piece) => piece !== "") ?? "";
}

/** The maximum number of characters of a result that are drawn. */
const MOST = 20_000;

interface Props {
  readonly part: ToolPart;
  /** Whether the call is a sub-agent's, whose result is not available. */
  readonly isInner?: boolean;
  readonly post: Post;
}

export function ToolDetail({ part, isInner = false, post }: Props) {
  const output = part.output !== "" ? part.output : (part.result ?? "");
  const isRunning = isGoing(part);
  const given = part.arguments === null ? "" : argumentWords(part);
  const isEmpty = output === "" && !isRunning && part.message === "" && given === "";
  return (
    <>
      {given !== "" && <Output text={given} isGiven follow={false} label={t("Arguments")} />}
      {part.message !== "" && <p class="tool-message">{part.message}</p>}
      {part.cut > 0 && (
        <p class="muted">
          {plural(
            part.cut,
            "{0} character before this is left out.",
            "{0} characters before this are left out.",
          )}
        </p>
      )}
      {output !== "" && <Output text={output} follow={isRunning} label={t("Output")} />}
      {isEmpty && <p class="muted">{emptyWords(part, isInner)}</p>}
      {output !== "" && (
        <div class="tool-actions">
          <button
            type="button"
            class="icon-button"
            title={t("Copy output")}
            aria-label={t("Copy output")}
            onClick={() => post({ type: "copy", text: output })}
          >
            <Icon name="copy" />
          </button>
        </div>
      )}
    </>
  );
}

function emptyWords(part: ToolPart, isInner: boolean): string {
  if (isInner) return t("Only the sub-agent got its result.");
  return part.result === null ? "Loading …" : t("No output.");
}

/**
 * Returns the arguments to show. A command that fits into the card's line is not repeated; a longer
 * command is shown whole.
 */
function argumentWords(part: ToolPart): string {
  const text = part.arguments ?? "";
  if (text === "" || text === "{}") return "";
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === "object" && parsed !== null) {
      const entries = Object.entries(parsed).filter(
        ([, value]) => value !== null && value !== part.target,
      );
      if (entries.length === 0) return "";
      return entries
        .map(
          ([name, value]) =>
            `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`,
        )
        .join("\n");
    }
  } catch {
    // A model may write arguments that are not JSON; such a text is shown unchanged.
  }
  return part.name === "bash" ? "" : text;
}

interface OutputProps {
  readonly text: string;
  /**
   * Whether the text comes from the model; such a text is shown completely, and hidden characters
   * appear as code points.
   */
  readonly isGiven?: boolean;
  readonly follow: boolean;
  readonly label: string;
}

/** Draws the text of a program as plain text in a scrolling box. */
function Output({ text, isGiven = false, follow, label }: OutputProps) {
  const element = useRef<HTMLPreElement>(null);
  const shown = isGiven ? { text: visible(text), cut: 0 } : readable(text, MOST);
  useEffect(() => {
    const pre = element.current;
    if (pre === null) return;
    const isAtEnd = pre.scrollHeight - pre.scrollTop - pre.clientHeight < 24;
    pre.replaceChildren(...codeNodes(shown.text));
    if (follow && isAtEnd) pre.scrollTop = pre.scrollHeight;
  }, [shown.text, follow]);
  return (
    <>
      {shown.cut > 0 && (
        <p class="muted">
          {plural(
            shown.cut,
            "{0} character before this is not shown.",
            "{0} characters before this are not shown.",
          )}
        </p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      {/* biome-ignore lint/a11y/useSemanticElements: it is text of a program, so a pre */}
      <pre class="output" ref={element} tabIndex={0} role="region" aria-label={label} />
    </>
  );
}
