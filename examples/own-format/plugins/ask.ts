/** The wire format `ask`: one question, one text, and the words that both used. */
import {
  type Answer,
  compileTextPattern,
  count,
  decodeErrorReply,
  eventFields,
  type Fields,
  type Format,
  isFields,
  lenientText,
  omitZeroMeters,
  type Part,
  type SseEvent,
  textIn,
  textOfPrompt,
} from 'tollgate/formats'
import type { Plugin } from 'tollgate/plugin'
import type { Meters } from 'tollgate/slots'

const TEXT = compileTextPattern({ text: ['text'] })
const usedIn = ({ used }: Fields): Fields | undefined => (isFields(used) ? used : undefined)
const meters = (used: Fields): Meters =>
  omitZeroMeters({ input: count(used.in), output: count(used.out) })
const usedOf = ({ input = 0, output = 0 }: Meters): Fields => ({ in: input, out: output })
const textOf = ({ choices: [choice] }: Answer): string =>
  (choice?.content ?? []).map(part => (part.type === 'text' ? part.text : '')).join('')
const line = (fields: Fields): string => `data: ${JSON.stringify(fields)}\n\n`
const STOP = { reason: 'end' } as const
const errorIn = (event: SseEvent) => {
  const error = eventFields(event)?.error
  return isFields(error) ? { status: 502, body: error } : undefined
}

const ask: Format = {
  name: 'ask',
  dialect: 'openai',
  endpoint: 'ask',
  about: {
    summary: 'Answer a question',
    responses: () => ({
      'application/json': { type: 'object' },
      'text/event-stream': { type: 'string' },
    }),
  },
  model: 'body',
  answerModel: { key: 'model', parents: [] },
  sample: { path: '/v1/ask', body: model => ({ model, question: 'Hello', max_words: 100 }) },
  outputLimit: (_, tokens) => ['max_words', tokens],
  limitField: 'max_words',
  limitsIn: body => [body.max_words],
  usage: {
    key: 'used',
    inEvent: usedIn,
    meters,
    sums: { input: ['in'], output: ['out'] },
    text: { plain: TEXT, events: TEXT },
    counts: ['input', 'output'],
  },
  served: {
    members: ['id', 'model'],
    read: ({ id, model }) => ({
      ...(typeof id === 'string' && { id }),
      ...(typeof model === 'string' && { model }),
    }),
  },
  stream: {
    usageMark: '"used"',
    isCumulative: true,
    endMarks: ['"used"'],
    isEnd: event => eventFields(event)?.used !== undefined,
    afterEnd: 'dropped',
    completesWithoutTerminator: () => false,
    error: errorIn,
    // A target is chosen at its first content: an error before it leads to the next target.
    carriesContent: event => {
      const { text, used } = eventFields(event) ?? {}
      return (typeof text === 'string' && text !== '') || used !== undefined
    },
  },
  // A body with status 200 that is an error; one with the mark is an answer.
  answers: {
    marks: ['"used"'],
    failure: ({ error }) => (isFields(error) ? { status: 502, body: error } : undefined),
  },
  codec: {
    settings: { limit: 'max_words' },
    decodePrompt(body) {
      const limit = typeof body.max_words === 'number' ? body.max_words : undefined
      const text = textIn(body, 'question') ?? ''
      return {
        turns: [{ role: 'user', content: [{ type: 'text', text }] }],
        tools: [],
        settings: limit === undefined ? {} : { limit },
        stream: body.stream === true,
        includeUsage: true,
        body,
      }
    },
    encodePrompt(prompt, { name }, dropped) {
      const { settings, stream, tools } = prompt
      if (tools.length > 0) dropped.add('tools')
      for (const key in settings) if (key !== 'limit') dropped.add(key)
      const limit: Fields = settings.limit === undefined ? {} : { max_words: settings.limit }
      const body = { model: name, question: textOfPrompt(prompt), ...limit, stream }
      return { path: '/v1/ask', body }
    },
    decodeAnswer: body => ({
      choices: [{ content: [{ type: 'text', text: lenientText(body, 'text') ?? '' }], stop: STOP }],
      ...(isFields(body.used) && { meters: meters(body.used) }),
    }),
    encodeAnswer: (answer, { model }) => ({
      model,
      text: textOf(answer),
      used: usedOf(answer.meters ?? {}),
    }),
    decodeStream() {
      let hasEnded = false
      let isOpen = false
      return {
        push(event, emit) {
          const { text, used } = eventFields(event) ?? {}
          if (hasEnded) return
          if (typeof text === 'string') {
            if (!isOpen) emit({ type: 'begin' })
            const content = { type: 'text', text: '' } as const
            if (!isOpen) emit({ type: 'open', index: 0, choice: 0, content })
            isOpen = true
            emit({ type: 'grow', index: 0, text })
          }
          if (!isFields(used)) return
          if (isOpen) emit({ type: 'close', index: 0 })
          emit({ type: 'stop', choice: 0, stop: STOP })
          emit({ type: 'count', meters: meters(used) })
          emit({ type: 'end' })
          hasEnded = true
        },
        close: () => hasEnded,
      }
    },
    encodeStream({ model }) {
      let counts: Meters = {}
      const push = (part: Part): string => {
        if (part.type === 'count') counts = part.meters
        const isText = part.type === 'open' && part.content.type === 'text' && part.content.text
        if (isText) return line({ model, text: isText })
        if (part.type === 'grow') return line({ model, text: part.text })
        return part.type === 'end' ? line({ model, used: usedOf(counts) }) : ''
      }
      return { push, failure: body => line(body) }
    },
    decodeError: decodeErrorReply,
  },
}

export default {
  schema: { description: 'It has no options.', type: 'object', examples: [{}] },
  formats: { ask },
  setup: () => ({}),
} satisfies Plugin
