/** Every client format against every upstream format: official SDKs send requests, recorded answers
 *  come from an upstream process, and the SDK's user must read what the recording says, as recorded
 *  and with streaming toggled. */
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { readRecorded } from '../../helpers/formats/provider-reading.ts'
import { type Recording, recordedFormat, recordings } from '../../helpers/formats/recordings.ts'
import { SCHEMA_EXCEPTIONS } from '../../helpers/formats/sdk-validator.ts'
import { LONG, seed } from '../../helpers/run-settings.ts'
import { validateFetches } from './fetch-validation.ts'
import { inLanes, NANOS, recordedCases, shortName, startMatrix } from './matrix.ts'
import { type Charge, type Counts, chargesIn, providerCounts } from './provider-counts.ts'
import { chargeExceptionOf, exceptionLines, exceptionOf } from './recording-exceptions.ts'
import type { Client } from './sdks.ts'

const skip = recordedCases.length === 0 && 'RECORDINGS is not set'
const listener = validateFetches()
const matrix = skip ? undefined : await startMatrix({ isPriced: true })
t.teardown(() => matrix?.stop())

/** Formats without images in answers carry them as Markdown in the text, which is not compared. */
const IMAGE = /!\[image\]\(data:[^)]*\)/g
const imageIds = new Set<string>()
/** Answers with hosted tools, which are counted only if the request offers the tools. */
const HOSTED_TOOL =
  /"(?:web_search|file_search|code_interpreter)_call"|webSearchQueries"|executableCode"/
/** Chat has no part for programs that the provider ran: they are code blocks in its text. */
const PROGRAM = /(`{3,})\w*\n[\s\S]*?\n\1(?![`\w])\n*/g
const HAS_PROGRAM = /"(?:bash_|text_editor_)?code_(?:execution|interpreter)|executableCode/
/** The text of an answer of which a client of chat reads programs as code blocks: without these,
 *  and without the blanks that set them apart. */
const withoutPrograms = (text: string, name: string, { response_body: body }: Recording): string =>
  name === 'openai-chat' && HAS_PROGRAM.test(body)
    ? text.replace(PROGRAM, '').replace(/\s+/g, '')
    : text
/** Each recording is read once for all clients. */
const once = <T>(read: (recording: Recording) => T): ((recording: Recording) => T) => {
  const results = new Map<string, T>()
  return recording => {
    const result = results.get(recording.id) ?? read(recording)
    results.set(recording.id, result)
    return result
  }
}
const searches = once(({ response_body: body }) => HOSTED_TOOL.test(body))
const readingOf = once(({ format, stream, response_body: body }) =>
  readRecorded(format, stream, body),
)
const countsOf = once(one => providerCounts(one, { search: searches(one) }))
const clients = Object.entries(matrix?.clients ?? {})
const formatOf = ({ format }: Recording): string => recordedFormat(format) as string

interface Tally {
  requests: number
  equal: number
  excepted: number
  errors: number
}
const cells = new Map<string, Tally>()
const check = async (
  t: Test,
  [name, client]: readonly [string, Client],
  recording: Recording,
  stream: boolean,
): Promise<void> => {
  const { id } = recording
  const recordedMode = recording.stream ? 'stream' : 'plain'
  const mode =
    stream === recording.stream ? recordedMode : `${recordedMode} as ${stream ? 'stream' : 'plain'}`
  const cell = `${shortName(name)} <- ${shortName(formatOf(recording))} ${mode}`
  const tally = cells.get(cell) ?? { requests: 0, equal: 0, excepted: 0, errors: 0 }
  cells.set(cell, tally)
  tally.requests++
  const exception = exceptionOf(name, recording)
  try {
    const model = `${shortName(formatOf(recording))}-${id}`
    const { deltas, ...read } = await client(model, stream, searches(recording))
    if (exception?.throws) return void t.fail(`${cell} ${id}: no error, but "${read.text}"`)
    const reading = readingOf(recording)
    const expectedReading = exception?.expected?.(reading, recording) ?? reading
    const expected = {
      ...expectedReading,
      text: withoutPrograms(expectedReading.text, name, recording),
      'the pieces are the whole': true,
    }
    // The deltas of some recordings hold less text than their end; our encoding repeats the full
    // text in both.
    const complete = name === formatOf(recording) || deltas === undefined || deltas === read.text
    const text = read.text.replace(IMAGE, () => {
      imageIds.add(id)
      return ''
    })
    const received = {
      ...read,
      text: withoutPrograms(text, name, recording),
      'the pieces are the whole': complete,
    }
    // Passing assertions are counted in the table, because two thousand separate ones take a
    // second.
    if (!isDeepStrictEqual(received, expected)) t.strictSame(received, expected, `${cell} ${id}`)
    else if (exception) tally.excepted++
    else tally.equal++
  } catch (error) {
    const { message, status } = error as { readonly message: string; readonly status?: number }
    if (!exception?.throws) return void t.fail(`${cell} ${id}: ${error}`)
    // An error inside a stream has no status.
    const isStarted = stream && recording.stream
    const expectedError = {
      message: exception.throws,
      ...(!isStarted && { status: exception.status }),
    }
    t.match({ message, status }, expectedError, `${cell} ${id}`)
    tally.errors++
  }
}

/** In the short form, one client of another format toggles streaming for each recording. */
const isToggled = (name: string, recording: Recording, index: number): boolean => {
  const others = clients.filter(([other]) => other !== formatOf(recording))
  const at = others.findIndex(([other]) => other === name)
  return at >= 0 && (LONG || at === (index + seed()) % others.length)
}
for (const client of clients)
  t.test(`format matrix: clients of ${client[0]} read what was recorded`, t =>
    inLanes([...recordedCases.entries()], async ([index, one]) => {
      await check(t, client, one, one.stream)
      if (isToggled(client[0], one, index)) await check(t, client, one, !one.stream)
    }),
  )

t.test('format matrix: all cells as expected', { skip }, async t => {
  for (const [cell, { requests, equal, excepted, errors }] of [...cells].sort()) {
    t.comment(
      `${cell}: ${requests} requests, ${equal} equal, ${excepted} as listed exceptions, ${errors} errors`,
    )
    t.equal(equal + excepted + errors, requests, `${cell}: all as expected`)
  }
  for (const line of exceptionLines()) t.comment(line)
  for (const id of imageIds) t.comment(`${id}, in some cells: its images are not compared`)
  const others = (recordings() ?? []).filter(one => recordedFormat(one.format) === undefined)
  for (const { id, format } of others) t.comment(`${id}, not sent: its endpoint is of ${format}`)
})

/** The price of this usage at the default prices. */
const chargeFor = (usage: Counts, estimated = 0): Charge => {
  const nanos = Object.entries(usage).map(([meter, count]) => count * (NANOS[meter] ?? 0))
  const amount = nanos.reduce((sum, each) => sum + each, 0)
  return { state: 'settled', amount, uncollected: 0, estimated, usage }
}
/** Whether the usage equals the recording's own or its listed exception. */
const isDue = (client: string, recording: Recording, charge: Charge | undefined): boolean => {
  const expectedCharge = chargeExceptionOf(client, recording)?.expectedCharge
  if (expectedCharge === 'nothing') return charge === undefined || charge.state === 'released'
  if (expectedCharge === 'an estimate')
    return (
      (charge?.usage.input ?? 0) > 0 && isDeepStrictEqual(charge, chargeFor(charge?.usage ?? {}, 1))
    )
  const counts =
    expectedCharge === 'all counts'
      ? providerCounts(recording, { search: searches(recording), all: true })
      : countsOf(recording)
  return counts !== undefined && isDeepStrictEqual(charge, chargeFor(counts))
}
/** Adds the uncollected part: recorded answers may exceed twice the hold of these requests. */
const costOf = (charge: Charge): Charge => ({
  ...charge,
  amount: Number(charge.amount ?? 0) + Number(charge.uncollected ?? 0),
  uncollected: 0,
})
t.test('format matrix: charges equal the upstream’s usage', { skip }, async t => {
  const charges = await chargesIn(matrix?.data ?? '')
  const recordingById = new Map(recordedCases.map(one => [one.id, one]))
  const rows = new Map<string, { requests: number; exceptions: number; wrong: unknown[] }>()
  for (const [request, { format, model }] of listener.questions) {
    const recording = recordingById.get(model.replace(/^\w+-/, ''))
    if (!recording) throw new Error(`no recording of ${model}`)
    const cell = `${shortName(format)} <- ${shortName(formatOf(recording))}`
    const row = rows.get(cell) ?? { requests: 0, exceptions: 0, wrong: [] }
    rows.set(cell, row)
    row.requests++
    if (chargeExceptionOf(format, recording)) row.exceptions++
    const charge = charges.get(request)
    if (!isDue(format, recording, charge && costOf(charge))) row.wrong.push([recording.id, charge])
  }
  for (const [cell, { requests, exceptions, wrong }] of [...rows].sort()) {
    t.comment(
      `${cell}: ${requests} requests, ${requests - exceptions} charged as counted, ${exceptions} excepted`,
    )
    t.same(wrong, [], cell)
  }
  const requests = [...cells.values()].reduce((sum, each) => sum + each.requests, 0)
  t.equal(listener.questions.size, requests, 'every answer was charged')
})

t.test(
  'format matrix: everything sent matches the types of the SDK that read it',
  { skip },
  async t => {
    const { errors: complaints, counts: judged, usedExceptions } = await listener.finish()
    for (const [format, { answers, events }] of judged)
      t.comment(`${format}: ${answers} answers, ${events} events`)
    t.same(complaints, [])
    for (const [format, { answers, events }] of judged)
      t.ok(answers > 100 && events > 1_000, `${format}: judged`)
    t.same(
      [...usedExceptions].sort(),
      [...SCHEMA_EXCEPTIONS].sort(),
      'every listed exception occurs',
    )
  },
)
