/** `tollgate completion SHELL`: prints a script that completes commands, options and files. */
import {
  COMMON_OPTIONS,
  type Command,
  configOf,
  type Options,
  type SingleCommand,
} from '../../engine/cli/command.ts'
import { COMMANDS } from '../../engine/cli/commands.ts'
import { readOnlyDatabase } from '../../engine/cli/databases.ts'
import { EXIT, UsageError } from '../../engine/cli/kit.ts'
import { withPluginCommands } from '../../engine/cli/plugin-commands.ts'
import { type Entry, SHELLS } from './starter/shell-scripts.ts'

export default {
  arguments: 'SHELL',
  summary: 'Prints a completion script for bash, zsh or fish.',
  example: 'completion bash > /etc/bash_completion.d/tollgate',
  async run(args, terminal) {
    const [shell = ''] = args.positionals
    const script = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined
    if (!script) throw new UsageError(`there is no script for "${shell}": bash, zsh or fish`)
    const engine = await Promise.all(
      Object.entries(COMMANDS).map(async ([name, load]) => entryOf(name, await load())),
    )
    // Without a valid configuration only the commands of the engine are known.
    const plugins = await withPluginCommands(
      configOf(args, terminal),
      terminal,
      readOnlyDatabase,
      async commands => [...commands].map(([name, command]) => entryOf(name, command)),
    ).catch(() => [])
    terminal.print(script([...engine, ...plugins]))
    return EXIT.ok
  },
} satisfies SingleCommand

const entryOf = (name: string, command: Command): Entry => {
  const isGroup = 'subcommands' in command
  const singles = isGroup ? Object.values(command.subcommands) : [command]
  const options: Options = Object.assign({}, ...singles.map(each => each.options), COMMON_OPTIONS)
  return {
    name,
    summary: command.summary,
    subcommands: isGroup ? Object.keys(command.subcommands) : [],
    options: Object.entries(options).map(([option, { summary }]) => ({ name: option, summary })),
  }
}
