/** Requests that make a file, a batch or a conversation, which cost nothing at once. */
import {
  byKey,
  byPrepared,
  type Fields,
  fieldsIn,
  form,
  json,
  type Kind,
  member,
  messages,
  type Preparation,
} from './kind.ts'

const UPLOAD = {
  purpose: 'assistants',
  filename: 'parts.txt',
  bytes: 5,
  mime_type: 'text/plain',
}
const makeUpload = async ({ send }: Preparation): Promise<string> =>
  String((await send(json('/v1/uploads', UPLOAD))).id)
const part = (upload: string) => form(`/v1/uploads/${upload}/parts`, {}, ['data', 'part', 'Hello'])
const NAME_IN_METADATA = `replace(replace(metadata, '{"name":"', ''), '"}', '') AS name`
const uploadFile = async ({ send }: Preparation): Promise<string> => {
  const line = JSON.stringify({
    custom_id: 'one',
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'gp-4.1', ...messages('a line') },
  })
  const file = form('/v1/files', { purpose: 'batch' }, ['file', 'lines.jsonl', `${line}\n`])
  return String((await send(file)).id)
}

export const createStoredKinds = async (preparation: Preparation): Promise<readonly Kind[]> => {
  const input_file_id = await uploadFile(preparation)
  const free = { isBilled: false }
  return [
    {
      ...free,
      name: 'message batch',
      route: 'create-message-batch',
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
      ...free,
      name: 'batch',
      route: 'create-batch',
      make: name =>
        json('/v1/batches', {
          input_file_id,
          endpoint: '/v1/chat/completions',
          completion_window: '24h',
          metadata: { name },
        }),
      rows: `SELECT id, ${NAME_IN_METADATA} FROM batches`,
      idIn: member('id'),
    },
    {
      ...free,
      name: 'file',
      route: 'upload-file',
      make: name => form('/v1/files', { purpose: 'assistants' }, ['file', `${name}.txt`, name]),
      rows: "SELECT id, replace(filename, '.txt', '') AS name FROM stored_files",
      idIn: member('id'),
    },
    {
      ...free,
      name: 'upload',
      route: 'create-upload',
      make: name => json('/v1/uploads', { ...UPLOAD, filename: `${name}.txt` }),
      rows: "SELECT id, replace(filename, '.txt', '') AS name FROM uploads",
      idIn: member('id'),
    },
    {
      ...free,
      name: 'part',
      route: 'add-part',
      prepare: makeUpload,
      make: (_, upload) => part(upload),
      rows: "SELECT 'part_' || id AS id, filename AS name FROM stored_files WHERE purpose = 'upload_part'",
      nameOfRow: byPrepared,
      idIn: member('id'),
    },
    {
      ...free,
      name: 'complete upload',
      route: 'complete-upload',
      async prepare(preparation) {
        const upload = await makeUpload(preparation)
        return `${upload} ${(await preparation.send(part(upload))).id}`
      },
      make(_, prepared) {
        const [upload, id] = prepared.split(' ')
        return json(`/v1/uploads/${upload}/complete`, { part_ids: [id] })
      },
      rows: "SELECT file AS id, id AS name FROM uploads WHERE state = 'completed'",
      nameOfRow: ({ prepared }) => prepared.split(' ')[0] ?? '',
      idIn: text => String((fieldsIn(text).file as Fields).id),
    },
    {
      ...free,
      name: 'conversation',
      route: 'create-conversation',
      make: name => json('/v1/conversations', { metadata: { name } }),
      rows: `SELECT id, ${NAME_IN_METADATA} FROM stored_conversations`,
      idIn: member('id'),
    },
    {
      ...free,
      name: 'items',
      route: 'create-items',
      prepare: async ({ send }) => String((await send(json('/v1/conversations', {}))).id),
      make: (content, conversation) =>
        json(`/v1/conversations/${conversation}/items`, { items: [{ role: 'user', content }] }),
      rows: 'SELECT conversation AS id, conversation AS name FROM stored_turns',
      nameOfRow: byPrepared,
    },
    {
      ...free,
      name: 'provider file',
      route: 'upload-provider-file',
      make: name => ({
        path: '/upload/v1beta/files',
        init: {
          body: `--b\r\ncontent-type: application/json\r\n\r\n${JSON.stringify({ file: { displayName: name } })}\r\n--b\r\ncontent-type: text/plain\r\n\r\nHello\r\n--b--`,
          headers: {
            'x-goog-upload-protocol': 'multipart',
            'content-type': 'multipart/related; boundary=b',
          },
        },
      }),
      rows: "SELECT name AS id, details AS name FROM provider_resources WHERE kind = 'files'",
      nameIn: text => member('displayName')(text),
      idIn: text => String((fieldsIn(text).file as Fields).name),
    },
  ]
}
