/** Every wire format has what the gateway asks of it. A failure names what a new format owes. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { METERS } from '../../../plugins/billing/meters.ts'
import { dialects } from '../../../plugins/dialects/index.ts'
import type { Format } from '../../../plugins/formats/format.ts'
import type { Answer } from '../../../plugins/formats/hub/answer.ts'
import { partsOf } from '../../../plugins/formats/hub/answer-parts.ts'
import { formats } from '../../../plugins/formats/index.ts'
import { eventsIn, type SseEvent } from '../../../plugins/formats/stream/sse.ts'
import { codecOf, contextWith, decodeStream, PROMPT } from '../../helpers/formats/codec.ts'

/** Files of a format that translates; a large one is split into `decode-NAME` and `encode-NAME`. */
const FILES = [
  'index',
  'request',
  'messages',
  'content',
  'tools',
  'settings',
  'response',
  'decode-stream',
  'encode-stream',
  'usage',
  'hosted-tools',
  'errors',
]
const hasFile = (format: string, name: string): boolean =>
  existsSync(
    fileURLToPath(new URL(`../../../plugins/formats/${format}/${name}.ts`, import.meta.url)),
  )

const METER_NAMES: ReadonlySet<string> = new Set(METERS)
const NAME = /^[a-z]+(?:-[a-z]+)+$/
const ANSWER: Answer = {
  id: 'a1',
  choices: [{ content: [{ type: 'text', text: 'Hello, you there.' }], stop: { reason: 'end' } }],
  meters: { input: 9, output: 4 },
}
const PATH = '/v1/models/m:streamGenerateContent?alt=sse'

/** The events that a client of this format gets. */
const eventsOf = (
  format: Format,
): { readonly bytes: string; readonly events: readonly SseEvent[] } => {
  const encoder = codecOf(format.name).encodeStream(contextWith({ path: PATH }))
  const bytes = partsOf(ANSWER)
    .map(part => encoder.push(part))
    .join('')
  return { bytes, events: eventsIn(Buffer.from(bytes)).filter(({ data }) => data !== undefined) }
}

for (const [key, format] of formats) {
  const owes = (member: string, what: string): string => `the format ${key} owes ${member}: ${what}`
  t.test(`format ${key}: facts for bytes that pass`, t => {
    const { usage, stream, dialect, limitField, outputLimit } = format
    t.match(key, NAME, owes('name', 'words in lower case with hyphens'))
    t.equal(format.name, key, owes('name', 'the key of its line in formats/index.ts'))
    t.ok(dialect in dialects, owes('dialect', 'a name of plugins/dialects'))
    t.ok(format.endpoint, owes('endpoint', 'its name in model lists'))
    t.ok(
      format.model === 'body' || format.model.rename('/m/x:y', 'z').includes('z'),
      owes('model', 'where a request names the model'),
    )
    for (const meter of usage.counts)
      t.ok(METER_NAMES.has(meter), owes('usage.counts', `no meter is called ${meter}`))
    t.same(
      Object.keys(usage.meters({})).filter(name => !usage.counts.includes(name as never)),
      [],
      owes('usage.counts', 'every meter of usage.meters'),
    )
    t.equal(
      usage.inEvent({}),
      undefined,
      owes('usage.inEvent', 'undefined for an event without counts'),
    )
    t.ok(
      stream.endMarks.length > 0 && stream.usageMark !== '',
      owes('stream', 'the marks of its end and of its counts'),
    )
    t.equal(
      outputLimit === undefined,
      limitField === undefined,
      owes('limitField', 'the name of what outputLimit sets'),
    )
    t.end()
  })
  if (!format.codec) continue
  t.test(`format ${key}: translation`, t => {
    for (const name of FILES) {
      const isThere =
        hasFile(key, name) || (hasFile(key, `decode-${name}`) && hasFile(key, `encode-${name}`))
      if (key !== 'openai-images')
        t.ok(isThere, owes(`${name}.ts`, 'the file that every chat format has'))
    }
    t.end()
  })
}

/** Formats of conversations. */
const chats = [...formats.values()].filter(({ codec, sample }) => codec && sample)
t.ok(chats.length >= 4)
for (const format of chats) {
  const { name, stream, usage, sample, answerModel } = format
  const owes = (member: string, what: string): string =>
    `the format ${name} owes ${member}: ${what}`
  t.test(`format ${name}: a sample, its limits and its counts`, t => {
    const body = { ...sample?.body('m') }
    const [key, value] = format.outputLimit?.(body, 77) ?? ['', null]
    const limits = format.limitsIn?.({ ...body, [key]: value }) ?? []
    t.ok(limits.includes(77), owes('limitsIn', 'what outputLimit sets'))
    const prompt = codecOf(name).decodePrompt(body, PATH, { add: () => undefined })
    t.same(
      prompt.turns.at(-1)?.content,
      [{ type: 'text', text: 'Hello' }],
      owes('sample', 'a request that says Hello'),
    )
    t.end()
  })
  t.test(`format ${name}: its own stream`, t => {
    const { bytes, events } = eventsOf(format)
    const ends = events.filter(event => stream.isEnd(event))
    t.ok(ends.length > 0, owes('stream.isEnd', 'true for the end of its own stream'))
    t.ok(
      ends.every(({ data = '', name }) =>
        stream.endMarks.some(mark => `${name} ${data}`.includes(mark)),
      ),
      owes('stream.endMarks', 'a text in every event that ends a stream'),
    )
    const answer = decodeStream(name, bytes)
    t.match(
      answer.choices,
      ANSWER.choices,
      owes('codec', 'a decoder that reads what its encoder wrote'),
    )
    t.match(answer.meters, ANSWER.meters, owes('usage.meters', 'the counts that its encoder wrote'))
    const counted = events.filter(
      ({ data }) => data?.startsWith('{') && usage.inEvent(JSON.parse(data)),
    )
    t.ok(counted.length > 0, owes('usage.inEvent', 'the counts of its own stream'))
    t.ok(
      counted.every(({ data }) => data?.includes(stream.usageMark)),
      owes('stream.usageMark', 'a text in every event with counts'),
    )
    const member = `"${answerModel?.key}":"asked"`
    t.ok(
      answerModel && bytes.includes(member),
      owes('answerModel', 'the member that names the model'),
    )
    t.end()
  })
  t.test(`format ${name}: its own answer and errors`, t => {
    const codec = codecOf(name)
    const context = contextWith({ path: PATH, prompt: { ...PROMPT, stream: false } })
    const answer = codec.encodeAnswer(ANSWER, context)
    t.match(
      codec.decodeAnswer(answer).choices,
      ANSWER.choices,
      owes('codec', 'a decoder that reads what its encoder wrote'),
    )
    t.ok(usage.key in answer, owes('usage.key', 'the member of a whole answer with its counts'))
    const error = codec.decodeError(418, { error: { message: 'no tea' } })
    t.match(
      error,
      { message: 'no tea' },
      owes('codec.decodeError', 'the message of an error reply'),
    )
    const encoder = codec.encodeStream(context)
    const failure = encoder.failure({ error: { message: 'no tea', type: 'api_error', code: null } })
    const events = eventsIn(Buffer.from(failure))
    t.ok(
      events.some(event => stream.error(event)),
      owes('stream.error', 'the error that its encoder wrote'),
    )
    t.end()
  })
}
