/** The composer in Chromium with a fake host. One process and one browser run the tests of all files in `composer`. */
import "./composer/typing.ts";
import "./composer/completion.ts";
import "./composer/attachments.ts";
import "./composer/running-turn.ts";
import "./composer/footer.ts";
