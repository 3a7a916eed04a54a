/**
 * Reads the sources for texts that users see. `node scripts/words.ts`, run in the extension's
 * folder, lists the texts that lack a translation, and translations that no source uses.
 */
import { join, relative } from "node:path";
import * as ast from "typescript/unstable/ast";
import { API } from "typescript/unstable/sync";
import { LANGUAGES, translations } from "./translations.ts";

/** The folder of the extension, from which scripts and tests run. */
export const EXTENSION = process.cwd();

/** The module of `t` and `plural`, the only functions that translate. */
const TRANSLATION = "src/shared/l10n.ts";

/** A literal that users may see although it is not translated. */
export interface Bare {
  /** The path below the extension's folder, with slashes. */
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** Sources without texts of ours: the protocol is generated. */
const NO_WORDS: ReadonlySet<string> = new Set(["src/protocol.ts", TRANSLATION]);

/** What the sources say. */
export interface Words {
  /** English texts that are translated, and whether the text is only for one thing. */
  readonly keys: ReadonlyMap<string, { readonly isSingular: boolean; readonly file: string }>;
  readonly bare: readonly Bare[];
  /** Calls whose text is no literal, so that nobody can translate it. */
  readonly unclear: readonly Bare[];
}

/** Parses all sources; takes about a second. */
export function readWords(): Words {
  const keys = new Map<string, { readonly isSingular: boolean; readonly file: string }>();
  const bare: Bare[] = [];
  const unclear: Bare[] = [];
  for (const [file, source] of sources()) {
    const at = (node: ast.Node, text: string): Bare => ({ file, line: lineOf(source, node), text });
    const visit = (node: ast.Node): void => {
      if (ast.isCallExpression(node) && translator(node) !== undefined) {
        for (const [index, text] of textsOf(node).entries()) {
          if (!ast.isStringLiteral(text)) {
            unclear.push(at(node, text.getText()));
            continue;
          }
          const isSingular = translator(node) === "plural" && index === 0;
          const known = keys.get(text.text);
          keys.set(text.text, { isSingular: isSingular && known?.isSingular !== false, file });
        }
      }
      const text = shown(node);
      if (text !== null) bare.push(at(node, text));
      node.forEachChild(visit);
    };
    visit(source);
  }
  return { keys, bare, unclear };
}

/** Yields each source of the extension and its parsed form. */
export function* sources(): Generator<readonly [string, ast.SourceFile]> {
  const api = new API({ cwd: EXTENSION });
  try {
    const seen = new Set<string>();
    for (const name of ["tsconfig.json", "tsconfig.webview.json"]) {
      const config = join(EXTENSION, name);
      const project = api.updateSnapshot({ openProject: config }).getProject(config);
      for (const path of project?.rootFiles ?? []) {
        const file = relative(EXTENSION, path).replaceAll("\\", "/");
        const source = project?.program.getSourceFile(path);
        if (seen.has(file) || source === undefined || NO_WORDS.has(file)) continue;
        seen.add(file);
        yield [file, source];
      }
    }
  } finally {
    api.close();
  }
}

/** Returns the text of a node that users may see and that is not translated, else null. */
export function shown(node: ast.Node): string | null {
  if (ast.isJsxText(node)) {
    const text = node.text.replace(/\s+/g, " ").trim();
    return /\p{L}{2}/u.test(text) && !OUR_NAME.test(text) ? text : null;
  }
  const text = literal(node);
  if (text === null || isForPrograms(node)) return null;
  const attribute = ast.isJsxAttribute(node.parent) ? node.parent.name.getText() : null;
  if (attribute !== null && SHOWN_ATTRIBUTES.has(attribute))
    return /\p{L}{2}/u.test(text) ? text : null;
  return SENTENCE.test(text) && !OUR_NAME.test(text) ? text : null;
}

/** Our name alone, or before a text that is translated. */
const OUR_NAME = /^Indwell(?:: (?:\{\})+)?$/;

/** Attributes whose text users see or hear. */
const SHOWN_ATTRIBUTES = new Set([
  "title",
  "aria-label",
  "placeholder",
  "label",
  "alt",
  "verb",
  "words",
  "hint",
]);

/** Two words, or one word that begins large: a text of the user interface. */
const SENTENCE = /\p{L}[,.:;…]? +[\p{L}{(“]|[}”)] +\p{L}{2}|^[A-Z]\p{Ll}+[….]?$|^\p{L}+…$/u;

/** Attributes that name things for programs. */
const PROGRAM_ATTRIBUTES =
  /^(?:class|style|type|role|id|key|name|for|data-.*|aria-(?:keyshortcuts|controls|live|describedby|labelledby|haspopup)|autocomplete|href|src|icon|rel)$/;

function literal(node: ast.Node): string | null {
  if (ast.isStringLiteral(node) || ast.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!ast.isTemplateExpression(node)) return null;
  return node.head.text + node.templateSpans.map((span) => `{}${span.literal.text}`).join("");
}

/** Whether the place of a literal says that no user sees it. */
function isForPrograms(node: ast.Node): boolean {
  const { parent } = node;
  if (ast.isImportDeclaration(parent) || ast.isExportDeclaration(parent)) return true;
  if (ast.isLiteralTypeNode(parent) || ast.isCaseClause(parent)) return true;
  if (ast.isExpressionStatement(parent)) return true;
  if (ast.isPropertyAssignment(parent) && parent.name === node) return true;
  if (ast.isElementAccessExpression(parent)) return true;
  if (ast.isBinaryExpression(parent) && isComparison(parent.operatorToken.kind)) return true;
  for (let at: ast.Node = node; at !== undefined; at = at.parent) {
    if (ast.isStatement(at) || ast.isArrowFunction(at)) return false;
    if (ast.isTypeNode(at)) return true;
    if (ast.isJsxAttribute(at)) return PROGRAM_ATTRIBUTES.test(at.name.getText());
    if (ast.isJsxElement(at)) return false;
    if (ast.isCallExpression(at) && translator(at) !== undefined && at !== node) {
      // The arguments of a translated text are shown, its own texts are translated.
      return textsOf(at).some((text) => text === node);
    }
  }
  return false;
}

function isComparison(kind: ast.SyntaxKind): boolean {
  return [
    ast.SyntaxKind.EqualsEqualsEqualsToken,
    ast.SyntaxKind.ExclamationEqualsEqualsToken,
    ast.SyntaxKind.InKeyword,
  ].includes(kind);
}

function translator(call: ast.CallExpression): "t" | "plural" | undefined {
  if (!ast.isIdentifier(call.expression)) return undefined;
  const { text } = call.expression;
  return text === "t" || text === "plural" ? text : undefined;
}

function textsOf(call: ast.CallExpression): readonly ast.Node[] {
  return translator(call) === "t" ? call.arguments.slice(0, 1) : call.arguments.slice(1, 3);
}

export function lineOf(source: ast.SourceFile, node: ast.Node): number {
  return source.text.slice(0, node.getStart()).split("\n").length;
}

/** Returns whether the language has forms for one thing that differ from those for several. */
export function hasSingular(language: string): boolean {
  return new Intl.PluralRules(language).select(1) === "one";
}

/** Returns the texts of the code that need a translation. */
export function wanted({ keys }: Words, language: string): readonly string[] {
  const singular = hasSingular(language);
  return [...keys].flatMap(([text, { isSingular }]) => (isSingular && !singular ? [] : [text]));
}

function report(): void {
  const words = readWords();
  for (const language of LANGUAGES) {
    const known = translations(language, "code");
    const need = wanted(words, language);
    const lines = [
      ...need.filter((text) => !(text in known)).map((text) => `${language} lacks ${text}`),
      ...Object.keys(known)
        .filter((text) => !need.includes(text))
        .map((text) => `${language} has an unused ${text}`),
    ];
    process.stdout.write(lines.map((line) => `${line}\n`).join(""));
  }
}

if (process.argv[1]?.endsWith("words.ts")) report();
