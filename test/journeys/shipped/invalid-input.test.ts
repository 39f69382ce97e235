/** Every shipped route with a body for a model: invalid input is refused in the route's dialect,
 *  reaches no upstream and costs nothing. The routes come from routes.yaml, and a new route needs a
 *  row here. */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { rawClient, replies } from '../../helpers/gateway/raw-client.ts'
import { database, gateway, key, sentCalls } from './shipped-gateway.ts'

interface Route {
  readonly path: string
  readonly model?:
    | 'body'
    | {
        readonly path?: string
        readonly list?: string
        readonly name?: string
        readonly default?: string
      }
  readonly form?: object
  readonly errors: keyof typeof DIALECTS
}
interface Row {
  /** A valid body without its model. */
  readonly body: Readonly<Record<string, unknown>>
  /** One member with a wrong type. */
  readonly wrong: Readonly<Record<string, unknown>>
  /** The name of the file field of a form. */
  readonly file?: string
}

const MODEL = 'gp-4.1'
const messages = [{ role: 'user', content: 'hi' }]
const content = { parts: [{ text: 'hi' }] }
const GENERATION: Row = { body: { contents: [content] }, wrong: { contents: 7 } }
const CACHE = { body: { ttl: '60s' }, wrong: { ttl: 60 } }
const EMBEDDING: Row = { body: { content }, wrong: { content: 7 } }
const PIXEL = 'data:image/png;base64,AA=='
const IMAGE = 'https://files.example/a.png'
const PROMPT: Row = { body: { prompt: 'a cat' }, wrong: { prompt: 7 } }
const ROWS: Readonly<Record<string, Row>> = {
  '/v1/chat/completions': { body: { messages }, wrong: { messages: 'hi' } },
  '/v1/completions': { body: { prompt: 'hi' }, wrong: { prompt: 7 } },
  '/v1/responses': { body: { input: 'hi' }, wrong: { input: 7 } },
  '/v1/responses/input_tokens': { body: { input: 'hi' }, wrong: { input: 7 } },
  '/v1/responses/compact': { body: { input: 'hi' }, wrong: { input: 7 } },
  '/v1/messages': { body: { max_tokens: 5, messages }, wrong: { max_tokens: 'five' } },
  '/v1/messages/count_tokens': { body: { messages }, wrong: { messages: {} } },
  ':countTokens': GENERATION,
  ':generateContent': GENERATION,
  ':streamGenerateContent': GENERATION,
  ':embedContent': EMBEDDING,
  ':batchEmbedContents': { body: { requests: [{ content }] }, wrong: { requests: {} } },
  '/v1beta/interactions': { body: { input: 'hi' }, wrong: { input: 7 } },
  '/v1/interactions': { body: { input: 'hi' }, wrong: { input: 7 } },
  '/v1beta/cachedContents': CACHE,
  '/v1/cachedContents': CACHE,
  '/v1/embeddings': { body: { input: 'hi' }, wrong: { input: 7 } },
  '/v1/rerank': { body: { query: 'q', documents: ['d'] }, wrong: { documents: 'd' } },
  '/v1/moderations': { body: { input: 'hi' }, wrong: { input: 7 } },
  '/v1/images/generations': { body: { prompt: 'a cat' }, wrong: { prompt: 7 } },
  '/v1/audio/speech': { body: { input: 'hi', voice: 'alloy' }, wrong: { speed: 'fast' } },
  '/v1/audio/transcriptions': { body: {}, wrong: { temperature: 'hot' } },
  '/v1/audio/translations': { body: {}, wrong: { temperature: 'hot' } },
  '/ent/v2/text2video': PROMPT,
  '/ent/v2/img2video': { body: { images: [IMAGE] }, wrong: { images: IMAGE } },
  '/ent/v2/start-end2video': { body: { images: [IMAGE, IMAGE] }, wrong: { images: IMAGE } },
  '/ent/v2/reference2video': { body: { prompt: 'a', images: [IMAGE] }, wrong: { images: IMAGE } },
  '/ent/v2/reference2image': PROMPT,
  '/ent/v2/text2audio': PROMPT,
  '/ent/v2/audio-tts': { body: { text: 'hi', voice_setting_voice_id: 'a' }, wrong: { text: 7 } },
  '/ent/v2/timing2audio': {
    body: { timing_prompts: [{ from: 0, to: 1, prompt: 'rain' }] },
    wrong: { timing_prompts: 'rain' },
  },
  '/ent/v2/extend': { body: { video_url: IMAGE }, wrong: { prompt: 7 } },
  '/ent/v2/multiframe': {
    body: { start_image: IMAGE, image_settings: [{ key_image: IMAGE }, { key_image: IMAGE }] },
    wrong: { image_settings: IMAGE },
  },
  '/ent/v2/upscale-new': { body: { video_url: IMAGE }, wrong: { upscale_resolution: '9K' } },
  '/ent/v2/lip-sync': { body: { video_url: IMAGE, text: 'hi' }, wrong: { text: 7 } },
  '/ent/v2/trending-replicate': {
    body: { video_url: IMAGE, images: [IMAGE] },
    wrong: { images: IMAGE },
  },
  '/ent/v2/template': { body: { template: 'hugging', images: [IMAGE] }, wrong: { images: IMAGE } },
  '/ent/v2/template-story': { body: { story: 'a', images: [IMAGE] }, wrong: { images: IMAGE } },
  '/mj/submit/imagine': PROMPT,
  '/mj-fast/mj/submit/imagine': PROMPT,
  '/mj-turbo/mj/submit/imagine': PROMPT,
  '/mj-relax/mj/submit/imagine': PROMPT,
  '/mj/submit/action': { body: { taskId: '1', customId: 'a' }, wrong: { customId: 7 } },
  '/{mode}/mj/submit/action': { body: { taskId: '1', customId: 'a' }, wrong: { customId: 7 } },
  '/mj/submit/change': { body: { taskId: '1', action: 'REROLL' }, wrong: { action: 'BOTH' } },
  '/{mode}/mj/submit/change': {
    body: { taskId: '1', action: 'REROLL' },
    wrong: { action: 'BOTH' },
  },
  '/mj/submit/modal': { body: { taskId: '1' }, wrong: { prompt: 7 } },
  '/{mode}/mj/submit/modal': { body: { taskId: '1' }, wrong: { prompt: 7 } },
  '/mj/submit/blend': { body: { base64Array: [PIXEL, PIXEL] }, wrong: { base64Array: IMAGE } },
  '/{mode}/mj/submit/blend': {
    body: { base64Array: [PIXEL, PIXEL] },
    wrong: { base64Array: IMAGE },
  },
  '/mj/submit/describe': { body: { base64: PIXEL }, wrong: { base64: 7 } },
  '/{mode}/mj/submit/describe': { body: { base64: PIXEL }, wrong: { base64: 7 } },
  '/mj/submit/shorten': PROMPT,
  '/{mode}/mj/submit/shorten': PROMPT,
  '/v1/images/edits': { body: { prompt: 'a cat' }, wrong: { size: 'large' }, file: 'image' },
  '/v1/videos': { body: { prompt: 'a cat' }, wrong: { prompt: '' }, file: 'input_reference' },
}

type ErrorFields = Readonly<Record<string, unknown>>
/** Whether a body is an error of the dialect. */
const DIALECTS = {
  openai: ({ error }: { error: ErrorFields }) =>
    typeof error?.message === 'string' && typeof error.type === 'string' && 'code' in error,
  anthropic: ({ type, error }: { type: unknown; error: ErrorFields }) =>
    type === 'error' && typeof error?.type === 'string' && typeof error.message === 'string',
  google: ({ error }: { error: ErrorFields }, status: number) =>
    error?.code === status && typeof error.status === 'string' && typeof error.message === 'string',
  vidu: ({ code, reason, message }: ErrorFields, status: number) =>
    code === status && typeof reason === 'string' && typeof message === 'string',
  midjourney: ({ description, type, code }: ErrorFields) =>
    typeof description === 'string' && typeof type === 'string' && typeof code === 'number',
} as const

const { routes } = parse(
  readFileSync(new URL('../../../routes.yaml', import.meta.url), 'utf8'),
) as {
  readonly routes: readonly Route[]
}
const modelRoutes = routes.filter(
  ({ path, model }) => path.startsWith('POST ') && model !== undefined,
)
const rowOf = (path: string) => ROWS[path] ?? ROWS[/:\w+$/.exec(path)?.[0] ?? '']

interface TestRequest {
  readonly body: string | Uint8Array<ArrayBuffer> | FormData
  readonly type?: string
  readonly model?: string
}
const post = async (route: Route, { body, type, model = MODEL }: TestRequest) => {
  const mode = model === MODEL ? 'mj-turbo' : model
  const path = route.path.slice('POST '.length).replace('{model}', model).replace('{mode}', mode)
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

const invalidRequests = (
  route: Route,
  row: Row,
): Readonly<Record<string, [TestRequest, status: number]>> => {
  const { default: usual, resource } = Object(route.model)
  const isInBody = [route.model === 'body', usual, resource].some(Boolean)
  const modelField = isInBody ? { model: MODEL } : {}
  const encode = (fields: object): TestRequest =>
    route.form
      ? { body: formOf(fields as Row['body'], row.file) }
      : { body: JSON.stringify(fields), type: JSON_TYPE }
  const unknownModel = { ...row.body, ...(isInBody && { model: 'nobody' }) }
  const everyRoute: Record<string, [TestRequest, number]> = {
    'a wrong type': [encode({ ...modelField, ...row.body, ...row.wrong }), 400],
    // Bodies of a route with a model of its own name none.
    ...(Object(route.model).name === undefined && {
      'an unknown model': [
        { ...encode(unknownModel), model: 'nobody' },
        route.errors === 'vidu' ? 400 : 404,
      ],
    }),
    'no body': [{ body: '', ...(!route.form && { type: JSON_TYPE }) }, route.form ? 415 : 400],
    'another content type': [{ body: 'hi', type: 'text/plain' }, 415],
    ...(route.model === 'body' && { 'no model': [encode(row.body), 400] }),
  }
  if (route.form)
    return {
      ...everyRoute,
      'an invalid form': [{ body: '--x\r\nhi', type: 'multipart/form-data; boundary=x' }, 400],
      'a form without a boundary': [{ body: 'hi', type: 'multipart/form-data' }, 400],
    }
  const deep = `{"model":"${MODEL}","a":${'['.repeat(100)}${']'.repeat(100)}}`
  return {
    ...everyRoute,
    'an array': [{ body: '[]', type: JSON_TYPE }, 400],
    'truncated JSON': [{ body: '{"model":', type: JSON_TYPE }, 400],
    'a hundred levels': [{ body: deep, type: JSON_TYPE }, 400],
    'invalid UTF-8': [{ body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), type: JSON_TYPE }, 400],
    'a repeated key': [{ body: `{"model":"${MODEL}","model":"x"}`, type: JSON_TYPE }, 400],
  }
}

/** Refused by its head, before any body byte is read. */
const checkOversized = async (t: Test, route: Route): Promise<void> => {
  const client = await rawClient(gateway)
  const path = route.path
    .slice('POST '.length)
    .replace('{model}', MODEL)
    .replace('{mode}', 'mj-turbo')
  const type = route.form ? 'multipart/form-data; boundary=x' : JSON_TYPE
  await client.send(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: ${type}\r\nContent-Length: ${2 ** 40}\r\n\r\n`,
  )
  await client.until('}')
  t.equal(replies(client.text())[0]?.status, 413, 'a terabyte')
  client.close()
}

const CHARGES = { name: 'charges', text: 'SELECT count(*) AS charges FROM charges' }

t.ok(modelRoutes.length >= 15, `${modelRoutes.length} routes`)
for (const route of modelRoutes)
  t.test(`invalid input: ${route.path}`, async t => {
    const row = rowOf(route.path.slice('POST '.length))
    if (!row) throw new Error('the route has no row in this test')
    const before = await database.read(CHARGES, [])
    for (const [what, [request, expected]] of Object.entries(invalidRequests(route, row))) {
      const { status, error } = await post(route, request)
      t.equal(status, expected, `${what}: ${JSON.stringify(error)}`)
      t.ok(
        DIALECTS[route.errors](error as never, status),
        `${what}, in the dialect of ${route.errors}`,
      )
    }
    await checkOversized(t, route)
    t.same(await sentCalls(), [], 'no upstream request')
    t.same(await database.read(CHARGES, []), before, 'nothing charged')
  })
