/**
 * Lists the grammars and themes of the installed extensions, by the names that people write. Pure.
 */
import { join } from "node:path";

/** The used parts of an extension: its folder, and its manifest. */
export interface Installed {
  readonly extensionPath: string;
  readonly packageJSON: unknown;
}

export interface Catalogue {
  /** Paths of grammars, by scope. */
  readonly grammars: Readonly<Record<string, string>>;
  /** Scopes by the names of languages, in lower case. */
  readonly scopes: Readonly<Record<string, string>>;
  /** Scopes of grammars that are injected into other grammars, by the scope of the other. */
  readonly injections: Readonly<Record<string, readonly string[]>>;
  /** Paths of themes, by id and by label. */
  readonly themes: Readonly<Record<string, string>>;
}

/** Names that models write and that no extension declares. */
const MORE_NAMES: Readonly<Record<string, string>> = {
  shell: "shellscript",
  console: "shellscript",
  zsh: "shellscript",
  golang: "go",
  node: "javascript",
  jsx: "javascriptreact",
  tsx: "typescriptreact",
  dosbatch: "bat",
  proto: "proto3",
};

export function catalogueOf(extensions: readonly Installed[]): Catalogue {
  const grammars: Record<string, string> = Object.create(null);
  const injections: Record<string, string[]> = Object.create(null);
  const themes: Record<string, string> = Object.create(null);
  const ofLanguage: Record<string, string> = Object.create(null);
  const languages: { readonly id: string; readonly names: readonly string[] }[] = [];
  for (const { extensionPath, packageJSON } of extensions) {
    const path = (one: object) => {
      const relative = textIn(one, "path");
      return relative === "" ? "" : join(extensionPath, relative);
    };
    for (const one of contributed(packageJSON, "grammars")) {
      const [scope, file, language] = [
        textIn(one, "scopeName"),
        path(one),
        textIn(one, "language"),
      ];
      if (scope === "" || file === "") continue;
      grammars[scope] ??= file;
      if (language !== "") ofLanguage[language] ??= scope;
      for (const into of textsIn(one, "injectTo")) {
        injections[into] ??= [];
        injections[into].push(scope);
      }
    }
    for (const one of contributed(packageJSON, "themes")) {
      const file = path(one);
      for (const name of [textIn(one, "id"), textIn(one, "label")])
        if (name !== "" && file !== "") themes[name] ??= file;
    }
    for (const one of contributed(packageJSON, "languages")) {
      const endings = textsIn(one, "extensions").map((ending) => ending.replace(/^\./, ""));
      const names = [...textsIn(one, "aliases"), ...endings, ...textsIn(one, "filenames")];
      languages.push({ id: textIn(one, "id"), names });
    }
  }
  const scopes: Record<string, string> = Object.create(null);
  const name = (word: string, language: string) => {
    const scope = ofLanguage[language];
    if (scope !== undefined) scopes[word.toLowerCase()] ??= scope;
  };
  // An id takes precedence over the alias of another language, and an alias over a file extension.
  for (const language of Object.keys(ofLanguage)) name(language, language);
  for (const [word, language] of Object.entries(MORE_NAMES)) name(word, language);
  for (const { id, names } of languages) for (const word of names) name(word, id);
  return { grammars, scopes, injections, themes };
}

function contributed(manifest: unknown, what: string): readonly object[] {
  const contributes = valueIn(manifest, "contributes");
  const all = valueIn(contributes, what);
  return Array.isArray(all)
    ? all.filter((one): one is object => typeof one === "object" && one !== null)
    : [];
}

function valueIn(from: unknown, key: string): unknown {
  return typeof from === "object" && from !== null ? Reflect.get(from, key) : undefined;
}

function textIn(from: object, key: string): string {
  const value = valueIn(from, key);
  return typeof value === "string" ? value : "";
}

function textsIn(from: object, key: string): readonly string[] {
  const value = valueIn(from, key);
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}
