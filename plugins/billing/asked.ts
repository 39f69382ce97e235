/** What a request body bounds: how much it may write, and which tools it may use. The names are those of every format the
 *  gateway speaks; a body holds those of one. Pure. */
import { isFields } from '../../engine/kit.ts'
import type { Exchange, Json } from '../../engine/plugin.ts'
import { offersHosted } from '../formats/tally.ts'
import { type Meter, type Meters, WHOLE } from '../slots.ts'
import type { Bounds } from './bounds.ts'
import type { Fields } from './problems.ts'
import type { Rule } from './rule.ts'
import type { Attribute, Facts } from './usage.ts'

const inner = (fields: Fields, ...keys: readonly string[]): Fields => {
  for (const key of keys) if (isFields(fields[key])) return fields[key]
  return {}
}
const whole = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

const greatest = (...values: readonly unknown[]): number | undefined => {
  let most: number | undefined
  for (const value of values) {
    const found = whole(value)
    if (found !== undefined && (most === undefined || found > most)) most = found
  }
  return most
}

/** Of a model: tokens it writes at most, and reads and writes together. */
export interface Capacity {
  readonly rule: Rule
  readonly output?: number | undefined
  readonly context?: number | undefined
}
/** What a model writes at most of which nobody said it. */
const OUTPUT = 65_536

export interface Asked {
  readonly bounds: Bounds
  /** Whether it offers no tool at all. */
  readonly plain: boolean
  /** Whether it offers a tool that its upstream runs. */
  readonly hosted: boolean
  /** Whether the client said how much may be written, or wants several answers at once. */
  readonly limited: boolean
}

/** What the target is asked, and its bytes: more than the client sent, where that continues something. `json`: what is asked
 *  stands in JSON, and is read where nobody has: a model that is named in the path leaves that to whoever comes later. */
export const saidIn = (
  { request, slots }: Pick<Exchange, 'request' | 'slots'>,
  json: boolean,
): Said | Promise<Said> => {
  const whole = slots.get(WHOLE)
  if (whole) return whole
  if (request.parsed === undefined && json && !FORM.test(request.headers['content-type'] ?? ''))
    return readIn(request)
  const size = Number(request.headers['content-length'] ?? 0)
  const body = request.parsed ?? null
  return size > 0 ? { body, size } : request.bytes().then(({ length }) => ({ body, size: length }))
}
const FORM = /^multipart\//i
const readIn = async (request: Exchange['request']): Promise<Said> => {
  const [body, { length }] = [await request.json(), await request.bytes()]
  return { body, size: length }
}
interface Said {
  readonly body: Json
  readonly size: number
}

/** `size`: bytes of the body, `files`: those of them that are files of a form. No token is shorter than a byte. */
export const askedOf = (
  body: Json,
  size: number,
  { output, context, rule }: Capacity,
  files = 0,
): Asked => {
  const fields = isFields(body) ? body : {}
  const generation = inner(fields, 'generationConfig', 'generation_config')
  const limit = greatest(
    ...[fields.max_tokens, fields.max_completion_tokens, fields.max_output_tokens],
    ...[generation.maxOutputTokens, generation.max_output_tokens],
  )
  const most = output ?? context ?? OUTPUT
  // A limit of 0 is none: some upstreams take it for "as much as there is".
  const each = limit === undefined || limit === 0 ? most : Math.min(limit, most)
  const copies = whole(fields.n) ?? whole(generation.candidateCount) ?? 1
  const tools = toolsIn(fields, rule)
  return {
    plain: tools === NO_TOOLS,
    hosted: TOOLS.some(([meter]) => tools[meter] !== 0) || offersHosted(body),
    // What hears and what speaks does so for as long as it takes: no bound of ours would be read.
    limited: limit !== undefined || copies > 1 || files > 0 || rule.homes.has('characters'),
    bounds: {
      prompt: Math.min(size, context ?? size),
      completion: each * Math.max(1, copies),
      meters: {
        ...tools,
        ...piecesOf(copies, size, rule),
        ...secondsIn(fields, files, rule),
      },
    },
  }
}

/** Only those that the model is paid by: what draws counts no characters, and what speaks no images. */
const piecesOf = (images: number, characters: number, { homes }: Rule): Meters => ({
  ...(homes.has('images') && { images }),
  ...(homes.has('characters') && { characters }),
})

/** Bytes a second that no codec for speech goes below. */
const LEAST_RATE = 500
/** Of what is made as many as are asked for; of what is heard as many as a file of this size can last. */
const secondsIn = (fields: Fields, files: number, { homes, maxCalls }: Rule): Meters => {
  const seconds = whole(fields.duration) ?? whole(fields.seconds)
  if (seconds !== undefined) return { seconds }
  if (files === 0 || !homes.has('seconds')) return {}
  return { seconds: Math.min(Math.ceil(files / LEAST_RATE), maxCalls.get('seconds') ?? Infinity) }
}

/** How each format calls the tools that upstreams run by themselves, and that are paid for by the call. */
const TOOLS: readonly (readonly [Meter, RegExp])[] = [
  ['web_search', /^(?:.*web_?search.*|google_?search.*|gx_search|url_?context)$/i],
  ['file_search', /^file_?search$/i],
  ['code_execution', /^code_?(?:execution|interpreter).*$/i],
]
const NO_TOOLS: Meters = { web_search: 0, file_search: 0, code_execution: 0 }
/** Nought for every tool that the request does not offer. Of the others `max_calls` decides; one that has no price is
 *  named, so that it is found to have none. */
const toolsIn = (fields: Fields, rule: Rule): Meters => {
  if (fields.tools === undefined && fields.web_search_options === undefined) return NO_TOOLS
  const offered = offeredIn(fields)
  const meters: { [meter: string]: number } = {}
  for (const [meter, called] of TOOLS)
    if (!offered.some(name => called.test(name))) meters[meter] = 0
    else if (!rule.homes.has(meter)) meters[meter] = 1
  return meters
}
/** What the client calls the tools that these meters count. A meter that counts none stays as it is. */
export const calledIn = (body: Json, meters: readonly string[]): readonly string[] => {
  const offered = isFields(body) ? offeredIn(body) : []
  const names = meters.flatMap(meter => {
    const called = TOOLS.find(([name]) => name === meter)?.[1]
    const asked = called ? offered.filter(name => called.test(name)) : []
    return asked.length > 0 ? asked : [meter]
  })
  return [...new Set(names)]
}
const offeredIn = (fields: Fields): string[] => [
  ...namesIn(fields.tools),
  ...(fields.web_search_options === undefined ? [] : ['web_search_options']),
]
const namesIn = (tools: unknown): string[] => {
  if (!Array.isArray(tools)) return []
  return tools.flatMap(tool => {
    if (!isFields(tool)) return []
    // Google's tools are named by their key; everybody else's by their type.
    return typeof tool.type === 'string' ? [tool.type, ...presetIn(tool)] : Object.keys(tool)
  })
}
/** A function without parameters may be the name of a tool that is not the client's. */
const presetIn = (tool: Fields): string[] => {
  const { name, parameters } = inner(tool, 'function')
  if (tool.type !== 'function' || typeof name !== 'string') return []
  const { properties } = isFields(parameters) ? parameters : {}
  return isFields(properties) && Object.keys(properties).length > 0 ? [] : [name]
}

const ATTRIBUTE = /^[a-z][a-z0-9_]{0,63}$/
const SHORT = 64

/** What a price may go by: the plain members of the body. */
export const factsOf = (body: Json, at: number): Facts => {
  const attributes: { [name: string]: Attribute } = {}
  if (isFields(body))
    for (const name in body) {
      const value = body[name]
      if (!ATTRIBUTE.test(name) || value === null || typeof value === 'object') continue
      if (value !== undefined && String(value).length <= SHORT)
        attributes[name] = value as Attribute
    }
  return { at, attributes }
}
