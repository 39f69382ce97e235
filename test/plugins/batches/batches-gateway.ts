/** A gateway with files and batches over a real store, and what tests send it. */
import type { Test } from 'tap'
import type { Json, Plugin } from '../../../engine/plugin.ts'
import batches from '../../../plugins/batches/index.ts'
import files from '../../../plugins/files/index.ts'
import meter from '../../../plugins/meter.ts'
import { startMetered } from '../../helpers/gateway/metered.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import type { Engine } from '../../helpers/store/store.ts'

export type Fields = { readonly [name: string]: Json }
export const CHAT = '/v1/chat/completions'
/** Nanos: ten tokens in, five out, at half the price. */
export const PRICE = 10_000

export const startBatches = async (t: Test, engine: Engine = 'sqlite', batch: object = {}) => {
  const view = (path: string, plugin: 'files' | 'batches', name: string) => ({
    path,
    [plugin]: name,
    errors: 'openai',
  })
  const gateway = await startMetered(t, engine, {
    settings: { batch: { price: 0.5, ...batch } },
    more: { files: files as Plugin, batches: batches as Plugin, meter: meter as Plugin },
    routes: [
      { path: `POST ${CHAT}`, model: 'body', translate: 'openai-chat', errors: 'openai' },
      { ...view('POST /v1/files', 'files', 'upload'), body: { limit: '1GiB' } },
      view('GET /v1/files/{file_id}/content', 'files', 'content'),
      view('DELETE /v1/files/{file_id}', 'files', 'delete'),
      view('POST /v1/batches', 'batches', 'create'),
      view('GET /v1/batches', 'batches', 'list'),
      view('GET /v1/batches/{id}', 'batches', 'show'),
      view('POST /v1/messages', 'batches', 'show'),
      view('POST /v1/messages/batches', 'batches', 'create-messages'),
      view('GET /v1/messages/batches', 'batches', 'list-messages'),
      view('GET /v1/files', 'files', 'list'),
      view('POST /v1/uploads', 'files', 'create-upload'),
      view('POST /v1/uploads/{upload_id}/cancel', 'files', 'cancel-upload'),
      view('POST /v1/batches/{id}/cancel', 'batches', 'cancel'),
      { path: 'GET /api/usage', account: 'usage' },
    ],
  })
  const upload = async (lines: readonly object[]): Promise<string> => {
    const form = new FormData()
    form.append('purpose', 'batch')
    form.append('file', new Blob([lines.map(line => JSON.stringify(line)).join('\n')]), 'a.jsonl')
    const response = await fetch(`${gateway.url}/v1/files`, { method: 'POST', body: form })
    return ((await response.json()) as { id: string }).id
  }
  const read = async (path: string): Promise<Fields> =>
    JSON.parse((await gateway.send('GET', path)).text)
  return {
    ...gateway,
    upload,
    start: async (file: string): Promise<string> => {
      const body = { input_file_id: file, endpoint: CHAT, completion_window: '24h' }
      return JSON.parse((await gateway.send('POST', '/v1/batches', {}, body)).text).id
    },
    end: (id: string): Promise<Fields> =>
      eventually(async () => {
        const batch = await read(`/v1/batches/${id}`)
        const isEnded = ['completed', 'cancelled', 'expired', 'failed'].includes(
          String(batch.status),
        )
        return isEnded ? batch : undefined
      }),
    linesOf: async (file: Json | undefined): Promise<readonly Fields[]> => {
      const { text } = await gateway.send('GET', `/v1/files/${file}/content`)
      return text
        .trim()
        .split('\n')
        .map(line => JSON.parse(line))
    },
  }
}
export const linesWith = (...ids: readonly string[]) =>
  ids.map(id => ({
    custom_id: id,
    method: 'POST',
    url: CHAT,
    body: { model: 'talk', messages: [{ role: 'user', content: id }], max_tokens: 50 },
  }))
