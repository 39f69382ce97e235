/** Runs a call that no client made: a later turn of a durable task. */
import { asFault, errors } from '../errors.ts'
import type {
  Bytes,
  Exchange,
  Fault,
  Json,
  Out,
  Outcome,
  Outgoing,
  Reply,
  ResumedCall,
  Route,
} from '../plugin.ts'
import { BodyJson } from '../request/body-json.ts'
import type { CallOptions, EngineRequest } from '../request/exchange.ts'
import { Call } from '../request/exchange.ts'
import { logEndFault } from '../request/request-lifecycle.ts'
import type { Resources } from '../snapshot/resources.ts'
import type { CompiledRoute, Snapshot } from '../snapshot/snapshot.ts'

const fault = errors({
  ROUTE_GONE: [404, 'There is no route "%s" any more.'],
  TURN_CANCELLED: [499, 'This background call was cancelled.'],
})

/** A request whose whole body is in memory. */
export const bufferedRequest = (
  request: ResumedCall<Exchange>['request'] | Outgoing,
  body: Bytes | undefined,
): EngineRequest => {
  const [path = '', ...rest] = request.path.split('?')
  const search = rest.join('?')
  const whole = body ?? Buffer.alloc(0)
  const entries = Object.entries(request.headers ?? {})
  const headers = Object.fromEntries(
    entries.map(([name, value]) => [name.toLowerCase(), String(value)]),
  )
  const json = new BodyJson({ whole })
  const unlessInvalid = (read: () => Json): Json | undefined => {
    try {
      return whole.length > 0 || json.isRead ? read() : undefined
    } catch {
      return undefined
    }
  }
  return {
    method: request.method,
    path,
    search,
    headers,
    body: {
      whole,
      exists: whole.length > 0,
      isStreamed: false,
      unread: false,
      prepare: () => undefined,
    },
    query: new URLSearchParams(search),
    client: { address: '', encrypted: false },
    bytes: async () => whole,
    json: async () => json.whole(),
    outline: async () => json.outline(),
    get parsed() {
      return unlessInvalid(() => json.whole())
    },
    get outlined() {
      return unlessInvalid(() => json.outline())
    },
    cut: () => json.cut(),
    setJson: value => json.set(value),
    async *stream() {
      yield whole
    },
    stop() {},
  }
}

export const createResumedCall = (
  route: Route,
  options: Partial<CallOptions> & Pick<CallOptions, 'id' | 'request' | 'store'>,
) => new Call({ kind: 'turn', route, trace: traceOf(options.id), ...options })
/** 32 hexadecimal digits made of the id: the turns of one task share a trace. */
const traceOf = (id: string): string => Buffer.from(id).toString('hex').padEnd(32, '0').slice(-32)

/** Abandons the call when the signal aborts or has aborted. Returns a function that stops it. */
export const abandonOnAbort = (signal: AbortSignal | undefined, call: Call): (() => void) => {
  const onAbort = (): void => call.abandon(fault('TURN_CANCELLED'))
  if (signal?.aborted) onAbort()
  signal?.addEventListener('abort', onAbort, { once: true })
  return () => signal?.removeEventListener('abort', onAbort)
}

/** Runs the stages behind `turn.after`. Retains the snapshot until the reply has ended. */
export const resumeCall = async (
  snapshot: Snapshot,
  resources: Resources,
  name: string,
  turn: ResumedCall<Exchange>,
): Promise<Reply> => {
  const compiledRoute: CompiledRoute | undefined = snapshot.findByName(name)
  if (!compiledRoute) throw fault('ROUTE_GONE', [name])
  const call = createResumedCall(compiledRoute.route, {
    id: turn.id,
    store: resources.database,
    targets: turn.targets,
    upstreamPath: turn.upstreamPath,
    request: bufferedRequest(turn.request, turn.request.body),
  })
  resources.backgroundCalls.begin(call)
  call.slots.restore(turn.slots)
  const stopListening = abandonOnAbort(turn.signal, call)
  snapshot.retain()
  const onEnd = (end: Outcome['end'], status: number, bytes: number, reason?: Fault): void => {
    stopListening()
    for (const each of call.finish({ end, status, bytes, fault: reason }))
      logEndFault(resources.log, call, each)
    snapshot.release()
    resources.backgroundCalls.end(call)
  }
  try {
    const run = compiledRoute.runAfter(turn.after)
    if (!call.abandonReason) await (turn.handle?.(call, () => run(call)) ?? run(call))
    await call.writes.commit()
    if (call.abandonReason) throw call.abandonReason
    return withDurableEnd(call, onEnd)
  } catch (error) {
    const reason = asFault(error)
    // Commits what stages added while the call failed, such as the release of a hold.
    await call.writes.commit().catch(() => {})
    onEnd('refused', reason.status, 0, reason)
    throw error
  }
}

/** Makes the reply's last byte, or its fault, wait until the groups of the stages are durable. */
const withDurableEnd = (
  call: Call,
  onEnd: (end: Outcome['end'], status: number, bytes: number, reason?: Fault) => void,
): Reply => {
  const reply = call.requireReply()
  let bytes = 0
  const count = (chunk: Bytes): void => {
    call.progress.firstByteAt ||= performance.now()
    bytes += chunk.length
  }
  // Nobody has received anything yet: what was charged for it is given back.
  const cut = (reason: Fault, out: Out): void => {
    onEnd('refused', reply.status, bytes, reason)
    out.fail(reason)
  }
  reply.through({
    write(chunk, out) {
      count(chunk)
      out.write(chunk)
    },
    end(tail, out) {
      if (tail) count(tail)
      call.writes.commit().then(
        () => {
          onEnd(reply.endFault ? 'cut' : 'complete', reply.status, bytes, reply.endFault)
          out.end(tail)
        },
        error => cut(asFault(error), out),
      )
    },
    fail(reason, out) {
      const fail = (): void => cut(reason, out)
      call.writes.commit().then(fail, fail)
    },
  })
  return reply
}
