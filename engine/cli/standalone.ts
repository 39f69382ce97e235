/** Runs the commands of plugins that need no routes: reads the settings and imports one plugin. */
import type { Bundle } from '../config/compile/blueprint.ts'
import { createHostBase } from '../config/compile/host.ts'
import { bundlePlugins } from '../config/plugins/bundle.ts'
import { pluginFolders } from '../config/plugins/plugin-folders.ts'
import { fileSource, type Reading, read } from '../config/read.ts'
import { readSettings, type Settings } from '../config/settings.ts'
import type { Resources } from '../snapshot/resources.ts'
import type { Command, Terminal } from './command.ts'
import { withCache } from './command-cache.ts'
import { findCommand } from './find-command.ts'
import { NeedsRoutesError } from './kit.ts'
import { findLastLive, lastLiveNote } from './last-live.ts'
import { type Open, withResources } from './load-for-command.ts'
import { bindHost } from './plugin-commands.ts'

/** Calls `run` with the command; undefined if no plugin has it, or if it needs routes. Rejects with
 *  NEEDS_ROUTES if it turns out to. */
export const withStandaloneCommand = async <T>(
  config: string,
  name: string,
  terminal: Terminal,
  open: Open,
  run: (command: Command) => Promise<T>,
): Promise<T | undefined> => {
  const usable = readUsable(config, terminal)
  if (!usable) return undefined
  const { reading, settings } = usable
  return withCache(settings.data, async folder => {
    const bundles =
      usable.bundles ?? (await bundlePlugins(pluginFolders(reading), reading.root, folder)).bundles
    const command = await findCommand(name, config, bundles, folder)
    if (!command?.standalone) return undefined
    if (usable.note !== undefined) terminal.printError(usable.note)
    return withResources(settings, open, resources =>
      run(bindHost(command, use => use(createHost(resources, reading, settings)), settings.data)),
    )
  })
}

interface Usable {
  readonly reading: Reading
  readonly settings: Settings
  readonly bundles?: readonly Bundle[]
  readonly note?: string
}
/** The files where their settings can be read, else the version that went live last. */
const readUsable = (config: string, terminal: Terminal): Usable | undefined => {
  const { env } = terminal
  const reading = read(config, fileSource(env))
  const isMissing = reading.problems.some(({ code }) => code === 'CONFIG_MISSING')
  const settings = reading.isBroken ? undefined : settingsIn(reading, env)
  if (settings) return { reading, settings }
  const live = isMissing ? undefined : findLastLive(config, terminal)
  const earlier = live && read(config, live.source)
  const earlierSettings = earlier && settingsIn(earlier, env)
  if (!earlierSettings) return undefined
  const note = lastLiveNote(config, live)
  return { reading: earlier, settings: earlierSettings, bundles: live.bundles, note }
}
const settingsIn = ({ document }: Reading, env: Terminal['env']): Settings | undefined => {
  try {
    return readSettings(document.settings as object, env)
  } catch {
    return undefined
  }
}

const createHost = (resources: Resources, { document, root }: Reading, settings: Settings) => {
  const refuse = (): never => {
    throw new NeedsRoutesError()
  }
  const host = createHostBase(resources, {
    version: 0,
    hash: '',
    root,
    document,
    pluginsByName: new Map(),
    upstreams: {},
    settings,
    routes: refuse,
    match: refuse,
    pin: refuse,
    pins: refuse,
    run: refuse,
    send: refuse,
    checkUrl: refuse,
    releases: [],
  })
  return Object.defineProperty(host, 'upstreams', { get: refuse })
}
