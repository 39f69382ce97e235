/** Every client format against every upstream format: the official SDKs ask, recorded providers answer from a process of their
 *  own, and what the SDK's user reads is what the recording says. */
import t, { type Test } from 'tap'
import { EXCEPTIONS } from '../helpers/answered.ts'
import { listen } from '../helpers/judged.ts'
import { inLanes, recorded, short, startMatrix } from '../helpers/matrix.ts'
import { type Reading, readRecorded } from '../helpers/reading.ts'
import { type Recording, recordedFormat } from '../helpers/recorded.ts'
import type { Client } from '../helpers/sdks.ts'

if (recorded.length === 0) {
  t.pass('RECORDINGS is not set: the matrix has nothing to replay')
  process.exit()
}

const heard = listen()
const stand = await startMatrix()
t.teardown(() => stand.stop())

/** Recordings that no client can be told as they are, with the reason. */
const REFUSED: Readonly<Record<string, RegExp>> = {
  'rec-0162': /queued/, // answered in the background: there is no answer yet
  'rec-0164': /queued/,
  'rec-0277': /exceeded your current quota/, // the upstream's own error, in the middle of its stream
}
/** Tools of xAI that it runs itself, under the name of the client's own. */
const HOSTED = new Set(['rec-0377'])
/** Tools called with free text: other formats have objects only. */
const FREE = new Set(['rec-0275', 'rec-0276'])

/** What is told in other words where a client's format has no field for it. */
const told = (client: string, { id, format }: Recording, reading: Reading): Partial<Reading> => {
  if (HOSTED.has(id) && !format.startsWith(short(client))) {
    const { calls: _, finish: __, ...rest } = reading
    return rest
  }
  const objects = client === 'anthropic-messages' || client === 'google-gemini'
  if (FREE.has(id) && objects)
    return { ...reading, calls: reading.calls.map(([name, input]) => [name, { input }]) }
  return reading
}
/** Images stand in the text where a format has no other place: Markdown, which is not compared with what was said. */
const spoken = (reading: Reading): Reading => ({
  ...reading,
  text: reading.text.replace(/!\[image\]\(data:[^)]*\)/g, ''),
})

const cells = new Map<string, { asked: number; accepted: number; same: number; refused: number }>()
const check = async (
  t: Test,
  name: string,
  client: Client,
  recording: Recording,
): Promise<void> => {
  const format = recordedFormat(recording.format) as string
  const cell = `${short(name)} <- ${short(format)} ${recording.stream ? 'stream' : 'plain'}`
  const tally = cells.get(cell) ?? { asked: 0, accepted: 0, same: 0, refused: 0 }
  cells.set(cell, tally)
  tally.asked++
  const refused = REFUSED[recording.id]
  try {
    const { deltas, ...read } = await client(`${short(format)}-${recording.id}`, recording.stream)
    tally.accepted++
    const wanted = readRecorded(recording.format, recording.stream, recording.response_body)
    const same = t.match(spoken(read), told(name, recording, wanted), `${cell} ${recording.id}`)
    // Some recordings say less in their pieces than at the end; what we write says the same twice.
    const whole = name === format || deltas === undefined || deltas === read.text
    if (t.ok(whole, 'the pieces are the whole') && same) tally.same++
  } catch (thrown) {
    if (!refused) return void t.fail(`${cell} ${recording.id}: ${thrown}`)
    t.match(String(thrown), refused, `${cell} ${recording.id}`)
    tally.refused++
  }
}

for (const [name, client] of Object.entries(stand.clients))
  t.test(`clients of ${name}`, async t => {
    await inLanes(recorded, one => check(t, name, client, one))
  })

t.test('the table', async t => {
  for (const [cell, { asked, accepted, same, refused }] of [...cells].sort()) {
    t.comment(`${cell}: ${asked} asked, ${accepted} accepted, ${same} the same, ${refused} refused`)
    t.equal(accepted + refused, asked, `${cell}: all accepted`)
    t.equal(same, accepted, `${cell}: all the same`)
  }
})

t.test('all that was told fits the types of the SDK that read it', async t => {
  const { complaints, judged, met } = await heard.done()
  for (const [format, { answers, events }] of judged)
    t.comment(`${format}: ${answers} answers, ${events} events`)
  t.same(complaints, [])
  for (const [format, { answers, events }] of judged)
    t.ok(answers > 100 && events > 1_000, `${format}: judged`)
  t.same([...met].sort(), [...EXCEPTIONS].sort(), 'no exception is listed in vain')
})
