/** Problem codes: those in the source are the same as those on the page docs/problems.md. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const ROOT = join(import.meta.dirname, '../../..')
const text = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const sources = (pattern: string) => globSync(pattern, { cwd: ROOT }).map(text)
const all = (texts: readonly string[], pattern: RegExp) =>
  texts.flatMap(each => [...each.matchAll(pattern)].map(([, code = '']) => code))

/** Codes in problem tables, in compiling, in the builder, and in reports and faults of plugins. */
const codes = () => {
  const config = sources('engine/config/**/*.ts')
  const processes = sources('engine/processes/{builder,worker}{,/*}.ts')
  const plugins = sources('plugins/**/*.ts')
  const tables = all(config, /\bdefineProblems\(\{([\s\S]*?)\n\}\)/g)
  return new Set([
    ...all(tables, /^ {2}([A-Z_]+):/gm),
    ...all(config, /\bcode: '([A-Z_]+)'/g),
    ...all(config, /\bdescribeError\(\w+, '([A-Z_]+)'/g),
    ...all(processes, /\{ code(?::| =) '([A-Z_]+)'/g),
    ...all(processes, /\boneProblem\(\s*config,\s*'([A-Z_]+)'/g),
    ...all(plugins, /\breport\([\s\S]{0,80}?'([A-Z]+_[A-Z_]+)'/g),
    ...all(plugins, /^ {2}([A-Z_]+): \[\s*500,/gm),
  ])
}
const documentedCodes = [...text('docs/problems.md').matchAll(/^### ([A-Z_]+)$/gm)].map(
  ([, code]) => code,
)

t.test('problem codes: docs/problems.md lists every code and no other', async t => {
  t.ok(codes().size > 50, 'the search finds codes')
  t.same(
    documentedCodes.filter(code => !codes().has(code ?? '')),
    [],
    'on the page, but nowhere in the source',
  )
  t.same(
    [...codes()].filter(code => !documentedCodes.includes(code)),
    [],
    'in the source, but not on the page',
  )
  t.equal(new Set(documentedCodes).size, documentedCodes.length, 'each once')
})

t.test('problem codes: each has a meaning, an example and a remedy', async t => {
  for (const part of text('docs/problems.md').split(/^### /m).slice(1)) {
    const [code = '', ...rest] = part.split('\n')
    const body = rest.join('\n')
    t.match(body, /^\n\S.{10,}/, `${code}: meaning`)
    t.match(body, /`.+`|^ {4}\S/m, `${code}: example`)
    t.match(body, /\*\*Way out\*\*: \S.{5,}/, `${code}: way out`)
  }
})

t.test('problem codes: the corpus covers each code that a file can cause', async t => {
  const corpus = text('test/fixtures/config/expected.json')
  const elsewhere = [
    'CONFIG_MISSING',
    'ENV_SYNTAX',
    // test/journeys/upstreams/new-variables.test.ts
    'ENV_UNREADABLE',
    'MIGRATION_FAILED',
    'NO_VERSION',
    'PREPARE_FAILED',
    // test/engine/processes/builder-client.test.ts and test/engine/cli/check.test.ts
    'PLUGIN_HANGS',
    'PLUGIN_ENDS',
    'BUILD_HANGS',
    'BUILDER_ENDS',
  ]
  const tables = all(sources('engine/config/**/*.ts'), /\bdefineProblems\(\{([\s\S]*?)\n\}\)/g)
  for (const code of new Set(all(tables, /^ {2}([A-Z_]+):/gm)))
    if (!elsewhere.includes(code)) t.match(corpus, new RegExp(`\\b${code}\\b`), code)
})
