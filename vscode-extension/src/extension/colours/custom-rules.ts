/**
 * Reads the user's own changes to the colours of a theme (`editor.tokenColorCustomizations`). Pure.
 */
import type { ThemeRule } from "./theme-file.ts";

/** The scopes of the setting's short names, as in VS Code. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  comments: ["comment", "punctuation.definition.comment"],
  strings: ["string", "meta.embedded.assembly"],
  keywords: ["keyword - keyword.operator", "keyword.control", "storage", "storage.type"],
  numbers: ["constant.numeric"],
  types: ["entity.name.type", "entity.name.class", "support.type", "support.class"],
  functions: ["entity.name.function", "support.function"],
  variables: ["variable", "entity.name.variable"],
};

/**
 * Returns the rules for all themes, then the rules for this theme (`[Theme]`, `[Dark*][Light*]`).
 */
export function customRules(setting: unknown, theme: string): readonly ThemeRule[] {
  if (!isRecord(setting)) return [];
  const ofThemes = Object.entries(setting).filter(
    ([key]) => key.startsWith("[") && namesTheme(key, theme),
  );
  return [setting, ...ofThemes.map(([, one]) => one)].flatMap(rulesIn);
}

function namesTheme(key: string, theme: string): boolean {
  return [...key.matchAll(/\[([^\]]*)\]/g)].some(([, name = ""]) => {
    const [before = "", after] = name.split("*");
    if (after === undefined) return theme === name;
    return theme.startsWith(before) && theme.endsWith(after);
  });
}

function rulesIn(setting: unknown): readonly ThemeRule[] {
  if (!isRecord(setting)) return [];
  const groups = Object.entries(GROUPS).flatMap(([name, scope]) => {
    const settings = settingsOf(setting[name]);
    return settings === null ? [] : [{ scope: [...scope], settings }];
  });
  const own = Array.isArray(setting["textMateRules"]) ? setting["textMateRules"] : [];
  const rules = own.flatMap((rule: unknown) => {
    if (!isRecord(rule)) return [];
    const { scope } = rule;
    const settings = settingsOf(rule["settings"]);
    const isScope =
      typeof scope === "string" ||
      (Array.isArray(scope) && scope.every((one) => typeof one === "string"));
    return isScope && settings !== null ? [{ scope, settings }] : [];
  });
  return [...groups, ...rules];
}

function settingsOf(value: unknown): { foreground?: string; fontStyle?: string } | null {
  if (typeof value === "string") return { foreground: value };
  if (!isRecord(value)) return null;
  const { foreground, fontStyle } = value;
  return {
    ...(typeof foreground === "string" ? { foreground } : {}),
    ...(typeof fontStyle === "string" ? { fontStyle } : {}),
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
