/** Formats the log line of a finished request without a library, since every request has one. */
import { hideKeysInPath } from './secret-text.ts'

/** One finished request, in the order of its line. */
export interface RequestLine {
  readonly id: string
  /** The client's own id, if it sent one. */
  readonly requestId: string | undefined
  readonly trace: string
  readonly route: string
  readonly method: string
  readonly path: string
  readonly status: number
  readonly end: string
  /** ms from head to end, and the part of them that the gateway added. */
  readonly ms: number
  readonly added: number
  readonly bytes: number
  readonly attempts: number
  readonly upstream: string | undefined
  readonly target: string | undefined
  readonly code: string | undefined
  /** Of stages: see `LOG_FIELDS`. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined
  readonly details: object | undefined
}
type Hide = (text: string) => string

/** Route name of a request that matched none. */
const NO_ROUTE = 'none'
/** Most texts whose JSON form is cached, and characters of the longest of them. */
const MAX_TEXTS = 1_000
const MAX_LENGTH = 256

/** `base`: fields of every line of this process. `hide`: masks secrets in text of the client. */
export const createRequestLines = (base: object, hide: Hide) => {
  /** Names and most paths are few. A client with ever new paths only empties the cache. */
  const quotedTexts = new Map<string, string>()
  const quoteOnce = (text: string): string => {
    const cached = quotedTexts.get(text)
    if (cached !== undefined) return cached
    const result = hide(JSON.stringify(text))
    if (quotedTexts.size >= MAX_TEXTS) quotedTexts.clear()
    if (text.length <= MAX_LENGTH) quotedTexts.set(text, result)
    return result
  }
  const quoteValue = (value: unknown): string | number => {
    if (typeof value === 'number') return value
    return typeof value === 'string' ? quoteOnce(value) : hide(JSON.stringify(value))
  }
  // A path without a route may contain a credential, and is rarely repeated.
  const quoteUnmatched = (text: string): string => hide(JSON.stringify(hideKeysInPath(text)))
  const prefix = `${JSON.stringify(base).slice(1, -1)},"id":"`
  return {
    write(line: RequestLine): string {
      let text = `{"level":"info","time":${Date.now()},${prefix}${line.id}"`
      if (line.requestId !== undefined)
        text += `,"request_id":${hide(JSON.stringify(line.requestId))}`
      text += `,"trace":"${line.trace}","route":${quoteOnce(line.route)},"method":${quoteOnce(line.method)}`
      text += `,"path":${line.route === NO_ROUTE ? quoteUnmatched(line.path) : quoteOnce(line.path)}`
      text += `,"status":${line.status}`
      text += `,"end":"${line.end}","ms":${round(line.ms)},"added":${round(line.added)}`
      text += `,"bytes":${line.bytes},"attempts":${line.attempts}`
      if (line.upstream !== undefined) text += `,"upstream":${quoteOnce(line.upstream)}`
      if (line.target !== undefined) text += `,"target":${quoteOnce(line.target)}`
      if (line.code !== undefined) text += `,"code":${quoteOnce(line.code)}`
      for (const name in line.fields) text += `,"${name}":${quoteValue(line.fields[name])}`
      if (line.details) text += `,"details":${hide(JSON.stringify(line.details))}`
      return `${text},"msg":"request"}\n`
    },
    /** Empties the cache, for new secrets. */
    clear: (): void => quotedTexts.clear(),
  }
}

const round = (ms: number): number => Math.round(ms * 100) / 100
