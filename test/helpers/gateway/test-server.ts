/** Starts a gateway in this process over handmade plugins, with real sockets, no files and a
 *  store that records its lists; or compiles a snapshot without a server. */
import '../environment.ts'
import http from 'node:http'
import type { Test } from 'tap'
import { compile } from '../../../engine/config/compile/compile.ts'
import type { CompileError } from '../../../engine/config/compile/compile-problem.ts'
import { SharedResources } from '../../../engine/config/shared-resources.ts'
import { BackgroundCalls } from '../../../engine/egress/background-calls.ts'
import { createMetrics } from '../../../engine/observe/metrics.ts'
import type { Document, Host, Log, Plugin, Stage, Statement } from '../../../engine/plugin.ts'
import type { OverloadGuard } from '../../../engine/request/overload.ts'
import { createGatewayServer, type GatewayServer } from '../../../engine/server.ts'
import type { Resources } from '../../../engine/snapshot/resources.ts'
import type { Snapshot } from '../../../engine/snapshot/snapshot.ts'
import { ACCOUNT } from '../../../plugins/slots.ts'
import { listen } from './chat-upstream.ts'

export const SILENT_LOG: Log = { debug() {}, info() {}, warn() {}, error() {} }

/** A store that records its lists in order. `refuse` decides per list: a fault rejects it. `delay`:
 *  ms that a commit takes. */
interface FakeStore {
  readonly lines: string[]
  refuse: (names: string[]) => unknown
  delay: number
}

export const fakeResources = (store: FakeStore, log: Log = SILENT_LOG): Resources => {
  const name = (statement: Statement): string => `${statement.sql.name}(${statement.values.join()})`
  return {
    role: 'test',
    log: { ...log, request: ({ ...line }) => log.info(line, 'request') },
    metrics: createMetrics(),
    shared: new SharedResources(),
    backgroundCalls: new BackgroundCalls(),
    allowances: {
      open: () => ({
        take: () => true,
        request: async () => true,
        returnUnits() {},
        spend() {},
        retryAfter: () => 0,
        reading: () => undefined,
      }),
      close() {},
    },
    jobs: {
      start: () => ({ wake() {}, stop() {} }),
      close: async () => {},
    } as unknown as Resources['jobs'],
    membership: {
      name: async () => 'p_test',
      isCurrent: () => true,
      reportExpelled() {},
      leaving: new AbortController().signal,
      listen() {},
    },
    database: {
      async write(list) {
        const names = list.map(name)
        store.lines.push(`begin ${names.join(' ')}`)
        if (store.delay > 0) await new Promise(resolve => setTimeout(resolve, store.delay))
        const refusal = store.refuse(list.map(each => each.sql.name))
        if (refusal) throw refusal
        store.lines.push(`durable ${names.join(' ')}`)
        return []
      },
      setCrashStatements: (id, list) =>
        void store.lines.push(`will ${id.slice(0, 3)} ${list.map(name).join(' ')}`),
      read: async () => [],
      async *pages() {},
      now: async () => Date.now(),
    },
  }
}
/** A plugin with one stage, which is active on every route. */
export const pluginOf = (stage: Stage, more: Partial<Plugin> = {}): Plugin => ({
  schema: {},
  default: {},
  setup: () => stage,
  ...more,
})

/** A plugin with this stage, and the host of each of its versions. */
export const recordHosts = (stage: Stage = {}) => {
  const hosts: Host[] = []
  const plugin: Plugin = {
    schema: {},
    default: {},
    setup(_, host) {
      hosts.push(host)
      return stage
    },
  }
  return { hosts, plugin }
}

/** The header `account` says who calls; by default the first account. */
export const caller: Stage = {
  async handle({ request, slots }, next) {
    const { account = '1' } = request.headers
    slots.set(ACCOUNT, { id: Number(account), name: 'ann', role: 'customer' })
    await next()
  },
}

export interface TestServer {
  readonly url: string
  readonly server: GatewayServer
  readonly store: FakeStore
  readonly resources: Resources
  /** Compiles other plugins or routes and swaps to them. */
  swap(plugins: Readonly<Record<string, Plugin>>, document: Document): Promise<Snapshot>
}

/** For a gateway inside a test: the loop of its process also runs the test, whose long turns say
 *  nothing about the gateway. */
export const NEVER_OVERLOADED: OverloadGuard = { shouldShed: () => false, close() {} }

/** Starts a gateway; the pipeline is the order of `plugins`. */
export const startTestServer = async (
  t: Test,
  plugins: Readonly<Record<string, Plugin>>,
  document: Document,
  log: Log = SILENT_LOG,
  { overload = NEVER_OVERLOADED, ...more }: Partial<Resources> & { overload?: OverloadGuard } = {},
): Promise<TestServer> => {
  const store: FakeStore = { lines: [], refuse: () => undefined, delay: 0 }
  const resources = { ...fakeResources(store, log), ...more }
  let version = 0
  const build = (set: Readonly<Record<string, Plugin>>, doc: Document): Promise<Snapshot> => {
    const withPipeline = { pipeline: Object.keys(set), ...doc }
    const blueprint = {
      version: ++version,
      hash: `h${version}`,
      root: '/',
      document: withPipeline,
      plugins: [],
    }
    return compile(blueprint, new Map(Object.entries(set)), resources)
  }
  let current = await build(plugins, document)
  const server = createGatewayServer(() => current, resources, overload)
  const { port } = await server.listen(0, '127.0.0.1')
  t.teardown(async () => {
    await server.drain(0)
    resources.metrics.close()
    await current.retire()
  })
  const swap = async (set: Readonly<Record<string, Plugin>>, doc: Document): Promise<Snapshot> => {
    const next = await build(set, doc)
    const before = current
    current = next
    void before.retire()
    return next
  }
  return { url: `http://127.0.0.1:${port}`, server, store, resources, swap }
}

/** Starts an upstream in this process. */
export const startHttpUpstream = async (
  t: Pick<Test, 'teardown'>,
  listener: http.RequestListener,
): Promise<string> => `http://127.0.0.1:${await listen(t, http.createServer(listener))}`

export type Plugins = Readonly<Record<string, Plugin>>

/** A process's resources, with a store that accepts every list. */
export const freshResources = (more: Partial<Resources> = {}): Resources => {
  const resources = fakeResources({ lines: [], refuse: () => undefined, delay: 0 })
  resources.metrics.close()
  return { ...resources, ...more }
}

/** Compiles a snapshot; the pipeline is the order of `plugins`. */
export const compileSnapshot = (
  plugins: Plugins,
  document: Document,
  resources: Resources = freshResources(),
  files: Readonly<Record<string, string>> = {},
): Promise<Snapshot> => {
  const withPipeline = { pipeline: Object.keys(plugins), ...document }
  const blueprint = {
    version: 3,
    hash: 'h3',
    root: '/',
    document: withPipeline,
    plugins: [],
    files,
  }
  return compile(blueprint, new Map(Object.entries(plugins)), resources)
}

/** Compiles a document and returns its faults; an empty list if it compiles. */
export const faultsOf = async (
  plugins: Plugins,
  document: Document,
  resources?: Resources,
): Promise<CompileError['faults']> => {
  try {
    await compileSnapshot(plugins, document, resources)
    return []
  } catch (error) {
    return (error as CompileError).faults
  }
}
