/** Checks the content of a file while it arrives: images by their first bytes, JSON Lines line by
 *  line. Pure. */
import { asBuffer } from '../../engine/kit.ts'
import type { Bytes } from '../../engine/plugin.ts'
import { fault } from './faults.ts'
import { JsonLines, type LineProblem } from './json-lines.ts'

export interface ContentCheck {
  /** Throws a fault at the first invalid byte. */
  write(bytes: Bytes): void
  end(): void
}

const latin = (text: string): Buffer => Buffer.from(text, 'latin1')
/** Extension -> the bytes that its images have at an offset. */
const SIGNATURES: Readonly<Record<string, readonly (readonly [offset: number, bytes: Buffer])[]>> =
  {
    '.png': [[0, latin('\x89PNG\r\n\x1a\n')]],
    '.jpg': [[0, latin('\xff\xd8\xff')]],
    '.jpeg': [[0, latin('\xff\xd8\xff')]],
    '.webp': [
      [0, latin('RIFF')],
      [8, latin('WEBP')],
    ],
  }
/** Bytes that show the type of an image. */
const START = 12
const UNCHECKED: ContentCheck = { write() {}, end() {} }

export const contentCheckOf = (extension: string): ContentCheck => {
  if (extension === '.jsonl') return createLinesCheck()
  return SIGNATURES[extension] ? createImageCheck(extension) : UNCHECKED
}
const createImageCheck = (extension: string): ContentCheck => {
  let start: Buffer | undefined = Buffer.alloc(0)
  const check = (bytes: Buffer): void => {
    const isImage = SIGNATURES[extension]?.every(([offset, signature]) =>
      bytes.subarray(offset, offset + signature.length).equals(signature),
    )
    if (!isImage) throw fault('IMAGE_INVALID', [extension])
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
