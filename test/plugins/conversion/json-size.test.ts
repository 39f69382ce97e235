/** The bytes of a value as JSON, without its text. */
import t from 'tap'
import { jsonSize } from '../../../plugins/conversion/json-size.ts'

const LARGE = { headers: { 'content-length': '14000000' } }
const SMALL = { headers: {} }

t.test('jsonSize: the length of the text', async t => {
  for (const json of [
    null,
    true,
    -1.5e-7,
    1e21,
    '',
    'a"\\\n\u0001é😀',
    [],
    {},
    [1, [], {}, [[2]]],
    { a: 1, 'é"': { b: [null, false, 'x'] }, c: {} },
    'é'.repeat(100_000),
    { images: ['a'.repeat(70_000), 'b'] },
  ])
    for (const request of [LARGE, SMALL])
      t.equal(
        jsonSize(json, request),
        Buffer.byteLength(JSON.stringify(json)),
        JSON.stringify(json).slice(0, 60),
      )
})
t.test('jsonSize: of a large body, a long text counts without its escapes', async t => {
  t.equal(jsonSize('"'.repeat(70_000), LARGE), 70_002)
  t.equal(jsonSize('"'.repeat(70_000), SMALL), 140_002)
})
