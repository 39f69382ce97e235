/** The kinds of requests that cost money or make something: how each is made, and how its effect is
 *  found. */

interface Call {
  readonly path: string
  readonly init: {
    readonly body: string | FormData
    readonly headers: Readonly<Record<string, string>>
  }
}
export interface Kind {
  readonly name: string
  /** Whether each request is charged once. */
  readonly isBilled: boolean
  /** `name`: unique; it is in the request, so that its rows can be found. */
  make(name: string): Call
  readonly isStream?: boolean
  /** In place of the API key of the request. */
  readonly token?: string
  /** Whether a repetition may be told only that it happened. */
  readonly replayIsRefused?: boolean
  /** Whether the answer lacks its end. */
  isBroken?(text: string): boolean
  /** Reads `id` and `name` of all that requests of this kind made, and `free`: 1 if it need not
   *  be charged. */
  readonly rows?: string
  /** The name of a row, where it is not the name of the request. */
  nameOfRow?(request: { readonly name: string; readonly key: number }): string
  /** The id that the answer names. */
  idIn(text: string): string
}

const json = (path: string, body: object): Call => ({
  path,
  init: { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } },
})
const member = (name: string) => (text: string) =>
  String((JSON.parse(text) as { readonly [name: string]: unknown })[name])
const NO_ID = { idIn: () => '' }
/** One that failed after its answer is free. */
const RESPONSES = `SELECT s.id, COALESCE(p.piece, s.input) AS name,
     CASE WHEN s.status = 'failed' THEN 1 ELSE 0 END AS free
   FROM stored_responses s LEFT JOIN stored_response_parts p
     ON p.account = s.account AND p.response = s.id AND p.name = 'input'`
const TASKS =
  "SELECT id, key AS name, CASE WHEN state = 'failed' THEN 1 ELSE 0 END AS free FROM tasks"
const byKey = ({ key }: { readonly key: number }): string => String(key)
const task = (name: string, path: string, idIn: string, body: object): Kind => ({
  name,
  isBilled: true,
  make: prompt => json(path, { prompt, ...body }),
  rows: TASKS,
  nameOfRow: byKey,
  idIn: member(idIn),
})
const billed = (name: string, path: string, make: (name: string) => object): Kind => ({
  ...NO_ID,
  name,
  isBilled: true,
  make: each => json(path, make(each)),
})
const messages = (content: string) => ({ messages: [{ role: 'user', content }] })

const form = (fields: Readonly<Record<string, string>>, name: string, bytes: string): FormData => {
  const parts = new FormData()
  for (const [field, value] of Object.entries(fields)) parts.append(field, value)
  parts.append('file', new Blob([bytes]), name)
  return parts
}

/** Requests of operators. */
const operatorKinds = (token: string): readonly Kind[] => [
  {
    name: 'credit',
    isBilled: false,
    token,
    replayIsRefused: true,
    make: note => json('/api/admin/accounts/credit', { account: '1', amount: '0.01', note }),
    rows: "SELECT id, replace(note, ' (by admin)', '') AS name FROM credits",
    idIn: text => String((JSON.parse(text) as { data: { credit: number } }).data.credit),
  },
  {
    name: 'key',
    isBilled: false,
    token,
    replayIsRefused: true,
    make: name => json('/api/keys', { name: `made ${name}` }),
    rows: "SELECT id, replace(name, 'made ', '') AS name FROM api_keys WHERE name LIKE 'made %'",
    idIn: text => String((JSON.parse(text) as { data: { id: number } }).data.id),
  },
]
/** `key`: of the account; it uploads the file that batches refer to. `token`: of its operator. */
export const createKinds = async (
  url: string,
  key: string,
  token: string,
): Promise<readonly Kind[]> => {
  const line = JSON.stringify({
    custom_id: 'one',
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'gp-4.1', ...messages('a line') },
  })
  const upload = await fetch(`${url}/v1/files`, {
    method: 'POST',
    body: form({ purpose: 'batch' }, 'lines.jsonl', `${line}\n`),
    headers: { authorization: `Bearer ${key}` },
  })
  const { id: input_file_id } = (await upload.json()) as { readonly id: string }
  return [
    billed('chat', '/v1/chat/completions', name => ({ model: 'gp-4.1', ...messages(name) })),
    {
      ...billed('chat stream', '/v1/chat/completions', name => ({
        model: 'gp-4.1',
        stream: true,
        ...messages(name),
      })),
      isStream: true,
      isBroken: text => !text.trimEnd().endsWith('data: [DONE]'),
    },
    task('ent video', '/ent/v2/text2video', 'task_id', { model: 'vdq3-turbo', duration: 5 }),
    billed('messages', '/v1/messages', name => ({
      model: 'cl-sonnet-4-5',
      max_tokens: 20,
      ...messages(name),
    })),
    task('videos', '/v1/videos', 'id', { model: 'vdq3-turbo', seconds: '5' }),
    billed('completions', '/v1/completions', prompt => ({ model: 'gp-4.1', prompt })),
    billed('interaction', '/v1beta/interactions', input => ({ model: 'gx-2.5-flash', input })),
    {
      name: 'message batch',
      isBilled: false,
      make: custom_id =>
        json('/v1/messages/batches', {
          requests: [
            { custom_id, params: { model: 'cl-sonnet-4-5', max_tokens: 5, ...messages('Hello') } },
          ],
        }),
      rows: `SELECT 'msg' || b.id AS id, k.id AS name FROM batches b
        JOIN api_keys k ON b.slots LIKE '%"key":{"id":' || CAST(k.id AS TEXT) || ',%'`,
      nameOfRow: byKey,
      idIn: member('id'),
    },
    {
      name: 'upload',
      isBilled: false,
      make: name =>
        json('/v1/uploads', {
          purpose: 'assistants',
          filename: `${name}.txt`,
          bytes: 5,
          mime_type: 'text/plain',
        }),
      rows: "SELECT id, replace(filename, '.txt', '') AS name FROM uploads",
      idIn: member('id'),
    },
    ...operatorKinds(token),
    billed('embeddings', '/v1/embeddings', name => ({
      model: 'gp-embedding-3-small',
      input: name,
    })),
    task('mj', '/mj/submit/imagine', 'result', {}),
    {
      name: 'batch',
      isBilled: false,
      make: name =>
        json('/v1/batches', {
          input_file_id,
          endpoint: '/v1/chat/completions',
          completion_window: '24h',
          metadata: { name },
        }),
      rows: `SELECT id, replace(replace(metadata, '{"name":"', ''), '"}', '') AS name FROM batches`,
      idIn: member('id'),
    },
    {
      name: 'file',
      isBilled: false,
      make: name => ({
        path: '/v1/files',
        init: { body: form({ purpose: 'assistants' }, `${name}.txt`, name), headers: {} },
      }),
      rows: "SELECT id, replace(filename, '.txt', '') AS name FROM stored_files",
      idIn: member('id'),
    },
    billed('image', '/v1/images/generations', prompt => ({ model: 'dall-e-3', prompt })),
    {
      name: 'image task',
      isBilled: true,
      make: prompt => {
        const { path, init } = json('/v1/images/generations', { model: 'dall-e-3', prompt })
        return { path, init: { ...init, headers: { ...init.headers, prefer: 'respond-async' } } }
      },
      rows: TASKS,
      nameOfRow: byKey,
      idIn: member('id'),
    },
    {
      name: 'response',
      isBilled: true,
      make: input => json('/v1/responses', { model: 'gp-4.1', input }),
      rows: RESPONSES,
      nameOfRow: ({ name }) => JSON.stringify(name),
      idIn: member('id'),
    },
    {
      name: 'background response',
      isBilled: true,
      make: input => json('/v1/responses', { model: 'gp-4.1', input, background: true }),
      rows: RESPONSES,
      nameOfRow: ({ name }) => JSON.stringify(name),
      idIn: member('id'),
    },
    {
      name: 'conversation',
      isBilled: false,
      make: name => json('/v1/conversations', { metadata: { name } }),
      rows: `SELECT id, replace(replace(metadata, '{"name":"', ''), '"}', '') AS name FROM stored_conversations`,
      idIn: member('id'),
    },
    billed('rerank', '/v1/rerank', query => ({
      model: 'rerank-v3.5',
      query,
      documents: ['one', 'two'],
    })),
  ]
}
