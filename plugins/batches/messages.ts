/** The endpoints over batches of messages: create, show, list, cancel, results, delete. The
 *  requests become a stored file, which the batch reads as it reads those of customers. */
import type { Bytes, Exchange, HostBase } from '../../engine/plugin.ts'
import { ownerOf, ownWorkValues } from '../credentials/members.ts'
import { integerIn } from '../dialects/openai-query.ts'
import { fileStoreOf } from '../file-store/file-store.ts'
import { type Fields, isFields, lenientText, parseJson } from '../formats/fields.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { ACCOUNT } from '../slots.ts'
import { type Batch, batchOf, isFinal, MESSAGES } from './batch.ts'
import { fault } from './faults.ts'
import { linesIn } from './input.ts'
import { messageBatchId, messageBatchView, resultOf } from './message-batch.ts'
import { PAGE, PAGE_BEFORE, withdrawBatch } from './statements.ts'
import { beginBatch, cancelOwn, findBatch, type View } from './views.ts'

const LIMIT = { usual: 20, largest: 1_000 }
/** Headers of the request that creates a batch; each request of the batch gets them too. */
const REQUEST_HEADERS = ['anthropic-version', 'anthropic-beta']

const viewOf = (batch: Batch, host: HostBase) =>
  messageBatchView(batch, host.url(`${MESSAGES}/batches/${messageBatchId(batch)}/results`))
const findMessages = (id: string, exchange: Exchange, host: HostBase): Promise<Batch> =>
  findBatch(id, exchange, host, true)
const find = (exchange: Exchange, host: HostBase): Promise<Batch> =>
  findMessages(exchange.params.id ?? '', exchange, host)

const create: View = async (exchange, host) => {
  const { request } = exchange
  const { route } = host.match('POST', MESSAGES)
  if (!route) throw fault('BATCH_ENDPOINT', [MESSAGES, 'none'])
  const requests = ((await request.json()) as Fields).requests as readonly Fields[]
  checkIds(requests)
  const headers = Object.fromEntries(
    REQUEST_HEADERS.flatMap(name => (request.headers[name] ? [[name, request.headers[name]]] : [])),
  )
  const lines = requests.map(({ custom_id, params }) => ({
    custom_id,
    method: 'POST',
    url: MESSAGES,
    headers,
    body: params,
  }))
  const batch = await beginBatch(exchange, host, {
    endpoint: MESSAGES,
    route: route.name,
    inputFile: await storeLines(exchange, host, lines),
    metadata: null,
    outputLifetime: undefined,
    total: requests.length,
  })
  exchange.answer(200, viewOf(batch, host))
}
const checkIds = (requests: readonly Fields[]): void => {
  const ids = new Set<string>()
  for (const { custom_id } of requests) {
    const id = String(custom_id)
    if (ids.has(id)) throw fault('BATCH_ID_TWICE', [id])
    ids.add(id)
  }
}
const storeLines = async (
  exchange: Exchange,
  host: HostBase,
  lines: readonly object[],
): Promise<string> => {
  const store = fileStoreOf(host)
  const writer = await store.begin()
  try {
    for (const line of lines) await writer.write(Buffer.from(`${JSON.stringify(line)}\n`))
    const created = Date.now()
    const file = await store.saveWith(exchange, writer, {
      ...ownerOf(exchange.slots.need(ACCOUNT)),
      purpose: 'batch',
      filename: 'message_batch.jsonl',
      type: 'application/jsonl',
      created,
      expires: created + store.settings.batchLifetime,
    })
    return file.id
  } catch (error) {
    await writer.abort().catch(() => {})
    throw error
  }
}

const show: View = async (exchange, host) => {
  exchange.answer(200, viewOf(await find(exchange, host), host))
}
const list: View = async (exchange, host) => {
  const { query } = exchange.request
  const account = exchange.slots.need(ACCOUNT)
  const limit = integerIn('limit', query.get('limit') ?? String(LIMIT.usual), 1, LIMIT.largest)
  const before = query.get('before_id')
  const id = before ?? query.get('after_id')
  const last = id ? await findMessages(id, exchange, host) : undefined
  const position = [last?.created ?? Number.MAX_SAFE_INTEGER, last?.id ?? '']
  const page = before ? PAGE_BEFORE : PAGE
  const own = ownWorkValues(account)
  const rows = await host.database.read(page, [account.id, 1, ...own, ...position, limit + 1])
  const views = rows.slice(0, limit).map(row => viewOf(batchOf(row), host))
  if (before) views.reverse()
  exchange.answer(200, {
    data: views,
    first_id: views[0]?.id ?? null,
    last_id: views.at(-1)?.id ?? null,
    has_more: rows.length > limit,
  })
}
const cancel: View = async (exchange, host) => {
  const batch = await cancelOwn(host, () => find(exchange, host))
  exchange.answer(200, viewOf(batch, host))
}

const results: View = async (exchange, host) => {
  const batch = await find(exchange, host)
  if (!isFinal(batch)) throw fault('BATCH_UNFINISHED', [messageBatchId(batch)])
  const headers = { 'content-type': 'application/x-jsonl' }
  exchange.answer(200, resultLines(batch, host), headers)
}
/** Results of the requests that have one, then those that a cancel has kept back. */
async function* resultLines(batch: Batch, host: HostBase): AsyncGenerator<Bytes> {
  const ids = new Set<string>()
  for (const file of [batch.outputFile, batch.errorFile])
    for await (const text of fileLines(file, batch, host)) {
      const result = resultOf(text)
      ids.add(result.custom_id)
      yield encode(result)
    }
  if (batch.state !== 'cancelled') return
  for await (const text of fileLines(batch.inputFile, batch, host)) {
    const entry = parseJson(text)
    const id = isFields(entry) ? lenientText(entry, 'custom_id') : undefined
    if (id !== undefined && !ids.has(id))
      yield encode({ custom_id: id, result: { type: 'canceled' } })
  }
}
const encode = (result: object): Bytes => Buffer.from(`${JSON.stringify(result)}\n`)
async function* fileLines(
  id: string | undefined,
  { account }: Batch,
  host: HostBase,
): AsyncGenerator<string> {
  if (id === undefined) return
  const store = fileStoreOf(host)
  const file = await store.find(id, { id: account })
  for await (const { text } of linesIn(await store.read(file, 0, file.bytes)))
    if (text !== '') yield text
}

/** With its files: requests and results. */
const remove: View = async (exchange, host) => {
  const batch = await find(exchange, host)
  const id = messageBatchId(batch)
  if (!isFinal(batch)) throw fault('BATCH_RUNNING', [id])
  const store = fileStoreOf(host)
  await writeWithRetry(host.database, [withdrawBatch(batch.id)])
  for (const file of [batch.inputFile, batch.outputFile, batch.errorFile])
    if (file !== undefined && (await store.exists(file)))
      await store.remove(await store.find(file, { id: batch.account }))
  exchange.answer(200, { id, type: 'message_batch_deleted' })
}

export const MESSAGE_VIEWS: Readonly<Record<string, View>> = {
  'create-messages': create,
  'list-messages': list,
  'show-messages': show,
  'cancel-messages': cancel,
  'message-results': results,
  'delete-messages': remove,
}
