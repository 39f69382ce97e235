/** Requests that ask for a stream: in the body, or in the path of Google's format. */
import t from 'tap'
import { asksForStream, asksForStreamByPath } from '../../../plugins/formats/stream-request.ts'

const CHAT = '/v1/chat/completions'
const GEMINI = '/v1beta/models/m:streamGenerateContent'

t.test('stream request: the member `stream` of a JSON body asks for a stream', async t => {
  t.equal(asksForStream({ outlined: { stream: true }, path: CHAT }), true)
  for (const outlined of [{ stream: false }, { stream: 'true' }, {}, [], null, undefined])
    t.equal(asksForStream({ outlined, path: CHAT }), false)
})

t.test('stream request: the path of the Gemini format asks for a stream', async t => {
  t.equal(asksForStream({ outlined: {}, path: `${GEMINI}?alt=sse` }), true)
  t.equal(asksForStreamByPath(GEMINI), true)
  t.equal(asksForStreamByPath('/v1beta/models/m:generateContent'), false)
  t.equal(asksForStreamByPath(CHAT), false)
})
