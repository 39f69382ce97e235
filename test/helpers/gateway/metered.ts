/** A gateway with metered routes over a real store, and a scripted upstream of chats. */
import type { Test } from 'tap'
import type { Json, Plugin } from '../../../engine/plugin.ts'
import { createJobs } from '../../../engine/store/jobs.ts'
import { Leases } from '../../../engine/store/leases.ts'
import account from '../../../plugins/account/index.ts'
import { migrations } from '../../../plugins/credentials/tables.ts'
import errorsPlugin from '../../../plugins/errors.ts'
import idempotency from '../../../plugins/idempotency/index.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { walletOf } from '../../../plugins/ledger/wallet.ts'
import model from '../../../plugins/model/index.ts'
import observe from '../../../plugins/observe/index.ts'
import translate from '../../../plugins/translate/index.ts'
import { reaperOn } from '../store/membership.ts'
import { type Engine, sql, startAnyStore, temporaryFolder } from '../store/store.ts'
import { startTextUpstream } from './chat-upstream.ts'
import { caller, pluginOf, SILENT_LOG, startTestServer } from './test-server.ts'

/** Nanos. */
const CREDITED = 1_000_000_000_000n

type UpstreamAnswer = { readonly status?: number; readonly json?: Json; readonly cut?: true }
type Script = (count: number) => UpstreamAnswer | Promise<UpstreamAnswer>

/** A chat answer of ten tokens in and five out. */
export const chatAnswer = (usage: Json = { prompt_tokens: 10, completion_tokens: 5 }): Json => ({
  id: 'chat-1',
  object: 'chat.completion',
  created: 1,
  model: 'up',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'Good day.' }, finish_reason: 'stop' },
  ],
  ...(usage && { usage }),
})

interface Setup {
  readonly routes: readonly object[]
  readonly settings?: object
  /** Upstreams besides `up`. */
  readonly upstreams?: object
  /** Models besides `talk`. */
  readonly models?: object
  /** Plugins besides those of every metered route, by the name of the one that they follow. */
  readonly more?: Readonly<Record<string, Plugin>>
}
/** A token in costs 1,000 nanos, one out 2,000. The header `account` says who calls. */
export const startMetered = async (
  t: Test,
  engine: Engine,
  { routes, settings, upstreams, models, more }: Setup,
) => {
  const store = await startAnyStore(t, engine)
  const database = await store.open()
  const upstream = { script: (() => ({ json: chatAnswer() })) as Script, bodies: [] as Json[] }
  const url = await startTextUpstream(t, async (text, response) => {
    upstream.bodies.push(JSON.parse(text))
    const { status = 200, json = {}, cut } = await upstream.script(upstream.bodies.length)
    if (cut) response.destroy()
    else
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json))
  })
  const membership = reaperOn(t, database, 1_000)
  const jobs = createJobs({ leases: new Leases({ database, membership }), log: SILENT_LOG })
  t.teardown(() => jobs.close())
  const document = {
    settings: { egress_allow: '127.0.0.0/8', data: temporaryFolder(t), ...settings },
    upstreams: { up: { url, key: 'k', formats: ['openai-chat'] }, ...upstreams },
    models: {
      talk: { to: 'up/talker', price: { input: '0.000001', output: '0.000002' } },
      ...models,
    },
    routes,
  }
  const plugins = {
    errors: errorsPlugin as Plugin,
    observe: observe as Plugin,
    auth: { ...pluginOf(caller), migrations },
    model: model as Plugin,
    idempotency: idempotency as Plugin,
    account: account as Plugin,
    ...more,
    translate: translate as Plugin,
  }
  const core = await startTestServer(
    t,
    plugins,
    document as unknown as Parameters<typeof startTestServer>[2],
    SILENT_LOG,
    { database, membership, jobs },
  )
  membership.start()
  await database.write([
    openWallet(walletOf.account(1), 0n),
    openWallet(walletOf.account(2), 0n),
    addCredit({ account: 1, kind: 'credit', amount: CREDITED, note: 'test', at: 1 }),
  ])
  const rows = (text: string) => database.read(sql(text, text), [])
  const send = async (
    method: string,
    path: string,
    headers: Readonly<Record<string, string>> = {},
    body?: object,
  ) => {
    const response = await fetch(`${core.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text }
  }
  return {
    url: core.url,
    upstream,
    rows,
    send,
    /** Nanos that the account has paid, and those that open charges hold. */
    async money() {
      const [wallet] = await rows(`SELECT balance FROM wallets WHERE id = ${walletOf.account(1)}`)
      const [open] = await rows("SELECT sum(held) AS held FROM charges WHERE state = 'open'")
      return {
        spent: Number(CREDITED - BigInt(Number(wallet?.balance))),
        held: Number(open?.held ?? 0),
      }
    },
    findings: () => audit(database),
    change: (text: string) => database.write([{ sql: sql(text, text), values: [] }]),
  }
}
