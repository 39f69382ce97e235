/** Invalid chat requests: each is rejected by the name of the invalid field. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import { decodePrompt, encodePrompt } from '../../../helpers/formats/codec.ts'
import { errorFrom } from '../../../helpers/gateway/fake-exchange.ts'
import fc from '../../../helpers/property.ts'
import { shortOrLong } from '../../../helpers/run-settings.ts'

const NAME = 'openai-chat'
const requestWith = (content: Json) => ({ model: 'm', messages: [{ role: 'user', content }] })

t.test('chat decoder: names the invalid field', async t => {
  const cases: readonly [Json, string][] = [
    [{}, 'messages'],
    [{ messages: 'hi' }, 'messages'],
    [{ messages: ['hi'] }, 'messages[0]'],
    [{ messages: [{ role: 'boss', content: '' }] }, 'messages[0].role'],
    [requestWith([{ type: 'smell' }]), 'messages[0].content[0].type'],
    [requestWith([{ type: 'text' }]), 'messages[0].content[0].text'],
    [requestWith([{ type: 'image_url' }]), 'messages[0].content[0].image_url.url'],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].tool_call_id'],
    [{ messages: [], tools: [{ type: 'function' }] }, 'tools[0].function'],
    [{ messages: [], tools: [{ type: 'gun' }] }, 'tools[0].type'],
    [{ messages: [], tool_choice: 7 }, 'tool_choice'],
    [{ messages: [], temperature: 'hot' }, 'temperature'],
    [{ messages: [], stop: [{ toString: 0 }] }, 'stop'],
  ]
  for (const [body, param] of cases) {
    const fault = await errorFrom(async () => decodePrompt(NAME, body))
    t.match(fault, { status: 400, param }, param)
  }
})

t.test('chat decoder: accepts or rejects any body, and never throws anything else', t => {
  const body = fc.dictionary(
    fc.constantFrom(
      'messages',
      'tools',
      'tool_choice',
      'response_format',
      'stop',
      'stream_options',
    ),
    fc.jsonValue({ maxDepth: 4 }),
  )
  fc.assert(
    fc.property(body, fc.jsonValue(), (members, content) => {
      try {
        encodePrompt(
          NAME,
          decodePrompt(NAME, { ...requestWith(content as Json), ...(members as object) } as Json)
            .prompt,
        )
      } catch (error) {
        return (error as { status?: number }).status === 400
      }
      return true
    }),
    { numRuns: shortOrLong(70, 10_000) },
  )
  t.end()
})
