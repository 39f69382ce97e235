/** A body that repeats an earlier one has the outline that it has alone, and is refused for the
 *  same reasons: whatever it repeats, and however it is damaged. */
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import { BodyJson, OutlineUse } from '../../../../engine/request/body-json.ts'
import { LastTurns, type Turn } from '../../../../engine/request/json/repeated.ts'
import { parseOutline, parseRepeated } from '../../../../engine/request/json.ts'
import { shortOrLong } from '../../../helpers/run-settings.ts'
import { pick, random } from './documents.ts'

const RUNS = shortOrLong(6_000, 1_000_000)
const LONG = 'é"\\\n\u{1f600} code;'.repeat(40)
const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

const text = (): string => pick(['', 'a', LONG.slice(random(60)), '{"a":[1]}', ']}', '],"m":['])
const element = (): Json =>
  pick<() => Json>([
    () => ({ role: 'user', content: text() }),
    () => ({ role: 'user', content: [{ type: 'text', text: text() }, {}] }),
    () => ({ call: { name: 'x', input: { path: text(), deep: [[{}]] } } }),
    () => [text(), { a: 1 }],
    () => ({}),
  ])()
/** An array that repeats is usable if all of its elements are containers. */
const elements = (): Json[] => {
  const list = times(1 + random(9), element)
  return random(12) === 0 ? list.concat(text()) : list
}
interface Conversation {
  readonly [name: string]: Json
}
const conversation = (): Conversation => {
  const members: [string, Json][] = [
    ['messages', elements()],
    ['tools', times(random(4), element)],
    ['model', 'm'],
    ['metadata', { ids: [[1], [2]], user: { id: text() } }],
    ['stop', ['a', 'b']],
    ['padding', [{ text: LONG.repeat(9) }]],
    [pick(['stream', '', 'user', random(6) === 0 ? '7' : 'n']), [{}]],
  ]
  return Object.fromEntries(members.toSorted(() => random(3) - 1))
}
/** As a client sends it in its next turn. */
const next = (before: Conversation): Conversation => {
  const messages = before.messages as Json[]
  const equal = random(4) === 0 ? random(messages.length + 1) : messages.length
  const more = times(random(4), element)
  const after = { ...before, messages: [...messages.slice(0, equal), ...more] }
  const change = random(12)
  if (change === 0) return { ...after, model: 'other' }
  if (change === 1) return { ...after, tools: times(random(3), element) }
  return after
}
/** In place of the text @, among the last elements of a body or anywhere. */
const PARTS = `
,        ,{"c":2}      ,{"c":2}          ,{"c":2}           {"c":2}             {"c":2}
}{"c":2} 1{"c":2}      }                 ]                  "                   1
],"m":[  ],"m":1,"":[{} ,{"a":1,"a":2}   ,{"__proto__":1}   ,{"b":"\u00ff"}      ,"x"
],"":[   \\u00         ,{"b":"\\u007f"}   ,{"b":"\u0001"}     :                   ${'['.repeat(70)}
`
  .split(/[\s]+/)
  .concat(' ')
const damage = (value: Conversation, indent: number | undefined): Buffer => {
  const all = (value.messages as Json[]).concat(random(2) === 0 ? elements() : [])
  const messages = all.toSpliced(Math.max(1, all.length - random(4)), 0, '@')
  const text = JSON.stringify({ ...value, messages }, null, indent)
  const [before = '', behind = ''] = text.split(pick(['"@"', ',"@"', '"@"']))
  const at = before.length + (random(5) === 0 ? random(behind.length) : 0)
  const sound = before + behind
  const parts = times(1 + random(2), () => pick(PARTS))
  return Buffer.concat([sound.slice(0, at), ...parts, sound.slice(at)].map(bytesOf))
}
/** One byte for U+00FF, which is not UTF-8. */
const bytesOf = (text: string): Buffer =>
  Buffer.from(text, text.includes('\u00ff') ? 'latin1' : 'utf8')
const bodyOf = (value: Conversation, indent: number | undefined): Buffer =>
  Buffer.from(JSON.stringify(value, null, indent))

const NUMBER = /\u007f\n\d+:/g
/** Without the numbers of cut texts, which only `cut()` reads. */
const withoutNumbers = (json: Json): string =>
  JSON.stringify(json, (_, value) =>
    typeof value === 'string' ? value.replaceAll(NUMBER, '\u007f\n:') : value,
  )
const codeOf = (read: () => unknown): string => {
  try {
    read()
    return 'ok'
  } catch (error) {
    return (error as { readonly code?: string }).code ?? String(error)
  }
}

t.test('repeated bodies: the outline of each is the one that it has alone', async t => {
  const counts = { repeated: 0, whole: 0, damaged: 0 }
  for (let run = 0; run < RUNS; ) {
    let value = conversation()
    const indent = random(5) === 0 ? 1 : undefined
    let turn = parseOutline(bodyOf(value, indent)).turn
    for (let step = 0; turn && step < 8; step++, run++) {
      value = next(value)
      const sound = bodyOf(value, indent)
      const body = random(2) === 0 ? damage(value, indent) : sound
      const repeated: Turn | undefined = parseRepeated(turn, body)
      if (!repeated) {
        counts.whole++
        turn = body === sound ? parseOutline(body).turn : turn
        continue
      }
      counts[body === sound ? 'repeated' : 'damaged']++
      const alone = codeOf(() => parseOutline(body))
      if (alone !== 'ok') return void t.fail(`${alone} is accepted: ${body.toString('latin1')}`)
      const { json, turn: own } = parseOutline(body)
      if (
        withoutNumbers(repeated.json) !== withoutNumbers(json) ||
        (own && !Buffer.from(own.ends).equals(Buffer.from(repeated.ends))) ||
        (own && own.keys > repeated.keys)
      ) {
        t.same(repeated.json, json, body.toString('latin1'))
        return void t.fail(`${own?.ends.join()} ${repeated.ends.join()}`)
      }
      turn = repeated
    }
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.repeated > RUNS / 4 && counts.whole > RUNS / 20 && counts.damaged > RUNS / 200)
})

const first = (text: string): string =>
  `{"role":"user","content":[{"type":"text","text":"${text}"}]}`
const textOf = (letter: string): string => letter.repeat(3_000)
const bodyWith = (letters: string): Buffer =>
  Buffer.from(
    `{"messages":[${[...letters].map(each => first(textOf(each))).join()}],"tools":[{"a":{"description":"${textOf('t')}"}}],"model":"m"}`,
  )
type Body = { readonly messages: Json[]; readonly tools: Json[] }
/** The outline of a caller's request. */
const outlineFor = (use: OutlineUse, caller: string | undefined, letters: string) => {
  const body = new BodyJson({ whole: bodyWith(letters) }, use)
  if (caller !== undefined) body.setCaller(caller)
  return { body, json: body.outline() as Body }
}

t.test('repeated bodies: only what differs is parsed, of one caller on one route', async t => {
  const use = new OutlineUse()
  const [one, two] = ['ab', 'abc'].map(each => outlineFor(use, '1', each).json)
  t.equal(two?.messages.length, 3)
  t.equal(two?.messages[1], one?.messages[1], 'the same object')
  t.equal(two?.tools, one?.tools)
  t.match(JSON.stringify(two?.messages[2]), /"c{48}\u007f/)
  t.equal(outlineFor(use, '1', 'abc').json, two, 'all of it')
  t.equal(outlineFor(use, '1', 'abd').json.messages[1], one?.messages[1], 'and with another end')
  const others = [outlineFor(use, '2', 'abc'), outlineFor(new OutlineUse(), '1', 'abc')]
  for (const { json } of [...others, outlineFor(use, undefined, 'abc')]) {
    t.equal(withoutNumbers(json as object as Json), withoutNumbers(two as object as Json))
    t.not(json.tools, two?.tools)
  }
})
t.test('repeated bodies: several conversations of a caller at once', async t => {
  const use = new OutlineUse()
  const earlier = new Map<string, Body>()
  for (const end of ['', 'x', 'y', 'z'])
    for (const letters of ['ab', 'cd', 'ef', 'gh']) {
      const { json } = outlineFor(use, '1', letters + end)
      const before = earlier.get(letters)
      if (before) t.equal(json.messages[0], before.messages[0], letters + end)
      earlier.set(letters, json)
    }
})
t.test('repeated bodies: their texts are written as they came, and the whole is read', async t => {
  const use = new OutlineUse()
  for (const letters of ['ab', 'abc', 'abcd', 'abc']) {
    const { body } = outlineFor(use, '1', letters)
    const expected = JSON.parse(bodyWith(letters).toString())
    if (letters.length > 2) {
      const cut = body.cut()
      t.same(JSON.parse(String(cut?.restore(JSON.stringify(cut.json)))), expected)
    }
    t.same(body.whole(), expected)
  }
})
t.test('repeated bodies: one that is refused leaves those before', async t => {
  const use = new OutlineUse()
  const { json } = outlineFor(use, '1', 'ab')
  const wrong = Buffer.from(bodyWith('abc').toString().replace('"c', '"\u0001c'))
  const body = new BodyJson({ whole: wrong }, use)
  body.setCaller('1')
  t.throws(() => body.outline(), { code: 'BODY_NOT_JSON' })
  t.equal(outlineFor(use, '1', 'abc').json.tools, json.tools)
})
const turnOf = (size: number): Turn => ({
  body: Buffer.alloc(0),
  json: null,
  ends: new Uint32Array(),
  keys: 0,
  size,
})
t.test('last turns: those of an idle caller are forgotten', async t => {
  const turns = new LastTurns(1_000, 1)
  for (const caller of ['1', '2']) turns.add(caller, turnOf(10), undefined)
  t.equal(turns.of('1').length, 1)
  while (turns.of('1').length + turns.of('2').length > 0) await setTimeout(1)
})
t.test('last turns: their memory is bounded', async t => {
  const turns = new LastTurns(1_000, 600_000)
  turns.add('large', turnOf(251), undefined)
  t.equal(turns.of('large').length, 0, 'at most a quarter of it')
  for (let caller = 0; caller < 6; caller++) turns.add(`${caller}`, turnOf(200), undefined)
  t.same(
    Array.from({ length: 6 }, (_, caller) => turns.of(`${caller}`).length),
    [0, 1, 1, 1, 1, 1],
  )
  const [first] = turns.of('1')
  turns.add('1', turnOf(200), first)
  turns.add('6', turnOf(200), undefined)
  t.same([turns.of('1').length, turns.of('2').length], [1, 0], 'the one that was idle longest')
  for (let count = 0; count < 6; count++) turns.add('3', turnOf(10), undefined)
  t.equal(turns.of('3').length, 4, 'of each caller')
  for (const turn of turns.of('3')) turns.remove('3', turn)
  t.same(turns.of('3'), [])
})
