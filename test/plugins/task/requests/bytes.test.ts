/** Large requests of tasks become bytes one at a time, and not for an owner that has ended. */
import t from 'tap'
import type { Database, Host, Json } from '../../../../engine/plugin.ts'
import type { Mover } from '../../../../plugins/task/moves.ts'
import type { TaskRule } from '../../../../plugins/task/options.ts'
import { requestBytes } from '../../../../plugins/task/requests/request-bytes.ts'
import type { Task } from '../../../../plugins/task/task.ts'

const RULE = { dialect: 'new-api-videos', poll: {}, submit: { with: [] } } as unknown as TaskRule

/** Each read of a large request waits until it is let go on. */
const arrange = () => {
  const started: string[] = []
  const waiting: (() => void)[] = []
  const ended = new Set<number>()
  const find = async ({ id }: { readonly id: number }) =>
    ended.has(id) ? new Error('This key has ended') : undefined
  const shared = new Map<string, unknown>([['accounts/work-owner', { find }]])
  const database: Pick<Database, 'read'> = {
    async read(_, values) {
      started.push(String(values[0]))
      await new Promise<void>(resolve => void waiting.push(resolve))
      return [{ piece: JSON.stringify({ model: 'a', prompt: values[0] as Json }) }]
    },
  }
  const share = (name: string, _: string, make: () => unknown) => {
    if (!shared.has(name)) shared.set(name, make())
    return shared.get(name)
  }
  const host = { database, share } as unknown as Host
  const failed: string[] = []
  const submit = (id: string, parts: number, account = 1) => {
    const task = {
      id,
      parts,
      body: { model: 'a', prompt: 'small' },
      path: '/v',
      target: { upstream: 'up' },
      slots: { account: { id: account, name: 'ann', role: 'customer' } },
    } as unknown as Task
    const fail = async ({ message }: { readonly message: string }) => void failed.push(message)
    return requestBytes(host, RULE, { task, fail } as unknown as Mover)
  }
  return { submit, started, waiting, ended, failed }
}
/** Resolves once the promises so far have run. */
const settled = () => new Promise<void>(resolve => void setImmediate(resolve))

t.test('request bytes: large requests are read one at a time, small ones at once', async t => {
  const { submit, started, waiting } = arrange()
  const large = [submit('one', 1), submit('two', 1), submit('three', 1)]
  await settled()
  t.same(started, ['one'])
  t.equal(String((await submit('small', 0))?.body), '{"model":"a","prompt":"small"}')
  for (const next of [
    ['one', 'two'],
    ['one', 'two', 'three'],
  ]) {
    waiting.shift()?.()
    while (started.length < next.length) await settled()
    t.same(started, next)
  }
  waiting.shift()?.()
  const bodies = (await Promise.all(large)).map(request => JSON.parse(String(request?.body)))
  t.same(
    bodies.map(({ prompt }) => prompt),
    ['one', 'two', 'three'],
  )
})

t.test('request bytes: an owner that ends while its request waits has none submitted', async t => {
  const { submit, started, waiting, ended, failed } = arrange()
  const first = submit('one', 1)
  const second = submit('two', 1, 2)
  await settled()
  ended.add(2)
  waiting.shift()?.()
  t.ok(await first)
  t.equal(await second, undefined)
  t.same([started, failed], [['one'], ['This key has ended']])
})

t.test('request bytes: one that cannot be read does not stop those behind it', async t => {
  const { submit, waiting } = arrange()
  const incomplete = submit('one', 2)
  const next = submit('two', 1)
  incomplete.catch(() => {})
  for (let count = 0; count < 2; count++) {
    while (waiting.length === 0) await settled()
    waiting.shift()?.()
  }
  await t.rejects(incomplete, /is incomplete/)
  t.ok(await next)
})
