/** Sets the language of the panel's texts when it is loaded; the panel imports this module first. */
import { type Language, speak } from "../../shared/l10n.ts";

const written = document.getElementById("root")?.dataset["language"] ?? "";
// The extension host has written the page, so the text has the right form.
const language: Language | null = written === "" ? null : JSON.parse(written);
speak(language);
