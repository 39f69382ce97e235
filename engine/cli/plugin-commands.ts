/** Verbs that plugins lend: found in the configuration, run with its database and its snapshot. */

import type { Command } from '../plugin.ts'
import { lendBeside } from '../upstream/direct-send.ts'
import { type Offline, type Open, withLoaded } from './offline.ts'
import type { Options, Terminal, Verb } from './verb.ts'

const ANY = 99

/** Runs with what the plugins of this configuration lend, by name. Throws ProblemsError. */
export const withLent = <T>(
  config: string,
  terminal: Terminal,
  open: Open,
  run: (verbs: ReadonlyMap<string, Verb>) => Promise<T>,
): Promise<T> =>
  withLoaded(config, terminal, open, loaded => {
    const commands = [...loaded.plugins.values()].flatMap(({ commands = {} }) =>
      Object.entries(commands),
    )
    return run(new Map(commands.map(([name, command]) => [name, asVerb(name, command, loaded)])))
  })

const asVerb = (name: string, command: Command, loaded: Offline): Verb => ({
  usage: '[ACTION]',
  summary: command.summary,
  example: (command.example ?? name).replace(/^tollgate /, ''),
  options: Object.fromEntries(
    Object.entries(command.options ?? {}).map(([key, option]) => [key, { summary: '', ...option }]),
  ) as Options,
  takes: [0, ANY],
  run: async ({ values, positionals }) => {
    const held: (() => void)[] = []
    try {
      const lent = lendBeside(loaded.resources, loaded, held, 'a command runs no routes')
      return await command.run({ values: values as Given, positionals }, lent)
    } finally {
      for (const release of held) release()
    }
  },
})
type Given = Parameters<Command['run']>[0]['values']
