/** Gateways with budgets over one store, their calls, windows and books. */
import type { Test } from 'tap'
import type { Plugin, Stage } from '../../../engine/plugin.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { walletOf } from '../../../plugins/ledger/wallet.ts'
import meter from '../../../plugins/meter.ts'
import model from '../../../plugins/model/index.ts'
import { ACCOUNT } from '../../../plugins/slots.ts'
import tags from '../../../plugins/tags.ts'
import translate from '../../../plugins/translate/index.ts'
import zone from '../../../plugins/zone.ts'
import { installOn, post } from '../gateway/installation.ts'
import { eventually } from '../gateway/primary.ts'
import { pluginOf } from '../gateway/test-server.ts'
import { type ENGINES, sql, startAnyStore } from '../store/store.ts'

export const ANSWER = {
  choices: [{ message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1_000, completion_tokens: 500 },
}
/** A call costs 0.006. */
export const COST = 6_000_000n
export const BODY = JSON.stringify({ model: 'm', messages: [], max_tokens: 600 })
export const STREAM = JSON.stringify({ model: 'm', messages: [], max_tokens: 600, stream: true })
export const EVENTS = `data: ${JSON.stringify({ ...ANSWER, choices: [{ finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`

/** The section `tags:` of these gateways. */
export const TAGS = { known: { project: ['alpha', 'beta'], feature: 'any' } }
const SMALL = { input: '0.20 / 1M', output: '0.80 / 1M' }

export const arrangeBudgets = async (
  t: Test,
  engine: (typeof ENGINES)[number],
  budgets: object,
  workers = 1,
  plans: object = {},
) => {
  const installation = await installOn(t, await startAnyStore(t, engine))
  installation.script = (_, response) =>
    void response.setHeader('content-type', 'application/json').end(JSON.stringify(ANSWER))
  const keyed: Stage = {
    handle({ request, slots }, next) {
      const { key: id, models, member } = request.headers
      const account = slots.need(ACCOUNT)
      const key = id && { id: Number(id), name: 'k', ...(models && { models: [models] }) }
      const more = { ...(key && { key }), ...(member && { member: { id: Number(member) } }) }
      slots.set(ACCOUNT, { ...account, ...more } as never)
      return next()
    },
  }
  const stages = {
    keyed: pluginOf(keyed),
    zone: zone as Plugin,
    model: model as Plugin,
    tags: tags as Plugin,
    meter: meter as Plugin,
    translate: translate as Plugin,
  }
  const gateway = async (changed = budgets, changedPlans = plans): Promise<string> => {
    const document = {
      models: {
        m: { to: 'main/m', price: { input: '2.00 / 1M', output: '8.00 / 1M' } },
        small: { to: 'main/s', price: SMALL },
        free: { to: 'main/m', free: true },
        plain: { to: 'main', price: SMALL },
        flat: { to: 'main/l', price: { calls: '0.001' } },
        picky: { to: 'main/p', price: SMALL, accepts: { '*': { required: ['user'] } } },
        far: { to: 'far/f', price: SMALL },
        pictures: { to: 'main/i', price: SMALL, accepts: { '*': false } },
      },
      upstreams: { main: { zone: 'eu' }, far: { url: 'http://127.0.0.1:9' } },
      tags: TAGS,
      budgets: changed,
      plans: changedPlans,
    }
    const route = { zone: { zone: 'eu' }, model: 'body', translate: 'openai-chat' }
    return `${(await installation.worker({ stages, document, route })).url}/a`
  }
  const urls: string[] = []
  for (let count = 0; count < workers; count++) urls.push(await gateway())
  const { database } = installation
  for (const account of [1, 2])
    await database.write([
      openWallet(walletOf.account(account), 0n),
      addCredit({ account, kind: 'credit', amount: 10n ** 12n, note: 'test', at: 1 }),
    ])
  const windows = () =>
    database.read(
      sql(
        'windows',
        `SELECT b.budget, b.kind, b.owner, w.used, w.balance, w.reserved FROM budget_windows b
         JOIN wallets w ON w.id = b.wallet ORDER BY b.budget, b.owner`,
      ),
      [],
    )
  const call = (url: string, body = BODY, account = 1, headers = {}) =>
    post(url, '', { body, headers: { account: String(account), ...headers } })
  const books = async () => {
    await eventually(
      async () => (await windows()).every(each => Number(each.reserved) === 0) || undefined,
    )
    t.same(await audit(database), [])
  }
  return { installation, database, urls, gateway, windows, call, books }
}
