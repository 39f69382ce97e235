/** The builder process (`node builder.ts <routes.yaml>`, forked): builds and checks every version
 *  outside the processes that serve traffic, and saves the versions that go live. */
import { decodeBlueprint, type EncodedParts, withoutTexts } from '../config/compile/blueprint.ts'
import { renewEnvFile } from '../config/env-file.ts'
import { type Blueprint, describeChange } from '../config/load.ts'
import { asFault } from '../errors.ts'
import { checkDataFolder, reportBuild, reportProblems } from './builder/build-report.ts'
import { type BuilderContext, createContext } from './builder/context.ts'
import { inspect } from './builder/inspect.ts'
import { removeStartRecord, saveStartRecord } from './builder/start-record.ts'
import { type LoadedVersion, loadVersion } from './builder/versions.ts'
import { runWelcomeHooks } from './builder/welcome-hooks.ts'
import {
  type Build,
  type BuiltVersion,
  type FromBuilder,
  HEARTBEAT,
  type Inspection,
  type ToBuilder,
} from './messages.ts'

const send = (message: FromBuilder): void => {
  // The `disconnect` event reports a primary that has ended.
  if (process.connected) process.send?.(message, () => {})
}

class Builder {
  readonly #context: BuilderContext
  /** The live version. */
  #serving: Blueprint | undefined
  /** Parts of the live version: messages to the primary leave out their texts. */
  #servingParts: EncodedParts | undefined
  /** The version built last. */
  #candidate: LoadedVersion | undefined
  /** Who asked for it. */
  #by: Build['by']
  /** The report to the primary about it, if it was new. */
  #built: BuiltVersion | undefined

  constructor(config: string) {
    this.#context = createContext(config, send)
  }
  async onMessage(message: ToBuilder): Promise<void> {
    if (message.type === 'serving') {
      const encoded = message.encodedVersion.blueprint
      this.#serving = decodeBlueprint(encoded).blueprint
      this.#servingParts = encoded
    }
    if (message.type === 'build') await this.#build(message)
    if (message.type === 'live' && this.#candidate) this.#markLive(this.#candidate)
    if (message.type === 'welcome')
      send({ type: 'welcomed', texts: await this.#welcome(message.url) })
    if (message.type === 'inspect') await this.#inspect(message.id, message.inspection)
  }

  async #build(request: Build): Promise<void> {
    const previous = this.#candidate
    this.#candidate = undefined
    this.#by = request.by
    try {
      renewEnvFile(this.#context.config)
      if (!this.#serving) checkDataFolder(this.#context.config)
      this.#candidate = await loadVersion(this.#context, this.#serving, request)
      const report = reportBuild(this.#candidate, this.#serving, request)
      this.#built = report.type === 'built' ? report : undefined
      send(this.#built ? shorten(this.#built, this.#servingParts) : report)
    } catch (error) {
      send(reportProblems(error, this.#context.config))
    }
    // The next version takes over what both share.
    await previous?.snapshot.retire()
  }
  #markLive({ blueprint, parts, snapshot, files, from, reads, sources }: LoadedVersion): void {
    const { config, cacheFolder, log, history } = this.#context
    const { version, hash, plugins } = blueprint
    const change = this.#serving && { change: describeChange(this.#serving, blueprint) }
    this.#serving = blueprint
    this.#servingParts = parts
    log.level(snapshot.settings.log.level)
    const time = new Date().toISOString()
    const texts = Object.fromEntries(files)
    try {
      const entry = { version, hash, time, files: texts, plugins, ...change }
      history.save({ ...entry, ...(from && { from }), ...(this.#by && { by: this.#by }) })
      const { text } = reads
      // A start reads the files, which a rollback leaves unchanged.
      if (from !== undefined || !this.#built) removeStartRecord(config, cacheFolder)
      else
        saveStartRecord(config, cacheFolder, { inputs: reads.inputs(sources), text }, this.#built)
    } catch (error) {
      log.error({ version, error }, 'this version could not be stored for a rollback')
    }
  }
  async #inspect(id: number, inspection: Inspection): Promise<void> {
    try {
      send({ type: 'inspected', id, result: await inspect(this.#context, inspection) })
    } catch (cause) {
      const { code, status, message } = asFault(cause)
      send({ type: 'inspected', id, error: { code, status, message } })
    }
  }
  async #welcome(url: string): Promise<readonly string[]> {
    return this.#candidate ? runWelcomeHooks(this.#context, this.#candidate, url) : []
  }
}

/** Without the texts of `known`, the parts of the live version. */
const shorten = (built: BuiltVersion, known: EncodedParts | undefined): BuiltVersion =>
  known ? { ...built, blueprint: withoutTexts(built.blueprint, known) } : built

const start = (config: string): void => {
  const builder = new Builder(config)
  process.on('message', (message: ToBuilder) => builder.onMessage(message))
  process.on('disconnect', () => process.exit(0))
  // A terminal signals the whole process group; the primary decides when the builder ends.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGQUIT', 'SIGHUP'] as const)
    process.on(signal, () => {})
  setInterval(() => send({ type: 'beat' }), HEARTBEAT)
  send({ type: 'up' })
}
start(process.argv[2] ?? '')
