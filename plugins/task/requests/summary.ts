/** Shortens requests and results for answers: data becomes its size and its digest, and long texts
 *  their beginning. */
import { createHash } from 'node:crypto'
import { largeTurn } from '../../../engine/kit.ts'
import type { Json } from '../../../engine/plugin.ts'
import type { Fields } from '../task.ts'

/** Bytes of a summary, as JSON. */
const SUMMARY_LIMIT = 16 * 1024
/** Bytes of a request with its texts uncut. */
export const WHOLE_LIMIT = 3.5 * 2 ** 20
/** Characters of data that stay. */
const DATA_LIMIT = 1_024
/** Characters of a text that stay in a summary: no prompt is longer. */
const TEXT_LIMIT = 8 * 1024
/** Characters that a cut text begins with. */
const BEGIN = 1_000
/** Characters that are hashed in one turn of the event loop; a multiple of four. */
const SLICE = 2 ** 20
const DATA_URL = /^data:([^,;]{0,100})[^,]{0,200};base64,/i
const BASE64 = /^[A-Za-z0-9+/_=-]+$/

/** The description of a text of data: the part before the base64, if it is a data URL. */
const dataIn = (text: string): { readonly type: string; readonly start: number } | undefined => {
  if (text.length <= DATA_LIMIT) return undefined
  const [head, type] = DATA_URL.exec(text.slice(0, DATA_LIMIT)) ?? []
  if (head !== undefined) return { type: type || 'text/plain', start: head.length }
  const isBase64 = BASE64.test(text.slice(0, DATA_LIMIT))
  return isBase64 ? { type: 'application/octet-stream', start: 0 } : undefined
}
/** `data:TYPE;size=BYTES;sha256=HEX,`: a data URL without data. */
const describeData = async (text: string): Promise<string> => {
  const { type, start } = dataIn(text) ?? { type: '', start: 0 }
  const hash = createHash('sha256')
  let size = 0
  for (let at = start; at < text.length; at += SLICE) {
    if (at > start) await largeTurn()
    const bytes = Buffer.from(text.slice(at, at + SLICE), 'base64')
    hash.update(bytes)
    size += bytes.length
  }
  return `data:${type};size=${size};sha256=${hash.digest('hex')},`
}
const cutText = (text: string, length: number): string => {
  // No half of a pair of surrogates.
  const end = /[\ud800-\udbff]/.test(text.charAt(length - 1)) ? length - 1 : length
  return `${text.slice(0, end)}… (${text.length} characters)`
}

/** A copy with other texts; the same value if none changes. */
const mapTexts = (json: Json, map: (text: string) => string): Json => {
  if (typeof json === 'string') return map(json)
  if (typeof json !== 'object' || json === null) return json
  if (Array.isArray(json)) {
    const items = json.map((item: Json) => mapTexts(item, map))
    return items.some((item, index) => item !== json[index]) ? items : json
  }
  const entries = Object.entries(json).map(([name, value]) => [name, mapTexts(value, map)] as const)
  const isChanged = entries.some(([name, value]) => value !== (json as Fields)[name])
  return isChanged ? Object.fromEntries(entries) : json
}
/** Data becomes its size and its digest. The same value if there is none. */
export const withoutData = async <T extends Json>(json: T): Promise<T> => {
  const texts = new Set<string>()
  mapTexts(json, text => {
    if (dataIn(text)) texts.add(text)
    return text
  })
  if (texts.size === 0) return json
  const descriptions = new Map<string, string>()
  for (const text of texts) descriptions.set(text, await describeData(text))
  return mapTexts(json, text => descriptions.get(text) ?? text) as T
}
const bytesOf = (json: Json): number => Buffer.byteLength(JSON.stringify(json))

/** At most `limit` bytes as JSON: long texts are cut, and what is still too long keeps its members
 *  with plain values only. `json`: without data. The same value if nothing is too long. */
export const shorten = <T extends Json>(json: T, limit = SUMMARY_LIMIT): T => {
  const short = (most: number, begin: number): Json =>
    mapTexts(json, text => (text.length > most ? cutText(text, begin) : text))
  const cut = short(TEXT_LIMIT, BEGIN)
  if (bytesOf(cut) <= limit) return cut as T
  const tight = short(BEGIN / 4, BEGIN / 5)
  if (bytesOf(tight) <= limit) return tight as T
  return plainMembers(tight, limit) as T
}
const plainMembers = (json: Json, limit: number): Json => {
  if (Array.isArray(json)) return firstItems(json, limit)
  const members: Record<string, Json> = {}
  let size = 2
  for (const [name, value] of Object.entries(json as Fields)) {
    if (typeof value === 'object' && value !== null) continue
    size += bytesOf(name) + bytesOf(value) + 2
    if (size > limit) break
    members[name] = value
  }
  return members
}
const firstItems = (list: readonly Json[], limit: number): readonly Json[] => {
  let size = 2
  const isWithin = (item: Json): boolean => {
    size += bytesOf(item) + 1
    return size <= limit
  }
  const end = list.findIndex(item => !isWithin(item))
  return end < 0 ? list : list.slice(0, end)
}
