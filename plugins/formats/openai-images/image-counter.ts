/** Counts the images of an answer that passes through, without keeping their base64. */
import { asBuffer } from '../../../engine/kit.ts'
import type { Bytes } from '../../../engine/plugin.ts'
import { type Fields, isFields, parseJson } from '../fields.ts'
import { FieldExtractor } from '../stream/field-extractor.ts'

/** A member that holds an image. Inside a string its quotes would be escaped. */
const IMAGE = /"(?:b64_json|url)"\s*:\s*"/g
/** Longer than any match with up to 52 characters of white space: one that a chunk boundary splits
 *  is still found. */
const MAX_MATCH = 64

export class ImageCounter {
  #images = 0
  #carry = ''
  readonly #svgUsage = new FieldExtractor(Buffer.from('svg_usage'))
  push(chunk: Bytes): void {
    this.#svgUsage.push(chunk)
    const text = this.#carry + asBuffer(chunk).toString('latin1')
    let end = 0
    for (const match of text.matchAll(IMAGE)) {
      this.#images++
      end = match.index + match[0].length
    }
    this.#carry = text.slice(Math.max(end, text.length - MAX_MATCH))
  }
  get counts(): Fields {
    const { value } = this.#svgUsage
    const svg = value && parseJson(Buffer.from(value).toString())
    return { images: this.#images, ...(isFields(svg) && { svg_usage: svg }) }
  }
}
