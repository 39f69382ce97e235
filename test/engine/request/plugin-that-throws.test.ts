/** A plugin with a bug: 500 with the request id for the client, the reason in the log. */
import t from 'tap'
import type { Stage } from '../../../engine/plugin.ts'
import { plugin, startCore, startUpstream } from '../../helpers/core.ts'

const ask = async (url: string) => {
  const reply = await fetch(`${url}/plain`, { method: 'POST', body: '{}' })
  return { status: reply.status, headers: reply.headers, text: await reply.text() }
}

t.test('plugin fault: 500 with the request id, and the reason in the log', async t => {
  const lines: { fields: object; text: string | undefined }[] = []
  const log = {
    debug() {},
    info() {},
    warn() {},
    error: (fields: object, text?: string) => void lines.push({ fields, text }),
  }
  const forgetful: Stage = {
    async handle(_, next) {
      void next()
    },
  }
  const thrower: Stage = {
    async handle() {
      throw new Error('a bug of a plugin')
    },
  }
  const upstream = await startUpstream(t, (incoming, response) => {
    incoming.resume()
    response.end('{}')
  })
  const routes = (url: string) => ({
    upstreams: { a: { url } },
    routes: [{ path: 'POST /plain', upstream: 'a' }],
  })
  const core = await startCore(t, { forgetful: plugin(forgetful) }, routes(upstream), log)
  const missingNext = await ask(core.url)
  t.equal(missingNext.status, 500)
  t.match(lines[0]?.text, /await next\(\)/)
  await core.swap({ thrower: plugin(thrower) }, routes(upstream))
  const bugReply = await ask(core.url)
  t.equal(bugReply.status, 500)
  t.notMatch(bugReply.text, /a bug of a plugin/, 'the client does not get the message')
  t.match(bugReply.text, bugReply.headers.get('x-request-id') ?? 'none')
  t.match(
    (lines[1]?.fields as { stack?: string } | undefined)?.stack,
    /a bug of a plugin\n\s+at .*plugin-that-throws\.test\.ts/,
  )
})
