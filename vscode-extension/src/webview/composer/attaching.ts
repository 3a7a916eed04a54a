/**
 * Attaches what is pasted or dropped: pictures, long texts and files. Says why a file cannot be
 * attached.
 */
import { useRef, useState } from "preact/hooks";
import { plural, t } from "../../shared/l10n.ts";
import type { PanelState } from "../../shared/state/state.ts";
import type { Post } from "../host/channel.ts";

/** Media types of pictures that models accept. */
const PICTURE_TYPES: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/** The maximum number of bytes of one picture; the server refuses larger pictures. */
export const LARGEST_PICTURE = 5 * 1024 * 1024;
/** The maximum number of pictures of one prompt, as in the server. */
const MOST_PICTURES = 10;
/** A pasted text of this length or more becomes a chip, so that the composer stays readable. */
const LONG_CHARACTERS = 2_000;
const LONG_LINES = 40;
/** The maximum number of characters of an attached text in the server; longer texts stay in the composer. */
export const LARGEST_TEXT = 100_000;

/** Returns whether a pasted text is shown as a chip. */
export function isLong(text: string): boolean {
  return text.length <= LARGEST_TEXT && (text.length > LONG_CHARACTERS || lines(text) > LONG_LINES);
}

/** Returns the chip's label for a pasted text. */
export function textLabel(text: string): string {
  const count = lines(text);
  return count > 1
    ? plural(count, "Pasted text, {0} line", "Pasted text, {0} lines")
    : plural(text.length, "Pasted text, {0} character", "Pasted text, {0} characters");
}

/**
 * Returns why a file cannot be attached, in one sentence, or an empty text if the file can be
 * attached. `pictures` is the number of pictures that are already attached.
 */
export function pictureProblem(
  file: { readonly name: string; readonly type: string; readonly size: number },
  pictures: number,
): string {
  const name = file.name === "" ? t("The picture") : file.name;
  if (!file.type.startsWith("image/")) {
    return t(
      "{0} is not a picture. Files of the workspace go along with @ or from the explorer.",
      name,
    );
  }
  if (!PICTURE_TYPES.includes(file.type)) {
    return t("{0} cannot go along: models take PNG, JPEG, GIF and WebP pictures.", name);
  }
  if (file.size > LARGEST_PICTURE) return t("{0} is larger than 5 MB. Attach a smaller one.", name);
  if (pictures >= MOST_PICTURES) return t("A prompt takes {0} pictures at most.", MOST_PICTURES);
  return "";
}

/** Media types whose data are addresses of files; the editor's own types come first. */
const URI_TYPES: readonly string[] = [
  "application/vnd.code.uri-list",
  "text/uri-list",
  "ResourceURLs",
];

/**
 * Returns the addresses of dropped files, in order, each once; `read` returns the dropped data of a
 * media type.
 */
export function droppedUris(read: (type: string) => string): readonly string[] {
  for (const type of URI_TYPES) {
    const data = read(type).trim();
    const uris = data.startsWith("[") ? listed(data) : data.split(/\r?\n/);
    const good = uris.map((one) => one.trim()).filter((one) => /^[a-z][a-z0-9+.-]*:/i.test(one));
    if (good.length > 0) return [...new Set(good)];
  }
  return [];
}

function listed(data: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(data);
    return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

function lines(text: string): number {
  return text.trimEnd().split("\n").length;
}

/**
 * Returns the bytes as base64. Rejects if the browser cannot read the file (it is gone, or not
 * allowed).
 */
async function readBase64(file: Blob): Promise<string> {
  const url = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(typeof reader.result === "string" ? reader.result : "");
    reader.onerror = () => reject(reader.error ?? new Error("the file cannot be read"));
    reader.readAsDataURL(file);
  });
  return url.slice(url.indexOf(",") + 1);
}

interface Attach {
  /** Why the last attachment failed, in one sentence, or empty if it succeeded. */
  readonly problem: string;
  readonly forget: () => void;
  readonly files: (files: readonly File[]) => void;
  readonly uris: (uris: readonly string[]) => void;
  /** Handles a paste; returns true if the pasted data became an attachment. */
  readonly paste: (data: DataTransfer) => boolean;
}

/**
 * Attaches pictures, pasted texts and files to the next prompt, and reports why a file cannot be
 * attached.
 */
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

interface Drop {
  readonly over: boolean;
  readonly events: DropEvents;
}

interface DropEvents {
  readonly onDragEnter: (event: DragEvent) => void;
  readonly onDragOver: (event: DragEvent) => void;
  readonly onDragLeave: (event: DragEvent) => void;
  readonly onDrop: (event: DragEvent) => void;
}

/** Returns the handlers; `onUris` gets files of the editor, `onFiles` files of the desktop. */
export function useDrop(
  onUris: (uris: readonly string[]) => void,
  onFiles: (files: readonly File[]) => void,
): Drop {
  const [over, setOver] = useState(false);
  const enter = (event: DragEvent) => {
    if (!carriesFiles(event.dataTransfer)) return;
    // Without this call, the browser would open the file in place of the panel.
    event.preventDefault();
    if (event.dataTransfer !== null) event.dataTransfer.dropEffect = "copy";
    setOver(true);
  };
  const events: DropEvents = {
    onDragEnter: enter,
    onDragOver: enter,
    onDragLeave: (event) => {
      const box = event.currentTarget;
      const to = event.relatedTarget;
      if (!(box instanceof Node && to instanceof Node && box.contains(to))) setOver(false);
    },
    onDrop: (event) => {
      setOver(false);
      const data = event.dataTransfer;
      if (data === null || !carriesFiles(data)) return;
      event.preventDefault();
      const uris = droppedUris((type) => data.getData(type));
      if (uris.length > 0) onUris(uris);
      else onFiles([...data.files]);
    },
  };
  return { over, events };
}

function carriesFiles(data: DataTransfer | null): boolean {
  const types = data?.types ?? [];
  return types.some(
    (type) => type === "Files" || URI_TYPES.some((one) => one.toLowerCase() === type.toLowerCase()),
  );
}
