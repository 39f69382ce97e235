/** Calls that no client made: a durable task's later turn, and one request outside of any pipeline. */

import { asFault, errors } from './errors.ts'
import type { CallOptions, Received } from './exchange.ts'
import { Call } from './exchange.ts'
import type { Resources } from './host.ts'
import { parseJson } from './json.ts'
import type { Bytes, Outgoing, Reply, Route, Turn } from './plugin.ts'
import type { CompiledRoute, Snapshot } from './snapshot.ts'
import { openTry, sendTry } from './upstream/attempt.ts'
import { candidatesOf } from './upstream/upstreams.ts'

const fault = errors({
  ROUTE_GONE: [404, 'There is no route "%s" any more.'],
  UPSTREAM_GONE: [404, 'There is no upstream "%s".'],
  TURN_CANCELLED: [499, 'The turn was cancelled.'],
  SEND_TIMEOUT: [504, 'No whole answer of %s within %d ms.'],
})

/** A request that is there in whole. */
export const received = (
  request: Turn['request'] | Outgoing,
  body: Bytes | undefined,
): Received => {
  const [path = '', search = ''] = request.path.split('?', 2)
  const whole = body ?? Buffer.alloc(0)
  const headers = Object.fromEntries(
    Object.entries(request.headers ?? {}).map(([name, value]) => [
      name.toLowerCase(),
      String(value),
    ]),
  )
  return {
    ...{ method: request.method, path, search, headers, whole, hasBody: whole.length > 0 },
    ...{ unread: false, taken: false },
    query: new URLSearchParams(search),
    client: { address: '', encrypted: false },
    prepare: () => undefined,
    prepare: () => undefined,
    prepare: () => undefined,
    bytes: async () => whole,
    json: async () => parseJson(whole),
    async *stream() {
      yield whole
    },
  }
}

const openCall = (
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
  call.slots.restore(turn.slots)
  const leave = (): void => call.leave(fault('TURN_CANCELLED'))
  turn.signal?.addEventListener('abort', leave, { once: true })
  snapshot.retain()
  const end = (): void => {
    turn.signal?.removeEventListener('abort', leave)
    snapshot.release()
  }
  try {
    await compiled.runAfter(turn.after)(call)
    await call.writes.commit()
    const reply = call.need()
    const attempts = call.attempts
    const outcome = { status: reply.status, attempts, bytes: 0 }
    reply.through({
      end(tail, out) {
        out.end(tail)
        call.finish({ end: 'complete', ...outcome })
        end()
      },
      fail(reason, out) {
        out.fail(reason)
        call.finish({ end: 'cut', ...outcome, fault: reason })
        end()
      },
    })
    return reply
  } catch (thrown) {
    const reason = asFault(thrown)
    call.finish({
      end: 'refused',
      status: reason.status,
      attempts: call.attempts,
      bytes: 0,
      fault: reason,
    })
    end()
    throw thrown
  }
}

const NO_ROUTE: Route = { name: 'outside', method: 'ANY', pattern: '', has: () => false }
const NO_STORE = { write: () => Promise.resolve([]) }

/** One request to a named upstream, without stages, retries or a ledger. */
export const sendOutside = async (
  snapshot: Snapshot,
  upstream: string,
  outgoing: Outgoing,
): Promise<Reply> => {
  const candidate = candidatesOf([{ upstream }], snapshot.upstreams)[0]
  if (!candidate) throw fault('UPSTREAM_GONE', [upstream])
  const body = outgoing.body instanceof Uint8Array ? outgoing.body : undefined
  const call = openCall(NO_ROUTE, {
    ...{ id: 'outside', store: NO_STORE, request: received(outgoing, body) },
  })
  const one = openTry(call, candidate, outgoing.path, '0'.repeat(15).concat('1'))
  Object.assign(one.request.headers, outgoing.headers)
  if (outgoing.body && !body) one.request.body = outgoing.body
  const leave = (): void => call.leave(fault('TURN_CANCELLED'))
  outgoing.signal?.addEventListener('abort', leave, { once: true })
  const late = (): void => call.leave(fault('SEND_TIMEOUT', [upstream, outgoing.timeout]))
  const timer = outgoing.timeout === undefined ? undefined : setTimeout(late, outgoing.timeout)
  const done = (): void => {
    clearTimeout(timer)
    outgoing.signal?.removeEventListener('abort', leave)
  }
  try {
    await sendTry(one, candidate.upstream.deadlines)
  } catch (thrown) {
    done()
    throw thrown
  }
  const reply = call.take(one.need())
  reply.through({
    end(tail, out) {
      done()
      out.end(tail)
    },
    fail(reason, out) {
      done()
      out.fail(reason)
    },
  })
  return reply
}
