/** Plugin commands: found by the configuration, run with its database and snapshot. */
import { createDetachedHost } from '../config/compile/host.ts'
import type { CommandOf, HostBase } from '../plugin.ts'
import type { VerbOf } from './contract.ts'
import { type Offline, type Open, withLoaded } from './offline.ts'
import type { Command, Terminal, Verb } from './verb.ts'

/** Runs with the commands of this configuration's plugins, by name. Throws ProblemsError. */
export const withLent = <T>(
  config: string,
  terminal: Terminal,
  open: Open,
  run: (commands: ReadonlyMap<string, Command>) => Promise<T>,
): Promise<T> =>
  withLoaded(config, terminal, open, loaded =>
    run(
      new Map(
        [...loaded.plugins.values()].flatMap(({ commands = {} }) =>
          Object.entries(commands).map(([name, command]) => [
            name,
            withHost(command, run => inHost(loaded, run)),
          ]),
        ),
      ),
    ),
  )

const inHost = async <T>(loaded: Offline, run: (host: HostBase) => Promise<T>): Promise<T> => {
  const held: (() => void)[] = []
  try {
    return await run(createDetachedHost(loaded.resources, loaded, held, 'a command runs no routes'))
  } finally {
    for (const release of held) release()
  }
}
type WithHost = <T>(run: (host: HostBase) => Promise<T>) => Promise<T>

/** A plugin's command as one of the engine: `lend` gives its verbs the host. */
export const withHost = (command: CommandOf<HostBase>, lend: WithHost): Command => {
  const bound = (verb: VerbOf<HostBase>): Verb => ({
    ...verb,
    run: args => lend(host => verb.run(args, host)),
  })
  if (!('verbs' in command)) return bound(command)
  const verbs = Object.entries(command.verbs).map(([name, verb]) => [name, bound(verb)] as const)
  return { ...command, verbs: Object.fromEntries(verbs) }
}
