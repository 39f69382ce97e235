/** Requests that name stored files, over the shipped routes.yaml and a real upstream process: the
 *  official SDKs in four formats, each towards three upstreams, and the tasks of /ent/v2. */
import Anthropic from '@anthropic-ai/sdk'
import { createPartFromUri, GoogleGenAI } from '@google/genai'
import OpenAI, { toFile } from 'openai'
import t, { type Test } from 'tap'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addKey, createAccount } from '../../../plugins/credentials/statements.ts'
import { plain, stream } from '../../fixtures/upstream/scenarios.ts'
import { plainAnswers } from '../../helpers/formats/plain-answers.ts'
import { bearer, postTo } from '../../helpers/gateway/post.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { giveCredit } from '../../helpers/money/credit.ts'
import { sql } from '../../helpers/store/store.ts'
import { database, gateway, key, sentCalls, upstream } from './shipped-gateway.ts'

type Fields = { readonly [name: string]: unknown }
const MIB = 2 ** 20
const CSV = Buffer.from('city,count\nParis,3\n')
const PDF = Buffer.from('%PDF-1.4 a page')
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
)
const dataUrl = (mime: string, bytes: Buffer): string =>
  `data:${mime};base64,${bytes.toString('base64')}`

const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 })
const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: key, maxRetries: 0 })
const google = new GoogleGenAI({
  apiKey: key,
  httpOptions: { baseUrl: gateway.url, retryOptions: { attempts: 1 } },
})
const upload = async (name: string, bytes: Buffer, client = openai): Promise<string> =>
  (await client.files.create({ purpose: 'assistants', file: await toFile(bytes, name) })).id

await database.write(createAccount({ name: 'file-owner', role: 'customer' }, Date.now()))
const [other] = await database.read(
  { name: 'test: other', text: "SELECT id FROM accounts WHERE name = 'file-owner'" },
  [],
)
const otherAccount = Number(other?.id)
const secret = makeSecret('key')
await database.write(addKey({ account: otherAccount, name: 'test', secret }, Date.now()))
const otherOpenai = openai.withOptions({ apiKey: secret.text })

const ids = {
  png: await upload('a.png', PNG),
  pdf: await upload('a.pdf', PDF),
  csv: await upload('a.csv', CSV),
}

// ---------------------------------------------------------------- clients and upstreams

const BODY = { do: 'body' } as const
const {
  'openai-chat': CHAT_ANSWER,
  'openai-responses': RESPONSE,
  'anthropic-messages': message,
  'google-gemini': content,
} = plainAnswers('seen', 9, 1)
const ANSWERS: Readonly<Record<string, object>> = { gp: CHAT_ANSWER, cl: message, gx: content }
const MODELS: Readonly<Record<string, string>> = {
  gp: 'gp-4.1',
  cl: 'cl-sonnet-4-5',
  gx: 'gx-2.5-flash',
}
/** A question about an image, a page and a table. Resolves to the answer. */
const CLIENTS: Readonly<Record<string, (model: string) => Promise<string | null | undefined>>> = {
  async chat(model) {
    const content = [
      { type: 'image_url', image_url: { url: ids.png } },
      { type: 'file', file: { file_id: ids.pdf } },
      { type: 'file', file: { file_id: ids.csv } },
    ] as const
    const messages = [{ role: 'user' as const, content: [...content] }]
    const { choices } = await openai.chat.completions.create({ model, messages })
    return choices[0]?.message.content
  },
  async responses(model) {
    const content = [
      { type: 'input_image', detail: 'auto', file_id: ids.png },
      { type: 'input_file', file_id: ids.pdf },
      { type: 'input_file', file_id: ids.csv },
    ] as const
    const input = [{ role: 'user' as const, content: [...content] }]
    return (await openai.responses.create({ model, input })).output_text
  },
  async messages(model) {
    const content = [
      { type: 'image', source: { type: 'file', file_id: ids.png } },
      { type: 'document', source: { type: 'file', file_id: ids.pdf } },
      { type: 'document', source: { type: 'file', file_id: ids.csv } },
    ] as const
    const messages = [{ role: 'user' as const, content: [...content] }]
    const answer = await anthropic.beta.messages.create({ model, messages, max_tokens: 64 })
    return answer.content.map(block => (block.type === 'text' ? block.text : '')).join('')
  },
  async native(model) {
    const contents = [
      createPartFromUri(`files/${ids.png}`, 'image/png'),
      createPartFromUri(`${gateway.url}/v1/files/${ids.pdf}`, 'application/pdf'),
      createPartFromUri(`files/${ids.csv}`, 'text/csv'),
    ]
    return (await google.models.generateContent({ model, contents })).text
  },
}
/** The parts of the latest request that an upstream got, as it got them. */
const sentParts = async (script: string): Promise<readonly Fields[]> => {
  const body = await sentBody(script)
  const turns = (body.messages ?? body.input ?? body.contents) as readonly Fields[]
  return (turns[0]?.content ?? turns[0]?.parts) as readonly Fields[]
}
const sentBytes = async (script: string): Promise<Buffer> =>
  Buffer.from((await upstream.events('body', script)).at(-1)?.body.bytes ?? [])
const sentBody = async (script: string): Promise<Fields> =>
  JSON.parse((await sentBytes(script)).toString())

const base64 = (bytes: Buffer): string => bytes.toString('base64')
/** The three files in each format. */
const CARRIED: Readonly<Record<string, readonly object[]>> = {
  chat: [
    { type: 'image_url', image_url: { url: dataUrl('image/png', PNG) } },
    { type: 'file', file: { filename: 'a.pdf', file_data: dataUrl('application/pdf', PDF) } },
    { type: 'file', file: { filename: 'a.csv', file_data: dataUrl('text/csv', CSV) } },
  ],
  responses: [
    { type: 'input_image', detail: 'auto', image_url: dataUrl('image/png', PNG) },
    { type: 'input_file', filename: 'a.pdf', file_data: dataUrl('application/pdf', PDF) },
    { type: 'input_file', filename: 'a.csv', file_data: dataUrl('text/csv', CSV) },
  ],
  cl: [
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64(PNG) } },
    {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: base64(PDF) },
    },
    { type: 'document', source: { type: 'text', media_type: 'text/plain', data: String(CSV) } },
  ],
  gx: [
    { inlineData: { mimeType: 'image/png', data: base64(PNG) } },
    { inlineData: { mimeType: 'application/pdf', data: base64(PDF) } },
    { inlineData: { mimeType: 'text/csv', data: base64(CSV) } },
  ],
}

for (const [client, ask] of Object.entries(CLIENTS))
  for (const [script, model] of Object.entries(MODELS))
    t.test(`file ids: ${client} sends an image, a page and a table to ${model}`, async t => {
      const isResponses = client !== 'chat' && script === 'gp'
      const answer = isResponses ? RESPONSE : ANSWERS[script]
      await upstream.script(script, [BODY, plain(answer)])
      t.equal(await ask(model), 'seen')
      const format = script === 'gp' ? (isResponses ? 'responses' : 'chat') : script
      const parts = await sentParts(script)
      const [image, ...documents] = CARRIED[format] ?? []
      t.match(parts[0], image)
      t.same(parts.slice(1), documents)
    })

// ---------------------------------------------------------------- requests that must not work

const post = async (path: string, body: Fields, credential = key) => {
  const response = await postTo(`${gateway.url}${path}`, body, bearer(credential))
  const json = (await response.json()) as { error?: Fields } & Fields
  return { status: response.status, json, headers: response.headers }
}
const NATIVE = '/v1beta/models/gx-2.5-flash:generateContent'
interface Place {
  readonly path: string
  /** As an image, or as any file. */
  body(id: string, isImage?: boolean): Fields
  /** Where the error says that it is. */
  at(isImage?: boolean): string
}
const user = (content: unknown) => [{ role: 'user', content }]
const PLACES: Readonly<Record<string, Place>> = {
  chat: {
    path: '/v1/chat/completions',
    body: (id, isImage) => ({
      model: 'gp-4.1',
      messages: user([
        { type: 'text', text: 'What is it?' },
        isImage
          ? { type: 'image_url', image_url: { url: id } }
          : { type: 'file', file: { file_id: id } },
      ]),
    }),
    at: isImage => `messages[0].content[1]${isImage ? '' : '.file'}`,
  },
  responses: {
    path: '/v1/responses',
    body: (id, isImage) => ({
      model: 'gp-4.1',
      input: user([{ type: isImage ? 'input_image' : 'input_file', file_id: id }]),
    }),
    at: () => 'input[0].content[0]',
  },
  messages: {
    path: '/v1/messages',
    body: (id, isImage) => ({
      model: 'cl-sonnet-4-5',
      max_tokens: 64,
      messages: user([
        { type: isImage ? 'image' : 'document', source: { type: 'file', file_id: id } },
      ]),
    }),
    at: () => 'messages[0].content[0]',
  },
  native: {
    path: NATIVE,
    body: (id, isImage) => {
      const mimeType = isImage ? 'image/png' : 'application/pdf'
      return { contents: [{ parts: [{ fileData: { fileUri: `files/${id}`, mimeType } }] }] }
    },
    at: () => 'contents[0].parts[0].fileData',
  },
  ent: {
    path: '/ent/v2/img2video',
    body: id => ({ model: 'vdq3', images: [id] }),
    at: () => 'images[0]',
  },
}
/** Statuses and the type or reason of errors by client. */
const NOT_FOUND: Readonly<Record<string, readonly [number, string]>> = {
  chat: [404, 'invalid_request_error'],
  responses: [404, 'invalid_request_error'],
  messages: [404, 'not_found_error'],
  native: [404, 'NOT_FOUND'],
  ent: [400, 'FieldInvalid'],
}
const INVALID: Readonly<Record<string, string>> = {
  messages: 'invalid_request_error',
  native: 'INVALID_ARGUMENT',
  ent: 'FieldInvalid',
}
const kindOf = ({ error, reason }: { readonly error?: Fields; readonly reason?: unknown }) =>
  error?.type ?? error?.status ?? reason
const messageOf = ({ error, message }: { readonly error?: Fields; readonly message?: unknown }) =>
  String(error?.message ?? message)
const checkRefusal = (
  t: Test,
  name: string,
  { status, json }: Awaited<ReturnType<typeof post>>,
  expected: { readonly status: number; readonly kind: string; readonly at: string },
): void => {
  t.equal(status, expected.status, name)
  t.equal(kindOf(json), expected.kind, name)
  t.match(messageOf(json), expected.at, name)
  if (name === 'chat' || name === 'responses') t.equal(json.error?.param, expected.at, name)
}

t.test('file ids: unknown, deleted, expired and others’ files are not found alike', async t => {
  const expired = await upload('a.png', PNG)
  const deleted = await upload('a.png', PNG)
  await openai.files.delete(deleted)
  const text = 'UPDATE stored_files SET expires = 1 WHERE id = ?'
  await database.write([{ sql: { name: 'test: expire', text }, values: [expired] }])
  const others = await upload('a.png', PNG, otherOpenai)
  const unknown = `file-${'0'.repeat(32)}`
  for (const [name, { path, body, at }] of Object.entries(PLACES)) {
    const [status = 0, kind = ''] = NOT_FOUND[name] ?? []
    for (const id of [unknown, deleted, expired, others]) {
      const refusal = await post(path, body(id))
      checkRefusal(t, name, refusal, { status, kind, at: at() })
      t.match(messageOf(refusal.json), `no such file: ${id}`)
    }
  }
  t.same(await sentCalls(), [], 'no upstream was asked')
})

t.test('file ids: a table is refused where an image is expected', async t => {
  for (const [name, { path, body, at }] of Object.entries(PLACES)) {
    const kind = INVALID[name] ?? 'invalid_request_error'
    const refusal = await post(path, body(ids.csv, true))
    checkRefusal(t, name, refusal, { status: 400, kind, at: at(true) })
    t.match(messageOf(refusal.json), `the file ${ids.csv} is not an image; its type is text/csv`)
  }
  const { status, json } = await post('/v1/messages', {
    model: 'cl-sonnet-4-5',
    max_tokens: 64,
    messages: user([{ type: 'container_upload', file_id: ids.csv }]),
  })
  t.equal(status, 400)
  t.match(messageOf(json), "'messages[0].content[0]': a stored file cannot be used here.")
  const container = { type: 'auto', file_ids: [ids.csv] }
  const refusal = await post('/v1/responses', {
    model: 'gp-4.1',
    input: 'Sum it up',
    tools: [{ type: 'code_interpreter', container }],
  })
  t.equal(refusal.status, 400)
  const place = "'tools[0].container.file_ids': a stored file cannot be used here."
  t.match(messageOf(refusal.json), place)
  t.same(await sentCalls(), [], 'no upstream was asked')
})

t.test('file ids: the files of one request are limited together', async t => {
  const large = await upload('large.png', Buffer.concat([PNG, Buffer.alloc(16 * MIB)]))
  for (const [name, { path, body }] of Object.entries(PLACES)) {
    const request = body(large, true)
    const { messages, input, contents } = request as Readonly<Record<string, readonly Fields[]>>
    const twice = (turns: readonly Fields[] | undefined) => turns && [...turns, ...turns]
    const { status, json } = await post(path, {
      ...request,
      ...(messages && { messages: twice(messages) }),
      ...(input && { input: twice(input) }),
      ...(contents && { contents: twice(contents) }),
    })
    t.equal(status, 413, name)
    const limit = name === 'ent' ? 20 : 32
    t.match(messageOf(json), `${limit * MIB} bytes in total, encoded as base64`, name)
  }
  await giveCredit(database, otherAccount, 10n ** 9n)
  const otherLarge = await upload(
    'large.png',
    Buffer.concat([PNG, Buffer.alloc(2 * MIB)]),
    otherOpenai,
  )
  await upstream.script('gp', [BODY, plain(CHAT_ANSWER)])
  const { path, body } = PLACES.chat as Place
  const small = await upload('small.png', PNG, otherOpenai)
  t.equal((await post(path, body(small, true), secret.text)).status, 200)
  // The balance is below the hold of a file, and above an estimate of it.
  const part = await post(path, { ...body(otherLarge, true), max_tokens: 16 }, secret.text)
  t.equal(part.status, 200)
  t.match(part.headers.get('x-tollgate-input-covered'), /^\d+$/)
  const poor = await post(path, { ...body(otherLarge, true), max_tokens: 30_000 }, secret.text)
  t.match(poor, { status: 403, json: { error: { code: 'insufficient_user_quota' } } })
})

// ---------------------------------------------------------------- what passes unchanged

t.test('file ids: requests without a file of the gateway pass as bytes', async t => {
  const bodies: readonly (readonly [script: string, path: string, body: Fields])[] = [
    ['gp', '/v1/chat/completions', (PLACES.chat as Place).body('file-6F2ksmvXxt4VdoqmHRw6kL')],
    ['gp', '/v1/responses', (PLACES.responses as Place).body('file-abc')],
    ['cl', '/v1/messages', (PLACES.messages as Place).body('file_011CNha8iCJcU1wXNR6q4V8w')],
    ['gx', NATIVE, (PLACES.native as Place).body('abc-123')],
    [
      'gp',
      '/v1/chat/completions',
      { model: 'gp-4.1', messages: user(`What is file-${'0'.repeat(32)}?`), odd: [1.0, ' é'] },
    ],
    [
      'cl',
      '/v1/messages',
      {
        model: 'cl-sonnet-4-5',
        max_tokens: 64,
        messages: [
          ...user('Read it.'),
          {
            role: 'assistant',
            content: [{ type: 'tool_use', id: 't', name: 'read', input: { file: ids.csv } }],
          },
          ...user([{ type: 'tool_result', tool_use_id: 't', content: ids.csv }]),
        ],
      },
    ],
  ]
  for (const [script, path, body] of bodies) {
    await upstream.script(script, [
      BODY,
      plain(path.endsWith('responses') ? RESPONSE : ANSWERS[script]),
    ])
    t.equal((await post(path, body)).status, 200)
    const forwardedText = (await sentBytes(script)).toString()
    const target = String((await sentBody(script)).model ?? '')
    const expected = JSON.stringify(body).replace(`"model":"${body.model}"`, `"model":"${target}"`)
    t.equal(forwardedText.replace(/,"store":false(?=}$)/, ''), expected)
  }
})

t.test('file ids: results of tools and continued responses carry their files', async t => {
  await upstream.script('cl', [BODY, plain(ANSWERS.cl)])
  const image = { type: 'image', source: { type: 'file', file_id: ids.png } }
  const toolCall = { type: 'tool_use', id: 't', name: 'look', input: {} }
  const { status, headers } = await post('/v1/messages', {
    model: 'cl-sonnet-4-5',
    max_tokens: 64,
    messages: [
      ...user('Look.'),
      { role: 'assistant', content: [toolCall] },
      ...user([{ type: 'tool_result', tool_use_id: 't', content: [image] }]),
    ],
  })
  t.equal(status, 200)
  t.equal(headers.get('x-tollgate-dropped'), null)
  const turns = (await sentBody('cl')).messages as readonly {
    readonly content: readonly Fields[]
  }[]
  t.match(turns.at(-1)?.content[0]?.content, CARRIED.cl?.slice(0, 1))

  await upstream.script('gp', [BODY, plain(RESPONSE)])
  const input = [
    { role: 'user' as const, content: [{ type: 'input_file' as const, file_id: ids.pdf }] },
  ]
  const first = await openai.responses.create({ model: 'gp-4.1', input })
  t.equal((await sentBody('gp')).store, false)
  const items = await openai.responses.inputItems.list(first.id)
  t.match(items.data, [{ content: [{ type: 'input_file', file_id: ids.pdf }] }])
  await openai.responses.create({
    model: 'gp-4.1',
    input: 'And then?',
    previous_response_id: first.id,
  })
  t.same(await sentParts('gp'), CARRIED.responses?.slice(1, 2))

  await upstream.forget()
  const queued = await openai.responses.create({ model: 'gp-4.1', input, background: true })
  const finished = await eventually(async () => {
    const response = await openai.responses.retrieve(queued.id)
    return response.status === 'completed' ? response : undefined
  })
  t.equal(finished.output_text, 'seen')
  t.same(await sentParts('gp'), CARRIED.responses?.slice(1, 2))
})

const RESPONSES = 'SELECT id FROM stored_responses'
t.test('file ids: a background response with an unknown file is refused at once', async t => {
  const at = 'input[0].content[0]'
  const create = (file_id: string) =>
    openai.responses.create({
      model: 'gp-4.1',
      background: true,
      input: [{ role: 'user', content: [{ type: 'input_file', file_id }] }],
    })
  const before = await database.read(sql('test: responses', RESPONSES), [])
  const refusal = await create(`file-${'0'.repeat(32)}`).catch((error: object) => error)
  t.match(refusal, { status: 404, param: at })
  t.same(await database.read(sql('test: responses', RESPONSES), []), before, 'none is queued')
})

t.test('file ids: a stream and an image edit carry their files', async t => {
  const chunk = { ...CHAT_ANSWER, object: 'chat.completion.chunk' }
  const choices = [{ index: 0, delta: { content: 'seen' }, finish_reason: 'stop' }]
  const events = `data: ${JSON.stringify({ ...chunk, choices })}\n\ndata: [DONE]\n\n`
  await upstream.script('gp', [BODY, ...stream(events)])
  const { body } = PLACES.chat as Place
  const messages = body(ids.png, true).messages as OpenAI.ChatCompletionMessageParam[]
  const texts: unknown[] = []
  for await (const { choices } of await openai.chat.completions.create({
    model: 'gp-4.1',
    messages,
    stream: true,
  }))
    texts.push(choices[0]?.delta.content)
  t.equal(texts.join(''), 'seen')
  t.same((await sentParts('gp'))[1], CARRIED.chat?.[0])
  await upstream.script('gp', [BODY, plain(CHAT_ANSWER)])
  t.equal((await post('/v1/chat/completions', body(ids.png))).status, 200)
  t.same((await sentParts('gp'))[1], CARRIED.chat?.[0], 'a file that is an image is sent as one')

  const image = { b64_json: base64(PNG) }
  await upstream.script('gp', [BODY, plain({ created: 1, data: [image] })])
  const edit = { model: 'gp-4o-image', prompt: 'Turn it', images: [{ file_id: ids.png }] }
  const { status, json } = await post('/v1/images/edits', edit)
  t.match({ status, json }, { status: 200, json: { data: [image] } })
  t.ok((await sentBytes('gp')).includes(PNG), 'the form has the image')
})

t.test('file ids: an upstream without counts is charged for a file, not for its text', async t => {
  const large = await upload('large.pdf', Buffer.alloc(300_000, '%PDF-1.4'))
  const { usage: _, ...uncounted } = CHAT_ANSWER
  await upstream.script('gp', [BODY, plain(uncounted)])
  const { path, body } = PLACES.chat as Place
  const { status, headers } = await post(path, body(large))
  t.equal(status, 200)
  const part = (await sentParts('gp'))[1] as { readonly file: { readonly file_data: string } }
  t.equal(part.file.file_data.length, dataUrl('application/pdf', Buffer.alloc(300_000)).length)
  const id = headers.get('x-request-id')
  const receipt = await eventually(async () => {
    const response = await fetch(`${gateway.url}/api/usage/${id}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    return response.ok ? ((await response.json()) as Fields) : undefined
  })
  const text = JSON.stringify(receipt)
  t.match(text, /"estimated":true/)
  const tokens = Number(/"input":(\d+)/.exec(text)?.[1])
  t.ok(tokens > 1_500 && tokens < 2_000, `${tokens} tokens`)
})

t.test('file ids: token counts of requests with files are estimated', async t => {
  const { input_tokens: tokens } = await anthropic.beta.messages.countTokens({
    model: 'cl-sonnet-4-5',
    messages: [
      {
        role: 'user',
        content: [{ type: 'document', source: { type: 'file', file_id: ids.pdf } }],
      },
    ],
  })
  t.ok(tokens > 1_500, `${tokens} tokens`)
  t.same(await sentCalls(), [], 'the upstream does not know the file')
})

// ---------------------------------------------------------------- tasks

t.test('file ids: a task keeps the id, and the upstream gets the image', async t => {
  await upstream.script('vd', [BODY, plain({ task_id: 'up-1', state: 'success' })])
  const { status, json } = await post('/ent/v2/reference2video', {
    model: 'vdq2',
    prompt: 'a cat like @1',
    subjects: [{ id: '1', images: [ids.png, 'https://files.example/b.png'] }],
  })
  t.equal(status, 200)
  t.match(json.subjects, [{ images: [ids.png, 'https://files.example/b.png'] }])
  const isSubmit = ({ bytes }: { readonly bytes: Uint8Array }): boolean =>
    Buffer.from(bytes).includes('a cat like')
  const submit = await upstream.until('body', ({ body }) => isSubmit(body))
  const submitted = JSON.parse(Buffer.from(submit.body.bytes).toString())
  t.same(submitted.subjects[0].images, [dataUrl('image/png', PNG), 'https://files.example/b.png'])
  const [row] = await database.read(
    { name: 'test: task', text: 'SELECT summary FROM task_requests WHERE task = ?' },
    [String(json.task_id)],
  )
  t.match(row?.summary, ids.png)
  t.notMatch(row?.summary, 'base64')
  // Later tests of the folder expect no polls.
  await eventually(async () => {
    const { status } = await post(`/ent/v2/tasks/${json.task_id}/cancel`, {})
    return status === 200 ? true : undefined
  })
})
