/** The model's name in answers whose bytes pass: that of the request, in chunks of every size. */
import t from 'tap'
import type { Bytes, Filter } from '../../../../engine/plugin.ts'
import { formats } from '../../../../plugins/formats/index.ts'
import {
  PlainMemberFilter,
  StreamMemberFilter,
} from '../../../../plugins/formats/stream/answer-member.ts'

const factsOf = (name: string) => {
  const facts = formats.get(name)?.answerModel
  if (!facts) throw new Error(`${name} names no model`)
  return facts
}
const run = (filter: Filter, chunks: readonly string[]): string => {
  const parts: Bytes[] = []
  const out = {
    write: (bytes: Bytes) => void parts.push(Buffer.from(bytes)),
    end: (bytes?: Bytes) => void (bytes && parts.push(Buffer.from(bytes))),
    fail() {},
  }
  for (const chunk of chunks.slice(0, -1)) filter.write?.(Buffer.from(chunk), out)
  filter.end?.(Buffer.from(chunks.at(-1) ?? ''), out)
  return Buffer.concat(parts).toString()
}
const piecesOf = (text: string, size: number): string[] =>
  text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
const NAME = 'gp-4.1'
/** Of the customer or of a tool: it stays. */
const OTHERS = { tools: [{ model: 'gpt-image-1' }], text: '"model":"x" {"model":"gpt-4.1"}' }
const LONG = 'lorem '.repeat(400)

const PLAIN: Readonly<Record<string, (model: string) => string>> = {
  'openai-chat': model => JSON.stringify({ id: 'c', ...OTHERS, model, choices: [LONG] }),
  'openai-responses': model =>
    JSON.stringify({ ...OTHERS, output: [LONG], model, last: { model: 'y' } }, null, 2),
  'anthropic-messages': model => JSON.stringify({ model, content: [{ model: 'x' }, LONG] }),
  'google-gemini': model => JSON.stringify({ candidates: [OTHERS, LONG], modelVersion: model }),
}
for (const [format, answerOf] of Object.entries(PLAIN))
  t.test(`answer model: plain answers of ${format}, in chunks of every size`, t => {
    for (const size of [1, 2, 3, 7, 64, 513, 1_000_000]) {
      const filter = new PlainMemberFilter(factsOf(format), NAME)
      t.equal(
        run(filter, piecesOf(answerOf('gpt-4.1-2025-04-14'), size)),
        answerOf(NAME),
        `${size}`,
      )
    }
    const filter = new PlainMemberFilter(factsOf(format), NAME)
    t.equal(run(filter, ['{"error":', '{"model":"x"}}']), '{"error":{"model":"x"}}')
    t.end()
  })

const event = (data: object, name?: string): string =>
  `${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(data)}\n\n`
const STREAMS: Readonly<Record<string, (model: string) => readonly string[]>> = {
  'openai-chat': model => [
    event({ id: 'c', model, choices: [] }),
    event({ id: 'c', model, choices: [OTHERS] }) + event({ choices: [], model, usage: {} }),
    'data: [DONE]\n\n',
  ],
  'openai-responses': model => [
    event({ type: 'response.created', response: { ...OTHERS, model } }, 'response.created'),
    event({ type: 'response.output_text.delta', delta: '"model":"gpt-4.1"' }),
    event({ type: 'response.completed', response: { output: [{ model: 'x' }], model } }),
  ],
  'anthropic-messages': model => [
    event({ type: 'message_start', message: { id: 'm', model, content: [] } }, 'message_start'),
    event({ type: 'content_block_delta', delta: { model: 'x' } }),
    event({ type: 'message_stop' }),
  ],
  'google-gemini': model => [
    event({ candidates: [OTHERS], modelVersion: model }),
    event({ candidates: [], modelVersion: model }),
  ],
}
for (const [format, eventsOf] of Object.entries(STREAMS))
  t.test(`answer model: streams of ${format}`, t => {
    const filter = new StreamMemberFilter(factsOf(format), NAME)
    t.equal(run(filter, eventsOf('gpt-4.1-2025-04-14')), eventsOf(NAME).join(''))
    const whole = new StreamMemberFilter(factsOf(format), NAME)
    t.equal(run(whole, [eventsOf('gpt-4.1').join('')]), eventsOf(NAME).join(''))
    const changing = [...eventsOf('a'), ...eventsOf('b')]
    const expected = eventsOf(NAME).join('').repeat(2)
    t.equal(run(new StreamMemberFilter(factsOf(format), NAME), changing), expected)
    t.end()
  })

t.test('answer model: a value longer than any name passes', t => {
  const answer = JSON.stringify({ model: 'x'.repeat(2_000), id: 'c' })
  const filter = new PlainMemberFilter(factsOf('openai-chat'), NAME)
  t.equal(run(filter, piecesOf(answer, 100)), answer)
  t.end()
})
