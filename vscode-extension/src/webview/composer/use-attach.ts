/**
 * Attaches pictures, pasted texts and files to the next prompt, and reports why a file cannot be
 * attached.
 */

import { useRef, useState } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import type { PanelState } from "../../shared/state.ts";
import type { Post } from "../view-props.ts";
import { isLong, pictureProblem, textLabel } from "./paste.ts";
import { readBase64 } from "./read-picture.ts";

export interface Attach {
  /** Why the last attachment failed, in one sentence, or empty if it succeeded. */
  readonly problem: string;
  readonly forget: () => void;
  readonly files: (files: readonly File[]) => void;
  readonly uris: (uris: readonly string[]) => void;
  /** Handles a paste; returns true if the pasted data became an attachment. */
  readonly paste: (data: DataTransfer) => boolean;
}

export function useAttach(state: PanelState, post: Post): Attach {
  const [problem, setProblem] = useState("");
  const pictures = state.attachments.filter((one) => one.kind === "image").length;
  // The number of pictures of the same paste or drop that are not in the state yet.
  const coming = useRef(0);
  const one = async (file: File) => {
    const reason = pictureProblem(file, pictures + coming.current);
    if (reason !== "") {
      setProblem(reason);
      return;
    }
    coming.current += 1;
    const label = file.name === "" ? t("Pasted picture") : file.name;
    try {
      post({ type: "attachImage", label, mime: file.type, data: await readBase64(file) });
    } catch {
      setProblem(t("{0} cannot be read.", label));
    } finally {
      coming.current -= 1;
    }
  };
  const files = (some: readonly File[]) => {
    setProblem("");
    for (const file of some) void one(file);
  };
  return {
    problem,
    forget: () => setProblem(""),
    files,
    uris: (uris) => post({ type: "attachUris", uris }),
    paste: (data) => {
      const text = data.getData("text/plain");
      // Spreadsheets and web pages put a picture beside the copied text, but only the text is
      // wanted.
      if (text === "" && data.files.length > 0) {
        files([...data.files]);
        return true;
      }
      if (!isLong(text)) return false;
      post({ type: "attachText", label: textLabel(text), text });
      return true;
    },
  };
}
