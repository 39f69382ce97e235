/** The official OpenAI SDK, unmodified, through the shipped routes.yaml against an upstream process
 *  that replays cases. */
import t, { type Test } from 'tap'
import { type Case, stepsOf } from '../../fixtures/upstream/cases/case.ts'
import { cases as own } from '../../fixtures/upstream/cases/index.ts'
import { recordedChats } from '../../helpers/formats/recordings.ts'
import { eventsOf, readAll } from '../../helpers/gateway/event-stream.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'
import { creditAdmin } from '../../helpers/money/credit.ts'
import { draw, shortOrLong } from '../../helpers/run-settings.ts'
import {
  assemble,
  bodyOf,
  bodyWithAskedModel,
  chunkWithAskedModel,
  hidesUsage,
  isUsageChunk,
  NAME,
  openAiAt,
  runCase,
  SANDBOX,
  type SdkResult,
  visibleBytes,
  withUsageOption,
} from './sdk-cases.ts'

const upstream = await startUpstream()
const env = { OPENAI_BASE_URL: `${upstream.url}/v1`, OPENAI_API_KEY: 'the-operators-key' }
const gateway = await startGateway({ env })
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))

const key = await gateway.key()
await creditAdmin(gateway.data)
const through = openAiAt(`${gateway.url}/v1`, key)
const direct = openAiAt(`${upstream.url}/v1`, 'direct')

const isWhole = ({ end }: Case): boolean => end === undefined || end === 'complete'

/** The SDK's result through the gateway: without the usage that the gateway requested. */
const asThrough = (one: Case, result: SdkResult): SdkResult => ({
  ...result,
  chunks: result.chunks
    .filter(chunk => !hidesUsage(one) || !isUsageChunk(chunk))
    .map(chunkWithAskedModel),
})

const checkSdk = async (t: Test, one: Case): Promise<void> => {
  const result = await runCase(through, one)
  t.notOk(result.sandbox, 'not from the sandbox')
  const { throws, ...expected } = one.sdk
  if (throws) {
    t.ok(result.error, 'throws')
    t.match(result.error ?? {}, throws)
  } else {
    t.equal(result.error, undefined)
    t.match(assemble(result.chunks), expected, 'what its user reads')
  }
  if (isWhole(one) && one.replacedBecause === undefined)
    t.strictSame(
      result,
      asThrough(one, await runCase(direct, one)),
      'the same as from the upstream itself',
    )
}

const checkBytes = async (t: Test, one: Case): Promise<void> => {
  const request = JSON.stringify(bodyOf(one), null, 1)
  await upstream.forget()
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: request,
  })
  const { bytes, broke: failure } = await readAll(response)
  t.notOk(response.headers.has(SANDBOX), 'not from the sandbox')
  const whole = visibleBytes(one)
  if (one.replacedBecause !== undefined) t.notOk(bytes.equals(whole), one.replacedBecause)
  else if (isWhole(one)) {
    t.equal(failure, undefined)
    t.ok(
      bytes.equals(whole),
      `all ${whole.length} bytes of the answer${bytes.equals(whole) ? '' : `, not ${bytes.subarray(0, 300)}`}`,
    )
  } else checkTruncated(t, one, response.status, bytes, failure)
  const [received] = await upstream.events('body', one.name)
  t.equal(
    Buffer.from(received?.body.bytes ?? []).toString(),
    withUsageOption(one, request.replace(`"${NAME}"`, '"gpt-4.1"')),
    'the request differs only in the model name and the requested usage',
  )
}

/** Expects every whole event before the break, then a visible failure. */
const checkTruncated = (
  t: Test,
  one: Case,
  status: number,
  bytes: Buffer,
  failure: Error | undefined,
): void => {
  if (status >= 500)
    return void t.match(JSON.parse(bytes.toString()), { error: { message: String } })
  const whole = bodyWithAskedModel(one)
  const at = bytes.lastIndexOf('data: {"error"')
  const before = at < 0 ? bytes : bytes.subarray(0, at)
  t.ok(whole.subarray(0, before.length).equals(before), 'the bytes before the break are unchanged')
  if (failure) return void t.pass('then a broken connection')
  const events = whole.lastIndexOf('\n\n') + 2
  t.ok(whole.includes('"error"') || before.length >= events, 'every whole event of it')
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

t.test('SDK matrix: the SDK lists the models', async t => {
  const names: string[] = []
  for await (const model of through.models.list()) names.push(model.id)
  t.ok(names.includes(NAME), names.join(' '))
})

const recordedCases = recordedChats()
t.test(
  'SDK matrix: recorded traffic',
  {
    skip:
      recordedCases === undefined &&
      'RECORDINGS is not set: the matrix runs on the project’s own cases',
  },
  async t => {
    const chats = recordedCases ?? []
    t.equal(chats.length, 50)
    t.equal(chats.filter(one => one.request?.stream).length, 15, 'streams')
    // The format matrix sends all of them, too.
    await matrix(t, shortOrLong(draw(chats, 15), chats))
  },
)

t.test('SDK matrix: the project’s own cases', async t => {
  t.ok(own.length >= 40, `${own.length} of them`)
  await matrix(t, own)
})

t.test('SDK matrix: RECORDINGS that name a missing folder are an error', async t => {
  t.throws(() => recordedChats('/nowhere'), /RECORDINGS is set/)
  t.equal(recordedChats(''), undefined)
})
