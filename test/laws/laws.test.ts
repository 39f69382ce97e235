/** Each law finds its breaches, and the source tree has none. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { coverageOf } from './coverage.ts'
import { breachesIn, sourceFiles } from './laws.ts'
import { REQUEST_PART_LINES } from './sizes.ts'

const OPENING = '/** Owns an example. */\n'
const breachesOf = (files: Record<string, string>): string[] =>
  breachesIn(
    Object.entries(files).map(([path, text]) => ({
      path,
      text: path.endsWith('.json') ? text : OPENING + text,
    })),
  ).map(breach => `${breach.path}:${breach.line} ${breach.law}`)
const imports = (path: string): string => `import { thing } from '${path}'\n`

t.test('laws: the source tree has no breach', async t => {
  const files = sourceFiles(fileURLToPath(new URL('../..', import.meta.url)))
  t.ok(files.length > 10, 'the source was found')
  t.same(breachesIn(files), [])
})

t.test('registry: npx without --no-install is found in texts and sources', async t => {
  const breaches = breachesOf({
    'docs/start.md':
      'npx tollgate start\nnpx --yes tollgate start\nnpx --no-install tollgate start\n',
    'README.md': 'npx tap test/x.test.ts\nnode engine/bin.cjs start',
    'plugins/auth.ts': "export const HINT = 'Add credit: npx tollgate accounts credit admin 100'\n",
    'test/engine/x.test.ts': "export const line = 'npx tollgate init'\n",
  })
  t.same(breaches, [
    'docs/start.md:2 registry',
    'docs/start.md:3 registry',
    'README.md:2 registry',
    'plugins/auth.ts:2 registry',
  ])
})

t.test('layers: imports between engine, plugins and shared folders are checked', async t => {
  const cases: [from: string, to: string, allowed: boolean][] = [
    ['engine/server.ts', './plugin.ts', true],
    ['engine/server.ts', '../../plugins/auth.ts', false],
    ['engine/config/load.ts', '../../plugins/slots.ts', false],
    ['engine/plugin.ts', './errors.ts', false],
    ['engine/plugin.ts', './store/contract.ts', false],
    ['engine/store/contract.ts', '../plugin.ts', false],
    ['engine/store/contract.ts', 'node:http', false],
    ['engine/store/contract.ts', '../cli/contract.ts', false],
    ['plugins/auth.ts', '../engine/store/contract.ts', true],
    ['plugins/auth.ts', '../engine/store/jobs.ts', false],
    ['engine/plugin.ts', 'node:http', false],
    ['plugins/auth.ts', '../engine/plugin.ts', true],
    ['plugins/auth.ts', '../engine/errors.ts', true],
    ['plugins/auth.ts', '../engine/kit.ts', true],
    ['plugins/auth.ts', '../engine/cli/kit.ts', true],
    ['engine/cli/kit.ts', '../kit.ts', true],
    ['engine/cli/kit.ts', './command.ts', false],
    ['engine/kit.ts', './errors.ts', false],
    ['engine/kit.ts', 'lru-cache', false],
    ['plugins/auth.ts', '../engine/server.ts', false],
    ['plugins/auth.ts', './slots.ts', true],
    ['plugins/auth.ts', './errors.ts', false],
    ['plugins/auth.ts', './credentials/keys.ts', true],
    ['plugins/auth.ts', './model/index.ts', false],
    ['plugins/auth.ts', './model/listing.ts', false],
    ['plugins/slots.ts', './credentials/keys.ts', false],
    ['plugins/auth.ts', './views.ts', true],
    ['plugins/views.ts', './credentials/keys.ts', false],
    ['plugins/views.ts', './rows/money.ts', true],
    ['plugins/rows/calls.ts', './money.ts', true],
    ['plugins/rows/calls.ts', '../shapes.ts', true],
    ['plugins/rows/calls.ts', '../ledger/hold.ts', false],
    ['plugins/auth.ts', './rows/money.ts', true],
    ['plugins/model/listing.ts', './index.ts', true],
    ['plugins/model/listing.ts', '../ledger/hold.ts', true],
    ['plugins/model/listing.ts', '../auth.ts', false],
    ['plugins/ledger/hold.ts', '../credentials/keys.ts', true],
    ['plugins/ledger/hold.ts', '../billing/price.ts', true],
    ['plugins/ledger/hold.ts', '../catalogue/section.ts', true],
    ['plugins/catalogue/section.ts', '../ledger/hold.ts', false],
    ['plugins/ledger/hold.ts', '../model/listing.ts', false],
    ['plugins/billing/price.ts', '../ledger/hold.ts', false],
    ['plugins/credentials/keys.ts', '../ledger/hold.ts', false],
    ['plugins/credentials/keys.ts', '../formats/hub/prompt.ts', false],
    ['plugins/credentials/keys.ts', '../auth.ts', false],
    ['plugins/formats/anthropic-messages/encode.ts', '../hub/prompt.ts', true],
    ['plugins/formats/anthropic-messages/encode.ts', '../openai-chat/decode.ts', false],
    ['plugins/formats/index.ts', './openai-chat/decode.ts', true],
    ['examples/a/plugins/b.ts', './c.ts', true],
    ['examples/a/plugins/b.ts', '../../../engine/plugin.ts', false],
  ]
  const plugin = { 'plugins/model/index.ts': 'export default {}\n' }
  for (const [from, to, isAllowed] of cases) {
    const breaches = breachesOf({ ...plugin, [from]: imports(to) }).filter(text =>
      text.endsWith('layers'),
    )
    t.same(breaches, isAllowed ? [] : [`${from}:2 layers`], `${from} -> ${to}`)
  }
  const types = { 'engine/plugin.ts': "import type { Sql } from './store/contract.ts'\n" }
  t.same(breachesOf(types), [], 'the contract, types of its second part')
  const spread = {
    'engine/request/a.ts': "import {\n  one,\n  two,\n} from '../../plugins/auth.ts'\n",
  }
  t.same(breachesOf(spread), ['engine/request/a.ts:2 layers'], 'over several lines')
  const lazy = { 'engine/request/a.ts': "const later = () => import('../../plugins/auth.ts')\n" }
  t.same(breachesOf(lazy), ['engine/request/a.ts:2 layers'], 'at run time')
})

t.test('client: only engine/upstream imports the HTTP client', async t => {
  const client = imports('../http-client/pool.ts')
  t.same(breachesOf({ 'engine/request/a.ts': client }), ['engine/request/a.ts:2 client'])
  const type = "import type { Pool } from './http-client/pool.ts'\n"
  t.same(breachesOf({ 'engine/server.ts': type }), ['engine/server.ts:2 client'], 'also types')
  const own = imports('./pool.ts')
  t.same(breachesOf({ 'engine/upstream/a.ts': client, 'engine/http-client/a.ts': own }), [])
  t.same(breachesOf({ 'test/engine/a.test.ts': imports('../../engine/http-client/a.ts') }), [])
})

t.test('cycles: an import cycle is found', async t => {
  const cycle = {
    'engine/request/a.ts': imports('./b.ts'),
    'engine/request/b.ts': imports('./c.ts'),
    'engine/request/c.ts': imports('./a.ts'),
  }
  t.same(breachesOf(cycle), ['engine/request/a.ts:1 cycles'])
  t.same(breachesOf({ ...cycle, 'engine/request/c.ts': '' }), [])
})

t.test('vocabulary: words of AI gateways and vendors are refused in the engine', async t => {
  for (const word of ['model', 'accessToken', 'MAX_TOKENS', 'tokenize', 'OpenAI', 'prompts'])
    t.same(
      breachesOf({ 'engine/request/a.ts': `// ${word}\n` }),
      ['engine/request/a.ts:2 vocabulary'],
      word,
    )
  t.same(breachesOf({ 'engine/request/a.ts': '// promptly, remodelled\n' }), [])
  t.same(breachesOf({ 'plugins/model.ts': '// model\n' }), [], 'plugins may use it')
  t.same(breachesOf({ 'engine/config/sections/a.ts': '// model\n' }), [], 'so may descriptions')
  const wire = ["'x-api-key'", "'x-goog-api-key'", "'api-key'", "'mj-api-secret'"]
  for (const text of [...wire, 'body.stream === true', '{ stream?: unknown }']) {
    const path = 'engine/request/a.ts'
    t.same(breachesOf({ [path]: `const wire = ${text}\n` }), [`${path}:2 vocabulary`], text)
    t.same(breachesOf({ 'plugins/credentials/a.ts': `const wire = ${text}\n` }), [], text)
  }
})

t.test('sizes: the request part, a folder and loose files are bounded', async t => {
  const lines = (count: number): string => 'x\n'.repeat(count - 1)
  t.same(breachesOf({ 'engine/plugin.ts': lines(120) }), [])
  t.same(breachesOf({ 'engine/plugin.ts': lines(121) }), ['engine/plugin.ts:121 length'])
  const sizes = [...Array.from({ length: 28 }, () => 250), REQUEST_PART_LINES - 28 * 250]
  const files = sizes.map(
    (size, index) =>
      [`engine/${index < 25 ? 'request' : 'response'}/a${index}.ts`, lines(size)] as const,
  )
  t.same(breachesOf(Object.fromEntries(files)), [], 'exactly the limit, 25 files in a folder')
  t.same(breachesOf({ ...Object.fromEntries(files), 'engine/upstream/b.ts': '' }), [
    'engine:1 sizes',
  ])
  t.same(breachesOf({ ...Object.fromEntries(files), 'engine/store/b.ts': '' }), [], 'a subsystem')
  const full = files.map(([path]) => [path.replace(/.*\//, 'plugins/a/'), ''])
  t.same(breachesOf(Object.fromEntries(full)), ['plugins/a:1 sizes'])
  t.same(
    breachesOf({ 'engine/attic/a.ts': '' }),
    ['engine/attic/a.ts:1 sizes'],
    'an unknown folder',
  )
  t.same(breachesOf({ 'engine/a.ts': '' }), ['engine/a.ts:1 sizes'], 'no entry point')
})

t.test('layers: the request part imports only types of a subsystem', async t => {
  const value = { 'engine/request/a.ts': "import { a } from '../store/a.ts'\n" }
  t.same(breachesOf(value), ['engine/request/a.ts:2 layers'])
  const type = { 'engine/request/a.ts': "import type { A } from '../store/a.ts'\n" }
  t.same(breachesOf(type), [])
  const back = { 'engine/store/a.ts': "import { a } from '../request/a.ts'\n" }
  t.same(breachesOf(back), [])
})

t.test('habits: a turn of phrase is refused in docs, comments and messages', async t => {
  const law = (path: string, text: string): string[] => breachesOf({ [path]: text })
  for (const text of ['a redirect is no answer', 'The body is passed as it is.', 'It stands here.'])
    t.same(law('docs/a.md', `\n${text}\n`), ['docs/a.md:3 habits'], text)
  const source = "export const A = 'it is no URL'\n"
  for (const path of ['engine/request/a.ts', 'examples/a/a.ts', 'program/a.ts', 'test/a/a.tsx'])
    t.same(law(path, source), [`${path}:2 habits`])
  const allowed = 'There is no key. It is no longer here. A stands for B. What is it? as it is sent'
  t.same(law('docs/a.md', allowed), [])
  t.same(law('docs/cli.md', 'It is no URL.'), [], 'a generated page')
})

t.test('privates: a private member of another instance is refused', async t => {
  const law = (body: string): string[] =>
    breachesOf({ 'engine/request/a.ts': `class A {\n  #b\n  static #c\n  d(other) { ${body} }\n}` })
  for (const body of ['other.#b', 'other?.#b', 'other.x.#b()', 'this.other.#b', 'other.#b = 1'])
    t.same(law(body), ['engine/request/a.ts:5 privates'], body)
  for (const body of ['this.#b', 'this.#b.c', 'A.#c', 'const a = new A(); a.#b'])
    t.same(law(body), [], body)
})

t.test('definitions: a schema as a literal and a repeated shape are refused', async t => {
  const law = (text: string, path = 'plugins/a.ts'): string[] =>
    breachesOf({
      [path]: text,
      'plugins/billing/b.ts': `import { object } from '../../engine/config/shape.ts'
        export const B = object('B', { one: C, two: C, three: C, four: C }, {})`,
    }).filter(each => each.endsWith('definitions'))
  const refused = ['plugins/a.ts:2 definitions']
  t.same(law("const a = { description: 'A', type: 'string' }"), refused)
  t.same(law("const a = { description: 'A', type: ['string', 'number'] }"), refused)
  t.same(law("const a = { schema: { description: 'A', enum: [1] } }"), refused)
  t.same(law("const a = { summary: 'A', type: 'string' }"), [], 'an option of a command')
  t.same(law("const a = { description: 'A', type: 'http' }"), [])
  const mirror = 'interface A { one?: string; two: number; three: X }'
  t.same(law(mirror), refused)
  t.same(law(mirror, 'plugins/formats/a.ts'), [], 'it may not import the shape')
  t.same(law('interface A { one?: string; two: number; five: string }'), [])
  t.same(law('interface A { one: X; two: Y; three: string }'), [], 'compiled values')
})

t.test(
  'definitions: a repeated row is refused, in whatever form its members are written',
  async t => {
    const law = (type: string, row: string): string[] =>
      breachesOf({
        'plugins/a.ts': type,
        'plugins/rows/b.ts': `import { object as row, type RowOf } from '../shapes.ts'
        const NAMES = { one: C, two: C }
        ${row}`,
      }).filter(each => each.endsWith('definitions'))
    const refused = ['plugins/a.ts:2 definitions']
    const whole = 'type A = { one?: string; two: number; three: string | null }'
    t.same(law(whole, 'export const B = row({ one: C, two: C }, { three: C })'), refused)
    t.same(law(whole, 'export const B = row({ ...NAMES, three: C })'), refused)
    const constant = 'export const B = { ...NAMES, three: C }'
    const columns = `${constant}; export type D = RowOf<typeof B>`
    t.same(law(whole, columns), refused)
    t.same(law(whole, constant), [], 'no shape')
    t.same(law('type A = { one: string; two: number }', columns), [], 'two members only')
  },
)

t.test('glossary: a name on its lists is refused, alone or inside a longer one', async t => {
  const glossary = {
    'docs/glossary.md':
      '## Banned as whole names\n\n`told`\n\n## Banned inside names\n\n`burial`\n',
  }
  const law = (text: string): string[] => breachesOf({ ...glossary, 'engine/request/a.ts': text })
  t.same(law('const told = 1'), ['engine/request/a.ts:2 glossary'])
  t.same(law('const toldValue = 1'), [])
  t.same(law('function f({ a: told }: { a: 1 }) {}'), ['engine/request/a.ts:2 glossary'])
  t.same(law('interface A {\n  readonly told: 1\n}'), ['engine/request/a.ts:3 glossary'])
  t.same(law('class BurialQueue {}'), ['engine/request/a.ts:2 glossary'])
})

t.test(
  'comments, spreads, shapes: wide comments, packed literals and large pieces are refused',
  async t => {
    const one = (text: string): string[] => breachesOf({ 'engine/request/a.ts': text })
    t.same(one(`// ${'x'.repeat(97)}\n`), [])
    t.same(one(`// ${'x'.repeat(98)}\n`), ['engine/request/a.ts:2 comments'])
    t.same(one(`const a = '${'x'.repeat(120)}'\n`), [], 'no comment')
    t.same(one('const a = { ...{ b: 1 } }'), ['engine/request/a.ts:2 spreads'])
    t.same(one('const a = [...[1, 2]]'), ['engine/request/a.ts:2 spreads'])
    t.same(one('const a = { ...(b && { b }) }'), [])
    const lines = (count: number): string => `const f = () => {\n${'g()\n'.repeat(count - 2)}}`
    t.same(one(lines(60)), [])
    t.same(one(lines(61)), ['engine/request/a.ts:2 shapes'])
    const fields = (count: number): string =>
      `class A {\n${Array.from({ length: count }, (_, index) => `  #a${index} = 1\n`).join('')}}`
    t.same(one(fields(8)), [])
    t.same(one(fields(9)), ['engine/request/a.ts:2 shapes'])
    const needs = (count: number): string =>
      Array.from({ length: count }, (_, index) => imports(`./b${index}.ts`)).join('')
    t.same(one(needs(15)), [])
    t.same(one(needs(16)), ['engine/request/a.ts:1 shapes'])
    t.same(one('const f = (a: 1, b: 1, c: 1, d: 1) => {}'), [])
    t.same(one('const f = (a: 1, b: 1, c: 1, d: 1, e: 1) => {}'), ['engine/request/a.ts:2 shapes'])
  },
)

t.test(
  'names, opening, state: empty names, missing comments and module state are refused',
  async t => {
    const one = (path: string, text = ''): string[] => breachesOf({ [path]: text })
    t.same(one('plugins/utils.ts'), ['plugins/utils.ts:1 names'])
    t.same(one('engine/request/user-service.ts'), ['engine/request/user-service.ts:1 names'])
    t.same(one('plugins/helpers/a.ts'), ['plugins/helpers/a.ts:1 names'])
    t.same(one('test/helpers/a.ts'), [], 'helpers stand under test/')
    t.same(one('engine/request/aB.ts'), ['engine/request/aB.ts:1 names'])
    t.same(one('engine/request/a.ts', 'class PoolManager {}'), ['engine/request/a.ts:2 names'])
    t.same(one('engine/request/a.ts', '  const data = 1'), ['engine/request/a.ts:2 names'])
    t.same(one('engine/request/a.ts', "log.info({ data: 1 }, 'x')"), [])
    for (const path of ['engine/request/a.ts', 'examples/a.ts', 'plugins/a.tsx', 'program/a.ts'])
      t.same(one(path, 'let count = 0'), [`${path}:2 state`])
    t.same(one('plugins/a.ts', 'export const seen = new Map<string, number>()'), [
      'plugins/a.ts:2 state',
    ])
    t.same(one('engine/request/a.ts', "const HOP = new Set(['te'])\n  let inner = 1"), [])
    const bare = { path: 'engine/request/a.ts', text: '// Owns nothing.\n' }
    t.same(
      breachesIn([bare]).map(breach => breach.law),
      ['opening'],
    )
  },
)

t.test('dependencies: more than 20 runtime dependencies are refused', async t => {
  const manifest = (count: number): string =>
    JSON.stringify({
      dependencies: Object.fromEntries(Array.from({ length: count }, (_, index) => [index, '1'])),
    })
  t.same(breachesOf({ 'package.json': manifest(20) }), [])
  t.same(breachesOf({ 'package.json': manifest(21) }), ['package.json:1 dependencies'])
})

t.test('lock: a missing optional package is refused', async t => {
  const lock = (...names: string[]): string => {
    const parser = { optionalDependencies: { 'parser-linux': '1', 'parser-darwin': '1' } }
    const packages = Object.fromEntries(names.map(name => [`node_modules/${name}`, {}]))
    return JSON.stringify({ packages: { 'node_modules/parser': parser, ...packages } })
  }
  t.same(breachesOf({ 'package-lock.json': lock('parser-linux', 'parser-darwin') }), [])
  t.same(breachesOf({ 'package-lock.json': lock('parser-linux') }), ['package-lock.json:1 lock'])
})

t.test('coverage: counts one folder and lists the files that miss most first', async t => {
  const file = (total: number, covered: number, missing: number[] = []) => ({
    lines: { total, covered },
    branches: { total: total / 10, covered: covered / 10 },
    missing,
  })
  const summary = {
    total: file(1000, 0),
    '/p/engine/request/a.ts': file(50, 40, [7]),
    '/p/engine/b.ts': file(50, 20, [3, 9, 9]),
    '/p/plugins/c.ts': file(100, 0),
  }
  t.same(coverageOf(summary, '/p', 'engine', 'lines'), {
    percent: 60,
    missing: ['engine/b.ts: 30 of 50 lines', 'engine/request/a.ts: 10 of 50 lines'],
  })
  t.same(coverageOf(summary, '/p', 'engine', 'branches'), {
    percent: 60,
    missing: [
      'engine/b.ts: 3 of 5 branches, lines 3, 9, 9',
      'engine/request/a.ts: 1 of 5 branches, lines 7',
    ],
  })
  t.same(coverageOf({}, '/p', 'engine', 'lines'), { percent: 0, missing: [] })
})

t.test('every law reads .tsx, program/ and examples/', async t => {
  const long = `export const f = () => {\n${'g()\n'.repeat(60)}}\nconst told = 1\n`
  const glossary = { 'docs/glossary.md': '## Banned as whole names\n\n`told`\n' }
  const client = 'plugins/console/client'
  for (const path of [`${client}/a.tsx`, 'program/a.ts', 'examples/b/a.mjs'])
    t.same(breachesOf({ ...glossary, [path]: long }), [`${path}:2 shapes`, `${path}:64 glossary`])
  const paths = sourceFiles(fileURLToPath(new URL('../..', import.meta.url))).map(
    ({ path }) => path,
  )
  for (const kind of [/\.tsx$/, /^program\//, /^examples\/.*\.mjs$/])
    t.ok(
      paths.some(path => kind.test(path)),
      String(kind),
    )
})

t.test('ratchet: an exception that its file no longer needs is refused', async t => {
  t.same(breachesOf({ 'program/exports/testing.ts': 'const f = () => {}\n' }), [
    'program/exports/testing.ts:1 shapes',
  ])
  t.same(breachesOf({ 'plugins/form.ts': 'const f = () => {}\n' }), ['plugins/form.ts:1 shapes'])
})

t.test('readmes: a table names each entry of its folder, and no other', async t => {
  const law = (readme: string): string[] =>
    breachesIn([
      { path: 'plugins/README.md', text: readme },
      { path: 'plugins/auth/index.ts', text: OPENING },
      { path: 'plugins/form.ts', text: OPENING },
    ]).map(({ path, line, law, message }) => `${path}:${line} ${law}: ${message}`)
  t.same(
    law('| `auth/`, `form.ts` | plugins |\n').filter(text => /README/.test(text)),
    [],
  )
  t.match(
    law('| `auth/` | plugin |\n| `old/` | plugin |\n').join('\n'),
    /README.md:1 readmes: no row names form.ts\n.*README.md:2 readmes: old\/ does not exist/,
  )
})

t.test('readmes: the rule on imports lists what layers.ts allows', async t => {
  const engine = readFileSync(new URL('../../engine/README.md', import.meta.url), 'utf8')
  const law = (text: string): string[] =>
    breachesIn([{ path: 'engine/README.md', text }])
      .map(({ message }) => message)
      .filter(message => message.startsWith('the rule'))
  t.same(law(engine), [])
  t.match(law(engine.replace('`cli/kit.ts`, ', '')), [/does not list engine\/cli\/kit.ts/])
  t.match(law(engine.replace('`cli/kit.ts`', '`cli/kit.ts`, `server.ts`')), [
    /lists engine\/server.ts/,
  ])
})

t.test(
  'decisions: more than 12 lines, or a sentence of more than 25 words, are refused',
  async t => {
    const law = (body: string): string[] =>
      breachesIn([
        { path: 'docs/decisions/store.md', text: `# Decisions\n\n## One\n\n${body}\n` },
      ]).map(({ law, line }) => `${law}:${line}`)
    const sentence = (words: number): string => `${'word '.repeat(words).trim()}.`
    t.same(law('A line.\n'.repeat(12)), [])
    t.same(law('A line.\n'.repeat(13)), ['decisions:3'])
    t.same(law(`A line.\n${'| a | b |\n'.repeat(20)}`), [], 'rows of a table')
    t.same(law(sentence(25)), [])
    t.same(law(sentence(26)), ['decisions:3'])
    t.same(law(`${sentence(20)} Another ${sentence(20)}`), [])
    t.same(law(`${sentence(25).slice(0, -1)} (more than 12) 12 13.`), [], 'figures')
    const named = (name: string): string[] =>
      breachesOf({ 'docs/decisions/a.md': name, 'engine/request/a.ts': 'const endOf = 1' })
    t.same(named('`endOf` in `engine/request/a.ts`, `A.b`, `a b`'), [])
    t.same(named('`startOf`'), ['docs/decisions/a.md:2 decisions'], 'a name')
    t.same(named('`engine/request/b.ts`'), ['docs/decisions/a.md:2 decisions'], 'a file')
  },
)
