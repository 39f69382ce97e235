/** Texts of a body as references: what is restored is the body. */
import { isUtf8 } from 'node:buffer'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { cutTextOf, hasCutText } from '../../../../engine/kit.ts'
import type { CutBody, Json } from '../../../../engine/plugin.ts'
import { BodyJson } from '../../../../engine/request/body-json.ts'
import { shortOrLong } from '../../../helpers/run-settings.ts'
import { document } from './documents.ts'

const cutOf = (whole: Buffer): CutBody | undefined => {
  const body = new BodyJson({ whole })
  body.outline()
  return body.cut()
}
const long = 'a "word" \\ café 漢字 😀\n'.repeat(300)
const bodyOf = (messages: readonly Json[]): Buffer =>
  Buffer.from(JSON.stringify({ model: 'm', messages }))
const jsonOf = (bytes: Uint8Array | undefined): Json =>
  bytes ? JSON.parse(Buffer.from(bytes).toString()) : null

t.test('cut: the restored body is the body', async t => {
  const counts = { cut: 0, restored: 0 }
  for (let run = 0; run < shortOrLong(3_000, 300_000); run++) {
    const pad = `"pad":[{"content":${JSON.stringify(long)}}]`
    const part = document()
    const bytes = Buffer.concat([Buffer.from(`{${pad},"a":[{"text":[`), part, Buffer.from(']}]}')])
    if (!isUtf8(bytes)) continue
    let whole: Json
    try {
      whole = JSON.parse(bytes.toString())
    } catch {
      continue
    }
    let cut: CutBody | undefined
    try {
      cut = cutOf(bytes)
    } catch {
      continue // a limit of bodies
    }
    if (!cut) continue
    counts.cut++
    const restored = cut.restore(JSON.stringify(cut.json))
    if (restored) counts.restored++
    if (restored && isDeepStrictEqual(jsonOf(restored), whole)) continue
    t.fail(bytes.toString('latin1').slice(-2_000))
    break
  }
  t.ok(counts.cut > 300 && counts.restored === counts.cut, JSON.stringify(counts))
})

t.test('cut: texts of a conversation stay cut; names, ids and arguments are whole', async t => {
  const message = {
    role: 'user',
    name: long,
    content: [
      { type: 'text', text: long },
      { type: 'tool_use', id: long, input: { text: long, list: [{ content: long }] } },
    ],
    tool_calls: [{ function: { arguments: JSON.stringify({ content: long }) } }],
  }
  const { json } = cutOf(bodyOf([message])) ?? {}
  const [read] = (json as unknown as { messages: (typeof message)[] }).messages
  t.ok(hasCutText(read?.content[0]))
  t.same(
    { ...read, content: read?.content.slice(1) },
    { ...message, content: message.content.slice(1) },
  )
})

t.test('cut: no body is restored with a text missing, shortened or twice', async t => {
  const cut = cutOf(bodyOf([{ content: long }, { content: 'short' }])) as CutBody
  const [{ content }] = (cut.json as { messages: [{ content: string }] }).messages
  t.ok(long.startsWith(cutTextOf(content)?.start ?? '-'))
  t.equal(cutTextOf(`${content} `), undefined, 'joined')
  t.ok(hasCutText(`${content} `))
  t.notOk(hasCutText('short'))
  for (const [name, json] of Object.entries({
    missing: { content: 'short' },
    shortened: { content: content.slice(0, 40) },
    twice: [content, content],
    'JSON within a text': JSON.stringify({ content }),
    'another number': content.replace('\n0:', '\n1:'),
    'no number': content.replace('\n0:', '\nx:'),
  }))
    t.equal(cut.restore(JSON.stringify(json)), undefined, name)
  t.same(jsonOf(cut.restore(JSON.stringify([`${content} 5`, { a: 1 }]))), [`${long} 5`, { a: 1 }])
})

t.test('cut: a body that is translated for a second target is cut as for the first', async t => {
  const whole = bodyOf([{ id: long, content: long }])
  const body = new BodyJson({ whole })
  body.outline()
  for (const _ of ['first', 'second']) {
    const cut = body.cut()
    t.same(jsonOf(cut?.restore(JSON.stringify(cut.json))), JSON.parse(whole.toString()))
  }
})
t.test('cut: blank texts, forged marks and small bodies are decoded in full', async t => {
  const blank = cutOf(bodyOf([{ content: ' '.repeat(200) }, { content: long }])) as CutBody
  const [{ content }] = (blank.json as { messages: [{ content: string }] }).messages
  t.equal(cutTextOf(content)?.start.trim(), '')
  t.equal(cutOf(bodyOf([{ id: `${long}\u007f\n0:9\u007f`, content: long }])), undefined)
  t.equal(cutOf(bodyOf([{ content: 'x'.repeat(200) }])), undefined)
  const body = new BodyJson({ whole: bodyOf([{ content: long }]) })
  t.equal(body.cut(), undefined, 'nothing is read')
  body.whole()
  t.equal(body.cut(), undefined, 'all is parsed')
})
