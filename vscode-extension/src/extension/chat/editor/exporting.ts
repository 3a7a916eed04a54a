/** Exports a session as a Markdown file with the server's transcript. */
import { t } from "../../../shared/l10n.ts";
import type { Room } from "../room.ts";
import { tellInPassing } from "../room.ts";

/** Asks for a path, and writes the file. */
export async function exportSession(room: Room, session: string | null): Promise<void> {
  const wanted = session ?? room.store.state.session;
  if (wanted === null) {
    tellInPassing(room, t("There is no session to export yet."));
    return;
  }
  const text = await room.ports.documents.read(`indwell-transcript:${wanted}.md`);
  if (await room.ports.documents.save(`${fileName(room, wanted)}.md`, text)) {
    room.ports.dialogs.say(t("Exported"));
  }
}

function fileName(room: Room, session: string): string {
  const { status, list } = room.store.state;
  const row = list?.rows.find((one) => one.id === session);
  const title = row?.title ?? (status?.session === session ? status.title : "");
  const plain = title
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .toLowerCase();
  return plain === "" ? `session-${session.slice(0, 8)}` : plain.slice(0, 60);
}
