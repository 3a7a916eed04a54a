/** Decides how to handle a paste or a drop. Pure. */
import { plural, t } from "../../shared/l10n.ts";

/** Media types of pictures that models accept. */
export const PICTURE_TYPES: readonly string[] = [
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
];
/** The maximum number of bytes of one picture; the server refuses larger pictures. */
export const LARGEST_PICTURE = 5 * 1024 * 1024;
/** The maximum number of pictures of one prompt, as in the server. */
export const MOST_PICTURES = 10;
/** A pasted text of this length or more becomes a chip, so that the composer stays readable. */
export const LONG_CHARACTERS = 2_000;
export const LONG_LINES = 40;
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
export const URI_TYPES: readonly string[] = [
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
