/** Recorders of stored responses: what the answer says of itself, in `store`. */
import t from 'tap'
import { PlainRecorder } from '../../../plugins/responses/recorder.ts'

const LARGEST = 64
/** The text that the client gets, and whether the response was recorded. */
const record = (chunks: readonly string[], isStored: boolean) => {
  const parts: Buffer[] = []
  let recorded: unknown
  const recorder = new PlainRecorder(LARGEST, response => {
    recorded = response.id
    return isStored
  })
  const out = {
    write: (bytes: Uint8Array) => void parts.push(Buffer.from(bytes)),
    end: (bytes?: Uint8Array) => void parts.push(Buffer.from(bytes ?? [])),
    fail() {},
  }
  for (const chunk of chunks) recorder.write(Buffer.from(chunk), out)
  recorder.end(undefined, out)
  return { recorded, body: JSON.parse(Buffer.concat(parts).toString()) }
}
const answer = (text = ''): string =>
  JSON.stringify({ id: 'resp_a', object: 'response', store: false, text })

t.test('plain recorder: says whether the response is stored', async t => {
  for (const isStored of [true, false]) {
    const { recorded, body } = record([answer()], isStored)
    t.equal(recorded, 'resp_a')
    t.equal(body.store, isStored)
  }
})

t.test(
  'plain recorder: an answer that arrives in chunks above the limit says store: false',
  async t => {
    const long = answer('x'.repeat(LARGEST)).replace('"store":false', '"store":true')
    const { recorded, body } = record(long.match(/.{1,20}/g) ?? [], true)
    t.equal(recorded, undefined, 'it is not recorded')
    t.equal(body.store, false)
    t.equal(body.text.length, LARGEST)
  },
)
