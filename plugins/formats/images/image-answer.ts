/** Image answers as OpenAI and compatible upstreams send them: decodes, counts and joins them. */
import type { Json } from '../../../engine/plugin.ts'
import type { Meters } from '../../slots.ts'
import {
  count,
  type Fields,
  isFields,
  lenientObject,
  lenientObjects,
  lenientText,
} from '../fields.ts'
import { omitZeroMeters } from '../format.ts'
import type { Media } from '../hub/content.ts'
import { parseDataUrl } from '../media/media.ts'
import { RESPONSES_NAMES, withOwnNames } from '../stream/count-names.ts'
import { capCount } from '../stream/reported-usage.ts'
import { completionTokensOf, promptTokensOf } from '../token-meters.ts'

/** Throws if the answer holds no image. */
export const decodeImages = (body: Fields): readonly Media[] => {
  const images = lenientObjects(body, 'data').flatMap(readImage)
  if (images.length === 0) throw new Error('no image')
  return images
}
const readImage = (item: Fields): readonly Media[] => {
  const [url, data, revisedPrompt] = ['url', 'b64_json', 'revised_prompt'].map(key =>
    lenientText(item, key),
  )
  const metadata = { ...(revisedPrompt !== undefined && { revisedPrompt }) }
  if (data) {
    const source = { type: 'data' as const, data, mime: imageMimeOf(data) }
    return [{ type: 'media', kind: 'image', source, ...metadata }]
  }
  return url ? [{ type: 'media', kind: 'image', source: { type: 'url', url }, ...metadata }] : []
}

/** First characters of base64 data -> media type. */
const MIME_BY_PREFIX: readonly (readonly [start: string, mime: string])[] = [
  ['/9j/', 'image/jpeg'],
  ['UklGR', 'image/webp'],
  ['PHN2Z', 'image/svg+xml'],
  ['PD94b', 'image/svg+xml'],
]
export const imageMimeOf = (data: string): string =>
  MIME_BY_PREFIX.find(([start]) => data.startsWith(start))?.[1] ?? 'image/png'

export const ownNames = withOwnNames(RESPONSES_NAMES)

/** `images`: their number. Token counts are present only if the upstream counts tokens.
 *  `svg_usage`: those of the model that drew vector graphics. */
export const metersOf = (sentUsage: Fields, images: number): Meters => {
  const usage = ownNames(sentUsage)
  const svg = lenientObject(usage, 'svg_usage')
  const output = count(usage.output_tokens)
  const imageOutput = capCount(lenientObject(usage, 'output_tokens_details').image_tokens, output)
  const svgOutput = count(svg.output_tokens)
  const thinking = capCount(svg.reasoning_tokens, svgOutput)
  const { input, ...inputMeters } = inputMetersOf(usage)
  return omitZeroMeters({
    images,
    input: input + count(svg.input_tokens),
    ...inputMeters,
    output: output - imageOutput + svgOutput - thinking,
    thinking,
    image_output: imageOutput,
  })
}
const inputMetersOf = (usage: Fields): Meters & { readonly input: number } => {
  const input = count(usage.input_tokens)
  const details = lenientObject(usage, 'input_tokens_details')
  const cached = capCount(details.cached_tokens, input)
  const cachedImage = capCount(lenientObject(details, 'cached_tokens_details').image_tokens, cached)
  const freshImage = Math.max(0, count(details.image_tokens) - cachedImage)
  const imageInput = Math.min(freshImage, input - cached)
  return {
    input: input - cached - imageInput,
    cached: cached - cachedImage,
    cached_image: cachedImage,
    image_input: imageInput,
  }
}
export const countsOf = (meters: Meters): Fields => {
  const image = (meters.image_input ?? 0) + (meters.cached_image ?? 0)
  const input = promptTokensOf(meters)
  const output = completionTokensOf(meters)
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    input_tokens_details: { text_tokens: input - image, image_tokens: image },
  }
}

/** Images may also be data URLs. */
export const inlineImages = (body: Fields): ReadonlyMap<number, string> => {
  const images = new Map<number, string>()
  for (const [index, row] of rowsOf(body).entries()) {
    const base64 = lenientText(row, 'b64_json') || parseDataUrl(lenientText(row, 'url') ?? '')?.data
    if (base64) images.set(index, base64)
  }
  return images
}
export const replaceImages = (body: Fields, urls: ReadonlyMap<number, string>): Fields => ({
  ...body,
  data: rowsOf(body).map((row, index) => {
    const url = urls.get(index)
    const { b64_json: _, ...members } = row
    return url === undefined ? row : { ...members, url }
  }),
})
const rowsOf = (body: Fields): readonly Fields[] => lenientObjects(body, 'data')

/** Joins several answers: all images and the sum of their usage. */
export const joinImageAnswers = (bodies: readonly Fields[]): Fields => {
  return {
    ...bodies[0],
    data: bodies.flatMap(body => lenientObjects(body, 'data')),
    ...sumOfMember('usage', bodies),
    ...sumOfMember('svg_usage', bodies),
  }
}
const sumOfMember = (name: string, bodies: readonly Fields[]): Fields => {
  const reports = bodies.map(body => body[name]).filter(isFields)
  return reports.length > 0 ? { [name]: reports.reduce(addCounts) } : {}
}
/** Adds two usage records, number by number. */
export const addCounts = (total: Fields, addend: Fields): Fields => {
  const sum: { [key: string]: Json } = { ...total }
  for (const [key, value] of Object.entries(addend)) {
    const current = sum[key]
    // A value that cannot be a count makes a sum that cannot be one either.
    if (typeof value === 'number') sum[key] = typeof current === 'number' ? current + value : value
    else if (isFields(value)) sum[key] = addCounts(isFields(current) ? current : {}, value)
  }
  return sum
}
