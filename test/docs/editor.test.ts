/** schemas/routes.json in an editor: the shipped files are without errors, and a mistake is marked
 *  where `tollgate check` names it. */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Problem, problemHint, problemText } from '../../engine/config/problem.ts'
import { usedFolder } from '../helpers/cache.ts'
import { useShippedPlugins } from '../helpers/environment.ts'
import { tollgate } from '../helpers/gateway/command-line.ts'
import { startLanguageServer } from '../helpers/language-server.ts'

const ROOT = join(import.meta.dirname, '../..')
const HEAD = `# yaml-language-server: $schema=${ROOT}/schemas/routes.json\n`
const diagnostics = await startLanguageServer(t)

t.test('editor: shipped files have no errors, also if they have variables', async t => {
  const files = [
    'routes.yaml',
    'program/config/*.yaml',
    'deploy/routes.yaml',
    'models/*.yaml',
  ].flatMap(pattern => globSync(pattern, { cwd: ROOT }))
  t.ok(files.length > 10)
  for (const file of [...files, ...globSync('examples/*/routes.yaml', { cwd: ROOT })]) {
    const text = readFileSync(join(ROOT, file), 'utf8')
    // A schema of the shipped plugins does not know the plugins of an example.
    if (!text.includes('yaml-language-server')) continue
    t.same(await diagnostics(join(ROOT, file), text), [], file)
  }
})

t.test('editor: marks the places that `tollgate check` names', async t => {
  const folder = t.testdir({})
  const mistakes = `settings:
  listn: 127.0.0.1:1
  durability: pwer
  limits: { urll: 1kb }
  admin: '\${ADMIN:-abc}'
  workers: none
upstreams:
  a: { url: api.openai.com }
routes:
  - { path: POTS /x, upstream: a, limit: { requests: 60/minute } }
`
  const marks = await diagnostics(`${folder}/routes.yaml`, HEAD + mistakes)
  writeFileSync(`${folder}/routes.yaml`, HEAD + mistakes)
  usedFolder(`${folder}/data`)
  useShippedPlugins(t)
  const argv = ['check', '--json', '-c', `${folder}/routes.yaml`]
  const { out } = await tollgate(argv, { TOLLGATE_DATA: `${folder}/data` })
  const { problems } = JSON.parse(out) as { problems: Problem[] }
  const places = (texts: readonly string[]) =>
    [...new Set(texts.map(each => each.split(' ')[0]))].toSorted()
  // `check` finds more than the schema: a plugin that never runs, the value of a variable.
  const bySchema = problems.filter(({ code, line }) => code !== 'NO_PIPELINE' && line !== 6)
  t.same(places(marks), places(bySchema.map(({ line, column }) => `${line}:${column} `)))
  const sentenceAt = new Map(
    marks.map(mark => [mark.split(' ', 1)[0], mark.slice(mark.indexOf(' ') + 1)]),
  )
  // No schema can name the key that was typed: the editor underlines it.
  for (const problem of bySchema) {
    const sentence = sentenceAt.get(`${problem.line}:${problem.column}`) ?? ''
    const text = [problemText(problem), problemHint(problem)].join(' ')
    t.ok(text.includes(sentence) && sentence.length > 10, `${text}: ${sentence}`)
  }
})
