/** Reads the bounds of a request body: maximum output, and the tools that the call may use. The
 *  formats know the members. Pure. */
import { isFields } from '../../engine/kit.ts'
import type { Exchange, Json, Target } from '../../engine/plugin.ts'
import { isStorable, type Fields as JsonFields } from '../formats/fields.ts'
import type { Format } from '../formats/format.ts'
import {
  clientToolTokens,
  imageToolAttributes,
  namesAgent,
  type OfferedTool,
  offeredTools,
  offersHostedTools,
  readsBeyondRequest,
  searchContextSizeOf,
} from '../formats/hosted-tools.ts'
import { formats } from '../formats/index.ts'
import {
  type KnownFile,
  type MediaKind,
  type MediaReferences,
  mediaReferencesIn,
  namesPrompt,
} from '../formats/media-references.ts'
import { type SecondsOrder, USUAL_ORDER } from '../formats/seconds-order.ts'
import {
  headerTiersOf,
  OPEN,
  type RequestedTier,
  requestedTiersOf,
  usualName,
} from '../formats/tiers.ts'
import { type Attributes, EXPANDED_REQUEST, type Meter, type Meters } from '../slots.ts'
import type { Bounds } from './bounds.ts'
import { creditsReplaceLines, NO_TOOLS } from './meters.ts'
import type { Fields } from './problems.ts'
import type { Rule } from './rule.ts'
import { type Attribute, countOf, type Facts } from './usage.ts'

const positiveNumber = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/** The larger of two; a value that is not a positive number does not count. */
const larger = (maximum: number | undefined, value: unknown): number | undefined => {
  const number = positiveNumber(value)
  return number !== undefined && (maximum === undefined || number > maximum) ? number : maximum
}

/** Of all formats: a target may read what the client's format does not know. */
const LIMITS = [...formats.values()].flatMap(({ limitsIn }) => limitsIn ?? [])
const ANSWERS = [...formats.values()].flatMap(({ answersIn }) => answersIn ?? [])

interface Limiting extends Pick<Format, 'limitsIn' | 'answersIn'> {
  /** The inputs of a request that are read one by one, each with a context of its own. */
  inputsIn?(body: JsonFields): number
}
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

/** Embeddings: each text, list of tokens or object has a context of its own. */
export const embeddingBounds: Limiting = {
  inputsIn({ input, inputs, requests }) {
    const list = [input, inputs, requests].find(Array.isArray)
    return Array.isArray(list) && typeof list[0] !== 'number' ? list.length : 1
  },
}

/** The capacity of a model: maximum output tokens, and input and output tokens together. */
export interface Capacity {
  readonly rule: Rule
  readonly output?: number | undefined
  readonly context?: number | undefined
  /** The maximum tokens of one medium that is referred to, by kind. Absent: the context. */
  readonly media?: MediaBounds | undefined
}
export type MediaBounds = Readonly<Partial<Record<MediaKind, number>>>
/** The maximum output of a model without a configured one. */
const DEFAULT_OUTPUT = 65_536
/** The context of a model without a configured one, for media that are elsewhere. */
const DEFAULT_CONTEXT = 1_048_576

export interface RequestBounds {
  readonly bounds: Bounds
  /** Whether the request offers no tool. */
  readonly isWithoutTools: boolean
  /** Whether the request offers a tool that the upstream runs. */
  readonly hasHostedTools: boolean
  /** Whether the prompt may be longer than the request: with media that the request only names, and
   *  with what tools of the provider find. */
  readonly isPromptOpen: boolean
  /** Whether the client set an output limit, or wants several results at once. */
  readonly isLimited: boolean
}

/** The body that the target gets, and its bytes; a continued conversation has more than the client
 *  sent. `json`: the body is JSON, and this function reads its outline; otherwise it is as an
 *  earlier stage parsed it. */
export const targetRequestOf = (
  { request, slots }: Pick<Exchange, 'request' | 'slots'>,
  json: boolean,
): TargetRequest | Promise<TargetRequest> => {
  const expandedRequest = slots.get(EXPANDED_REQUEST)
  if (expandedRequest) return expandedRequest
  const { outlined } = request
  if (outlined === undefined && json && !FORM.test(request.headers['content-type'] ?? ''))
    return readJson(request)
  const size = Number(request.headers['content-length'] ?? 0)
  const body = (json && !hasDocuments(outlined) ? outlined : request.parsed) ?? null
  return size > 0 ? { body, size } : request.bytes().then(({ length }) => ({ body, size: length }))
}
const FORM = /^multipart\//i
const readJson = async (request: Exchange['request']): Promise<TargetRequest> => {
  const [outline, { length }] = [await request.outline(), await request.bytes()]
  return { body: hasDocuments(outline) ? await request.json() : outline, size: length }
}
/** The bytes of each document bound its price. */
const hasDocuments = (outline: Json | undefined): boolean =>
  isFields(outline) && Array.isArray(outline.documents)
interface TargetRequest {
  readonly body: Json
  readonly size: number
}

/** Facts about a request that its body does not show. */
export interface RequestContext {
  /** Files of the gateway that it names, which are sent in their place. */
  readonly files?: ReadonlyMap<string, KnownFile> | undefined
  /** Whether a target gets the tools with which a model reads more than the request has. It may
   *  decode the request: it is called only if the answer matters. Absent: a target gets them. */
  readonly getsTools?: () => boolean
  readonly targets?: readonly Pick<Target, 'name'>[]
  /** Whether an upstream reports the seconds that it made, which may be more than requested. */
  readonly reportsSeconds?: boolean | undefined
  /** Absent: the usual one. */
  readonly order?: SecondsOrder | undefined
}

/** `size`: bytes of the body; `files`: bytes of them that are form files; `format`: that of the
 *  route, which a plugin may have brought. A token has at least one byte. */
export const requestBoundsOf = (
  body: Json,
  size: number,
  capacity: Capacity,
  files = 0,
  format?: Limiting,
  known: RequestContext = {},
): RequestBounds => {
  const { output, context, rule } = capacity
  const fields = isFields(body) ? body : {}
  const limit = limitIn(fields, format)
  const most = output ?? context ?? DEFAULT_OUTPUT
  // A limit of 0 counts as no limit: some upstreams treat it so.
  const each = limit === undefined || limit === 0 ? most : Math.min(limit, most)
  const copies = copiesIn(fields, format)
  const tools = toolBounds(fields, rule)
  // Prices without tokens of the prompt need no bound of it.
  const countsInput = rule.pricingMeters.has('input')
  const media = countsInput ? mediaReferencesIn(fields, known.files) : undefined
  const readsMore =
    countsInput &&
    (known.targets?.some(({ name }) => namesPrompt(name)) ||
      (readsBeyondRequest(fields) && (known.getsTools?.() ?? true)))
  const definitions = countsInput ? clientToolTokens(fields) : 0
  const inputs = Math.max(1, format?.inputsIn?.(fields) ?? 1)
  const passes = passesIn(fields)
  return {
    isWithoutTools: tools === NO_TOOLS,
    hasHostedTools: tools !== NO_TOOLS || offersHostedTools(body),
    // Audio models ignore an output limit.
    isLimited:
      limit !== undefined || copies > 1 || files > 0 || rule.pricingMeters.has('characters'),
    isPromptOpen: media !== undefined || readsMore,
    bounds: {
      prompt:
        promptBound(fields, size + definitions, capacity, { media, readsMore, inputs }) * passes,
      completion: each * Math.max(1, copies) * passes,
      meters: {
        ...tools,
        ...pieceBounds(copies, characterBound(fields, size), rule),
        ...secondBounds(
          fields,
          {
            files: namesRecording(fields) ? 0 : files,
            reportsSeconds: known.reportsSeconds,
            order: known.order,
          },
          rule,
        ),
        ...searchUnitBound(fields, rule),
        ...creditBound(rule),
        transcription_seconds: transcriptBound(rule),
        cache_storage: 0, // only requests that store a cache have any
      },
    },
  }
}

/** Of a request that only stores a cache: its prompt, or the tokens of the cache, for those hours.
 *  Token-hours. */
export const storageBoundsOf = (
  usual: RequestBounds,
  { hours, tokens }: { readonly hours: number; readonly tokens?: number },
): RequestBounds => ({
  ...usual,
  isWithoutTools: true,
  hasHostedTools: false,
  bounds: {
    prompt: 0,
    completion: 0,
    meters: {
      ...usual.bounds.meters,
      ...NO_TOOLS,
      cache_storage: Math.ceil((tokens ?? usual.bounds.prompt ?? 0) * hours),
    },
  },
})

/** Bounds of the pieces that have a price: image models count no characters, speech models no
 *  images. */
const pieceBounds = (copies: number, characters: number, { pricingMeters }: Rule): Meters => ({
  ...(pricingMeters.has('images') && { images: wholeImages(copies) }),
  ...(pricingMeters.has('characters') && { characters }),
})

/** No provider makes less than one image. */
const wholeImages = (images: number): number => Math.max(1, Math.ceil(images))
/** The images that a request orders. */
export const imagesIn = ({ n }: Fields): number => wholeImages(countOf(n) ?? 1)
/** The characters of `text`, if a request has one. */
export const charactersIn = ({ text }: Fields): number | undefined =>
  typeof text === 'string' ? [...text].length : undefined
/** Where the spoken text is elsewhere, `text` bounds nothing: a body has at most as many characters
 *  as bytes. */
const characterBound = (fields: Fields, size: number): number =>
  (fields.input === undefined ? charactersIn(fields) : undefined) ?? size

const documentsIn = ({ query, documents }: Fields): readonly unknown[] =>
  query !== undefined && Array.isArray(documents) ? documents : []
const bytesOf = (value: unknown): number =>
  Buffer.byteLength(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

interface PromptParts {
  readonly media: MediaReferences | undefined
  /** Whether tools may fill the context. */
  readonly readsMore: boolean
  readonly inputs: number
}
/** A token has at least one byte, in a context for each input. A reranker reads the query once with
 *  each document. */
const promptBound = (
  fields: JsonFields,
  size: number,
  { context, media: bounds = {} }: Capacity,
  { media, readsMore, inputs }: PromptParts,
): number => {
  const { length } = documentsIn(fields)
  const text = length === 0 ? size : size + bytesOf(fields.query) * length
  const window = context === undefined ? undefined : context * Math.max(inputs, length)
  // An agent reads far more than its request.
  if (namesAgent(fields)) return window ?? Math.max(DEFAULT_CONTEXT, text)
  if (readsMore) return window ?? Math.max(DEFAULT_CONTEXT, text)
  if (!media) return length === 0 ? Math.min(text, window ?? text) : text
  const room = window ?? Math.max(DEFAULT_CONTEXT * Math.max(inputs, length), text)
  // Each input has a context of its own, which bounds its medium.
  const each = Math.ceil(room / Math.max(inputs, length))
  return Math.min(room, text + mediaBound(media, each, bounds))
}
const mediaBound = (
  { references, inlineImages, inlineDocuments, isOpenEnded }: MediaReferences,
  context: number,
  bounds: MediaBounds,
): number => {
  if (isOpenEnded) return context
  const images = bounds.image ?? MAX_IMAGE_TOKENS
  return (
    references.reduce((sum, kind) => sum + (bounds[kind] ?? context), 0) +
    inlineImages.reduce((sum, bytes) => sum + Math.max(0, images - bytes), 0) +
    inlineDocuments * (bounds.document ?? context)
  )
}
/** Tokens of the largest image of any model, however few bytes it has. */
const MAX_IMAGE_TOKENS = 16_384

/** How often upstreams read the prompt: a compaction reads it once more, as does each model that
 *  takes over when another declines. */
const passesIn = ({ context_management: management, fallbacks }: Fields): number => {
  const { edits } = isFields(management) ? management : {}
  const compacts = Array.isArray(edits) && edits.some(each => /^compact/.test(each?.type))
  const models = Array.isArray(fallbacks) ? fallbacks.length : fallbacks === 'default' ? 1 : 0
  return 1 + Number(compacts) + Math.min(models, MAX_FALLBACKS)
}
const MAX_FALLBACKS = 3

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

interface SecondSources extends Pick<RequestContext, 'reportsSeconds' | 'order'> {
  /** Bytes of uploaded files. */
  readonly files: number
}
/** No speech codec uses fewer bytes a second. */
const MIN_BYTES_PER_SECOND = 500
/** A recording that is elsewhere is as long as the provider permits. */
const namesRecording = ({ url, file_url: fileUrl, file_id: fileId }: Fields): boolean =>
  [url, fileUrl, fileId].some(each => typeof each === 'string' && each !== '')
/** Seconds of the clip that a request orders, or of its segments together. Undefined: the provider
 *  chooses. */
export const orderedSeconds = (
  fields: Fields,
  { members, areSent, hasSegments }: SecondsOrder,
  { maxCalls }: Pick<Rule, 'maxCalls'>,
): number | undefined => {
  const named = members.map(name => secondsOf(fields[name]))
  const counts = hasSegments ? [...named, segmentSeconds(fields)] : named
  const seconds = counts.filter(each => each !== undefined)
  if (seconds.length === 0) return undefined
  return Math.max(...seconds, areSent ? 0 : (maxCalls.get('seconds') ?? 0))
}
/** Providers take whole seconds: with less than one they make a clip of their usual length. */
const secondsOf = (value: unknown): number | undefined => {
  const seconds = countOf(value)
  return seconds !== undefined && seconds >= 1 ? seconds : undefined
}
/** A clip through several images: each names the seconds of the segment that leads to it. */
const segmentSeconds = ({ image_settings: segments }: Fields): number | undefined => {
  if (!Array.isArray(segments) || segments.length === 0) return undefined
  const seconds = segments.map(each =>
    isFields(each) ? (secondsOf(each.duration) ?? SEGMENT_SECONDS) : SEGMENT_SECONDS,
  )
  return seconds.reduce((sum, each) => sum + each, 0)
}
/** Of a segment that names none: platform.vidu.com/docs/multi-frame. */
const SEGMENT_SECONDS = 5
/** Seconds of generated media: as requested, and at least `max_calls` if the upstream reports what
 *  it made. A duration of 0 leaves the choice to the provider. Seconds of uploaded audio: the
 *  longest duration that its bytes can encode. */
const secondBounds = (
  fields: Fields,
  { files, reportsSeconds = false, order = USUAL_ORDER }: SecondSources,
  rule: Rule,
): Meters => {
  const { pricingMeters, maxCalls } = rule
  const seconds = orderedSeconds(fields, order, rule)
  if (seconds !== undefined)
    return { seconds: reportsSeconds ? Math.max(seconds, maxCalls.get('seconds') ?? 0) : seconds }
  if (files === 0 || !pricingMeters.has('seconds')) return {}
  return {
    seconds: Math.min(Math.ceil(files / MIN_BYTES_PER_SECOND), maxCalls.get('seconds') ?? Infinity),
  }
}

/** Credits that replace the other lines add nothing to a hold: those lines bound it. */
const creditBound = ({ pricedMeters }: Rule): Meters =>
  creditsReplaceLines(pricedMeters) ? { credits: 0 } : {}

/** Seconds of speech that a conversation transcribes before its next charge. */
const TRANSCRIPT_SECONDS = 60
const transcriptBound = ({ pricedMeters, maxCalls }: Rule): number =>
  pricedMeters.has('transcription_seconds')
    ? (maxCalls.get('transcription_seconds') ?? TRANSCRIPT_SECONDS)
    : 0

/** 0 for every tool that the request does not offer. `max_calls` bounds the others. An offered tool
 *  without a price counts 1, so that it is reported as unpriced. */
const toolBounds = (fields: JsonFields, rule: Rule): Meters => {
  const offered = offeredTools(fields)
  if (offered.length === 0) return NO_TOOLS
  const meters: { [meter: string]: number } = { ...NO_TOOLS }
  for (const { tool } of offered) {
    const counting = tool?.meters ?? OTHER_TOOLS
    const priced = counting.filter(meter => rule.pricingMeters.has(meter))
    for (const meter of priced) delete meters[meter]
    const [first] = counting
    if (first && priced.length === 0) meters[first] = 1
  }
  return meters
}
const OTHER_TOOLS: readonly Meter[] = ['other_tools']
const toolMetersOf = ({ tool }: OfferedTool): readonly Meter[] => tool?.meters ?? OTHER_TOOLS

/** The client's names for the tools that these meters count. Returns other meters unchanged. */
export const toolNamesOf = (body: Json, meters: readonly string[]): readonly string[] =>
  namesOf(body, meters, () => true)
/** Meters, with the client's names for the tools that no meter of its own counts. */
export const namesOfUnknownTools = (body: Json, meters: readonly string[]): readonly string[] =>
  namesOf(body, meters, meter => meter === 'other_tools')
const namesOf = (
  body: Json,
  meters: readonly string[],
  isNamed: (meter: string) => boolean,
): readonly string[] => {
  const offered = isFields(body) ? offeredTools(body) : []
  const names = meters.flatMap(meter => {
    const tools = isNamed(meter)
      ? offered.filter(each => toolMetersOf(each).includes(meter as Meter))
      : []
    return tools.length > 0 ? tools.map(({ name }) => name) : [meter]
  })
  return [...new Set(names)]
}

const ATTRIBUTE = /^[a-z][a-z0-9_]{0,63}$/
const MAX_ATTRIBUTE_LENGTH = 64

/** The plain members of the body, since a price may depend on them, and its tiers by their usual
 *  names. `absent`: values of attributes that the request does not name. */
export const factsOf = (body: Json, at: number, absent: Attributes = NOTHING): Facts => {
  const attributes: { [name: string]: Attribute } = { ...absent }
  if (isFields(body))
    for (const name in body) {
      const value = body[name]
      if (!ATTRIBUTE.test(name) || value === null || typeof value === 'object') continue
      if (value !== undefined && isStorable(String(value), MAX_ATTRIBUTE_LENGTH))
        attributes[name] = value as Attribute
    }
  const size = isFields(body) ? searchContextSizeOf(body as JsonFields) : undefined
  if (typeof size === 'string' && isStorable(size, MAX_ATTRIBUTE_LENGTH))
    attributes.search_context_size = size
  for (const { name, value } of requestedTiersOf(body))
    if (isStorable(value, MAX_ATTRIBUTE_LENGTH)) attributes[name] = value
  return { at, attributes }
}
const NOTHING: Attributes = {}

/** The facts of a request before it is sent. `open`: attributes that the provider chooses if the
 *  request does not, and that its answer may name. */
export const requestFactsOf = (
  body: Json,
  at: number,
  { rule, defaultTiers }: { readonly rule: Rule; readonly defaultTiers: Attributes },
  open: readonly string[],
  headers: Exchange['request']['headers'] = {},
): Facts => {
  // Attributes matter only to prices that depend on more than counts.
  if (rule.fastPrice && rule.tiers.size === 0) return { at }
  const headerTiers = pricedHeaderTiers(headers, rule).map(({ name, value }) => [name, value])
  const defaults = { ...defaultTiers, ...Object.fromEntries(headerTiers) }
  if (rule.fastPrice) return factsOf(body, at, defaults)
  const openValues = Object.fromEntries(open.map(name => [name, OPEN]))
  const openEntries = Object.entries({ ...openValues, ...imageToolAttributes(body) })
  if (openEntries.length === 0) return factsOf(body, at, defaults)
  const names = new Set(
    rule.lines.flatMap(({ by, when }) => [
      ...by,
      ...when.map(each => ('name' in each ? each.name : '')),
    ]),
  )
  const absent = factsOf(Object.fromEntries(openEntries.filter(([name]) => names.has(name))), at)
  return factsOf(body, at, { ...absent.attributes, ...defaults })
}
/** The facts of a hold: a target may drop a tier, and its upstream then serves its own standard. */
export const heldFactsOf = (facts: Facts, defaultTiers: Attributes): Facts => {
  const { attributes = NOTHING } = facts
  const open = Object.keys(defaultTiers).filter(
    name => attributes[name] !== undefined && attributes[name] !== defaultTiers[name],
  )
  if (open.length === 0) return facts
  return { ...facts, attributes: { ...attributes, ...Object.fromEntries(open.map(asOpen)) } }
}
const asOpen = (name: string): readonly [string, Attribute] => [name, OPEN]
/** Others are left out, refused, or cost what the standard costs. */
const pricedHeaderTiers = (
  headers: Exchange['request']['headers'],
  { tiers }: Rule,
): readonly RequestedTier[] =>
  headerTiersOf(headers).filter(({ name, value }) => tiers.get(name)?.has(usualName(name, value)))

/** The tiers that a request names, wherever an upstream may read them. */
export const namedTiersOf = (
  {
    body,
    headers = {},
  }: { readonly body: Json; readonly headers?: Exchange['request']['headers'] },
  rule: Rule,
): readonly RequestedTier[] => {
  if (rule.tiers.size === 0) return NO_TIERS
  const tiers = [...requestedTiersOf(body), ...pricedHeaderTiers(headers, rule)]
  return tiers.filter(({ value }) => isStorable(value, MAX_ATTRIBUTE_LENGTH))
}
const NO_TIERS: readonly RequestedTier[] = []
