/** Every operation of the table in the log of actions: one that changes something makes one row,
 *  one that shows prompts makes one, others make none; no row has a secret. */
import t from 'tap'
import type { HostBase } from '../../../engine/plugin.ts'
import notify from '../../../plugins/notify/index.ts'
import { operatorParts } from '../../../plugins/operator/contributions.ts'
import type { Context, Operation } from '../../../plugins/operator/operation.ts'
import { OPERATIONS } from '../../../plugins/operator/table.ts'
import { enqueue, openEndpoint } from '../../../plugins/webhooks/statements.ts'
import { giveCredit } from '../../helpers/money/credit.ts'
import { call, payerOf } from '../../helpers/money/ledger.ts'
import { hostOver, openAccountsIn } from '../../helpers/store/accounts.ts'
import { actionsIn, OPERATOR, run, verify } from '../../helpers/store/actions.ts'
import { ledgerOn, makeLedger } from '../../helpers/store/membership.ts'
import { startBoth } from '../../helpers/store/store.ts'

/** Results of earlier operations. */
interface Previous {
  key?: number
  code?: { readonly id: string; readonly code: string }
  second?: string
  session?: number
}
type Arguments = object | ((previous: Previous) => object)
/** Arguments with which each operation that changes something succeeds, in the order of the
 *  table. */
const ARGUMENTS: Readonly<Record<string, Arguments>> = {
  'accounts create': { name: 'bob' },
  'accounts link': { account: 'ann' },
  'accounts limit': { account: 'ann', limits: { requests: '60/min' } },
  'accounts rename': { account: 'bob', name: 'bobby' },
  'accounts delete': { account: 'bobby' },
  'accounts credit': { account: 'ann', amount: '5' },
  'accounts debit': { account: 'ann', amount: '1' },
  'accounts refund': { request: 'call' },
  'accounts overdraft': { account: 'ann', amount: '2' },
  'accounts suspend': { account: 'ann' },
  'accounts resume': { account: 'ann' },
  'members invite': { account: 'ann', name: 'mia', role: 'admin' },
  'members link': { account: 'ann', member: 'mia' },
  'members update': { account: 'ann', member: 'mia', role: 'viewer' },
  'members remove': { account: 'ann', member: 'mia' },
  'keys create': { account: 'ann', name: 'first' },
  'keys update': previous => ({ key: previous.key, name: 'renamed' }),
  'keys rotate': previous => ({ key: previous.key }),
  'keys revoke': previous => ({ key: previous.key }),
  'budgets set': { name: 'b', account: 'ann', amount: '5', per: 'week' },
  'budgets remove': { name: 'b', account: 'ann' },
  'plans buy': { account: 'ann', plan: 'paid' },
  'plans assign': { account: 'ann', plan: 'pro' },
  'plans cancel': { account: 'ann' },
  'codes create': { amount: '1', count: 2 },
  'codes revoke': previous => ({ code: previous.second }),
  'codes redeem': previous => ({ code: previous.code?.code }),
  'credits create': { account: 'ann', amount: '1', reference: 'payment-1' },
  'sessions revoke': previous => ({ key: previous.session }),
  'tasks retry': { task: 't1' },
  'tasks cancel': { task: 't1' },
  'tasks pause': { upstream: 'vd' },
  'tasks resume': { upstream: 'vd' },
  'tasks resolve': { task: 't1', outcome: 'charged' },
  'batches cancel': { batch: 'b1' },
  'webhooks replay': { event: 'msg_1' },
  'webhooks mail': { account: 'ann', address: 'ann@a.example' },
  'alerts test': {},
  'journal consent': { account: 'ann', consents: true },
  'cache purge': {},
}
const READ_ARGUMENTS: Readonly<Record<string, Arguments>> = {
  'accounts show': { account: 'ann' },
  'members list': { account: 'ann' },
  'keys show': previous => ({ key: previous.key }),
  'statements show': { period: '2026-11' },
  'tasks show': { task: 't1' },
  'batches show': { batch: 'b1' },
}
/** The plugins that own them do the work; journeys test it. */
const offerParts = (host: HostBase): void => {
  const change = async ({ store }: Context, object: string) => {
    await store.change([], { object, before: null, after: null })
    return {} as never
  }
  const task = (context: Context, id: string) => change(context, `task ${id}`)
  const nothing = async () => [] as never
  Object.assign(operatorParts(host), {
    tasks: {
      list: nothing,
      show: nothing,
      retry: task,
      cancel: task,
      resolve: task,
      pause: task,
      resume: task,
    },
    batches: { list: nothing, show: nothing, cancel: task },
    journal: { list: nothing, consent: (context: Context) => change(context, 'account 2') },
    mirror: { report: nothing },
    cache: { show: nothing, purge: (context: Context) => change(context, 'cache') },
    alerts: {
      list: nothing,
      rules: nothing,
      test: (context: Context) => change(context, 'alerts'),
    },
  })
}
/** Keeps what later operations need. */
const noteResult = (previous: Previous, { name }: Operation, result: unknown): void => {
  if (name === 'keys create') previous.key = (result as { readonly id: number }).id
  if (name === 'codes create') {
    const [first, second] = result as readonly { readonly id: string; readonly code: string }[]
    if (first) previous.code = first
    if (second) previous.second = second.id
  }
}
/** Reads without arguments here that need more than the store are tested elsewhere. */
const isCovered = ({ name, reads, arguments: { schema } }: Operation): boolean =>
  !reads || name in READ_ARGUMENTS || (!('required' in schema) && !name.startsWith('config'))

/** `keys revoke` comes last of the operations on keys. */
const inOrder = (operations: readonly Operation[]): readonly Operation[] =>
  operations.toSorted((a, b) => Number(a.name === 'keys revoke') - Number(b.name === 'keys revoke'))

for (const { engine, database } of await startBoth(t, []))
  t.test(`log of actions on ${engine}: has one row of each operation of the table`, async t => {
    const accounts = await openAccountsIn(database)
    await makeLedger(database)
    await database.migrate('notify', notify.migrations)
    await accounts.account('root', 'admin')
    const ann = await accounts.account('ann')
    const plans = {
      pro: { amount: 1, per: 'month' },
      paid: { amount: 1, per: 'month', price: '0.5' },
    }
    const section = ((name: string) => (name === 'plans' ? plans : {})) as HostBase['section']
    const host = { ...hostOver(database), section }
    offerParts(host)
    await giveCredit(database, ann, 100_000_000_000n)
    const ledger = ledgerOn(database)
    const metered = await call({ database }, ledger, 'call', payerOf(ann), 2_000_000_000n)
    await metered.settle?.(1_000_000_000n)
    await ledger.close()
    const event = { id: 'msg_1', endpoint: ann, body: '{}', attempts: 1, now: Date.now() }
    const secret = `whsec_${Buffer.alloc(32, 'secret').toString('base64')}`
    await database.write([openEndpoint(ann, 'https://hooks.example.com', secret), enqueue(event)])
    const previous: Previous = { session: await accounts.session(ann) }
    const secrets: string[] = []
    // Those that edit files have a row of the version that they make.
    for (const operation of inOrder(OPERATIONS.filter(each => !each.edits && isCovered(each)))) {
      const { name, reads, reveals, scope } = operation
      const source = (reads ? READ_ARGUMENTS : ARGUMENTS)[name] ?? (reads ? {} : undefined)
      if (source === undefined) {
        t.fail(`${name}: a new operation needs arguments here`)
        continue
      }
      const args = typeof source === 'function' ? source(previous) : source
      const before = await actionsIn(host)
      const result = await run(host, name, args, scope === 'own' ? { own: ann } : {})
      noteResult(previous, operation, result)
      const text = JSON.stringify(result) ?? ''
      const own = text.match(/\b(?:sk|st|ss|sl)-[\w-]{20,}/g) ?? []
      secrets.push(...own)
      const hasSecret = own.length > 0 || name === 'codes create'
      t.equal(hasSecret, operation.showsSecret === true, `${name}: shows a secret`)
      const after = await actionsIn(host)
      const rows = after.slice(0, after.length - before.length)
      t.equal(rows.length, reads && !reveals ? 0 : 1, `${name}: rows`)
      for (const row of rows) {
        t.match(row, { operation: name, actor: OPERATOR.name, ...FACTS }, name)
        t.ok(row.object, `${name}: names what it is about`)
      }
    }
    t.ok(secrets.length >= 4, 'links and keys were previous')
    const all = JSON.stringify(await actionsIn(host))
    for (const text of [...secrets, previous.code?.code ?? '']) t.notOk(all.includes(text), text)
    t.match(await verify(host), { intact: true, findings: [] })
  })
const { name: _, ...FACTS } = OPERATOR
