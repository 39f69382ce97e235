/** `tollgate check` with the shipped plugins: reports the cause, with the names that the operator
 *  wrote. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { usedFolder } from '../../helpers/cache.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'

const PLUGINS = join(import.meta.dirname, '../../../plugins')
interface ReportedProblem {
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
): Promise<readonly ReportedProblem[]> => {
  const folder = t.testdir({ ...files })
  usedFolder(join(folder, 'data'))
  const config = join(folder, 'routes.yaml')
  const { out } = await tollgate(['check', '--json', '-c', config], env)
  return (JSON.parse(out) as { problems: readonly ReportedProblem[] }).problems
}
const main = (t: Test, { rate = '7', route = 'true', top = '' }) => `${top}
include: [models.yaml]
settings:
  data: '${t.testdirName}/data'
  plugins: ['${PLUGINS}']
  listen: \${HOST:-127.0.0.1}:\${PORT:-8080}
  workers: \${WORKERS:-auto}
  currency: { name: CNY, rates: { USD: ${rate} } }
pipeline: [auth, model, idempotency, meter, sandbox]
upstreams: { up: { url: 'sandbox:' } }
routes:
  - { path: POST /chat, name: chat, auth: key, model: body, idempotency: ${route} }
`
const MODELS = `models:
  gp-4.1: { to: up/gp, price: { input: 1 USD / 1M, output: 2 USD / 1M }, only: [chat] }
`
const summaryOf = (problems: readonly ReportedProblem[]) =>
  problems.map(({ line, code }) => `${line} ${code}`)

t.test('check: reports an invalid currency rate, but not the prices that use it', async t => {
  const problems = await check(t, {
    'routes.yaml': main(t, { rate: 'abc' }),
    'models.yaml': MODELS,
  })
  t.same(summaryOf(problems), ['8 CURRENCY_RATE'])
  const unknownCurrency = await check(t, {
    'routes.yaml': main(t, {}),
    'models.yaml': MODELS.replaceAll('USD', 'GBP'),
  })
  t.same(
    summaryOf(unknownCurrency),
    ['2 PRICE_CURRENCY', '2 PRICE_CURRENCY'],
    'a currency without a rate is reported at each price',
  )
})

t.test('check: reports a duplicate section, but no unknown names of its second part', async t => {
  const problems = await check(t, {
    'routes.yaml': main(t, { top: 'routes: []' }),
    'models.yaml': MODELS,
  })
  t.same(summaryOf(problems), ['11 DUPLICATE_NAME'])
})

t.test(
  'check: reports names with a dot, misspelled meters and options that may be true',
  async t => {
    const messagesOf = async (models: string, route = 'true') => {
      const files = { 'routes.yaml': main(t, { route }), 'models.yaml': models }
      return (await check(t, files)).map(({ message, suggestion }) => `${message} -> ${suggestion}`)
    }
    const models = MODELS.replace('to: up/gp', 'to: [up/gp, { to: 5 }]').replace(
      'output',
      'outputs',
    )
    t.match(await messagesOf(models), [
      /^models\["gp-4\.1"\]\.to\[1\]\.to must be a text/,
      /^unknown key "outputs" in models\["gp-4\.1"\]\.price -> output$/,
    ])
    t.match(await messagesOf(MODELS, '{ largest: 4PiB }'), [
      /^routes\[0\]\.idempotency\.largest cannot be 4PiB; write it like "4MiB"/,
    ])
    t.match(await messagesOf(MODELS, '5'), [
      /^routes\[0\]\.idempotency must be true or a map such as true, not/,
    ])
    t.match(await messagesOf(MODELS, 'yes'), [/not the text yes -> true$/])
  },
)

t.test('check: shows the expanded value of an invalid setting unless it is secret', async t => {
  const files = { 'routes.yaml': main(t, {}), 'models.yaml': MODELS }
  const [problem] = await check(t, files, { PORT: 'abc' })
  t.match(
    problem?.message,
    /^settings\.listen cannot be \$\{HOST.*8080\}, which is 127\.0\.0\.1:abc here;/,
  )
  const [count] = await check(t, files, { WORKERS: '0' })
  t.match(
    count?.message,
    /^settings\.workers cannot be \$\{WORKERS:-auto\}, which is 0 here; it must be >= 1/,
  )
  const [secretProblem] = await check(t, files, { PORT: 'sk-0123456789' })
  t.match(
    secretProblem?.message,
    /^settings\.listen cannot be \$\{HOST.*8080\}; /,
    'no secret is shown',
  )
})

t.test('check: a decimal comma is named, in a map of one line and in a text', async t => {
  const price = (text: string) => ({
    'routes.yaml': main(t, {}),
    'models.yaml': `models: { m: { to: up/gp, price: ${text} } }\n`,
  })
  const [problem, ...more] = await check(t, price('{ input: 1,5, output: 2 }'))
  t.same(more, [])
  t.match(problem, {
    line: 1,
    column: 43,
    code: 'YAML_COMMA',
    message: /^a comma begins another entry, so "1,5" is .*decimals with a point \(1\.5\)/,
  })
  t.match(await check(t, price("{ input: '1,5 / 1M', output: 2 }")), [
    { code: 'PRICE_AMOUNT', message: /"1,5" is not a decimal number such as 12\.50/ },
  ])
  t.same(await check(t, price('{ input: 1.5,output: 2 }')), [], 'a comma without a space')
})

t.test('check: reports nesting that is too deep', async t => {
  for (const deep of [`${'['.repeat(5000)}`, `${'['.repeat(5000)}${']'.repeat(5000)}`]) {
    const [problem, ...more] = await check(t, { 'routes.yaml': `\nroutes: ${deep}\n` })
    t.same(more, [])
    t.match(problem, { line: 2, code: 'YAML_SYNTAX', message: /^the nesting is too deep/ })
  }
})

t.test('check: a database of another kind, an address without a scheme, an empty file', async t => {
  const routes = `settings: { database: 'mysql://host/name' }
upstreams: { up: { url: 'api.example.com/v1' } }
routes: [{ path: GET /a, upstream: up }]
`
  t.match(await check(t, { 'routes.yaml': routes }), [
    { line: 1, code: 'BAD_VALUE', message: /"sqlite:" or "postgres:\/\// },
    { line: 2, code: 'BAD_VALUE', message: /"https:\/\/api\.example\.com\/v1"/ },
  ])
  t.match(await check(t, { 'routes.yaml': '' }), [
    { line: 1, code: 'MISSING_KEY', message: /"routes"/ },
  ])
})

t.test('check: names the alternative that a value was meant to be', async t => {
  const problems = await check(t, {
    'routes.yaml': `
settings: { data: '${t.testdirName}/data', plugins: ['${PLUGINS}'] }
pipeline: [errors, auth, model, tags, meter, translate, alerts]
upstreams: { up: { url: 'https://api.example.com', key: k, formats: [openai-chat] } }
models: { m: { to: up/m, free: true } }
mail: { host: smtp.example.com, from: a@example.com, tls: implicit }
tags: { known: { project: alpha } }
alerts:
  to:
    - { kind: mail, url: 'https://x.example.com' }
    - { kind: slack, to: a@b.c }
    - { kind: mali, to: a@b.c }
    - { kind: slack, url: 'https://x.example.com', name: 1 }
    - { kind: mail, to: [a@b.c] }
  rules: { budget: false, balance: false }
budget: {}
routes:
  - { path: POST /v1/chat/completions, auth: key, model: body, translate: openai-chat }
`,
  })
  const lines = problems.map(({ line, message, suggestion }) =>
    [line, message, suggestion].filter(each => each !== undefined).join(' '),
  )
  t.match(lines, [
    /^7 tags\.known\.project cannot be alpha; it is one of any, or a list such as \["alpha",\{"value":"beta","zone":"eu"\}\]$/,
    /^10 alerts\.to\[0\] needs the key "to"$/,
    /^10 unknown key "url" in alerts\.to\[0\]$/,
    /^11 alerts\.to\[1\] needs the key "url"$/,
    /^11 unknown key "to" in alerts\.to\[1\]$/,
    /^12 alerts\.to\[2\]\.kind cannot be mali; it is one of webhook, .*, wecom, mail mail$/,
    /^13 unknown key "name" in alerts\.to\[3\]$/,
    /^14 alerts\.to\[4\]\.to must be a text such as "ops@example\.com", not a list$/,
    /^15 unknown key "budget" in alerts\.rules; a budget sends the alerts of its `alert_at`/,
    /^15 unknown key "balance" in alerts\.rules; `alerts\.balances` lists/,
    /^16 unknown key "budget" in the file; `budgets:` bounds/,
  ])
  t.equal(lines.length, 11)
})
