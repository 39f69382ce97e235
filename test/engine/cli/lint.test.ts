/** `tollgate lint`: each rule with its bad and its good case; severities, ignore lists, formats. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { usedFolder } from '../../helpers/cache.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** Every rule of the engine, `auth` and `meter` has its bad case here. */
const BAD = `settings:
  plugins: ['${ROOT}plugins']
  data: DATA
  listen: ':8080'
  admin: 0.0.0.0:9090
  database: postgres://me:long-password@db/x
  egress_allow: 0.0.0.0/0
  metrics_key: '\${METRICS}'
pipeline: [auth, model, translate]
upstreams:
  up: { url: 'http://192.0.2.7:8000', key: sk-0123456789 }
  set: { url: 'https://up.example.com', headers: { set: { authorization: Bearer 1234567 } } }
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat }
  - { path: POST /open, auth: none, upstream: up }
models:
  free: { to: up/m, free: true }
  half: { to: up/m, price: { input: 1 / 1M } }
  zero: { to: up/m, price: { input: 0, output: 0 } }
`
/** The same with each advice followed. */
const GOOD = BAD.replace(
  "listen: ':8080'",
  "listen: ':8080'\n  public_url: https://api.example.com",
)
  .replace('0.0.0.0:9090', "'[::1]:9090'")
  .replace('postgres://me:long-password@db/x', "'${DB}'")
  .replace('0.0.0.0/0', '10.1.2.3:80')
  .replace('[auth, model, translate]', '[auth, model, meter, translate]')
  .replace(
    "url: 'http://192.0.2.7:8000', key: sk-0123456789",
    "url: 'http://127.0.0.1:8000', key: '${KEY}'",
  )
  .replace('Bearer 1234567', "'Bearer ${KEY}'")
  .replace('auth: none', 'auth: key')
  .replace('free: true', 'price: { calls: 1 }')
  .replace('input: 1 / 1M', 'input: 1 / 1M, output: 0')
  .replace('input: 0, output: 0', 'input: 0, output: 1 / 1M')
const ENV = {
  METRICS: 'a-token-of-metrics',
  KEY: 'sk-of-the-environment',
  DB: 'postgres://me:long-password@db/x',
}

const write = (t: Test, yaml: string): string => {
  const folder = t.testdir({ 'routes.yaml': '' })
  const dataFolder = usedFolder(`${folder}/data`)
  writeFileSync(`${folder}/routes.yaml`, yaml.replace('DATA', dataFolder))
  return `${folder}/routes.yaml`
}
const lint = async (t: Test, yaml: string, ...args: string[]) => {
  const { code, out, err } = await tollgate(['lint', '--json', '-c', write(t, yaml), ...args], ENV)
  if (out === '') throw new Error(err)
  const { problems } = JSON.parse(out) as {
    problems: { code: string; line: number; severity: string }[]
  }
  return { code, findings: problems.map(each => `${each.line} ${each.severity} ${each.code}`) }
}

t.test('lint: each rule names its bad case, with line and severity', async t => {
  const { code, findings } = await lint(t, BAD)
  t.equal(code, 1)
  t.same(findings.toSorted(), [
    '11 error SECRET_IN_FILE',
    '11 warning PLAIN_UPSTREAM',
    '12 error SECRET_IN_FILE',
    '15 error NO_AUTH',
    '17 warning FREE_MODEL',
    '18 warning UNPRICED_METER',
    '19 warning ZERO_PRICE',
    '4 warning PLAIN_LISTENER',
    '5 warning PUBLIC_ADMIN',
    '6 error SECRET_IN_FILE',
    '7 error OPEN_EGRESS',
    '9 error NO_METER',
  ])
})

t.test('lint: no rule names the good cases', async t => {
  t.same(await lint(t, GOOD), { code: 0, findings: [] })
})

t.test('lint: names the models of a plan in tokens whose calls it never pays', async t => {
  const yaml = (models: string, limit = 'tokens: 1000') =>
    `${GOOD}  piece: { to: up/m, price: { calls: 1 } }
  open: { to: up/m, free: true } # lint-ignore FREE_MODEL
plans: { words: { ${limit}, per: month${models} } }
`
  const expected = { code: 1, findings: ['23 warning PLAN_WITHOUT_TOKENS'] }
  t.same(await lint(t, yaml(', models: [half, piece, open]')), expected)
  t.same(await lint(t, yaml('')), { code: 0, findings: [] }, 'a plan for all models means others')
  t.same(await lint(t, yaml(', models: [half, zero]')), { code: 0, findings: [] })
  t.same(await lint(t, yaml('', 'amount: 1000')), { code: 0, findings: [] })
})

t.test('lint: comments and options ignore rules; --fail-on moves the exit code', async t => {
  const yaml = GOOD.replace('price: { calls: 1 } }', 'free: true } # lint-ignore FREE_MODEL: ours')
    .replace('  half:', '  # lint-ignore UNPRICED_METER\n  half:')
    .replace('input: 1 / 1M, output: 0', 'input: 1 / 1M')
    .replace('output: 1 / 1M', 'output: 0')
    .replace('auth: key', 'auth: none # lint-ignore ZERO_PRICE\n   ')
  t.same(await lint(t, yaml.replace('auth: none', 'auth: key')), {
    code: 1,
    findings: ['22 warning ZERO_PRICE'],
  })
  t.same((await lint(t, `${yaml}# lint-ignore-file ZERO_PRICE NO_AUTH\n`)).findings, [])
  const rest = await lint(t, yaml, '--ignore', 'NO_AUTH', '--fail-on', 'error')
  t.same(rest, { code: 0, findings: ['22 warning ZERO_PRICE'] })
  const usage = await tollgate(['lint', '--fail-on', 'never'])
  t.match(usage, { code: 2, err: /--fail-on is info, warning or error/ })
})

t.test('lint: shows place, severity and frame, also for GitHub', async t => {
  const config = write(t, GOOD.replace("'[::1]:9090'", '0.0.0.0:9090'))
  const pretty = await tollgate(['lint', '-c', config], ENV)
  t.match(
    pretty.out,
    /routes\.yaml:6:10 {2}warning PUBLIC_ADMIN {2}the admin listener can be reached/,
  )
  t.match(pretty.out, /^ {2}6 \| .*0\.0\.0\.0:9090\n.*\^/m)
  t.match(pretty.out, /routes\.yaml: 1 warning$/)
  const github = await tollgate(['lint', '--format', 'github', '-c', config], ENV)
  t.match(github.out, /^::warning file=.*line=6,.*title=PUBLIC_ADMIN/)
})

t.test('lint: names guards, rules and telemetry that have no effect', async t => {
  const rule = '{ name: canary, share: 5%, to: up/b }'
  const yaml = GOOD.replace(
    '[auth, model, meter, translate]',
    '[telemetry, auth, model, meter, translate, guard]',
  )
    .replace('translate: openai-chat }', 'translate: openai-chat, guard: used }')
    .replace('output: 1 / 1M } }', `output: 1 / 1M }, rules: [${rule}, { name: all, to: up/c }] }`)
    .concat('guards:\n  used: { find: [email], do: flag }\n')
    .concat("telemetry: { to: 'http://127.0.0.1:4318' }\n")
  t.same(await lint(t, yaml), { code: 0, findings: [] })
  const bad = yaml
    .replace('telemetry, ', '')
    .replace(', guard: used', '')
    .replace('share: 5%, ', '')
  t.match(await lint(t, bad), {
    code: 1,
    findings: [
      '20 warning RULE_UNREACHED',
      '22 warning GUARD_UNUSED',
      '23 warning TELEMETRY_UNUSED',
    ],
  })
})

t.test(
  'lint: names answers from the cache that are free, and mirrors without a budget',
  async t => {
    const mirror =
      'mirror: { to: up/c, accounts: all, price: { input: 1 / 1M }, budget: { amount: 1, per: day } }'
    const yaml = GOOD.replace(
      '[auth, model, meter, translate]',
      '[auth, model, meter, translate, mirror, cache]',
    )
      .replace(
        'output: 1 / 1M } }',
        `output: 1 / 1M, cached_call: 0.1 / 1k }, cache: exact, ${mirror} }`,
      )
      .concat('cache: { exact: {} }\n')
    t.same(await lint(t, yaml), { code: 0, findings: [] })
    const bad = yaml
      .replace(', cached_call: 0.1 / 1k', '')
      .replace(', budget: { amount: 1, per: day }', '')
    t.match(await lint(t, bad), {
      code: 1,
      findings: ['20 info CACHE_FREE', '20 warning MIRROR_UNLIMITED'],
    })
  },
)

t.test('lint: the shipped configuration needs no advice', async t => {
  const result = await tollgate(['lint', '-c', `${ROOT}routes.yaml`], {
    TOLLGATE_DATA: usedFolder(`${t.testdir({})}/data`),
  })
  t.match(result, { code: 0, out: /nothing to improve \(2 ignored\)/ })
})

t.test('lint: an invalid configuration is reported as by check', async t => {
  const folder = t.testdir({ 'routes.yaml': 'rotes: []\n' })
  t.match(await tollgate(['lint', '-c', `${folder}/routes.yaml`]), { code: 1, err: /UNKNOWN_KEY/ })
})
