/** Translated streams read the same in single bytes and in random chunks; streams that are
 *  truncated, broken or contain an error are errors for every client, never shorter answers. */
import t from 'tap'
import { type Recording, recordedFormat } from '../../helpers/formats/recordings.ts'
import { seed, shortOrLong } from '../../helpers/run-settings.ts'
import { FORMATS, inLanes, recordedCases, shortName, startMatrix } from './matrix.ts'
import { chargeExceptionOf, exceptionOf } from './recording-exceptions.ts'

/** Requires one whole answer that the SDK reads: half of several answers may be whole. */
const isOne = (recording: Recording): boolean =>
  FORMATS.every(
    client => !exceptionOf(client, recording)?.throws && !chargeExceptionOf(client, recording),
  )
/** The streams of each format, the shorter ones first; the long form uses all of them. */
const MANY = shortOrLong(3, Number.POSITIVE_INFINITY)
const streams = FORMATS.flatMap(format =>
  recordedCases
    .filter(each => each.stream && recordedFormat(each.format) === format)
    .filter(isOne)
    .sort((one, other) => one.response_body.length - other.response_body.length)
    .slice(0, MANY),
)
const skip = streams.length === 0 && 'RECORDINGS is not set'
const matrix = skip ? undefined : await startMatrix()
t.teardown(() => matrix?.stop())

t.test('recorded streams: available for each format', { skip }, async t => {
  t.ok(streams.length >= FORMATS.length)
})

/** Single bytes and random chunks: `r7` uses the chunks of seed 7. The long form uses several
 *  seeds. */
const CHUNKINGS = [
  'p1',
  ...Array.from({ length: shortOrLong(1, 5) }, (_, index) => `r${seed() + index}`),
]

for (const [name, client] of Object.entries(matrix?.clients ?? {})) {
  t.test(`chunked streams: clients of ${name} read the same`, t =>
    inLanes(streams, async ({ id, format }) => {
      const model = `${shortName(recordedFormat(format) as string)}-${id}`
      const complete = await client(model, true)
      for (const chunking of CHUNKINGS)
        t.strictSame(
          await client(`${model}.${chunking}`, true),
          complete,
          `${name} ${id}.${chunking}`,
        )
    }),
  )
  for (const how of ['drop', 'half', 'error'])
    t.test(`${how} streams: clients of ${name} get an error`, t =>
      inLanes(streams, async ({ id, format }) => {
        const model = `${shortName(recordedFormat(format) as string)}-${id}.${how}`
        const read = await client(model, true).catch((error: unknown) => error)
        t.ok(read instanceof Error, `${name} ${id}: ${JSON.stringify(read)}`)
      }),
    )
}
