/** A token endpoint and an upstream for tests: the upstream accepts the tokens that were issued. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Test } from 'tap'
import type { Document, Plugin } from '../../../engine/plugin.ts'
import { startTextUpstream } from './chat-upstream.ts'
import { startHttpUpstream, startTestServer } from './test-server.ts'

interface TokenRequest {
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}
interface TokenAnswer {
  readonly status?: number
  readonly body: string
}
/** `answer`: the response to each request, by its number from 1. `refusedTokens`: Authorization
 *  headers that the upstream answers with 401. `lines`: those of the log. */
export const startWithTokens = async (
  t: Test,
  plugins: Readonly<Record<string, Plugin>>,
  authOf: (endpoint: string) => unknown,
  answer: (count: number) => TokenAnswer | Promise<TokenAnswer>,
) => {
  const tokenRequests: TokenRequest[] = []
  const credentials: (string | undefined)[] = []
  const lines: { readonly fields: object; readonly text: string | undefined }[] = []
  const endpoint = await startTextUpstream(t, async (text, response, incoming) => {
    const { url = '', headers } = incoming
    tokenRequests.push({ url, headers, body: text })
    const { status = 200, body } = await answer(tokenRequests.length)
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  })
  const refusedTokens = new Set<string>()
  const url = await startHttpUpstream(t, ({ headers }, response) => {
    const { authorization } = headers
    credentials.push(authorization)
    response.writeHead(refusedTokens.has(String(authorization)) ? 401 : 200).end('{}')
  })
  const write = (fields: object, text?: string) => void lines.push({ fields, text })
  const documentOf = (auth: unknown) =>
    ({
      upstreams: { up: { url, auth }, other: { url } },
      routes: [
        { path: 'POST /v1/{id}', upstream: 'up' },
        { path: 'POST /v2/{id}', upstream: ['up', 'other'] },
      ],
    }) as Document
  const core = await startTestServer(t, plugins, documentOf(authOf(endpoint)), {
    debug() {},
    info() {},
    warn: write,
    error: write,
  })
  const call = async (path = '/v1/x') => {
    const response = await fetch(core.url + path, { method: 'POST', body: '{}' })
    return { status: response.status, text: await response.text() }
  }
  const reload = (auth = authOf(endpoint)) => core.swap(plugins, documentOf(auth))
  return { call, reload, tokenRequests, credentials, refusedTokens, lines }
}
export const tokenBody = (value: string, seconds: number | undefined = 3_600): string =>
  JSON.stringify({ access_token: value, expires_in: seconds, token_type: 'Bearer' })
