/** Streams between formats that come in pieces of one byte read the same; streams that lose their end, break off in the middle
 *  or tell of an error are an error to every client, never a shorter answer. */
import t from 'tap'
import { FORMATS, inLanes, recorded, short, startMatrix } from '../helpers/matrix.ts'
import { recordedFormat } from '../helpers/recorded.ts'

/** Each format's streams, the shorter ones first: all of them in the long form. */
const MANY = process.env.LONG ? Number.POSITIVE_INFINITY : 6
const streams = FORMATS.flatMap(format =>
  recorded
    .filter(each => each.stream && recordedFormat(each.format) === format && each.id !== 'rec-0277')
    .sort((one, other) => one.response_body.length - other.response_body.length)
    .slice(0, MANY),
)
if (streams.length === 0) {
  t.pass('RECORDINGS is not set: there is nothing to mutate')
  process.exit()
}
const stand = await startMatrix()
t.teardown(() => stand.stop())

for (const [name, client] of Object.entries(stand.clients)) {
  t.test(`byte by byte, to clients of ${name}`, t =>
    inLanes(streams, async ({ id, format }) => {
      const model = `${short(recordedFormat(format) as string)}-${id}`
      t.same(await client(`${model}.p1`, true), await client(model, true), `${name} ${id}`)
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
