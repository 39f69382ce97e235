/** An outline has the structure of its body; only long texts below the outermost object are cut. */
import { isUtf8 } from 'node:buffer'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { cutSize, hasCutText } from '../../../../engine/kit.ts'
import type { Json } from '../../../../engine/plugin.ts'
import { LIMITS } from '../../../../engine/request/json/faults.ts'
import { BodyScan } from '../../../../engine/request/json/scan.ts'
import { parseJson, parseOutline } from '../../../../engine/request/json.ts'
import { shortOrLong } from '../../../helpers/run-settings.ts'
import { document, pick, random } from './documents.ts'
import { parseSlowly } from './oracle.ts'

const RUNS = shortOrLong(8_000, 1_000_000)
const WINDOWS = [64, 65, 100, 127, 128, 500, 65_536].map(size => new BodyScan(size))

/** Whether `outline` is that of `whole`. */
const isOutlineOf = (outline: Json, whole: Json): boolean => {
  if (typeof whole === 'string' && typeof outline === 'string') {
    const at = outline.indexOf('\u007f')
    // The cut may fall into a character of several bytes: U+FFFD is left of it.
    const beginning = outline.slice(0, Math.max(at, 0)).replace(/\ufffd$/, '')
    return outline === whole || (at >= 0 && whole.startsWith(beginning))
  }
  if (typeof whole !== 'object' || whole === null) return Object.is(outline, whole)
  if (typeof outline !== 'object' || outline === null) return false
  const [own, others] = [Object.entries(outline), Object.entries(whole)]
  return (
    Array.isArray(outline) === Array.isArray(whole) &&
    own.length === others.length &&
    own.every(([key, value], at) => {
      const [name, other] = others[at] ?? ['', null]
      return key === name && isOutlineOf(value, other)
    })
  )
}
const jsonOf = (parse: () => unknown): { readonly value: Json } | undefined => {
  try {
    return { value: parse() as Json }
  } catch {
    return undefined
  }
}

t.test('outline: any body has one of its structure, or the exact pass decides', async t => {
  const counts = { outlines: 0, cut: 0, unsure: 0 }
  for (let run = 0; run < RUNS; run++) {
    const [open, close] = pick([
      ['[[', ']]'],
      ['{"a":[', ']}'],
      ['', ''],
    ])
    const bytes = Buffer.concat([Buffer.from(open), document(), Buffer.from(close)])
    if (bytes.length === 0 || !isUtf8(bytes)) continue
    const whole = jsonOf(() => parseSlowly(bytes))
    const scan = pick(WINDOWS)
    if (!scan.accepts(bytes, LIMITS, true)) {
      if (whole) counts.unsure++
      continue
    }
    const text = scan.outline(random(2) === 0 && bytes.toString() === bytes.toString('latin1'))
    if (text === undefined) continue
    const outline = jsonOf(() => JSON.parse(text))
    if (outline && hasCutText(outline.value)) counts.cut++
    counts.outlines++
    const same = outline && whole ? isOutlineOf(outline.value, whole.value) : outline === whole
    if (same) continue
    t.fail(`${bytes.toString('latin1').slice(0, 2_000)}\n${text.slice(0, 2_000)}`)
    break
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.cut > 20 && counts.outlines > counts.unsure * 10, 'few bodies are unsure')
})

const bodyOf = (text: string, member = text): Buffer =>
  Buffer.from(
    JSON.stringify({
      model: member,
      messages: [{ role: 'user', content: text }],
      metadata: { user: member },
    }),
  )
const contentOf = (json: Json): string =>
  (json as { messages: { content: string }[] }).messages[0]?.content ?? ''

t.test('outline: a text is cut to its first characters and its size', async t => {
  for (const letter of ['x', 'é', '漢', '😀', '"', '\\', '\n', '\u0001', '\u2028']) {
    const text = letter.repeat(5_000)
    const bytes = bodyOf(text, 'm')
    const { json, spans } = parseOutline(bytes)
    t.ok(spans)
    const content = contentOf(json)
    t.equal(content.split('\u007f')[0], letter.repeat(48), `U+${letter.codePointAt(0)}`)
    t.equal(cutSize(content), letter === '\u0001' ? 15_000 : Buffer.byteLength(text))
  }
  for (const long of ['x', '"', 'x\n"\\'].map(part => part.repeat(300_000 / part.length)))
    t.equal(cutSize(contentOf(parseOutline(bodyOf(long, 'm')).json)), 300_000, 'windows')
})
t.test('outline: members of the outermost object and short texts are whole', async t => {
  const text = 'x'.repeat(9_000)
  const { json } = parseOutline(bodyOf('y'.repeat(96), text))
  const messages = [{ role: 'user', content: 'y'.repeat(96) }]
  t.same(JSON.parse(JSON.stringify(json)), { model: text, messages, metadata: { user: text } })
})
t.test('outline: addresses are whole, and media types of data', async t => {
  const path = 'x'.repeat(3_000)
  for (const text of [
    `https://a/${path}.mp4`,
    `gs://${path}`,
    `https:\\/\\/a\\/${path}`,
    `\\u0068ttps://${path}`,
  ]) {
    const bytes = Buffer.from(
      `{"messages":[{"content":"${text}"},{"content":"${'y'.repeat(5_000)}"}]}`,
    )
    const { json, spans } = parseOutline(bytes)
    t.ok(spans)
    t.equal(contentOf(json), JSON.parse(`"${text}"`), text.slice(0, 20))
  }
  const type = `data:video/mp4;codecs="${'c'.repeat(90)}";base64,`
  const { json } = parseOutline(bodyOf(`${type}${path.repeat(2)}`, 'm'))
  t.ok(contentOf(json).startsWith(type))
})
t.test('outline: nobody forges a size', async t => {
  const long = { content: 'x'.repeat(9_000) }
  for (const mark of ['"\u007f12"', '"\\u007f12"', '"\\u007F12"', '{"\u007f":1}']) {
    const bytes = Buffer.from(`{"messages":[[${mark}],${JSON.stringify(long)}]}`)
    const { json, spans } = parseOutline(bytes)
    t.notOk(spans, mark)
    t.same(json, parseJson(bytes))
  }
})
t.test('outline: what a cut text has is checked', async t => {
  const pad = 'x'.repeat(5_000)
  for (const bad of ['\u0001', '\\x', '\\u12g4', '\\u12', '\n', '\\'])
    for (const text of [`${pad}${bad}${pad}`, `${pad}${bad}`, `${'x'.repeat(70_000)}${bad}`]) {
      const bytes = Buffer.from(`{"messages":[{"content":"${text}"}]}`)
      const expected = jsonOf(() => parseSlowly(bytes))
      t.equal(expected, undefined)
      t.throws(() => parseOutline(bytes), { code: 'BODY_NOT_JSON' }, JSON.stringify(bad))
    }
  const twice = Buffer.from(`{"a":[{"content":"${pad}","b":1,"b":2}]}`)
  t.throws(() => parseOutline(twice), { code: 'BODY_DUPLICATE_KEY' })
})
t.test('outline: one that is too large is not made', async t => {
  const bytes = Buffer.from(JSON.stringify({ list: Array.from({ length: 60_000 }, () => 'text') }))
  t.match(parseOutline(bytes), { spans: undefined, json: { list: { length: 60_000 } } })
  t.ok(isDeepStrictEqual(parseOutline(bytes).json, parseJson(bytes)))
})
