/** Reads the bounds of a request body: maximum output, and the tools that the call may use. The
 *  formats know the members. Pure. */
import { isFields } from '../../engine/kit.ts'
import type { Exchange, Json } from '../../engine/plugin.ts'
import type { Fields as JsonFields } from '../formats/fields.ts'
import type { Format } from '../formats/format.ts'
import { formats } from '../formats/index.ts'
import { offersHostedTools } from '../formats/stream/hosted-usage.ts'
import { EXPANDED_REQUEST, type Meter, type Meters } from '../slots.ts'
import type { Bounds } from './bounds.ts'
import type { Fields } from './problems.ts'
import type { Rule } from './rule.ts'
import type { Attribute, Facts } from './usage.ts'

const fieldsIn = (fields: Fields, ...keys: readonly string[]): Fields => {
  for (const key of keys) if (isFields(fields[key])) return fields[key]
  return {}
}
const positiveNumber = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/** The larger of two; a value that is no positive number does not count. */
const larger = (maximum: number | undefined, value: unknown): number | undefined => {
  const number = positiveNumber(value)
  return number !== undefined && (maximum === undefined || number > maximum) ? number : maximum
}

/** Of all formats: a target may read what the client's format does not know. */
const LIMITS = [...formats.values()].flatMap(({ limitsIn }) => limitsIn ?? [])
const ANSWERS = [...formats.values()].flatMap(({ answersIn }) => answersIn ?? [])

type Limiting = Pick<Format, 'limitsIn' | 'answersIn'>
const limitIn = (fields: JsonFields, format: Limiting | undefined): number | undefined => {
  let limit: number | undefined
  for (const limitsIn of LIMITS) for (const value of limitsIn(fields)) limit = larger(limit, value)
  for (const value of format?.limitsIn?.(fields) ?? []) limit = larger(limit, value)
  return limit
}
const copiesIn = (fields: JsonFields, format: Limiting | undefined): number => {
  let copies: number | undefined
  for (const answersIn of ANSWERS) copies = larger(copies, answersIn(fields))
  return larger(copies, format?.answersIn?.(fields)) ?? 1
}

/** The capacity of a model: maximum output tokens, and input and output tokens together. */
export interface Capacity {
  readonly rule: Rule
  readonly output?: number | undefined
  readonly context?: number | undefined
}
/** The maximum output of a model without a configured one. */
const DEFAULT_OUTPUT = 65_536

export interface RequestBounds {
  readonly bounds: Bounds
  /** Whether the request offers no tool. */
  readonly isWithoutTools: boolean
  /** Whether the request offers a tool that the upstream runs. */
  readonly hasHostedTools: boolean
  /** Whether the client set an output limit, or wants several results at once. */
  readonly isLimited: boolean
}

/** The body that the target gets, and its bytes; a continued conversation has more than the client
 *  sent. `json`: the body is JSON, and this function parses it if no earlier stage has. */
export const targetRequestOf = (
  { request, slots }: Pick<Exchange, 'request' | 'slots'>,
  json: boolean,
): TargetRequest | Promise<TargetRequest> => {
  const expandedRequest = slots.get(EXPANDED_REQUEST)
  if (expandedRequest) return expandedRequest
  if (request.parsed === undefined && json && !FORM.test(request.headers['content-type'] ?? ''))
    return readJson(request)
  const size = Number(request.headers['content-length'] ?? 0)
  const body = request.parsed ?? null
  return size > 0 ? { body, size } : request.bytes().then(({ length }) => ({ body, size: length }))
}
const FORM = /^multipart\//i
const readJson = async (request: Exchange['request']): Promise<TargetRequest> => {
  const [body, { length }] = [await request.json(), await request.bytes()]
  return { body, size: length }
}
interface TargetRequest {
  readonly body: Json
  readonly size: number
}

/** `size`: bytes of the body; `files`: bytes of them that are form files; `format`: that of the
 *  route, which a plugin may have brought. A token has at least one byte. */
export const requestBoundsOf = (
  body: Json,
  size: number,
  { output, context, rule }: Capacity,
  files = 0,
  format?: Limiting,
): RequestBounds => {
  const fields = isFields(body) ? body : {}
  const limit = limitIn(fields, format)
  const most = output ?? context ?? DEFAULT_OUTPUT
  // A limit of 0 counts as no limit: some upstreams treat it so.
  const each = limit === undefined || limit === 0 ? most : Math.min(limit, most)
  const copies = copiesIn(fields, format)
  const tools = toolBounds(fields, rule)
  return {
    isWithoutTools: tools === NO_TOOLS,
    hasHostedTools: TOOLS.some(([meter]) => tools[meter] !== 0) || offersHostedTools(body),
    // Audio models ignore an output limit.
    isLimited:
      limit !== undefined || copies > 1 || files > 0 || rule.pricingMeters.has('characters'),
    bounds: {
      prompt: promptBound(fields, size, context),
      completion: each * Math.max(1, copies),
      meters: {
        ...tools,
        ...pieceBounds(copies, characterBound(fields, size), rule),
        ...secondBounds(fields, files, rule),
        ...searchUnitBound(fields, rule),
        transcription_seconds: transcriptBound(rule),
      },
    },
  }
}

/** Bounds of the pieces that have a price: image models count no characters, speech models no
 *  images. */
const pieceBounds = (images: number, characters: number, { pricingMeters }: Rule): Meters => ({
  ...(pricingMeters.has('images') && { images }),
  ...(pricingMeters.has('characters') && { characters }),
})

/** The characters of `text`, if a request has one. */
export const charactersIn = ({ text }: Fields): number | undefined =>
  typeof text === 'string' ? [...text].length : undefined
/** Where the spoken text stands elsewhere, `text` bounds nothing: a body has at most as many
 *  characters as bytes. */
const characterBound = (fields: Fields, size: number): number =>
  (fields.input === undefined ? charactersIn(fields) : undefined) ?? size

const documentsIn = ({ query, documents }: Fields): readonly unknown[] =>
  query !== undefined && Array.isArray(documents) ? documents : []
const bytesOf = (value: unknown): number =>
  Buffer.byteLength(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/** A reranker reads the query once with each document. */
const promptBound = (fields: Fields, size: number, context = size): number => {
  const { length } = documentsIn(fields)
  return length === 0 ? Math.min(size, context) : size + bytesOf(fields.query) * length
}

/** A search unit is a query with 100 documents; of a document and the query together, every 500
 *  tokens count as a document. */
const DOCUMENTS_PER_UNIT = 100
const DOCUMENT_TOKENS = 500
const MIN_DOCUMENT_TOKENS = 100
const searchUnitBound = (fields: Fields, { pricingMeters }: Rule): Meters => {
  if (!pricingMeters.has('search_units')) return {}
  const room = Math.max(MIN_DOCUMENT_TOKENS, DOCUMENT_TOKENS - bytesOf(fields.query))
  const pieces = documentsIn(fields).reduce<number>(
    (sum, each) => sum + Math.max(1, Math.ceil(bytesOf(each) / room)),
    0,
  )
  return { search_units: Math.max(1, Math.ceil(pieces / DOCUMENTS_PER_UNIT)) }
}

/** No speech codec uses fewer bytes a second. */
const MIN_BYTES_PER_SECOND = 500
/** Seconds of generated media: as requested. Seconds of uploaded audio: the longest duration that
 *  its bytes can encode. */
const secondBounds = (fields: Fields, files: number, { pricingMeters, maxCalls }: Rule): Meters => {
  const seconds = positiveNumber(fields.duration) ?? positiveNumber(fields.seconds)
  if (seconds !== undefined) return { seconds }
  if (files === 0 || !pricingMeters.has('seconds')) return {}
  return {
    seconds: Math.min(Math.ceil(files / MIN_BYTES_PER_SECOND), maxCalls.get('seconds') ?? Infinity),
  }
}

/** Seconds of speech that a conversation transcribes before its next charge. */
const TRANSCRIPT_SECONDS = 60
const transcriptBound = ({ pricedMeters, maxCalls }: Rule): number =>
  pricedMeters.has('transcription_seconds')
    ? (maxCalls.get('transcription_seconds') ?? TRANSCRIPT_SECONDS)
    : 0

/** The names that formats give to tools that upstreams run and bill by the call. */
const TOOLS: readonly (readonly [Meter, RegExp])[] = [
  ['web_search', /^(?:.*web_?search.*|google_?search.*|gx_search|url_?context)$/i],
  ['file_search', /^file_?search$/i],
  ['code_execution', /^code_?(?:execution|interpreter).*$/i],
]
const NO_TOOLS: Meters = { web_search: 0, file_search: 0, code_execution: 0 }
/** 0 for every tool that the request does not offer. `max_calls` bounds the others. An offered tool
 *  without a price counts 1, so that it is reported as unpriced. */
const toolBounds = (fields: Fields, rule: Rule): Meters => {
  if (fields.tools === undefined && fields.web_search_options === undefined) return NO_TOOLS
  const offeredNames = offeredTools(fields)
  const meters: { [meter: string]: number } = {}
  for (const [meter, pattern] of TOOLS)
    if (!offeredNames.some(name => pattern.test(name))) meters[meter] = 0
    else if (!rule.pricingMeters.has(meter)) meters[meter] = 1
  return meters
}
/** The client's names for the tools that these meters count. Returns other meters unchanged. */
export const toolNamesOf = (body: Json, meters: readonly string[]): readonly string[] => {
  const offeredNames = isFields(body) ? offeredTools(body) : []
  const names = meters.flatMap(meter => {
    const pattern = TOOLS.find(([name]) => name === meter)?.[1]
    const matches = pattern ? offeredNames.filter(name => pattern.test(name)) : []
    return matches.length > 0 ? matches : [meter]
  })
  return [...new Set(names)]
}
const offeredTools = (fields: Fields): string[] => [
  ...toolNames(fields.tools),
  ...(fields.web_search_options === undefined ? [] : ['web_search_options']),
]
const toolNames = (tools: unknown): string[] => {
  if (!Array.isArray(tools)) return []
  return tools.flatMap(tool => {
    if (!isFields(tool)) return []
    // Google names tools by their key; other formats by their type.
    return typeof tool.type === 'string' ? [tool.type, ...presetTool(tool)] : Object.keys(tool)
  })
}
/** A function without parameters may name a hosted tool. */
const presetTool = (tool: Fields): string[] => {
  const { name, parameters } = fieldsIn(tool, 'function')
  if (tool.type !== 'function' || typeof name !== 'string') return []
  const { properties } = isFields(parameters) ? parameters : {}
  return isFields(properties) && Object.keys(properties).length > 0 ? [] : [name]
}

const ATTRIBUTE = /^[a-z][a-z0-9_]{0,63}$/
const MAX_ATTRIBUTE_LENGTH = 64

/** The plain members of the body, since a price may depend on them. */
export const factsOf = (body: Json, at: number): Facts => {
  const attributes: { [name: string]: Attribute } = {}
  if (isFields(body))
    for (const name in body) {
      const value = body[name]
      if (!ATTRIBUTE.test(name) || value === null || typeof value === 'object') continue
      if (value !== undefined && String(value).length <= MAX_ATTRIBUTE_LENGTH)
        attributes[name] = value as Attribute
    }
  return { at, attributes }
}
