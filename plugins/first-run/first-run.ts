/** The first run on an empty store: creates an admin account with a key, a system token and, for
 *  the sandbox, demo money, and returns the text that shows both secrets once. */
import type { HostBase } from '../../engine/plugin.ts'
import { configuredCurrency } from '../billing/currency.ts'
import { exampleModel, modelsOf } from '../catalogue/configured.ts'
import { takesAnyKey } from '../credentials/credential-extraction.ts'
import { makeSecret } from '../credentials/secret.ts'
import { CONSOLE_PATH, makeSignInLink } from '../credentials/sign-in-link.ts'
import { ANY_ACCOUNT, addKey, addToken, createFirstAccount } from '../credentials/statements.ts'
import { formatsOf } from '../formats/index.ts'
import { creditAccount } from '../ledger/views/wallets.ts'

/** Units of the currency. The most expensive call of the shipped catalogue holds less. */
const DEMO_UNITS = 100n
const NANOS = 10n ** 9n

/** `url`: of the gateway. Undefined: the store has accounts. */
export const firstRun = async (host: HostBase, url: string): Promise<string | undefined> => {
  const { database } = host
  const [account] = await database.read(ANY_ACCOUNT, [])
  if (account) return undefined
  const now = await database.now()
  const key = makeSecret('key')
  const token = makeSecret('system-token')
  const link = makeSignInLink(
    { url: path => url + path },
    { account: 1, issuer: 'first start', now },
  )
  const hasConsole = host.match('GET', CONSOLE_PATH).route !== undefined
  try {
    await database.write([
      ...createFirstAccount(now),
      ...addKey({ account: 1, name: 'first', secret: key }, now),
      ...addToken({ account: 1, name: 'first', secret: token }, now),
      ...(hasConsole ? link.statements : []),
    ])
  } catch (error) {
    // Another process created the account and prints its credentials.
    if ((error as { code?: string }).code === 'ACCOUNT_EXISTS') return undefined
    throw error
  }
  const money = await demoMoney(host, now)
  return `An admin account was created. Its credentials are shown only now; the database stores only digests.

  API key       ${key.text}
  System token  ${token.text}
${hasConsole ? consoleHint(link.url) : ''}
${money}
${firstCall(host, url, key.text)}`
}

const consoleHint = (url: string): string =>
  `
  Open the console: this link signs in once, within 24 hours.

  ${url}
`

/** An example command for the first route that accepts an API key and has a known path. */
const firstCall = (host: HostBase, url: string, key: string): string => {
  const { section, match } = host
  const samples = [...formatsOf(host).clients.values()].flatMap(({ sample }) => sample ?? [])
  const model = exampleModel(modelsOf(host))
  const routes = section<unknown>('routes')
  const paths = (Array.isArray(routes) ? routes : []).map(({ path }) => String(path))
  for (const { path: end, body: bodyOf } of samples) {
    const path = paths.map(pathOfPost).find(each => each.endsWith(end) && takesKey(match, each))
    if (!path) continue
    const body = JSON.stringify(bodyOf(model))
    const headers = `-H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json'`
    return `\nTry it:\n\n  curl ${url}${path} ${headers} -d '${body}'\n`
  }
  return ''
}
/** The path of a route that takes POST and has no parameters; else empty. */
const pathOfPost = (path: string): string =>
  /^(?:\w+\|)*POST(?:\|\w+)*\s+(\/[^\s{*]*)$/.exec(path)?.[1] ?? ''
const takesKey = (match: HostBase['match'], path: string): boolean =>
  takesAnyKey(match('POST', path).route)

/** Credits demo money if all upstreams are the sandbox and the database is local. The ledger shows
 *  a credit with the note "demo". */
const demoMoney = async (host: HostBase, at: number) => {
  const { database, section, upstreams, log } = host
  const { database: address } = section<Settings>('settings')
  const insides = Object.values(upstreams).map(({ inside }) => inside)
  const isSandbox = insides.length > 0 && insides.every(inside => inside === 'sandbox')
  if (!isSandbox || address?.startsWith('sqlite:') === false) return CREDIT_HINT
  try {
    const amount = DEMO_UNITS * NANOS
    await database.write(creditAccount({ account: 1, kind: 'credit', amount, note: 'demo', at }))
  } catch (error) {
    log.warn({ error }, 'demo money could not be credited')
    return CREDIT_HINT
  }
  return `It has ${DEMO_UNITS} ${configuredCurrency(host).name} of demo money, since all upstreams are the sandbox (a credit with the note "demo" in the ledger).`
}
interface Settings {
  readonly database?: string
}
const CREDIT_HINT = 'It has no balance yet. Add credit: tollgate accounts credit admin 100'
