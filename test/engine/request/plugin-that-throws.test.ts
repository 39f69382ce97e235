/** A stage with a bug: the client gets 500 with the request id, the log gets the reason. */
import t from 'tap'
import type { Stage } from '../../../engine/plugin.ts'
import { pluginOf, startHttpUpstream, startTestServer } from '../../helpers/gateway/test-server.ts'

const sendRequest = async (url: string) => {
  const response = await fetch(`${url}/plain`, { method: 'POST', body: '{}' })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

t.test(
  'plugin bug: the client gets 500 with the request id, and the log gets the reason',
  async t => {
    const errorLines: { fields: object; text: string | undefined }[] = []
    const log = {
      debug() {},
      info() {},
      warn() {},
      error: (fields: object, text?: string) => void errorLines.push({ fields, text }),
    }
    const missingAwait: Stage = {
      async handle(_, next) {
        void next()
      },
    }
    const throwing: Stage = {
      async handle() {
        throw new Error('a bug of a plugin')
      },
    }
    const upstream = await startHttpUpstream(t, (incoming, response) => {
      incoming.resume()
      response.end('{}')
    })
    const documentFor = (url: string) => ({
      upstreams: { a: { url } },
      routes: [{ path: 'POST /plain', upstream: 'a' }],
    })
    const gateway = await startTestServer(
      t,
      { missingAwait: pluginOf(missingAwait) },
      documentFor(upstream),
      log,
    )
    const missingAwaitResponse = await sendRequest(gateway.url)
    t.equal(missingAwaitResponse.status, 500)
    t.match(errorLines[0]?.text, /await next\(\)/)
    await gateway.swap({ throwing: pluginOf(throwing) }, documentFor(upstream))
    const throwingResponse = await sendRequest(gateway.url)
    t.equal(throwingResponse.status, 500)
    t.notMatch(
      throwingResponse.text,
      /a bug of a plugin/,
      'the client does not get the error message',
    )
    t.match(throwingResponse.text, throwingResponse.headers.get('x-request-id') ?? 'none')
    t.match(
      (errorLines[1]?.fields as { stack?: string } | undefined)?.stack,
      /a bug of a plugin\n\s+at .*plugin-that-throws\.test\.ts/,
    )
  },
)
