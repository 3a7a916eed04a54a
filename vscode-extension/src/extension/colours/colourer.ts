/** Colours code by a grammar and the rules of a theme, which are the editor's own. */
import { loadWASM, OnigScanner, OnigString } from "vscode-oniguruma";
import { INITIAL, parseRawGrammar, Registry } from "vscode-textmate";
import type { CodeStyle, Coloured } from "../../shared/coloured.ts";
import type { Catalogue } from "./catalogue.ts";
import { type ReadText, type ThemeRule, themeRules } from "./theme-file.ts";

/** The theme that the panel shows, and the user's own changes to the theme. */
export interface WantedTheme {
  /** The theme's id or label. */
  readonly name: string;
  readonly rules: readonly ThemeRule[];
}

/** A longer line is not coloured. */
const LONGEST_LINE = 2000;
/** The time limit for one line, in milliseconds. */
const LINE_MS = 200;
/**
 * A colour that no theme has; it marks text that no rule names, which keeps the editor's text
 * colour.
 */
const NONE = "#000001";
/** Bits of a token's metadata, as vscode-textmate packs them. */
const [COLOUR_BITS, COLOUR_AT, FONT_BITS, FONT_AT] = [0xff8000, 15, 0x7800, 11];
const [ITALIC, BOLD, UNDERLINE] = [1, 2, 4];

export class Colourer {
  readonly #catalogue: Catalogue;
  readonly #read: ReadText;
  readonly #registry: Registry;
  #theme = "";

  /** `wasm` is the engine of regular expressions, the same as the editor's. */
  constructor(catalogue: Catalogue, read: ReadText, wasm: () => Promise<ArrayBuffer>) {
    this.#catalogue = catalogue;
    this.#read = read;
    const engine = async () => {
      await loadWASM({ data: await wasm() });
      return {
        createOnigScanner: (patterns: string[]) => new OnigScanner(patterns),
        createOnigString: (text: string) => new OnigString(text),
      };
    };
    this.#registry = new Registry({
      onigLib: engine(),
      loadGrammar: async (scope) => {
        const path = catalogue.grammars[scope];
        return path === undefined ? null : parseRawGrammar(await read(path), path);
      },
      getInjections: (scope) => [...(catalogue.injections[scope] ?? [])],
    });
  }

  /** Returns the colours, or null if the language or the theme is unknown. */
  async colour(code: string, language: string, theme: WantedTheme): Promise<Coloured | null> {
    const scope = this.#catalogue.scopes[language.toLowerCase()];
    if (scope === undefined || !(await this.#use(theme))) return null;
    const grammar = await this.#registry.loadGrammar(scope);
    if (grammar === null) return null;
    const colours = this.#registry.getColorMap();
    const styles = new Styles(colours);
    let state = INITIAL;
    for (const [index, line] of code.split("\n").entries()) {
      if (index > 0) styles.add(1, 0);
      if (line.length > LONGEST_LINE) {
        styles.add(line.length, 0);
        continue;
      }
      const { tokens, ruleStack } = grammar.tokenizeLine2(line, state, LINE_MS);
      state = ruleStack;
      for (let at = 0; at < tokens.length; at += 2) {
        const [start, end] = [tokens[at] ?? 0, tokens[at + 2] ?? line.length];
        styles.add(Math.min(end, line.length) - start, tokens[at + 1] ?? 0);
      }
    }
    return styles.result();
  }

  /** Loads a theme; returns false if its file is missing, as for a theme of another machine. */
  async #use(theme: WantedTheme): Promise<boolean> {
    const path = this.#catalogue.themes[theme.name];
    if (path === undefined) return false;
    const key = JSON.stringify([path, theme.rules]);
    if (key === this.#theme) return true;
    const parse = (text: string, where: string): unknown => parseRawGrammar(text, where);
    const rules = await themeRules(path, this.#read, parse);
    const settings = [{ settings: { foreground: NONE } }, ...rules, ...theme.rules];
    this.#registry.setTheme({ settings });
    this.#theme = key;
    return true;
  }
}

/** Collects runs; adjacent runs of one style become one run. */
class Styles {
  readonly #colours: readonly string[];
  readonly #styles: CodeStyle[] = [];
  readonly #known = new Map<number, number>();
  readonly #runs: number[] = [];

  constructor(colours: readonly string[]) {
    this.#colours = colours;
  }

  add(length: number, metadata: number): void {
    if (length <= 0) return;
    const style = this.#index(metadata & (COLOUR_BITS | FONT_BITS));
    const last = this.#runs.length - 1;
    if (this.#runs[last] === style) this.#runs[last - 1] = (this.#runs[last - 1] ?? 0) + length;
    else this.#runs.push(length, style);
  }

  result(): Coloured {
    return { styles: this.#styles, runs: this.#runs };
  }

  #index(bits: number): number {
    const known = this.#known.get(bits);
    if (known !== undefined) return known;
    const colour = this.#colours[(bits & COLOUR_BITS) >>> COLOUR_AT] ?? NONE;
    const font = (bits & FONT_BITS) >>> FONT_AT;
    const at = this.#styles.push({
      colour: colour.toLowerCase() === NONE ? "" : colour,
      kind: "",
      italic: (font & ITALIC) !== 0,
      bold: (font & BOLD) !== 0,
      underline: (font & UNDERLINE) !== 0,
    });
    this.#known.set(bits, at - 1);
    return at - 1;
  }
}
