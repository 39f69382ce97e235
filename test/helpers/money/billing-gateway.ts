/** One gateway for all test files of a process, with two workers and one scripted upstream. Each
 *  test file loads its own routes and creates its own accounts. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addKey, createAccount } from '../../../plugins/credentials/statements.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { walletOf } from '../../../plugins/ledger/wallet.ts'
import { startGateway } from '../gateway/gateway.ts'
import { bearer, postTo } from '../gateway/post.ts'
import { startUpstream } from '../gateway/upstream.ts'
import { inMemory } from '../in-memory.ts'

export interface Customer {
  readonly account: number
  /** The id of the account’s wallet. */
  readonly wallet: number
  readonly key: string
  credit(amount: bigint): Promise<unknown>
}
export const UNIT = 1_000_000_000n

export const upstream = await startUpstream()
export const gateway = await startGateway({
  env: { WORKERS: '2' },
  // An event of 45 MiB is one step of 0.6 s of CPU time: beside other load, longer than the 3 s
  // after which a worker is killed. The load may begin after the machine was measured.
  patience: 20,
  settings: 'currency: { name: CNY, rates: { USD: 7 } }',
  routes: `
pipeline: [errors, auth, model, meter, translate]
upstreams: { up: { url: '${upstream.url}' } }
models: { any: { to: up, free: true } }
routes:
  - { path: POST /, auth: key, model: body, translate: openai-chat }
`,
})
export const database = await openDatabase({
  url: 'sqlite:',
  data: gateway.data,
  writeTimeout: 60_000,
})
t.teardown(async () => {
  await database.close()
  await Promise.all([gateway.stop(), upstream.stop()])
})
export const rows = (text: string) => database.read({ name: `test: ${text}`, text }, [])

/** The id that the last statement of the list returns. */
export const idOf = async (list: Parameters<typeof database.write>[0]): Promise<number> =>
  Number((await database.write(list)).at(-1)?.[0]?.id)

let accounts = 0
/** Loads the routes, clears the upstream and creates a funded account. Call it inside a test: files
 *  of a suite are imported while tests of others run. */
export const prepareCustomer = async (routes: string, amount = 0n): Promise<Customer> => {
  await gateway.reload(routes)
  await upstream.forget()
  const now = Date.now()
  const account = await idOf(createAccount({ name: `own-${++accounts}`, role: 'customer' }, now))
  const wallet = walletOf.account(account)
  const secret = makeSecret('key')
  await database.write(addKey({ account, name: 'test', secret }, now))
  const credit = (amount: bigint) => {
    const creditRow = { account, kind: 'credit', amount, note: 'test', at: Date.now() } as const
    return database.write([openWallet(wallet, 0n), addCredit(creditRow)])
  }
  if (amount > 0n) await credit(amount)
  return { account, wallet, key: secret.text, credit }
}

/** Posts a body as JSON with this key. `id`: of the request, for `chargeOf`. */
export const postJson = async (
  key: string,
  path: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
) => {
  const response = await postTo(gateway.url + path, body, { ...bearer(key), ...headers })
  const id = response.headers.get('x-request-id') ?? ''
  return { response, text: await response.text(), id }
}
const CHARGE = {
  name: 'test: charge',
  text: 'SELECT state, amount, held, uncollected, estimated, usage, lines FROM charges WHERE request = ?',
}
/** The charge of a request, with its counts and lines; amounts in nanos. */
export const chargeOf = async (id: string | null) => {
  const [row] = await database.read(CHARGE, [id ?? ''])
  const [usage, lines] = [row?.usage, row?.lines].map(each => JSON.parse(String(each ?? null)))
  return {
    state: row?.state,
    amount: row?.amount,
    held: row?.held,
    uncollected: row?.uncollected,
    estimated: row?.estimated,
    usage,
    lines,
  }
}
/** Nanos in units, to the thousandth. */
export const units = (value: unknown): number => Math.round(Number(value) / 1e6) / 1e3

/** Writes a configuration of these routes and the store of the gateway, for commands. */
export const configOf = (routes: string): string => {
  const file = join(mkdtempSync(join(inMemory(), 'routes-')), 'routes.yaml')
  const plugins = fileURLToPath(new URL('../../../plugins', import.meta.url))
  const settings = { data: gateway.data, plugins: [plugins], listen: '127.0.0.1:0' }
  writeFileSync(file, `settings: ${JSON.stringify(settings)}\n${routes}`)
  return file
}
