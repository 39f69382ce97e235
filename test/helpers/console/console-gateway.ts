/** Starts the shipped gateway for tests of the console: its first credentials, and HTTP clients
 *  that hold a session as a browser does. */
import { readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { startGateway, type TestGateway } from '../gateway/gateway.ts'

interface Reply {
  readonly status: number
  readonly headers: Headers
  // The envelope of every endpoint that these tests call.
  readonly body: {
    readonly success: boolean
    readonly message: string
    readonly data: Readonly<Record<string, unknown>> & readonly Readonly<Record<string, unknown>>[]
    readonly next?: string | null
  }
}
export interface ConsoleClient {
  /** The cookie as the browser sends it; empty when signed out. */
  readonly cookie: string
  readonly csrf: string
  ask(method: string, path: string, body?: unknown, headers?: object): Promise<Reply>
}
export interface ConsoleGateway extends TestGateway {
  /** Of account 1, an admin. */
  readonly token: string
  readonly apiKey: string
  readonly link: string
  ask(method: string, path: string, body?: unknown, headers?: object): Promise<Reply>
  /** `credential`: `{ token }` or `{ link }`. */
  signIn(credential: object): Promise<ConsoleClient>
  /** Creates an account and returns a client with its session. */
  customer(name: string, units?: number): Promise<ConsoleClient>
}

const LINK = /#link=(sl-\w+)/

/** Routes of YAML for operators: the sign-in, and every operation. They need SESSION_SCHEMA. */
export const OPERATOR_ROUTES = `\
  - { path: POST /api/session, auth: none, validate: schemas/session.json, console: sign-in, errors: envelope }
  - path: GET|POST /api/admin/{resource}
    auth: { by: [system-token, session], role: admin }
    console: admin
    errors: envelope
  - path: GET|POST /api/admin/{resource}/{action}
    auth: { by: [system-token, session], role: admin }
    console: admin
    errors: envelope
`
/** The file that the route of the sign-in names. */
export const SESSION_SCHEMA = {
  'schemas/session.json': readFileSync(
    new URL('../../../schemas/session.json', import.meta.url),
    'utf8',
  ),
}

export const linkIn = (text: string): string => LINK.exec(text)?.[1] ?? ''

export const startConsole = async (
  t: Pick<Test, 'teardown'>,
  { env = {}, ...options }: Parameters<typeof startGateway>[0] = {},
): Promise<ConsoleGateway> => {
  const gateway = await startGateway({ env, ...options })
  t.teardown(() => gateway.stop())
  const apiKey = await gateway.key()
  const output = gateway.output()
  const token = /\bst-\w{20,}/.exec(output)?.[0] ?? ''
  const ask: ConsoleGateway['ask'] = async (method, path, body, headers = {}) => {
    const response = await fetch(gateway.url + path, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const { status } = response
    return {
      status,
      headers: response.headers,
      body: text.startsWith('{') ? JSON.parse(text) : text,
    }
  }
  const signIn: ConsoleGateway['signIn'] = async credential => {
    const reply = await ask('POST', '/api/session', credential)
    if (reply.status !== 200) throw new Error(`sign-in refused: ${JSON.stringify(reply.body)}`)
    const cookie = (reply.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    const csrf = String(reply.body.data.csrf)
    return {
      cookie,
      csrf,
      ask: (method, path, body, headers) =>
        ask(method, path, body, { cookie, 'x-csrf-token': csrf, ...headers }),
    }
  }
  const admin = (path: string, body: unknown) =>
    ask('POST', `/api/admin/${path}`, body, { authorization: `Bearer ${token}` })
  return {
    ...gateway,
    token,
    apiKey,
    link: linkIn(output),
    ask,
    signIn,
    async customer(name, units = 0) {
      await admin('accounts', { name })
      if (units > 0) await admin('accounts/credit', { account: name, amount: units })
      const { body } = await admin('accounts/link', { account: name })
      return signIn({ link: linkIn(String(body.data.url)) })
    },
  }
}
