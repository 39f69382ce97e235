/** The parts of the cache alone: identities of owners, memory, requests that wait, cache-control,
 *  wrong options. */
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import type { HostBase } from '../../../engine/plugin.ts'
import { Cache } from '../../../plugins/cache/cache.ts'
import { readCacheControl } from '../../../plugins/cache/cache-control.ts'
import { decodeWhole } from '../../../plugins/cache/entry.ts'
import { identityOf, promptOf } from '../../../plugins/cache/identity.ts'
import { Memory } from '../../../plugins/cache/memory.ts'
import { checkSection } from '../../../plugins/cache/problems.ts'
import { SECTION } from '../../../plugins/cache/section.ts'
import type { Prompt } from '../../../plugins/formats/hub/prompt.ts'
import { ownCodec } from '../../helpers/formats/listening-gateway.ts'
import { SILENT_LOG } from '../../helpers/gateway/test-server.ts'
import { createChance } from '../../helpers/run-settings.ts'
import { PROMPT, SCOPE } from './requests.ts'

t.test('identity: 10,000 pairs of owners who say the same never share an answer', async t => {
  const chance = createChance()
  const number = (most: number) => Math.floor(chance() * most)
  const owners = new Map<string, string>()
  let pairs = 0
  for (let index = 0; index < 10_000; index++) {
    // Few texts and many owners, so that most pairs say the same.
    const text = `Hi ${number(3)}`
    const share = chance() < 0.5 ? 'member' : 'team'
    const account = number(2_000)
    const member = share === 'team' || chance() < 0.3 ? null : number(5)
    const model = `m${number(2)}`
    const prompt = {
      ...PROMPT,
      turns: [{ role: 'user', content: [{ type: 'text', text }] }],
      settings: { temperature: 0, user: `u${number(100)}`, metadata: { n: number(100) } },
      stream: chance() < 0.5,
    } as Prompt
    const key = identityOf(prompt, { ...SCOPE, account, member, share, model })
    const owner = JSON.stringify([account, member, share, model, text])
    const earlier = owners.get(key)
    if (earlier !== undefined && earlier !== owner) t.fail(`${owner} has the answer of ${earlier}`)
    owners.set(key, owner)
    pairs++
  }
  t.equal(pairs, 10_000)
  t.equal(new Set(owners.values()).size, owners.size, 'and the same owner always does')
})

t.test('identity: everything that an answer depends on counts, hints do not', async t => {
  const usual = identityOf(PROMPT, SCOPE)
  const hinted: Prompt = {
    ...PROMPT,
    cache: { ttl: '1h' },
    turns: [{ role: 'user', content: [{ type: 'text', text: 'Hi', cache: { ttl: '5m' } }] }],
    settings: { temperature: 0, user: 'u', cacheKey: 'k', metadata: {} },
    body: { a: 1 },
  }
  t.equal(identityOf(hinted, SCOPE), usual)
  for (const more of [
    { account: 2 },
    { member: 1 },
    { model: 'n' },
    { target: 'u' },
    { versions: ['2'] },
    { headers: ['anthropic-beta: x'] },
  ])
    t.not(identityOf(PROMPT, { ...SCOPE, ...more }), usual, JSON.stringify(more))
  const other = { ...PROMPT, thinking: { mode: 'off' } } as const
  t.not(identityOf(other, SCOPE), usual)
})

t.test('identity: only requests whose answer may be the same again', async t => {
  const codec = ownCodec('openai-chat')
  const read = (body: unknown, anyTemperature = false) =>
    promptOf(codec, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), '/', {
      anyTemperature,
    })
  const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], temperature: 0 }
  t.ok(read(body))
  t.notOk(read({ ...body, temperature: 1 }))
  t.ok(read({ ...body, temperature: 1 }, true))
  for (const bad of ['', '[]', '{', 'null', { messages: 1 }]) t.notOk(read(bad), String(bad))
})

t.test('entry: streams without an end and answers without counts are not stored', async t => {
  const codec = ownCodec('openai-chat')
  const event = (value: object) => `data: ${JSON.stringify({ id: '1', ...value })}\n\n`
  const text = event({ choices: [{ index: 0, delta: { content: 'Hi' } }] })
  const stop = event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
  const usage = event({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } })
  const decode = (...events: readonly string[]) =>
    decodeWhole(codec, Buffer.from(events.join('')), true)
  t.ok(decode(text, stop, usage, 'data: [DONE]\n\n'))
  t.notOk(decode(text, 'data: {"error": {"message": "x"}}\n\n'))
  t.notOk(decode(text))
  t.notOk(decode(text, stop, 'data: [DONE]\n\n'), 'no counts')
  t.notOk(decodeWhole(codec, Buffer.from('<html>'), false))
})

t.test('memory: has at most its bytes, the longest unused goes first', async t => {
  const memory = new Memory(2_000)
  const entry = (text: string) => ({ request: 'r', at: 1, text })
  for (const key of ['a', 'b', 'c']) memory.set(key, entry('x'.repeat(150)))
  t.ok(memory.get('a'))
  memory.set('d', entry('x'.repeat(150)))
  t.notOk(memory.get('b'))
  t.ok(memory.get('a'))
  t.ok(memory.size <= 2_000)
  memory.set('large', entry('x'.repeat(5_000)))
  t.notOk(memory.get('large'))
  memory.set('a', entry('y'))
  memory.clear()
  t.equal(memory.size, 0)
})

const startCache = (more: object = {}) => {
  const host = {
    log: SILENT_LOG,
    database: { read: async () => [], write: async () => [], now: async () => 0, ...more },
  } as unknown as HostBase
  return new Cache(host, SECTION.read({}).exact)
}
const ENTRY = { request: 'r1', at: Date.now(), text: '{}' }
const NEVER = new AbortController().signal

t.test('flights: the first leads, others get its answer, or one of them leads', async t => {
  const cache = startCache()
  const first = await cache.find('k', 0, NEVER)
  t.ok(first.flight)
  const others = Array.from({ length: 5 }, () => cache.find('k', 0, NEVER))
  await setImmediate()
  first.flight?.end(ENTRY)
  t.same(
    (await Promise.all(others)).map(({ entry }) => entry),
    Array.from({ length: 5 }, () => ENTRY),
  )
  const second = await cache.find('k', 0, NEVER)
  const waiting = Array.from({ length: 3 }, () => cache.find('k', 0, NEVER))
  await setImmediate()
  second.flight?.end('failed')
  second.flight?.end(ENTRY)
  const next = await Promise.race(waiting)
  t.ok(next.flight, 'one of them leads')
  next.flight?.end('unstorable')
  const ends = await Promise.all(waiting)
  t.equal(ends.filter(({ flight, entry }) => !flight && !entry).length, 2, 'the others go alone')
})

t.test('flights: the answer to a similar text goes to those whose threshold it meets', async t => {
  const cache = startCache()
  const { flight } = await cache.find('k', 0, NEVER)
  const near = { ...ENTRY, similarity: 0.97 }
  const thresholds = [0.95, 0.97, 0.98, undefined]
  const waiting = thresholds.map(each => cache.find('k', 0, NEVER, each))
  await setImmediate()
  flight?.end(near)
  t.same(await Promise.all(waiting), [{ entry: near }, { entry: near }, {}, {}])
  t.ok((await cache.find('k', 0, NEVER, 0.95)).flight, 'it is not kept for equal requests')
})

t.test('flights: a client that leaves while it waits leads nothing', async t => {
  const cache = startCache()
  const { flight } = await cache.find('k', 0, NEVER)
  const leaver = new AbortController()
  const waiting = cache.find('k', 0, leaver.signal)
  await setImmediate()
  leaver.abort(new Error('left'))
  await t.rejects(waiting, { message: 'left' })
  flight?.end('failed')
  t.ok((await cache.find('k', 0, NEVER)).flight)
})

t.test('cache: a store that is away is a miss', async t => {
  const away = async () => {
    throw new Error('away')
  }
  const cache = startCache({ read: away, write: away })
  t.ok((await cache.find('k', 0, NEVER)).flight)
  cache.add({ ...ENTRY, id: 'k2', account: 1, model: 'm' })
  t.match((await cache.find('k2', 0, NEVER)).entry, { request: 'r1' }, 'memory has it')
  t.ok((await cache.find('k2', Date.now() + 1_000, NEVER)).flight, 'too old for this client')
})

t.test('cache-control: the directives of RFC 9111 are read, and others ignored', async t => {
  const read = (header?: string) => readCacheControl(header, 1_000_000)
  t.same(read(), { isOff: false, oldest: 0, onlyCached: false })
  t.same(read('No-Store'), { isOff: true, oldest: 0, onlyCached: false })
  t.equal(read('no-cache, max-age=5').oldest, Infinity)
  t.equal(read('max-age=5').oldest, 995_000)
  t.equal(read('max-age="5"').oldest, 995_000)
  t.equal(read('max-age=-1, max-agee=2').oldest, 0)
  t.ok(read('only-if-cached').onlyCached)
})

t.test('cache: a section without models, and models without the stage, are problems', async t => {
  const problemsOf = (document: object) => {
    const problems: string[] = []
    checkSection(document as never, (at, code, message) =>
      problems.push(`${at.join('.')} ${code} ${message}`),
    )
    return problems
  }
  t.match(problemsOf({ cache: {}, models: { m: {} } }), [/^cache CACHE_OPTION no model uses/])
  t.match(problemsOf({ pipeline: ['errors'], models: { m: { cache: 'exact' } } }), [
    /^models\.m\.cache CACHE_OPTION nothing is cached/,
  ])
  t.same(problemsOf({ cache: {}, pipeline: ['cache'], models: { m: { cache: 'exact' } } }), [])
})
