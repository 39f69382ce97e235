/** Writes docs/cli.md from the help pages: `npm run docs`. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { helpOf } from '../../engine/cli/help.ts'
import { readOnlyDatabase } from '../../engine/cli/offline.ts'
import { withLent } from '../../engine/cli/plugin-commands.ts'
import type { Command, Terminal } from '../../engine/cli/verb.ts'
import { COMMANDS } from '../../engine/cli.ts'
import { remembering, tollgate } from '../helpers/terminal.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
export const PAGE = `${root}/docs/cli.md`

const INTRODUCTION = `# The command line

\`tollgate\` is \`node engine/bin.cjs\`. Commands of plugins (\`accounts\`, \`keys\`, \`models\`, \`usage\` and more as shipped) come with the configuration.
With \`--json\` every command prints JSON for programs. Nothing asks questions; \`NO_COLOR\` is respected. This page is made from the tables of
the commands (\`npm run docs\`).
`

/** The help of a command, and below it that of each of its verbs. */
const pagesOf = (name: string, command: Command, terminal: Terminal): string => {
  const verbs = 'verbs' in command ? Object.entries(command.verbs) : []
  return [
    `## ${name}\n\n${fence(helpOf(name, command, terminal))}`,
    ...verbs.map(([word, verb]) => {
      const path = `${name} ${word}`
      return `### ${path}\n\n${fence(helpOf(path, verb, terminal))}`
    }),
  ].join('\n')
}

export const cliPage = async (env: Readonly<Record<string, string>> = {}): Promise<string> => {
  const config = `${root}/routes.yaml`
  const terminal = remembering(env)
  const overview = (await tollgate(['--help'], { ...env, TOLLGATE_CONFIG: config })).out
  const own = await Promise.all(
    Object.entries(COMMANDS).map(async ([name, load]) => pagesOf(name, await load(), terminal)),
  )
  const pluginPages = await withLent(config, terminal, readOnlyDatabase, async commands =>
    [...commands].map(([name, command]) => pagesOf(name, command, terminal)),
  )
  return [INTRODUCTION, fence(overview), ...own, ...pluginPages].join('\n')
}
const fence = (text: string): string => `\`\`\`\n${text}\n\`\`\`\n`

if (import.meta.main) writeFileSync(PAGE, await cliPage())
