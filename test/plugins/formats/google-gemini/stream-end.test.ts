/** A stream of generateContent ends where its connection ends: content, an error or a cut may come
 *  after a finish reason. */
import t from 'tap'
import { errors } from '../../../../engine/errors.ts'
import type { Json } from '../../../../engine/plugin.ts'
import { SSE, translateAttempt } from '../../../helpers/formats/translation.ts'

const fault = errors({ TARGET_CUT: [502, 'The upstream broke off.'] })
const [GEMINI, CHAT] = ['google-gemini', 'openai-chat']
const event = (body: Json): string => `data: ${JSON.stringify(body)}\n\n`
const answer = (text: string, reason?: string): string =>
  event({
    candidates: [
      {
        content: { role: 'model', parts: [{ text }] },
        index: 0,
        ...(reason && { finishReason: reason }),
      },
    ],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
  })
const ERROR = event({ error: { code: 503, message: 'overloaded', status: 'UNAVAILABLE' } })

/** The stream that the client gets, and the fault in its place. */
const translateStream = async (chunks: readonly string[], isCut = false, tools: Json = []) => {
  const { output, fault: refusal } = await translateAttempt({
    client: CHAT,
    target: GEMINI,
    body: { model: 'asked', stream: true, messages: [{ role: 'user', content: 'hi' }], tools },
    upstreamReply: { headers: SSE, chunks, ...(isCut && { dies: fault('TARGET_CUT') }) },
  })
  return { text: output?.text ?? '', code: (refusal ?? output?.fault)?.code }
}
const contentOf = (stream: string): string =>
  [...stream.matchAll(/"content":"([^"]*)"/g)].map(([, text]) => text).join('')

t.test('stream end: text after a finish reason arrives, and the last reason counts', async t => {
  const chunks = [answer('Hel', 'STOP'), answer('lo.'), answer('', 'MAX_TOKENS')]
  const { text } = await translateStream(chunks)
  t.equal(contentOf(text), 'Hello.')
  t.same(text.match(/"finish_reason":"\w+"/g), ['"finish_reason":"length"'])
  t.match(text, /data: \[DONE\]\n\n$/)
})
t.test('stream end: an error after a finish reason is seen', async t => {
  const { text, code } = await translateStream([answer('Hello.', 'STOP'), ERROR])
  t.equal(code, 'UPSTREAM_REFUSED')
  t.equal(text, '')
})
t.test('stream end: a cut after a finish reason is seen', async t => {
  const { text } = await translateStream([answer('Hello.', 'STOP')], true)
  t.match(text, /broke off/)
  t.notMatch(text, '[DONE]')
})
t.test('stream end: a cut after a finish reason is seen with renamed tools', async t => {
  const tool = { type: 'function', function: { name: 'a b', parameters: { type: 'object' } } }
  const { text } = await translateStream([answer('Hello.', 'STOP')], true, [tool])
  t.match(text, /broke off/)
  t.notMatch(text, '[DONE]')
})
t.test('stream end: a stream without a finish reason is incomplete', async t => {
  t.notMatch((await translateStream([answer('Hello.')])).text, '[DONE]')
})
