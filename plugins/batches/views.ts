/** The endpoints over batches of the calling account: create, show, list, cancel. */
import { isCode } from '../../engine/kit.ts'
import type { Exchange, Host, HostBase, Json, Statement } from '../../engine/plugin.ts'
import { accountEvents } from '../account-events/account-events.ts'
import { ownWorkValues, seesWork } from '../credentials/members.ts'
import { integerIn, listPage } from '../dialects/openai-query.ts'
import { fileStoreOf } from '../file-store/file-store.ts'
import type { Fields } from '../formats/fields.ts'
import { writeWhileAway, writeWithRetry } from '../ledger/write-with-retry.ts'
import { ACCOUNT } from '../slots.ts'
import { Undo } from '../undo/undo.ts'
import { type Batch, batchOf, batchView, isFinal, MESSAGES, makeBatchId } from './batch.ts'
import { fault } from './faults.ts'
import { batchIdOf } from './message-batch.ts'
import {
  cancelBatch,
  createBatch,
  FIND,
  PAGE,
  STATES,
  startBatch,
  withdrawBatch,
} from './statements.ts'

export type View = (exchange: Exchange, host: HostBase) => Promise<void>

/** Endpoints whose requests a batch may hold, if the configuration serves them. */
const ENDPOINTS = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/embeddings',
  '/v1/images/generations',
  '/v1/moderations',
  '/v1/responses',
]
const WINDOW = 86_400_000
const LIMIT = { usual: 20, largest: 100 }
const CANCEL_ATTEMPTS = 5

const create: View = async (exchange, host) => {
  const { request, slots } = exchange
  const account = slots.need(ACCOUNT)
  const body = (await request.json()) as Fields
  const endpoint = String(body.endpoint)
  const route = ENDPOINTS.includes(endpoint) ? host.match('POST', endpoint).route : undefined
  if (!route) {
    const names = endpointsIn(host).map(each => `'${each}'`)
    throw fault('BATCH_ENDPOINT', [endpoint.slice(0, 100), names.join(', ')])
  }
  const file = await fileStoreOf(host)
    .find(String(body.input_file_id), account)
    .catch(error => {
      throw isCode(error, 'FILE_UNKNOWN')
        ? Object.assign(error as Error, { param: 'input_file_id' })
        : error
    })
  if (file.purpose !== 'batch') throw fault('BATCH_FILE_PURPOSE', [file.id, file.purpose])
  const batch = await beginBatch(exchange, host, {
    endpoint,
    route: route.name,
    inputFile: file.id,
    metadata: body.metadata ?? null,
    outputLifetime: lifetimeIn(body.output_expires_after),
    total: 0,
  })
  exchange.answer(200, batchView(batch))
}
type NewBatch = Pick<
  Batch,
  'endpoint' | 'route' | 'inputFile' | 'metadata' | 'outputLifetime' | 'total'
>
/** Creates a batch of the calling account. It runs once its client is answered. */
export const beginBatch = async (
  exchange: Exchange,
  host: HostBase,
  fields: NewBatch,
): Promise<Batch> => {
  const { slots } = exchange
  const now = Date.now()
  const batch: Batch = {
    ...fields,
    id: makeBatchId(),
    account: slots.need(ACCOUNT).id,
    slots: slots.toJson(),
    state: 'validating',
    ending: undefined,
    times: {},
    errors: [],
    completed: 0,
    failed: 0,
    outputFile: undefined,
    errorFile: undefined,
    created: now,
    expires: now + WINDOW,
  }
  const heldBy = await host.membership.name()
  Undo.of(exchange).add({
    undo: [withdrawBatch(batch.id)],
    onKept: () => void writeWhileAway(host.database, [startBatch(batch.id)], () => true),
  })
  exchange.writes.add(createBatch(batch, heldBy))
  return batch
}
/** Endpoints that a batch may name. */
export const endpointsIn = (host: HostBase): readonly string[] =>
  ENDPOINTS.filter(endpoint => host.match('POST', endpoint).route)
const lifetimeIn = (value: Json | undefined): number | undefined => {
  const { seconds } = (value ?? {}) as { readonly seconds?: number }
  return seconds === undefined ? undefined : seconds * 1_000
}
/** A batch of the calling account, by the id that the client has. `ofMessages`: its kind. */
export const findBatch = async (
  named: string,
  { slots }: Exchange,
  host: HostBase,
  ofMessages = false,
): Promise<Batch> => {
  const id = ofMessages ? batchIdOf(named) : named
  const account = slots.need(ACCOUNT)
  const [row] = await host.database.read(FIND, [id, account.id, ...ownWorkValues(account)])
  if (!row || (row.endpoint === MESSAGES) !== ofMessages)
    throw fault('BATCH_UNKNOWN', [named.slice(0, 100)])
  return batchOf(row)
}
const find = (exchange: Exchange, host: HostBase): Promise<Batch> =>
  findBatch(exchange.params.id ?? '', exchange, host)
const show: View = async (exchange, host) => {
  exchange.answer(200, batchView(await find(exchange, host)))
}
const list: View = async (exchange, host) => {
  const { query } = exchange.request
  const account = exchange.slots.need(ACCOUNT)
  const limit = integerIn('limit', query.get('limit') ?? String(LIMIT.usual), 1, LIMIT.largest)
  const after = query.get('after')
  const last = after ? await findBatch(after, exchange, host) : undefined
  const position = [last?.created ?? Number.MAX_SAFE_INTEGER, last?.id ?? '']
  const own = ownWorkValues(account)
  const rows = await host.database.read(PAGE, [account.id, 0, ...own, ...position, limit + 1])
  const views = rows.slice(0, limit).map(row => batchView(batchOf(row)))
  exchange.answer(200, listPage(views, rows.length > limit))
}
/** Lines under way end, and are charged; no other is sent. `find` reads the batch. */
export const cancelFound = async (
  find: () => Promise<Batch>,
  write: (list: readonly Statement[], batch: Batch) => Promise<unknown>,
): Promise<Batch> => {
  for (let attempt = 1; ; attempt++) {
    const batch = await find()
    if (batch.state === 'cancelling') return batch
    if (isFinal(batch) || batch.state === 'finalizing') throw fault('BATCH_ENDED', [batch.state])
    try {
      await write([cancelBatch(batch, Date.now())], batch)
      return await find()
    } catch (error) {
      // It has moved on since it was read.
      if (!isCode(error, 'BATCH_MOVED') || attempt === CANCEL_ATTEMPTS) throw error
    }
  }
}
/** For the customer. */
export const cancelOwn = (
  { database }: Pick<HostBase, 'database'>,
  find: () => Promise<Batch>,
): Promise<Batch> => cancelFound(find, list => writeWithRetry(database, list))
const cancel: View = async (exchange, host) => {
  exchange.answer(200, batchView(await cancelOwn(host, () => find(exchange, host))))
}

/** Changes of the batches of the calling account, as they happen. */
export const batchEvents = (host: Host): ((exchange: Exchange) => Promise<void>) =>
  accountEvents(
    host,
    STATES,
    ({ id, state, completed, failed, total }) => ({
      id: String(id),
      status: String(state),
      completed: Number(completed),
      failed: Number(failed),
      total: Number(total),
    }),
    seesWork,
  )

export const VIEWS: Readonly<Record<string, View>> = { create, show, list, cancel }
