/** The journal: requests and answers of calls in every format, plain and streamed, after guards;
 *  consents, shares and rules; records of bounded size; calls that are sent again. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JournalRecord } from '../../../plugins/journal/record.ts'
import { setConsent } from '../../../plugins/journal/tables.ts'
import { blockOf } from '../../docs/blocks.ts'
import { answerChat, startTextUpstream } from '../../helpers/gateway/chat-upstream.ts'
import { withOutput } from '../../helpers/gateway/command-line.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import {
  chargeOf,
  configOf,
  database,
  gateway,
  postJson,
  prepareCustomer,
  rows,
} from '../../helpers/money/billing-gateway.ts'
import { startS3 } from '../../plugins/files/s3-server.ts'

const ANSWER = ['Write to [EMA', 'IL_1] or to ', 'eve@evil.test.']
const bodies: string[] = []
const upstream = await startTextUpstream(t, (text, response) => {
  bodies.push(text)
  if (text.includes('break')) return response.writeHead(500).end('{}')
  return answerChat(text, response, { pieces: ANSWER })
})

const ROUTES = {
  '/v1/chat/completions': 'openai-chat',
  '/v1/responses': 'openai-responses',
  '/v1/messages': 'anthropic-messages',
}
const GEMINI = '/v1beta/models/words'
const routes = (journal: string, guard = '') => `
journal: ${journal}
guards:
  pii: { find: [email], patterns: { ticket: 'TCK-[0-9]{4}' }, on: request, do: mask, restore: true }
  block: { words: [falcon], do: block }
pipeline: [errors, auth, model, meter, translate, guard, journal]
upstreams:
  up: { url: '${upstream}', formats: [openai-chat] }
models:
  words: { to: up/words-of-up, price: { input: 1 / 1k, output: 1 / 1k }, output: 1000 }
  others: { to: up/others-of-up, price: { input: 1 / 1k, output: 1 / 1k }, output: 1000 }
routes:
${Object.entries(ROUTES)
  .map(
    ([path, format]) =>
      `  - { path: POST ${path}, auth: key, model: body, translate: ${format}${guard} }`,
  )
  .join('\n')}
  - { path: 'POST /v1beta/models/{model}:generateContent', auth: key, model: { path: model }, translate: google-gemini${guard} }
  - { path: 'POST /v1beta/models/{model}:streamGenerateContent', auth: key, model: { path: model }, translate: google-gemini${guard} }
`
const MESSAGES = (text: string) => [{ role: 'user', content: text }]
/** A request in each format. */
const requestsOf = (text: string, stream: boolean): readonly (readonly [string, object])[] => [
  ['/v1/chat/completions', { model: 'words', messages: MESSAGES(text), user: 'person-7', stream }],
  ['/v1/responses', { model: 'words', input: text, stream }],
  ['/v1/messages', { model: 'words', max_tokens: 50, messages: MESSAGES(text), stream }],
  [
    stream ? `${GEMINI}:streamGenerateContent?alt=sse` : `${GEMINI}:generateContent`,
    { contents: [{ role: 'user', parts: [{ text }] }] },
  ],
]

const linesIn = (folder: string): readonly JournalRecord[] =>
  existsSync(folder)
    ? readdirSync(folder).flatMap(name =>
        readFileSync(join(folder, name), 'utf8')
          .split('\n')
          .slice(0, -1)
          .map(line => JSON.parse(line)),
      )
    : []
const folderOf = (name: string) => join(gateway.data, name)
const recordOf = (name: string, id: string): Promise<JournalRecord> =>
  eventually(() => linesIn(folderOf(name)).find(each => each.id === id) ?? false)

t.test('journal: has calls of every format, plain and streamed, as guards left them', async t => {
  const { key, account } = await prepareCustomer(
    routes('{ to: file:own, consent: all }', ', guard: pii'),
    10n ** 12n,
  )
  for (const stream of [false, true])
    for (const [path, body] of requestsOf('I am ann@example.com, TCK-1234.', stream)) {
      const { text, id } = await postJson(key, path, body)
      const name = `${path}${stream ? ', streamed' : ''}`
      t.match(text.replaceAll('"', ''), /ann@|\[EMA/, 'the client gets its own text again')
      const record = await recordOf('own', id)
      t.match(
        record,
        {
          account,
          model: 'words',
          upstream: 'up',
          target: 'words-of-up',
          status: 200,
          isCut: false,
        },
        name,
      )
      t.equal(record.end, 'complete', name)
      t.equal(record.guard, 'pii=masked(2)', name)
      t.match(record.usage, { input: 10, output: 5 }, name)
      t.equal(record.charge, '0.015', name)
      const line = JSON.stringify(record)
      t.match(JSON.stringify(record.request), /I am \[EMAIL_1\], \[TICKET_1\]\./, name)
      t.match(JSON.stringify(record.answer), /Write to \[EMAIL_1\] or to \[EMAIL\]\./, name)
      t.notMatch(line, /ann@example|eve@evil|TCK-1234|person-7/, name)
    }
})

t.test('journal: only calls of accounts that have consented', async t => {
  const stages = 'account, console, translate, guard'
  const text = routes('{ to: file:consents }').replace('translate, guard', stages)
  const customer = await prepareCustomer(
    `${text}  - { path: PUT /api/journal, auth: key, account: journal-consent, errors: envelope }\n`,
    10n ** 12n,
  )
  const ask = async () =>
    (await postJson(customer.key, '/v1/messages', requestsOf('Hi', false)[2]?.[1] ?? {})).id
  const first = await ask()
  const own = await customerConsent(customer.key, true)
  t.match(own.data, { consents: true, since: /^20/ })
  const ids: string[] = []
  const isWritten = await eventually(async () => {
    ids.push(await ask())
    return linesIn(folderOf('consents')).some(({ id }) => ids.includes(id))
  })
  t.ok(isWritten)
  t.notOk(linesIn(folderOf('consents')).some(({ id }) => id === first))

  const list = async () => (await gateway.askAdmin('/-/admin/journal')).json()
  t.match(await list(), [{ account: /^own-/, consents: true }])
  t.match(await customerConsent(customer.key, 'yes'), { success: false })
  const body = JSON.stringify({ account: customer.account, consents: false })
  const reply = await gateway.askAdmin('/-/admin/journal/consent', { method: 'POST', body })
  t.match(await reply.json(), { consents: false, since: null })
  t.same(await list(), [])
})
const customerConsent = async (key: string, consents: unknown) => {
  const response = await fetch(`${gateway.url}/api/journal`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ consents }),
  })
  return (await response.json()) as { readonly success: boolean; readonly data: unknown }
}

t.test('journal: shares by rule; failures and blocked requests have no text', async t => {
  const section =
    '{ to: file:rules, consent: all, share: 0%, rules: [{ models: [wor*] }, { accounts: [x], share: 5% }] }'
  const { key } = await prepareCustomer(routes(section, ', guard: block'), 10n ** 12n)
  const chat = (model: string, text: string) =>
    postJson(key, '/v1/chat/completions', { model, messages: MESSAGES(text) })
  const other = await chat('others', 'Hi')
  const blocked = await chat('words', 'the Falcon flies')
  const failed = await chat('words', 'break')
  const good = await chat('words', 'Hi')
  await recordOf('rules', good.id)
  const ids = linesIn(folderOf('rules')).map(({ id }) => id)
  t.notOk(ids.includes(other.id))
  const blockedRecord = await recordOf('rules', blocked.id)
  t.match(blockedRecord, { status: 400, error: 'GUARD_BLOCKED', request: null, answer: null })
  t.equal(blockedRecord.guard, 'block=blocked(1)')
  const failure = await recordOf('rules', failed.id)
  t.match(failure, { status: 500, answer: null, charge: null })
  t.match(JSON.stringify(failure.request), 'break')
})

t.test('journal: a record that is too large has neither request nor answer', async t => {
  const section = '{ to: file:sizes, consent: all, largest: 2KiB, redact: [] }'
  const { key } = await prepareCustomer(routes(section), 10n ** 12n)
  const [, body] = requestsOf('long '.repeat(1_000), true)[0] ?? []
  const large = await postJson(key, '/v1/chat/completions', body ?? {})
  const record = await recordOf('sizes', large.id)
  t.match(record, { request: null, answer: null, isCut: true, status: 200 })
  const [, small] = requestsOf('I am ann@example.com', true)[0] ?? []
  const { id } = await postJson(key, '/v1/chat/completions', small ?? {})
  t.match(JSON.stringify((await recordOf('sizes', id)).request), 'ann@example.com')
})

const command = async (t: Test, ...argv: readonly string[]) => withOutput(t, argv, {})

t.test('replay: sends a call again to another target, and charges nobody', async t => {
  const text = routes('{ to: file:replays, consent: all }')
  const { key } = await prepareCustomer(text, 10n ** 12n)
  const [, body] = requestsOf('Tell me.', true)[2] ?? []
  const { id } = await postJson(key, '/v1/messages', body ?? {})
  await recordOf('replays', id)
  t.match(await chargeOf(id), { state: 'settled' })
  const [before] = await rows('SELECT COUNT(*) AS count FROM charges')
  const config = configOf(text)
  const record = await command(t, 'journal', 'show', id, '-c', config)
  t.equal(record.code, 0, record.err)
  t.equal(JSON.parse(record.out).id, id)
  bodies.length = 0
  for (const [to, target] of [
    ['others', 'others-of-up'],
    ['up/third', 'third'],
  ] as const) {
    const result = await command(t, 'replay', id, '--to', to, '--json', '-c', config)
    t.equal(result.code, 0, result.err)
    t.match(JSON.parse(result.out), {
      target: `up/${target}`,
      text: ANSWER.join(''),
      usage: { input: 10, output: 5 },
      before: { target: 'up/words-of-up' },
    })
    const request = JSON.parse(bodies.pop() ?? '')
    t.match(request, { model: target, messages: MESSAGES('Tell me.') })
  }
  const again = await command(t, 'replay', id, '-c', config)
  t.match(again.out, /No account was charged/)
  const [after] = await rows('SELECT COUNT(*) AS count FROM charges')
  t.same(after, before)
  for (const [argv, code, message] of [
    [['replay', 'req_none'], 3, /has no call "req_none"/],
    [['replay', id, '--to', 'nowhere/x'], 2, /no model and no upstream of the name "nowhere\/x"/],
    [['journal', 'show'], 2, /journal show/],
  ] as const) {
    const result = await command(t, ...argv, '-c', config)
    t.equal(result.code, code, argv.join(' '))
    t.match(result.out + result.err, message)
  }
})

t.test('journal: in a bucket, for all machines', async t => {
  const s3 = await startS3(t)
  const { store: to, ...keys } = s3.settings
  const text = routes(JSON.stringify({ to, ...keys, consent: 'all' }))
  const { key } = await prepareCustomer(text, 10n ** 12n)
  const { id } = await postJson(key, '/v1/chat/completions', {
    model: 'words',
    messages: MESSAGES('I am ann@example.com'),
  })
  await eventually(() => [...s3.objects.values()].some(({ bytes }) => bytes.includes(id)))
  const config = configOf(text)
  const { code, out, err } = await withOutput(t, ['journal', 'show', id, '--config', config], {})
  t.equal(code, 0, err)
  t.match(JSON.parse(out), { id, status: 200, model: 'words' })
  t.match(out, 'I am [EMAIL]')
})

t.test('docs/journal.md: its example writes a call', async t => {
  const example = blockOf('docs/journal.md', 'yaml')
  const text = routes('{ consent: all }').replace('journal: { consent: all }\n', `${example}\n`)
  t.match(text, 'journal:')
  const { key, account } = await prepareCustomer(
    text.replace('gp-*', 'words').replace(/share: 1%/, 'share: 100%'),
    10n ** 12n,
  )
  await database.write([setConsent(account, true, 1)])
  const done = await eventually(async () => {
    const [path, body] = requestsOf('Hi', false)[0] ?? ['', {}]
    await postJson(key, path, body)
    return linesIn(folderOf('journal')).some(each => each.account === account)
  })
  t.ok(done)
})
