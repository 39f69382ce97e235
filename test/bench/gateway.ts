/** Starts Tollgate for the bench: a configuration of a given size with the full pipeline, and an
 *  account with a key. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { usedFolder } from '../helpers/cache.ts'
import { NAMES, REFUSED } from './answers.ts'
import { DIALOGUES, FORMATS, type FormatName, MODEL_NAMES } from './dialogue.ts'
import { creditBenchAccount } from './ledger-fixture.ts'
import { pin } from './processes.ts'
import { STAGES, stageSections } from './stages/configuration.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const program = join(root, 'engine/bin.cjs')
export const SCHEMA = join(root, 'schemas/chat-completions.json')
export const PATH = '/v1/chat/completions'

export interface Size {
  readonly routes: number
  readonly models: number
}
export interface Gateway {
  readonly child: ChildProcess
  readonly pid: number
  readonly port: number
  readonly key: string
  /** The data folder. */
  readonly store: string
}

const filler = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: Math.max(0, count) }, (_, index) => make(index))

const PRICE = {
  context: 128_000,
  output: 16_384,
  price: { input: '0.15 / 1M', cached: '0.075 / 1M', output: '0.60 / 1M' },
}

/** Routes of every client format; the model `FORMAT-translate-plain` has an upstream of FORMAT. */
const CHAINS: Readonly<Record<FormatName, object>> = {
  'openai-chat': { auth: 'key', model: 'body', errors: 'openai' },
  'openai-responses': { auth: 'key', model: 'body', errors: 'openai' },
  'anthropic-messages': { auth: 'key', model: 'body', errors: 'anthropic' },
  'google-gemini': { auth: ['query-key', 'key'], model: { path: 'model' }, errors: 'google' },
}
const SCHEMAS: Readonly<Record<FormatName, string>> = {
  'openai-chat': SCHEMA,
  'openai-responses': join(root, 'schemas/responses.json'),
  'anthropic-messages': join(root, 'schemas/messages.json'),
  'google-gemini': join(root, 'schemas/generate-content.json'),
}
const translationSections = (upstream: string) => ({
  upstreams: Object.fromEntries(
    FORMATS.map(format => [
      format,
      { url: upstream, key: 'sk-upstream-0123456789abcdef', formats: [format], connections: 4096 },
    ]),
  ),
  models: Object.fromEntries(
    FORMATS.flatMap(format =>
      Object.values(MODEL_NAMES).map(name => [
        `${format}-${name}`,
        { to: `${format}/${name}`, output: 16_384 },
      ]),
    ),
  ),
  routes: FORMATS.flatMap(format => {
    const paths = [false, true].map(stream => DIALOGUES[format].path('{model}', stream))
    return [...new Set(paths.map(path => path.replace(/\?.*/, '')))]
      .filter(path => path !== PATH)
      .map(path => ({
        path: `POST ${path}`,
        validate: SCHEMAS[format],
        translate: format,
        ...CHAINS[format],
      }))
  }),
})

/** Routes that create tasks and background responses, over an upstream that answers polls. */
const taskSections = (upstream: string) => ({
  upstreams: {
    tasks: { url: upstream, key: 'sk-upstream-0123456789abcdef', connections: 256 },
    responses: {
      url: `${upstream}/v1`,
      key: 'sk-upstream-0123456789abcdef',
      formats: ['openai-responses'],
      connections: 256,
    },
  },
  models: {
    clip: { to: 'tasks/clip', price: { seconds: '0.0001' }, max_calls: { seconds: 16 } },
    seeing: { to: 'responses/seeing', ...PRICE },
  },
  routes: [
    {
      path: 'POST /v1/responses',
      auth: 'key',
      validate: join(root, 'schemas/responses.json'),
      body: { limit: '20MiB' },
      model: 'body',
      responses: 'create',
      translate: 'openai-responses',
      errors: 'openai',
    },
    { path: 'POST /ent/v2/text2video', ...TASK_CHAIN },
    {
      path: 'POST /ent/v2/img2video',
      validate: { schema: join(root, 'schemas/ent/img2video.json'), unknown: 'drop' },
      body: { limit: '20MiB' },
      ...TASK_CHAIN,
    },
  ],
})
const TASK_CHAIN = {
  auth: 'key',
  model: 'body',
  errors: 'vidu',
  task: {
    dialect: 'vidu',
    open: 10_000,
    submit: { id: '/task_id' },
    poll: {
      path: 'GET /ent/v2/tasks/{id}/creations',
      every: '2s..20s',
      deadline: '10h',
      state: '/state',
      states: { processing: 'running', success: 'succeeded' },
      results: '/creations',
    },
  },
}

/** `billed`: every call has a price, and the account has credit. `stages`: billed, with a model
 *  or a route for each of guards, journal, cache, rules and mirror. `translating`: routes of every
 *  client format, and upstreams of every format. `tasks`: billed, with routes that create tasks and
 *  background responses. */
type Kind = 'free' | 'billed' | 'translating' | 'tasks' | 'stages'

/** The configuration as JSON, which is YAML. */
const configuration = (
  size: Size,
  upstream: number,
  data: string,
  { kind, receiver, budgets, failedCalls }: Required<Pick<BenchOptions, 'kind'>> & BenchOptions,
): string => {
  const own = [...Object.values(NAMES), ...(failedCalls ? [REFUSED] : [])]
  const isBilled = BILLED.includes(kind)
  const address = `http://127.0.0.1:${upstream}`
  const ofKind = { translating: translationSections, tasks: taskSections }
  const chain = {
    auth: 'key',
    validate: SCHEMA,
    model: 'body',
    translate: 'openai-chat',
    errors: 'openai',
  }
  const stages = kind === 'stages' ? stageSections(PRICE, chain, receiver) : undefined
  const more: Sections | undefined =
    kind in ofKind ? ofKind[kind as keyof typeof ofKind](address) : stages
  const document = {
    settings: {
      listen: '127.0.0.1:0',
      admin: '127.0.0.1:0',
      workers: 1,
      data,
      plugins: [join(root, 'plugins')],
      ...(kind === 'tasks' && { responses: { largest: '16MiB' } }),
    },
    ...stages?.sections,
    ...(budgets && { budgets }),
    ...(failedCalls && { failed_calls: failedCalls }),
    pipeline: [
      'errors',
      ...(receiver === undefined ? [] : ['telemetry']),
      ...(failedCalls ? ['observe'] : []),
      'auth',
      'validate',
      'model',
      'limit',
      ...(kind === 'tasks' ? ['responses'] : []),
      ...(isBilled ? ['meter'] : []),
      ...(kind === 'tasks' ? ['task'] : []),
      'translate',
      ...(stages ? STAGES : []),
      'sandbox',
    ],
    upstreams: {
      up: {
        url: `${address}/v1`,
        key: 'sk-upstream-0123456789abcdef',
        formats: ['openai-chat'],
        // At least the number of streams: no stream may wait for a connection.
        connections: 16_384,
      },
      ...more?.upstreams,
    },
    models: Object.fromEntries([
      ...own.map(name => [name, { to: `up/${name}`, ...(isBilled && PRICE) }]),
      ...filler(size.models - own.length, index => [
        `filler-${index}`,
        { to: 'up/filler', ...(isBilled && PRICE) },
      ]),
      ...Object.entries(more?.models ?? {}),
    ]),
    routes: [
      ...filler(size.routes - 1, index => ({ path: `POST /filler/${index}/{id}`, ...chain })),
      { path: `POST ${PATH}`, ...chain },
      ...(more?.routes ?? []),
    ],
  }
  return JSON.stringify(document, null, 1)
}

const BILLED: readonly Kind[] = ['billed', 'tasks', 'stages']
interface Sections {
  readonly upstreams?: object
  readonly models: object
  readonly routes: readonly object[]
}
export interface BenchOptions {
  readonly kind?: Kind
  /** The URL to which telemetry is sent. */
  readonly receiver?: string
  /** The section of this name. */
  readonly budgets?: object
  /** The section `failed_calls:`. If it is left out, the pipeline has no `observe`. */
  readonly failedCalls?: object
}
interface BenchDatabase {
  readonly url: string
  /** The first gateway of a database prints its key. */
  readonly isFirst: boolean
}
/** `core`: undefined for any. `database`: of PostgreSQL; SQLite by default. */
export const startGateway = async (
  size: Size,
  upstream: number,
  core: number | undefined,
  kind: Kind = 'free',
  { url, isFirst, ...more }: Partial<BenchDatabase> & Omit<BenchOptions, 'kind'> = {},
): Promise<Gateway> => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  // In a watched folder the growing log would cost watch events.
  const config = join(mkdtempSync(join(folder, 'config-')), 'routes.yaml')
  const store = usedFolder(join(folder, 'data'))
  writeFileSync(config, configuration(size, upstream, store, { kind, ...more }))
  const log = openSync(join(folder, 'tollgate.log'), 'w')
  const child = spawn(process.execPath, [program, 'start', '--config', config], {
    stdio: ['ignore', log, 'pipe'],
    ...(url !== undefined && { env: { ...process.env, DATABASE_URL: url } }),
  })
  closeSync(log)
  child.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const pid = child.pid ?? 0
  const startup = await readBanner(child, isFirst)
  if (BILLED.includes(kind) && isFirst !== false) await creditBenchAccount(store, url)
  if (core !== undefined) pin(pid, core)
  return { child, pid, store, ...startup }
}

/** ms. */
const START = 60_000

/** Reads the port from the banner and, of the first start, the API key. */
export const readBanner = (
  child: ChildProcess,
  isFirst = true,
): Promise<{ port: number; key: string }> =>
  new Promise((resolve, reject) => {
    let text = ''
    child.stderr?.on('data', chunk => {
      text += chunk
      const port = /url +http:.*:(\d+)/.exec(text)?.[1]
      const key = isFirst ? /API key +(\S+)/.exec(text)?.[1] : 'none'
      if (!port || !key) return
      clearTimeout(late)
      resolve({ port: Number(port), key })
    })
    const fail = () => reject(new Error(`Tollgate did not start:\n${text}`))
    child.on('exit', fail)
    const late = setTimeout(() => child.kill(), START)
  })
