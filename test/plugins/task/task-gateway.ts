/** Gateways that run tasks over one real store, and a scripted asynchronous upstream. */
import { inspect } from 'node:util'
import type { Test } from 'tap'
import type { HostBase, Json, Plugin, SingleCommand } from '../../../engine/plugin.ts'
import { createJobs } from '../../../engine/store/jobs.ts'
import { Leases } from '../../../engine/store/leases.ts'
import account from '../../../plugins/account/index.ts'
import { migrations as actionTables } from '../../../plugins/action-log/tables.ts'
import { migrations as accountTables } from '../../../plugins/credentials/tables.ts'
import errorsPlugin from '../../../plugins/errors.ts'
import files from '../../../plugins/files/index.ts'
import form from '../../../plugins/form.ts'
import idempotency from '../../../plugins/idempotency/index.ts'
import { audit } from '../../../plugins/ledger/audit.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { walletOf } from '../../../plugins/ledger/wallet.ts'
import meter from '../../../plugins/meter.ts'
import model from '../../../plugins/model/index.ts'
import observe from '../../../plugins/observe/index.ts'
import task from '../../../plugins/task/index.ts'
import { commands } from '../../../plugins/task/operator-part.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import {
  caller,
  pluginOf,
  SILENT_LOG,
  startHttpUpstream,
  startTestServer,
} from '../../helpers/gateway/test-server.ts'
import { hostOver } from '../../helpers/store/accounts.ts'
import { reaperOn } from '../../helpers/store/membership.ts'
import { type Engine, sql, startAnyStore, temporaryFolder } from '../../helpers/store/store.ts'

const CREDITED = 1_000_000_000_000n
/** The credential of every request. */
export const KEY = 'sk-the-key-of-the-customer'
/** Nanos: five seconds at 0.025. */
export const PRICE = 125_000_000n

interface UpstreamRequest {
  readonly method: string
  readonly path: string
  readonly key: string
  readonly body: { readonly [name: string]: Json }
}
interface UpstreamAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: Json
  /** Answers with these bytes instead. */
  readonly file?: Uint8Array
  /** Breaks the connection in place of an answer. */
  readonly cut?: boolean
}
type Script = (request: UpstreamRequest, count: number) => UpstreamAnswer | Promise<UpstreamAnswer>

const RESULT = { id: '1', url: 'https://files.example/1' }
/** The results of an upstream's task in a state. A task that succeeds without results fails. */
export const creationsOf = (state: string, creation: Json = RESULT): readonly Json[] =>
  state === 'success' ? [creation] : []

/** Each create gets an id; each poll the next state of `states`, and then the last one for ever. */
export const statesOf = (...states: readonly string[]): Script => {
  const polls = new Map<string, number>()
  return ({ method, path }, count) => {
    if (method === 'POST') return { json: { task_id: `up-${count}`, state: 'created' } }
    const id = path.split('/').at(-2) ?? ''
    const polled = (polls.get(id) ?? -1) + 1
    polls.set(id, polled)
    const state = states[Math.min(polled, states.length - 1)] ?? 'success'
    const creations = creationsOf(state, { id: '1', url: `https://files.example/${id}` })
    return { json: { state, err_code: state === 'failed' ? 'Moderation' : '', creations } }
  }
}

export const POLL = {
  path: 'GET /ent/v2/tasks/{id}/creations',
  every: '20ms..40ms',
  state: '/state',
  states: {
    created: 'submitted',
    queueing: 'submitted',
    processing: 'running',
    success: 'succeeded',
    failed: 'failed',
  },
  error: { code: '/err_code' },
  results: '/creations',
}

/** `options`: of the route that creates tasks; `routes`: besides those of this file. */
export const startTasks = async (
  t: Test,
  engine: Engine = 'sqlite',
  options: object = {},
  settings: object = {},
  routes: readonly object[] = [],
  models: object = {},
) => {
  const store = await startAnyStore(t, engine)
  const folder = temporaryFolder(t)
  const database = await store.open()
  const requests: UpstreamRequest[] = []
  const here = {
    script: statesOf('queueing', 'processing', 'success') as Script,
    /** Connections that break before the body of their request is read. */
    earlyCuts: 0,
  }
  const url = await startHttpUpstream(t, (request, response) => {
    if (here.earlyCuts > 0) {
      here.earlyCuts--
      return void response.destroy()
    }
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', async () => {
      const text = Buffer.concat(chunks).toString()
      const entry = {
        method: request.method ?? '',
        path: request.url ?? '',
        key: String(request.headers.authorization).replace('Bearer ', ''),
        body: text === '' ? {} : JSON.parse(text),
      }
      requests.push(entry)
      const creates = requests.filter(({ method }) => method === 'POST').length
      const { status = 200, headers = {}, json = {}, file, cut } = await here.script(entry, creates)
      if (cut) response.destroy()
      // The type is wrong, because the gateway must not rely on it.
      else if (file)
        response.writeHead(status, { 'content-type': 'text/html', ...headers }).end(file)
      else
        response
          .writeHead(status, { 'content-type': 'application/json', ...headers })
          .end(JSON.stringify(json))
    })
  })
  /** Every line of the log. */
  const lines: string[] = []
  const write = (fields: object, text?: string): void =>
    void lines.push(inspect({ ...fields, text }, { depth: 8 }))
  const log = { debug: write, info: write, warn: write, error: write }
  /** Another process of the installation. */
  let host: HostBase | undefined
  const worker = async (options: object = {}, others = routes) => {
    const own = await store.open({ writeTimeout: 60_000 })
    await own.migrate('auth', accountTables)
    await own.migrate('actions', actionTables)
    const membership = reaperOn(t, own, 1_000)
    const jobs = createJobs({ leases: new Leases({ database: own, membership }), log: SILENT_LOG })
    t.teardown(() => jobs.close())
    const create = {
      dialect: 'vidu',
      submit: { id: '/task_id' },
      poll: POLL,
      cancel: { path: 'POST /ent/v2/tasks/{id}/cancel' },
      ...options,
    }
    const view = (name: string) => ({ dialect: 'vidu', view: name })
    const document = {
      settings: { data: folder, egress_allow: '127.0.0.0/8', ...settings },
      upstreams: { vd: { url, key: ['sk-upstream-0123456789-one', 'sk-upstream-0123456789-two'] } },
      models: {
        clip: { to: 'vd/viduclip', price: { seconds: 0.025 }, max_calls: { seconds: 16 } },
        mixed: { to: 'vd/vidumix', price: { seconds: 0.025 }, traits: { subjects: false } },
        ...models,
      },
      routes: [
        {
          path: 'POST /ent/v2/text2video',
          model: 'body',
          idempotency: true,
          task: create,
          errors: 'vidu',
        },
        { path: 'GET /ent/v2/tasks/{id}/creations', task: view('query'), errors: 'vidu' },
        { path: 'GET /ent/v2/tasks', task: view('list'), errors: 'vidu' },
        { path: 'POST /ent/v2/tasks/{id}/cancel', task: view('cancel'), errors: 'vidu' },
        { path: 'GET /files/{name}', files: 'signed', errors: 'openai' },
        { path: 'POST /task-changes/{name}', task: { view: 'changed' } },
        { path: 'GET /ent/v2/info', account: 'info' },
        { path: 'GET /ent/v2/usage/{id}', account: 'receipt' },
        ...others,
      ],
    }
    const plugins = {
      errors: errorsPlugin as Plugin,
      caller: pluginOf(caller, {
        setup(_, routeHost) {
          host = routeHost
          return caller
        },
      }),
      form: form as Plugin,
      model: model as Plugin,
      idempotency: idempotency as Plugin,
      files: files as Plugin,
      account: account as Plugin,
      meter: meter as Plugin,
      task: task as Plugin,
      observe: observe as unknown as Plugin,
    }
    const core = await startTestServer(
      t,
      plugins,
      document as unknown as Parameters<typeof startTestServer>[2],
      log,
      { database: own, membership, jobs },
    )
    membership.start()
    return clientOf(core.url)
  }
  const first = await worker(options)
  await database.write([
    openWallet(walletOf.account(1), 0n),
    addCredit({ account: 1, kind: 'credit', amount: CREDITED, note: 'test', at: 1 }),
  ])
  const rows = (text: string) => database.read(sql(text, text), [])
  return {
    ...first,
    here,
    /** Of the upstream. */
    url,
    host: () => host as HostBase,
    database,
    folder,
    requests,
    lines,
    worker,
    rows,
    /** Nanos that the account has paid. */
    async spent() {
      const [row] = await rows(`SELECT balance FROM wallets WHERE id = ${walletOf.account(1)}`)
      return CREDITED - BigInt(Number(row?.balance))
    },
    findings: () => audit(database),
    /** Changes stored rows. */
    change: (text: string) => database.write([{ sql: sql(text, text), values: [] }]),
  }
}

/** Runs `tollgate tasks VERB …` against the store of a gateway. */
export const runCommand = async (
  { database }: Pick<Awaited<ReturnType<typeof startTasks>>, 'database'>,
  verb: string,
  positionals: readonly string[],
  values: object = {},
): Promise<{ readonly rows?: unknown; readonly json?: unknown }> => {
  const { subcommands } = commands.tasks as { subcommands: Record<string, SingleCommand> }
  const host = { ...hostOver(database), upstreams: { vd: { options: {} } } }
  const result = await subcommands[verb]?.run(
    { positionals, values } as never,
    host as unknown as HostBase,
  )
  return result as object
}

type Answer = { readonly [name: string]: Json }
const clientOf = (url: string) => {
  const call = async (
    method: string,
    path: string,
    body?: object,
    account = '1',
    headers: Readonly<Record<string, string>> = {},
  ) => {
    const response = await fetch(`${url}/ent/v2${path}`, {
      method,
      headers: {
        'content-type': 'application/json',
        account,
        authorization: `Bearer ${KEY}`,
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, json: (await response.json()) as Answer }
  }
  return {
    gatewayUrl: url,
    call,
    create: (body: object = {}, headers: Readonly<Record<string, string>> = {}) =>
      call(
        'POST',
        '/text2video',
        { model: 'clip', prompt: 'a cat', duration: 5, ...body },
        '1',
        headers,
      ),
    /** Fetches the file of a signed URL. */
    fetchFile: (signedUrl: string, init: RequestInit = {}) => {
      const { pathname, search } = new URL(signedUrl)
      return fetch(url + pathname + search, init)
    },
    query: (id: string, account = '1') => call('GET', `/tasks/${id}/creations`, undefined, account),
    /** Queries until the state is one of these. */
    reach: (id: string, ...states: readonly string[]): Promise<Answer> =>
      eventually(async () => {
        const { json } = await call('GET', `/tasks/${id}/creations`)
        return states.includes(String(json.state)) ? json : undefined
      }),
  }
}
