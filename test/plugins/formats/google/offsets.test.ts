/** Offsets of a growing text, in bytes and in UTF-16 units. */
import t from 'tap'
import { Offsets } from '../../../../plugins/formats/google/offsets.ts'

t.test('offsets: agree with the text, at each character of any piece', async t => {
  for (const pieces of [[], ['abc'], ['é'], ['a', 'é😀', 'b', '😀', 'cd']]) {
    const offsets = new Offsets()
    for (const piece of pieces) offsets.add(piece)
    const text = pieces.join('')
    t.equal(offsets.bytes, Buffer.byteLength(text))
    t.equal(offsets.units, text.length)
    let unit = 0
    for (const character of text) {
      const byte = Buffer.byteLength(text.slice(0, unit))
      t.equal(offsets.unitAt(byte), unit)
      t.equal(offsets.byteAt(unit), byte)
      unit += character.length
    }
    t.equal(offsets.unitAt(999), text.length)
    t.equal(offsets.byteAt(999), Buffer.byteLength(text))
    t.equal(offsets.unitAt(-1), 0)
  }
})
