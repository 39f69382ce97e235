/** Images of the sandbox: small PNGs of one colour that depends on the prompt, in the responses of
 *  OpenAI and Recraft. */
import { createHash } from 'node:crypto'
import { encodePng, RGB } from '../formats/png.ts'
import { writeEvent } from '../formats/sse.ts'
import type { CannedResult } from './canned-result.ts'
import { type Fields, numberIn, textIn } from './sandbox-format.ts'

const WIDTH = 64
/** Maximum of images in one answer. */
const MAX_IMAGES = 10

export const images: CannedResult = {
  path: /\/images\/(?:generations|edits|imageToImage|inpaint)$/,
  plain(body, _, { createdAt: at }) {
    const count = numberOf(body)
    if (count === undefined) return undefined
    const rows = Array.from({ length: count }, (__, index) => imageRow(body, index))
    return { created: at, data: rows, usage: usageOf(body, count) }
  },
  stream(body, path, { createdAt: at }) {
    const type = path.endsWith('/edits') ? 'image_edit.completed' : 'image_generation.completed'
    const [first = {}, ...more] = Array.from({ length: numberOf(body) ?? 1 }, (_, index) => ({
      type,
      created_at: at,
      b64_json: generateImage(body, index).base64,
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
const imageRow = (body: Fields, index: number): Fields => {
  const { base64, mime } = generateImage(body, index)
  const form = textIn(body.response_format)
  // Models with this name return base64 only.
  const inline = form === 'b64_json' || (form === '' && textIn(body.model).startsWith('gpt-image'))
  return inline ? { b64_json: base64 } : { url: `data:${mime};base64,${base64}` }
}
const generateImage = (body: Fields, index: number) => {
  const seed = `${textIn(body.prompt)} ${index}`
  const [red = 0, green = 0, blue = 0] = createHash('sha256').update(seed).digest()
  if (textIn(body.model).includes('vector')) {
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${WIDTH}"><rect width="100%" height="100%" fill="rgb(${red},${green},${blue})"/></svg>`
    return { base64: Buffer.from(svg).toString('base64'), mime: 'image/svg+xml' }
  }
  return { base64: colourImage(seed).toString('base64'), mime: 'image/png' }
}
/** A PNG of one colour, which depends on the text. */
export const colourImage = (text: string): Buffer => {
  const [red = 0, green = 0, blue = 0] = createHash('sha256').update(text).digest()
  const line = [0, ...Array.from({ length: WIDTH }, () => [red, green, blue]).flat()]
  const lines = Buffer.from(Array.from({ length: WIDTH }, () => line).flat())
  return Buffer.from(encodePng({ width: WIDTH, height: WIDTH }, RGB, lines))
}
const usageOf = ({ prompt }: Fields, count: number): Fields => {
  const [input, output] = [Math.max(1, Math.ceil(textIn(prompt).length / 4)), count * 16]
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    input_tokens_details: { text_tokens: input, image_tokens: 0 },
  }
}
