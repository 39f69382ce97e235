/** Every client format against every upstream format: official SDKs send requests, recorded answers
 *  come from an upstream process, and the SDK's user must read what the recording says, as recorded
 *  and with streaming toggled. */
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { EXCEPTIONS } from '../../helpers/answered.ts'
import { chargeExceptionOf, exceptionLines, exceptionOf } from '../../helpers/exceptions.ts'
import { listen } from '../../helpers/judged.ts'
import { LONG } from '../../helpers/long.ts'
import { inLanes, NANOS, recorded, short, startMatrix } from '../../helpers/matrix.ts'
import { type Charge, type Counts, chargesIn, countedBy } from '../../helpers/metered.ts'
import { type Recording, recordedFormat, recordings } from '../../helpers/recorded.ts'
import { readRecorded } from '../../helpers/recorded-reading.ts'
import type { Client } from '../../helpers/sdks.ts'
import { seed } from '../../helpers/seeded.ts'

const skip = recorded.length === 0 && 'RECORDINGS is not set'
const listener = listen()
const stand = skip ? undefined : await startMatrix({ priced: true })
t.teardown(() => stand?.stop())

/** Formats without images in answers carry them as Markdown in the text, which is not compared. */
const IMAGE = /!\[image\]\(data:[^)]*\)/g
const drawnIds = new Set<string>()
/** Answers with hosted tools, which are counted only if the request offers the tools. */
const WORK = /"(?:web_search|file_search|code_interpreter)_call"|webSearchQueries"|executableCode"/
/** Each recording is read once for all clients. */
const once = <T>(read: (recording: Recording) => T): ((recording: Recording) => T) => {
  const known = new Map<string, T>()
  return recording => {
    const matches = known.get(recording.id) ?? read(recording)
    known.set(recording.id, matches)
    return matches
  }
}
const searches = once(({ response_body: body }) => WORK.test(body))
const readingOf = once(({ format, stream, response_body: body }) =>
  readRecorded(format, stream, body),
)
const countsOf = once(one => countedBy(one, { search: searches(one) }))
const clients = Object.entries(stand?.clients ?? {})
const formatOf = ({ format }: Recording): string => recordedFormat(format) as string

interface Tally {
  asked: number
  same: number
  otherwise: number
  failed: number
}
const cells = new Map<string, Tally>()
const check = async (
  t: Test,
  [name, client]: readonly [string, Client],
  recording: Recording,
  stream: boolean,
): Promise<void> => {
  const { id } = recording
  const was = recording.stream ? 'stream' : 'plain'
  const mode = stream === recording.stream ? was : `${was} as ${stream ? 'stream' : 'plain'}`
  const cell = `${short(name)} <- ${short(formatOf(recording))} ${mode}`
  const tally = cells.get(cell) ?? { asked: 0, same: 0, otherwise: 0, failed: 0 }
  cells.set(cell, tally)
  tally.asked++
  const exception = exceptionOf(name, recording)
  try {
    const model = `${short(formatOf(recording))}-${id}`
    const { deltas, ...read } = await client(model, stream, searches(recording))
    if (exception?.throws) return void t.fail(`${cell} ${id}: no error, but "${read.text}"`)
    const wanted = readingOf(recording)
    const result = exception?.expected?.(wanted, recording) ?? wanted
    const due = { ...result, 'the pieces are the whole': true }
    // The deltas of some recordings hold less text than their end; our encoding repeats the full
    // text in both.
    const complete = name === formatOf(recording) || deltas === undefined || deltas === read.text
    const text = read.text.replace(IMAGE, () => {
      drawnIds.add(id)
      return ''
    })
    const matches = { ...read, text, 'the pieces are the whole': complete }
    // Passing assertions are counted in the table, because two thousand separate ones take a
    // second.
    if (!isDeepStrictEqual(matches, due)) t.strictSame(matches, due, `${cell} ${id}`)
    else if (exception) tally.otherwise++
    else tally.same++
  } catch (thrown) {
    const { message, status } = thrown as { readonly message: string; readonly status?: number }
    if (!exception?.throws) return void t.fail(`${cell} ${id}: ${thrown}`)
    // An error inside a stream has no status.
    const started = stream && recording.stream
    const due = { message: exception.throws, ...(!started && { status: exception.status }) }
    t.match({ message, status }, due, `${cell} ${id}`)
    tally.failed++
  }
}

/** In the short form, one client of another format toggles streaming for each recording. */
const flipped = (name: string, recording: Recording, index: number): boolean => {
  const others = clients.filter(([other]) => other !== formatOf(recording))
  const at = others.findIndex(([other]) => other === name)
  return at >= 0 && (LONG || at === (index + seed()) % others.length)
}
for (const client of clients)
  t.test(`format matrix: clients of ${client[0]} read what was recorded`, t =>
    inLanes([...recorded.entries()], async ([index, one]) => {
      await check(t, client, one, one.stream)
      if (flipped(client[0], one, index)) await check(t, client, one, !one.stream)
    }),
  )

t.test('format matrix: all cells as expected', { skip }, async t => {
  for (const [cell, { asked: question, same, otherwise: alternative, failed }] of [
    ...cells,
  ].sort()) {
    t.comment(
      `${cell}: ${question} asked, ${same} the same, ${alternative} in other words, ${failed} errors`,
    )
    t.equal(same + alternative + failed, question, `${cell}: all as expected`)
  }
  for (const line of exceptionLines()) t.comment(line)
  for (const id of drawnIds) t.comment(`${id}, some cells: its images are not compared`)
  const others = (recordings() ?? []).filter(one => recordedFormat(one.format) === undefined)
  for (const { id, format } of others) t.comment(`${id}, not asked: its endpoint is of ${format}`)
})

/** The price of this usage at the default prices. */
const chargeFor = (usage: Counts, estimated = 0): Charge => {
  const nanos = Object.entries(usage).map(([meter, count]) => count * (NANOS[meter] ?? 0))
  const amount = nanos.reduce((sum, each) => sum + each, 0)
  return { state: 'settled', amount, uncollected: 0, estimated, usage }
}
/** Whether the usage equals the recording's own or its listed exception. */
const isDue = (client: string, recording: Recording, charge: Charge | undefined): boolean => {
  const charged = chargeExceptionOf(client, recording)?.charged
  if (charged === 'nothing') return charge === undefined || charge.state === 'released'
  if (charged === 'an estimate')
    return (
      (charge?.usage.input ?? 0) > 0 && isDeepStrictEqual(charge, chargeFor(charge?.usage ?? {}, 1))
    )
  const counts =
    charged === 'all counts'
      ? countedBy(recording, { search: searches(recording), all: true })
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
  const charges = await chargesIn(stand?.data ?? '')
  const by = new Map(recorded.map(one => [one.id, one]))
  const matches = new Map<string, { asked: number; excepted: number; wrong: unknown[] }>()
  for (const [request, { format, model }] of listener.asked) {
    const recording = by.get(model.replace(/^\w+-/, ''))
    if (!recording) throw new Error(`nobody recorded ${model}`)
    const cell = `${short(format)} <- ${short(formatOf(recording))}`
    const row = matches.get(cell) ?? { asked: 0, excepted: 0, wrong: [] }
    matches.set(cell, row)
    row.asked++
    if (chargeExceptionOf(format, recording)) row.excepted++
    const charge = charges.get(request)
    if (!isDue(format, recording, charge && costOf(charge))) row.wrong.push([recording.id, charge])
  }
  for (const [cell, { asked: question, excepted: exceptions, wrong }] of [...matches].sort()) {
    t.comment(
      `${cell}: ${question} asked, ${question - exceptions} charged as counted, ${exceptions} excepted`,
    )
    t.same(wrong, [], cell)
  }
  const question = [...cells.values()].reduce((sum, each) => sum + each.asked, 0)
  t.equal(listener.asked.size, question, 'every answer was charged')
})

t.test(
  'format matrix: everything sent matches the types of the SDK that read it',
  { skip },
  async t => {
    const { complaints, judged: checked, met: observed } = await listener.done()
    for (const [format, { answers, events }] of checked)
      t.comment(`${format}: ${answers} answers, ${events} events`)
    t.same(complaints, [])
    for (const [format, { answers, events }] of checked)
      t.ok(answers > 100 && events > 1_000, `${format}: judged`)
    t.same([...observed].sort(), [...EXCEPTIONS].sort(), 'every listed exception occurs')
  },
)
