/** `tollgate import new-api`: users, tokens, channels and prices of new-api and one-api come over,
 *  and a client goes on with its old key. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { csvRows } from '../../../../program/commands/new-api/source.ts'
import { usedFolder } from '../../../helpers/cache.ts'
import { useShippedPlugins } from '../../../helpers/environment.ts'
import { withOutput } from '../../../helpers/gateway/command-line.ts'
import { bearer, postTo } from '../../../helpers/gateway/post.ts'
import { startPrimary } from '../../../helpers/gateway/primary.ts'
import { startHttpUpstream } from '../../../helpers/gateway/test-server.ts'
import {
  channel,
  option,
  type Rows,
  token,
  tokenKey,
  user,
  writeDatabase,
} from '../../../helpers/import/new-api.ts'
import { temporaryFolder } from '../../../helpers/store/store.ts'

const HOUR = 3_600
const NOW = Math.floor(Date.now() / 1_000)
const ROWS: Rows = {
  users: [
    user(1, { username: 'root', role: 100, quota: 1_250_000 }),
    user(2, { username: 'ann', quota: 1, group: 'vip' }),
    user(3, { username: '12345', status: 2, quota: -5 }),
    user(4, { username: 'gone', deleted_at: '2026-01-01 00:00:00' }),
    user(5, { username: 'ann!' }),
    user(6, { username: 'ann-' }),
  ],
  tokens: [
    token(1, 2, { unlimited_quota: 0, remain_quota: 250_000 }),
    token(2, 2, { model_limits_enabled: 1, model_limits: 'gpt-4o, dall-e-3' }),
    token(3, 2, { expired_time: NOW + HOUR }),
    token(4, 2, { expired_time: NOW - HOUR }),
    token(5, 2, { status: 2 }),
    token(6, 2, { allow_ips: '10.0.0.0/8' }),
    token(7, 2, { status: 4, unlimited_quota: 0, remain_quota: -3 }),
    token(8, 2, { model_limits_enabled: 1, model_limits: '' }),
    token(9, 2, { deleted_at: '2026-01-01' }),
    token(10, 4),
    token(11, 99),
    token(12, 6, { key: tokenKey(1) }),
    token(13, 1, { name: '7' }),
  ],
  channels: [
    channel(1, 1, { models: 'gpt-4o,gpt-4o-mini,dall-e-3,secret-model,o3', priority: 10 }),
    channel(2, 1, {
      key: 'one\ntwo',
      channel_info: '{"is_multi_key":true}',
      models: 'gpt-4o',
      priority: 10,
      model_mapping: '{"gpt-4o":"a","a":"gpt-4o-2024-11-20"}',
      base_url: 'https://other.example',
    }),
    channel(3, 14, { models: 'claude-sonnet-4-5' }),
    channel(4, 33, {
      key: 'ID|SECRET|us-west-2',
      models: 'claude-sonnet-4-5',
      priority: 5,
      model_mapping: '{"claude-sonnet-4-5":"anthropic.claude"}',
    }),
    channel(5, 2, { models: 'mj_imagine' }),
    channel(6, 1, { models: 'gpt-4o', status: 3 }),
    channel(7, 3, {
      models: 'gpt-4o-mini',
      base_url: 'https://x.openai.azure.com',
      other: '2025-01-01',
    }),
    channel(8, 8, { models: 'free-model' }),
    channel(9, 8, { models: 'free-model', base_url: 'http://10.0.0.1:9000', weight: 3, key: '' }),
    channel(10, 8, {
      models: 'free-model',
      base_url: 'http://10.0.0.2:9000',
      weight: 1,
      header_override: '{"a":"b"}',
    }),
  ],
  options: [
    option('ModelRatio', {
      'gpt-4o': 1.25,
      'gpt-4o-mini': 0.075,
      'claude-sonnet-4-5': 1.5,
      'free-model': 0,
    }),
    option('CompletionRatio', { 'gpt-4o': 4, 'gpt-4o-mini': 4, 'claude-sonnet-4-5': 3 }),
    option('CacheRatio', { 'gpt-4o': 0.5, 'claude-sonnet-4-5': 0.1 }),
    option('ModelPrice', { 'dall-e-3': 0.04 }),
    option('GroupRatio', { default: 1, vip: 0.8 }),
  ],
  logs: [{ id: 1, content: 'x' }],
}

/** A folder for a new configuration, which uses the shipped plugins until the end of the test. */
const prepare = (t: Test) => {
  useShippedPlugins(t)
  const folder = temporaryFolder(t)
  const config = join(folder, 'routes.yaml')
  const env = { TOLLGATE_CONFIG: config, TOLLGATE_DATA: join(folder, 'data') }
  const run = (...words: string[]) => withOutput(t, words, env)
  return { folder, config, env, run }
}

t.test('import new-api: accounts, keys, upstreams, models and prices', async t => {
  const { folder, config, run } = prepare(t)
  const file = join(folder, 'one-api.db')
  writeDatabase(file, 'new-api', ROWS)
  const result = await run('import', 'new-api', file, '--write', config)
  t.equal(result.code, 0, result.err)
  t.match(await run('check'), { code: 0, out: /no problems/ })

  const { upstreams, models } = parse(readFileSync(config, 'utf8'))
  t.same(upstreams, {
    'channel-1': { preset: 'openai', key: '${CHANNEL_1_KEY:-}' },
    'channel-2': {
      preset: 'openai',
      url: 'https://other.example/v1',
      key: ['${CHANNEL_2_KEY_1:-}', '${CHANNEL_2_KEY_2:-}'],
    },
    'channel-3': { preset: 'anthropic', key: '${CHANNEL_3_KEY:-}' },
    'channel-4': {
      preset: 'bedrock',
      region: 'us-west-2',
      auth: {
        aws: {
          region: 'us-west-2',
          service: 'bedrock',
          id: '${CHANNEL_4_KEY_1:-}',
          secret: '${CHANNEL_4_KEY_2:-}',
        },
      },
    },
    'channel-7': {
      preset: 'azure',
      url: 'https://x.openai.azure.com/openai',
      resource: 'resource',
      query: { 'api-version': '2025-01-01' },
      key: '${CHANNEL_7_KEY:-}',
    },
    'channel-9': { url: 'http://10.0.0.1:9000/v1', formats: ['openai-chat'] },
    'channel-10': {
      url: 'http://10.0.0.2:9000/v1',
      formats: ['openai-chat'],
      key: '${CHANNEL_10_KEY:-}',
    },
  })
  t.same(models, {
    'gpt-4o': {
      to: ['channel-1/gpt-4o', 'channel-2/gpt-4o-2024-11-20'],
      balance: 'round-robin',
      price: { input: '2.5 USD / 1M', output: '10 USD / 1M', cached: '1.25 USD / 1M' },
    },
    'gpt-4o-mini': {
      to: ['channel-1/gpt-4o-mini', 'channel-7/gpt-4o-mini'],
      balance: 'first',
      price: { input: '0.15 USD / 1M', output: '0.6 USD / 1M' },
    },
    'dall-e-3': { to: 'channel-1/dall-e-3', price: { calls: '0.04 USD' } },
    // Without a ratio: the list price of its provider.
    o3: {
      to: 'channel-1/o3',
      price: { input: '2.00 USD / 1M', cached: '0.50 USD / 1M', output: '8.00 USD / 1M' },
    },
    'claude-sonnet-4-5': {
      to: ['channel-4/anthropic.claude', 'channel-3/claude-sonnet-4-5'],
      balance: 'first',
      price: {
        input: '3 USD / 1M',
        output: '15 USD / 1M',
        cached: '0.3 USD / 1M',
        cache_write: '3.75 USD / 1M',
        cache_write_1h: '6 USD / 1M',
      },
    },
    'free-model': {
      to: [
        { to: 'channel-9/free-model', weight: 3 },
        { to: 'channel-10/free-model', weight: 1 },
      ],
      balance: 'weighted',
      free: true,
    },
  })
  const variables = readFileSync(join(folder, '.env'), 'utf8')
  t.match(variables, /^CHANNEL_1_KEY="upstream-key-1"$/m)
  t.match(variables, /^CHANNEL_4_KEY_2="SECRET"$/m)
  t.equal(statSync(join(folder, '.env')).mode & 0o777, 0o600)
  t.notMatch(readFileSync(config, 'utf8'), /upstream-key|SECRET"/)

  const accounts = JSON.parse((await run('accounts', 'list', '--json')).out)
  t.match(accounts, [
    { name: 'root', role: 'admin', balance: '2.5', keys: 1 },
    { name: 'ann', role: 'customer', balance: '0.000002', keys: 4 },
    { name: 'user-12345', balance: '0', state: 'suspended' },
    { name: 'ann-', balance: '1' },
    { name: 'ann--6', balance: '1' },
  ])
  t.equal(accounts.length, 5)
  t.match(JSON.parse((await run('keys', 'list', 'ann', '--json')).out), [
    { name: 'token 1', quota: 250_000, expires: null, models: null },
    { name: 'token 2', models: ['gpt-4o', 'dall-e-3'], quota: null },
    { name: 'token 3', expires: new Date((NOW + HOUR) * 1_000).toISOString() },
    { name: 'token 7', quota: 0 },
  ])
  for (const line of [
    /^users 3: a balance below 0 became 0$/m,
    /^users 4: deleted there$/m,
    /^users 3 \(user-12345\), 5 \(ann-\), 6 \(ann--6\): the name was changed/m,
    /^users 2: the group "vip" is not carried/m,
    /^tokens 4: expired$/m,
    /^tokens 5: switched off$/m,
    /^tokens 6: it is limited to addresses/m,
    /^tokens 8: its list of models is empty/m,
    /^tokens 9: deleted there$/m,
    /^tokens 10, 11: its user is deleted or unknown$/m,
    /^tokens 12: another token has the same key$/m,
    /^channels 5: no preset serves channels of type 2$/m,
    /^channels 6: switched off there$/m,
    /^channels 8: it has no address$/m,
    /^channels 10: header_override is not carried/m,
    /^models secret-model: neither ModelPrice nor ModelRatio has it/m,
    /^options vip \(0\.8\): GroupRatio/m,
    /^logs: the history of calls/m,
  ])
    t.match(result.err, line)
})

t.test('import new-api: a second run changes nothing; --accounts adds what came since', async t => {
  const { folder, config, run } = prepare(t)
  const [file, later] = [join(folder, 'one.db'), join(folder, 'two.db')]
  writeDatabase(file, 'new-api', ROWS)
  const words = ['import', 'new-api', file, '--write', config]
  t.equal((await run(...words)).code, 0)
  const before = [readFileSync(config, 'utf8'), readFileSync(join(folder, '.env'), 'utf8')]
  const list = await run('accounts', 'list', '--json')
  t.equal((await run(...words)).code, 0)
  t.same([readFileSync(config, 'utf8'), readFileSync(join(folder, '.env'), 'utf8')], before)
  t.equal((await run('accounts', 'list', '--json')).out, list.out)

  writeFileSync(config, `${before[0]}# mine\n`)
  t.match(await run(...words), { code: 2, err: /exists and differs.*--accounts/ })
  t.match(await run(...words, '--accounts'), { code: 2, err: /give one of them/ })
  const more = {
    users: [...(ROWS.users ?? []), user(7)],
    tokens: [...(ROWS.tokens ?? []), token(20, 7)],
  }
  writeDatabase(later, 'new-api', { ...ROWS, ...more })
  t.equal((await run('import', 'new-api', later, '--accounts')).code, 0)
  const after = JSON.parse((await run('accounts', 'list', '--json')).out)
  t.match(after.at(-1), { name: 'user7', balance: '1', keys: 1 })
  t.equal(after.length, 6)
  t.equal(readFileSync(config, 'utf8'), `${before[0]}# mine\n`)
})

t.test('import new-api: without --write it shows the configuration and writes nothing', async t => {
  const { folder, config, run } = prepare(t)
  const file = join(folder, 'one-api.db')
  writeDatabase(file, 'new-api', ROWS)
  const { code, out } = await run('import', 'new-api', file, '--strict')
  t.equal(code, 1, 'rows are left, and --strict counts them')
  t.match(out, /^models:$/m)
  t.notOk(
    existsSync(config) || existsSync(join(folder, '.env')) || existsSync(join(folder, 'data')),
  )
  const json = JSON.parse((await run('import', 'new-api', file, '--json')).out)
  t.match(json, { accounts: 5, skipped: [{ table: 'channels', rows: ['5'] }] })
})

t.test('import new-api: a dump of PostgreSQL or MySQL as JSON, or as a folder of CSV', async t => {
  const { folder, run } = prepare(t)
  const rows = {
    users: [user(1, { username: 'ann  ' })],
    tokens: [token(1, 1, { key: `${tokenKey(1)}   `, name: 'a, "quoted"\nname', group: '' })],
    channels: [channel(1, 1, { models: 'gpt-4o' })],
    options: [option('ModelRatio', { 'gpt-4o': 1.25 }), option('QuotaPerUnit', '1000000')],
  }
  const json = join(folder, 'dump.json')
  const tokens = rows.tokens.map(row => ({ ...row, unlimited_quota: true }))
  writeFileSync(json, JSON.stringify({ ...rows, tokens }))
  const csv = join(folder, 'dump')
  mkdirSync(csv)
  const cell = (value: unknown) =>
    value === null ? '\\N' : `"${String(value).replaceAll('"', '""')}"`
  for (const [name, list] of Object.entries(rows)) {
    const lines = list.map(row => Object.values(row).map(cell).join(','))
    const text = [Object.keys(list[0] ?? {}).join(','), ...lines].join('\r\n')
    writeFileSync(join(csv, `${name}.csv`), name === 'tokens' ? text.replace('"1"', '"t"') : text)
  }
  const results = await Promise.all([run('import', 'new-api', json), run('import', 'new-api', csv)])
  t.match(results[0], { code: 0, out: /input: 1\.25 USD/ })
  t.equal(results[1]?.out, results[0]?.out)
  t.same(csvRows('\uFEFFa,b\n1,\n,"x\ny"\n"",\\N\n'), [
    { a: '1', b: '' },
    { a: '', b: 'x\ny' },
    { a: '', b: null },
  ])
})

t.test('import new-api: one-api has other channel types and lists of models', async t => {
  const { folder, config, run } = prepare(t)
  const file = join(folder, 'one-api.db')
  writeDatabase(file, 'one-api', {
    users: [user(1, { username: 'ann' }), user(2, { status: 3 })],
    tokens: [token(1, 1, { models: 'deepseek-chat' }), token(2, 1, { subnet: '10.0.0.0/8' })],
    channels: [channel(1, 36, { models: 'deepseek-chat' }), channel(2, 29, { models: 'llama' })],
    options: [option('ModelRatio', { 'deepseek-chat': 0.07, llama: 0.3 })],
  })
  const { code, err } = await run('import', 'new-api', file, '--write', config, '--rate', '7.3')
  t.equal(code, 0, err)
  const { upstreams } = parse(readFileSync(config, 'utf8'))
  t.match(upstreams, { 'channel-1': { preset: 'deepseek' }, 'channel-2': { preset: 'groq' } })
  t.match(JSON.parse((await run('accounts', 'list', '--json')).out), [{ balance: '7.3', keys: 1 }])
  t.match(err, /^users 2: deleted there$/m)
  t.match(err, /^tokens 2: it is limited to addresses/m)
})

t.test('import new-api: 10,000 users with 50,000 tokens, whole and once', async t => {
  const { folder, config, run } = prepare(t)
  const file = join(folder, 'one-api.db')
  const [users, tokens] = [10_000, 50_000].map(count =>
    Array.from({ length: count }, (_, at) => at),
  )
  writeDatabase(file, 'new-api', {
    users: users?.map(at => user(at + 1)) ?? [],
    tokens: tokens?.map(at => token(at + 1, (at % 10_000) + 1)) ?? [],
    channels: [channel(1, 1, { models: 'gpt-4o' })],
    options: [option('ModelRatio', { 'gpt-4o': 1.25 })],
  })
  const words = ['import', 'new-api', file, '--write', config, '--json']
  const counts = async () => JSON.parse((await run(...words)).out)
  const begin = performance.now()
  t.match(await counts(), { accounts: 10_000, keys: 50_000, conflicts: [] })
  t.comment(`imported in ${((performance.now() - begin) / 1_000).toFixed(1)} s`)
  t.match(await counts(), { accounts: 0, keys: 0, knownAccounts: 10_000, knownKeys: 50_000 })
  const keys = JSON.parse((await run('keys', 'list', '--json')).out) as { account: string }[]
  t.equal(keys.length, 50_000)
  t.equal(keys.filter(({ account }) => account === 'user9999').length, 5)
})

t.test('import new-api: odd rows are named, and none stops the import', async t => {
  const { folder, config, run } = prepare(t)
  const file = join(folder, 'one-api.db')
  const models = { models: 'm', base_url: 'http://10.0.0.1' }
  writeDatabase(file, 'new-api', {
    users: [user(1, { username: 'a' }), user(2, { username: 'a-3' }), user(3, { username: 'a' })],
    tokens: [token(1, 1, { expired_time: 4_102_444_800_000 }), token(2, 3)],
    channels: [
      channel(1, 8, { ...models, name: 'a', weight: 1 }),
      channel(2, 8, { ...models, name: 'a-3' }),
      channel(3, 8, {
        ...models,
        name: 'a',
        weight: 2,
        key: 'on\noff',
        channel_info: '{"is_multi_key":true,"multi_key_status_list":{"1":2}}',
      }),
      channel(4, 33, { models: 'b', key: 'k|eu\nl|us', channel_info: '{"is_multi_key":true}' }),
    ],
    options: [option('ModelRatio', { m: 1, b: 1 })],
  })
  const { code, err } = await run('import', 'new-api', file, '--write', config)
  t.equal(code, 0, err)
  const document = parse(readFileSync(config, 'utf8'))
  t.match(document.upstreams, {
    a: { key: '${A_KEY:-}' },
    'a-3': { key: '${A_3_KEY:-}' },
    'a-4': { key: '${A_4_KEY:-}' },
  })
  t.match(document.models.m.to, [
    { to: 'a-4/m', weight: 2 },
    { to: 'a/m', weight: 1 },
  ])
  const variables = readFileSync(join(folder, '.env'), 'utf8')
  t.match(variables, /^A_3_KEY="upstream-key-2"$/m)
  t.match(variables, /^A_4_KEY="on"$/m)
  t.notMatch(variables, /off/)
  t.match(err, /^channels 3: some of its keys are switched off$/m)
  t.match(err, /^channels 4: only its first key is carried$/m)
  t.match(err, /^models m: channels of weight 0 beside others/m)
  t.match(JSON.parse((await run('accounts', 'list', '--json')).out), [
    { name: 'a' },
    { name: 'a-3' },
    { name: 'a-4' },
  ])
  t.match(JSON.parse((await run('keys', 'list', 'a', '--json')).out), [{ expires: null }])
})

t.test('import new-api: refuses what it cannot read, and says why', async t => {
  const { folder, run } = prepare(t)
  const file = join(folder, 'dump.json')
  const wrong: [text: string, message: RegExp][] = [
    ['', /cannot read/],
    ['[]', /must be an object of tables/],
    ['{}', /has neither a table users nor channels/],
    ['{"users": 7}', /a table must be a list of rows/],
    ['SQLite format 3\0 and no more', /cannot read/],
  ]
  for (const [text, message] of wrong) {
    writeFileSync(file, text)
    t.match(await run('import', 'new-api', file), { code: 2, err: message })
  }
  t.match(await run('import', 'new-api', `${file}.gone`), { code: 2, err: /there is no such file/ })
  writeFileSync(file, '{"users": []}')
  for (const rate of ['0', '-1', 'much'])
    t.match(await run('import', 'new-api', file, `--rate=${rate}`), { code: 2, err: /--rate must/ })
})

t.test('import new-api: a client goes on with its old key', async t => {
  const { folder, config, run } = prepare(t)
  const file = join(folder, 'one-api.db')
  const received: unknown[] = []
  const address = await startHttpUpstream(t, (request, response) => {
    received.push([request.url, request.headers.authorization])
    const message = { role: 'assistant', content: 'Hello' }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ id: 'c', object: 'chat.completion', choices, usage }))
  })
  const channels = [channel(1, 8, { models: 'gpt-4o', base_url: address })]
  writeDatabase(file, 'new-api', { ...ROWS, channels })
  usedFolder(join(folder, 'data'))
  t.equal((await run('import', 'new-api', file, '--write', config)).code, 0)
  const gateway = await startPrimary(t, { files: {}, folder, env: { TOLLGATE_PLUGINS: '' } })
  const call = async (key: string) => {
    const response = await postTo(
      `${gateway.url}/v1/chat/completions`,
      {
        model: 'gpt-4o',
        max_tokens: 5,
        messages: [{ role: 'user', content: 'Hello' }],
      },
      bearer(key),
    )
    return [response.status, Number(response.headers.get('x-tollgate-charge')) > 0]
  }
  const admin = tokenKey(13)
  t.same(await call(`sk-${admin}`), [200, true])
  t.same(await call(admin), [200, true], 'without the prefix')
  t.same(received[0], ['/v1/chat/completions', 'Bearer upstream-key-1'])
  t.same(await call(`sk-${tokenKey(5)}`), [401, false], 'switched off there')
})
