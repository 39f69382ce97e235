/** Thoughts and signatures of calls, remembered for clients that do not give them back. */
import t from 'tap'
import { partsOf } from '../../../plugins/formats/collect.ts'
import type { Content } from '../../../plugins/formats/content.ts'
import { Memory } from '../../../plugins/translate/memory.ts'
import { PROMPT } from '../../helpers/codec.ts'

const payload = { origin: 'google-gemini', data: 'c2ln' }
const call: Content = { type: 'call', id: 'a', name: 'f', input: '{}' }
const told = (memory: Memory, content: readonly Content[], owner = '1') => {
  const listener = memory.listen(owner)
  for (const part of partsOf({ choices: [{ content, stop: { reason: 'call' } }] }))
    listener.hear(part)
}
const back = (memory: Memory, content: readonly Content[], owner = '1') =>
  memory.restore({ ...PROMPT, turns: [{ role: 'assistant', content }] }, owner).turns[0]?.content

t.test('a call gets its signature back, and the thoughts before it', t => {
  const memory = new Memory()
  const thought: Content = {
    type: 'thought',
    text: 'hm',
    payload: { origin: 'anthropic-messages', data: 's' },
  }
  told(memory, [thought, { ...call, payload }])
  t.same(back(memory, [{ type: 'text', text: 'x' }, call]), [
    { type: 'text', text: 'x' },
    thought,
    { ...call, payload },
  ])
  t.end()
})
t.test('words a client shows again as thoughts give way to what was sealed', t => {
  const memory = new Memory()
  const thought: Content = { type: 'thought', text: 'hm', payload }
  told(memory, [thought, call])
  t.same(back(memory, [{ type: 'thought', text: 'hm' }, call]), [thought, call])
  t.end()
})
t.test('what comes back sealed, or was never sealed, is left alone', t => {
  const memory = new Memory()
  told(memory, [{ ...call, payload }])
  const own = [{ ...call, payload: { origin: 'x', data: 'y' } }]
  t.same(back(memory, own), own)
  t.same(back(memory, [{ ...call, id: 'b' }]), [{ ...call, id: 'b' }])
  t.end()
})
t.test('nobody meets the thoughts of another account', t => {
  const memory = new Memory()
  told(memory, [{ ...call, payload }], '1')
  t.same(back(memory, [call], '2'), [call])
  t.end()
})
t.test('it is bounded: the oldest are forgotten', t => {
  const memory = new Memory()
  const large = 'x'.repeat(1024 * 1024)
  for (let index = 0; index < 40; index++)
    told(memory, [{ ...call, id: `c${index}`, payload: { origin: 'x', data: large } } as Content])
  t.same(back(memory, [{ ...call, id: 'c0' }]), [{ ...call, id: 'c0' }])
  t.match(back(memory, [{ ...call, id: 'c39' }]), [{ payload: { origin: 'x' } }])
  t.end()
})
