/** The official SDK, unmodified, through the shipped routes.yaml against a separate upstream process that replays traffic. */
import t, { type Test } from 'tap'
import { type Case, stepsOf } from '../../fixtures/upstream/cases/case.ts'
import { cases as own } from '../../fixtures/upstream/cases/index.ts'
import { creditAdmin } from '../../helpers/credit.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { recordedChats } from '../../helpers/recorded.ts'
import { assemble, bodyOf, type Made, NAME, run, SANDBOX, sdkAt } from '../../helpers/sdk-made.ts'
import { eventsOf, readAll } from '../../helpers/sse.ts'
import { counted, isCounts, unasked, unaskedIn } from '../../helpers/unasked.ts'
import { startUpstream } from '../../helpers/upstream.ts'

const upstream = await startUpstream()
const env = { OPENAI_BASE_URL: `${upstream.url}/v1`, OPENAI_API_KEY: 'the-operators-key' }
const gateway = await startGateway({ env })
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))

const key = await gateway.key()
await creditAdmin(gateway.data)
const through = sdkAt(`${gateway.url}/v1`, key)
const direct = sdkAt(`${upstream.url}/v1`, 'direct')

const isWhole = ({ end }: Case): boolean => end === undefined || end === 'complete'

/** As the SDK would have it, had nobody asked for the counts. */
const withoutCounts = (one: Case, made: Made): Made =>
  unasked(one) ? { ...made, chunks: made.chunks.filter(chunk => !isCounts(chunk)) } : made

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
