/** The line a finished request leaves in the log: written by hand, since it is the one that every request pays for. */
import { hideKeysInPath } from './secret-text.ts'

/** One finished request, in the order of its line. */
export interface RequestLine {
  readonly id: string
  /** What the client calls it, where that is another name. */
  readonly requestId: string | undefined
  readonly trace: string
  readonly route: string
  readonly method: string
  readonly path: string
  readonly status: number
  readonly end: string
  /** From its head to its end, and what the gateway itself took of that, ms. */
  readonly ms: number
  readonly added: number
  readonly bytes: number
  readonly attempts: number
  readonly upstream: string | undefined
  readonly target: string | undefined
  readonly code: string | undefined
}
type Hide = (text: string) => string

/** The name of the route of a request that met none. */
const NO_ROUTE = 'none'
/** Names that are kept quoted; whoever invents more pays for each. */
const NAMES_KEPT = 1_000
/** Longer ones are nobody's usual path. */
const PATH_KEPT = 256

/** Names of routes and upstreams are the operator's and come with every line: quoted once. What may be a client's goes
 *  behind the curtain (`hide`) each time. `base`: fields of every line of this process. */
export const createRequestLines = (base: object, hide: Hide) => {
  const quoted = new Map<string, string>()
  const known = (name: string): string => {
    const found = quoted.get(name)
    if (found !== undefined) return found
    const made = hide(JSON.stringify(name))
    if (quoted.size < NAMES_KEPT) quoted.set(name, made)
    return made
  }
  /** Most requests are for a few paths; who asks for ever new ones pushes the others out, and no more. */
  const paths = new Map<string, string>()
  const path = (asked: string): string => {
    const found = paths.get(asked)
    if (found !== undefined) return found
    const made = hide(JSON.stringify(asked))
    if (paths.size >= NAMES_KEPT) paths.clear()
    if (asked.length <= PATH_KEPT) paths.set(asked, made)
    return made
  }
  // What met no route may hold anything, and is hardly asked twice.
  const unmatched = (asked: string): string => hide(JSON.stringify(hideKeysInPath(asked)))
  const ours = `${JSON.stringify(base).slice(1, -1)},"id":"`
  return {
    write(line: RequestLine): string {
      let text = `{"level":"info","time":${Date.now()},${ours}${line.id}"`
      if (line.requestId !== undefined)
        text += `,"request_id":${hide(JSON.stringify(line.requestId))}`
      text += `,"trace":"${line.trace}","route":${known(line.route)},"method":${known(line.method)}`
      text += `,"path":${line.route === NO_ROUTE ? unmatched(line.path) : path(line.path)}`
      text += `,"status":${line.status}`
      text += `,"end":"${line.end}","ms":${round(line.ms)},"added":${round(line.added)}`
      text += `,"bytes":${line.bytes},"attempts":${line.attempts}`
      if (line.upstream !== undefined) text += `,"upstream":${known(line.upstream)}`
      if (line.target !== undefined) text += `,"target":${known(line.target)}`
      if (line.code !== undefined) text += `,"code":${known(line.code)}`
      return `${text},"msg":"request"}\n`
    },
    /** There are new secrets. */
    forget(): void {
      quoted.clear()
      paths.clear()
    },
  }
}

const round = (ms: number): number => Math.round(ms * 100) / 100
