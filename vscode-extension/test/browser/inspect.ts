/** Finds content of the conversation that the Markdown renderer must never create. */
import type { Page } from "playwright-core";

/** Describes each element, attribute, class or link that is not allowed, and each script that ran. */
export async function forbiddenContent(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const tags = new Set(
      "A BLOCKQUOTE BR BUTTON CODE DEL DIV EM H3 H4 H5 H6 HR LI OL P PRE S SPAN STRONG TABLE TBODY TD TH THEAD TR UL".split(
        " ",
      ),
    );
    const attributes = new Set(
      "class title role tabindex start dir data-link data-file data-language aria-hidden aria-label aria-expanded type hidden".split(
        " ",
      ),
    );
    const classes =
      /^(md-|hljs|code|codicon|icon-button|language_|language-|markdown|streaming|folded|(?:function|class|constant|inherited|invoke|escape|subst|title|char|punctuation|variable)_$)/;
    const found: string[] = [];
    for (const root of document.querySelectorAll(".markdown")) {
      for (const element of root.querySelectorAll("*")) {
        if (!tags.has(element.tagName)) found.push(`element ${element.tagName}`);
        for (const { name, value } of element.attributes) {
          if (!attributes.has(name)) found.push(`attribute ${element.tagName} ${name}`);
          if (name === "class") {
            for (const one of value.split(/\s+/))
              if (one !== "" && !classes.test(one)) found.push(`class ${one}`);
          }
          if (name === "data-link" && !/^https:\/\/[^@]*$/.test(value)) found.push(`link ${value}`);
          if (name === "data-file" && (value.startsWith("/") || /\.\.|[:\\](?!\d)/.test(value)))
            found.push(`file ${value}`);
        }
        if (element.tagName === "BUTTON" && element.closest(".code") === null) found.push("button");
      }
    }
    if (Reflect.get(window, "__ran") !== undefined) found.push("a script ran");
    return [...new Set(found)];
  });
}
