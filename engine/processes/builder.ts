/** The process that tries every new version apart from traffic: `node builder.ts <routes.yaml>`, forked. Keeps the history. */
import { dirname, resolve } from 'node:path'
import { lendBeside } from '../config/compile/host.ts'
import { type Blueprint, describeChange, type Loaded, load } from '../config/load.ts'
import { type Problem, ProblemsError } from '../config/problem.ts'
import { archivedSource, fileSource, read } from '../config/read.ts'
import { readSettings } from '../config/settings.ts'
import { createLog, type ProcessLog } from '../observe/log.ts'
import { createMetrics } from '../observe/metrics.ts'
import { createLocalAllowances } from '../quota/allowance.ts'
import { Turns } from '../request/background-calls.ts'
import type { Resources } from '../snapshot/host.ts'
import { Shared } from '../snapshot/shared-resources.ts'
import type { Settings } from '../snapshot/snapshot.ts'
import { openDatabase } from '../store/database.ts'
import { noJobs } from '../store/jobs.ts'
import { createMembership } from '../store/membership.ts'
import { History } from './history.ts'
import { lateDatabase } from './lazy-database.ts'
import { BEAT, type Build, type FromBuilder, type ToBuilder } from './messages.ts'

interface Tried extends Loaded {
  /** The version it brings back. */
  readonly from?: number
}
interface Bench {
  readonly config: string
  readonly cacheFolder: string
  readonly history: History
  readonly log: ProcessLog
  readonly resources: Resources
}
const METRICS = 5_000
/** What a plugin's `welcome` may take, ms. */
const PATIENCE = 10_000

const tell = (message: FromBuilder): void => {
  // A primary that has just ended is noticed by `disconnect`.
  if (process.connected) process.send?.(message, () => {})
}

/** As far as they can be known before anything is checked: the check will say what is wrong. */
const firstSettings = (config: string): Settings => {
  try {
    return readSettings(read(config, fileSource()).document.settings as object)
  } catch {
    return readSettings()
  }
}

const openBench = (config: string): Bench => {
  const { data, database: url, durability, log: wanted } = firstSettings(config)
  const cacheFolder = resolve(data, 'cache')
  const log = createLog({ level: wanted.level, process: 'builder' })
  const metrics = createMetrics('builder')
  setInterval(() => tell({ type: 'metrics', samples: metrics.report() }), METRICS)
  // No folder is made and no store opened for a configuration that does not even pass the check.
  const database = lateDatabase(() => {
    tell({ type: 'store', store: { database: url, data, durability } })
    return openDatabase({ url, data, opening: 8_000 })
  })
  const allowances = createLocalAllowances()
  const shared = new Shared()
  return {
    ...{ config, cacheFolder, history: new History(resolve(data, 'history'), cacheFolder), log },
    resources: {
      ...{ role: 'builder', log, metrics, database, shared, allowances, jobs: noJobs },
      turns: new Turns(),
      membership: createMembership({ database, log }),
    },
  }
}

/** An earlier version's texts and bundles, with the variables of today. */
const archived = ({ config, history }: Bench, current: number, wanted: number | 'previous') => {
  const entry = wanted === 'previous' ? history.before(current) : history.find(wanted)
  if (!entry) {
    const which = wanted === 'previous' ? `before #${current}` : `#${wanted}`
    const message = `no version ${which} is kept; see history/ in the data folder`
    throw new ProblemsError([{ code: 'NO_VERSION', message, file: config, line: 1, column: 1 }])
  }
  const source = archivedSource(dirname(resolve(config)), entry.files, fileSource())
  return { source, bundles: entry.plugins, from: entry.from ?? entry.version }
}

/** Loads the files, or an archived version. The files of a start may be those of the last one: then it keeps its number. */
const attempt = async (bench: Bench, serving: Blueprint | undefined, { rollback }: Build) => {
  const { config, cacheFolder, resources, history } = bench
  const last = history.last
  const version = Math.max(serving?.version ?? 0, last?.version ?? 0) + 1
  const from = rollback && archived(bench, serving?.version ?? 0, rollback)
  const loaded: Tried = {
    ...(await load({
      ...{ config, version, cacheFolder, resources, ...from },
      progress: file => tell({ type: 'step', file }),
    })),
    ...(from && { from: from.from }),
  }
  if (serving || last?.hash !== loaded.blueprint.hash) return loaded
  return { ...loaded, blueprint: { ...loaded.blueprint, version: last.version } }
}

const describe = (tried: Tried, before: Blueprint | undefined, { unless }: Build): FromBuilder => {
  const { blueprint, snapshot, watched, secrets, from } = tried
  if (blueprint.hash === before?.hash || blueprint.hash === unless)
    return { type: 'unchanged', watched }
  const change = before ? describeChange(before, blueprint) : ''
  return {
    type: 'built',
    ...{ version: blueprint.version, hash: blueprint.hash, settings: snapshot.settings, watched },
    blueprint: JSON.stringify(blueprint),
    secrets: [...secrets],
    change: from === undefined ? change : `back to #${from}: ${change}`,
    admin: [...snapshot.admin.keys()].sort(),
    inside: [...snapshot.upstreams].flatMap(([name, { view }]) => (view.inside ? name : [])),
  }
}

const refuse = (thrown: unknown, config: string): FromBuilder => {
  if (thrown instanceof ProblemsError) {
    const { problems, message, watched } = thrown
    return { type: 'problems', problems, text: message, watched }
  }
  const { code = 'LOAD_FAILED', message, path = '' } = thrown as NodeJS.ErrnoException
  const { data } = firstSettings(config)
  if (/^E[A-Z]+$/.test(code) && path.startsWith(resolve(data))) {
    const text = `the data folder "${data}" cannot be used: ${message}; it is named by settings.data or TOLLGATE_DATA, and must be a folder that this user may write to`
    const found = { code: 'DATA_FOLDER', message: text, file: config, line: 1, column: 1 }
    return { type: 'problems', problems: [found], text: `${found.code}  ${text}`, watched: [] }
  }
  const problem: Problem = { code, message, file: config, line: 1, column: 1 }
  return { type: 'problems', problems: [problem], text: `${code}  ${message}`, watched: [] }
}

/** What plugins want to say once the gateway serves. */
const welcome = async ({ resources }: Bench, tried: Tried, url: string) => {
  const held: (() => void)[] = []
  const lent = lendBeside(resources, tried, held, 'a welcome runs no routes')
  const texts: string[] = []
  for (const [name, plugin] of tried.plugins) {
    try {
      const late = new Promise<never>((_, reject) =>
        setTimeout(() => reject(new Error(`no word after ${PATIENCE} ms`)), PATIENCE).unref(),
      )
      const text = await Promise.race([plugin.welcome?.(lent, { url }), late])
      if (text) texts.push(text)
    } catch (error) {
      resources.log.error({ plugin: name, error }, 'a welcome failed')
    }
  }
  for (const release of held) release()
  return texts
}

const start = (config: string): void => {
  const bench = openBench(config)
  let serving: Blueprint | undefined
  let tried: Tried | undefined
  const build = async (request: Build): Promise<void> => {
    await tried?.snapshot.retire()
    tried = undefined
    try {
      tried = await attempt(bench, serving, request)
      tell(describe(tried, serving, request))
    } catch (thrown) {
      tell(refuse(thrown, config))
    }
  }
  const live = ({ blueprint, snapshot, files, from }: Tried): void => {
    const { version, hash, plugins } = blueprint
    serving = blueprint
    bench.log.level(snapshot.settings.log.level)
    const time = new Date().toISOString()
    const texts = Object.fromEntries(files)
    try {
      bench.history.save({ version, hash, time, files: texts, plugins, ...(from && { from }) })
    } catch (error) {
      bench.log.error({ version, error }, 'this version could not be kept for a rollback')
    }
  }
  process.on('message', async (message: ToBuilder) => {
    if (message.type === 'serving') serving = JSON.parse(message.sealed.blueprint) as Blueprint
    if (message.type === 'build') await build(message)
    if (message.type === 'live' && tried) live(tried)
    if (message.type === 'welcome') {
      tell({ type: 'welcomed', texts: tried ? await welcome(bench, tried, message.url) : [] })
    }
  })
  process.on('disconnect', () => process.exit(0))
  // A terminal signals the whole group; the primary says when.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  setInterval(() => tell({ type: 'beat' }), BEAT)
  tell({ type: 'up' })
}
start(process.argv[2] ?? '')
