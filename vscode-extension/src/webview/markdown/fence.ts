/** Parses the text after the opening fence of a code block. Pure. */
import { fileReference } from "./file-reference.ts";

/** The parsed text after the opening fence. */
export interface Fence {
  readonly language: string;
  /** The file that the code is meant for, if the model named one. */
  readonly target: string | null;
}

/**
 * Parses `python`, `python invoice.py`, `python:invoice.py` or `python title="invoice.py"`. Pure.
 */
export function readFence(info: string): Fence {
  const language = (/^[\w+#.-]+/.exec(info)?.[0] ?? "").toLowerCase();
  const rest = info.slice(language.length).replace(/^[\s:]+/, "");
  const named =
    /(?:title|file|filename|path)=["']?([^"'\s}]+)/.exec(rest)?.[1] ?? rest.split(/\s/)[0] ?? "";
  const alone = language.includes(".") ? fileReference(language) : null;
  return {
    language: alone === null ? language : (language.split(".").at(-1) ?? ""),
    target: alone ?? fileReference(named),
  };
}
