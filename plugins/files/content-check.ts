/** Checks the content of a file while it arrives: images by their first bytes, JSON Lines line by
 *  line. Pure. */
import { asBuffer } from '../../engine/kit.ts'
import type { Bytes } from '../../engine/plugin.ts'
import { mediaTypeOf } from '../formats/media/media-type.ts'
import { fault } from './faults.ts'
import { JsonLines, type LineProblem } from './json-lines.ts'

export interface ContentCheck {
  /** Throws a fault at the first invalid byte. */
  write(bytes: Bytes): void
  end(): void
}

/** Extension -> the media type that its content must have. */
const IMAGE_TYPES: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.webp': 'image/webp',
}
/** Bytes that show the type of an image. */
const START = 12
const UNCHECKED: ContentCheck = { write() {}, end() {} }

export const contentCheckOf = (extension: string): ContentCheck => {
  if (extension === '.jsonl') return createLinesCheck()
  return IMAGE_TYPES[extension] ? createImageCheck(extension) : UNCHECKED
}
const createImageCheck = (extension: string): ContentCheck => {
  let start: Buffer | undefined = Buffer.alloc(0)
  const check = (bytes: Buffer): void => {
    if (mediaTypeOf(bytes).type !== IMAGE_TYPES[extension])
      throw fault('IMAGE_INVALID', [extension])
    start = undefined
  }
  return {
    write(bytes) {
      if (!start) return
      start = Buffer.concat([start, asBuffer(bytes).subarray(0, START)])
      if (start.length >= START) check(start)
    },
    end() {
      if (start) check(start)
    },
  }
}
const createLinesCheck = (): ContentCheck => {
  const lines = new JsonLines()
  const check = (problem: LineProblem | undefined): void => {
    if (problem) throw fault('LINE_INVALID', [problem.line, problem.reason])
  }
  return {
    write: bytes => check(lines.write(bytes)),
    end: () => check(lines.end()),
  }
}
