/** Reads an event stream from a fetch response: its whole bytes, or its events. */

/** Returns the data of every event, by the rules of the HTML standard (CR, LF, CRLF, comments,
 *  several data lines). */
export const eventsOf = (text: string): string[] => {
  const list: string[] = []
  let lines: string[] = []
  for (const line of text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/)) {
    if (line === '') {
      if (lines.length > 0) list.push(lines.join('\n'))
      lines = []
    } else if (line.startsWith('data:')) lines.push(line.slice(line.startsWith('data: ') ? 6 : 5))
  }
  return list
}

export interface Received {
  readonly bytes: Buffer
  /** The error that interrupted the body. */
  readonly broke: Error | undefined
}

/** Reads a whole body; `onChunk` is called with each chunk. */
export const readAll = async (
  response: Response,
  onChunk?: (chunk: Uint8Array) => void,
): Promise<Received> => {
  const parts: Uint8Array[] = []
  try {
    for await (const chunk of response.body ?? []) {
      parts.push(chunk)
      onChunk?.(chunk)
    }
    return { bytes: Buffer.concat(parts), broke: undefined }
  } catch (error) {
    return { bytes: Buffer.concat(parts), broke: error as Error }
  }
}
