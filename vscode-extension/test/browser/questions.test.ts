/** Permission cards and questions in Chromium. One process and one page run the tests of all files in `questions`. */
import "./questions/arming.ts";
import "./questions/typing.ts";
import "./questions/answers.ts";
import "./questions/content.ts";
