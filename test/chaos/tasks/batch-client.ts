/** A client of a chaos run that starts batches one after the other, and what must hold of their
 *  lines afterwards. */
import type { OpenDatabase } from '../../../engine/store/database.ts'
import { sql } from '../../helpers/store/store.ts'

const LINES = 12
/** ms between two batches. */
const PAUSE = 400
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

/** The routes that batches need. */
export const BATCH_ROUTES = `
  - { path: POST /v1/files, files: upload, body: { limit: 2GiB }, errors: openai }
  - { path: POST /v1/batches, batches: create, errors: openai }
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }`

const lineOf = (id: string): string =>
  JSON.stringify({
    custom_id: id,
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'chat', messages: [{ role: 'user', content: id }], max_tokens: 20 },
  })

/** Starts batches until `isOver`. Resolves to the ids that the gateway has acknowledged. */
export const startBatches = async (
  url: () => string,
  key: string,
  isOver: () => boolean,
): Promise<readonly string[]> => {
  const acknowledged: string[] = []
  const authorization = `Bearer ${key}`
  for (let count = 0; !isOver(); count++) {
    try {
      const form = new FormData()
      const lines = Array.from({ length: LINES }, (_, at) => lineOf(`${count}-${at}`))
      form.append('purpose', 'batch')
      form.append('file', new Blob([lines.join('\n')]), 'in.jsonl')
      const headers = { authorization }
      const upload = await fetch(`${url()}/v1/files`, { method: 'POST', headers, body: form })
      const { id: input_file_id } = (await upload.json()) as { readonly id?: string }
      const body = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' }
      const created = await fetch(`${url()}/v1/batches`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      const { id } = (await created.json()) as { readonly id?: string }
      if (upload.ok && created.ok && id) acknowledged.push(id)
    } catch {
      // The gateway was killed: nothing is known of this batch.
    }
    await pause(PAUSE)
  }
  return acknowledged
}

export const OPEN_BATCHES =
  "SELECT count(*) AS open FROM batches WHERE state NOT IN ('completed', 'failed', 'cancelled', 'expired')"

/** Every acknowledged batch is there; each line of a batch has an outcome, and the completed ones
 *  have one charge each that was not given back. A line whose answer was lost three times fails. */
export const batchViolations = async (
  database: OpenDatabase,
  acknowledged: readonly string[],
): Promise<readonly string[]> => {
  const violations: string[] = []
  const rows = await database.read(sql('batches', 'SELECT * FROM batches'), [])
  const ids = new Set(rows.map(({ id }) => String(id)))
  for (const id of acknowledged) if (!ids.has(id)) violations.push(`${id}: its batch is not stored`)
  for (const { id, state, total, completed, failed } of rows) {
    const counts = `${state}, ${completed} completed and ${failed} failed of ${total}`
    if (
      state !== 'completed' ||
      Number(total) !== LINES ||
      Number(completed) + Number(failed) !== LINES
    )
      violations.push(`${id}: ${counts}`)
    const like = `req_${String(id).replace('batch_', '')}_%`
    const charges = await database.read(
      sql(
        'line charges',
        `SELECT c.request FROM charges c WHERE c.request LIKE ? AND c.state = 'settled'
           AND NOT EXISTS (SELECT 1 FROM credits r WHERE r.request = c.request)`,
      ),
      [like],
    )
    const lines = charges.map(({ request }) => String(request).split('_').at(-2))
    if (lines.length !== Number(completed) || new Set(lines).size !== lines.length)
      violations.push(`${id}: ${counts}; ${lines.length} charges of ${new Set(lines).size} lines`)
  }
  return violations
}
