/** Text of prompts and answers: all of it is read, and a match may lie in several parts. */
import t from 'tap'
import { errors } from '../../../engine/errors.ts'
import type { Part } from '../../../plugins/formats/hub/answer.ts'
import { Collector } from '../../../plugins/formats/hub/answer-parts.ts'
import type { Content } from '../../../plugins/formats/hub/content.ts'
import type { Prompt } from '../../../plugins/formats/hub/prompt.ts'
import { changeText, mapPromptText, textOfPrompt } from '../../../plugins/formats/hub/text.ts'
import { assistant, user } from '../../helpers/formats/request-parts.ts'

const TEXT = { type: 'text', text: '' } as const
const open = (index: number, content: Content = TEXT): Part => ({
  type: 'open',
  index,
  choice: 0,
  content,
})
const grow = (index: number, text: string): Part => ({ type: 'grow', index, text })
const close = (index: number): Part => ({ type: 'close', index })
const END: readonly Part[] = [{ type: 'stop', choice: 0, stop: { reason: 'end' } }, { type: 'end' }]

const hide = () => changeText(/secret/g, 6, () => '[hidden]')
const run = (change: ReturnType<typeof changeText>, parts: readonly Part[]): Part[] => {
  const received: Part[] = []
  for (const part of parts) change(part, each => received.push(each))
  return received
}
const blocksOf = (parts: readonly Part[]): readonly Content[] => {
  const collector = new Collector()
  for (const part of parts) collector.add(part)
  return collector.answer().choices[0]?.content ?? []
}

t.test('changeText: finds a word however the text is cut', t => {
  const text = 'a secret, secretive; secre, se'
  const expected = 'a [hidden], [hidden]ive; secre, se'
  for (let size = 1; size <= text.length; size++) {
    const pieces = text.match(new RegExp(`.{1,${size}}`, 'gs')) ?? []
    const parts = [open(0), ...pieces.map(piece => grow(0, piece)), close(0), ...END]
    t.match(blocksOf(run(hide(), parts)), [{ type: 'text', text: expected }], `${size} characters`)
  }
  t.end()
})

t.test('changeText: sends at once what can be no start of a match', t => {
  const parts = run(hide(), [open(0), grow(0, 'a long beginning')])
  t.same(parts.at(-1), grow(0, 'a long beginning'), 'nothing waits')
  const start = run(hide(), [open(0), grow(0, 'a long sec')])
  t.same(start.at(-1), grow(0, 'a long '), 'the start of a match waits')
  t.end()
})

/** Patterns, their longest match, and texts with what is held back at their end. */
const STARTS: readonly (readonly [RegExp, number, Readonly<Record<string, string>>])[] = [
  [/secret/g, 6, { no: '', 'a se': 'se', 'a secret': '', seasecre: 'secre', ses: 's' }],
  [/SECRET/gi, 6, { 'a Sec': 'Sec', 'a sex': '' }],
  [/\d{4}-\d{4}/g, 9, { 'a 12': '12', 'a 1234-': '1234-', 'a 1234x': '', '1234-5678': '' }],
  [/(?:foo|bar)baz/g, 6, { 'a fo': 'fo', 'a barb': 'barb', 'a foobar': 'bar', 'a fox': '' }],
  [
    /[A-Z]{2}\d{1,5}/g,
    7,
    { 'a A': 'A', 'a AB': 'AB', 'a AB12': 'AB12', 'a AB12345': '', 'a ABc': '' },
  ],
  [/key=(\w{1,5});/g, 10, { 'a key=ab': 'key=ab', 'a ke': 'ke', 'a key!': '' }],
  [/(a|b)\1x/g, 3, { za: 'a', zaa: 'aa', zab: 'b' }],
  [/\bcat\b/g, 4, { 'a ca': 'ca', 'a cat': 'cat', 'a cats': '', scat: '' }],
  [/a(?!b)c/g, 2, { xa: 'a', xab: '' }],
  [/(?<=#)id/g, 3, { 'x#i': 'i', xi: '' }],
  [/^ab$/gm, 3, { 'x\na': 'a', xa: '' }],
  [/\u{1F600}x/gu, 3, { 'a \u{1F600}': '\u{1F600}', 'a \u{1F601}': '' }],
  [/[\]\\(]{2}/g, 2, { 'a ]': ']', 'a ](': '', 'a [': '' }],
  [/a\{2b{2}/g, 6, { 'xa{2': 'a{2', 'xa{2b': 'a{2b', 'xa{2c': '' }],
  [/x{0,3}?y/g, 4, { axx: 'xx', a: '' }],
]
t.test('changeText: holds back nothing but the possible start of a match', t => {
  for (const [pattern, longest, texts] of STARTS)
    for (const [text, start] of Object.entries(texts)) {
      const parts = run(
        changeText(pattern, longest, () => '*'),
        [open(0), grow(0, text)],
      )
      const output = parts.flatMap(part => (part.type === 'grow' ? part.text : [])).join('')
      const whole = text.slice(0, text.length - start.length).replace(pattern, '*')
      t.equal(output, whole, `${pattern} in ${JSON.stringify(text)}`)
    }
  t.end()
})

t.test('changeText: the result is that of the whole text, however it is cut', t => {
  for (const [pattern, longest, texts] of STARTS) {
    const text = `${Object.keys(texts).join(' ')} ${Object.keys(texts).join('')} .`
    const expected = text.replace(pattern, '*')
    for (let size = 1; size <= 7; size++) {
      const pieces = text.match(new RegExp(`.{1,${size}}`, 'gs')) ?? []
      const parts = [open(0), ...pieces.map(piece => grow(0, piece)), close(0), ...END]
      const change = changeText(pattern, longest, () => '*')
      t.match(blocksOf(run(change, parts)), [{ text: expected }], `${pattern}, ${size}`)
    }
  }
  t.end()
})

t.test('changeText: blocks do not mix, and each ends with its block, stop or end', t => {
  const call: Content = { type: 'call', id: 'c', name: 'f', input: 'sec' }
  const parts = [open(0), open(1, call), grow(0, 'sec'), grow(1, 'ret'), grow(0, 'ond'), ...END]
  t.match(blocksOf(run(hide(), parts)), [
    { type: 'text', text: 'second' },
    { type: 'call', input: '[hidden]' },
  ])
  const closed = run(hide(), [open(0), grow(0, 'sec'), close(0), open(1), grow(1, 'ret'), ...END])
  t.match(blocksOf(closed), [{ text: 'sec' }, { text: 'ret' }])
  t.end()
})

t.test('changeText: log probabilities, which repeat the text, are left out', t => {
  const part: Part = { type: 'grow', index: 0, text: 'a secret', logprobs: ['a', ' secret'] }
  t.notMatch(JSON.stringify(run(hide(), [open(0), part, ...END])), 'logprobs')
  t.end()
})

t.test('changeText: a new answer begins without the rest of the last one', t => {
  const change = hide()
  run(change, [{ type: 'begin' }, open(0), grow(0, 'sec')])
  t.match(blocksOf(run(change, [{ type: 'begin' }, open(0), grow(0, 'ret'), ...END])), [
    { text: 'ret' },
  ])
  t.end()
})

t.test('changeText: other content passes, and a replacement may refuse', t => {
  const media: Content = {
    type: 'media',
    kind: 'image',
    source: { type: 'url', url: 'https://a.test/secret' },
  }
  t.same(run(hide(), [open(0, media), close(0)]), [open(0, media), close(0)])
  const fault = errors({ SEEN: [403, 'It was seen.'] })
  const refuse = changeText(/secret/g, 6, () => {
    throw fault('SEEN')
  })
  t.throws(() => run(refuse, [open(0), grow(0, 'a secret word')]), { code: 'SEEN' })
  t.end()
})

t.test('mapPromptText: reaches turns, thoughts, calls and results, and no settings', t => {
  const prompt: Prompt = {
    turns: [
      { role: 'system', content: [{ type: 'text', text: 'one' }] },
      assistant(
        { type: 'thought', text: 'two' },
        { type: 'call', id: 'c', name: 'three', input: '{"a":"four"}' },
      ),
      user(
        { type: 'result', id: 'c', content: [{ type: 'text', text: 'five' }], value: 'five' },
        { type: 'media', kind: 'image', source: { type: 'url', url: 'https://a.test/six' } },
      ),
    ],
    tools: [{ type: 'function', name: 'three' }],
    settings: { user: 'seven' },
    stream: false,
    includeUsage: false,
    body: { user: 'seven' },
  }
  t.equal(textOfPrompt(prompt), 'one\ntwo\na\nfour\nfive')
  const changed = mapPromptText(prompt, text => text.toUpperCase())
  t.equal(textOfPrompt(changed), 'ONE\nTWO\nA\nFOUR\nFIVE')
  t.notMatch(JSON.stringify(changed.turns), '"five"', 'the value of the result repeats it')
  t.same([changed.tools, changed.settings], [prompt.tools, prompt.settings])
  t.end()
})
