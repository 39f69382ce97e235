/** Recorded chat completions, decoded to the hub and encoded again, lose nothing that both sides
 *  can carry. */
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import {
  assembleParts,
  codecOf,
  contextWith,
  decodeParts,
  decodePrompt,
  encodePrompt,
  encodeStream,
} from '../../../helpers/codec.ts'
import { type Recording, recordings } from '../../../helpers/recorded.ts'

const NAME = 'openai-chat'
const codec = codecOf(NAME)
const recorded = (recordings() ?? []).filter(({ format }) => format === 'chat')
const skip = recorded.length === 0 && 'RECORDINGS is not set'

interface Message {
  readonly content?: string | null
  readonly reasoning_content?: string
  readonly tool_calls?: readonly { readonly id: string; readonly function: Json }[]
}
interface Chat {
  readonly choices: readonly { readonly message: Message; readonly finish_reason: string }[]
  readonly usage?: { readonly total_tokens: number; readonly prompt_tokens: number }
}

const ok = ({ status }: Recording): boolean => status === 200
const wholeAnswers = () => recorded.filter(each => ok(each) && !each.stream)
const streams = () => recorded.filter(each => ok(each) && each.stream)
const callsIn = (message: Message | undefined) =>
  (message?.tool_calls ?? []).map(({ id, function: input }) => ({ id, given: input }))
const contents = ({ choices }: ReturnType<typeof assembleParts>) =>
  JSON.parse(JSON.stringify(choices))
const textOf = ({ choices }: ReturnType<typeof assembleParts>): string =>
  choices
    .flatMap(({ content }) => content.map(each => (each.type === 'text' ? each.text : '')))
    .join('')
/** All `delta.content` of a stream joined, without the gateway's codec. */
const textIn = (stream: string): string =>
  stream
    .split('\n')
    .filter(line => line.startsWith('data: {'))
    .flatMap(line => (JSON.parse(line.slice(6)) as Fields).choices as never as readonly Fields[])
    .map(choice => (choice.delta as Fields | undefined)?.content ?? '')
    .join('')

t.test('chat codec: keeps recorded requests', { skip }, t => {
  // `stream: false` and missing content are equivalent to nothing; unknown fields are reported as
  // dropped.
  for (const { id, request } of recorded) {
    if (!request) continue
    const { prompt, dropped } = decodePrompt(NAME, request as Json)
    const { body } = encodePrompt(NAME, prompt, { name: String(request.model) })
    const remaining = { ...request } as Record<string, unknown>
    if (remaining.stream === false) delete remaining.stream
    for (const field of dropped) delete remaining[field]
    const messages = (remaining.messages as readonly Message[]).map(each => ({
      content: null,
      ...each,
    }))
    t.same(body, { ...remaining, messages }, id)
  }
  t.end()
})

t.test('chat codec: keeps recorded answers', { skip }, t => {
  for (const { id, response_body: text } of wholeAnswers()) {
    const input = JSON.parse(text) as Chat
    const again = codec.encodeAnswer(
      codec.decodeAnswer(input as never),
      contextWith(),
    ) as never as Chat
    t.equal(again.choices.length, input.choices.length, id)
    input.choices.forEach(({ message, finish_reason: reason }, index) => {
      const choice = again.choices[index]
      t.equal(choice?.message.content ?? '', message.content ?? '', `${id} text`)
      t.same(callsIn(choice?.message), callsIn(message), `${id} calls`)
      t.equal(choice?.message.reasoning_content, message.reasoning_content, `${id} thoughts`)
      t.equal(choice?.finish_reason, reason, `${id} reason`)
    })
    t.equal(again.usage?.total_tokens, input.usage?.total_tokens, `${id} counts`)
  }
  t.end()
})

t.test('chat codec: keeps recorded streams', { skip }, t => {
  for (const { id, response_body: text } of streams()) {
    const { parts, hasEnded } = decodeParts(NAME, text)
    t.ok(hasEnded, `${id} ends`)
    const again = decodeParts(NAME, encodeStream(NAME, parts))
    t.ok(
      isDeepStrictEqual(contents(assembleParts(again.parts)), contents(assembleParts(parts))),
      id,
    )
    t.same(assembleParts(again.parts).meters, assembleParts(parts).meters, `${id} counts`)
    t.equal(textOf(assembleParts(parts)), textIn(text), `${id} text, read directly`)
  }
  t.end()
})
