/** Starts the gateway for stored responses: upstreams of two formats, two accounts, and the
 *  official client of each. */
import { fileURLToPath } from 'node:url'
import OpenAI, { APIError } from 'openai'
import type { Test } from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addKey, createAccount } from '../../../plugins/credentials/statements.ts'
import { addCredit, openWallet } from '../../../plugins/ledger/statements.ts'
import { walletOf } from '../../../plugins/ledger/wallet.ts'
import { plainAnswers } from '../formats/plain-answers.ts'
import { startGateway } from './gateway.ts'
import { startUpstream } from './upstream.ts'

const schema = (name: string): string =>
  fileURLToPath(new URL(`../../../schemas/${name}.json`, import.meta.url))

/** `settings`: further lines under `settings:`. */
export const startStored = async (t: Test, settings = '') => {
  const upstream = await startUpstream()
  const gateway = await startGateway({
    settings: `responses: { largest: 256KiB }\n${settings}`,
    routes: `
pipeline: [errors, auth, validate, model, limit, idempotency, responses, meter, translate, count]
upstreams:
  gp: { url: '${upstream.url}/s/gp', formats: [openai-responses] }
  gi: { url: '${upstream.url}/s/gi', formats: [google-interactions] }
  nc: { url: '${upstream.url}/s/nc', formats: [openai-responses, openai-compaction] }
  cl: { url: '${upstream.url}/s/cl', formats: [anthropic-messages], headers: { pass: [anthropic-beta] } }
  chat: { url: '${upstream.url}/s/chat', formats: [openai-chat] }
models:
  nc: { to: nc/gpt, output: 100, price: { input: 1 / 1k, output: 1 / 1k } }
  gp: { to: gp/gpt, output: 100, price: { input: 1 / 1k, output: 1 / 1k } }
  gi: { to: gi/gemini, output: 100, price: { input: 1 / 1k, output: 1 / 1k } }
  cl: { to: cl/claude, output: 100, price: { input: 1 / 1k, output: 1 / 1k } }
  tiered: { to: cl/claude, output: 100, price: { input: { by: service_tier, per: 1k, price: { default: 1, priority: 2 } }, output: 1 / 1k } }
  native: { to: cl/claude, output: 100, traits: { threads: true }, price: { input: 1 / 1k, output: 1 / 1k } }
  chat: { to: chat/gpt, output: 100, price: { input: 1 / 1k, output: 1 / 1k } }
routes:
  - { path: POST /v1/messages, model: body, validate: '${schema('messages')}', responses: threads, translate: anthropic-messages, errors: anthropic }
  - { path: 'DELETE /v1/messages/{id}', responses: delete-message, errors: anthropic }
  - { path: POST /v1/responses, model: body, responses: create, translate: openai-responses }
  - { path: POST /v1/responses/input_tokens, model: body, validate: '${schema('responses')}', responses: expand, meter: { free: true }, count: openai-responses, errors: openai }
  - { path: POST /v1/responses/compact, model: body, validate: '${schema('responses')}', idempotency: true, responses: expand, translate: openai-compaction, errors: openai }
  - { path: POST /v1/interactions, auth: [query-key, key], model: { resource: model }, validate: '${schema('interactions')}', responses: interactions, translate: google-interactions, errors: google }
  - { path: 'GET /v1/interactions/{id}', auth: [query-key, key], responses: show-interaction, errors: google }
  - { path: 'DELETE /v1/interactions/{id}', auth: [query-key, key], responses: delete-interaction, errors: google }
  - { path: 'POST /v1/interactions/{id}/cancel', auth: [query-key, key], responses: cancel-interaction, errors: google }
  - { path: 'GET /v1/responses/{id}', responses: show }
  - { path: 'DELETE /v1/responses/{id}', responses: delete }
  - { path: 'POST /v1/responses/{id}/cancel', responses: cancel }
  - { path: 'GET /v1/responses/{id}/input_items', responses: input }
  - { path: POST /v1/conversations, responses: create-conversation }
  - { path: 'GET /v1/conversations/{id}', responses: show-conversation }
  - { path: 'DELETE /v1/conversations/{id}', responses: delete-conversation }
  - { path: 'POST /v1/conversations/{id}', responses: update-conversation }
  - { path: 'GET /v1/conversations/{id}/items', responses: conversation-items }
  - { path: 'POST /v1/conversations/{id}/items', validate: '${schema('conversation-items')}', responses: create-items }
  - { path: 'GET /v1/conversations/{id}/items/{item}', responses: show-item }
  - { path: 'DELETE /v1/conversations/{id}/items/{item}', responses: delete-item }
`,
  })
  const database = await openDatabase({ url: 'sqlite:', data: gateway.data, writeTimeout: 60_000 })
  t.teardown(async () => {
    await database.close()
    await Promise.all([gateway.stop(), upstream.stop()])
  })
  const rows = (text: string) => database.read({ name: `test: ${text}`, text }, [])

  const client = (apiKey: string) =>
    new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 })
  const giveMoney = async (account: number) => {
    const at = Date.now()
    const credit = { account, kind: 'credit', amount: 10n ** 12n, note: 'test', at } as const
    await database.write([openWallet(walletOf.account(account), 0n), addCredit(credit)])
  }
  const ownClient = client(await gateway.key())
  await database.write(createAccount({ name: 'other', role: 'customer' }, Date.now()))
  const secret = makeSecret('key')
  await database.write(addKey({ account: 2, name: 'test', secret }, Date.now()))
  const otherClient = client(secret.text)
  await giveMoney(1)
  await giveMoney(2)
  /** Returns the last request body that the upstream received. */
  const lastRequest = async (script: string) => {
    const { body } = (await upstream.events('body', script)).at(-1) ?? {}
    return JSON.parse(Buffer.from(body?.bytes ?? []).toString() || 'null')
  }
  return {
    upstream,
    gateway,
    ownClient: ownClient,
    otherClient: otherClient,
    database,
    rows,
    lastRequest: lastRequest,
  }
}

// ---------------------------------------------------------------- what the upstreams say

export const plainReply = (body: object, status = '200 OK') => {
  const text = JSON.stringify(body)
  const head = `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n`
  return [{ do: 'body' }, { do: 'send', bytes: head + text }] as const
}
export const responseBody = (id: string, text: string, more: object = {}) => ({
  id,
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'gpt',
  error: null,
  output: [
    {
      type: 'message',
      id: `msg_${id}`,
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text, annotations: [] }],
    },
  ],
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
  store: true,
  background: false,
  previous_response_id: null,
  ...more,
})
export const messageBody = (text: string) => plainAnswers(text, 20, 5)['anthropic-messages']
export const streamedReply = (...events: { readonly type: string }[]) =>
  [
    { do: 'body' },
    {
      do: 'send',
      bytes: `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n${events
        .map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
        .join('')}`,
    },
    { do: 'close' },
  ] as const

type ApiErrors = abstract new (...args: never) => Error & { readonly status: number | undefined }
/** Asserts that a call of an SDK, whose errors have this class, rejects with a status. */
export const rejectsBy =
  (ApiError: ApiErrors) =>
  async (t: Test, call: PromiseLike<unknown>, status: number, match: object = {}) => {
    try {
      await call
      t.fail(`expected ${status}`)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      t.equal(error.status, status, error.message)
      t.match(error, match)
    }
  }
export const rejectsWith = rejectsBy(APIError)
