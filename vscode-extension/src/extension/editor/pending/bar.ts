/** Formats the bar at a pending change, as links above the change. Pure. */
import { number, t } from "../../../shared/l10n.ts";
import type { PendingLines } from "./pending-lines.ts";

/** A link: its title may begin with a codicon. */
export interface BarLink {
  readonly title: string;
  readonly tooltip: string;
  readonly command: string;
  readonly argument: object;
}

/** What a bar shows besides its own change. */
export interface BarPlace {
  readonly uri: string;
  /**
   * The number of the change among all changes of the file, from 1, and how many changes there are.
   */
  readonly number: number;
  readonly total: number;
  /** The number of changes in the workspace. */
  readonly all: number;
  readonly isMac: boolean;
}

/** The keys of the commands, as `package.json` binds them. */
const KEYS: Readonly<Record<string, string>> = {
  "indwell.acceptChange": "Y",
  "indwell.rejectChange": "N",
  "indwell.previousChange": ",",
  "indwell.nextChange": ".",
  "indwell.undoVerdict": "Shift+Y",
};

/** Returns the keys of a command, such as `Ctrl+K Y`, or `⌘K Y` on a Mac. */
export function keysOf(command: string, isMac: boolean): string {
  const key = KEYS[command] ?? "";
  return isMac ? `⌘K ${key.replace("Shift+", "⇧")}` : `Ctrl+K ${key}`;
}

/** Joins an icon and a text; an ordinary blank after an icon is not drawn. */
function iconed(icon: string, words: string): string {
  return `$(${icon})\u00a0${words}`;
}

/** Returns the links above one change. */
export function changeBar(one: PendingLines, place: BarPlace): readonly BarLink[] {
  const { uri, isMac } = place;
  const hunks = [one.id];
  const link = (
    icon: string,
    words: string,
    key: string,
    command: string,
    argument: object,
  ): BarLink => ({
    title: iconed(icon, `${words === "" ? "" : `${words} `}${keysOf(key, isMac)}`),
    tooltip: `${words || (key === "indwell.nextChange" ? t("Next change") : t("Previous change"))} (${keysOf(key, isMac)})`,
    command,
    argument,
  });
  const steps: readonly BarLink[] =
    place.all < 2
      ? []
      : (["previous", "next"] as const).map((way) =>
          link(
            way === "next" ? "arrow-down" : "arrow-up",
            "",
            `indwell.${way}Change`,
            `indwell.${way}Change`,
            { uri, line: one.first },
          ),
        );
  return [
    link("check", t("Accept"), "indwell.acceptChange", "indwell.accept", { hunks }),
    link("close", t("Reject"), "indwell.rejectChange", "indwell.reject", { hunks }),
    ...steps,
    {
      title: iconed("diff", figureWords(one, place)),
      tooltip: t("Show the change as a diff"),
      command: "indwell.openDiff",
      argument: { uri, line: one.first },
    },
  ];
}

/** Returns a text such as `+1 −2 · 2 of 3 · turn 4`. */
function figureWords(one: PendingLines, { number: nth, total }: BarPlace): string {
  const kind = one.kind === "create" ? t("new file") : one.kind === "opaque" ? t("not text") : "";
  return [
    one.kind === "opaque" ? "" : `+${one.count} −${one.removed}`,
    kind,
    total > 1 ? t("{0} of {1}", nth, total) : "",
    t("turn {0}", one.turn),
    one.touched ? t("edited since") : "",
  ]
    .filter((part) => part !== "")
    .join(" · ");
}

/**
 * Returns the links at the top of a file with several changes, or with an accept or reject to undo.
 */
export function fileBar(
  hunks: readonly string[],
  uri: string,
  undo: string,
  isMac: boolean,
): readonly BarLink[] {
  const all: readonly BarLink[] = [
    {
      title: iconed("check-all", t("Accept all {0}", number(hunks.length))),
      tooltip: t("Accept all changes in this file"),
      command: "indwell.accept",
      argument: { hunks },
    },
    {
      title: iconed("close-all", t("Reject all {0}", number(hunks.length))),
      tooltip: t("Reject all changes in this file"),
      command: "indwell.reject",
      argument: { hunks },
    },
    {
      title: iconed("diff", t("Diff")),
      tooltip: t("Show the changes of this file as a diff"),
      command: "indwell.openDiff",
      argument: { uri },
    },
  ];
  const back: BarLink = {
    title: iconed("discard", t("Undo {0}", keysOf("indwell.undoVerdict", isMac))),
    tooltip: t("Undo the last verdict: {0}", undo),
    command: "indwell.undoVerdict",
    argument: {},
  };
  return [...(hunks.length > 1 ? all : []), ...(undo === "" ? [] : [back])];
}
