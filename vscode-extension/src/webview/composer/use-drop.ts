/**
 * Handles files that are dragged over the composer: shows the drop target, and accepts the files.
 */
import { useState } from "preact/hooks";
import { droppedUris, URI_TYPES } from "./paste.ts";

export interface Drop {
  readonly over: boolean;
  readonly events: DropEvents;
}

export interface DropEvents {
  readonly onDragEnter: (event: DragEvent) => void;
  readonly onDragOver: (event: DragEvent) => void;
  readonly onDragLeave: (event: DragEvent) => void;
  readonly onDrop: (event: DragEvent) => void;
}

/** Returns the handlers; `onUris` gets files of the editor, `onFiles` files of the desktop. */
export function useDrop(
  onUris: (uris: readonly string[]) => void,
  onFiles: (files: readonly File[]) => void,
): Drop {
  const [over, setOver] = useState(false);
  const enter = (event: DragEvent) => {
    if (!carriesFiles(event.dataTransfer)) return;
    // Without this call, the browser would open the file in place of the panel.
    event.preventDefault();
    if (event.dataTransfer !== null) event.dataTransfer.dropEffect = "copy";
    setOver(true);
  };
  const events: DropEvents = {
    onDragEnter: enter,
    onDragOver: enter,
    onDragLeave: (event) => {
      const box = event.currentTarget;
      const to = event.relatedTarget;
      if (!(box instanceof Node && to instanceof Node && box.contains(to))) setOver(false);
    },
    onDrop: (event) => {
      setOver(false);
      const data = event.dataTransfer;
      if (data === null || !carriesFiles(data)) return;
      event.preventDefault();
      const uris = droppedUris((type) => data.getData(type));
      if (uris.length > 0) onUris(uris);
      else onFiles([...data.files]);
    },
  };
  return { over, events };
}

function carriesFiles(data: DataTransfer | null): boolean {
  const types = data?.types ?? [];
  return types.some(
    (type) => type === "Files" || URI_TYPES.some((one) => one.toLowerCase() === type.toLowerCase()),
  );
}
