/** A call that no client made: the later turn of a durable task. */
import { asFault, errors } from '../errors.ts'
import type { Bytes, Fault, Json, Out, Outcome, Outgoing, Reply, Route, Turn } from '../plugin.ts'
import type { Resources } from '../snapshot/host.ts'
import type { CompiledRoute, Snapshot } from '../snapshot/snapshot.ts'
import type { CallOptions, Received } from './exchange.ts'
import { Call } from './exchange.ts'
import { parseJson } from './json.ts'

const fault = errors({
  ROUTE_GONE: [404, 'There is no route "%s" any more.'],
  TURN_CANCELLED: [499, 'The turn was cancelled.'],
})

/** A request that is there in whole. */
export const received = (
  request: Turn['request'] | Outgoing,
  body: Bytes | undefined,
): Received => {
  const mark = request.path.indexOf('?')
  const path = mark < 0 ? request.path : request.path.slice(0, mark)
  const search = mark < 0 ? '' : request.path.slice(mark + 1)
  const whole = body ?? Buffer.alloc(0)
  const headers = Object.fromEntries(
    Object.entries(request.headers ?? {}).map(([name, value]) => [
      name.toLowerCase(),
      String(value),
    ]),
  )
  let parsed: Json | undefined
  const parse = (): Json => {
    parsed ??= parseJson(whole)
    return parsed
  }
  return {
    ...{ method: request.method, path, search, headers, whole, hasBody: whole.length > 0 },
    ...{ unread: false, taken: false },
    query: new URLSearchParams(search),
    client: { address: '', encrypted: false },
    prepare: () => undefined,
    bytes: async () => whole,
    json: async () => parse(),
    // It is there in whole: nobody has had to wait for it.
    get parsed() {
      try {
        return whole.length > 0 ? parse() : undefined
      } catch {
        return undefined
      }
    },
    means(value) {
      parsed = value
    },
    async *stream() {
      yield whole
    },
  }
}

export const openCall = (
  route: Route,
  options: Partial<CallOptions> & Pick<CallOptions, 'id' | 'request' | 'store'>,
) =>
  new Call({
    ...{ kind: 'turn', route, params: {}, targets: [], hangup: 'cancel' },
    ...{ requestId: options.id, traceId: traceOf(options.id) },
    ...options,
  })
/** 32 hexadecimal digits that belong to this id: later turns of one task share a trace. */
const traceOf = (id: string): string => Buffer.from(id).toString('hex').padEnd(32, '0').slice(-32)

/** Leaves the call when the signal says so, also when it said so before. Returns how to stop listening. */
export const follow = (signal: AbortSignal | undefined, call: Call): (() => void) => {
  const leave = (): void => call.leave(fault('TURN_CANCELLED'))
  if (signal?.aborted) leave()
  signal?.addEventListener('abort', leave, { once: true })
  return () => signal?.removeEventListener('abort', leave)
}

/** Runs the stages behind `turn.after`. The snapshot is retained until the reply has ended. */
export const runTurn = async (
  snapshot: Snapshot,
  resources: Resources,
  name: string,
  turn: Turn,
): Promise<Reply> => {
  const compiled: CompiledRoute | undefined = snapshot.named(name)
  if (!compiled) throw fault('ROUTE_GONE', [name])
  const call = openCall(compiled.route, {
    ...{ id: turn.id, store: resources.database, targets: turn.targets },
    request: received(turn.request, turn.request.body),
  })
  resources.turns.begin(call)
  call.slots.restore(turn.slots)
  const stop = follow(turn.signal, call)
  snapshot.retain()
  const over = (end: Outcome['end'], status: number, bytes: number, reason?: Fault): void => {
    stop()
    const outcome = { end, status, attempts: call.attempts, bytes }
    for (const { code, message } of call.finish(reason ? { ...outcome, fault: reason } : outcome))
      resources.log.error({ id: call.id, code }, `onEnd: ${message}`)
    snapshot.release()
    resources.turns.end(call)
  }
  try {
    if (!call.left) await compiled.runAfter(turn.after)(call)
    await call.writes.commit()
    if (call.left) throw call.left
    return guarded(call, over)
  } catch (thrown) {
    const reason = asFault(thrown)
    // A release that a stage added on its way out is kept; what refused is told all the same.
    await call.writes.commit().catch(() => {})
    over('refused', reason.status, 0, reason)
    throw thrown
  }
}

/** The reply whose last byte, or whose fault, waits until what the stages wrote down is durable. */
const guarded = (
  call: Call,
  over: (end: Outcome['end'], status: number, bytes: number, reason?: Fault) => void,
): Reply => {
  const reply = call.need()
  let bytes = 0
  const cut = (reason: Fault, out: Out): void => {
    over('cut', reply.status, bytes, reason)
    out.fail(reason)
  }
  reply.through({
    write(chunk, out) {
      bytes += chunk.length
      out.write(chunk)
    },
    end(tail, out) {
      bytes += tail?.length ?? 0
      call.writes.commit().then(
        () => {
          over(reply.told ? 'cut' : 'complete', reply.status, bytes, reply.told)
          out.end(tail)
        },
        thrown => cut(asFault(thrown), out),
      )
    },
    fail(reason, out) {
      const fail = (): void => cut(reason, out)
      call.writes.commit().then(fail, fail)
    },
  })
  return reply
}
