/** What judges answers by the SDKs' types bites: it takes what a provider says, and names what no client expects. */
import t from 'tap'
import { chunkOf, completion } from '../../fixtures/upstream/cases/case.ts'
import { judgeOf } from '../../helpers/answered.ts'

const chat = judgeOf('openai-chat')
const messages = judgeOf('anthropic-messages')
const responses = judgeOf('openai-responses')
const gemini = judgeOf('google-gemini')

t.test('what fits', async t => {
  t.equal(chat.complaint('answer', completion({ content: 'Hello.' })), undefined)
  t.equal(chat.complaint('event', chunkOf({ content: 'Hel' })), undefined)
  t.equal(messages.complaint('event', { type: 'content_block_stop', index: 0 }), undefined)
  const text = { candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] } }] }
  t.equal(gemini.complaint('event', text), undefined)
  t.equal(chat.met.size, 0)
})
t.test('what is beside the types passes by name only', async t => {
  t.equal(chat.complaint('event', chunkOf({ reasoning_content: 'Hm' })), undefined)
  t.same([...chat.met], ['openai-chat reasoning_content'])
  t.match(chat.complaint('event', chunkOf({ thoughts: 'Hm' })), /thoughts/)
})
t.test('what does not fit is named with its place', async t => {
  const { id: _, ...nameless } = completion({ content: '' }) as { id: string }
  t.match(chat.complaint('answer', nameless), /required property 'id'/)
  t.match(chat.complaint('answer', completion({ content: 7 })), /^\/choices\/0\/message\/content/)
  const stopped = completion({ content: '' }, {}, { finish_reason: 'error' })
  t.match(chat.complaint('answer', stopped), /^\/choices\/0\/finish_reason .*"error"$/)
  t.match(messages.complaint('event', { type: 'content_block_pause', index: 0 }), /^\/type/)
  t.match(messages.complaint('event', { type: 'content_block_stop' }), /'index'/)
  const delta = { type: 'text_delta', text: 1 }
  const grown = { type: 'content_block_delta', index: 0, delta }
  t.match(messages.complaint('event', grown), /^\/delta\/text must be string/)
  t.match(responses.complaint('event', { type: 'response.nothing' }), /^\/type/)
  t.match(gemini.complaint('answer', { candidates: [{ finishReason: 'DONE' }] }), /finishReason/)
})
