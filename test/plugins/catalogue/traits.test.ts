/** `traits:` of models: plugins, schema and documentation have the same names. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { TRAITS } from '../../../plugins/catalogue/traits.ts'
import { usedFolder } from '../../helpers/cache.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'

const ROOT = join(import.meta.dirname, '../../..')
const text = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const knownTraits = Object.keys(TRAITS.schema.properties ?? {}).sort()

/** Set by the entry (`thinking: { budget }`, `prompt_cache`) and stored among the traits. */
const ENTRY_TRAITS = ['thinks', 'prompt_cache']
/** Members of the Gemini format's own model traits, which derive from these. */
const DERIVED =
  /^(?:needsSignatures|mixesTools|takesJsonSchema|minBudget|maxBudget|takesResolution|acceptedLevels|takesToolMedia|isVertex|isStrict|thinking)$/

t.test('traits: code, schema and docs have the same names', async t => {
  const sources = globSync('plugins/**/*.ts', { cwd: ROOT }).map(text)
  // Read by destructuring, which the expression below does not match.
  const read = new Set(['search_unit', ...ENTRY_TRAITS])
  for (const source of sources)
    for (const [, name = ''] of source.matchAll(/\btraits\??\.(?!(?:ts|schema)\b)([a-z]\w*)/gi))
      if (knownTraits.includes(name) || !DERIVED.test(name)) read.add(name)
  t.same([...read].filter(name => !ENTRY_TRAITS.includes(name)).sort(), knownTraits)
  const [, page = ''] = text('docs/formats.md').split('### Traits')
  const rows =
    page
      .split('\n## ')[0]
      ?.split('\n')
      .filter(line => line.startsWith('| `')) ?? []
  const documentedNames = rows.flatMap(row => [...(row.split(' | ')[0] ?? '').matchAll(/`(\w+)/g)])
  t.same([...new Set(documentedNames.map(([, name]) => name))].sort(), knownTraits)
})

const configOf = (data: string, traits: string) => `
settings: { data: '${data}', plugins: ['${ROOT}/plugins'], currency: { name: CNY } }
pipeline: [auth, model, meter, translate, sandbox]
upstreams: { up: { url: 'sandbox:' } }
models:
  gp-4.1: { to: up/gp, free: true, traits: ${traits} }
  both: { to: [{ to: up/gp, traits: ${traits} }], free: true }
routes: [{ path: POST /chat, auth: key, model: body, translate: openai-chat }]
`
t.test('traits: tollgate check refuses unknown names and values', async t => {
  const check = async (traits: string) => {
    const store = join(t.testdirName, 'data')
    const folder = t.testdir({ 'routes.yaml': configOf(store, traits) })
    usedFolder(store)
    const { code, out } = await tollgate(['check', '--json', '-c', join(folder, 'routes.yaml')])
    const { problems } = JSON.parse(out) as {
      problems: { line: number; code: string; suggestion?: string; message: string }[]
    }
    return { code, lines: problems.map(each => `${each.line} ${each.code} ${each.suggestion}`) }
  }
  t.same(await check('{ thinkin: false, formats: [openai-caht] }'), {
    code: 1,
    lines: [6, 7].flatMap(line => [
      `${line} UNKNOWN_KEY thinking`,
      `${line} UNKNOWN_VALUE openai-chat`,
    ]),
  })
  t.same(await check('{ thinking: maybe }'), {
    code: 1,
    lines: ['6 UNKNOWN_VALUE undefined', '7 UNKNOWN_VALUE undefined'],
  })
  t.same(await check('{ thinking: false, x-region: { name: eu } }'), { code: 0, lines: [] })
  t.same(await check('{}, prompt_cache: { breakpoints: auto, ttl: 1h }'), {
    code: 1,
    lines: ['7 UNKNOWN_KEY undefined'],
  })
  t.same(await check('{}, prompt_cache: { breakpoints: manual }'), {
    code: 1,
    lines: ['6 UNKNOWN_VALUE undefined', '7 UNKNOWN_KEY undefined'],
  })
})
