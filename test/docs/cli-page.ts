/** Writes docs/cli.md from the help pages: `npm run docs`. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Command, Terminal } from '../../engine/cli/command.ts'
import { COMMANDS } from '../../engine/cli/commands.ts'
import { readOnlyDatabase } from '../../engine/cli/databases.ts'
import { helpOf } from '../../engine/cli/help.ts'
import { withPluginCommands } from '../../engine/cli/plugin-commands.ts'
import { recordingTerminal, tollgate } from '../helpers/gateway/command-line.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
export const PAGE = `${root}/docs/cli.md`

const INTRODUCTION = `# The command line

\`tollgate\` is \`node engine/bin.cjs\`. Commands of plugins (\`accounts\`, \`keys\`, \`models\`, \`usage\` and more as shipped) come with the configuration.
With \`--json\` every command prints JSON for programs. Nothing asks questions; \`NO_COLOR\` is respected. This page is made from the tables of
the commands (\`npm run docs\`).
`

/** The help of a command; for a group also the help of each of its commands. */
const pagesOf = (name: string, command: Command, terminal: Terminal): string => {
  const subcommands = 'subcommands' in command ? Object.entries(command.subcommands) : []
  return [
    `## ${name}\n\n${fence(helpOf(name, command, terminal))}`,
    ...subcommands.map(([subcommand, each]) => {
      const path = `${name} ${subcommand}`
      return `### ${path}\n\n${fence(helpOf(path, each, terminal))}`
    }),
  ].join('\n')
}

export const cliPage = async (env: Readonly<Record<string, string>> = {}): Promise<string> => {
  const config = `${root}/routes.yaml`
  const terminal = recordingTerminal(env)
  const overview = (await tollgate(['--help'], { ...env, TOLLGATE_CONFIG: config })).out
  const enginePages = await Promise.all(
    Object.entries(COMMANDS).map(async ([name, load]) => pagesOf(name, await load(), terminal)),
  )
  const pluginPages = await withPluginCommands(config, terminal, readOnlyDatabase, async commands =>
    [...commands].map(([name, command]) => pagesOf(name, command, terminal)),
  )
  return [INTRODUCTION, fence(overview), ...enginePages, ...pluginPages].join('\n')
}
const fence = (text: string): string => `\`\`\`\n${text}\n\`\`\`\n`

if (import.meta.main) writeFileSync(PAGE, await cliPage())
