/** Conversations stay on one key of one target over two gateways with two workers each, and move
 *  together when that key is refused. */
import t from 'tap'
import { plainAnswers } from '../../helpers/formats/plain-answers.ts'
import { startTextUpstream } from '../../helpers/gateway/chat-upstream.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { postTo } from '../../helpers/gateway/post.ts'

const KEYS = ['sk-one', 'sk-two', 'sk-three']
const [CONVERSATIONS, CALLS] = [30, 8]
/** Conversation -> places that served it, in order. */
const places = new Map<string, string[]>()
const refusedKeys = new Set<string>()
const ANSWER = JSON.stringify(plainAnswers('Hi.', 1, 1)['openai-chat'])
const startUpstream = (name: string): Promise<string> =>
  startTextUpstream(t, (text, response, request) => {
    const key = String(request.headers.authorization)
    response.setHeader('content-type', 'application/json')
    if (refusedKeys.has(key)) {
      response.statusCode = 401
      return void response.end(
        JSON.stringify({ error: { message: 'no', code: 'invalid_api_key' } }),
      )
    }
    const body = JSON.parse(text)
    const conversation = body.prompt_cache_key ?? body.metadata?.user_id
    places.set(conversation, [...(places.get(conversation) ?? []), `${name} ${key}`])
    response.end(ANSWER)
  })
const [one, two] = [await startUpstream('one'), await startUpstream('two')]
const routes = `
pipeline: [errors, model, translate]
upstreams:
  one: { url: '${one}', key: [${KEYS.join()}], formats: [openai-chat] }
  two: { url: '${two}', key: [${KEYS.join()}], formats: [openai-chat] }
models:
  m: { to: [one/m, two/m], balance: round-robin, affinity: {}, free: true }
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
`
const env = { WORKERS: '2' }
const gateways = await Promise.all([startGateway({ routes, env }), startGateway({ routes, env })])
t.teardown(() => Promise.all(gateways.map(gateway => gateway.stop())))

/** Every call has a connection of its own, so that all workers serve. */
const call = async (index: number, names: object): Promise<number> => {
  const gateway = gateways[index % gateways.length]
  const response = await postTo(
    `${gateway?.url}/v1/chat/completions`,
    { model: 'm', messages: [{ role: 'user', content: 'Hello' }], ...names },
    { connection: 'close' },
  )
  await response.text()
  return response.status
}
const namesOf = (conversation: number): object =>
  conversation % 2 === 0
    ? { prompt_cache_key: `c${conversation}` }
    : { metadata: { user_id: `c${conversation}` } }
const callAll = async (): Promise<void> => {
  for (let round = 0; round < CALLS; round++) {
    const statuses = await Promise.all(
      Array.from({ length: CONVERSATIONS }, (_, each) => call(round + each, namesOf(each))),
    )
    t.ok(statuses.every(status => status === 200))
  }
}

/** The counts of both gateways. */
const countCalls = async () => {
  const counts = { own: 0, moved: 0 }
  for (const { admin } of gateways) {
    const text = await (await fetch(`${admin}/metrics`)).text()
    const lines = text.matchAll(/^tollgate_affinity_calls_total\{.*place="(own|moved)"\} (\d+)$/gm)
    for (const [, place, count] of lines) counts[place as 'own' | 'moved'] += Number(count)
  }
  return counts
}

t.test('affinity: every call of a conversation reaches the same target and key', async t => {
  await callAll()
  t.equal(places.size, CONVERSATIONS)
  for (const [conversation, list] of places) {
    t.equal(list.length, CALLS)
    t.equal(new Set(list).size, 1, conversation)
  }
  const used = new Set([...places.values()].map(([place]) => place))
  t.same(await countCalls(), { own: CONVERSATIONS * CALLS, moved: 0 }, 'all at their own place')
  t.ok(used.size > KEYS.length, `${used.size} of 6 places are used`)
})
t.test('affinity: conversations of a refused key move, each to one place; others stay', async t => {
  const before = new Map([...places].map(([conversation, [place]]) => [conversation, place]))
  places.clear()
  refusedKeys.add(`Bearer ${KEYS[0]}`)
  await callAll()
  for (const [conversation, list] of places) {
    t.equal(new Set(list).size, 1, conversation)
    const place = before.get(conversation) ?? ''
    if (!place.endsWith(`${KEYS[0]}`)) t.equal(list[0], place)
  }
  const movedCount = [...before.values()].filter(place => place?.endsWith(`${KEYS[0]}`)).length
  const { own, moved } = await countCalls()
  t.equal(moved, movedCount * CALLS, 'the calls that had to move are counted')
  t.equal(own + moved, 2 * CONVERSATIONS * CALLS)
  const view = (await (await gateways[0]?.askAdmin('/-/upstreams'))?.text()) ?? ''
  t.match(view, /"conversations":\{"own":\d+,"moved":\d+\}/)
})
