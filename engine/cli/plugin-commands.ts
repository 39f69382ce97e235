/** Commands of plugins: found in the configuration, run with its database and snapshot. */
import { createDetachedHost } from '../config/compile/host.ts'
import type { CommandOf, HostBase } from '../plugin.ts'
import { commandGateway } from '../processes/builder/command-gateway.ts'
import { type Command, progressOn, type SingleCommand, type Terminal } from './command.ts'
import type { CommandArguments, SingleCommandOf } from './contract.ts'
import type { LiveVersion } from './last-live.ts'
import { type CommandConfig, type Open, withLoadedConfig } from './load-for-command.ts'
import { askAdmin } from './running.ts'

/** Loads the configuration and calls `run` with the commands of its plugins, by name. Throws
 *  ProblemsError. */
export const withPluginCommands = <T>(
  config: string,
  terminal: Terminal,
  open: Open,
  run: (commands: ReadonlyMap<string, Command>) => Promise<T>,
  live?: LiveVersion,
): Promise<T> =>
  withLoadedConfig(
    config,
    terminal,
    open,
    configuration =>
      run(
        new Map(
          [...configuration.plugins.values()].flatMap(({ commands = {} }) =>
            Object.entries(commands).map(([name, command]) => [
              name,
              bindHost(
                command,
                run => withHost(withGateway(config, configuration), run),
                configuration.snapshot.settings.data,
              ),
            ]),
          ),
        ),
      ),
    live,
  )

/** The gateway of a command changes files. */
const withGateway = (config: string, configuration: CommandConfig): CommandConfig => {
  const { resources, snapshot } = configuration
  const gateway = commandGateway(config, snapshot.settings.data, resources)
  return { ...configuration, resources: { ...resources, gateway } }
}

/** Calls `run` with a host of the configuration, and releases what plugins shared. */
export const withHost = async <T>(
  configuration: CommandConfig,
  run: (host: HostBase) => Promise<T>,
): Promise<T> => {
  const releases: (() => void)[] = []
  const { resources } = configuration
  try {
    const host = createDetachedHost(resources, configuration, releases, 'a command runs no routes')
    return await run(host)
  } finally {
    for (const release of releases) release()
  }
}
type WithHost = <T>(run: (host: HostBase) => Promise<T>) => Promise<T>

/** Converts a command of a plugin to one of the engine. `withHost` creates the host of each run.
 *  `data`: the data folder whose gateway it may ask. */
export const bindHost = (
  command: CommandOf<HostBase>,
  withHost: WithHost,
  data?: string,
): Command => {
  const ask: CommandArguments['ask'] = data === undefined ? undefined : path => askAdmin(data, path)
  const bindSingle = (single: SingleCommandOf<HostBase>): SingleCommand => ({
    ...single,
    run: (args, terminal) =>
      withHost(host =>
        single.run({ ...args, ...(ask && { ask }), report: progressOn(terminal) }, host),
      ),
  })
  if (!('subcommands' in command)) return bindSingle(command)
  const subcommands = Object.entries(command.subcommands).map(
    ([name, single]) => [name, bindSingle(single)] as const,
  )
  return { ...command, subcommands: Object.fromEntries(subcommands) }
}
