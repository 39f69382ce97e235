/** Answers to similar texts alone: what must be equal beside the text, numbers, thresholds,
 *  vectors, owners who never share, wrong options. */
import t from 'tap'
import type { Database, Exchange, HostBase } from '../../../engine/plugin.ts'
import { restIdentityOf, type Scope } from '../../../plugins/cache/identity.ts'
import { cutLastText, numbersIn } from '../../../plugins/cache/last-text.ts'
import { adviseOnZones, checkSection } from '../../../plugins/cache/problems.ts'
import { SECTION } from '../../../plugins/cache/section.ts'
import {
  type KnownVectors,
  SimilarAnswers,
  storedQuestionOf,
} from '../../../plugins/cache/similar.ts'
import { addEntry, migrations, purge } from '../../../plugins/cache/tables.ts'
import { thresholdOf } from '../../../plugins/cache/threshold.ts'
import { bytesOf, similarityOf, unitVectorOf, vectorIn } from '../../../plugins/cache/vectors.ts'
import type { Prompt, Turn } from '../../../plugins/formats/hub/prompt.ts'
import { SILENT_LOG } from '../../helpers/gateway/test-server.ts'
import { createChance } from '../../helpers/run-settings.ts'
import { startBoth } from '../../helpers/store/store.ts'
import { PROMPT, SCOPE } from './requests.ts'

const OPENED = await startBoth(t, [])

const turn = (role: Turn['role'], ...texts: readonly string[]): Turn => ({
  role,
  content: texts.map(text => ({ type: 'text', text })),
})
const promptOf = (turns: readonly Turn[], more: object = {}): Prompt => ({
  ...PROMPT,
  turns,
  ...more,
})
const VECTORS = ['em', 'e', '{}']
const restOf = (prompt: Prompt, scope: object = {}, embedding = VECTORS): string => {
  const last = cutLastText(prompt)
  return last ? restIdentityOf(last, { ...SCOPE, ...scope }, embedding) : 'no text'
}

t.test('similar texts: everything beside the last text must be equal, and its numbers', async t => {
  const history = [turn('system', 'Be brief.'), turn('user', 'Hi'), turn('assistant', 'Yes?')]
  const asks = (text: string, before = history, more: object = {}) =>
    promptOf([...before, turn('user', text)], more)
  const usual = restOf(asks('Which apples are red?'))
  t.equal(restOf(asks('Which apples have the colour red?')), usual, 'another text')
  t.equal(restOf(asks('Red', history, { stream: true })), usual, 'a stream')
  const tool = { type: 'function', name: 'f' } as const
  const result = { type: 'result', id: 'c', content: [{ type: 'text', text: 'x' }] } as const
  const others: Readonly<Record<string, Prompt>> = {
    system: asks('Red', [turn('system', 'Be long.'), ...history.slice(1)]),
    history: asks('Red', [...history.slice(0, 2), turn('assistant', 'No?')]),
    'a shorter history': asks('Red', history.slice(0, 1)),
    tools: asks('Red', history, { tools: [tool] }),
    settings: asks('Red', history, { settings: { temperature: 0, seed: 1 } }),
    form: asks('Red', history, { form: { type: 'json' } }),
    'a later turn': promptOf([...history, turn('user', 'Red'), turn('assistant', 'So')]),
    'a result': promptOf([
      ...history,
      { role: 'user', content: [result, ...turn('user', 'Red').content] },
    ]),
    'two texts': promptOf([...history, turn('user', 'Red', 'apples')]),
    numbers: asks('Which 2 apples are red?'),
  }
  for (const [name, prompt] of Object.entries(others)) t.not(restOf(prompt), usual, name)
  for (const scope of [
    { account: 2 },
    { member: 1 },
    { share: 'team' },
    { model: 'n' },
    { place: ['eu'] },
  ])
    t.not(restOf(asks('Red'), scope), usual, JSON.stringify(scope))
  t.not(restOf(asks('Red'), {}, ['em', 'f', '{}']), usual, 'vectors of another model')
  t.equal(restOf(promptOf([turn('user', ' ')])), 'no text')
  t.equal(
    restOf(promptOf([...history.slice(0, 2), { role: 'user', content: [result] }])),
    'no text',
  )
  t.equal(restOf(promptOf([turn('system', 'Be brief.')])), 'no text')
})

t.test('similar texts: numbers are equal in their order, sign and separators', async t => {
  t.same(numbersIn('From 3.50 to -7, at 10:30 on 2026/11/30 (½)'), [
    '3.50',
    '-7',
    '10:30',
    '2026/11/30',
    '½',
  ])
  t.same(numbersIn('٣ apples for １２ people, x²'), ['٣', '１２', '²'])
  t.same(numbersIn('none.'), [])
  const of = (text: string) => JSON.stringify(numbersIn(text))
  for (const [one, other] of [
    ['from 3 to 5', 'from 5 to 3'],
    ['1,000', '1.000'],
    ['3 5', '35'],
    ['is 5', 'is -5'],
    ['5', '5 and 5'],
  ] as const)
    t.not(of(one), of(other), `${one}, ${other}`)
})

t.test('similar texts: a client raises the threshold and never lowers it', async t => {
  t.equal(thresholdOf(undefined, 0.95), 0.95)
  t.equal(thresholdOf(' 0.99 ', 0.95), 0.99)
  for (const lower of ['0', '0.5', '.9', '0.95']) t.equal(thresholdOf(lower, 0.95), 0.95, lower)
  for (const most of ['1', '1.0']) t.equal(thresholdOf(most, 0.95), undefined, most)
  for (const wrong of ['', '-1', '1.1', '95%', '0.9, 0.8', 'NaN', '1e-1', 'high'])
    t.throws(() => thresholdOf(wrong, 0.95), { code: 'CACHE_THRESHOLD', status: 400 }, wrong)
})

t.test('similar texts: vectors are stored as floats, and compared by their cosine', async t => {
  const one = unitVectorOf([3, 4]) ?? new Float32Array()
  t.equal(similarityOf(one, one).toFixed(6), '1.000000')
  t.equal(similarityOf(one, unitVectorOf([-30, -40]) ?? one).toFixed(6), '-1.000000')
  t.equal(similarityOf(one, unitVectorOf([3, 4, 0]) ?? one), -1, 'another number of dimensions')
  for (const wrong of [[], [0, 0], [Number.NaN, 1], [Number.POSITIVE_INFINITY, 1], ['x', 1]])
    t.equal(unitVectorOf(wrong as never), undefined, JSON.stringify(wrong))
  t.same(vectorIn(bytesOf(one)), one)
  const shifted = new Uint8Array(9)
  shifted.set(bytesOf(one), 1)
  t.same(vectorIn(shifted.subarray(1)), one, 'bytes that are not aligned')
  for (const wrong of [null, 'x', new Uint8Array(5)]) t.equal(vectorIn(wrong), undefined)
})

const OPTIONS = SECTION.read({ semantic: { model: 'vectors', candidates: 1000 } }).semantic
const hostOf = (database: Database, text = '{"data":[{"embedding":[1,0]}]}'): HostBase => {
  const section: Readonly<Record<string, object>> = { models: { vectors: { to: 'em/v' } } }
  return {
    database,
    log: SILENT_LOG,
    metrics: { count: () => {} },
    upstreams: { em: { options: {} } },
    config: { hash: '1' },
    section: (name: string) => section[name] ?? {},
    share: (_key: string, _version: string, create: (previous: undefined) => object) =>
      create(undefined),
    send: async () => ({ status: 200, bytes: async () => Buffer.from(text) }),
  } as unknown as HostBase
}
const EXCHANGE = {
  id: 'r',
  signal: new AbortController().signal,
  permits: () => true,
} as unknown as Exchange

t.test('similar texts: the model of embeddings is question in its own format, once', async t => {
  const [{ database } = {}] = OPENED
  if (!database || !OPTIONS) return
  const requests: { readonly path: string; readonly body: object }[] = []
  let reply = { status: 200, text: '{"embedding":{"values":[0,2]}}' }
  const host: HostBase = {
    ...hostOf(database),
    upstreams: { em: { options: { embeddings: 'google' } } },
    send: async (_, { path, body }) => {
      requests.push({ path, body: JSON.parse(String(body)) })
      return { status: reply.status, bytes: async () => Buffer.from(reply.text) } as never
    },
  }
  const similar = new SimilarAnswers(host, OPTIONS)
  const known: KnownVectors = new Map()
  const ask = (vectors: KnownVectors = known) =>
    similar.ask(EXCHANGE, { prompt: promptOf([turn('user', 'Hi')]), scope: SCOPE }, vectors)
  t.same((await ask())?.vector, new Float32Array([0, 1]))
  t.same((await ask())?.vector, new Float32Array([0, 1]), 'a further attempt')
  t.match(requests, [
    { path: '/v1beta/models/v:embedContent', body: { content: { parts: [{ text: 'Hi' }] } } },
  ])
  t.equal(requests.length, 1)
  for (const each of [
    { status: 500, text: '{}' },
    { status: 204, text: '' },
    { status: 200, text: 'no' },
    { status: 200, text: '{"embeddings":[{"values":[1]},{"values":[1]}]}' },
    { status: 200, text: '{"embedding":{"values":["x"]}}' },
  ]) {
    reply = each
    t.equal(await ask(new Map()), undefined, JSON.stringify(each))
  }
  const leaver = AbortSignal.abort(new Error('left'))
  const closed = { ...EXCHANGE, signal: leaver } as Exchange
  const question = { prompt: promptOf([turn('user', 'Hi')]), scope: SCOPE }
  await t.rejects(similar.ask(closed, question, new Map()), { message: 'left' })
})

for (const { engine, database } of OPENED) {
  t.test(`similar texts on ${engine}: the most similar of the candidates is found`, async t => {
    await database.migrate('cache', migrations)
    if (!OPTIONS) return
    const similar = new SimilarAnswers(hostOf(database), OPTIONS)
    const rest = 'f'.repeat(64)
    const add = (id: string, at: number, numbers: readonly number[], more: object = {}) => {
      const vector = unitVectorOf(numbers) ?? new Float32Array()
      const question = storedQuestionOf({ rest, vector })
      const entry = { id, account: 1, model: 'm', request: id, at, text: '{}', question }
      return database.write([addEntry({ ...entry, expires: Date.now() + 60_000, ...more })])
    }
    await add('far', 1, [1, 1])
    await add('near', 2, [1, 0.2])
    await add('nearest', 3, [1, 0.1])
    await add('expired', 4, [1, 0], { expires: 5 })
    await add('other account', 5, [1, 0], { account: 2 })
    await add('other dimensions', 6, [1, 0, 0])
    const vector = unitVectorOf([1, 0]) ?? new Float32Array()
    const find = (threshold: number, oldest = 0, account = 1) =>
      similar.find(account, { rest, vector }, { threshold, oldest })
    const nearest = await find(0.9)
    t.equal(nearest?.request, 'nearest')
    t.equal(nearest?.similarity?.toFixed(4), '0.9950')
    t.equal(await find(0.999), undefined, 'below the threshold')
    t.equal(await find(0.9, 7), undefined, 'too old for the client')
    t.match(await find(0.9, 0, 2), { request: 'other account' })
    t.equal(await find(0.9, 0, 3), undefined)
    const { candidates: _, ...others } = OPTIONS
    const one = new SimilarAnswers(hostOf(database), { ...others, candidates: 1 })
    t.equal(await one.find(1, { rest, vector }, { threshold: 0.9, oldest: 0 }), undefined, 'newest')
    const [row] = await database.read(
      { name: 'test: bytes', text: "SELECT bytes FROM cached_answers WHERE id = 'near'" },
      [],
    )
    t.match(row, { bytes: 2 + 8 }, 'the vector counts')
    await database.write(purge(1, null))
    t.equal(await find(0.9), undefined, 'purged')
    await database.write(purge(null, null))
  })
}

t.test('similar texts: of 10,000 lookups none gets what another owner asked', async t => {
  const [{ database } = {}] = OPENED
  if (!database || !OPTIONS) return
  // All texts have one vector: nothing but what must be equal keeps owners apart.
  const similar = new SimilarAnswers(hostOf(database), OPTIONS)
  const chance = createChance()
  const number = (most: number) => Math.floor(chance() * most)
  const draw = () => {
    const share = chance() < 0.5 ? 'member' : 'team'
    const member = share === 'team' || chance() < 0.3 ? null : number(3)
    const [account, model] = [1 + number(25), `m${number(2)}`]
    const [amount, system] = [number(3), `Rules ${number(2)}`]
    const text = `${['Sell', 'I want to sell', 'Please sell'][number(3)]} ${amount} apples`
    const prompt = promptOf([turn('system', system), turn('user', text)])
    const scope: Scope = { ...SCOPE, account, member, share, model }
    return { scope, prompt, owner: JSON.stringify([account, share, member, model, amount, system]) }
  }
  const stored = new Set<string>()
  const ask = (each: ReturnType<typeof draw>) => similar.ask(EXCHANGE, each, new Map())
  for (let index = 0; index < 1_000; index++) {
    const each = draw()
    const question = await ask(each)
    if (!question) throw new Error('no embedding')
    const { account, model } = each.scope
    const entry = { id: `e${index}`, account, model, request: each.owner, at: index, text: '{}' }
    const expires = Date.now() + 3_600_000
    await database.write([addEntry({ ...entry, expires, question: storedQuestionOf(question) })])
    stored.add(each.owner)
  }
  let hits = 0
  let misses = 0
  const limits = { threshold: OPTIONS.threshold, oldest: 0 }
  const look = async () => {
    const each = draw()
    const question = await ask(each)
    const entry = question && (await similar.find(each.scope.account, question, limits))
    if (entry) hits++
    else misses++
    const expected = stored.has(each.owner) ? each.owner : undefined
    if (entry?.request !== expected) t.fail(`${each.owner} has the answer of ${entry?.request}`)
  }
  for (let index = 0; index < 100; index++) await Promise.all(Array.from({ length: 100 }, look))
  t.equal(hits + misses, 10_000)
  t.ok(hits > 1_000 && misses > 1_000, `${hits} hits, ${misses} misses`)
})

t.test('similar texts: wrong options are problems', async t => {
  const problemsOf = (document: object) => {
    const problems: string[] = []
    const add = (at: readonly (string | number)[], code: string, message: string) =>
      problems.push(`${at.join('.')} ${code} ${message}`)
    checkSection(document as never, (at, code, message) => void add(at, code, message))
    adviseOnZones(document as never, (at, severity, code, message) =>
      add(at, `${severity} ${code}`, message),
    )
    return problems
  }
  const document = {
    cache: { semantic: { model: 'vectors' } },
    pipeline: ['cache'],
    models: {
      words: { to: 'up/w', cache: 'semantic' },
      vectors: { to: 'em/v' },
      chat: { to: ['up/w', { to: 'up/x' }] },
      own: { to: 'up/v', traits: { formats: ['openai-embeddings'] } },
    },
    upstreams: { up: { formats: ['openai-chat'], zone: 'eu' }, em: {} },
    routes: [
      { path: '/a', translate: 'openai-chat' },
      { path: '/b', embed: 'openai' },
    ],
  }
  t.same(problemsOf(document), [])
  const withModel = (model: string) => problemsOf({ ...document, cache: { semantic: { model } } })
  t.match(withModel('vector'), [/^cache\.semantic\.model CACHE_OPTION no model is named "vector"/])
  t.match(withModel('chat'), [/^cache\.semantic\.model CACHE_OPTION "chat" makes no embeddings/])
  t.same(withModel('own'), [])
  t.match(problemsOf({ ...document, cache: { exact: {} } }), [
    /^models\.words\.cache CACHE_OPTION similar texts need embeddings/,
  ])
  const { vectors } = document.models
  const exact = { ...document, models: { vectors, words: { to: 'up/w', cache: 'exact' } } }
  t.match(problemsOf(exact), [/^cache\.semantic CACHE_OPTION no model uses it/])
  const european = { path: '/eu', translate: 'openai-chat', zone: { zone: 'eu' } }
  t.match(problemsOf({ ...document, routes: [...document.routes, european] }), [
    /^routes\.2\.zone warning CACHE_ZONE .*in the zone "eu"/,
  ])
  t.match(problemsOf({ ...document, routes: [european] }), [
    /^cache\.semantic\.model CACHE_OPTION every route demands a target in the zone "eu"/,
    /^routes\.0\.zone warning CACHE_ZONE/,
  ])
})
