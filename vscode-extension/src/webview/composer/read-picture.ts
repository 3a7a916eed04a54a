/** Reads a picture that was pasted or dropped. */

/**
 * Returns the bytes as base64. Rejects if the browser cannot read the file (it is gone, or not
 * allowed).
 */
export async function readBase64(file: Blob): Promise<string> {
  const url = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(typeof reader.result === "string" ? reader.result : "");
    reader.onerror = () => reject(reader.error ?? new Error("the file cannot be read"));
    reader.readAsDataURL(file);
  });
  return url.slice(url.indexOf(",") + 1);
}
