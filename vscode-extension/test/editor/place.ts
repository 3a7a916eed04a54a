/** Creates the folders of one run: the home, data and workspaces of a user who has nothing else. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { indwellPath } from "./packages.ts";

/** The folders and files of a run. */
export interface Place {
  readonly root: string;
  readonly home: string;
  readonly userData: string;
  readonly extensions: string;
  readonly serverData: string;
  /** The probe writes its address here. */
  readonly probe: string;
  /** The program that the extension starts as the server. */
  readonly serve: string;
  /** Sets the variables that the server gets at its next start. */
  readonly setVariables: (variables: Readonly<Record<string, string>>) => void;
  readonly remove: () => void;
}

/** A file of a workspace by its path, with its text. */
export type Files = Readonly<Record<string, string>>;

/** Creates the folders of a run, with these unpacked extensions installed. */
export function makePlace(extensions: Readonly<Record<string, string>>): Place {
  const root = mkdtempSync(join(tmpdir(), "indwell-vscode-"));
  const inside = (name: string): string => {
    mkdirSync(join(root, name), { recursive: true });
    return join(root, name);
  };
  const place: Place = {
    root,
    home: inside("home"),
    userData: inside("user-data"),
    extensions: inside("extensions"),
    serverData: inside("server-data"),
    probe: inside("probe"),
    serve: join(root, "serve"),
    setVariables: (variables) =>
      writeFileSync(
        join(root, "variables"),
        Object.entries(variables)
          .map(([name, value]) => `export ${name}=${quoted(value)}\n`)
          .join(""),
      ),
    remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 5 }),
  };
  for (const [name, folder] of Object.entries(extensions))
    symlinkSync(folder, join(place.extensions, name));
  const lines = [
    "#!/bin/sh",
    `. ${quoted(join(root, "variables"))}`,
    `exec ${quoted(indwellPath())} "$@"`,
    "",
  ];
  writeFileSync(place.serve, lines.join("\n"), { mode: 0o755 });
  place.setVariables({});
  return place;
}

/** Writes a workspace into the place; returns its folder. */
export function putWorkspace(place: Place, name: string, files: Files): string {
  const folder = join(place.root, "work", name);
  rmSync(folder, { recursive: true, force: true });
  for (const [path, text] of Object.entries({ ".git/HEAD": "ref: refs/heads/main\n", ...files })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

/** Writes the user's settings to two files, because settings of the machine scope count only in the second. */
export function putSettings(place: Place, settings: Readonly<Record<string, unknown>>): void {
  for (const scope of ["User", "Machine"]) {
    mkdirSync(join(place.userData, scope), { recursive: true });
    writeFileSync(
      join(place.userData, scope, "settings.json"),
      JSON.stringify(settings, undefined, 2),
    );
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
