/** The mirror of a process alone: its bounded queue, its end, targets that no format reaches; wrong
 *  options. */
import t from 'tap'
import type { HostBase } from '../../../engine/plugin.ts'
import type { Copy } from '../../../plugins/mirror/copy.ts'
import { Mirror } from '../../../plugins/mirror/mirror.ts'
import { checkModels } from '../../../plugins/mirror/problems.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { SILENT_LOG } from '../../helpers/gateway/test-server.ts'

const copyOf = (size: number, upstream = 'own') =>
  ({
    own: { model: 'words', rule: { timeout: 1_000 }, target: { upstream, name: 'x' } },
    request: 'req_1',
    account: { id: 1, name: 'ann', role: 'customer' },
    prompt: { turns: [], tools: [], settings: {}, stream: false, includeUsage: false, body: {} },
    size,
    first: { target: 'up/x', status: 200, error: null, ms: 1, usage: null, cost: null },
  }) as unknown as Copy

/** Its sends do not end before the mirror does. */
const startMirror = () => {
  const leaving = new AbortController()
  const counts: string[] = []
  const sends: { readonly signal: AbortSignal; end(): void }[] = []
  const owner: { find(): Promise<object | undefined> } = { find: async () => undefined }
  const host = {
    share: () => owner,
    log: SILENT_LOG,
    formats: {},
    membership: { leaving: leaving.signal },
    upstreams: { own: { options: {} }, odd: { options: { formats: ['unknown'] } } },
    metrics: {
      time() {},
      count: (name: string, { reason, result }: Readonly<Record<string, string>>) =>
        void counts.push(`${name} ${reason ?? result}`),
    },
    send: (_: string, request: { readonly signal: AbortSignal }) => {
      const { promise, reject } = Promise.withResolvers<never>()
      const end = () => reject(new Error('ended'))
      request.signal.addEventListener('abort', end)
      sends.push({ signal: request.signal, end })
      return promise
    },
  } as unknown as HostBase
  return { mirror: new Mirror(host), counts, sends, leaving, owner }
}
const FULL = 'mirror_lost_total queue'
const OWNER = 'mirror_lost_total owner'
const STORE = 'mirror_lost_total store'
const CLOSED = 'mirror_lost_total closed'

t.test('mirror: a silent target fills the queue, and further copies are dropped', async t => {
  const { mirror, counts, sends } = startMirror()
  for (let count = 0; count < 210; count++) mirror.add(copyOf(10))
  t.same(
    counts,
    Array.from({ length: 6 }, () => FULL),
    '200 wait, four are under way',
  )
  await eventually(() => sends.length === 4)
  mirror.close()
  await eventually(() => counts.length === 210)
  t.same(
    counts.slice(6),
    Array.from({ length: 204 }, () => CLOSED),
  )
  t.equal(sends.length, 4)
})

t.test('mirror: the bytes of copies have a bound, those under way included', async t => {
  const { mirror, counts } = startMirror()
  for (let count = 0; count < 5; count++) mirror.add(copyOf(5 * 1024 * 1024))
  t.same(counts, [FULL, FULL])
  mirror.close()
})

t.test('mirror: a process that leaves ends its copies and takes no more', async t => {
  const { mirror, counts, sends, leaving } = startMirror()
  mirror.add(copyOf(10))
  await eventually(() => sends.length === 1)
  leaving.abort()
  t.ok(sends[0]?.signal.aborted)
  mirror.add(copyOf(10))
  await eventually(() => counts.length === 2)
  t.same(counts, [CLOSED, CLOSED])
})

t.test('mirror: no copy starts after its owner has ended, or while the store is away', async t => {
  const { mirror, counts, sends, owner } = startMirror()
  for (let count = 0; count < 4; count++) mirror.add(copyOf(10))
  await eventually(() => sends.length === 4)
  for (let count = 0; count < 2; count++) mirror.add(copyOf(10))
  const states = [{ code: 'AUTH_REVOKED' }, undefined]
  owner.find = async () => {
    if (states.length === 1) throw new Error('the store is away')
    return states.shift()
  }
  for (const { end } of sends) end()
  await eventually(() => counts.filter(each => each.includes('_lost_')).length === 2)
  t.same(
    counts.filter(each => each.includes('_lost_')),
    [OWNER, STORE],
  )
  t.equal(sends.length, 4)
  mirror.close()
})

t.test('mirror: a target whose formats cannot be written is an error of the copy', async t => {
  const { mirror, counts, sends } = startMirror()
  mirror.add(copyOf(10, 'odd'))
  await eventually(() => counts.includes('mirror_calls_total MIRROR_FORMAT'))
  t.equal(sends.length, 0)
  mirror.close()
})

t.test('mirror: wrong upstreams and prices and a missing stage are problems', async t => {
  const problems: string[] = []
  const report = (at: readonly (string | number)[], code: string, message: string) =>
    problems.push(`${at.join('.')} ${code} ${message}`)
  const mirror = { to: 'owm/x', accounts: 'all', price: { input: '1 XYZ / 1k' } }
  const document = { upstreams: { own: {} }, pipeline: ['errors'], models: { words: { mirror } } }
  checkModels(document as never, report as never)
  t.match(problems, [
    'models.words.mirror MIRROR_OPTION nothing is copied: `pipeline:` has no `mirror`; add it behind `guard`',
    'models.words.mirror.to MIRROR_OPTION no upstream is named "owm"',
    /^models\.words\.mirror\.price.* PRICE_CURRENCY/,
  ])
  checkModels({ pipeline: [] } as never, () => t.fail('no model, no problem'))
  const budgetProblems = (options: object) => {
    problems.length = 0
    const models = { words: { mirror: { to: 'own/x', accounts: 'all', ...options } } }
    checkModels({ upstreams: { own: {} }, pipeline: ['mirror'], models } as never, report as never)
    return problems
  }
  const price = { input: '1 / 1k' }
  t.same(budgetProblems({ price, budget: { amount: 20, per: 'day' } }), [])
  t.match(budgetProblems({ budget: { amount: 20, per: 'day' } }), [
    /^models\.words\.mirror\.budget MIRROR_OPTION the budget counts nothing/,
  ])
  t.match(budgetProblems({ price, budget: { amount: 0, per: 'day' } }), [
    /^models\.words\.mirror\.budget\.amount MIRROR_OPTION a budget is above 0/,
  ])
  t.match(budgetProblems({ price, budget: { amount: '20 XYZ', per: 'day' } }), [
    /^models\.words\.mirror\.budget\.amount PRICE_CURRENCY/,
  ])
})
