/** Answers of chat upstreams in shapes of their own, for clients of all formats. */

import {
  assistant,
  geminiUser,
  messagesTool,
  responsesTool,
} from '../../../helpers/formats/request-parts.ts'
import { chatAnswer, chatStream } from './chat-answers.ts'
import type { Body, RequestCase } from './request-case.ts'
import type { FormatName } from './upstreams.ts'

const fragment = (name: string | undefined, input: string, id?: string): object => ({
  tool_calls: [
    { index: 0, ...(id && { id }), type: 'function', function: { name, arguments: input } },
  ],
})

const CLIENTS = ['openai-responses', 'anthropic-messages', 'google-gemini'] as const
const NAMES = ['read', 'write']
const REQUESTS: Readonly<Record<(typeof CLIENTS)[number], object>> = {
  'openai-responses': {
    input: 'q',
    store: false,
    tools: NAMES.map(name => responsesTool(name)),
  },
  'anthropic-messages': {
    max_tokens: 50,
    tools: NAMES.map(name => messagesTool(name)),
    messages: [{ role: 'user', content: 'q' }],
  },
  'google-gemini': {
    contents: [geminiUser({ text: 'q' })],
    tools: [{ functionDeclarations: NAMES.map(name => ({ name })) }],
  },
}

interface ReadCall {
  readonly name: string
  readonly input: unknown
}
const outputOf = (out: Body, events: readonly Body[]): Body =>
  out ? out.output : events.at(-1).response.output
/** The calls that a client read, plain or from the events of a stream. */
const callsOf = (client: FormatName, out: Body, events: readonly Body[]): readonly ReadCall[] => {
  if (client === 'google-gemini')
    return (out ? [out] : events)
      .flatMap(each => each.candidates?.[0]?.content?.parts ?? [])
      .filter((part: Body) => part.functionCall)
      .map((part: Body) => ({ name: part.functionCall.name, input: part.functionCall.args }))
  if (client === 'openai-responses')
    return outputOf(out, events)
      .filter((item: Body) => item.type === 'function_call')
      .map((item: Body) => ({ name: item.name, input: JSON.parse(item.arguments) }))
  if (out)
    return out.content
      .filter((block: Body) => block.type === 'tool_use')
      .map(({ name, input }: Body) => ({ name, input }))
  return events
    .filter(event => event.content_block?.type === 'tool_use')
    .map(({ index, content_block: { name } }) => ({
      name,
      input: JSON.parse(
        events
          .filter(event => event.type === 'content_block_delta' && event.index === index)
          .map(event => event.delta.partial_json)
          .join(''),
      ),
    }))
}
const isBoth = (calls: readonly ReadCall[]): boolean =>
  JSON.stringify(calls) ===
  JSON.stringify([
    { name: 'read', input: { p: 1 } },
    { name: 'write', input: { q: 2 } },
  ])

const CALLS: readonly (readonly [name: string, answer: object])[] = [
  [
    'one index, two ids',
    chatStream(
      [fragment('read', '{"p":1}', 'c1'), fragment('write', '{"q":2}', 'c2')],
      'tool_calls',
    ),
  ],
  [
    'one index, two ids, in fragments with repeated ids',
    chatStream(
      [
        fragment('read', '', 'c1'),
        fragment('read', '{"p"', 'c1'),
        fragment('read', ':1}', 'c1'),
        fragment('write', '{"q"', 'c2'),
        fragment(undefined, ':2}'),
      ],
      'tool_calls',
    ),
  ],
  [
    'one index, two ids, in one event',
    chatStream(
      [
        {
          tool_calls: [
            { index: 0, id: 'c1', function: { name: 'read', arguments: '{"p":1}' } },
            { index: 0, id: 'c2', function: { name: 'write', arguments: '{"q":2}' } },
          ],
        },
      ],
      'tool_calls',
    ),
  ],
  [
    'one index without ids',
    chatStream([fragment('read', '{"p":1}'), fragment('write', '{"q":2}')], 'tool_calls'),
  ],
  [
    'another id in each fragment of a call',
    chatStream(
      [
        fragment('read', '{"p":', 'c1'),
        fragment(undefined, '1}', 'x1'),
        fragment('write', '{"q":', 'c2'),
        fragment(undefined, '2}', 'x2'),
      ],
      'tool_calls',
    ),
  ],
]

const thinking = (text: string): object => ({
  type: 'thinking',
  thinking: [{ type: 'text', text }],
})
const words = (text: string): object => ({ type: 'text', text })
const LISTS: readonly (readonly [name: string, answer: object])[] = [
  [
    'streamed',
    chatStream(
      [assistant(thinking('hm')), { content: [thinking('m'), words('ans')] }, { content: 'wer' }],
      'stop',
    ),
  ],
  ['plain', chatAnswer({ content: [thinking('hmm'), words('ans'), words('wer')] }, 'stop')],
  [
    'plain, thoughts as text',
    chatAnswer({ content: [{ type: 'thinking', thinking: 'hmm' }, words('answer')] }, 'stop'),
  ],
]
/** The thoughts and texts of an answer: `hmm|answer`. */
const textsOf = (client: FormatName, out: Body, events: readonly Body[]): string => {
  if (client === 'google-gemini') {
    const parts = (out ? [out] : events).flatMap(each => each.candidates?.[0]?.content?.parts ?? [])
    const join = (isThought: boolean): string =>
      parts
        .filter((part: Body) => (part.thought === true) === isThought)
        .map((part: Body) => part.text ?? '')
        .join('')
    return `${join(true)}|${join(false)}`
  }
  if (client === 'openai-responses')
    return outputOf(out, events)
      .map((item: Body) => (item.summary?.length ? item.summary : item.content)[0].text)
      .join('|')
  if (out) return out.content.map((block: Body) => block.thinking ?? block.text).join('|')
  const join = (member: string): string => events.map(event => event.delta?.[member] ?? '').join('')
  return `${join('thinking')}|${join('text')}`
}

const history = {
  messages: [
    { role: 'user', content: 'q' },
    assistant(thinking('hmm'), words('answer')),
    { role: 'user', content: 'go on' },
  ],
}

export const cases: readonly RequestCase[] = [
  ...(['resp', 'cl45', 'gx25'] as const).map(
    (model): RequestCase => ({
      name: `thoughts among the parts of a chat history: ${model}`,
      client: 'openai-chat',
      model,
      request: history,
      check: ({ upText }) => /answer/.test(upText) && !/hmm/.test(upText),
    }),
  ),
  ...CLIENTS.flatMap(client => [
    ...CALLS.map(
      ([name, answer]): RequestCase => ({
        name: `parallel calls, ${name}: ${client}`,
        client,
        model: 'plain-chat',
        stream: true,
        request: REQUESTS[client],
        answer,
        check: ({ out, events }) => isBoth(callsOf(client, out, events)),
      }),
    ),
    ...LISTS.map(
      ([name, answer]): RequestCase => ({
        name: `a list as content, ${name}: ${client}`,
        client,
        model: 'magistral',
        ...(Array.isArray(answer) && { stream: true }),
        request: REQUESTS[client],
        answer,
        check: ({ out, events }) => textsOf(client, out, events) === 'hmm|answer',
      }),
    ),
  ]),
]
