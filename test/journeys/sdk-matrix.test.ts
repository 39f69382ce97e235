/** The official SDK, unmodified, through the shipped routes.yaml against a separate upstream process that replays traffic. */
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { type Case, type Outcome, stepsOf } from '../fixtures/upstream/cases/case.ts'
import { cases as own } from '../fixtures/upstream/cases/index.ts'
import { creditAdmin } from '../helpers/credit.ts'
import { startGateway } from '../helpers/gateway.ts'
import { recordedChats } from '../helpers/recorded.ts'
import { eventsOf, readAll } from '../helpers/sse.ts'
import { counted, isCounts, unasked, unaskedIn } from '../helpers/unasked.ts'
import { startUpstream } from '../helpers/upstream.ts'

const SANDBOX = 'x-tollgate-sandbox'
const upstream = await startUpstream()
const env = { OPENAI_BASE_URL: `${upstream.url}/v1`, OPENAI_API_KEY: 'the-operators-key' }
// The second one is as bare as a newcomer's: no environment at all.
const [gateway, bare] = await Promise.all([startGateway({ env }), startGateway()])
t.teardown(() => Promise.all([gateway.stop(), bare.stop(), upstream.stop()]))

const NAME = 'gp-4.1'
const sdkAt = (baseURL: string, apiKey: string): OpenAI =>
  new OpenAI({ baseURL, apiKey, maxRetries: 0 })
const key = await gateway.key()
await creditAdmin(gateway.data)
const through = sdkAt(`${gateway.url}/v1`, key)
const direct = sdkAt(`${upstream.url}/v1`, 'direct')

/** `user` names the case to the upstream: it passes through every gateway that leaves bodies alone. */
const bodyOf = (one: Case) => ({
  model: NAME,
  messages: [{ role: 'user', content: 'Hello' }],
  ...one.request,
  user: one.name,
})

const isWhole = ({ end }: Case): boolean => end === undefined || end === 'complete'

interface Made {
  readonly chunks: readonly unknown[]
  readonly sandbox: boolean
  readonly error?: {
    readonly status: unknown
    readonly code: unknown
    readonly message: string
    readonly retryAfter: unknown
  }
}
/** What the SDK makes of a case: everything it hands to its user, or the error it throws. */
const run = async (sdk: OpenAI, one: Case): Promise<Made> => {
  const chunks: unknown[] = []
  let sandbox = false
  try {
    const { data, response } = await sdk.chat.completions
      .create(bodyOf(one) as unknown as OpenAI.ChatCompletionCreateParams)
      .withResponse()
    sandbox = response.headers.has(SANDBOX)
    if (Symbol.asyncIterator in data) for await (const chunk of data) chunks.push(chunk)
    else chunks.push(JSON.parse(JSON.stringify(data)))
    return { chunks, sandbox }
  } catch (thrown) {
    const { status, code, message, headers } = thrown as InstanceType<typeof OpenAI.APIError>
    return {
      chunks,
      sandbox,
      error: { status, code, message, retryAfter: headers?.get?.('retry-after') },
    }
  }
}

/** As the SDK would have it, had nobody asked for the counts. */
const withoutCounts = (one: Case, made: Made): Made =>
  unasked(one) ? { ...made, chunks: made.chunks.filter(chunk => !isCounts(chunk)) } : made

interface Choice {
  readonly index: number
  readonly finish_reason?: string | null
  readonly message?: Piece
  readonly delta?: Piece
}
interface Piece {
  readonly content?: string | null
  readonly refusal?: string | null
  readonly tool_calls?: readonly {
    readonly index?: number
    readonly function?: { readonly name?: string; readonly arguments?: string }
  }[]
}
/** Chunks or a whole answer, put together as a user would. */
const assemble = (chunks: readonly unknown[]): Outcome => {
  let text = ''
  let refusal = ''
  let finish: string | null = null
  let total = 0
  const calls: [string, string][] = []
  for (const chunk of chunks as { choices?: Choice[]; usage?: { total_tokens: number } | null }[]) {
    total = chunk.usage?.total_tokens ?? total
    for (const choice of chunk.choices ?? []) {
      if (choice.index !== 0) continue
      const piece = choice.message ?? choice.delta ?? {}
      text += piece.content ?? ''
      refusal += piece.refusal ?? ''
      finish = choice.finish_reason ?? finish
      for (const [at, call] of (piece.tool_calls ?? []).entries()) {
        const [name, text] = calls[call.index ?? at] ?? ['', '']
        const { name: more = '', arguments: further = '' } = call.function ?? {}
        calls[call.index ?? at] = [name + more, text + further]
      }
    }
  }
  return { text, refusal, finish, total, calls, chunks: chunks.length }
}

const checkSdk = async (t: Test, one: Case): Promise<void> => {
  const made = await run(through, one)
  t.notOk(made.sandbox, 'not from the sandbox')
  const { throws, ...expected } = one.sdk
  if (throws) {
    t.ok(made.error, 'it throws')
    t.match(made.error ?? {}, throws)
  } else {
    t.equal(made.error, undefined)
    t.match(assemble(made.chunks), expected, 'what its user reads')
  }
  if (isWhole(one) && one.reworded === undefined)
    t.strictSame(made, withoutCounts(one, await run(direct, one)), 'the same as without us')
}

const checkBytes = async (t: Test, one: Case): Promise<void> => {
  const sent = JSON.stringify(bodyOf(one), null, 1)
  await upstream.forget()
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: sent,
  })
  const { bytes, broke } = await readAll(response)
  t.notOk(response.headers.has(SANDBOX), 'not from the sandbox')
  const whole = unaskedIn(one)
  if (one.reworded !== undefined) t.notOk(bytes.equals(whole), one.reworded)
  else if (isWhole(one)) {
    t.equal(broke, undefined)
    t.ok(
      bytes.equals(whole),
      `all ${whole.length} bytes of the answer${bytes.equals(whole) ? '' : `, not ${bytes.subarray(0, 300)}`}`,
    )
  } else checkTorn(t, one, response.status, bytes, broke)
  const [seen] = await upstream.seen('body', one.name)
  t.equal(
    Buffer.from(seen?.body.bytes ?? []).toString(),
    counted(one, sent.replace(`"${NAME}"`, '"gpt-4.1"')),
    'all bytes of the question but the name, and that it be counted',
  )
}

/** Every whole event from before the tear, then a break that shows. */
const checkTorn = (
  t: Test,
  one: Case,
  status: number,
  bytes: Buffer,
  broke: Error | undefined,
): void => {
  if (status >= 500)
    return void t.match(JSON.parse(bytes.toString()), { error: { message: String } })
  const sent = Buffer.from(one.body)
  const at = bytes.lastIndexOf('data: {"error"')
  const kept = at < 0 ? bytes : bytes.subarray(0, at)
  t.ok(sent.subarray(0, kept.length).equals(kept), 'what came before the tear, unchanged')
  if (broke) return void t.pass('then a broken connection')
  const events = sent.lastIndexOf('\n\n') + 2
  t.ok(sent.includes('"error"') || kept.length >= events, 'every whole event of it')
  const last: unknown = JSON.parse(eventsOf(bytes.toString()).at(-1) ?? 'null')
  t.match(last, { error: { message: String } }, 'then an error event')
}

const matrix = async (t: Test, cases: readonly Case[]): Promise<void> => {
  await Promise.all(cases.map(one => upstream.script(one.name, stepsOf(one))))
  for (const one of cases)
    await t.test(one.name, async t => {
      await checkSdk(t, one)
      await checkBytes(t, one)
    })
}

t.test('the SDK lists the models', async t => {
  const names: string[] = []
  for await (const model of through.models.list()) names.push(model.id)
  t.ok(names.includes(NAME), names.join(' '))
})

const recorded = recordedChats()
t.test(
  'recorded traffic',
  {
    skip:
      recorded === undefined && 'RECORDINGS is not set: the matrix runs on the project’s own cases',
  },
  async t => {
    const chats = recorded ?? []
    t.equal(chats.length, 50)
    t.equal(chats.filter(one => one.request?.stream).length, 15, 'streams')
    await matrix(t, chats)
  },
)

t.test('the project’s own cases', async t => {
  t.ok(own.length >= 40, `${own.length} of them`)
  await matrix(t, own)
})

t.test('RECORDINGS that point nowhere are an error', async t => {
  t.throws(() => recordedChats('/nowhere'), /RECORDINGS is set/)
  t.equal(recordedChats(''), undefined)
})

t.test('with no environment at all the sandbox answers, and says so', async t => {
  const sdk = sdkAt(`${bare.url}/v1`, await bare.key())
  const names: string[] = []
  for await (const model of sdk.models.list()) names.push(model.id)
  t.ok(names.includes(NAME))
  const plain: Case = { name: 'plain', body: '', sdk: {} }
  const tools = {
    tools: [
      {
        type: 'function',
        function: { name: 'weather', parameters: { type: 'object', properties: {} } },
      },
    ],
  }
  const usage = { stream_options: { include_usage: true } }
  const stream = { stream: true }
  const requests = [{}, stream, { ...stream, ...usage }, tools, { ...tools, ...stream }]
  for (const made of await Promise.all(requests.map(request => run(sdk, { ...plain, request })))) {
    t.equal(made.error, undefined)
    t.ok(made.sandbox, 'marked as such')
    const { text, calls } = assemble(made.chunks)
    t.ok(text || calls?.length, 'an answer')
  }
})
