/** Requests that a provider once refused, or that lost something on the way: what reaches the
 *  upstream and what the client gets, by kind (requests/). */
import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import t from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { postTo } from '../../helpers/gateway/post.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'
import { judgeByPath } from '../../oracles/index.ts'
import type { Outcome, RequestCase } from './requests/request-case.ts'
import { type FormatName, type Received, serve } from './requests/upstreams.ts'

const SCHEMAS = `${process.cwd()}/schemas`
const FOLDER = new URL('./requests/', import.meta.url)
let answer: object | undefined
let received: Received | undefined
let receivedPath = ''
const upstream = await startHttpUpstream(t, async (request, response) => {
  receivedPath = request.url ?? ''
  received = await serve(request, response, answer)
})
const gateway = await startGateway({
  inside: true,
  routes: `
pipeline: [errors, validate, model, translate, adapt]
${readFileSync('program/config/presets.yaml', 'utf8')}
${readFileSync(new URL('models.yaml', FOLDER), 'utf8').replaceAll('UPSTREAM', upstream)}
routes:
  - { path: POST /v1/chat/completions, validate: ${SCHEMAS}/chat-completions.json, model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/responses, validate: ${SCHEMAS}/responses.json, model: body, translate: openai-responses, errors: openai }
  - { path: POST /v1/messages, validate: ${SCHEMAS}/messages.json, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: 'POST /v1/models/{model}:generateContent', validate: ${SCHEMAS}/generate-content.json, model: { path: model }, translate: google-gemini, errors: google }
  - { path: 'POST /v1/models/{model}:streamGenerateContent', validate: ${SCHEMAS}/generate-content.json, model: { path: model }, translate: google-gemini, errors: google }
`,
})
t.teardown(() => gateway.stop())

const PATHS: Readonly<Record<FormatName, (model: string, stream: boolean) => string>> = {
  'openai-chat': () => '/v1/chat/completions',
  'openai-responses': () => '/v1/responses',
  'anthropic-messages': () => '/v1/messages',
  'google-gemini': (model, stream) =>
    `/v1/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
}
const ask = async (one: RequestCase): Promise<Outcome> => {
  const { client, model, stream = false, headers, request } = one
  answer = one.answer
  received = undefined
  const hasModel = client !== 'google-gemini'
  const response = await postTo(
    gateway.url + PATHS[client](model, stream),
    { ...(hasModel && { model, ...(stream && { stream }) }), ...request },
    headers,
  )
  const text = await response.text()
  const isEvents = response.headers.get('content-type')?.startsWith('text/event-stream')
  const { body = '', headers: upHeaders = {} } = (received as Received | undefined) ?? {}
  return {
    up: body === '' ? undefined : JSON.parse(body),
    upText: body,
    upHeaders,
    status: response.status,
    out: isEvents ? undefined : JSON.parse(text),
    events: isEvents ? eventsIn(text) : [],
    dropped: response.headers.get('x-tollgate-dropped') ?? '',
  }
}
const eventsIn = (text: string): unknown[] =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']) => JSON.parse(json))
/** The refusals of the upstream's provider; in the same format, the client is responsible for
 *  its own request. */
const refusalsOf = ({ client, model, request }: RequestCase, { up, upHeaders }: Outcome) => {
  if (up === undefined) return []
  const findings = judgeByPath(receivedPath, up, upHeaders)
  const named = { model: up.model ?? model, ...request }
  const own = judgeByPath(PATHS[client](model, false), named, upHeaders)
  return findings.filter(({ rule }) => !own.some(each => each.rule === rule))
}
const holds = (one: RequestCase, outcome: Outcome): boolean => {
  try {
    return one.check(outcome)
  } catch {
    return false
  }
}

for (const path of globSync('*.ts', { cwd: FOLDER }).sort()) {
  const { cases } = (await import(new URL(path, FOLDER).href)) as { cases?: RequestCase[] }
  if (cases)
    t.test(`requests: ${basename(path, '.ts')}`, async t => {
      t.equal(new Set(cases.map(({ name }) => name)).size, cases.length, 'names are unique')
      for (const one of cases) {
        const outcome = await ask(one)
        t.ok(holds(one, outcome), one.name, { outcome })
        t.same(refusalsOf(one, outcome), [], `no provider refuses: ${one.name}`)
      }
    })
}
