/** Masks: transparent pixels become white for every colour type, depth and filter. */
import t from 'tap'
import { convertMask } from '../../../../plugins/formats/recraft/mask.ts'
import { type Picture, readGreys, writePng } from '../../../helpers/formats/png.ts'
import fc from '../../../helpers/property.ts'

const picture = fc
  .record({
    width: fc.integer({ min: 1, max: 9 }),
    height: fc.integer({ min: 1, max: 6 }),
    type: fc.constantFrom(4, 6),
    depth: fc.constantFrom(8, 16),
  })
  .chain(({ width, height, type, depth }) => {
    const bytes = ((type === 4 ? 2 : 4) * depth * width) / 8
    const byte = fc.oneof(fc.constantFrom(0, 255), fc.integer({ min: 0, max: 255 }))
    return fc.record({
      width: fc.constant(width),
      type: fc.constant(type),
      depth: fc.constant(depth),
      rows: fc.array(fc.uint8Array({ minLength: bytes, maxLength: bytes }), {
        minLength: height,
        maxLength: height,
      }),
      alphas: fc.array(byte, { minLength: width * height, maxLength: width * height }),
      filters: fc.array(fc.integer({ min: 0, max: 4 }), { minLength: height, maxLength: height }),
    })
  })

t.test('Recraft mask: white where transparent, black elsewhere', async t => {
  await fc.assert(
    fc.asyncProperty(picture, async ({ alphas, ...input }) => {
      const alpha = input.depth / 8
      const pixel = ((input.type === 4 ? 2 : 4) * input.depth) / 8
      const rows = input.rows.map((row, y) =>
        row.map((value, at) =>
          at % pixel === pixel - alpha
            ? (alphas[y * input.width + Math.floor(at / pixel)] ?? 0)
            : value,
        ),
      )
      const mask = convertMask(writePng({ ...input, rows }))
      const expected = rows.map(row =>
        Array.from({ length: input.width }, (_, x) =>
          row[x * pixel + pixel - alpha] === 0 ? 255 : 0,
        ),
      )
      if (expected.flat().includes(255)) t.same(mask && readGreys(mask), expected)
      else t.equal(mask, undefined)
    }),
    { numRuns: 60 },
  )
})

t.test('Recraft mask: undefined for a file that is not a mask', async t => {
  const clear: Picture = {
    width: 1,
    rows: [Uint8Array.of(1, 2, 3, 0)],
    type: 6,
    depth: 8,
    filters: [0],
  }
  const good = writePng(clear)
  t.ok(convertMask(good))
  for (const [what, bytes] of [
    ['nothing', Buffer.alloc(0)],
    ['a text', Buffer.from('x'.repeat(100))],
    ['cut', good.subarray(0, 50)],
    ['without transparency', writePng({ ...clear, rows: [Uint8Array.of(1, 2, 3, 255)] })],
    ['without alpha', writePng({ ...clear, rows: [Uint8Array.of(1, 2, 3)], type: 2 })],
    ['interlaced', writePng({ ...clear, interlace: 1 })],
    ['an unknown filter', writePng({ ...clear, filters: [7] })],
    ['fewer pixels than it says', writePng({ ...clear, width: 2 })],
    ['more than it says', writePng({ ...clear, rows: [new Uint8Array(8)] })],
    ['too large', writePng({ ...clear, width: 65_536, rows: Array(65).fill(new Uint8Array(4)) })],
  ] as const)
    t.equal(convertMask(bytes), undefined, what)
})
