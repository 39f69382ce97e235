/** A gateway in this process over hand-made plugins: real sockets, no files, a store that writes down what it is told. */
import './environment.ts'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { compile } from '../../engine/config/compile/compile.ts'
import { createMetrics } from '../../engine/observe/metrics.ts'
import type { Document, Log, Plugin, Stage, Statement } from '../../engine/plugin.ts'
import { BackgroundCalls } from '../../engine/request/background-calls.ts'
import { createGatewayServer, type GatewayServer } from '../../engine/server.ts'
import type { Resources } from '../../engine/snapshot/resources.ts'
import { SharedResources } from '../../engine/snapshot/shared-resources.ts'
import type { Snapshot } from '../../engine/snapshot/snapshot.ts'

export const silent: Log = { debug() {}, info() {}, warn() {}, error() {} }

/** What the store did, in order. `refuse` decides per list: a fault rejects it. `delay`: ms a commit takes. */
export interface FakeStore {
  readonly lines: string[]
  refuse: (names: string[]) => unknown
  delay: number
}

export const fakeResources = (store: FakeStore, log: Log = silent): Resources => {
  const name = (statement: Statement): string => `${statement.sql.name}(${statement.values.join()})`
  return {
    role: 'test',
    log: { ...log, request: ({ ...line }) => log.info(line, 'request') },
    metrics: createMetrics(),
    shared: new SharedResources(),
    backgroundCalls: new BackgroundCalls(),
    allowances: {
      open: () => ({
        ...{ take: () => true, request: async () => true, returnUnits() {}, spend() {} },
        ...{ retryAfter: () => 0, reading: () => undefined },
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
      listen() {},
    },
    database: {
      async write(list) {
        const names = list.map(name)
        store.lines.push(`begin ${names.join(' ')}`)
        if (store.delay > 0) await new Promise(resolve => setTimeout(resolve, store.delay))
        const refused = store.refuse(list.map(each => each.sql.name))
        if (refused) throw refused
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
/** A plugin of one stage, on every route. */
export const plugin = (stage: Stage, more: Partial<Plugin> = {}): Plugin => ({
  schema: {},
  default: {},
  setup: () => stage,
  ...more,
})

export interface Core {
  readonly url: string
  readonly server: GatewayServer
  readonly store: FakeStore
  readonly resources: Resources
  /** Compiles and swaps to another set of plugins or routes. */
  swap(plugins: Readonly<Record<string, Plugin>>, document: Document): Promise<Snapshot>
}

/** Starts one; the pipeline is the order of `plugins`. */
export const startCore = async (
  t: Test,
  plugins: Readonly<Record<string, Plugin>>,
  document: Document,
  log: Log = silent,
  more: Partial<Resources> = {},
): Promise<Core> => {
  const store: FakeStore = { lines: [], refuse: () => undefined, delay: 0 }
  const resources = { ...fakeResources(store, log), ...more }
  let version = 0
  const build = (set: Readonly<Record<string, Plugin>>, doc: Document): Promise<Snapshot> => {
    const given = { pipeline: Object.keys(set), ...doc }
    const blueprint = {
      version: ++version,
      hash: `h${version}`,
      root: '/',
      document: given,
      plugins: [],
    }
    return compile(blueprint, new Map(Object.entries(set)), resources)
  }
  let current = await build(plugins, document)
  const server = createGatewayServer(() => current, resources)
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

/** An upstream in this process, for what only the core is asked. */
export const startUpstream = async (t: Test, listener: http.RequestListener): Promise<string> => {
  const server = http.createServer(listener).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
