/** Prints why the tests of the `panel` or of the whole `editor` cannot run here, as one sentence; nothing if they can. */
import { whatIsMissing, whatThePanelLacks } from "./packages.ts";

const reason = process.argv[2] === "panel" ? whatThePanelLacks() : whatIsMissing();
process.stdout.write(reason ?? "");
