/** Every state of the panel in themes and widths: a picture, nothing wider than the panel, and nothing that axe calls serious. */
import { after, before, describe, test } from "node:test";
import type { Chat } from "../editor/chat.ts";
import { lookAt } from "../editor/look-at.ts";
import { keepPictures, openChat } from "../editor/shared.ts";
import { SHOP } from "../editor/shop-files.ts";
import { STATES } from "../editor/states.ts";

describe("the looks of the panel", () => {
  let chat: Chat;
  keepPictures(() => chat);
  before(async () => {
    chat = await openChat({ name: "looks", files: SHOP, open: ["shop/invoice.py"] });
  });
  after(() => chat.close());

  for (const [name, state] of Object.entries(STATES)) {
    if (!state.model) continue;
    test(name, async () => {
      await chat.fresh();
      await state.steps(chat);
      try {
        await lookAt(chat, name);
      } finally {
        await state.leave?.(chat);
      }
    });
  }
});
