/** Formats the log line of a finished request by hand, since every request pays for it. */
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
  /** ms from head to end, and the gateway's own part of them. */
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
/** Most names and paths whose quoted form is cached. */
const MOST_NAMES = 1_000
/** Longer paths are not cached. */
const LONGEST_PATH = 256

/** Names of routes and upstreams are the operator's and occur in every line: quoted once. What a
 *  client sent is masked (`hide`). `base`: fields of every line of this process. */
export const createRequestLines = (base: object, hide: Hide) => {
  const quoted = new Map<string, string>()
  const quoteOnce = (name: string): string => {
    const found = quoted.get(name)
    if (found !== undefined) return found
    const result = hide(JSON.stringify(name))
    if (quoted.size < MOST_NAMES) quoted.set(name, result)
    return result
  }
  /** Most requests have a few paths; a client with ever new ones only empties the cache. */
  const paths = new Map<string, string>()
  const path = (text: string): string => {
    const found = paths.get(text)
    if (found !== undefined) return found
    const result = hide(JSON.stringify(text))
    if (paths.size >= MOST_NAMES) paths.clear()
    if (text.length <= LONGEST_PATH) paths.set(text, result)
    return result
  }
  // A path without a route may contain a credential, and rarely comes twice.
  const unmatched = (text: string): string => hide(JSON.stringify(hideKeysInPath(text)))
  const prefix = `${JSON.stringify(base).slice(1, -1)},"id":"`
  return {
    write(line: RequestLine): string {
      let text = `{"level":"info","time":${Date.now()},${prefix}${line.id}"`
      if (line.requestId !== undefined)
        text += `,"request_id":${hide(JSON.stringify(line.requestId))}`
      text += `,"trace":"${line.trace}","route":${quoteOnce(line.route)},"method":${quoteOnce(line.method)}`
      text += `,"path":${line.route === NO_ROUTE ? unmatched(line.path) : path(line.path)}`
      text += `,"status":${line.status}`
      text += `,"end":"${line.end}","ms":${round(line.ms)},"added":${round(line.added)}`
      text += `,"bytes":${line.bytes},"attempts":${line.attempts}`
      if (line.upstream !== undefined) text += `,"upstream":${quoteOnce(line.upstream)}`
      if (line.target !== undefined) text += `,"target":${quoteOnce(line.target)}`
      if (line.code !== undefined) text += `,"code":${quoteOnce(line.code)}`
      return `${text},"msg":"request"}\n`
    },
    /** Empties the caches, when there are new secrets. */
    forget(): void {
      quoted.clear()
      paths.clear()
    },
  }
}

const round = (ms: number): number => Math.round(ms * 100) / 100
