/** The JSON of a body is checked once, and parsed in as much detail as stages read. */
import t from 'tap'
import { hasCutText } from '../../../engine/kit.ts'
import { BodyJson, OutlineUse } from '../../../engine/request/body-json.ts'

const text = 'x'.repeat(9_000)
const whole = Buffer.from(JSON.stringify({ model: 'm', messages: [{ content: text }] }))

t.test('body JSON: an outline comes before the whole, and the whole stays', t => {
  const body = new BodyJson({ whole })
  t.notOk(body.isRead)
  t.ok(hasCutText(body.outline()))
  t.ok(body.isRead)
  t.notOk(body.hasWhole)
  t.notOk(hasCutText(body.whole()))
  t.equal(body.outline(), body.whole(), 'no second outline')
  body.release()
  t.ok(body.isRead, 'it is parsed again when a stage reads it')
  t.ok(hasCutText(body.outline()))
  t.same(body.whole(), JSON.parse(whole.toString()))
  t.end()
})
t.test('body JSON: what a stage sets is not released', t => {
  const body = new BodyJson({ whole })
  body.outline()
  body.set(null)
  body.release()
  t.equal(body.outline(), null)
  t.equal(body.whole(), null)
  t.end()
})
t.test('body JSON: a body that is none is refused, also as an outline', t => {
  for (const [bytes, code] of [
    ['', 'BODY_EMPTY'],
    ['{', 'BODY_NOT_JSON'],
    [`{"a":1,"a":[{"b":"${text}"}]}`, 'BODY_DUPLICATE_KEY'],
  ] as const) {
    const body = new BodyJson({ whole: Buffer.from(bytes) })
    t.throws(() => body.outline(), { code })
    t.throws(() => body.whole(), { code })
  }
  t.end()
})
t.test('body JSON: where outlines never suffice, bodies are parsed in full', t => {
  const use = new OutlineUse()
  const read = (readsTexts: boolean): boolean => {
    const body = new BodyJson({ whole }, use)
    const isOutline = hasCutText(body.outline())
    if (readsTexts) body.whole()
    return isOutline
  }
  const outlinesOf = (count: number, readsTexts: boolean): number =>
    Array.from({ length: count }, () => read(readsTexts)).filter(Boolean).length
  t.equal(outlinesOf(100, false), 100)
  outlinesOf(50, true)
  t.equal(outlinesOf(160, true), 10, 'one of sixteen tries again')
  outlinesOf(200, false)
  t.equal(outlinesOf(100, false), 100, 'texts are not read any more')
  t.end()
})
