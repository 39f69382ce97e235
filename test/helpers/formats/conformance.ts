/** Runs every member of a wire format, also of one that a plugin brings. A failure names what the
 *  format owes. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Test } from 'tap'
import { METERS } from '../../../plugins/billing/meters.ts'
import { dialects } from '../../../plugins/dialects/index.ts'
import { isFields } from '../../../plugins/formats/fields.ts'
import type { Format, TargetFormat } from '../../../plugins/formats/format.ts'
import type { Answer } from '../../../plugins/formats/hub/answer.ts'
import { Collector, partsOf } from '../../../plugins/formats/hub/answer-parts.ts'
import type { Codec, TargetCodec } from '../../../plugins/formats/hub/codec.ts'
import { eventsIn, type SseEvent } from '../../../plugins/formats/stream/sse.ts'
import { collectDropped, contextWith, PROMPT } from './codec.ts'

const METER_NAMES: ReadonlySet<string> = new Set(METERS)
const NAME = /^[a-z]+(?:-[a-z]+)*$/
const ANSWER: Answer = {
  id: 'a1',
  choices: [{ content: [{ type: 'text', text: 'Hello, you there.' }], stop: { reason: 'end' } }],
  meters: { input: 9, output: 4 },
}
const PATH = '/v1/models/m:streamGenerateContent?alt=sse'

type AnyFormat = Format | TargetFormat
const isForClients = (format: AnyFormat): format is Format => 'dialect' in format
const owing =
  (key: string) =>
  (member: string, what: string): string =>
    `the format ${key} owes ${member}: ${what}`

/** `key`: the name under which the format is registered. */
export const checkFormat = (t: Test, key: string, format: AnyFormat): void => {
  t.match(key, NAME, owing(key)('name', 'words in lower case with hyphens'))
  t.equal(format.name, key, owing(key)('name', 'the name of its line or its key'))
  t.same(
    eventsIn(Buffer.from('data: {}\n\n')).flatMap(event => format.stream.error(event) ?? []),
    [],
    owing(key)('stream.error', 'undefined for an event without an error'),
  )
  checkContent(t, format)
  checkUsage(t, format)
  checkServed(t, format)
  if (isForClients(format)) checkClientFacts(t, format)
  if (!format.codec) return
  checkTarget(t, format.codec, key)
  if (isForClients(format) && format.sample) checkChat(t, format)
}

/** Whether its events carry content, and which bodies are errors. */
const checkContent = (t: Test, { name, stream, answers }: AnyFormat): void => {
  const owes = owing(name)
  t.type(stream.carriesContent, 'function', owes('stream.carriesContent', 'the choice of a target'))
  t.type(answers?.failure, 'function', owes('answers.failure', 'errors with a success status'))
  const error = { message: 'no tea', type: 'rate_limit_error', code: 429 }
  t.ok(
    answers?.failure({ type: 'error', error, message: 'no tea' }),
    owes('answers.failure', 'an error in place of an answer'),
  )
  for (const mark of answers?.marks ?? [])
    t.notMatch(mark, /error/, owes('answers.marks', 'texts that no error has'))
}

const checkUsage = (t: Test, { name, usage }: AnyFormat): void => {
  if (!usage) return
  const owes = owing(name)
  for (const meter of usage.counts)
    t.ok(METER_NAMES.has(meter), owes('usage.counts', `no meter is called ${meter}`))
  t.same(
    Object.keys(usage.meters({})).filter(each => !usage.counts.includes(each as never)),
    [],
    owes('usage.counts', 'every meter of usage.meters'),
  )
  t.equal(
    usage.inEvent({}),
    undefined,
    owes('usage.inEvent', 'undefined for an event without counts'),
  )
}

const checkServed = (t: Test, { name, served }: AnyFormat): void => {
  const owes = owing(name)
  t.same(served.read({}), {}, owes('served.read', 'nothing for an answer that names nothing'))
  const object = { type: 'named', latency: 'named', id: 'named' }
  const values = ['named', { ...object, promptRouter: { invokedModelId: 'named' } }]
  const reads = (member: string): boolean =>
    values.some(value => Object.keys(served.read({ [member]: value })).length > 0)
  t.same(
    served.members.filter(each => !reads(each)),
    [],
    owes('served.members', 'only members that `read` reads'),
  )
}

const checkClientFacts = (t: Test, format: Format): void => {
  const { name, stream, dialect, limitField, outputLimit, model, endpoint } = format
  const owes = owing(name)
  t.ok(dialect in dialects, owes('dialect', 'a name of plugins/dialects'))
  t.ok(endpoint, owes('endpoint', 'its name in model lists'))
  const { summary, responses } = format.about
  t.match(summary, /^[A-Z].*[^.]$/, owes('about.summary', 'a sentence without a full stop'))
  for (const path of [PATH, '/v1/models/m:generateContent'])
    t.ok(
      Object.values(responses(path)).every(schema => typeof schema === 'object') &&
        Object.keys(responses(path)).length > 0,
      owes('about.responses', 'a schema for each media type of its responses'),
    )
  const { counting } = format
  if (counting) {
    const isValid = new Ajv2020().compile(Object(counting.schema))
    t.ok(isValid(counting.encodeCount(7)), owes('counting.schema', 'the schema of a count'))
  }
  t.ok(
    model === 'body' || model.rename('/m/x:y', 'z').includes('z'),
    owes('model', 'where a request names the model'),
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
}

/** Requirements of a target of the format; formats of images alone get no conversation. */
const checkTarget = (t: Test, codec: TargetCodec, key: string): void => {
  const owes = owing(key)
  const error = codec.decodeError(418, { error: { message: 'no tea' }, message: 'no tea' })
  t.match(
    error,
    { status: 418, message: 'no tea' },
    owes('codec.decodeError', 'status and message of an error reply'),
  )
  t.ok(
    codec.decodeError(503, undefined).message,
    owes('codec.decodeError', 'a message for a reply that is not JSON'),
  )
  if (codec.imageGeneration) return
  t.equal(
    codec.decodeStream().close(() => undefined),
    false,
    owes('codec.decodeStream', 'false for a stream without any event'),
  )
  const text = 'How high is the Zugspitze?'
  for (const stream of [false, true]) {
    const dropped = collectDropped()
    const turns = [{ role: 'user', content: [{ type: 'text', text }] }] as const
    const prompt = { ...PROMPT, turns, stream, settings: { limit: 77 } }
    const { path, body } = codec.encodePrompt(prompt, { name: 'model-1', traits: {} }, dropped)
    const bodyText =
      body instanceof Uint8Array ? Buffer.from(body).toString() : JSON.stringify(body)
    t.match(path, /^\//, owes('codec.encodePrompt', 'a path'))
    t.ok(bodyText.includes(text), owes('codec.encodePrompt', 'the text of the prompt in the body'))
    t.match(path + bodyText, /model-1/, owes('codec.encodePrompt', 'the name of the model'))
    t.match(bodyText, /77/, owes('codec.encodePrompt', 'the limit of the prompt'))
    t.same(dropped.fields, [], owes('codec.encodePrompt', 'a plain prompt without a lost field'))
  }
}

/** A format of conversations for clients: what it writes, it reads. */
const checkChat = (t: Test, format: Format): void => {
  const { codec } = format
  if (!codec) return
  checkSample(t, format, codec)
  checkStream(t, format, codec)
  checkAnswer(t, format, codec)
}

const checkSample = (t: Test, format: Format, codec: Codec): void => {
  const owes = owing(format.name)
  const body = { ...format.sample?.body('m') }
  const [key, value] = format.outputLimit?.(body, 77) ?? ['', null]
  const limits = format.limitsIn?.({ ...body, [key]: value }) ?? []
  t.ok(limits.includes(77), owes('limitsIn', 'what outputLimit sets'))
  const prompt = codec.decodePrompt(body, PATH, { add: () => undefined })
  t.same(
    prompt.turns.at(-1)?.content,
    [{ type: 'text', text: 'Hello' }],
    owes('sample', 'a request that says Hello'),
  )
}

const checkStream = (t: Test, { name, stream, usage, answerModel }: Format, codec: Codec): void => {
  const owes = owing(name)
  const encoder = codec.encodeStream(contextWith({ path: PATH }))
  const bytes = partsOf(ANSWER)
    .map(part => encoder.push(part))
    .join('')
  const events = eventsIn(Buffer.from(bytes)).filter(({ data }) => data !== undefined)
  const ends = events.filter(event => stream.isEnd(event))
  t.ok(ends.length > 0, owes('stream.isEnd', 'true for the end of its own stream'))
  t.ok(
    ends.every(({ data = '', name }) =>
      stream.endMarks.some(mark => `${name} ${data}`.includes(mark)),
    ),
    owes('stream.endMarks', 'a text in every event that ends a stream'),
  )
  const start = eventsIn(
    Buffer.from(codec.encodeStream(contextWith({ path: PATH })).push({ type: 'begin', id: 'a1' })),
  )
  t.notOk(
    start.some(event => event.data !== undefined && stream.carriesContent?.(event)),
    owes('stream.carriesContent', 'false for the start of a message'),
  )
  t.ok(
    events.some(event => stream.carriesContent?.(event)),
    owes('stream.carriesContent', 'true for an event with text'),
  )
  const answer = collect(codec, events)
  t.match(
    answer.choices,
    ANSWER.choices,
    owes('codec', 'a decoder that reads what its encoder wrote'),
  )
  t.match(answer.meters, ANSWER.meters, owes('usage.meters', 'the counts that its encoder wrote'))
  const counted = events.filter(({ data }) => {
    const fields: unknown = data?.startsWith('{') ? JSON.parse(data) : undefined
    return isFields(fields) && usage.inEvent(fields)
  })
  t.ok(counted.length > 0, owes('usage.inEvent', 'the counts of its own stream'))
  t.ok(
    counted.every(({ data }) => data?.includes(stream.usageMark)),
    owes('stream.usageMark', 'a text in every event with counts'),
  )
  t.ok(
    answerModel && bytes.includes(`"${answerModel.key}":"asked"`),
    owes('answerModel', 'the member that names the model'),
  )
}
const collect = (codec: Codec, events: readonly SseEvent[]): Answer => {
  const [decoder, collector] = [codec.decodeStream(), new Collector()]
  for (const event of events) decoder.push(event, part => collector.add(part))
  return collector.answer()
}

const checkAnswer = (t: Test, { name, stream, usage, served }: Format, codec: Codec): void => {
  const owes = owing(name)
  const context = contextWith({ path: PATH, prompt: { ...PROMPT, stream: false } })
  const answer = codec.encodeAnswer(ANSWER, context)
  t.match(
    codec.decodeAnswer(answer).choices,
    ANSWER.choices,
    owes('codec', 'a decoder that reads what its encoder wrote'),
  )
  t.ok(usage.key in answer, owes('usage.key', 'the member of a whole answer with its counts'))
  t.equal(served.read(answer).model, 'asked', owes('served.read', 'the model of its answer'))
  const encoder = codec.encodeStream(context)
  const failure = encoder.failure({ error: { message: 'no tea', type: 'api_error', code: null } })
  t.ok(
    eventsIn(Buffer.from(failure)).some(event => stream.error(event)),
    owes('stream.error', 'the error that its encoder wrote'),
  )
}
