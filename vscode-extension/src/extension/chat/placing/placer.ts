/** Finds the lines of a file that code replaces or is added beside; throws `NoPlace` instead of guessing. Pure. */
import {
  blockEnd,
  depthOf,
  headerEnd,
  headKey,
  holdsMembers,
  importedFrom,
  inCommon,
  indentOf,
  isBalanced,
  isBlank,
  isCloser,
  isDecorator,
  isLead,
  isTelling,
  likeness,
  reindented,
  weightOf,
} from "./code-lines.ts";
import { isGap, partsOf, type Unit } from "./code-parts.ts";

/** The share of lines between two recognised lines that must stay. */
const KEPT = 0.4;
/**
 * The similarity above which one line is a changed version of the other, and is not added beside
 * it.
 */
const ALIKE = 0.6;
/**
 * The maximum number of positions to compare; if there are more, no single position can be chosen.
 */
const MOST_PAIRS = 400;

/** Replaces the lines from `from` up to, but not including, `to`. */
export interface Edit {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

/**
 * Thrown if the position of the code is unclear; `several` means that the code would fit in more
 * than one.
 */
export class NoPlace extends Error {
  readonly several: boolean;
  constructor(several: boolean) {
    super("no place");
    this.several = several;
  }
}

/** A range of the file in which parts of the code are searched. */
interface Scope {
  readonly lo: number;
  readonly hi: number;
  /**
   * Whether the code begins at the start of the range. The next field says whether the code ends at
   * the range's end.
   */
  readonly fromStart: boolean;
  readonly toEnd: boolean;
  /** The depth of the definitions in the range, or null for any depth. */
  readonly depth: number | null;
}

export class Placer {
  readonly #file: readonly string[];
  readonly #known: ReadonlySet<string>;
  readonly #near: number | null;

  constructor(file: readonly string[], near: number | null) {
    this.#file = file;
    this.#known = new Set(file.map((line) => line.trim()));
    this.#near = near;
  }

  place(code: readonly string[]): readonly Edit[] {
    const all = { lo: 0, hi: this.#file.length, fromStart: false, toEnd: false, depth: null };
    const same = this.#same(code, 0, this.#file.length);
    return same === null ? this.#block(code, all) : this.#replaced(code, same);
  }

  #block(code: readonly string[], scope: Scope): readonly Edit[] {
    const items = partsOf(code, this.#known);
    const units = items.map((item) => (item.kind === "unit" ? this.#find(item, scope) : null));
    const edits: Edit[] = [];
    const later: { readonly item: Unit; readonly at: number }[] = [];
    let after: number | null = null; // The search continues after the part that was placed last.
    items.forEach((item, place) => {
      const at = units[place] ?? null;
      if (item.kind === "unit" && at === null) {
        later.push({ item, at: place });
        if (after !== null) edits.push(this.#added(item, after, scope));
        return;
      }
      if (item.kind === "unit" && at !== null) {
        edits.push(...this.#unit(item, at, scope.hi));
        after = blockEnd(this.#file, at, scope.hi);
      } else if (item.kind === "run") {
        const next = units.slice(place + 1).find((one) => one !== null && one >= (after ?? 0));
        const lo = after ?? scope.lo;
        const window = {
          ...scope,
          lo,
          hi: next == null ? scope.hi : this.#leadStart(next, lo),
          fromStart: place === 0 && scope.fromStart,
          toEnd: place === items.length - 1 && scope.toEnd,
        };
        const done = this.#run(item.lines, window);
        edits.push(...done.edits);
        after = Math.max(after ?? 0, done.after);
      }
    });
    // These are new definitions before the file's first one, or definitions whose position only
    // omitted code shows.
    const first = items.findIndex((item, at) => item.kind === "run" || units[at] !== null);
    for (const { item, at } of later) {
      const isBeforeAll = first >= 0 && at < first;
      if (first >= 0 && !isBeforeAll) continue; // The item is placed after the previous item.
      const next = units[first] ?? null;
      if (isBeforeAll && next !== null) {
        const gap = items[at + 1]?.gap ?? 1;
        edits.push(this.#addedBefore({ ...item, gap }, next, scope));
      } else if (
        first < 0 &&
        items.slice(0, at).some((one) => one.kind === "elision") &&
        scope.toEnd
      )
        edits.push(this.#added(item, this.#contentEnd(scope), scope));
      else throw new NoPlace(false);
    }
    return edits.filter(({ from, to, lines }) => {
      const old = this.#file.slice(from, to);
      return old.length !== lines.length || old.some((line, at) => line !== lines[at]);
    });
  }

  /**
   * Finds the definition that the code changes; returns null if the file has no definition of that
   * name.
   */
  #find(unit: Unit, scope: Scope): number | null {
    let found: number[] = [];
    for (let at = scope.lo; at < scope.hi; at += 1) {
      const line = this.#file[at] ?? "";
      if (scope.depth !== null && depthOf(line) !== scope.depth) continue;
      if (headKey(line) === unit.key) found.push(at);
    }
    const head = unit.lines[0] ?? "";
    const narrower = [
      (at: number): boolean => this.#file[at]?.trim() === head.trim(),
      (at: number): boolean => indentOf(this.#file[at] ?? "") === indentOf(head),
      (at: number): boolean =>
        this.#near !== null && at <= this.#near && this.#near < blockEnd(this.#file, at, scope.hi),
    ];
    for (const fits of narrower) {
      if (found.length > 1 && found.some(fits)) found = found.filter(fits);
    }
    if (found.length > 1) throw new NoPlace(true);
    return found[0] ?? null;
  }

  #unit(unit: Unit, at: number, hi: number): readonly Edit[] {
    const file = this.#file;
    const end = blockEnd(file, at, hi);
    const old = file.slice(at, end);
    const to = indentOf(file[at] ?? "");
    const lines = reindented(unit.lines, indentOf(unit.lines[0] ?? ""), to, file);
    if (!isBalanced(old) || !isBalanced(lines)) throw new NoPlace(false);
    const start = this.#leadStart(at, 0);
    const hasNew = unit.lead.some(isDecorator) || !file.slice(start, at).some(isDecorator);
    const lead: readonly Edit[] =
      unit.lead.length > 0 && hasNew
        ? [
            {
              from: start,
              to: at,
              lines: reindented(unit.lead, indentOf(unit.lead[0] ?? ""), to, file),
            },
          ]
        : [];
    const hasGaps = lines.some((_, place) => isGap(lines, place, this.#known));
    if (!hasGaps && !this.#lacksMembers(unit, old, lines)) {
      return [...lead, { from: at, to: end, lines }];
    }
    // The code shows only a part of the definition, so the rest is kept.
    const header = headerEnd(lines, 0, lines.length);
    const closes = (all: readonly string[]): boolean => isCloser(all.at(-1) ?? "");
    const inner = lines.slice(header, closes(lines) ? -1 : undefined);
    const body = headerEnd(file, at, end);
    const rest = file.slice(body, end).filter((line) => !isBlank(line));
    const scope: Scope = {
      lo: body,
      hi: closes(old) ? end - 1 : end,
      fromStart: true,
      toEnd: true,
      depth: holdsMembers(unit.key) && rest[0] !== undefined ? depthOf(rest[0]) : null,
    };
    const head = { from: at, to: body, lines: lines.slice(0, header) };
    return [...lead, head, ...this.#block(inner, scope)];
  }

  /**
   * Returns whether the file's definition contains other definitions that the code does not show.
   */
  #lacksMembers(unit: Unit, old: readonly string[], lines: readonly string[]): boolean {
    if (!holdsMembers(unit.key)) return false;
    const members = (all: readonly string[]): readonly string[] => {
      const inner = all.slice(1).filter((line) => !isBlank(line));
      const depth = Math.min(...inner.filter((line) => !isCloser(line)).map(depthOf));
      return inner.filter((line) => depthOf(line) === depth).flatMap((line) => headKey(line) ?? []);
    };
    const shown = new Set(members(lines));
    return members(old).some((key) => !shown.has(key));
  }

  /** Places lines that are not definitions. */
  #run(run: readonly string[], scope: Scope): { edits: readonly Edit[]; after: number } {
    const { lo, hi } = scope;
    const same = this.#same(run, lo, hi);
    if (same !== null) return { edits: this.#replaced(run, same), after: same + run.length };
    const imports = this.#imports(run, lo, hi);
    if (imports !== null) return imports;
    const edit = this.#between(run, scope) ?? this.#atEdge(run, scope);
    if (edit === null) throw new NoPlace(false);
    return { edits: [edit], after: edit.to };
  }

  /**
   * Finds the only match of the same lines, apart from indentation; returns null if there is none.
   */
  #same(code: readonly string[], lo: number, hi: number): number | null {
    if (!code.some(isTelling) || code.some((_, at) => isGap(code, at, this.#known))) return null;
    const bare = code.map((line) => line.trim());
    const found: number[] = [];
    for (let at = lo; at + bare.length <= hi; at += 1) {
      if (bare.every((line, place) => this.#file[at + place]?.trim() === line)) found.push(at);
    }
    const fitting = this.#nearest(found.map((at) => ({ at, from: at, to: at + code.length })));
    if (fitting.length > 1) throw new NoPlace(true);
    return fitting[0]?.at ?? null;
  }

  /** Replaces the same lines, possibly with different relative indentation. */
  #replaced(code: readonly string[], at: number): readonly Edit[] {
    const telling = code.findIndex((line) => !isBlank(line));
    const to = indentOf(this.#file[at + telling] ?? "");
    const lines = reindented(code, indentOf(code[telling] ?? ""), to, this.#file);
    const old = this.#file.slice(at, at + code.length);
    const isSame = lines.every((line, place) => line === old[place]?.trimEnd());
    return isSame ? [] : [{ from: at, to: at + code.length, lines }];
  }

  /**
   * Adds imports to the file's imports: an import replaces the one from the same module, or follows
   * the last import.
   */
  #imports(run: readonly string[], lo: number, hi: number) {
    const wanted = run.filter((line) => !isBlank(line));
    if (wanted.some((line) => importedFrom(line) === null)) return null;
    const there = [...this.#file.keys()].filter(
      (at) =>
        at >= lo &&
        at < hi &&
        indentOf(this.#file[at] ?? "") === "" &&
        importedFrom(this.#file[at] ?? "") !== null,
    );
    const last = there.at(-1);
    if (last === undefined) return null;
    const edits: Edit[] = [];
    for (const line of wanted) {
      if (this.#known.has(line.trim())) continue;
      const of = there.filter((at) => importedFrom(this.#file[at] ?? "") === importedFrom(line));
      if (of.length > 1 || !isBalanced([this.#file[of[0] ?? last] ?? ""])) throw new NoPlace(false);
      const [at] = of;
      edits.push(
        at === undefined
          ? { from: last + 1, to: last + 1, lines: [line.trimEnd()] }
          : { from: at, to: at + 1, lines: [line.trimEnd()] },
      );
    }
    return { edits, after: last + 1 };
  }

  /** Replaces the lines between two lines of the file that equal the code's first and last line. */
  #between(run: readonly string[], { lo, hi }: Scope): Edit | null {
    const first = run.findIndex(isTelling);
    const last = run.findLastIndex(isTelling);
    if (first < 0 || first === last) return null;
    const where = (line: string | undefined): number[] => {
      const all: number[] = [];
      for (let at = lo; at < hi; at += 1) if (this.#file[at]?.trim() === line?.trim()) all.push(at);
      return all;
    };
    const ends = where(run[last]);
    const pairs: { from: number; to: number; cost: number }[] = [];
    let compared = 0;
    for (const start of where(run[first])) {
      for (const end of ends) {
        const from = start - first;
        const to = end + run.length - last;
        if (end <= start || to - from > 3 * run.length + 20) continue;
        if (from < lo || to > hi || !this.#hasEdges(run, from, to, first, last)) continue;
        compared += 1;
        if (compared > MOST_PAIRS) throw new NoPlace(true);
        const old = this.#file.slice(from, to);
        const common = inCommon(old, run);
        if (common < KEPT * weightOf(old)) continue;
        pairs.push({ from, to, cost: weightOf(old) + weightOf(run) - 2 * common });
      }
    }
    const near = this.#nearest(pairs).toSorted((one, other) => one.cost - other.cost);
    const [best] = near;
    if (best === undefined) return null;
    const margin = Math.max(3, 0.2 * weightOf(run));
    const isOther = (one: (typeof near)[number]): boolean =>
      one.from !== best.from && one.to !== best.to;
    if (near.some((one) => isOther(one) && one.cost < best.cost + margin)) throw new NoPlace(true);
    if (near.some((one) => one !== best && one.cost === best.cost)) throw new NoPlace(true);
    const to = indentOf(this.#file[best.from + first] ?? "");
    return { ...best, lines: reindented(run, indentOf(run[first] ?? ""), to, this.#file) };
  }

  /**
   * Returns whether the lines before the first and after the last distinctive line are also equal,
   * such as closing brackets.
   */
  #hasEdges(
    run: readonly string[],
    from: number,
    to: number,
    first: number,
    last: number,
  ): boolean {
    const isSame = (place: number, at: number): boolean =>
      run[place]?.trim() === this.#file[at]?.trim();
    for (let place = 0; place < first; place += 1) if (!isSame(place, from + place)) return false;
    for (let back = 1; back < run.length - last; back += 1)
      if (!isSame(run.length - back, to - back)) return false;
    return true;
  }

  /** Places lines at the beginning or end of a definition whose rest was left out. */
  #atEdge(run: readonly string[], { lo, hi, fromStart, toEnd }: Scope): Edit | null {
    if (fromStart === toEnd) return null;
    const closing = toEnd ? this.#closingReturn(run, lo, hi) : null;
    if (closing !== null) return closing;
    const telling = run.filter(isTelling);
    const places = [...this.#file.keys()].filter((at) => at >= lo && at < hi);
    const knows = (line: string | undefined): readonly number[] =>
      places.filter((at) => this.#file[at]?.trim() === line?.trim());
    const base = places.find((at) => !isBlank(this.#file[at] ?? ""));
    const to = indentOf(this.#file[base ?? lo] ?? "");
    const lines = reindented(run, indentOf(run.find(isTelling) ?? ""), to, this.#file);
    const [edge] = knows(fromStart ? telling.at(-1) : telling[0]);
    const isOnly = knows(fromStart ? telling.at(-1) : telling[0]).length === 1;
    if (edge !== undefined) {
      if (!isOnly) throw new NoPlace(true);
      const edit = fromStart ? { from: lo, to: edge + 1, lines } : { from: edge, to: hi, lines };
      const old = this.#file.slice(edit.from, edit.to);
      // Both ends are known, so a changed line counts as kept if the code has a similar line.
      const kept = old.filter((line) => run.some((other) => likeness(line, other) >= ALIKE));
      return weightOf(kept) >= KEPT * weightOf(old) ? edit : null;
    }
    // The file has none of these lines, so they are added unless they may replace an existing line.
    const isNew = telling.every((line) =>
      places.every((at) => likeness(line, this.#file[at] ?? "") < ALIKE),
    );
    return isNew && fromStart && telling.length > 0 ? { from: lo, to: lo, lines } : null;
  }

  /**
   * Replaces the existing `return` at the end of a body, because code after a `return` would never
   * run.
   */
  #closingReturn(run: readonly string[], lo: number, hi: number): Edit | null {
    const body = this.#file.slice(lo, hi);
    const at = lo + body.findLastIndex((line) => !isBlank(line));
    const [first, last] = [body.find((line) => !isBlank(line)), this.#file[at]];
    if (first === undefined || last === undefined || at < lo) return null;
    const isReturn = (line: string | undefined): boolean => /^\s*return\b/.test(line ?? "");
    if (!isReturn(run[0]) || !isReturn(last) || depthOf(first) !== depthOf(last)) return null;
    if (!isBalanced([last]) || !isBalanced(run)) return null;
    const lines = reindented(run, indentOf(run[0] ?? ""), indentOf(last), this.#file);
    return { from: at, to: at + 1, lines };
  }

  #added(unit: Unit, at: number, scope: Scope): Edit {
    const lines = this.#asNew(unit, scope);
    return { from: at, to: at, lines: [...this.#blanks(unit, scope), ...lines] };
  }

  #addedBefore(unit: Unit, next: number, scope: Scope): Edit {
    const at = this.#leadStart(next, scope.lo);
    const lines = this.#asNew(unit, scope);
    return { from: at, to: at, lines: [...lines, ...this.#blanks(unit, scope)] };
  }

  #asNew(unit: Unit, scope: Scope): readonly string[] {
    const lines = [...unit.lead, ...unit.lines];
    if (lines.some((_, at) => isGap(lines, at, this.#known))) throw new NoPlace(false);
    const own = indentOf(unit.lines[0] ?? "");
    const place = this.#file.findIndex(
      (line, at) => at >= scope.lo && at < scope.hi && !isBlank(line),
    );
    const to = scope.depth === null ? own : indentOf(this.#file[place] ?? own);
    return reindented(lines, own, to, this.#file);
  }

  #blanks(unit: Unit, scope: Scope): readonly string[] {
    const between = scope.depth === null && /^(?:function|class)/.test(unit.key) ? 1 : unit.gap;
    return new Array<string>(Math.max(unit.gap, Math.min(1, between))).fill("");
  }

  #contentEnd({ lo, hi }: Scope): number {
    let at = hi;
    while (at > lo && isBlank(this.#file[at - 1] ?? "")) at -= 1;
    return at;
  }

  /** Returns the first line of the comments and decorators above a definition. */
  #leadStart(head: number, lo: number): number {
    let at = head;
    const depth = depthOf(this.#file[head] ?? "");
    while (
      at > lo &&
      isLead(this.#file[at - 1] ?? "") &&
      depthOf(this.#file[at - 1] ?? "") === depth
    )
      at -= 1;
    return at;
  }

  /** Returns the matching ranges that the model named, if any. */
  #nearest<Range extends { readonly from: number; readonly to: number }>(
    all: readonly Range[],
  ): readonly Range[] {
    const near = this.#near;
    if (near === null || all.length < 2) return all;
    const named = all.filter(({ from, to }) => from <= near && near < to);
    return named.length > 0 ? named : all;
  }
}
