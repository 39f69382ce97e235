/** A call as the stages see it: slots, groups of statements, abandoning, the end. */
import t from 'tap'
import { bufferedRequest } from '../../../engine/egress/resumed-call.ts'
import type { Bytes, Fault, Slot, Statement } from '../../../engine/plugin.ts'
import { Call, type CallOptions, toReply } from '../../../engine/request/exchange.ts'

const CLIENT_GONE: Fault = { code: 'GONE', message: 'gone', status: 499, expose: true }
const statement = (name: string): Statement => ({ sql: { name, text: '' }, values: [] })

/** A call over a store whose writes the test resolves. */
const arrange = (more: Partial<CallOptions> = {}) => {
  const log: string[] = []
  const waiting: { resolve(): void; reject(reason: unknown): void }[] = []
  const names = (list: readonly Statement[]): string => list.map(({ sql }) => sql.name).join(' ')
  const call = new Call({
    id: 'req_1',
    requestId: 'theirs',
    trace: '0'.repeat(32),
    kind: 'http',
    route: { name: 'r', method: 'POST', pattern: '/', has: () => false, option: () => undefined },
    params: {},
    request: bufferedRequest({ method: 'POST', path: '/', headers: {} }, undefined),
    store: {
      write(list) {
        log.push(`write ${names(list)}`)
        return new Promise((resolve, reject) =>
          waiting.push({ resolve: () => resolve([]), reject }),
        )
      },
      setCrashStatements: (id, list) => void log.push(`will ${id} ${names(list)}`),
    },
    targets: [],
    hangup: 'cancel',
    ...more,
  })
  return { call, log, waiting }
}
const tick = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

t.test('slots: found by name; the fault of an empty slot names slot and route', async t => {
  const { slots } = arrange().call
  const account: Slot<{ id: number }> = { name: 'account' }
  t.equal(slots.get(account), undefined)
  t.throws(() => slots.need(account), {
    code: 'SLOT_EMPTY',
    expose: false,
    message: 'no stage filled the slot "account" on route "r"',
  })
  slots.set(account, { id: 1 })
  t.same(slots.need({ name: 'account' }), { id: 1 }, 'by any declaration of the same name')
  const count: Slot<number> = { name: 'count' }
  slots.set(count, 0)
  t.equal(slots.need(count), 0, '0 is a value')
})

t.test('slots: only `keep` slots are saved, and restored ones are kept again', async t => {
  const { slots } = arrange().call
  slots.set({ name: 'account', keep: true }, { id: 1 })
  slots.set({ name: 'account', keep: true }, { id: 2 })
  slots.set({ name: 'passing' }, 'by')
  t.same(slots.toJson(), { account: { id: 2 } })
  const later = arrange().call.slots
  later.restore(slots.toJson())
  t.same(later.get({ name: 'account' }), { id: 2 })
  t.same(later.toJson(), { account: { id: 2 } })
})

t.test('writes: a call without statements waits for nothing', async t => {
  const { call, log } = arrange()
  t.equal(call.durable, false)
  call.finish({ end: 'complete', status: 200, bytes: 0 })
  t.same(log, [])
  await call.writes.commit()
  t.equal(call.durable, false, 'an empty group is not durable')
})

t.test('writes: groups become durable one after another', async t => {
  const { call, log, waiting } = arrange()
  call.writes.add(statement('a'), statement('b'))
  t.equal(call.durable, true)
  const first = call.writes.commit()
  call.writes.add(statement('c'))
  let isDone = false
  const second = call.writes.commit().then(() => {
    isDone = true
  })
  await tick()
  t.same(log, ['write a b'], 'the second group waits for the first')
  waiting[0]?.resolve()
  await first
  await tick()
  t.same(log, ['write a b', 'write c'])
  t.equal(isDone, false)
  waiting[1]?.resolve()
  await second
  t.equal(call.durable, true, 'a commit waits for all groups')
  await call.writes.commit()
})

t.test(
  'writes: a group that fails stops those behind it, and rejects every waiting commit',
  async t => {
    const { call, log, waiting } = arrange()
    call.writes.add(statement('a'))
    const first = call.writes.commit()
    call.writes.add(statement('b'))
    const second = call.writes.commit()
    waiting[0]?.reject(CLIENT_GONE)
    await t.rejects(first, CLIENT_GONE)
    await t.rejects(second, CLIENT_GONE)
    t.same(log, ['write a'])
  },
)

t.test('on-crash statements: cleared at the end of the call', async t => {
  const { call, log } = arrange()
  call.writes.setCrashStatements(statement('a'))
  call.writes.setCrashStatements(statement('b'))
  call.finish({ end: 'complete', status: 200, bytes: 0 })
  await new Promise(resolve => setImmediate(resolve))
  t.same(log, ['will req_1 a', 'will req_1 b', 'will req_1 '])
  const without = arrange({ store: { write: () => Promise.resolve([]) } })
  t.doesNotThrow(
    () => without.call.writes.setCrashStatements(statement('a')),
    'a store may have none',
  )
})

t.test(
  'on-crash statements: stay until the groups are durable or a plugin clears them',
  async t => {
    const { call, log, waiting } = arrange()
    call.writes.setCrashStatements(statement('so far'))
    call.writes.add(statement('a'))
    const commit = call.writes.commit()
    call.finish({ end: 'cut', status: 200, bytes: 0 })
    waiting[0]?.reject(CLIENT_GONE)
    await t.rejects(commit, CLIENT_GONE)
    await new Promise(resolve => setImmediate(resolve))
    t.same(log, ['will req_1 so far', 'write a'])
    call.writes.setCrashStatements(statement('all of it'))
    call.writes.setCrashStatements()
    t.same(log.slice(2), ['will req_1 all of it', 'will req_1 '])
  },
)

t.test('call: has a reply once a stage answers', async t => {
  const { call } = arrange()
  t.equal(call.hasReply, false)
  t.throws(() => call.reply, { code: 'NO_REPLY', expose: false, message: /route "r" has no reply/ })
  const reply = call.answer(201, { a: 1 }, { 'x-a': '1' })
  t.equal(call.reply, reply)
  t.equal(call.hasReply, true)
})

t.test('call: bytes and streams are replied unchanged, other values as JSON', async t => {
  const bytes: Bytes = Buffer.from('x')
  const stream = (async function* () {
    yield bytes
  })()
  t.equal(toReply(200, bytes, {}).body, bytes)
  t.equal(toReply(200, stream, {}).body, stream)
  t.equal(toReply(204, undefined, {}).body, undefined)
  for (const value of [{ a: 1 }, [1], 'text', 7, true, null]) {
    const answer = toReply(200, value, { 'x-a': '1' })
    t.equal(Buffer.from(answer.body as Bytes).toString(), JSON.stringify(value))
    t.same(answer.headers, { 'content-type': 'application/json', 'x-a': '1' })
  }
  const own = { 'content-type': 'application/problem+json' }
  t.same(toReply(200, {}, own).headers, own, 'unless a content-type is set')
  t.notOk('content-type' in toReply(200, bytes, {}).headers)
})

t.test(
  'call: abandoning aborts the attempt under way and the signal, with the first reason',
  async t => {
    const { call } = arrange()
    const aborts: string[] = []
    call.awaitAttempt({ waiting: true, abort: () => aborts.push('first') })
    call.awaitAttempt({ waiting: true, abort: reason => aborts.push(`second ${reason.code}`) })
    const { signal } = call
    call.abandon(CLIENT_GONE)
    call.abandon({ ...CLIENT_GONE, code: 'LATER' })
    t.same(aborts, ['second GONE'], 'only the last attempt is aborted')
    t.equal(signal.reason, CLIENT_GONE)
    t.equal(call.abandonReason, CLIENT_GONE)
    call.awaitAttempt({ waiting: true, abort: reason => aborts.push(`third ${reason.code}`) })
    t.same(aborts, ['second GONE', 'third GONE'], 'a later attempt is aborted at once')
  },
)

t.test('call: a signal first read after abandoning is aborted', async t => {
  const { call } = arrange()
  call.abandon(CLIENT_GONE)
  t.equal(call.signal.aborted, true)
  t.equal(call.signal.reason, CLIENT_GONE)
})

t.test('call: a cut ends the reply, or abandons the call without one', async t => {
  const before = arrange().call
  before.cut(CLIENT_GONE)
  t.equal(before.abandonReason, CLIENT_GONE)
  const { call } = arrange()
  const reply = call.answer(
    200,
    (async function* () {
      yield Buffer.from('x')
    })(),
  )
  call.cut(CLIENT_GONE)
  t.equal(call.abandonReason, undefined, 'the call is not abandoned')
  await t.rejects(reply.bytes(9), CLIENT_GONE)
})

t.test('call: ends once, for every listener from the last, also when one throws', async t => {
  const { call } = arrange()
  const calls: string[] = []
  const outcome = { end: 'complete', status: 200, attempts: 1, bytes: 3 } as const
  const { signal } = call
  call.onEnd(({ bytes }) => void calls.push(`a ${bytes}`))
  call.onEnd(() => {
    throw new Error('a bug')
  })
  call.onEnd(() => void calls.push('c'))
  t.equal(call.ended, false)
  t.match(call.finish(outcome), [{ code: 'INTERNAL', message: 'a bug' }])
  t.equal(call.ended, true)
  t.same(call.finish(outcome), [])
  t.same(calls, ['c', 'a 3'])
  t.equal(signal.aborted, false, 'a complete call aborts no signal')
})

t.test('call: an end that is not complete aborts the signal', async t => {
  for (const end of ['cut', 'hangup', 'refused'] as const) {
    const { call } = arrange()
    const { signal } = call
    call.finish({ end, status: 499, bytes: 0, fault: CLIENT_GONE })
    t.equal(signal.reason, CLIENT_GONE, end)
  }
})
