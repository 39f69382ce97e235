/** Streams and errors that recordings rarely contain, more than forty handmade ones of each
 *  provider: sent to the official SDK of another format (in the long form, of all others), whose
 *  user must read or catch the right thing. */
import t, { type Test } from 'tap'
import type {
  Expected,
  Failure,
  FormatCase,
} from '../../fixtures/upstream/format-cases/format-case.ts'
import { formatCases } from '../../fixtures/upstream/format-cases/index.ts'
import type { AnswerReading } from '../../helpers/formats/provider-reading.ts'
import { LONG } from '../../helpers/run-settings.ts'
import { validateFetches } from './fetch-validation.ts'
import { inLanes, shortName, startMatrix } from './matrix.ts'
import type { Client } from './sdks.ts'

const listener = validateFetches()
const matrix = await startMatrix({ program: 'format-cases-server.ts' })
t.teardown(() => matrix.stop())

/** Other statuses that a dialect uses for the same error. */
const STATUSES: Readonly<Record<string, Readonly<Record<number, number>>>> = {
  'openai-chat': { 529: 503 },
  'openai-responses': { 529: 503 },
  'anthropic-messages': { 503: 529 },
  'google-gemini': { 529: 503 },
}
const isFailure = (expected: Expected): expected is Failure => 'says' in expected

/** Facts that a case does not list are not compared; usage is not compared then, since some of it
 *  is estimated. */
const fullReading = (expected: Partial<AnswerReading>): Partial<AnswerReading> => ({
  text: '',
  calls: [],
  thoughts: '',
  citations: [],
  finish: expected.calls?.length ? 'call' : 'end',
  ...expected,
})

interface SdkError {
  readonly message: string
  readonly status?: number
  readonly headers?: Headers
}
const judge = async (t: Test, format: string, one: FormatCase, name: string, client: Client) => {
  const at = `${format} ${one.name}, to ${name}`
  const expected = one.but?.[name] ?? one.expected
  const model = `${shortName(format)}-${format}.${one.name}`
  try {
    const { deltas, ...read } = await client(model, one.stream === true)
    if (isFailure(expected)) return void t.fail(`${at}: no error, but ${JSON.stringify(read)}`)
    const due = fullReading(expected)
    const matches = Object.entries(read).filter(([member]) => member in due)
    t.strictSame(Object.fromEntries(matches), due, at)
    t.ok(deltas === undefined || deltas === read.text, `${at}: the pieces are the whole`)
  } catch (error) {
    const { message, status, headers } = error as SdkError
    if (!isFailure(expected)) return void t.fail(`${at}: ${error}`)
    t.match(message, expected.says, at)
    const { status: due } = expected
    if (due !== undefined)
      t.equal(status, STATUSES[name]?.[due] ?? due, `${at}: its status, ${status}`)
    const wait = headers?.get('retry-after') ?? /"retryDelay":"(\d+)s"/.exec(message)?.[1]
    if (expected.wait !== undefined) t.equal(wait, expected.wait, `${at}: how long to wait`)
  }
}

for (const [format, cases] of formatCases)
  t.test(`format cases: users of ${format} read the same answers and errors`, async t => {
    t.ok(cases.length >= 40, `${cases.length} cases`)
    t.equal(new Set(cases.map(({ name }) => name)).size, cases.length, 'each case ran once')
    const others = Object.entries(matrix.clients).filter(([name]) => name !== format)
    await inLanes([...cases.entries()], async ([index, one]) => {
      const { to = others[index % others.length]?.[0] } = one
      for (const [name, client] of others)
        if (LONG || name === to) await judge(t, format, one, name, client)
    })
    t.comment(`${cases.length} cases`)
  })

t.test('format cases: everything sent matches the types of the SDK that read it', async t => {
  t.same((await listener.finish()).errors, [])
})
