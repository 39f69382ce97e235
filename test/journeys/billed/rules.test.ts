/** Rules of models: where requests go by their facts, the stable part of a canary, upstreams that a
 *  rule permits; named in header, log, charge, metric and explain; wrong rules. */
import t, { type Test } from 'tap'
import { addMember } from '../../../plugins/credentials/members.ts'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addKey } from '../../../plugins/credentials/statements.ts'
import { blockOf } from '../../docs/blocks.ts'
import { eventually } from '../../helpers/eventually.ts'
import { answerChat, CHAT_FACTS, startTextUpstream } from '../../helpers/gateway/chat-upstream.ts'
import { withOutput } from '../../helpers/gateway/command-line.ts'
import {
  database,
  gateway,
  idOf,
  postJson,
  prepareCustomer,
  rows,
  UNIT,
} from '../../helpers/money/billing-gateway.ts'

/** Answers with its own name and the name of the model. */
const startUpstream = (name: string, status = 200) =>
  startTextUpstream(t, (text, response) => {
    const { model } = JSON.parse(text)
    if (status !== 200) return response.writeHead(status).end('{}')
    return answerChat(text, response, {
      facts: { ...CHAT_FACTS, model },
      pieces: [`${name}/${model}`],
    })
  })
const [one, two, broken] = [
  await startUpstream('one'),
  await startUpstream('two'),
  await startUpstream('broken', 503),
]
const routes = (rules: string, model = '') => `
tags: { known: { plan: [free, trial], team: any } }
pipeline: [errors, observe, auth, zone, model, tags, responses, meter, account, translate]
upstreams:
  one: { url: '${one}', formats: [openai-chat], zone: eu, retention: none }
  two: { url: '${two}', formats: [openai-chat] }
  broken: { url: '${broken}', formats: [openai-chat] }
models:
  "own-*": { to: [one/*], price: { input: 1 / 1k, output: 1 / 1k }, output: 1000, rules: [{ name: canary, share: 99.99%, to: 'broken/big-*' }, { to: 'two/large-*' }] }
  cheap: { to: [{ to: one/x, cost: 2 }, { to: broken/x, cost: 0 }, { to: two/x, cost: 1 }], balance: cheapest, free: true }
  other: { to: one/other, free: true }
  words: { to: [one/small, two/small], ${model} price: { input: 1 / 1k, output: 1 / 1k }, output: 1000, rules: ${rules} }
routes:
  - { path: POST /v1/chat/completions, name: chat, auth: key, model: body, translate: openai-chat }
  - { path: POST /v1/responses, auth: key, model: body, responses: create, translate: openai-responses }
  - { path: POST /eu/chat, auth: key, model: body, zone: { zone: eu }, translate: openai-chat, rewrite: /v1/chat/completions }
  - { path: POST /spread/chat, auth: key, model: body, balance: round-robin, translate: openai-chat, rewrite: /v1/chat/completions }
  - { path: GET /api/usage, auth: key, account: usage }
  - { path: POST /v1/messages, auth: key, model: body, translate: anthropic-messages }
  - { path: 'POST /v1beta/models/{model}:generateContent', auth: key, model: { path: model }, translate: google-gemini }
`
const TOOLS = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
const MESSAGES = (text: string) => [{ role: 'user', content: text }]
const ask = async (
  key: string,
  more: object = {},
  headers: Readonly<Record<string, string>> = {},
  path = '/v1/chat/completions',
) => {
  const body = { model: 'words', max_tokens: 10, messages: MESSAGES('Hi'), ...more }
  const reply = await postJson(key, path, body, headers)
  return {
    ...reply,
    status: reply.response.status,
    place: /"content":"([^"]+)"/.exec(reply.text)?.[1],
    rule: reply.response.headers.get('x-tollgate-rule'),
  }
}
const run = async (t: Test, ...argv: readonly string[]) => {
  const { code, err } = await withOutput(t, [...argv], { TOLLGATE_DATA: gateway.data })
  t.equal(code, 0, err)
}
const start = (rules: string, model = '') => prepareCustomer(routes(rules, model), 1_000n * UNIT)

t.test('rules: the type of the body does not change which rule holds', async t => {
  const { key } = await start('[{ name: tools, when: { tools: true }, to: two/tools }]')
  const body = {
    contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
    tools: [{ functionDeclarations: [{ name: 'f' }] }],
  }
  for (const type of [
    'application/json',
    'text/plain',
    'audio/mp3',
    'application/x-www-form-urlencoded',
  ]) {
    const path = '/v1beta/models/words:generateContent'
    const { response } = await postJson(key, path, body, { 'content-type': type })
    t.equal(response.status, 200, type)
    t.equal(response.headers.get('x-tollgate-rule'), 'tools', type)
  }
})

t.test('rules: the first one that holds counts, in every format of clients', async t => {
  const { key } = await start(`[
    { name: long, when: { prompt: '> 1k' }, to: two/large },
    { name: free, headers: { X-Tier: [free, trial] }, to: two/cheap },
    { name: tools, when: { tools: true }, to: two/tools },
    { name: fast, when: { route: chat, service_tier: priority }, to: two/fast },
    { when: { time: '00:00-00:01', account: nobody }, to: two/never } ]`)
  const long = 'word '.repeat(2_000)
  for (const [more, headers, place, rule] of [
    [{}, {}, 'one/small', null],
    [{ messages: MESSAGES(long) }, { 'x-tier': 'free' }, 'two/large', 'long'],
    [{}, { 'x-tier': 'trial' }, 'two/cheap', 'free'],
    [{}, { 'x-tier': 'paid' }, 'one/small', null],
    [{ tools: TOOLS }, {}, 'two/tools', 'tools'],
    [{ tools: [] }, {}, 'one/small', null],
    [{ service_tier: 'priority' }, {}, 'two/fast', 'fast'],
  ] as const) {
    const reply = await ask(key, more, headers)
    t.match(reply, { status: 200, place, rule: rule ?? null }, `${place} ${rule}`)
  }
  const messages = await postJson(key, '/v1/messages', {
    model: 'words',
    max_tokens: 10,
    messages: MESSAGES(long),
  })
  t.match(messages.text, 'two/large')
  const gemini = await postJson(key, '/v1beta/models/words:generateContent', {
    contents: [{ role: 'user', parts: [{ text: long }] }],
  })
  t.match(gemini.text, 'two/large', 'the body is read although the path names the model')
})

t.test(
  'rules: named in charge, usage, log and metric; the price stays that of the model',
  async t => {
    const { key } = await start('[{ name: canary, share: 100%, to: two/large }]')
    const { id, response } = await ask(key)
    t.equal(response.headers.get('x-tollgate-charge'), '0.015')
    const [row] = await rows(`SELECT served FROM charges WHERE request = '${id}'`)
    t.match(JSON.parse(String(row?.served)), { upstream: 'two', target: 'large', rule: 'canary' })
    const usage = async (query: string) => {
      const headers = { authorization: `Bearer ${key}` }
      const response = await fetch(`${gateway.url}/api/usage?${query}`, { headers })
      return { status: response.status, text: await response.text() }
    }
    const listed = JSON.parse((await usage('rule=canary')).text).data
    t.match(listed, [{ request_id: id, rule: 'canary' }])
    t.same(JSON.parse((await usage('rule=other')).text).data, [])
    t.match((await usage('rule=canary&format=csv')).text, /,canary,,\d/)
    for (const query of [
      'rule=',
      'rule=canary&by=day',
      'rule=canary&status=failed',
      'rules=canary',
    ])
      t.match(await usage(query), { status: 400, text: /`rule`|known ones are .*\brule\b/ }, query)
    const printed = await withOutput(t, ['request', id], { TOLLGATE_DATA: gateway.data })
    t.match(printed.out, /served by .*rule canary/)
    const metrics = await eventually(async () => {
      const text = await (await fetch(`${gateway.admin}/metrics`)).text()
      return text.includes('tollgate_rules_total') && text
    })
    t.match(metrics, /tollgate_rules_total\{model="words",rule="canary"\} [1-9]/)
  },
)

t.test(
  'rules: a share is the same conversations for ever, and falls back to the model',
  async t => {
    const { key } = await start('[{ name: canary, share: 30%, to: two/large }]')
    const placeOf = async (session: string) =>
      (await ask(key, {}, { 'x-session-id': session })).place
    const sessions = Array.from({ length: 60 }, (_, index) => `session-${index}`)
    const first = await Promise.all(sessions.map(placeOf))
    const canaries = first.filter(place => place === 'two/large').length
    t.ok(canaries >= 6 && canaries <= 32, `${canaries} of 60`)
    t.same(await Promise.all(sessions.map(placeOf)), first, 'no conversation moves')
    const { key: other } = await start(
      '[{ name: canary, share: 99.99%, by: account, to: broken/x }]',
    )
    const failed = await ask(other)
    t.match(
      failed,
      { status: 200, place: 'one/small', rule: 'canary' },
      'its own targets come next',
    )
  },
)

t.test('rules: tags of the call and the zone that it must stay in', async t => {
  const { key } = await start(`[
    { name: free, when: { tags: { plan: [free, trial] } }, to: two/cheap },
    { name: both, when: { tags: { team: a }, route: chat }, to: two/large },
    { name: eu, when: { zone: [de, eu] }, to: [two/away, one/eu] } ]`)
  for (const [tags, place, rule] of [
    ['plan=free', 'two/cheap', 'free'],
    ['plan=trial, team=a', 'two/cheap', 'free'],
    ['plan=gold', 'one/small', null],
    ['team=a', 'two/large', 'both'],
    ['team=false', 'one/small', null],
    ['', 'one/small', null],
  ] as const)
    t.match(await ask(key, {}, { 'x-tollgate-tags': tags }), { status: 200, place, rule }, tags)
  t.match(await ask(key, {}, {}, '/eu/chat'), { place: 'one/eu', rule: 'eu' })
  t.match(
    await ask(key, {}, { 'x-tollgate-tags': 'team=a' }, '/eu/chat'),
    { place: 'one/eu', rule: 'eu' },
    'the second rule is of another route',
  )
  const only = await start('[{ name: kept, when: { tags: { team: a } }, to: [one/a] }]')
  t.match(await ask(only.key, {}, {}, '/eu/chat'), { place: 'one/small', rule: null })
  // The targets without tags are outside the zone: they are never chosen.
  const first = '[{ name: kept, when: { tags: { team: a } }, to: [one/a] }, { to: two/x }]'
  const late = await start(first)
  const tagged = await ask(late.key, {}, { 'x-tollgate-tags': 'team=a' }, '/eu/chat')
  t.match(tagged, { status: 200, place: 'one/a', rule: 'kept' })
  t.match(await ask(late.key, {}, {}, '/eu/chat'), { status: 403 })
})

t.test('rules: the member who calls, and the time of day', async t => {
  const hour = (more: number) => String((new Date().getUTCHours() + more) % 24).padStart(2, '0')
  const { account, key } = await start(`[
    { name: later, when: { time: '${hour(6)}:00-${hour(12)}:00' }, to: two/never },
    { name: ann, when: { member: ann }, to: two/large },
    { name: now, when: { time: '${hour(23)}:00-${hour(2)}:00' }, to: two/cheap } ]`)
  const keyOf = async (name: string) => {
    const member = await idOf(addMember(account, { name, role: 'member' }, Date.now()))
    const secret = makeSecret('key')
    await database.write(addKey({ account, name, secret, member }, Date.now()))
    return secret.text
  }
  for (const [own, place, rule] of [
    [await keyOf('ann'), 'two/large', 'ann'],
    [await keyOf('ben'), 'two/cheap', 'now'],
    [key, 'two/cheap', 'now'],
  ] as const)
    t.match(await ask(own), { status: 200, place, rule })
})

t.test('rules: a chain of stored responses keeps its tags and its conversation', async t => {
  const { key } = await start(
    '[{ name: a, when: { tags: { team: a } }, share: 50%, to: two/large }]',
  )
  const respond = async (tags: string, previous?: string) => {
    const body = { model: 'words', input: 'Hi', previous_response_id: previous }
    const headers = { 'x-tollgate-tags': tags }
    const { response, text } = await postJson(key, '/v1/responses', body, headers)
    const { id } = JSON.parse(text) as { readonly id: string }
    return { id, rule: response.headers.get('x-tollgate-rule') }
  }
  const firsts = await Promise.all(Array.from({ length: 10 }, () => respond('team=a')))
  const sides = () => new Set(firsts.map(({ rule }) => rule))
  // Ten draws are of one side once in 512 runs.
  while (sides().size < 2 && firsts.length < 60) firsts.push(await respond('team=a'))
  t.same(sides(), new Set([null, 'a']))
  for (const { id, rule } of firsts) {
    t.equal((await respond('team=a', id)).rule, rule)
    t.equal((await respond('', id)).rule, null)
  }
})

t.test('rules: only these upstreams, also behind failures', async t => {
  const { key } = await start('[{ name: eu, headers: { x-region: eu }, only: [two] }]')
  t.match(await ask(key, {}, { 'x-region': 'eu' }), { place: 'two/small', rule: 'eu' })
  t.match(await ask(key), { place: 'one/small' })
  const none = await start('[{ name: eu, only: [broken], to: [broken/x, one/x] }]')
  t.match(await ask(none.key), { status: 503, place: undefined }, 'one is never asked')
})

t.test('rules: a target outside the zone of a route, account or key is never asked', async t => {
  const rules = `[{ name: away, headers: { x-to: two }, to: two/large },
    { name: part, headers: { x-to: part }, share: 99.99%, to: two/large },
    { name: both, headers: { x-to: both }, to: [two/large, one/large] },
    { name: only, headers: { x-to: only }, only: [two] }]`
  const { key, account } = await start(rules)
  const [{ name } = {}] = await rows(`SELECT name FROM accounts WHERE id = ${account}`)
  const [{ id } = {}] = await rows(`SELECT id FROM api_keys WHERE account = ${account}`)
  const demands = async (path?: string) => {
    const to = (value: string) => ask(key, {}, { 'x-to': value }, path)
    t.match(await to('two'), { status: 403, place: undefined, rule: null })
    t.match(await to('part'), { status: 200, place: 'one/small', rule: 'part' })
    t.match(await to('both'), { status: 200, place: 'one/large', rule: 'both' })
    t.match(await to('only'), { status: 503, place: undefined })
    t.match(await to('none'), { status: 200, place: 'one/small', rule: null })
  }
  // Each of the two workers learns the change by itself.
  const isKnown = (status: number) =>
    eventually(async () => {
      const tries = Array.from({ length: 12 }, () => ask(key, {}, { 'x-to': 'two' }))
      return (await Promise.all(tries)).every(each => each.status === status)
    })
  t.match(await ask(key, {}, { 'x-to': 'two' }), { place: 'two/large' }, 'without a demand')
  await demands('/eu/chat')
  await run(t, 'accounts', 'limit', String(name), '--retention', 'none')
  await isKnown(403)
  await demands()
  await run(t, 'accounts', 'limit', String(name), '--retention', 'any')
  await isKnown(200)
  await run(t, 'keys', 'update', String(id), '--zone', 'eu')
  await isKnown(403)
  await demands()
})

t.test('rules: rights and holds are those of the model that is requested', async t => {
  const { account } = await start('[{ name: all, to: two/other }]')
  const secret = makeSecret('key')
  await database.write(addKey({ account, name: 'words', secret, models: ['words'] }, Date.now()))
  t.match(await ask(secret.text), { status: 200, place: 'two/other' }, 'the target needs no right')
  t.match(await ask(secret.text, { model: 'other' }), { status: 403 })
  const poor = await prepareCustomer(routes('[{ name: all, to: two/other }]'), UNIT / 1_000n)
  const refused = { status: 403, text: 'insufficient_user_quota' }
  t.match(await ask(poor.key), refused, 'the price of the free model is not used')
})

t.test('rules: their targets come first, whatever the balance of the route', async t => {
  const { key } = await start('[{ name: canary, share: 99.99%, to: two/large }]')
  const places = []
  for (let index = 0; index < 4; index++)
    places.push((await ask(key, {}, { 'x-session-id': `${index}` }, '/spread/chat')).place)
  t.same(new Set(places), new Set(['two/large']))
  const failing = await start('[{ name: canary, share: 99.99%, to: broken/x }]')
  const spread = await Promise.all(
    Array.from({ length: 8 }, () => ask(failing.key, {}, {}, '/spread/chat')),
  )
  t.same(new Set(spread.map(({ place }) => place)), new Set(['one/small', 'two/small']))
})

t.test('rules: names of patterns in targets, and their own targets behind a canary', async t => {
  const { key } = await start('[{ name: unused, headers: { x-no: no }, only: [one] }]')
  t.match(await ask(key, { model: 'own-a' }), { place: 'one/a', rule: 'canary' })
})

t.test('rules: a chain of stored responses is one conversation', async t => {
  const { key } = await start('[{ name: canary, share: 50%, to: two/large }]')
  const respond = async (previous?: string) => {
    const body = { model: 'words', input: 'Hi', previous_response_id: previous }
    const { response, text } = await postJson(key, '/v1/responses', body)
    const { id } = JSON.parse(text) as { readonly id: string }
    return { id, rule: response.headers.get('x-tollgate-rule') }
  }
  const firsts = await Promise.all(Array.from({ length: 12 }, () => respond()))
  t.equal(new Set(firsts.map(({ rule }) => rule)).size, 2, 'not the whole account')
  for (const { id, rule } of firsts) {
    const second = await respond(id)
    t.equal(second.rule, rule)
    t.equal((await respond(second.id)).rule, rule)
  }
})

t.test('rules: a budget that changes the model obeys `only`, and names no rule', async t => {
  const limited = (rules: string) => `${routes(rules)}
budgets:
  small: { of: account, amount: 0.3, per: life, at_limit: { use: other } }
`
  const away = await prepareCustomer(limited('[{ name: away, to: two/large }]'), 1_000n * UNIT)
  t.match(await ask(away.key), { status: 200, place: 'two/large', rule: 'away' })
  const changed = await ask(away.key, { max_tokens: 900 })
  t.match(changed, { status: 200, place: 'one/other', rule: null }, 'the other model')
  const bound = await prepareCustomer(limited('[{ name: kept, only: [two] }]'), 1_000n * UNIT)
  t.match(await ask(bound.key), { status: 200, place: 'two/small', rule: 'kept' })
  const refused = await ask(bound.key, { max_tokens: 900 })
  t.match(refused, { status: 429 }, 'the other model has no target at two')
})

t.test('rules: a budget that changes the model obeys the rules of the other model', async t => {
  const changed = async (own: string, others: string, model = 'words') => {
    const text = routes(own).replace(
      'other: { to: one/other, free: true }',
      `plain: { to: one/plain, price: { input: 1 / 1k, output: 1 / 1k }, output: 1000 }
  other: { to: one/other, free: true, rules: ${others} }`,
    )
    const budgets =
      'budgets: { small: { of: account, amount: 0.3, per: life, at_limit: { use: other } } }'
    const { key } = await prepareCustomer(`${text}${budgets}\n`, 1_000n * UNIT)
    return ask(key, { model, max_tokens: 900, tools: TOOLS })
  }
  const tools = '[{ name: tools, when: { tools: true }, to: two }]'
  const unused = '[{ headers: { x-no: no }, to: one/no }]'
  const moved = await changed('[{ name: own, to: one/own }]', tools)
  t.match(moved, { status: 200, place: 'two/other', rule: 'tools' })
  const metrics = await eventually(async () => {
    const text = await (await fetch(`${gateway.admin}/metrics`)).text()
    return /rules_total\{model="other",rule="tools"\} 1/.test(text) && text
  })
  t.notMatch(metrics, /rule="own"/, 'the first model was never asked')
  t.match(await changed(unused, tools, 'plain'), { place: 'two/other', rule: 'tools' })
  t.match(await changed(unused, tools), { place: 'two/other', rule: 'tools' })
  const only = '[{ name: bound, to: [one/bound, two/bound], only: [two] }]'
  t.match(await changed(unused, only), { place: 'two/bound', rule: 'bound' })
  t.match(
    await changed('[{ name: kept, only: [one] }]', tools),
    { status: 429 },
    'both rules bound the call',
  )
  t.match(await changed(unused, unused), { place: 'one/other', rule: null })
})

t.test('cheapest: the next dearer target serves what the cheapest one refuses', async t => {
  const { key } = await start('[{ to: one/x }]')
  for (let call = 0; call < 4; call++)
    t.match(await ask(key, { model: 'cheap' }), { status: 200, place: 'two/x' })
})

t.test('rules: mistakes are problems at their place', async t => {
  const problemsOf = (rules: string) =>
    start(rules).then(
      () => '',
      reason => String(reason).replaceAll('\\', ''),
    )
  t.match(await problemsOf('[{ to: onee/x }]'), /no upstream is named "onee"/)
  t.match(await problemsOf('[{ to: "one/*" }]'), /has no \* for every \*/)
  t.match(await problemsOf('[{ to: one/x, share: 120% }]'), /write it like "5%"/)
  t.match(
    await problemsOf('[{ to: one/x, when: { output: "> 3" } }]'),
    /known at the end of a call/,
  )
  t.match(await problemsOf('[{ to: one/x, only: [tow] }]'), /no upstream is named "tow"/)
  t.match(
    await problemsOf('[{ to: one/x, when: { region: eu } }]'),
    /use `zone`, a tag or a header/,
  )
  const tagged = (tags: string) => problemsOf(`[{ to: one/x, when: { tags: ${tags} } }]`)
  t.match(await tagged('{ plam: free }'), /no call has this tag.*did you mean "plan"/s)
  t.match(await tagged('{ plan: fee }'), /no call has "fee" for this tag/)
  t.match(await tagged('{ plan: [] }'), /plan/)
  t.match(await tagged('free'), /tags/)
  t.match(await problemsOf('[{ to: one/x, when: { zone: EU } }]'), /zone/)
  t.match(await problemsOf('[{ name: nothing }]'), /needs `to` or `only`/)
  for (const [name, suggestion] of [
    ['promt', 'prompt'],
    ['acount', 'account'],
    ['weekday', 'weekdays'],
    ['tool', 'tools'],
    ['service-tier', 'service_tier'],
    ['maxTokens', 'max_tokens'],
  ])
    t.match(
      await problemsOf(`[{ to: one/x, when: { ${name}: true } }]`),
      new RegExp(`"${name}".*(mean "${suggestion}"|neither a meter nor)`),
    )
  t.equal(await problemsOf('[{ to: one/x, when: { guided_json: true, user: a } }]'), '')
  t.match(await problemsOf('[{ to: one/x, only: [two] }]'), /leaves no target/)
  t.match(
    await problemsOf('[{ name: a, to: one/x }, { name: a, to: one/y }]'),
    /two rules are named "a"/,
  )
})

t.test('docs/rules.md: its example routes', async t => {
  const example = blockOf('docs/rules.md', 'yaml')
  const rules = /^ {4}rules:\n((?: {6}.*\n)+)/m.exec(example)?.[1] ?? ''
  const own = rules
    .replaceAll(/(?:gx|gp)\/[\w.-]+/g, 'two/large')
    .replace('[eu]', '[two]')
    .replace('200k', '1k')
  const list = own
    .trim()
    .split('\n')
    .map(line => line.replace(/^\s*- /, ''))
  const { key } = await start(`[${list.join()}]`)
  t.match(await ask(key, { messages: MESSAGES('word '.repeat(2_000)) }), { rule: 'long' })
  t.match(await ask(key, {}, { 'x-region': 'eu' }), { place: 'two/small', rule: 'eu' })
  t.match(await ask(key, {}, { 'x-tollgate-tags': 'plan=trial' }), { rule: 'trial' })
})
