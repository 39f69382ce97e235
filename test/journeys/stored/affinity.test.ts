/** Conversations of stored responses stay on the target and key that their first call used. */
import t from 'tap'
import { startTextUpstream } from '../../helpers/gateway/chat-upstream.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { bearer, postTo } from '../../helpers/gateway/post.ts'
import { responseBody } from '../../helpers/gateway/stored-responses.ts'

const [CONVERSATIONS, CALLS] = [12, 4]
/** Conversation -> places that served it, in order. */
const places = new Map<string, string[]>()
let responseCount = 0
const startUpstream = (name: string): Promise<string> =>
  startTextUpstream(t, (text, response, request) => {
    const conversation = /talk-\d+/.exec(text)?.[0] ?? ''
    const place = `${name} ${request.headers.authorization}`
    places.set(conversation, [...(places.get(conversation) ?? []), place])
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(responseBody(`resp_${++responseCount}`, 'Hi.')))
  })
const [one, two] = [await startUpstream('one'), await startUpstream('two')]
const gateway = await startGateway({
  env: { WORKERS: '2' },
  routes: `
pipeline: [errors, auth, model, responses, translate]
upstreams:
  one: { url: '${one}', key: [sk-a, sk-b, sk-c], formats: [openai-responses] }
  two: { url: '${two}', key: [sk-a, sk-b, sk-c], formats: [openai-responses] }
models:
  m: { to: [one/m, two/m], balance: round-robin, affinity: {}, free: true }
routes:
  - { path: POST /v1/responses, auth: [key], model: body, responses: create, translate: openai-responses }
`,
})
t.teardown(() => gateway.stop())
const key = await gateway.key()

/** Returns the id of the response. */
const call = async (conversation: number, previous: string | undefined): Promise<string> => {
  const response = await postTo(
    `${gateway.url}/v1/responses`,
    {
      model: 'm',
      input: `talk-${conversation}`,
      ...(previous !== undefined && { previous_response_id: previous }),
    },
    { ...bearer(key), connection: 'close' },
  )
  const text = await response.text()
  t.equal(response.status, 200, text)
  return JSON.parse(text).id
}

t.test('affinity: responses that continue each other use one target and key', async t => {
  await Promise.all(
    Array.from({ length: CONVERSATIONS }, async (_, conversation) => {
      // Two conversations that begin in one millisecond would share a place.
      await new Promise(resolve => setTimeout(resolve, 5 * conversation))
      let previous: string | undefined
      for (let turn = 0; turn < CALLS; turn++) previous = await call(conversation, previous)
    }),
  )
  t.equal(places.size, CONVERSATIONS)
  for (const [conversation, list] of places) {
    t.equal(list.length, CALLS)
    t.equal(new Set(list).size, 1, `${conversation}: ${list}`)
  }
  const used = new Set([...places.values()].map(([place]) => place))
  t.ok(used.size > 2, `${used.size} of 6 places are used`)
})
