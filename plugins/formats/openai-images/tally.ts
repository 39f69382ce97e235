/** Counts the images of an answer that passes byte by byte: of megabytes of base64 nothing is kept. */
import type { Bytes } from '../../../engine/plugin.ts'
import type { Fields } from '../fields.ts'

/** A member that holds an image. Inside a string its quotes would be escaped. */
const IMAGE = /"(?:b64_json|url)"\s*:\s*"/g
/** More than the longest match that a chunk may cut, white space included. */
const CARRY = 64

export class ImageTally {
  #images = 0
  #carry = ''
  push(chunk: Bytes): void {
    const text =
      this.#carry + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString('latin1')
    let end = 0
    for (const match of text.matchAll(IMAGE)) {
      this.#images++
      end = match.index + match[0].length
    }
    this.#carry = text.slice(Math.max(end, text.length - CARRY))
  }
  get counts(): Fields {
    return { images: this.#images }
  }
}
