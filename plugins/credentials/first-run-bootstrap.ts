/** The first start on an empty store: one admin account, one key, one system token, shown once. */
import type { Lent, Statement } from '../../engine/plugin.ts'
import { takesAnyKey } from './credential-extraction.ts'
import { makeSecret } from './secret.ts'
import { ANY_ACCOUNT, addKey, addToken, createFirstAccount } from './statements.ts'

type BootstrapHost = Pick<Lent, 'database' | 'section' | 'upstreams' | 'log' | 'match'>

/** Units of the currency. The dearest call of the shipped catalogue holds less. */
const DEMO_UNITS = 100n
const NANOS = 10n ** 9n

/** What others own of the first start. */
export interface BootstrapOptions {
  readonly url: string
  /** The model that the printed call names. */
  readonly model: string
  readonly currency: string
  /** Gives account 1 so many nanos. */
  credit(nanos: bigint, now: number): readonly Statement[]
}

export const bootstrap = async (
  ground: BootstrapHost,
  offer: BootstrapOptions,
): Promise<string | undefined> => {
  const { database } = ground
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
  const money = await demoMoney(ground, offer, now)
  return `An admin account was made. Its credentials are shown this once; the store keeps only digests.

  API key       ${key.text}
  System token  ${token.text}

${money}
${firstCall(ground, offer, key.text)}`
}

/** A command to paste: a call of a route that takes an API key, if one speaks a format known here. */
const firstCall = (
  { section, match }: BootstrapHost,
  { url, model }: BootstrapOptions,
  key: string,
): string => {
  const routes = section<unknown>('routes')
  const paths = (Array.isArray(routes) ? routes : []).map(({ path }) => String(path))
  for (const [end, bodyOf] of FIRST_CALLS) {
    const path = paths.map(pathOfPost).find(each => each.endsWith(end) && takesKey(match, each))
    if (!path) continue
    const body = JSON.stringify(bodyOf(model))
    const headers = `-H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json'`
    return `\nTry it:\n\n  curl ${url}${path} ${headers} -d '${body}'\n`
  }
  return ''
}
/** How the usual paths end, and what is asked there. */
const FIRST_CALLS: readonly (readonly [end: string, body: (model: string) => object])[] = [
  ['/chat/completions', model => ({ model, messages: [HELLO] })],
  ['/responses', model => ({ model, input: HELLO.content })],
  ['/messages', model => ({ model, max_tokens: 256, messages: [HELLO] })],
]
const HELLO = { role: 'user', content: 'Hello' }
/** The path of a route that takes POST and has no parameters; else empty. */
const pathOfPost = (path: string): string =>
  /^(?:\w+\|)*POST(?:\|\w+)*\s+(\/[^\s{*]*)$/.exec(path)?.[1] ?? ''
const takesKey = (match: BootstrapHost['match'], path: string): boolean =>
  takesAnyKey(match('POST', path).route)

/** Calls are paid for, also the first. Where nothing but the sandbox answers, from a store of this machine's own, money that
 *  stands for nothing is given; it stands in the ledger as what it is. */
const demoMoney = async (
  { database, section, upstreams, log }: BootstrapHost,
  { credit, currency }: BootstrapOptions,
  now: number,
) => {
  const { database: address = 'sqlite:' } = section<Settings>('settings')
  const insides = Object.values(upstreams).map(({ inside }) => inside)
  const demo = insides.length > 0 && insides.every(inside => inside === 'sandbox')
  if (!demo || !address.startsWith('sqlite:')) return CREDIT_HINT
  try {
    await database.write(credit(DEMO_UNITS * NANOS, now))
  } catch (error) {
    log.warn({ error }, 'no demo money was given')
    return CREDIT_HINT
  }
  return `It was given ${DEMO_UNITS} ${currency} of demo money, since only the sandbox answers: a credit noted "demo" in the ledger.`
}
interface Settings {
  readonly database?: string
}
const CREDIT_HINT = 'It has no money yet. To give it some: tollgate accounts credit admin 100'
