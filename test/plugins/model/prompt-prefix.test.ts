/** `balance: prefix`: blocks of a prompt, the memory of an address, and the choice between two. */
import { Ajv } from 'ajv'
import t from 'tap'
import { ROUTE } from '../../../engine/config/sections/route.ts'
import type { Target } from '../../../engine/plugin.ts'
import { pick } from '../../../engine/upstream/balance.ts'
import type { Candidate } from '../../../engine/upstream/candidate.ts'
import { Health } from '../../../engine/upstream/health.ts'
import { PrefixMemory } from '../../../engine/upstream/prefix-memory.ts'
import { SECTION } from '../../../plugins/catalogue/section.ts'
import { prefixOf } from '../../../plugins/model/prompt-prefix.ts'

const word = (name: string, length = 3_000) => `${name} `.repeat(length / (name.length + 1))
const chat = (...texts: readonly string[]) => ({
  messages: texts.map(content => ({ role: 'user', content })),
})
const hashes = (body: Parameters<typeof prefixOf>[1], seed = 'a m') =>
  prefixOf(seed, body).map(({ hash }) => hash)
/** The number of equal blocks at the beginning. */
const equalBlocks = (one: readonly number[], other: readonly number[]): number => {
  const end = one.findIndex((hash, index) => hash !== other[index])
  return end < 0 ? one.length : end
}

t.test('prompt prefix: a longer prompt has the blocks of its beginning', async t => {
  const [short, long] = [hashes(chat(word('one'))), hashes(chat(word('one'), word('two')))]
  t.ok(short.length > 10)
  t.equal(equalBlocks(short, long), short.length - 1, 'all but the last, which is not full')
  t.equal(equalBlocks(short, hashes(chat(word('other')))), 0)
  t.equal(equalBlocks(short, hashes(chat(word('one')), 'b m')), 0, 'another account')
  for (const body of [null, 'text', [], {}, { model: 'm', temperature: 1 }])
    t.same(prefixOf('', body), [])
})

t.test('prompt prefix: members of every format count, in the order of a prompt', async t => {
  const system = word('system')
  for (const [member, more] of [
    ['system', { messages: [{ role: 'user', content: 'x' }] }],
    ['instructions', { input: 'x' }],
    ['systemInstruction', { contents: [{ parts: [{ text: 'x' }] }] }],
  ] as const) {
    // Clients may write them in any order.
    const [one, other] = [
      hashes({ [member]: system, ...more }),
      hashes({ ...more, [member]: system }),
    ]
    t.same(one, other, member)
    t.ok(one.length > 10)
  }
  t.equal(equalBlocks(hashes({ prompt: word('a') }), hashes({ prompt: word('a'), stop: 'x' })), 12)
})

t.test('prompt prefix: blocks of long prompts are few', async t => {
  const blocks = prefixOf('', { prompt: word('long', 4_000_000) })
  t.ok(blocks.length < 300, `${blocks.length}`)
  t.equal(blocks.at(-1)?.end, 1_048_576)
})

t.test('prefix memory: forgets what was used longest ago', async t => {
  const memory = new PrefixMemory()
  const first = prefixOf('', { prompt: word('first') })
  memory.add(first)
  t.equal(memory.shareOf(first), 1)
  for (let call = 0; call < 3_000; call++) memory.add(prefixOf('', { prompt: word(`n${call}`) }))
  t.equal(memory.size, 20_000)
  t.equal(memory.shareOf(first), 0)
  t.equal(memory.shareOf(prefixOf('', { prompt: word('n2999') })), 1)
})

const createCandidates = (weights: readonly number[] = [1, 1]) =>
  weights.map(
    (weight, index) =>
      ({
        target: { upstream: `own${index}`, weight, prefix: [] },
        upstream: { keys: undefined },
        origin: {
          address: `http://own${index}`,
          health: new Health(),
          busy: 0,
          prefixes: new PrefixMemory(),
        },
        base: '',
      }) as unknown as Candidate & { readonly origin: { busy: number } },
  )
const pickFor = (candidates: readonly Candidate[], ...texts: readonly string[]): number => {
  const prefix = prefixOf('', chat(...texts))
  for (const { target } of candidates) Object.assign(target as Target, { prefix })
  const picked = pick(candidates, new Set(), 'prefix', { count: 0 }, 0)
  return candidates.indexOf(picked as Candidate)
}

t.test('balance prefix: conversations stay where they began, and begin everywhere', async t => {
  const candidates = createCandidates([1, 1, 1])
  const places = Array.from({ length: 60 }, (_, n) => pickFor(candidates, word(`talk${n}`)))
  t.same(new Set(places), new Set([0, 1, 2]))
  for (const [n, place] of places.entries())
    t.equal(pickFor(candidates, word(`talk${n}`), 'and', word('more')), place)
  const other = createCandidates([1, 1, 1])
  t.equal(pickFor(other, word('talk7')), places[7], 'another worker agrees')
})

t.test('balance prefix: a loaded address is left, and the longest prefix wins', async t => {
  const candidates = createCandidates()
  const own = pickFor(candidates, word('shared'))
  const [place, spare] = [candidates[own], candidates[1 - own]]
  if (!place || !spare) throw new Error('two candidates')
  place.origin.busy = 7
  t.equal(pickFor(candidates, word('shared')), own, 'seven under way weigh less than the prompt')
  place.origin.busy = 9
  t.equal(pickFor(candidates, word('shared')), 1 - own)
  place.origin.busy = 0
  spare.origin.busy = 1
  t.equal(pickFor(candidates, word('shared')), own, 'both know it: the less loaded one')
  spare.origin.busy = 0
  spare.origin.prefixes.add(prefixOf('', chat(word('shared'), word('second'))))
  t.equal(pickFor(candidates, word('shared'), word('second')), 1 - own)
})

t.test('balance prefix: without a prompt the least busy one', async t => {
  const candidates = createCandidates()
  for (const busy of [0, 1]) {
    for (const [index, { origin }] of candidates.entries()) origin.busy = index === busy ? 0 : 5
    const picked = pick(candidates, new Set(), 'prefix', { count: 0 }, 0)
    t.equal(candidates.indexOf(picked as never), busy)
  }
})

t.test('balance prefix: models have it, routes do not', async t => {
  const ajv = new Ajv({ strict: false })
  const { balance } = ROUTE.schema.properties as { readonly balance: object }
  const ofModels = SECTION.schema as { additionalProperties: { properties: { balance: object } } }
  t.notOk(ajv.compile(balance)('prefix'))
  t.ok(ajv.compile(balance)('fastest'))
  t.ok(ajv.compile(ofModels.additionalProperties.properties.balance)('prefix'))
  t.notOk(ajv.compile(ofModels.additionalProperties.properties.balance)('longest'))
})
