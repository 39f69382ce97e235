/** Makes docs/cli.md from the help pages: `npm run docs`. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { tollgate } from '../helpers/terminal.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
export const PAGE = `${root}/docs/cli.md`

const INTRODUCTION = `# The command line

\`tollgate\` is \`node engine/bin.cjs\`. Verbs that plugins lend (\`accounts\`, \`keys\`, \`models\`, \`usage\` and more as shipped) come with the configuration. With
\`--json\` every verb prints JSON for programs. Nothing asks questions; \`NO_COLOR\` is respected. This page is made from the help of each verb
(\`npm run docs\`).
`

export const cliPage = async (env: Readonly<Record<string, string>> = {}): Promise<string> => {
  const help = async (...argv: string[]): Promise<string> => {
    return (await tollgate([...argv, '--help'], { ...env, TOLLGATE_CONFIG: `${root}/routes.yaml` }))
      .out
  }
  const overview = await help()
  const verbs = [...overview.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, verb = '']) => verb)
  const pages = []
  for (const verb of verbs) pages.push(`## ${verb}\n\n${fenced(await help(verb))}`)
  return [INTRODUCTION, fenced(overview), ...pages].join('\n')
}
const fenced = (text: string): string => `\`\`\`\n${text}\n\`\`\`\n`

if (import.meta.main) writeFileSync(PAGE, await cliPage())
