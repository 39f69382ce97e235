/** Makes docs/cli.md from the help pages: `npm run docs`. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { helpOf } from '../../engine/cli/help.ts'
import { readOnlyDatabase } from '../../engine/cli/offline.ts'
import { withLent } from '../../engine/cli/plugin-commands.ts'
import { remembering, tollgate } from '../helpers/terminal.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
export const PAGE = `${root}/docs/cli.md`

const INTRODUCTION = `# The command line

\`tollgate\` is \`node engine/bin.cjs\`. Verbs that plugins lend (\`accounts\`, \`keys\`, \`models\`, \`usage\` and more as shipped) come with the configuration. With
\`--json\` every verb prints JSON for programs. Nothing asks questions; \`NO_COLOR\` is respected. This page is made from the help of each verb
(\`npm run docs\`).
`

export const cliPage = async (env: Readonly<Record<string, string>> = {}): Promise<string> => {
  const config = `${root}/routes.yaml`
  const help = async (...argv: string[]): Promise<string> =>
    (await tollgate([...argv, '--help'], { ...env, TOLLGATE_CONFIG: config })).out
  const overview = await help()
  const verbs = [...overview.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, verb = '']) => verb)
  const terminal = remembering(env)
  // The configuration is loaded once for all that it lends; the last of them is asked as anybody would.
  const lent = await withLent(
    config,
    terminal,
    readOnlyDatabase,
    async lent => new Map([...lent].map(([name, verb]) => [name, helpOf(name, verb, terminal)])),
  )
  const pages = []
  for (const verb of verbs) {
    const known = verb === verbs.at(-1) ? undefined : lent.get(verb)
    pages.push(`## ${verb}\n\n${fenced(known ?? (await help(verb)))}`)
  }
  return [INTRODUCTION, fenced(overview), ...pages].join('\n')
}
const fenced = (text: string): string => `\`\`\`\n${text}\n\`\`\`\n`

if (import.meta.main) writeFileSync(PAGE, await cliPage())
