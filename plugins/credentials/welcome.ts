/** The first start on an empty store: one admin account, one key, one system token, shown once. */
import type { Lent, Sql, Statement } from '../../engine/plugin.ts'
import { makeSecret } from './secret.ts'
import { ANY_ACCOUNT, addKey, addToken, createFirstAccount } from './statements.ts'

type Ground = Pick<Lent, 'database' | 'section' | 'upstreams' | 'log'>

/** Units of the currency. The dearest call of the shipped catalogue holds less. */
const DEMO = 100n
const NANOS = 10n ** 9n

export const welcome = async (
  ground: Ground,
  { url }: { readonly url: string },
): Promise<string | undefined> => {
  const { database, section } = ground
  const [any] = await database.read(ANY_ACCOUNT, [])
  if (any) return undefined
  const now = await database.now()
  const key = makeSecret('key')
  const token = makeSecret('system-token')
  try {
    await database.write([
      ...createFirstAccount(now),
      ...addKey({ account: 1, name: 'first', secret: key }, now),
      ...addToken({ account: 1, name: 'first', secret: token }, now),
    ])
  } catch (error) {
    // Another process was first, and shows its own.
    if ((error as { code?: string }).code === 'ACCOUNT_EXISTS') return undefined
    throw error
  }
  const money = await demoMoney(ground, now)
  const body = {
    model: pickModel(section('models')),
    messages: [{ role: 'user', content: 'Hello' }],
  }
  return `An admin account was made. Its credentials are shown this once; the store keeps only digests.

  API key       ${key.text}
  System token  ${token.text}

${money}

Try it:

  curl ${url}/v1/chat/completions -H 'Authorization: Bearer ${key.text}' -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'
`
}

/** Calls are paid for, also the first. Where nothing but the sandbox answers, from a store of this machine's own, money that
 *  stands for nothing is given; it stands in the ledger as what it is. */
const demoMoney = async ({ database, section, upstreams, log }: Ground, now: number) => {
  const { currency, database: address = 'sqlite:' } = section<Settings>('settings')
  const insides = Object.values(upstreams).map(({ inside }) => inside)
  const demo = insides.length > 0 && insides.every(inside => inside === 'sandbox')
  if (!demo || !address.startsWith('sqlite:')) return TO_CREDIT
  try {
    await database.write(demoCredit(now))
  } catch (error) {
    log.warn({ error }, 'no demo money was given')
    return TO_CREDIT
  }
  return `It was given ${DEMO} ${currency?.name ?? 'CNY'} of demo money, since only the sandbox answers: a credit noted "demo" in the ledger.`
}
// The ledger stands above this folder: these two rows, of an account that has nothing yet, are all that is needed of it.
const WALLET: Sql = {
  name: 'accounts: demo wallet',
  text: 'INSERT INTO wallets (id, balance, limited) VALUES (2, 0, 1)',
}
const CREDIT: Sql = {
  name: 'accounts: demo credit',
  text: `INSERT INTO credits (id, account, kind, amount, note, at)
   VALUES ((SELECT coalesce(max(id), 0) + 1 FROM credits), 1, 'credit', ?, 'demo', ?)`,
}
const demoCredit = (now: number): readonly Statement[] => [
  { sql: WALLET, values: [], rows: 1 },
  { sql: CREDIT, values: [DEMO * NANOS, now], rows: 1 },
]
interface Settings {
  readonly currency?: { readonly name?: string }
  readonly database?: string
}
const TO_CREDIT = 'It has no money yet. To give it some: tollgate accounts credit admin 100'

/** The one the documentation uses, else the first that is a name and not a pattern. */
const pickModel = (models: Readonly<Record<string, unknown>>): string => {
  if ('gp-4.1' in models) return 'gp-4.1'
  return Object.keys(models).find(name => !/[*{]/.test(name)) ?? 'gp-4.1'
}
