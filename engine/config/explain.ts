/** What one request would meet: its route, what each stage does or refuses, the target, the upstream request. Sends nothing. */
import { asFault } from '../errors.ts'
import type { Bytes, Headers, Json, Next, Target } from '../plugin.ts'
import { Call } from '../request/exchange.ts'
import { received } from '../request/resumed-call.ts'
import type { Store } from '../request/writes.ts'
import type { NamedStage, Snapshot } from '../snapshot/snapshot.ts'
import { openTry, type Try } from '../upstream/attempt.ts'
import { pick } from '../upstream/balance.ts'
import { type Candidate, candidatesOf } from '../upstream/candidate.ts'
import type { DispatchRules } from '../upstream/dispatch.ts'
import { joinPath } from '../upstream/upstreams.ts'

export interface Asked {
  /** `WS` for a WebSocket. */
  readonly method: string
  /** Path and query. */
  readonly target: string
  /** Lower-case names. */
  readonly headers: Headers
  readonly body?: Bytes
}
export interface StageNote {
  readonly stage: string
  readonly ring: 'handle' | 'forward'
  /** `silent`: it neither answers nor calls next(), which is a fault of the plugin. */
  readonly outcome: 'passes' | 'refuses' | 'answers' | 'silent'
  readonly refusal?: { readonly status: number; readonly code: string; readonly message: string }
  /** What the stage says of itself. */
  readonly says?: Json
}
export interface Explanation {
  readonly route?: {
    readonly name: string
    readonly method: string
    readonly pattern: string
    readonly params: Readonly<Record<string, string>>
  }
  /** The methods that the path has, where no route matches. */
  readonly allowed?: readonly string[]
  readonly stages: readonly StageNote[]
  /** In the order in which they would be asked. */
  readonly targets: readonly Target[]
  /** The request to the first target. */
  readonly request?: {
    readonly method: string
    readonly url: string
    readonly headers: Headers
    readonly body: string
  }
}

export const explain = async (
  snapshot: Snapshot,
  store: Store,
  asked: Asked,
): Promise<Explanation> => {
  const { method } = asked
  const host = String(asked.headers.host ?? '')
  const { compiled, params, path, search, allowed } = snapshot.match(method, asked.target, host)
  if (!compiled) return { allowed, stages: [], targets: [] }
  const { route, stages, rules } = compiled
  const wire = { path: search === '' ? path : `${path}?${search}`, headers: asked.headers }
  const call = new Call({
    ...{ id: 'explain', requestId: 'explain', traceId: '0'.repeat(32), route, params, store },
    kind: method === 'WS' ? 'websocket' : 'http',
    request: received({ ...wire, method: method === 'WS' ? 'GET' : method }, asked.body),
    ...{ targets: compiled.targets, hangup: compiled.hangup },
  })
  const notes = await walk(stages, 'handle', call, call)
  const { name, pattern } = route
  const found = { route: { name, method: route.method, pattern, params } }
  if (call.answered) return { ...found, stages: notes, targets: [] }
  const candidates = ordered(call, snapshot, rules)
  const targets = candidates.map(({ target }) => target)
  const [first] = candidates
  if (!first) return { ...found, stages: notes, targets }
  const one = openTry(call, first, rules.path(call), '0'.repeat(16))
  notes.push(...(await walk(stages, 'forward', one, call)))
  const inside = first.upstream.inside !== undefined
  return { ...found, stages: notes, targets, ...(!inside && { request: signed(one) }) }
}

/** Thrown where a ring would go on to the wire: stages are left the way they are left by a fault. */
class Innermost extends Error {}

/** The real stages in their order. One that refuses is noted, and the walk goes on behind it. */
const walk = async <Subject extends Call | Try>(
  stages: readonly NamedStage[],
  ring: StageNote['ring'],
  subject: Subject,
  call: Call,
): Promise<StageNote[]> => {
  const notes: StageNote[] = []
  const from = async (at: number): Promise<void> => {
    const named = stages[at]
    if (!named) throw new Innermost()
    const note = (outcome: StageNote['outcome'], more?: Partial<StageNote>): void => {
      notes.push({ stage: named.name, ring, outcome, ...saying(named, ring, call), ...more })
    }
    const { stage } = named
    const step = stage[ring] as ((subject: Subject, next: Next) => Promise<void>) | undefined
    if (!step) {
      if (ring === 'handle' && !stage.forward) note('passes')
      return from(at + 1)
    }
    let went = false
    const next = (): Promise<void> => {
      went = true
      note('passes')
      return from(at + 1)
    }
    try {
      await step.call(stage, subject, next)
    } catch (thrown) {
      if (went) throw thrown
      const { status, code, message } = asFault(thrown)
      note('refuses', { refusal: { status, code, message } })
      return from(at + 1)
    }
    if (went || isAnswered(subject)) return went ? undefined : note('answers')
    note('silent')
    return from(at + 1)
  }
  await from(0).catch((thrown: unknown) => {
    if (!(thrown instanceof Innermost)) throw thrown
  })
  return notes
}

const isAnswered = (subject: Call | Try): boolean => {
  if (subject instanceof Call) return subject.answered
  try {
    return subject.requireReply() !== undefined
  } catch {
    return false
  }
}

/** A stage in both rings says it once. */
const saying = ({ stage }: NamedStage, ring: StageNote['ring'], call: Call) => {
  if (!stage.explain || (ring === 'forward' && stage.handle)) return {}
  try {
    return { says: stage.explain(call) }
  } catch {
    // It counts on what a stage before it was to find, and that stage refused.
    return {}
  }
}

const ordered = (call: Call, snapshot: Snapshot, { balance }: DispatchRules): Candidate[] => {
  const candidates = candidatesOf(call.targets, snapshot.upstreams)
  const tried = new Set<Candidate>()
  for (;;) {
    const next = pick(candidates, tried, balance, { count: 0 }, 0)
    if (!next) return [...tried]
    tried.add(next)
  }
}

/** As it would leave, with the upstream's credential masked: it is whatever signing adds. */
const signed = ({ candidate: { upstream, origin, base }, request }: Try) => {
  const plain = { ...request.headers, ...upstream.set }
  const headers = { ...plain }
  const path = joinPath(base, request.path)
  const signedPath = upstream.sign(headers, path)
  for (const name in headers)
    if (headers[name] !== plain[name]) headers[name] = String(headers[name]).replace(/\S+$/, MASK)
  const query = signedPath.slice(path.length).replace(/=.*/, `=${MASK}`)
  const body = request.body instanceof Uint8Array ? Buffer.from(request.body).toString() : ''
  return { method: request.method, url: `${origin.address}${path}${query}`, headers, body }
}
const MASK = '***'
