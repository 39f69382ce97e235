/** Explains one request without sending it: its route, the outcome of each stage, the targets and
 *  the upstream request. */
import { bufferedRequest } from '../egress/resumed-call.ts'
import { asFault } from '../errors.ts'
import type { Bytes, Headers, Json, Next, Target } from '../plugin.ts'
import { Call } from '../request/exchange.ts'
import type { Store } from '../request/writes.ts'
import type { NamedStage, Snapshot } from '../snapshot/snapshot.ts'
import { createAttempt, type UpstreamAttempt } from '../upstream/attempt.ts'
import { pick } from '../upstream/balance.ts'
import { type Candidate, candidatesOf } from '../upstream/candidate.ts'
import type { DispatchRules } from '../upstream/dispatch.ts'
import { joinPath } from '../upstream/upstreams.ts'

export interface ExplainedRequest {
  /** `WS` for a WebSocket. */
  readonly method: string
  /** Path and query. */
  readonly target: string
  /** Lower-case names. */
  readonly headers: Headers
  readonly body?: Bytes
}
export interface StageReport {
  readonly stage: string
  readonly ring: 'handle' | 'forward'
  /** `silent`: it neither responds nor calls next(), which is a bug of the plugin. `unknown`: it
   *  needs what an earlier stage, which refused, sets. */
  readonly outcome: 'passes' | 'refuses' | 'answers' | 'silent' | 'unknown'
  readonly refusal?: { readonly status: number; readonly code: string; readonly message: string }
  /** Result of the stage's own `explain`. */
  readonly says?: Json
}
export interface Explanation {
  readonly route?: {
    readonly name: string
    readonly method: string
    readonly pattern: string
    readonly params: Readonly<Record<string, string>>
  }
  /** Methods of the path, if no route matches. */
  readonly allowed?: readonly string[]
  readonly stages: readonly StageReport[]
  /** In the order of the attempts. */
  readonly targets: readonly Target[]
  /** Those of them that a request of the gateway warms up (`warm_up:`); absent: none. */
  readonly warmUps?: readonly Target[]
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
  request: ExplainedRequest,
): Promise<Explanation> => {
  const { method } = request
  const host = String(request.headers.host ?? '')
  const { compiled, params, path, search, allowed } = snapshot.match(method, request.target, host)
  if (!compiled) return { allowed, stages: [], targets: [] }
  const { route, stages, rules } = compiled
  const wire = { path: search === '' ? path : `${path}?${search}`, headers: request.headers }
  const call = new Call({
    id: 'explain',
    requestId: 'explain',
    trace: '0'.repeat(32),
    route,
    params,
    store,
    kind: method === 'WS' ? 'websocket' : 'http',
    request: bufferedRequest({ ...wire, method: method === 'WS' ? 'GET' : method }, request.body),
    targets: compiled.targets,
    hangup: compiled.hangup,
  })
  const reports = await walk(stages, 'handle', call, call)
  const { name, pattern } = route
  const result = { route: { name, method: route.method, pattern, params } }
  if (call.hasReply) return { ...result, stages: reports, targets: [] }
  const candidates = orderedCandidates(call, snapshot, rules)
  const targets = candidates.map(({ target }) => target)
  const [first] = candidates
  if (!first) return { ...result, stages: reports, targets }
  const attempt = createAttempt(call, first, rules.path(call), '0'.repeat(16))
  reports.push(...(await walk(stages, 'forward', attempt, call)))
  const inside = first.upstream.inside !== undefined
  return {
    ...result,
    stages: reports,
    targets,
    ...warmUpsIn(candidates),
    ...(!inside && { request: signedRequest(attempt) }),
  }
}

const warmUpsIn = (candidates: readonly Candidate[]): Pick<Explanation, 'warmUps'> => {
  const warmUps = candidates.filter(({ upstream }) => upstream.warmUp).map(({ target }) => target)
  return warmUps.length > 0 ? { warmUps } : {}
}

/** Thrown after the last stage, if the request would be sent, so that the stages end as after a
 *  fault. */
class EndOfStages extends Error {}

/** Runs the real stages in order. A refusal is recorded, and the walk continues with the next
 *  stage. */
const walk = async <Subject extends Call | UpstreamAttempt>(
  stages: readonly NamedStage[],
  ring: StageReport['ring'],
  subject: Subject,
  call: Call,
): Promise<StageReport[]> => {
  const reports: StageReport[] = []
  const reported: NamedStage[] = []
  const runFrom = async (index: number): Promise<void> => {
    const current = stages[index]
    if (!current) {
      // A later stage may have changed what an earlier one explains.
      for (const [at, stage] of reported.entries())
        reports[at] = { ...(reports[at] as StageReport), ...ownExplanation(stage, ring, call) }
      throw new EndOfStages()
    }
    const report = (outcome: StageReport['outcome'], more?: Partial<StageReport>): void => {
      reports.push({
        stage: current.name,
        ring,
        outcome,
        ...ownExplanation(current, ring, call),
        ...more,
      })
      reported.push(current)
    }
    const { stage } = current
    const step = stage[ring] as ((subject: Subject, next: Next) => Promise<void>) | undefined
    if (!step) {
      if (ring === 'handle' && !stage.forward) report('passes')
      return runFrom(index + 1)
    }
    let hasPassed = false
    const next = (): Promise<void> => {
      hasPassed = true
      report('passes')
      return runFrom(index + 1)
    }
    try {
      await step.call(stage, subject, next)
    } catch (error) {
      if (hasPassed) throw error
      const { status, code, message } = asFault(error)
      // No client sees an error of the gateway itself after a refusal.
      if (status >= 500 && reports.some(({ refusal }) => refusal)) report('unknown')
      else report('refuses', { refusal: { status, code, message } })
      return runFrom(index + 1)
    }
    if (hasPassed || isAnswered(subject)) return hasPassed ? undefined : report('answers')
    report('silent')
    return runFrom(index + 1)
  }
  await runFrom(0).catch((error: unknown) => {
    if (!(error instanceof EndOfStages)) throw error
  })
  return reports
}

const isAnswered = (subject: Call | UpstreamAttempt): boolean => {
  if (subject instanceof Call) return subject.hasReply
  try {
    return subject.requireReply() !== undefined
  } catch {
    return false
  }
}

/** The stage's own explanation; once for a stage that is in both rings. */
const ownExplanation = ({ stage }: NamedStage, ring: StageReport['ring'], call: Call) => {
  if (!stage.explain || (ring === 'forward' && stage.handle)) return {}
  try {
    return { says: stage.explain(call) }
  } catch {
    // It may depend on the result of an earlier stage that refused.
    return {}
  }
}

const orderedCandidates = (
  call: Call,
  snapshot: Snapshot,
  { balance }: DispatchRules,
): Candidate[] => {
  const candidates = candidatesOf(call.targets, snapshot.upstreams)
  const candidateOrder = new Set<Candidate>()
  for (;;) {
    const next = pick(candidates, candidateOrder, balance, { count: 0 }, 0)
    if (!next) return [...candidateOrder]
    candidateOrder.add(next)
  }
}

/** The upstream request as it would be sent. Everything that signing adds is masked, since it is
 *  the credential. */
const signedRequest = ({ candidate: { upstream, origin, base }, request }: UpstreamAttempt) => {
  const plain = { ...request.headers, ...upstream.set }
  const headers = { ...plain }
  const path = joinPath(base, request.path)
  const signedPath = upstream.sign(headers, path)
  for (const name in headers)
    if (headers[name] !== plain[name]) headers[name] = String(headers[name]).replace(/\S+$/, MASK)
  if (upstream.signer) headers.authorization = `${MASK} (${upstream.signer.name})`
  const query = signedPath.slice(path.length).replace(/=.*/, `=${MASK}`)
  const body = request.body instanceof Uint8Array ? Buffer.from(request.body).toString() : ''
  return { method: request.method, url: `${origin.address}${path}${query}`, headers, body }
}
const MASK = '***'
