/** Starts a gateway with the shipped account routes over a real store, and opens that store beside
 *  it: accounts with money, keys, and paid calls. */
import { readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { price } from '../../../plugins/billing/price.ts'
import { compileRule, freeze } from '../../../plugins/billing/rule.ts'
import { toExactUsage } from '../../../plugins/billing/usage.ts'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addKey, addToken, createAccount } from '../../../plugins/credentials/statements.ts'
import type { Ledger } from '../../../plugins/ledger/ledger.ts'
import {
  addCredit,
  openCharge,
  openWallet,
  settleCharge,
} from '../../../plugins/ledger/statements.ts'
import { walletOf, walletsOf } from '../../../plugins/ledger/wallet.ts'
import type { Meters } from '../../../plugins/slots.ts'
import { startGateway, type TestGateway } from '../gateway/gateway.ts'
import { ledgerOn, makeLedger } from '../store/membership.ts'

const SHIPPED = readFileSync(
  new URL('../../../program/config/console.yaml', import.meta.url),
  'utf8',
)
/** The account routes of the shipped console.yaml, unchanged. */
const [, ROUTES = ''] = SHIPPED.split(
  /(?=^ {2}# (?:Balance, usage and credentials of an account|The console))/m,
)
const CONFIG = `
pipeline: [errors, auth, validate, model, limit, idempotency, meter, account, translate, sandbox]
upstreams: { up: { url: 'sandbox:', formats: [openai-chat, openai-responses] } }
models:
  plain: { to: up/plain, title: Plain, price: { input: 14.4 / 1M, cached: 3.6 / 1M, output: 57.6 / 1M } }
  by-call: { to: up/by-call, owner: us, price: { calls: 0.72 } }
  'gift-*': { to: 'up/*', free: true }
  only-responses: { to: up/only, accepts: { chat: false }, price: { input: 1 / 1M } }
routes:
  - { path: POST /v1/chat/completions, name: chat, model: body, translate: openai-chat }
  - { path: POST /v1/responses, name: responses, model: body, translate: openai-responses }
${ROUTES}`

interface Call {
  readonly account: number
  readonly key?: number | undefined
  /** Nanos; for a key with its own quota. */
  readonly quota?: bigint | undefined
  readonly request: string
  readonly model?: string
  readonly at?: number
  readonly meters?: Meters
  readonly tags?: Readonly<Record<string, string>>
  /** Nanos; default: the price of its meters. */
  readonly cost?: bigint
}
interface Credential {
  readonly id: number
  readonly text: string
}
export interface AccountGateway extends TestGateway {
  readonly database: Awaited<ReturnType<typeof openDatabase>>
  account(name: string): Promise<number>
  addKey(account: number, more?: Partial<Parameters<typeof addKey>[0]>): Promise<Credential>
  addToken(account: number): Promise<Credential>
  credit(account: number, nanos: bigint): Promise<void>
  /** Makes a call that is held and settled. */
  payCall(call: Call): Promise<void>
  /** `bearer`: a credential for the Authorization header. */
  ask(
    method: string,
    path: string,
    bearer?: string | undefined,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly text: string; readonly body: Body }>
}
/** The members that tests read, of one object or of a list of them. */
export interface ShownUsage {
  readonly id: number
  readonly name: string
  readonly key: string
  readonly token: string
  readonly request_id: string
  readonly model_name: string
  readonly supported_endpoint_types: readonly string[]
  readonly cost: number
}
interface Body {
  readonly success: boolean
  readonly message: string
  readonly data: ShownUsage & readonly ShownUsage[]
  readonly next: string | null
}

export const startAccountGateway = async (t: Test): Promise<AccountGateway> => {
  const gateway = await startGateway({
    routes: CONFIG,
    settings: 'currency: { name: CNY, rates: { USD: 7.2 } }',
  })
  const database = await openDatabase({ url: 'sqlite:', data: gateway.data, writeTimeout: 60_000 })
  // The owner of the ledger creates its tables in the same way.
  await makeLedger(database)
  const ledger = ledgerOn(database)
  t.teardown(async () => {
    await ledger.close()
    await database.close()
    await gateway.stop()
  })
  const idOf = async (list: Parameters<typeof database.write>[0]) =>
    Number((await database.write(list)).at(-1)?.[0]?.id)
  return {
    ...gateway,
    database,
    account: name => idOf(createAccount({ name, role: 'customer' }, Date.now())),
    async addKey(account, more = {}) {
      const secret = makeSecret('key')
      const id = await idOf(addKey({ account, name: 'test', secret, ...more }, Date.now()))
      return { id, text: secret.text }
    },
    async addToken(account) {
      const secret = makeSecret('system-token')
      return {
        id: await idOf(addToken({ account, name: 'test', secret }, Date.now())),
        text: secret.text,
      }
    },
    async credit(account, amount) {
      const credit = { account, kind: 'credit', amount, note: 'test', at: Date.now() } as const
      await database.write([openWallet(walletOf.account(account), 0n), addCredit(credit)])
    },
    payCall: call => pay(database, ledger, call),
    async ask(method, path, bearer, body) {
      const response = await fetch(gateway.url + path, {
        method,
        headers: {
          ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const text = await response.text()
      const isJson = text.startsWith('{')
      return { status: response.status, text, body: isJson ? JSON.parse(text) : {} }
    },
  }
}

const currency = { name: 'CNY', rates: new Map([['CNY', 10n ** 9n]]) }
const rule = compileRule(
  { price: { input: '2.00 / 1M', output: '8.00 / 1M' } },
  { currency, where: [], report: () => {} },
)

export const pay = async (
  database: AccountGateway['database'],
  ledger: Ledger,
  { account, key, quota, request, model = 'plain', at = Date.now(), meters = {}, cost, tags }: Call,
): Promise<void> => {
  if (!rule) throw new Error('the rule of this helper does not compile')
  const charge = price(toExactUsage({ meters }), rule, { at, attributes: {} })
  const amount = cost ?? charge.nanos
  const payer = { account, key, quota }
  if (await ledger.take(payer, amount)) throw new Error(`${request} is not covered`)
  const process = await ledger.process()
  const terms = {
    route: 'chat',
    model,
    version: 1,
    rule: freeze(rule),
    openedAt: at,
    heldAmount: amount,
    holdsKeyQuota: quota !== undefined,
  }
  const record = { usage: JSON.stringify(meters), lines: JSON.stringify(charge.lines) }
  await database.write([openCharge({ request, account, key, process, ...terms })])
  await database.write([
    settleCharge({
      request,
      amount,
      uncollected: 0n,
      isEstimated: false,
      closedAt: at + 5,
      ...record,
      ...(tags && { served: JSON.stringify({ tags }) }),
      wallets: walletsOf(account, key),
    }),
  ])
}
