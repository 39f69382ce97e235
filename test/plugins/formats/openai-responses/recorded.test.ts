/** Recorded responses, decoded to the hub and encoded again: an independent reader and the official
 *  SDK find the same content in both. */
import OpenAI from 'openai'
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import type { Answer } from '../../../../plugins/formats/hub/answer.ts'
import {
  assembleParts,
  codecOf,
  contextWith,
  decodeParts,
  decodePrompt,
  encodePrompt,
  encodeStream,
} from '../../../helpers/formats/codec.ts'
import type { Recording } from '../../../helpers/formats/recordings.ts'
import { startTextUpstream } from '../../../helpers/gateway/chat-upstream.ts'
import {
  callsIn,
  citationsIn,
  countsIn,
  eventsOf,
  type Response,
  recordedResponse,
  recordedResponses,
  textIn,
  thoughtsIn,
} from './recorded-responses.ts'

const NAME = 'openai-responses'
const codec = codecOf(NAME)
const recorded = recordedResponses()
const skip = recorded.length === 0 && 'RECORDINGS is not set'

const contextOf = ({ request }: Recording) =>
  contextWith({ prompt: decodePrompt(NAME, (request ?? { input: 'hi' }) as Json).prompt })
const answerOf = ({ stream, response_body: body }: Recording): Answer =>
  stream
    ? assembleParts(decodeParts(NAME, body).parts)
    : codec.decodeAnswer(JSON.parse(body) as Fields)
const streamOf = (recording: Recording): string => {
  const { stream, response_body: body } = recording
  const context = contextOf(recording)
  if (stream) return encodeStream(NAME, decodeParts(NAME, body).parts, context)
  // A whole answer as the parts of a stream.
  return encodeStream(NAME, decodeParts(NAME, asStream(JSON.parse(body))).parts, context)
}
/** A stream from which all events but the last were removed. */
const asStream = (response: Json): string =>
  `data: ${JSON.stringify({ type: 'response.completed', response })}\n\n`

/** The log probabilities in the hub's shape. */
const readAnswer = ({ choices, meters = {} }: Answer) => {
  const [{ content = [] } = {}] = choices
  const text = (type: string): readonly string[] =>
    content.flatMap(each => (each.type === type && 'text' in each ? [each.text] : []))
  const { input = 0, cached = 0, cache_write: remaining = 0, output = 0, thinking = 0 } = meters
  return {
    text: text('text').join(''),
    thoughts: text('thought').filter(Boolean).join('\n'),
    calls: content.flatMap(each =>
      each.type === 'call'
        ? [
            {
              id: each.id,
              name: each.name,
              given: each.isFreeText ? each.input : JSON.parse(each.input),
            },
          ]
        : [],
    ),
    citations: content.flatMap(each => (each.type === 'text' ? (each.citations ?? []) : [])).length,
    counts: { input: input + cached + remaining, output: output + thinking, cached, thinking },
  }
}
const expected = (response: Response) => {
  const { total: _, ...counts } = countsIn(response) ?? {}
  return {
    text: textIn(response),
    thoughts: thoughtsIn(response),
    calls: callsIn(response),
    citations: citationsIn(response),
    counts,
  }
}
/** Two upstreams count thoughts apart from the output; a few recordings have no usage. */
const sane = ({ usage }: Response): boolean =>
  (usage?.output_tokens ?? 0) >= (usage?.output_tokens_details?.reasoning_tokens ?? 0)

t.test('responses codec: keeps recorded answers and streams', { skip }, t => {
  for (const recording of recorded) {
    const response = recordedResponse(recording)
    const [was, is] = [expected(response), readAnswer(answerOf(recording))]
    if (!response.usage || !sane(response)) {
      t.same({ ...is, counts: 0 }, { ...was, counts: 0 }, recording.id)
    } else t.same(is, was, recording.id)
  }
  t.end()
})

t.test('responses codec: carries encrypted thoughts as payloads with their id', { skip }, t => {
  for (const recording of recorded) {
    const [{ content = [] } = {}] = answerOf(recording).choices
    const seals = content.flatMap(each =>
      each.type === 'thought' && each.payload ? [[each.payload.id, each.payload.data]] : [],
    )
    const source = recordedResponse(recording).output.flatMap(item =>
      item.type === 'reasoning' && item.encrypted_content
        ? [[item.id, item.encrypted_content]]
        : [],
    )
    t.same(seals, source, recording.id)
  }
  t.end()
})

t.test('responses stream encoder: numbers its events and positions', { skip }, t => {
  for (const recording of recorded) {
    const events = eventsOf(streamOf(recording))
    t.same(
      events.map(({ sequence_number: number }) => number),
      events.map((_, index) => index),
      `${recording.id} numbers`,
    )
    const finishedItems = events
      .filter(({ type }) => type === 'response.output_item.done')
      .sort((one, other) => Number(one.output_index) - Number(other.output_index))
    const last = events.at(-1)?.response as never as Response
    t.same(
      last.output,
      finishedItems.map(({ item }) => item),
      `${recording.id} items`,
    )
    const addedEvents = events.filter(({ type }) => type === 'response.output_item.added')
    t.same(
      addedEvents.map(({ output_index: at }) => at),
      addedEvents.map((_, index) => index),
      `${recording.id} places`,
    )
  }
  t.end()
})

t.test('official OpenAI SDK: reads the same from our encoding', { skip }, async t => {
  const answers = new Map<string, Recording>(recorded.map(each => [each.id, each]))
  const url = await startTextUpstream(t, (text, response) => {
    const { model, stream } = JSON.parse(text)
    const recording = answers.get(model) as Recording
    response.setHeader('content-type', stream ? 'text/event-stream' : 'application/json')
    response.end(
      stream
        ? streamOf(recording)
        : JSON.stringify(codec.encodeAnswer(answerOf(recording), contextOf(recording))),
    )
  })
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'k', maxRetries: 0 })
  for (const recording of recorded) {
    const source = recordedResponse(recording)
    const question = { model: recording.id, input: 'hi' }
    const complete = await client.responses.create(question)
    const result = await client.responses.stream(question).finalResponse()
    for (const [how, answer] of [
      ['plain', complete],
      ['streamed', result],
    ] as const) {
      const again = JSON.parse(JSON.stringify(answer)) as Response
      const [was, is] = [expected(source), expected(again)]
      t.equal(answer.output_text, was.text, `${recording.id} ${how} output_text`)
      t.same({ ...is, counts: 0 }, { ...was, counts: 0 }, `${recording.id} ${how}`)
      if (source.usage && sane(source))
        t.same(countsIn(again), countsIn(source), `${recording.id} ${how} counts`)
    }
  }
})

/** Members of a request that are encoded differently or dropped. */
const RESTORED: Readonly<Record<string, string>> = {
  stream: 'false says nothing',
  store: 'nothing is kept upstream',
  include: 'thoughts are always asked for',
  instructions: 'the first system message is the instructions',
  previous_response_id: 'null says nothing',
}
/** The members of a recorded request. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'rec-0095 reasoning': 'a summary is a summary, however detailed',
  'rec-0129 reasoning': 'the same',
  'rec-0192 reasoning': 'the same',
  'rec-0193 reasoning': 'the same',
  'rec-0169 text': 'text is the usual format',
}
t.test('responses codec: keeps recorded requests', { skip }, t => {
  for (const { id, request } of recorded) {
    if (!request) continue
    const { prompt, dropped } = decodePrompt(NAME, request as Json)
    const { body } = encodePrompt(NAME, prompt, { name: String(request.model) })
    // Deferred loading of tools concerns one provider only.
    t.same(
      dropped.filter(field => !/^(tools\[\d+\]\.defer_loading|reasoning\.context)/.test(field)),
      [],
      id,
    )
    for (const key of Object.keys(request).filter(name => !(name in RESTORED) && name !== 'input'))
      if (!(`${id} ${key}` in EXCEPTIONS))
        t.same(plainly(body[key] ?? {}), plainly(request[key] as Json), `${id} ${key}`)
    t.same(conversationOf(body as Fields), conversationOf(request as Fields), `${id} input`)
  }
  t.end()
})
/** The members without defaults and without provider-specific ones. */
const plainly = (value: Json | undefined): unknown =>
  JSON.parse(
    JSON.stringify(value ?? null, (key, each) =>
      /^(defer_loading|context)$/.test(key) || (key !== '' && each === null) ? undefined : each,
    ),
  )
/** Every item with content in its shortest form; an empty message has none. */
const conversationOf = ({ instructions, input }: Fields): unknown => {
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : (input as Json[])
  const system = instructions ? [{ role: 'system', content: instructions }] : []
  return [...system, ...(items as Fields[])].filter(({ content }) => content !== '').map(shortItem)
}
const shortItem = (item: Fields): unknown => {
  if (item.role !== undefined) {
    const { content } = item
    const parts = typeof content === 'string' ? [content] : (content as readonly Fields[])
    const words = parts.map(part => (typeof part === 'string' ? part : (part.text ?? part)))
    return [item.role, item.phase, words]
  }
  const { id: _, status: __, ...rest } = item
  const members = plainly(rest) as object
  return Object.fromEntries(Object.entries(members).sort())
}
