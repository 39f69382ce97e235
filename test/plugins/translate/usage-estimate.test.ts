/** Answers without counts get the same estimate in every format: plain or streamed, passed through
 *  or translated. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { estimatePromptTokens } from '../../../plugins/formats/prompt-tokens.ts'
import { OutputTextEstimator } from '../../../plugins/formats/stream/output-text.ts'
import { compileTextPattern } from '../../../plugins/formats/stream/text-pattern.ts'
import { METERED, MODEL, OUTPUT_SO_FAR, USAGE } from '../../../plugins/slots.ts'
import translate from '../../../plugins/translate/index.ts'
import { JSON_TYPE, SSE } from '../../helpers/formats/translation.ts'
import {
  fakeAttempt,
  fakeExchange,
  fakeHost,
  readReply,
} from '../../helpers/gateway/fake-exchange.ts'

/** The chunks that an upstream sends. */
interface AnswerText {
  readonly words: readonly string[]
  readonly thought?: string
  readonly call?: object
}
interface WireFormat {
  readonly request: (stream: boolean) => { readonly path: string; readonly body: Json }
  readonly plain: (answer: AnswerText, usage?: Json) => object
  readonly events: (answer: AnswerText, usage?: Json) => string
  /** Data after the event that ends a stream. */
  readonly eventAfterEnd: (text: string) => string
}
const event = (data: object, name?: string): string =>
  `${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(data)}\n\n`
const namedEvent = (data: { readonly type: string; readonly [member: string]: unknown }): string =>
  event(data, data.type)

const delta = (delta: object, finish_reason: string | null = null): string =>
  event({ id: 'c', choices: [{ index: 0, delta, finish_reason }] })
const toolCall = (call: object) => ({
  index: 0,
  id: 'call_1',
  type: 'function',
  function: { name: 'look', arguments: JSON.stringify(call) },
})
const block = (index: number, content: object, deltas: readonly object[]): string =>
  [
    namedEvent({ type: 'content_block_start', index, content_block: content }),
    ...deltas.map(delta => namedEvent({ type: 'content_block_delta', index, delta })),
    namedEvent({ type: 'content_block_stop', index }),
  ].join('')
const parts = ({ words, thought, call }: AnswerText): readonly object[] => [
  ...(thought ? [{ text: thought, thought: true }] : []),
  ...words.map(text => ({ text })),
  ...(call ? [{ functionCall: { name: 'look', args: call } }] : []),
]

const WIRE_FORMATS: Readonly<Record<string, WireFormat>> = {
  'openai-chat': {
    request: stream => ({
      path: '/v1/chat/completions',
      body: {
        model: 'm',
        messages: [{ role: 'user', content: 'hello' }],
        ...(stream && { stream }),
      },
    }),
    plain: ({ words, thought, call }, usage) => ({
      id: 'c',
      choices: [
        {
          index: 0,
          finish_reason: 'stop',
          message: {
            role: 'assistant',
            content: words.join(''),
            ...(thought && { reasoning_content: thought }),
            ...(call && { tool_calls: [toolCall(call)] }),
          },
        },
      ],
      ...(usage !== undefined && { usage }),
    }),
    events: ({ words, thought, call }, usage) =>
      [
        delta({ role: 'assistant', content: '' }),
        // Some upstreams send thoughts in two members.
        ...(thought ? [delta({ reasoning: thought, reasoning_content: thought })] : []),
        ...words.map(content => delta({ content })),
        ...(call ? [delta({ tool_calls: [toolCall(call)] })] : []),
        delta({}, 'stop'),
        ...(usage === undefined ? [] : [event({ id: 'c', choices: [], usage })]),
        'data: [DONE]\n\n',
      ].join(''),
    eventAfterEnd: content => delta({ content }),
  },
  'openai-responses': {
    request: stream => ({
      path: '/v1/responses',
      body: { model: 'm', input: 'hello', ...(stream && { stream }) },
    }),
    plain: (answer, usage) => response(answer, usage),
    events(answer, usage) {
      const { words, thought, call } = answer
      const items = response(answer, usage).output
      const itemEvents = items.map((item, output_index) => {
        const position = {
          item_id: `i${output_index}`,
          output_index,
          content_index: 0,
          summary_index: 0,
        }
        const deltas: readonly (readonly [string, string])[] =
          item.type === 'reasoning'
            ? [['response.reasoning_summary_text.delta', thought ?? '']]
            : item.type === 'function_call'
              ? [['response.function_call_arguments.delta', JSON.stringify(call)]]
              : words.map(word => ['response.output_text.delta', word] as const)
        const empty = { ...item, content: [], summary: [], arguments: '' }
        return [
          namedEvent({ type: 'response.output_item.added', output_index, item: empty }),
          ...deltas.map(([type, text]) => namedEvent({ type, ...position, delta: text })),
          ...(item.type === 'message'
            ? [namedEvent({ type: 'response.output_text.done', ...position, text: words.join('') })]
            : []),
          namedEvent({ type: 'response.output_item.done', output_index, item }),
        ].join('')
      })
      const responseInProgress = { ...response({ words: [] }), status: 'in_progress', usage: null }
      return [
        namedEvent({ type: 'response.created', response: responseInProgress }),
        ...itemEvents,
        namedEvent({ type: 'response.completed', response: response(answer, usage) }),
      ].join('')
    },
    eventAfterEnd: delta =>
      namedEvent({ type: 'response.output_text.delta', delta, item_id: 'i0', output_index: 0 }),
  },
  'anthropic-messages': {
    request: stream => ({
      path: '/v1/messages',
      body: {
        model: 'm',
        max_tokens: 50,
        messages: [{ role: 'user', content: 'hello' }],
        ...(stream && { stream }),
      },
    }),
    plain: ({ words, thought, call }, usage) => ({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      stop_reason: 'end_turn',
      content: [
        ...(thought ? [{ type: 'thinking', thinking: thought, signature: 's' }] : []),
        ...(words.length > 0 ? [{ type: 'text', text: words.join('') }] : []),
        ...(call ? [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: call }] : []),
      ],
      ...(usage !== undefined && { usage }),
    }),
    events({ words, thought, call }, usage) {
      let at = 0
      const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] }
      return [
        namedEvent({ type: 'message_start', message }),
        thought &&
          block(at++, { type: 'thinking', thinking: '' }, [
            { type: 'thinking_delta', thinking: thought },
            { type: 'signature_delta', signature: 's' },
          ]),
        words.length > 0 &&
          block(
            at++,
            { type: 'text', text: '' },
            words.map(text => ({ type: 'text_delta', text })),
          ),
        call &&
          block(at++, { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }, [
            { type: 'input_json_delta', partial_json: JSON.stringify(call) },
          ]),
        namedEvent({
          type: 'message_delta',
          delta: { stop_reason: 'end_turn' },
          ...(usage !== undefined && { usage }),
        }),
        namedEvent({ type: 'message_stop' }),
      ]
        .filter(Boolean)
        .join('')
    },
    eventAfterEnd: text =>
      namedEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  },
  'google-gemini': {
    request: stream => ({
      path: `/v1beta/models/m:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
      body: { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
    }),
    plain: (answer, usage) => ({
      candidates: [{ content: { role: 'model', parts: parts(answer) }, finishReason: 'STOP' }],
      ...(usage !== undefined && { usageMetadata: usage }),
    }),
    events: (answer, usage) =>
      [
        ...parts(answer).map(part =>
          event({ candidates: [{ content: { role: 'model', parts: [part] } }] }),
        ),
        event({
          candidates: [{ content: { role: 'model', parts: [] }, finishReason: 'STOP' }],
          ...(usage !== undefined && { usageMetadata: usage }),
        }),
      ].join(''),
    eventAfterEnd: text =>
      event({ candidates: [{ content: { role: 'model', parts: [{ text }] } }] }),
  },
}
const response = ({ words, thought, call }: AnswerText, usage?: Json) => ({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'm',
  output: [
    ...(thought
      ? [{ id: 'i0', type: 'reasoning', summary: [{ type: 'summary_text', text: thought }] }]
      : []),
    ...(words.length > 0
      ? [
          {
            id: 'i1',
            type: 'message',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: words.join(''), annotations: [] }],
          },
        ]
      : []),
    ...(call
      ? [
          {
            id: 'i2',
            type: 'function_call',
            call_id: 'call_1',
            name: 'look',
            arguments: JSON.stringify(call),
          },
        ]
      : []),
  ],
  ...(usage !== undefined && { usage }),
})
const NAMES = Object.keys(WIRE_FORMATS)
const wireFormat = (name: string): WireFormat => {
  const format = WIRE_FORMATS[name]
  if (!format) throw new Error(name)
  return format
}

/** Sends one answer in these chunks through the plugin. */
const run = async (
  client: string,
  target: string,
  stream: boolean,
  chunks: readonly string[],
  isMetered = true,
) => {
  const { path, body } = wireFormat(client).request(stream)
  const [local = '', search = ''] = path.split('?')
  const host = fakeHost({ upstreams: { up: { options: { formats: [target] } } } })
  const exchange = fakeExchange({ body, path: local, search })
  Object.assign(exchange.request, { parsed: body, outlined: body })
  exchange.slots.set(MODEL, { asked: 'm', entry: 'm' })
  if (isMetered) exchange.slots.set(METERED, { has: () => true })
  const headers = stream ? SSE : JSON_TYPE
  const attempt = fakeAttempt(exchange, { upstream: 'up', name: 'm' }, { headers, chunks }, path)
  await translate.setup(client, host).forward?.(attempt, attempt.next)
  const { text } = await readReply(attempt.reply)
  return { usage: exchange.slots.get(USAGE), text, logged: host.logLines, slots: exchange.slots }
}
const answerOf = (target: string, stream: boolean, answer: AnswerText, usage?: Json): string =>
  stream
    ? wireFormat(target).events(answer, usage)
    : JSON.stringify(wireFormat(target).plain(answer, usage))

const ANSWERS: readonly (readonly [what: string, said: AnswerText, output: number])[] = [
  ['two words in one event', { words: ['hi there'] }, 2],
  ['four words in four events', { words: ['one', ' two', ' three', ' four'] }, 4],
  ['one word in pieces', { words: ['in', 'com', 'pre', 'hensible'] }, 4],
  ['letters that JSON escapes', { words: ['a\n"b"\t', '你好世界, ', 'Grüße \\ 🙂'] }, 8],
  ['a thought', { words: ['yes'], thought: 'let me think' }, 4],
  ['a call', { words: [], call: { city: 'New York', days: [1, 2] } }, 7],
  ['nothing', { words: [] }, 0],
]
for (const [what, answer, output] of ANSWERS)
  t.test(`usage estimate: is equal on every path for ${what}`, async t => {
    for (const target of NAMES)
      for (const client of NAMES)
        for (const stream of [false, true]) {
          if (output === 0 && client !== target) continue
          const { usage } = await run(client, target, stream, [answerOf(target, stream, answer)])
          const path = `${client} <- ${target}, ${stream ? 'streamed' : 'plain'}`
          t.same(
            usage,
            { meters: { input: 2, output }, estimated: true, isFinalEstimate: true },
            path,
          )
        }
  })

/** Counts in each format: input, output, and thinking as a part of the output. */
const COUNTS: Readonly<Record<string, (input: Json, output: Json, thought?: Json) => Json>> = {
  'openai-chat': (prompt_tokens, completion_tokens, reasoning_tokens = 0) => ({
    prompt_tokens,
    completion_tokens,
    completion_tokens_details: { reasoning_tokens },
  }),
  'openai-responses': (input_tokens, output_tokens, reasoning_tokens = 0) => ({
    input_tokens,
    output_tokens,
    output_tokens_details: { reasoning_tokens },
  }),
  'anthropic-messages': (input_tokens, output_tokens, thinking_tokens = 0) => ({
    input_tokens,
    output_tokens,
    output_tokens_details: { thinking_tokens },
  }),
  'google-gemini': (promptTokenCount, candidatesTokenCount, thoughtsTokenCount = 0) => ({
    promptTokenCount,
    candidatesTokenCount,
    thoughtsTokenCount,
  }),
}
const countsOf = (
  target: string,
  ...counts: readonly [read: Json, written: Json, thought?: Json]
) => COUNTS[target]?.(...counts) ?? {}
const SHORT_ANSWER: AnswerText = { words: ['hi there'] }
/** JSON text of numbers: 1e400 parses as infinity. */
const IMPLAUSIBLE_COUNTS: readonly Json[] = [
  -1_000,
  1.5,
  2 ** 53,
  1e308,
  Number.POSITIVE_INFINITY,
  '5',
  true,
  {},
]

t.test('reported usage: implausible counts are estimated, marked and logged', async t => {
  for (const target of NAMES)
    for (const client of [target, ...NAMES.filter(name => name !== target).slice(0, 1)])
      for (const stream of [false, true])
        for (const implausible of IMPLAUSIBLE_COUNTS) {
          const path = `${client} <- ${target}, ${stream ? 'streamed' : 'plain'}: ${String(implausible)}`
          const runWithCounts = async (input: Json, output: Json) => {
            const text = answerOf(target, stream, SHORT_ANSWER, countsOf(target, input, output))
            const infinite = text.replaceAll('null', '1e400')
            const answer = implausible === Number.POSITIVE_INFINITY ? infinite : text
            return run(client, target, stream, [answer])
          }
          const both = await runWithCounts(implausible, implausible)
          t.match(both.usage, { meters: { input: 2, output: 2 }, estimated: true }, path)
          t.match(both.logged, [/^warn upstream reported implausible token counts/], path)
          const inputRun = await runWithCounts(implausible, 7)
          t.match(inputRun.usage, { meters: { input: 2, output: 7 }, estimated: true }, path)
          const outputRun = await runWithCounts(7, implausible)
          t.match(outputRun.usage, { meters: { input: 7, output: 2 }, estimated: true }, path)
        }
})

t.test('reported usage: counts that are missing are estimated', async t => {
  for (const target of NAMES)
    for (const stream of [false, true])
      for (const usage of [{}, null, 'x', [], countsOf(target, null, null)]) {
        const { usage: recordedUsage, logged: logLines } = await run(target, target, stream, [
          answerOf(target, stream, SHORT_ANSWER, usage as Json),
        ])
        t.match(
          recordedUsage,
          { meters: { input: 2, output: 2 }, estimated: true },
          `${target} ${stream}`,
        )
        t.same(logLines, [])
      }
})

t.test('reported usage: plausible counts are used unchanged', async t => {
  for (const target of NAMES)
    for (const stream of [false, true]) {
      const counts = countsOf(target, 30, 2 ** 53 - 1)
      const { usage } = await run(target, target, stream, [
        answerOf(target, stream, SHORT_ANSWER, counts),
      ])
      t.same(usage, { meters: { input: 30, output: 2 ** 53 - 1 }, estimated: false }, target)
    }
})

t.test('reported usage: a part is bounded by the whole that includes it', async t => {
  // Google counts thoughts beside the answer: there it is not part.
  for (const target of NAMES.filter(name => name !== 'google-gemini'))
    for (const stream of [false, true]) {
      const counts = countsOf(target, 30, 10, 1_000_000)
      const { usage } = await run(target, target, stream, [
        answerOf(target, stream, SHORT_ANSWER, counts),
      ])
      t.same(usage, { meters: { input: 30, thinking: 10 }, estimated: false }, target)
    }
})

t.test('stream: data after the end is dropped or charged', async t => {
  for (const target of NAMES)
    for (const counts of [undefined, countsOf(target, 30, 2)])
      for (const together of [true, false]) {
        const [events, eventAfterEnd] = [
          wireFormat(target).events(SHORT_ANSWER, counts),
          wireFormat(target).eventAfterEnd(' free'.repeat(50)),
        ]
        const chunks = together ? [events + eventAfterEnd] : [events, eventAfterEnd]
        const { usage, text } = await run(target, target, true, chunks)
        const isDelivered = text.includes('free')
        t.equal(isDelivered, target !== 'openai-chat', target)
        const extraTokens = (usage?.meters.output ?? 0) - 2
        t.equal(
          extraTokens,
          isDelivered ? 50 : 0,
          `${target}: ${extraTokens} of 50 words are charged`,
        )
        t.equal(usage?.estimated, isDelivered || counts === undefined, target)
      }
})

t.test('stream: another answer after the end is charged by its own counts', async t => {
  for (const target of ['anthropic-messages', 'openai-responses']) {
    const one = wireFormat(target).events(SHORT_ANSWER, countsOf(target, 30, 5))
    for (const chunks of [[one + one], [one, one]]) {
      const { usage } = await run(target, target, true, chunks)
      t.same(usage, { meters: { input: 60, output: 10 }, estimated: false }, target)
    }
  }
})

t.test('usage estimate: a stream that is cut costs a token for each event with text', async t => {
  const pieces = ['a', 'b', 'c', 'd', 'e'].map(content => delta({ content }))
  const { usage } = await run('openai-chat', 'openai-chat', true, pieces)
  t.match(usage, { meters: { input: 2, output: 5 }, estimated: true })
})

t.test('usage estimate: skips the text of unmetered answers', async t => {
  const text = answerOf('openai-chat', true, SHORT_ANSWER)
  const { usage, slots } = await run('openai-chat', 'openai-chat', true, [text], false)
  t.same(usage, { meters: {}, estimated: true })
  t.equal(slots.get(OUTPUT_SO_FAR), undefined)
})

t.test('output text: is the same in chunks of every size', async t => {
  const pattern = compileTextPattern({
    text: ['text'],
    alternatives: ['one', 'other'],
    objects: ['args'],
    exclusions: ['skipped'],
  })
  const bytes = Buffer.from(
    '{"skipped":[{"text":"no"},"]"],"one" : "", "other":"four words are here","one":"no",' +
      '"text":\n "\\u4f60\\ud83d\\ude42 \\"x\\\\\\" y", "args":{ "a\\"}":["}", {"text":"b c"}] },' +
      '"args":{ }, "text":["text"], "text":null}',
  )
  for (const size of [1, 2, 3, 5, 8, 13, 1_000]) {
    const estimator = new OutputTextEstimator(pattern)
    for (let at = 0; at < bytes.length; at += size) estimator.push(bytes.subarray(at, at + size))
    t.equal(estimator.tokens, 15, `${size} bytes at a time`)
    t.equal(estimator.truncatedTokens, 15)
  }
})

t.test('prompt tokens: are estimated from the text', async t => {
  const user = (content: Json) => ({ model: 'm', messages: [{ role: 'user', content }] })
  const image = `data:image/png;base64,${'A'.repeat(100_000)}`
  for (const [what, body, tokens] of [
    ['text', user('x'.repeat(400)), 100],
    ['bytes of UTF-8', user('é'.repeat(200)), 100],
    ['parts', user([{ type: 'text', text: 'x'.repeat(400) }]), 100],
    ['an image', user([{ type: 'image_url', image_url: { url: image } }]), 1_100],
    ['sound', user([{ type: 'input_audio', input_audio: { data: 'A', format: 'wav' } }]), 320],
    ['a page', user([{ type: 'document', source: { media_type: 'application/pdf' } }]), 1_600],
    ['a text as document', user([{ source: { type: 'text', data: 'x'.repeat(40) } }]), 10],
    ['a tool, with its keys', { tools: [{ name: 'look', parameters: { city: 'x' } }] }, 6],
    ['arguments, with their keys', user([{ args: { city: 'Berlin' } }]), 3],
    ['members without text', { ...user('hi'), stream: true, temperature: 1, user: 'x' }, 1],
  ] as const)
    t.equal(estimatePromptTokens(body as Json, 9), tokens, what)
  t.equal(estimatePromptTokens({ other: 'x' }, 40), 10, 'an unknown form: by its size')
  let deep: Json = 'x'
  for (let depth = 0; depth < 50_000; depth++) deep = [deep]
  t.equal(estimatePromptTokens({ messages: deep }, 9), 1, 'however deep it is')
})
