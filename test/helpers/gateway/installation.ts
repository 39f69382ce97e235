/** Starts gateways over one real store, as workers of one installation: an upstream that counts its
 *  calls, and callers by header. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import type { Json, Plugin, Stage } from '../../../engine/plugin.ts'
import type { OpenDatabase } from '../../../engine/store/database.ts'
import errorsPlugin from '../../../plugins/errors.ts'
import idempotency from '../../../plugins/idempotency/index.ts'
import { ACCOUNT } from '../../../plugins/slots.ts'
import { reaperOn } from '../store/membership.ts'
import { type Store, sql, startStore } from '../store/store.ts'
import { postTo } from './post.ts'
import { pluginOf, SILENT_LOG, startHttpUpstream, startTestServer } from './test-server.ts'

/** Answers one call of the upstream; `call` counts from 1. `body`: the text of the request. */
type Script = (
  request: IncomingMessage,
  response: ServerResponse,
  call: number,
  body?: string,
) => void

interface Worker {
  readonly url: string
  /** Cuts this worker off from the store. */
  silence(): void
  /** Connects it again. */
  resume(): void
}
export interface Installation {
  readonly database: OpenDatabase
  /** Number of calls that reached the upstream. */
  readonly calls: number
  script: Script
  /** Milliseconds by which the store's clock is ahead. */
  ahead: number
  /** `beat`: ms between two heartbeats; short, so that dead processes are reaped during a test. */
  worker(more?: {
    beat?: number
    stages?: Readonly<Record<string, Plugin>>
    options?: Json
    /** Further options of the routes and of the document. */
    route?: object
    document?: {
      readonly upstreams?: Readonly<Record<string, object>>
      readonly [name: string]: unknown
    }
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

/** Installs on the embedded store, whose writer can be killed. */
export const install = async (t: Test): Promise<Installation & { readonly store: Store }> => {
  const store = await startStore(t)
  return Object.defineProperty(await installOn(t, store), 'store', { value: store }) as never
}
export const installOn = async (t: Test, store: Pick<Store, 'open'>): Promise<Installation> => {
  let calls = 0
  const url = await startHttpUpstream(t, (request, response) => {
    const call = ++calls
    void text(request).then(
      body => installation.script(request, response, call, body),
      () => {},
    )
  })
  const database = await store.open()
  const installation: Installation = {
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
      document: { upstreams, ...more } = {},
    } = {}) {
      const connection = await store.open({ writeTimeout: 60_000 })
      const link = { isCut: false }
      const ownDatabase = databaseOver(connection, link, installation)
      const set = {
        errors: errorsPlugin as Plugin,
        caller: pluginOf(caller),
        idempotency: idempotency as Plugin,
        ...stages,
      }
      const document = {
        upstreams: { ...upstreams, main: { url, ...upstreams?.main } },
        routes: ['/a', '/b'].map(path => ({
          path: `POST ${path}`,
          upstream: 'main',
          idempotency: options,
          ...route,
        })),
        ...more,
      }
      const core = await startTestServer(
        t,
        set,
        document as unknown as Parameters<typeof startTestServer>[2],
        SILENT_LOG,
        { database: ownDatabase, membership: reaperOn(t, ownDatabase, beat) },
      )
      return {
        url: core.url,
        silence: () => {
          link.isCut = true
        },
        resume: () => {
          link.isCut = false
        },
      }
    },
    rows: () => database.read(sql('rows', 'SELECT * FROM idempotency_keys ORDER BY key'), []),
  }
  return installation
}

const databaseOver = (own: OpenDatabase, link: { isCut: boolean }, clock: { ahead: number }) => {
  const unless = <T>(act: () => Promise<T>): Promise<T> =>
    link.isCut
      ? Promise.reject(Object.assign(new Error('cut'), { code: 'STORE_UNAVAILABLE' }))
      : act()
  // The worker's process is this one and stays alive: only its missing heartbeats show that it is
  // dead.
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
/** Sends one POST of account 1 on its own connection. */
export const post = async (
  url: string,
  key: string,
  { body = '{"a":1}', account = '1', headers = {} as Readonly<Record<string, string>> } = {},
): Promise<Reply> => {
  const response = await postTo(url, body, {
    connection: 'close',
    account,
    ...(key !== '' && { 'idempotency-key': key }),
    ...headers,
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}
export const codeOf = ({ text }: Reply): unknown => JSON.parse(text).error.code
