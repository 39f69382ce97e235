/** Streams between formats that come in pieces of one byte, or cut at random, read the same; streams that lose their end, break
 *  off in the middle or tell of an error are an error to every client, never a shorter answer. */
import t from 'tap'
import { exceptionOf, uncountedOf } from '../../helpers/excepted.ts'
import { scaled } from '../../helpers/long.ts'
import { FORMATS, inLanes, recorded, short, startMatrix } from '../../helpers/matrix.ts'
import { type Recording, recordedFormat } from '../../helpers/recorded.ts'
import { seed } from '../../helpers/seeded.ts'

/** One whole answer: half of several may be whole, and where an SDK reads nothing there is nothing to compare. */
const isOne = (recording: Recording): boolean =>
  FORMATS.every(
    client => !exceptionOf(client, recording)?.throws && !uncountedOf(client, recording),
  )
/** Each format's streams, the shorter ones first: all of them in the long form. */
const MANY = scaled(6, Number.POSITIVE_INFINITY)
const streams = FORMATS.flatMap(format =>
  recorded
    .filter(each => each.stream && recordedFormat(each.format) === format)
    .filter(isOne)
    .sort((one, other) => one.response_body.length - other.response_body.length)
    .slice(0, MANY),
)
if (streams.length === 0) {
  t.pass('RECORDINGS is not set: there is nothing to mutate')
  process.exit()
}
const stand = await startMatrix()
t.teardown(() => stand.stop())

/** Byte by byte, and cut at random: `r7` is told in the pieces that chance from 7 makes. The long form draws several times. */
const CUTS = ['p1', ...Array.from({ length: scaled(1, 5) }, (_, index) => `r${seed() + index}`)]

for (const [name, client] of Object.entries(stand.clients)) {
  t.test(`in pieces, to clients of ${name}`, t =>
    inLanes(streams, async ({ id, format }) => {
      const model = `${short(recordedFormat(format) as string)}-${id}`
      const whole = await client(model, true)
      for (const cut of CUTS)
        t.strictSame(await client(`${model}.${cut}`, true), whole, `${name} ${id}.${cut}`)
    }),
  )
  for (const how of ['drop', 'half', 'error'])
    t.test(`${how}, to clients of ${name}`, t =>
      inLanes(streams, async ({ id, format }) => {
        const model = `${short(recordedFormat(format) as string)}-${id}.${how}`
        const read = await client(model, true).catch((thrown: unknown) => thrown)
        t.ok(read instanceof Error, `${name} ${id}: ${JSON.stringify(read)}`)
      }),
    )
}
