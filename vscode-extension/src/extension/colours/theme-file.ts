/** Reads the token rules of a theme from its file and from the files that it includes. */
import { dirname, join } from "node:path";
import type { IRawTheme } from "vscode-textmate";

/** One rule: scopes, and the style of their text. */
export type ThemeRule = IRawTheme["settings"][number];

/** Returns the text of a file. */
export type ReadText = (path: string) => Promise<string>;

/** Parses a property list (`.tmTheme`). */
export type ParseList = (text: string, path: string) => unknown;

/** The limit for themes that include one another. */
const DEEPEST = 8;

/** Returns the rules; later rules override earlier ones. */
export async function themeRules(
  path: string,
  read: ReadText,
  parseList: ParseList,
  depth = 0,
): Promise<readonly ThemeRule[]> {
  if (depth > DEEPEST) return [];
  const text = await read(path);
  if (/\.tmTheme$/i.test(path)) return rulesIn(valueIn(parseList(text, path), "settings"));
  const theme = parseJsonWithComments(text);
  const nested = async (name: unknown): Promise<readonly ThemeRule[]> =>
    typeof name === "string"
      ? themeRules(join(dirname(path), name), read, parseList, depth + 1)
      : [];
  const own = valueIn(theme, "tokenColors");
  return [
    ...(await nested(valueIn(theme, "include"))),
    ...(typeof own === "string" ? await nested(own) : rulesIn(own)),
  ];
}

/** Returns only rules with a scope; other text has the editor's own colour. */
function rulesIn(all: unknown): readonly ThemeRule[] {
  if (!Array.isArray(all)) return [];
  return all.filter((rule): rule is ThemeRule => {
    const [scope, settings] = [valueIn(rule, "scope"), valueIn(rule, "settings")];
    const isScope =
      typeof scope === "string" ||
      (Array.isArray(scope) && scope.every((one) => typeof one === "string"));
    return isScope && typeof settings === "object" && settings !== null;
  });
}

/** Parses JSON with comments and commas before a closing bracket, as VS Code writes its files. */
export function parseJsonWithComments(text: string): unknown {
  const plain = text
    .replace(/^\uFEFF/, "")
    .replace(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (part) =>
      part.startsWith('"') ? part : " ",
    )
    .replace(/"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])/g, (part) => (part === "," ? "" : part));
  return JSON.parse(plain);
}

function valueIn(from: unknown, key: string): unknown {
  return typeof from === "object" && from !== null ? Reflect.get(from, key) : undefined;
}
