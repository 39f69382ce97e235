/** The builder process (`node builder.ts <routes.yaml>`, forked): builds and checks every version
 *  outside the processes that serve traffic, and saves the versions that go live. */
import { dirname, resolve } from 'node:path'
import { createDetachedHost } from '../config/compile/host.ts'
import { type Blueprint, describeChange, type LoadedConfig, load } from '../config/load.ts'
import { type Problem, ProblemsError } from '../config/problem.ts'
import { archivedSource, fileSource, read } from '../config/read.ts'
import { readSettings } from '../config/settings.ts'
import { createLog, type ProcessLog } from '../observe/log.ts'
import { createMetrics } from '../observe/metrics.ts'
import { createLocalAllowances } from '../quota/allowance.ts'
import { BackgroundCalls } from '../request/background-calls.ts'
import type { Resources } from '../snapshot/resources.ts'
import { SharedResources } from '../snapshot/shared-resources.ts'
import type { Settings } from '../snapshot/snapshot.ts'
import { openDatabase } from '../store/database.ts'
import { noJobs } from '../store/jobs.ts'
import { createLazyDatabase } from '../store/lazy-database.ts'
import { createMembership } from '../store/membership.ts'
import { History } from './history.ts'
import { type Build, type FromBuilder, HEARTBEAT, type ToBuilder } from './messages.ts'

interface LoadedVersion extends LoadedConfig {
  /** Number of the version that a rollback restores. */
  readonly from?: number
}
interface BuilderContext {
  readonly config: string
  readonly cacheFolder: string
  readonly history: History
  readonly log: ProcessLog
  readonly resources: Resources
}
const METRICS_INTERVAL = 5_000
/** Longest `welcome` hook of a plugin, ms. */
const WELCOME_TIMEOUT = 10_000

const send = (message: FromBuilder): void => {
  // The `disconnect` event reports a primary that has ended.
  if (process.connected) process.send?.(message, () => {})
}

/** Settings before validation, the defaults where routes.yaml cannot be read; the build reports
 *  the problems. */
const firstSettings = (config: string): Settings => {
  try {
    return readSettings(read(config, fileSource()).document.settings as object)
  } catch {
    return readSettings()
  }
}

const createContext = (config: string): BuilderContext => {
  const { data, database: url, durability, log: logSettings } = firstSettings(config)
  const cacheFolder = resolve(data, 'cache')
  const log = createLog({ level: logSettings.level, process: 'builder' })
  const metrics = createMetrics('builder')
  setInterval(() => send({ type: 'metrics', samples: metrics.report() }), METRICS_INTERVAL)
  // Lazy: a configuration that fails validation creates no folder and opens no store.
  const database = createLazyDatabase(() => {
    send({ type: 'store', store: { database: url, data, durability } })
    return openDatabase({ url, data, openTimeout: 8_000 })
  })
  const allowances = createLocalAllowances()
  const shared = new SharedResources()
  return {
    config,
    cacheFolder,
    history: new History(resolve(data, 'history'), cacheFolder),
    log,
    resources: {
      role: 'builder',
      log,
      metrics,
      database,
      shared,
      allowances,
      jobs: noJobs,
      backgroundCalls: new BackgroundCalls(),
      membership: createMembership({ database, log }),
    },
  }
}

/** Texts and bundles of an earlier version; variables take their current values. */
const archivedVersion = (
  { config, history }: BuilderContext,
  current: number,
  wanted: number | 'previous',
) => {
  const entry = wanted === 'previous' ? history.previousTo(current) : history.find(wanted)
  if (!entry) {
    const which = wanted === 'previous' ? `before #${current}` : `#${wanted}`
    const message = `no version ${which} is stored; see history/ in the data folder`
    throw new ProblemsError([{ code: 'NO_VERSION', message, file: config, line: 1, column: 1 }])
  }
  const source = archivedSource(dirname(resolve(config)), entry.files, fileSource())
  return { source, bundles: entry.plugins, from: entry.from ?? entry.version }
}

/** Loads the files, or an archived version. A first build whose content equals the last stored
 *  version keeps the number of that version. */
const loadVersion = async (
  context: BuilderContext,
  serving: Blueprint | undefined,
  { rollback }: Build,
) => {
  const { config, cacheFolder, resources, history } = context
  const last = history.last
  const version = Math.max(serving?.version ?? 0, last?.version ?? 0) + 1
  const from = rollback && archivedVersion(context, serving?.version ?? 0, rollback)
  const loaded: LoadedVersion = {
    ...(await load({
      config,
      version,
      cacheFolder,
      resources,
      ...from,
      progress: file => send({ type: 'step', file }),
    })),
    ...(from && { from: from.from }),
  }
  if (serving || last?.hash !== loaded.blueprint.hash) return loaded
  return { ...loaded, blueprint: { ...loaded.blueprint, version: last.version } }
}

const buildMessage = (
  loaded: LoadedVersion,
  before: Blueprint | undefined,
  { unless }: Build,
): FromBuilder => {
  const { blueprint, snapshot, watchedPaths: watched, secrets, from } = loaded
  if (blueprint.hash === before?.hash || blueprint.hash === unless)
    return { type: 'unchanged', watched }
  const change = before ? describeChange(before, blueprint) : ''
  return {
    type: 'built',
    version: blueprint.version,
    hash: blueprint.hash,
    settings: snapshot.settings,
    watched,
    blueprint: JSON.stringify(blueprint),
    secrets: [...secrets],
    change: from === undefined ? change : `back to #${from}: ${change}`,
    admin: [...snapshot.admin.keys()].sort(),
    inside: [...snapshot.upstreams].flatMap(([name, { view }]) => (view.inside ? name : [])),
  }
}

const problemsMessage = (thrown: unknown, config: string): FromBuilder => {
  if (thrown instanceof ProblemsError) {
    const { problems, message, watchedPaths: watched } = thrown
    return { type: 'problems', problems, text: message, watched }
  }
  const { code = 'LOAD_FAILED', message, path = '' } = thrown as NodeJS.ErrnoException
  const { data } = firstSettings(config)
  if (/^E[A-Z]+$/.test(code) && path.startsWith(resolve(data))) {
    const text = `the data folder "${data}" cannot be used: ${message}; set settings.data or TOLLGATE_DATA to a folder that this user can write to`
    const problem = { code: 'DATA_FOLDER', message: text, file: config, line: 1, column: 1 }
    return { type: 'problems', problems: [problem], text: `${problem.code}  ${text}`, watched: [] }
  }
  const problem: Problem = { code, message, file: config, line: 1, column: 1 }
  return { type: 'problems', problems: [problem], text: `${code}  ${message}`, watched: [] }
}

/** Runs the `welcome` hooks of the plugins and returns their texts for the operator. */
const runWelcomeHooks = async (
  { resources }: BuilderContext,
  loaded: LoadedVersion,
  url: string,
) => {
  const releases: (() => void)[] = []
  const host = createDetachedHost(resources, loaded, releases, 'a welcome runs no routes')
  const texts: string[] = []
  for (const [name, plugin] of loaded.plugins) {
    try {
      const timeout = new Promise<never>((_, reject) =>
        setTimeout(
          () => reject(new Error(`no result after ${WELCOME_TIMEOUT} ms`)),
          WELCOME_TIMEOUT,
        ).unref(),
      )
      const text = await Promise.race([plugin.welcome?.(host, { url }), timeout])
      if (text) texts.push(text)
    } catch (error) {
      resources.log.error({ plugin: name, error }, 'a welcome failed')
    }
  }
  for (const release of releases) release()
  return texts
}

const start = (config: string): void => {
  const context = createContext(config)
  let serving: Blueprint | undefined
  let candidate: LoadedVersion | undefined
  const build = async (request: Build): Promise<void> => {
    await candidate?.snapshot.retire()
    candidate = undefined
    try {
      candidate = await loadVersion(context, serving, request)
      send(buildMessage(candidate, serving, request))
    } catch (thrown) {
      send(problemsMessage(thrown, config))
    }
  }
  const markLive = ({ blueprint, snapshot, files, from }: LoadedVersion): void => {
    const { version, hash, plugins } = blueprint
    serving = blueprint
    context.log.level(snapshot.settings.log.level)
    const time = new Date().toISOString()
    const texts = Object.fromEntries(files)
    try {
      context.history.save({ version, hash, time, files: texts, plugins, ...(from && { from }) })
    } catch (error) {
      context.log.error({ version, error }, 'this version could not be stored for a rollback')
    }
  }
  process.on('message', async (message: ToBuilder) => {
    if (message.type === 'serving') serving = JSON.parse(message.sealed.blueprint) as Blueprint
    if (message.type === 'build') await build(message)
    if (message.type === 'live' && candidate) markLive(candidate)
    if (message.type === 'welcome') {
      send({
        type: 'welcomed',
        texts: candidate ? await runWelcomeHooks(context, candidate, message.url) : [],
      })
    }
  })
  process.on('disconnect', () => process.exit(0))
  // A terminal signals the whole process group; the primary decides when the builder ends.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  setInterval(() => send({ type: 'beat' }), HEARTBEAT)
  send({ type: 'up' })
}
start(process.argv[2] ?? '')
