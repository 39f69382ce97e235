/** Thoughts and signatures of tool calls, remembered for clients that do not send them back. */
import t from 'tap'
import { partsOf } from '../../../plugins/formats/hub/answer-parts.ts'
import type { Content } from '../../../plugins/formats/hub/content.ts'
import { ThoughtCache } from '../../../plugins/translate/thought-cache.ts'
import { PROMPT } from '../../helpers/formats/codec.ts'

const payload = { origin: 'google-gemini', data: 'c2ln' }
const call: Content = { type: 'call', id: 'a', name: 'f', input: '{}' }
const record = (cache: ThoughtCache, content: readonly Content[], accountId = '1') => {
  const recorder = cache.createRecorder(accountId)
  for (const part of partsOf({ choices: [{ content, stop: { reason: 'call' } }] }))
    recorder.add(part)
}
const restore = (cache: ThoughtCache, content: readonly Content[], accountId = '1') =>
  cache.restore({ ...PROMPT, turns: [{ role: 'assistant', content }] }, accountId).turns[0]?.content

t.test('thought cache: restores the signature of a call and the thoughts before it', t => {
  const cache = new ThoughtCache()
  const thought: Content = {
    type: 'thought',
    text: 'hm',
    payload: { origin: 'anthropic-messages', data: 's' },
  }
  record(cache, [thought, { ...call, payload }])
  t.same(restore(cache, [{ type: 'text', text: 'x' }, call]), [
    { type: 'text', text: 'x' },
    thought,
    { ...call, payload },
  ])
  t.end()
})
t.test('thought cache: replaces thought text from the client by the thoughts with payloads', t => {
  const cache = new ThoughtCache()
  const thought: Content = { type: 'thought', text: 'hm', payload }
  record(cache, [thought, call])
  t.same(restore(cache, [{ type: 'thought', text: 'hm' }, call]), [thought, call])
  t.end()
})
t.test('thought cache: leaves calls alone that have payloads or never had any', t => {
  const cache = new ThoughtCache()
  record(cache, [{ ...call, payload }])
  const own = [{ ...call, payload: { origin: 'x', data: 'y' } }]
  t.same(restore(cache, own), own)
  t.same(restore(cache, [{ ...call, id: 'b' }]), [{ ...call, id: 'b' }])
  t.end()
})
t.test('thought cache: separates accounts', t => {
  const cache = new ThoughtCache()
  record(cache, [{ ...call, payload }], '1')
  t.same(restore(cache, [call], '2'), [call])
  t.end()
})
t.test('thought cache: evicts the oldest entries above its size limit', t => {
  const cache = new ThoughtCache()
  const large = 'x'.repeat(1024 * 1024)
  for (let index = 0; index < 40; index++)
    record(cache, [{ ...call, id: `c${index}`, payload: { origin: 'x', data: large } } as Content])
  t.same(restore(cache, [{ ...call, id: 'c0' }]), [{ ...call, id: 'c0' }])
  t.match(restore(cache, [{ ...call, id: 'c39' }]), [{ payload: { origin: 'x' } }])
  t.end()
})
