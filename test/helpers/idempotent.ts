/** Gateways over one real store, as the workers of an installation: an upstream that counts its calls, callers by header. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Test } from 'tap'
import type { Json, Plugin, Stage } from '../../engine/plugin.ts'
import type { OpenDatabase } from '../../engine/store/database.ts'
import errorsPlugin from '../../plugins/errors.ts'
import idempotency from '../../plugins/idempotency/index.ts'
import { ACCOUNT } from '../../plugins/slots.ts'
import { plugin, silent, startCore, startUpstream } from './core.ts'
import { reaperOn } from './membership.ts'
import { type Store, sql, startStore } from './store.ts'

/** Answers one call of the upstream. `call`: counted from 1. */
type Script = (request: IncomingMessage, response: ServerResponse, call: number) => void

interface Worker {
  readonly url: string
  /** All that this worker says to the store from now on is lost. */
  silence(): void
}
export interface Installation {
  readonly database: OpenDatabase
  /** Calls that reached the upstream. */
  readonly calls: number
  script: Script
  /** ms by which the store's clock is ahead. */
  ahead: number
  /** `beat`: ms between two signs of life, so that the dead are found while a test looks. */
  worker(more?: {
    beat?: number
    stages?: Readonly<Record<string, Plugin>>
    options?: Json
    /** What else stands on the routes, and in the document. */
    route?: object
    document?: object
  }): Promise<Worker>
  rows(): Promise<readonly Readonly<Record<string, unknown>>[]>
}

const caller: Stage = {
  async handle({ request, slots }, next) {
    const { account } = request.headers
    if (account) slots.set(ACCOUNT, { id: Number(account), name: 'ann', role: 'customer' })
    await next()
  },
}

/** On the embedded store, which can be killed. */
export const install = async (t: Test): Promise<Installation & { readonly store: Store }> => {
  const store = await startStore(t)
  return Object.defineProperty(await installOn(t, store), 'store', { value: store }) as never
}
export const installOn = async (t: Test, store: Pick<Store, 'open'>): Promise<Installation> => {
  let calls = 0
  const url = await startUpstream(t, (request, response) => {
    const call = ++calls
    request.resume().on('end', () => here.script(request, response, call))
  })
  const database = await store.open()
  const here: Installation = {
    database,
    get calls() {
      return calls
    },
    script: (_, response, call) =>
      void response
        .setHeader('content-type', 'application/json')
        .setHeader('x-kind', 'plain')
        .end(JSON.stringify({ call })),
    ahead: 0,
    async worker({
      stages = {},
      options = true,
      beat = 1_000,
      route = {},
      document: more = {},
    } = {}) {
      const own = await store.open({ writeTimeout: 10_000 })
      const line = { cut: false }
      const lent = lineOver(own, line, here)
      const set = {
        ...{ errors: errorsPlugin as Plugin, caller: plugin(caller) },
        ...{ idempotency: idempotency as Plugin, ...stages },
      }
      const document = {
        upstreams: { main: { url } },
        routes: ['/a', '/b'].map(path => ({
          ...{ path: `POST ${path}`, upstream: 'main', idempotency: options, ...route },
        })),
        ...more,
      }
      const core = await startCore(
        t,
        set,
        document as unknown as Parameters<typeof startCore>[2],
        silent,
        { database: lent, membership: reaperOn(t, lent, beat) },
      )
      return {
        url: core.url,
        silence: () => {
          line.cut = true
        },
      }
    },
    rows: () => database.read(sql('rows', 'SELECT * FROM idempotency_keys ORDER BY key'), []),
  }
  return here
}

const lineOver = (own: OpenDatabase, line: { cut: boolean }, clock: { ahead: number }) => {
  const unless = <T>(act: () => Promise<T>): Promise<T> =>
    line.cut
      ? Promise.reject(Object.assign(new Error('cut'), { code: 'STORE_UNAVAILABLE' }))
      : act()
  // Its process lives on in this one: silence alone tells that it is dead.
  const { process: _, ...others } = own
  return {
    ...others,
    write: (list: Parameters<OpenDatabase['write']>[0]) => unless(() => own.write(list)),
    read: (...args: Parameters<OpenDatabase['read']>) => unless(() => own.read(...args)),
    now: async () => (await own.now()) + clock.ahead,
  }
}

export interface Reply {
  readonly status: number
  readonly text: string
  readonly headers: Headers
}
/** One POST of account 1, on a connection of its own. */
export const post = async (
  url: string,
  key: string,
  { body = '{"a":1}', account = '1', headers = {} as Readonly<Record<string, string>> } = {},
): Promise<Reply> => {
  const response = await fetch(url, {
    method: 'POST',
    body,
    headers: {
      ...{ 'content-type': 'application/json', connection: 'close', account },
      ...(key !== '' && { 'idempotency-key': key }),
      ...headers,
    },
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}
export const codeOf = ({ text }: Reply): unknown => JSON.parse(text).error.code
