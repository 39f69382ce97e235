/** Every shipped route with a body for a model: invalid input is refused in the route's dialect, reaches no
 *  upstream and costs nothing. The routes come from routes.yaml: a new route without a row here fails. */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { rawClient, replies } from '../../helpers/raw.ts'
import { database, gateway, key, upstream } from './shipped-gateway.ts'

interface Route {
  readonly path: string
  readonly model?: 'body' | { readonly path?: string; readonly list?: string }
  readonly form?: object
  readonly errors: keyof typeof DIALECTS
}
interface Row {
  /** What would be answered; its model is added. */
  readonly body: Readonly<Record<string, unknown>>
  /** One member of another type. */
  readonly wrong: Readonly<Record<string, unknown>>
  /** Of a form: the field that is a file. */
  readonly file?: string
}

const MODEL = 'gp-4.1'
const messages = [{ role: 'user', content: 'hi' }]
const content = { parts: [{ text: 'hi' }] }
const SAID: Row = { body: { contents: [content] }, wrong: { contents: 7 } }
const EMBEDDED: Row = { body: { content }, wrong: { content: 7 } }
const ROWS: Readonly<Record<string, Row>> = {
  '/v1/chat/completions': { body: { messages }, wrong: { messages: 'hi' } },
  '/v1/responses': { body: { input: 'hi' }, wrong: { input: 7 } },
  '/v1/messages': { body: { max_tokens: 5, messages }, wrong: { max_tokens: 'five' } },
  '/v1/messages/count_tokens': { body: { messages }, wrong: { messages: {} } },
  ':countTokens': SAID,
  ':generateContent': SAID,
  ':streamGenerateContent': SAID,
  ':embedContent': EMBEDDED,
  ':batchEmbedContents': { body: { requests: [{ content }] }, wrong: { requests: {} } },
  '/v1/embeddings': { body: { input: 'hi' }, wrong: { input: 7 } },
  '/v1/images/generations': { body: { prompt: 'a cat' }, wrong: { prompt: 7 } },
  '/v1/audio/speech': { body: { input: 'hi', voice: 'alloy' }, wrong: { speed: 'fast' } },
  '/v1/audio/transcriptions': { body: {}, wrong: { temperature: 'hot' } },
  '/v1/audio/translations': { body: {}, wrong: { temperature: 'hot' } },
  '/v1/images/edits': { body: { prompt: 'a cat' }, wrong: { size: 'large' }, file: 'image' },
}

type Told = Readonly<Record<string, unknown>>
/** Whether a body is an error of the dialect: undefined, or what is wrong with it. */
const DIALECTS = {
  openai: ({ error }: { error: Told }) =>
    typeof error?.message === 'string' && typeof error.type === 'string' && 'code' in error,
  anthropic: ({ type, error }: { type: unknown; error: Told }) =>
    type === 'error' && typeof error?.type === 'string' && typeof error.message === 'string',
  google: ({ error }: { error: Told }, status: number) =>
    error?.code === status && typeof error.status === 'string' && typeof error.message === 'string',
} as const

const { routes } = parse(
  readFileSync(new URL('../../../routes.yaml', import.meta.url), 'utf8'),
) as {
  readonly routes: readonly Route[]
}
const taking = routes.filter(({ path, model }) => path.startsWith('POST ') && model !== undefined)
const rowOf = (path: string) => ROWS[path] ?? ROWS[/:\w+$/.exec(path)?.[0] ?? '']

interface Sent {
  readonly body: string | Uint8Array<ArrayBuffer> | FormData
  readonly type?: string
  readonly model?: string
}
const post = async (route: Route, { body, type, model = MODEL }: Sent) => {
  const path = route.path.slice('POST '.length).replace('{model}', model)
  const headers = {
    authorization: `Bearer ${key}`,
    ...(type !== undefined && { 'content-type': type }),
  }
  const response = await fetch(gateway.url + path, { method: 'POST', headers, body })
  return { status: response.status, error: await response.json() }
}
const formOf = (fields: Readonly<Record<string, unknown>>, file = 'file'): FormData => {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, String(value))
  form.set(file, new Blob([new Uint8Array(8)], { type: 'image/png' }), 'a.png')
  return form
}
const JSON_TYPE = 'application/json'

const badOf = (route: Route, row: Row): Readonly<Record<string, [Sent, status: number]>> => {
  const named = route.model === 'body' ? { model: MODEL } : {}
  const fit = (fields: object): Sent =>
    route.form
      ? { body: formOf(fields as Row['body'], row.file) }
      : { body: JSON.stringify(fields), type: JSON_TYPE }
  const nobody = { ...row.body, ...(route.model === 'body' && { model: 'nobody' }) }
  const anywhere: Record<string, [Sent, number]> = {
    'a wrong type': [fit({ ...named, ...row.body, ...row.wrong }), 400],
    'an unknown model': [{ ...fit(nobody), model: 'nobody' }, 404],
    'no body': [{ body: '', ...(!route.form && { type: JSON_TYPE }) }, route.form ? 415 : 400],
    'another content type': [{ body: 'hi', type: 'text/plain' }, 415],
    ...(route.model === 'body' && { 'no model': [fit(row.body), 400] }),
  }
  if (route.form)
    return {
      ...anywhere,
      'a form that is none': [{ body: '--x\r\nhi', type: 'multipart/form-data; boundary=x' }, 400],
      'a form without a boundary': [{ body: 'hi', type: 'multipart/form-data' }, 400],
    }
  const deep = `{"model":"${MODEL}","a":${'['.repeat(100)}${']'.repeat(100)}}`
  return {
    ...anywhere,
    'no object': [{ body: '[]', type: JSON_TYPE }, 400],
    'half of a text': [{ body: '{"model":', type: JSON_TYPE }, 400],
    'a hundred levels': [{ body: deep, type: JSON_TYPE }, 400],
    'no UTF-8': [{ body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), type: JSON_TYPE }, 400],
    'a key twice': [{ body: `{"model":"${MODEL}","model":"x"}`, type: JSON_TYPE }, 400],
  }
}

/** Refused by what its head says: nothing of it is read. */
const checkOversized = async (t: Test, route: Route): Promise<void> => {
  const client = await rawClient(gateway)
  const path = route.path.slice('POST '.length).replace('{model}', MODEL)
  const type = route.form ? 'multipart/form-data; boundary=x' : JSON_TYPE
  await client.send(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: ${type}\r\nContent-Length: ${2 ** 40}\r\n\r\n`,
  )
  await client.until('}')
  t.equal(replies(client.text())[0]?.status, 413, 'a terabyte')
  client.close()
}

const CHARGES = { name: 'charges', text: 'SELECT count(*) AS charges FROM charges' }

t.ok(taking.length >= 15, `${taking.length} routes`)
for (const route of taking)
  t.test(`invalid input: ${route.path}`, async t => {
    const row = rowOf(route.path.slice('POST '.length))
    if (!row) throw new Error('it has no row in this test')
    const before = await database.read(CHARGES, [])
    for (const [what, [sent, expected]] of Object.entries(badOf(route, row))) {
      const { status, error } = await post(route, sent)
      t.equal(status, expected, `${what}: ${JSON.stringify(error)}`)
      t.ok(
        DIALECTS[route.errors](error as never, status),
        `${what}, in the words of ${route.errors}`,
      )
    }
    await checkOversized(t, route)
    t.same(await upstream.seen('request'), [], 'nobody else heard of it')
    t.same(await database.read(CHARGES, []), before, 'and nobody paid')
  })
