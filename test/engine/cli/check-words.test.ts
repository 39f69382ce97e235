/** What `tollgate check` says with the product's own plugins: the cause, by the name an operator wrote. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { usedFolder } from '../../helpers/cache.ts'
import { tollgate } from '../../helpers/terminal.ts'

const PLUGINS = join(import.meta.dirname, '../../../plugins')
interface Told {
  readonly file: string
  readonly line: number
  readonly code: string
  readonly message: string
  readonly suggestion?: string
}

const check = async (
  t: Test,
  files: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
): Promise<readonly Told[]> => {
  const folder = t.testdir({ ...files })
  usedFolder(join(folder, 'data'))
  const config = join(folder, 'routes.yaml')
  const { out } = await tollgate(['check', '--json', '-c', config], env)
  return (JSON.parse(out) as { problems: readonly Told[] }).problems
}
const main = (t: Test, { rate = '7', route = 'true', top = '' }) => `${top}
include: [models.yaml]
settings:
  data: '${t.testdirName}/data'
  plugins: ['${PLUGINS}']
  listen: \${HOST:-127.0.0.1}:\${PORT:-8080}
  currency: { name: CNY, rates: { USD: ${rate} } }
pipeline: [auth, model, idempotency, meter, sandbox]
upstreams: { up: { url: 'sandbox:' } }
routes:
  - { path: POST /chat, name: chat, auth: key, model: body, idempotency: ${route} }
`
const MODELS = `models:
  gp-4.1: { to: up/gp, price: { input: 1 USD / 1M, output: 2 USD / 1M }, only: [chat] }
`
const brief = (told: readonly Told[]) => told.map(({ line, code }) => `${line} ${code}`)

t.test('a rate that cannot be meant is told, and not every price in it', async t => {
  const told = await check(t, { 'routes.yaml': main(t, { rate: 'abc' }), 'models.yaml': MODELS })
  t.same(brief(told), ['7 CURRENCY_RATE'])
  const gone = await check(t, {
    'routes.yaml': main(t, {}),
    'models.yaml': MODELS.replaceAll('USD', 'GBP'),
  })
  t.same(brief(gone), ['2 PRICE_CURRENCY', '2 PRICE_CURRENCY'], 'one that nobody gave still is')
})

t.test('a section that stands there twice is told, and not what names its other half', async t => {
  const told = await check(t, {
    'routes.yaml': main(t, { top: 'routes: []' }),
    'models.yaml': MODELS,
  })
  t.same(brief(told), ['10 DUPLICATE_NAME'])
})

t.test('names with a dot, meters that are misspelled, options that may also be true', async t => {
  const said = async (models: string, route = 'true') => {
    const files = { 'routes.yaml': main(t, { route }), 'models.yaml': models }
    return (await check(t, files)).map(({ message, suggestion }) => `${message} -> ${suggestion}`)
  }
  const models = MODELS.replace('to: up/gp', 'to: [up/gp, { to: 5 }]').replace('output', 'outputs')
  t.match(await said(models), [
    /^models\["gp-4\.1"\]\.to\[1\]\.to must be a text/,
    /^unknown key "outputs" in models\["gp-4\.1"\]\.price -> output$/,
  ])
  t.match(await said(MODELS, '{ largest: 4PiB }'), [
    /^routes\[0\]\.idempotency\.largest cannot be 4PiB; write it like "4MiB"/,
  ])
  t.match(await said(MODELS, '5'), [
    /^routes\[0\]\.idempotency must be true or a map such as true, not/,
  ])
  t.match(await said(MODELS, 'yes'), [/not the text yes -> true$/])
})

t.test('a setting that a variable made wrong is shown with what it came to', async t => {
  const files = { 'routes.yaml': main(t, {}), 'models.yaml': MODELS }
  const [told] = await check(t, files, { PORT: 'abc' })
  t.match(
    told?.message,
    /^settings\.listen cannot be \$\{HOST.*8080\}, which is 127\.0\.0\.1:abc here;/,
  )
  const [hidden] = await check(t, files, { PORT: 'sk-0123456789' })
  t.match(hidden?.message, /^settings\.listen cannot be \$\{HOST.*8080\}; /, 'but no secret')
})

t.test('nested beyond all measure', async t => {
  for (const deep of [`${'['.repeat(5000)}`, `${'['.repeat(5000)}${']'.repeat(5000)}`]) {
    const [told, ...more] = await check(t, { 'routes.yaml': `\nroutes: ${deep}\n` })
    t.same(more, [])
    t.match(told, { line: 2, code: 'YAML_SYNTAX', message: /^the nesting is too deep/ })
  }
})
