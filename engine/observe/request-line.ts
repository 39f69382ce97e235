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
}
type Hide = (text: string) => string

/** Route name of a request that matched none. */
const NO_ROUTE = 'none'
/** Most names, and most paths, whose JSON form is cached. */
const MAX_NAMES = 1_000
/** Characters of the longest path that is cached. */
const MAX_PATH = 256

/** `base`: fields of every line of this process. `hide`: masks secrets in text of the client. */
export const createRequestLines = (base: object, hide: Hide) => {
  const quotedNames = new Map<string, string>()
  const quoteOnce = (name: string): string => {
    const cached = quotedNames.get(name)
    if (cached !== undefined) return cached
    const result = hide(JSON.stringify(name))
    if (quotedNames.size < MAX_NAMES) quotedNames.set(name, result)
    return result
  }
  /** Most requests have a few paths. A client with ever new paths only empties the cache. */
  const paths = new Map<string, string>()
  const quotePath = (text: string): string => {
    const cached = paths.get(text)
    if (cached !== undefined) return cached
    const result = hide(JSON.stringify(text))
    if (paths.size >= MAX_NAMES) paths.clear()
    if (text.length <= MAX_PATH) paths.set(text, result)
    return result
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
      text += `,"path":${line.route === NO_ROUTE ? quoteUnmatched(line.path) : quotePath(line.path)}`
      text += `,"status":${line.status}`
      text += `,"end":"${line.end}","ms":${round(line.ms)},"added":${round(line.added)}`
      text += `,"bytes":${line.bytes},"attempts":${line.attempts}`
      if (line.upstream !== undefined) text += `,"upstream":${quoteOnce(line.upstream)}`
      if (line.target !== undefined) text += `,"target":${quoteOnce(line.target)}`
      if (line.code !== undefined) text += `,"code":${quoteOnce(line.code)}`
      return `${text},"msg":"request"}\n`
    },
    /** Empties the caches, for new secrets. */
    clear(): void {
      quotedNames.clear()
      paths.clear()
    },
  }
}

const round = (ms: number): number => Math.round(ms * 100) / 100
