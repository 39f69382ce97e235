/** Images of the sandbox: small PNGs of one colour that depends on the prompt, in the responses of
 *  OpenAI and Recraft. */
import { createHash } from 'node:crypto'
import type { Bytes } from '../../engine/plugin.ts'
import { encodePng, RGB } from '../formats/media/png.ts'
import { writeEvent } from '../formats/stream/sse.ts'
import type { CannedResult } from './canned-result.ts'
import { type AnswerContext, type Fields, numberIn, textIn } from './sandbox-format.ts'

const WIDTH = 64
/** Maximum of images in one answer. */
const MAX_IMAGES = 10

export const images: CannedResult = {
  path: /\/images\/(?:generations|edits|imageToImage|inpaint)$/,
  plain(body, _, context) {
    const count = numberOf(body)
    if (count === undefined) return undefined
    const rows = Array.from({ length: count }, (__, index) => imageRow(body, index, context))
    return { created: context.createdAt, data: rows, usage: usageOf(body, count) }
  },
  stream(body, path, { createdAt: at }) {
    const type = path.endsWith('/edits') ? 'image_edit.completed' : 'image_generation.completed'
    const [first = {}, ...more] = Array.from({ length: numberOf(body) ?? 1 }, (_, index) => ({
      type,
      created_at: at,
      b64_json: base64Of(imageName(body, index)),
      usage: usageOf(body, 1),
    }))
    return [first, ...more].map(event => writeEvent(type, event))
  },
}

/** The number of images; forms contain numbers as text. */
const numberOf = ({ n }: Fields): number | undefined => {
  const count = numberIn(n) ?? Number(textIn(n) || 1)
  return Number.isInteger(count) && count >= 1 && count <= MAX_IMAGES ? count : undefined
}
const imageRow = (body: Fields, index: number, { fileUrl }: AnswerContext): Fields => {
  const name = imageName(body, index)
  const form = textIn(body.response_format)
  // Models with this name return base64 only.
  const isInline =
    form === 'b64_json' || (form === '' && textIn(body.model).startsWith('gpt-image'))
  return isInline ? { b64_json: base64Of(name) } : { url: fileUrl(name) }
}
/** The name of the file: its colour and its type. */
const imageName = (body: Fields, index: number): string => {
  const type = textIn(body.model).includes('vector') ? 'svg' : 'png'
  return `${colourOf(`${textIn(body.prompt)} ${index}`)}.${type}`
}
const base64Of = (name: string): string =>
  Buffer.from(imageFile(name)?.bytes ?? []).toString('base64')

/** A colour that depends on the text: six hexadecimal digits. */
const colourOf = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 6)

/** The image with this name: `COLOUR.png` or `COLOUR.svg`; undefined for other names. */
export const imageFile = (name: string): { type: string; bytes: Bytes } | undefined => {
  const [, colour = '', type] = /^([0-9a-f]{6})\.(png|svg)$/.exec(name) ?? []
  if (type === 'png') return { type: 'image/png', bytes: pngOf(colour) }
  return type === 'svg' ? { type: 'image/svg+xml', bytes: svgOf(colour) } : undefined
}
const svgOf = (colour: string): Bytes =>
  Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${WIDTH}"><rect width="100%" height="100%" fill="#${colour}"/></svg>`,
  )
const pngOf = (colour: string): Buffer => {
  const pixel = [...Buffer.from(colour, 'hex')]
  const line = [0, ...Array.from({ length: WIDTH }, () => pixel).flat()]
  const lines = Buffer.from(Array.from({ length: WIDTH }, () => line).flat())
  return Buffer.from(encodePng({ width: WIDTH, height: WIDTH }, RGB, lines))
}
/** A PNG of one colour, which depends on the text. */
export const colourImage = (text: string): Buffer => pngOf(colourOf(text))

const usageOf = ({ prompt }: Fields, count: number): Fields => {
  const [input, output] = [Math.max(1, Math.ceil(textIn(prompt).length / 4)), count * 16]
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    input_tokens_details: { text_tokens: input, image_tokens: 0 },
  }
}
