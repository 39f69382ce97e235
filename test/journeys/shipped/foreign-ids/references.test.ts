/** Law: an id of another account in a body or a query is answered as an unknown one, on the shipped
 *  configuration. Names of objects at Gemini that no account has made pass on purpose, as they may
 *  be the operator's own: those of another account are compared with those of a third one. */
import { once } from 'node:events'
import t from 'tap'
import { WebSocket } from 'ws'
import { gateway, upstream } from '../shipped-gateway.ts'
import { type Account, ask, makeAccount, type Response } from './accounts.ts'
import { askedUpstreams, checkAlike, checkOwn } from './comparison.ts'
import { type Kind, makeObjects, type Objects, scriptAnswers, unknownOf } from './objects.ts'

interface Reference {
  readonly kind: Kind
  /** The parameter of the object whose value is named; by default its first. */
  readonly by?: string
  /** `POST` if there is a body, otherwise `GET`. */
  readonly method?: string
  /** A path, which may have the id. `own`: objects of the caller. */
  path(id: string, own: Objects): string
  body?(id: string, own: Objects): unknown
}
const user = (content: unknown) => [{ role: 'user', content }]
const toPath = (path: string) => () => path
const chat = { model: 'gp-4.1' }
const responses = { model: 'gp-4.1', input: 'And then?' }
const messages = { model: 'cl-sonnet-4-5', max_tokens: 9 }

/** The same members on each endpoint that takes the body of a response. */
const onResponses = (
  name: string,
  kind: Kind,
  body: (id: string) => object,
  by?: string,
): readonly (readonly [string, Reference])[] =>
  ['/v1/responses', '/v1/responses/input_tokens', '/v1/responses/compact'].map(path => [
    `${path} ${name}`,
    {
      kind,
      ...(by !== undefined && { by }),
      path: toPath(path),
      body: id => ({ ...responses, ...body(id) }),
    },
  ])
/** The same members on the route of the image queue and on that with the mode in its path. */
const onQueue = (name: string, members: object): readonly (readonly [string, Reference])[] =>
  [`/mj/submit/${name}`, `/mj-fast/mj/submit/${name}`].map(path => [
    `${path} taskId`,
    { kind: 'grid', path: toPath(path), body: id => ({ taskId: id, ...members }) },
  ])
const inQuery = (
  kind: Kind,
  query: string,
  path: (own: Objects) => string,
  by?: string,
): readonly [string, Reference] => [
  `${query} of ${kind}`,
  { kind, ...(by !== undefined && { by }), path: (id, own) => `${path(own)}?${query}=${id}` },
]
const REFERENCES: readonly (readonly [string, Reference])[] = [
  ...onResponses('previous_response_id', 'response', id => ({ previous_response_id: id })),
  ...onResponses('conversation', 'conversation', id => ({ conversation: id })),
  ...onResponses('conversation.id', 'conversation', conversation => ({
    conversation: { id: conversation },
  })),
  ...onResponses(
    'item_reference',
    'response',
    id => ({ input: [{ type: 'item_reference', id }, ...user('And then?')] }),
    'item',
  ),
  ...onResponses(
    'item_reference to an input',
    'response',
    id => ({ input: [{ type: 'item_reference', id }, ...user('And then?')] }),
    'input',
  ),
  ...onResponses('file_id', 'file', file_id => ({
    input: user([{ type: 'input_image', file_id }]),
  })),
  [
    '/v1/responses previous_response_id in the background',
    {
      kind: 'response',
      path: toPath('/v1/responses'),
      body: id => ({ ...responses, background: true, previous_response_id: id }),
    },
  ],
  [
    '/v1/conversations item_reference',
    {
      kind: 'response',
      by: 'item',
      path: toPath('/v1/conversations'),
      body: id => ({ items: [{ type: 'item_reference', id }] }),
    },
  ],
  [
    '/v1/conversations/{id}/items item_reference',
    {
      kind: 'response',
      by: 'item',
      path: (_, own) => `/v1/conversations/${own.conversation.id}/items`,
      body: id => ({ items: [{ type: 'item_reference', id }] }),
    },
  ],
  [
    '/v1/chat/completions file_id',
    {
      kind: 'file',
      path: toPath('/v1/chat/completions'),
      body: file_id => ({ ...chat, messages: user([{ type: 'file', file: { file_id } }]) }),
    },
  ],
  [
    '/v1/chat/completions image_url',
    {
      kind: 'file',
      path: toPath('/v1/chat/completions'),
      body: url => ({ ...chat, messages: user([{ type: 'image_url', image_url: { url } }]) }),
    },
  ],
  [
    '/v1/messages thread',
    {
      kind: 'message',
      path: toPath('/v1/messages'),
      body: id => ({
        ...messages,
        messages: user('And then?'),
        thread: { type: 'continue', previous_message_id: id },
      }),
    },
  ],
  ...['/v1/messages', '/v1/messages/count_tokens'].map((path): readonly [string, Reference] => [
    `${path} file_id`,
    {
      kind: 'file',
      path: toPath(path),
      body: file_id => ({
        ...messages,
        messages: user([{ type: 'image', source: { type: 'file', file_id } }]),
      }),
    },
  ]),
  ...['/v1beta/interactions', '/v1/interactions'].map((path): readonly [string, Reference] => [
    `${path} previous_interaction_id`,
    {
      kind: 'interaction',
      path: toPath(path),
      body: id => ({ model: 'gx-2.5-flash', input: 'And?', previous_interaction_id: id }),
    },
  ]),
  [
    '/v1/images/edits file_id',
    {
      kind: 'file',
      path: toPath('/v1/images/edits'),
      body: file_id => ({ model: 'gp-4o-image', prompt: 'Turn it', images: [{ file_id }] }),
    },
  ],
  [
    '/v1/batches input_file_id',
    {
      kind: 'batchFile',
      path: toPath('/v1/batches'),
      body: input_file_id => ({
        input_file_id,
        endpoint: '/v1/chat/completions',
        completion_window: '24h',
      }),
    },
  ],
  [
    '/v1/uploads/{upload_id}/complete part_ids',
    {
      kind: 'upload',
      by: 'part',
      path: (_, own) => `/v1/uploads/${own.upload.upload_id}/complete`,
      body: id => ({ part_ids: [id] }),
    },
  ],
  [
    '/ent/v2/img2video images',
    {
      kind: 'file',
      path: toPath('/ent/v2/img2video'),
      body: id => ({ model: 'vdq3', images: [id] }),
    },
  ],
  ...[
    ['/ent/v2/extend', { model: 'vdq2-turbo', prompt: 'on' }] as const,
    ['/ent/v2/upscale-new', { upscale_resolution: '4K' }] as const,
  ].map(([path, members]): readonly [string, Reference] => [
    `${path} video_creation_id`,
    {
      kind: 'task',
      by: 'creation',
      path: toPath(path),
      body: id => ({ ...members, video_creation_id: id }),
    },
  ]),
  ...onQueue('action', { customId: 'MJ::JOB::upsample::1::x' }),
  ...onQueue('change', { action: 'UPSCALE', index: 1 }),
  ...onQueue('modal', { prompt: 'a dog' }),
  [
    '/mj/task/list-by-condition ids',
    {
      kind: 'grid',
      path: toPath('/mj/task/list-by-condition'),
      body: id => ({ ids: [id] }),
    },
  ],
  [
    'PUT /api/token/ id',
    {
      kind: 'key',
      method: 'PUT',
      path: toPath('/api/token/'),
      body: id => ({ id: Number(id), name: 'renamed' }),
    },
  ],
  ...['keys', 'system-tokens'].flatMap((path): readonly (readonly [string, Reference])[] => [
    [
      `POST /api/${path} member`,
      {
        kind: 'member',
        path: toPath(`/api/${path}`),
        body: member => ({ name: `for ${path}`, member }),
      },
    ],
    [
      `PATCH /api/${path}/{id} member`,
      {
        kind: 'member',
        method: 'PATCH',
        path: (_, own) => `/api/${path}/${(path === 'keys' ? own.key : own.token).id}`,
        body: member => ({ member }),
      },
    ],
  ]),
  [
    'POST /upload/v1beta/files upload_id',
    {
      kind: 'providerUpload',
      path: id => `/upload/v1beta/files?upload_id=${id}`,
      body: toPath('a text'),
    },
  ],
  inQuery('file', 'after', toPath('/v1/files')),
  inQuery('batch', 'after', toPath('/v1/batches')),
  inQuery('messageBatch', 'after_id', toPath('/v1/messages/batches')),
  inQuery('messageBatch', 'before_id', toPath('/v1/messages/batches')),
  inQuery('response', 'after', own => `/v1/responses/${own.response.id}/input_items`, 'input'),
  inQuery('conversation', 'after', own => `/v1/conversations/${own.conversation.id}/items`, 'item'),
  inQuery('task', 'task_ids', toPath('/ent/v2/tasks')),
  inQuery('video', 'after', toPath('/v1/videos')),
  inQuery('member', 'member', toPath('/api/usage')),
  inQuery('call', 'key', toPath('/api/usage'), 'key'),
]

/** Counts of tokens are estimates if a file is named, whether or not it is there; members have no
 *  calls; and one video follows no other. */
const ALIKE_FOR_OWNER: ReadonlySet<string> = new Set([
  'member of member',
  'after of video',
  '/v1/responses/input_tokens file_id',
  '/v1/messages/count_tokens file_id',
])

const askWith = (account: Account, reference: Reference, id: string, own: Objects) => {
  const { path, body, method = body ? 'POST' : 'GET' } = reference
  const request = { method, path: path(id, own), ...(body && { body: body(id, own) }) }
  return ask(account, request)
}
const idIn = (objects: Objects, { kind, by }: Pick<Reference, 'kind' | 'by'>): string =>
  (by === undefined ? Object.values(objects[kind])[0] : objects[kind][by]) ?? ''

const [owner, caller, third] = [
  await makeAccount('owner'),
  await makeAccount('caller'),
  await makeAccount('third'),
]
const [owned, own, others] = [
  await makeObjects(owner),
  await makeObjects(caller),
  await makeObjects(third),
]

const foreignAnswers: Response[] = []
t.test('foreign ids: in bodies and queries, they are answered as unknown ones', async t => {
  await scriptAnswers()
  await upstream.forget()
  for (const [name, reference] of REFERENCES) {
    const id = idIn(owned, reference)
    const unknown = unknownOf(id)
    const response = await askWith(caller, reference, id, own)
    foreignAnswers.push(response)
    const missing = await askWith(caller, reference, unknown, own)
    checkAlike(t, name, { response, ids: { id } }, { response: missing, ids: { id: unknown } })
  }
  t.same(await askedUpstreams(), [], 'no upstream was asked')
})

const contentOf = (fileUri: string) => [
  { role: 'user', parts: [{ fileData: { fileUri, mimeType: 'text/plain' } }] },
]
const contents = contentOf('files/x').map(({ role }) => ({ role, parts: [{ text: 'Hello' }] }))
/** Bodies that name a file of Gemini, by operation. Embeddings are of texts alone. */
const FILES: Readonly<Record<string, (uri: string) => object>> = {
  ':generateContent': uri => ({ contents: contentOf(uri) }),
  ':streamGenerateContent': uri => ({ contents: contentOf(uri) }),
  ':countTokens': uri => ({ contents: contentOf(uri) }),
}
const CACHES: Readonly<Record<string, (cachedContent: string) => object>> = {
  ':generateContent': cachedContent => ({ contents, cachedContent }),
  ':streamGenerateContent': cachedContent => ({ contents, cachedContent }),
  ':countTokens': cachedContent => ({ generateContentRequest: { contents, cachedContent } }),
}
const MODEL = 'gx-2.5-flash'
const addressesOf = (name: string): readonly string[] => [
  name,
  `https://generativelanguage.googleapis.com/v1beta/${name}`,
  `https://generativelanguage.googleapis.com/v1beta/${name.replace('files/', '%66iles%2F')}`,
]

t.test('foreign ids: objects at Gemini of other accounts are answered alike', async t => {
  await scriptAnswers()
  await upstream.forget()
  const check = async (path: string, body: (id: string) => object, ids: readonly string[]) => {
    const [response, other] = await Promise.all(
      ids.map(id => ask(caller, { method: 'POST', path, body: body(id) })),
    )
    const [id = '', otherId = ''] = ids.map(id => id.replace(/^.*(?:\/|%2F)/, ''))
    t.match(
      response,
      { status: 404, text: 'does not exist, or it belongs to another account' },
      path,
    )
    if (response && other)
      checkAlike(t, path, { response, ids: { id } }, { response: other, ids: { id: otherId } })
  }
  for (const version of ['v1beta', 'v1']) {
    for (const [operation, body] of Object.entries(FILES))
      for (const at of [0, 1, 2])
        await check(
          `/${version}/models/${MODEL}${operation}`,
          body,
          [owned, others].map(
            ({ providerFile }) => addressesOf(`files/${providerFile.file_id}`)[at] ?? '',
          ),
        )
    for (const [operation, body] of Object.entries(CACHES))
      await check(
        `/${version}/models/${MODEL}${operation}`,
        body,
        [owned, others].map(({ cache }) => `cachedContents/${cache.cache}`),
      )
    await check(
      `/${version}/cachedContents`,
      uri => ({ model: 'models/gx-2.5-flash', contents: contentOf(uri) }),
      [owned, others].map(({ providerFile }) => `files/${providerFile.file_id}`),
    )
    await check(
      `/${version}/interactions`,
      uri => ({ model: 'gx-2.5-flash', input: [{ type: 'document', uri }] }),
      [owned, others].map(({ providerFile }) => `files/${providerFile.file_id}`),
    )
  }
  t.same(await askedUpstreams(), [], 'no upstream was asked')
})

t.test('foreign ids: on a WebSocket, they are answered as unknown ones', async t => {
  await upstream.forget()
  const socket = new WebSocket(`${gateway.url}/v1/responses`.replace('http', 'ws'), {
    headers: { authorization: `Bearer ${caller.key}` },
  })
  await once(socket, 'open')
  t.teardown(() => socket.terminate())
  const answerTo = async (id: string): Promise<string> => {
    const answer = once(socket, 'message')
    const body = { type: 'response.create', ...responses, previous_response_id: id }
    socket.send(JSON.stringify(body))
    return String((await answer)[0])
      .replaceAll(id, 'ID')
      .replaceAll(/req_[0-9a-f]{32}/g, 'REQUEST')
  }
  const id = owned.response.id ?? ''
  const [foreign, unknown] = [await answerTo(id), await answerTo(unknownOf(id))]
  t.equal(foreign, unknown)
  t.match(foreign, "Previous response with id 'ID' not found.")
  t.same(await askedUpstreams(), [], 'no upstream was asked')
})

// The last test: some of these requests go on in the background.
t.test('foreign ids: their owner is answered otherwise', async t => {
  for (const [at, [name, reference]] of REFERENCES.entries()) {
    if (ALIKE_FOR_OWNER.has(name)) continue
    const response = await askWith(owner, reference, idIn(owned, reference), owned)
    checkOwn(t, name, response, foreignAnswers[at] as Response)
  }
})
