/** The answer checker built on the SDKs' types: accepts what providers send and reports what a
 *  client does not expect. */
import t from 'tap'
import { chunkOf, completion } from '../../fixtures/upstream/cases/case.ts'
import { judgeOf } from '../../helpers/answered.ts'

const chat = judgeOf('openai-chat')
const messages = judgeOf('anthropic-messages')
const responses = judgeOf('openai-responses')
const gemini = judgeOf('google-gemini')

t.test('answer checker: accepts answers that match the SDK types', async t => {
  t.equal(chat.complaint('answer', completion({ content: 'Hello.' })), undefined)
  t.equal(chat.complaint('event', chunkOf({ content: 'Hel' })), undefined)
  t.equal(messages.complaint('event', { type: 'content_block_stop', index: 0 }), undefined)
  const text = { candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] } }] }
  t.equal(gemini.complaint('event', text), undefined)
  t.equal(chat.met.size, 0)
})
t.test('answer checker: accepts members outside the types only if they are listed', async t => {
  t.equal(chat.complaint('event', chunkOf({ reasoning_content: 'Hm' })), undefined)
  t.same([...chat.met], ['openai-chat reasoning_content'])
  t.match(chat.complaint('event', chunkOf({ thoughts: 'Hm' })), /thoughts/)
})
t.test('answer checker: reports a mismatch with its path', async t => {
  const { id: _, ...nameless } = completion({ content: '' }) as { id: string }
  t.match(chat.complaint('answer', nameless), /required property 'id'/)
  t.match(chat.complaint('answer', completion({ content: 7 })), /^\/choices\/0\/message\/content/)
  const answerWithError = completion({ content: '' }, {}, { finish_reason: 'error' })
  t.match(chat.complaint('answer', answerWithError), /^\/choices\/0\/finish_reason .*"error"$/)
  t.match(messages.complaint('event', { type: 'content_block_pause', index: 0 }), /^\/type/)
  t.match(messages.complaint('event', { type: 'content_block_stop' }), /'index'/)
  const delta = { type: 'text_delta', text: 1 }
  const deltaEvent = { type: 'content_block_delta', index: 0, delta }
  t.match(messages.complaint('event', deltaEvent), /^\/delta\/text must be string/)
  t.match(responses.complaint('event', { type: 'response.nothing' }), /^\/type/)
  t.match(gemini.complaint('answer', { candidates: [{ finishReason: 'DONE' }] }), /finishReason/)
})
