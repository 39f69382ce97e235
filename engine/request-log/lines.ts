/** Reads the lines of one file of the request log: backwards from its end, or forwards. */
import { type FileHandle, open } from 'node:fs/promises'

const CHUNK = 65_536
const LINE_FEED = 10

/** Yields the complete lines of a file, last first, from byte `end` (default: its end). A file
 *  that was removed has none. */
export async function* linesBackwards(path: string): AsyncGenerator<string> {
  const handle = await open(path).catch(() => undefined)
  if (!handle) return
  try {
    let at = (await handle.stat()).size
    // Bytes before the first line feed that was found so far: the end of a line.
    let rest: Buffer = Buffer.alloc(0)
    let isFirst = true
    while (at > 0) {
      const size = Math.min(CHUNK, at)
      at -= size
      const bytes = Buffer.concat([await readAt(handle, at, size), rest])
      const begin = at === 0 ? -1 : bytes.indexOf(LINE_FEED)
      // No line ends in this chunk: continue with the one before.
      if (at > 0 && begin < 0) {
        rest = bytes
        continue
      }
      rest = bytes.subarray(0, begin + 1)
      const lines = bytes
        .subarray(begin + 1)
        .toString()
        .split('\n')
        .reverse()
      // The text after the last line feed is a line that is being written.
      for (const line of isFirst ? lines.slice(1) : lines) if (line !== '') yield line
      isFirst = false
    }
  } finally {
    await handle.close()
  }
}

/** Where the line begins that goes on at byte `at`: `at` itself between two lines. */
export const lineStart = async (path: string, at: number): Promise<number> => {
  const handle = await open(path).catch(() => undefined)
  if (!handle) return at
  try {
    const size = Math.min(CHUNK, at)
    const end = (await readAt(handle, at - size, size)).lastIndexOf(LINE_FEED)
    return end < 0 ? at : at - size + end + 1
  } finally {
    await handle.close()
  }
}

export interface NewLines {
  readonly lines: readonly string[]
  /** Where the next read begins. */
  readonly at: number
}
/** The complete lines of a file from a byte on. */
export const linesAfter = async (path: string, at: number): Promise<NewLines> => {
  const handle = await open(path).catch(() => undefined)
  if (!handle) return { lines: [], at }
  try {
    const { size } = await handle.stat()
    if (size <= at) return { lines: [], at }
    const bytes = await readAt(handle, at, size - at)
    const end = bytes.lastIndexOf(LINE_FEED) + 1
    const lines = bytes.subarray(0, end).toString().split('\n').slice(0, -1)
    return { lines, at: at + end }
  } finally {
    await handle.close()
  }
}

const readAt = async (handle: FileHandle, at: number, size: number): Promise<Buffer> => {
  const buffer = Buffer.alloc(size)
  const { bytesRead } = await handle.read(buffer, 0, size, at)
  return buffer.subarray(0, bytesRead)
}
