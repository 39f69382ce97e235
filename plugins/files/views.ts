/** The endpoints over stored files of the calling account: list, show, delete, content; and the
 *  download by a signed URL, without an account. */
import type { Exchange, HostBase } from '../../engine/plugin.ts'
import { readAs } from '../credentials/members.ts'
import { integerIn, listPage, orderIn } from '../dialects/openai-query.ts'
import { download } from '../file-store/download.ts'
import { type FileStore, fileStoreOf } from '../file-store/file-store.ts'
import { PURPOSES } from '../file-store/settings.ts'
import { readSignedUrl } from '../file-store/signed-url.ts'
import { PAGES } from '../file-store/statements.ts'
import { fileOf, type StoredFile } from '../file-store/stored-file.ts'
import { ACCOUNT } from '../slots.ts'
import { fault } from './faults.ts'
import { deletedView, fileView } from './view.ts'

export type View = (exchange: Exchange, host: HostBase) => Promise<void>

const MAX_LIMIT = 10_000
/** Batches store their results with it; no upload may name it. */
const BATCH_OUTPUT = 'batch_output'

const findFile = ({ params, slots }: Exchange, store: FileStore): Promise<StoredFile> =>
  store.find(params.file_id ?? '', slots.need(ACCOUNT))

const list: View = async (exchange, host) => {
  const { query } = exchange.request
  const caller = exchange.slots.need(ACCOUNT)
  const order = orderIn(query)
  const limit = integerIn('limit', query.get('limit') ?? String(MAX_LIMIT), 1, MAX_LIMIT)
  const purpose = purposeIn(query.get('purpose') ?? '')
  const after = query.get('after')
  const last = after ? await fileStoreOf(host).find(after, caller) : undefined
  const start = order === 'asc' ? -1 : Number.MAX_SAFE_INTEGER
  const position = [last?.created ?? start, last?.id ?? '']
  const values = [purpose, purpose, Date.now(), ...position, limit + 1]
  const rows = await readAs(host.database, caller, PAGES[order], values)
  exchange.answer(
    200,
    listPage(
      rows.slice(0, limit).map(row => fileView(fileOf(row))),
      rows.length > limit,
    ),
  )
}
const purposeIn = (text: string): string => {
  const purposes: readonly string[] = [...PURPOSES, BATCH_OUTPUT]
  if (text !== '' && !purposes.includes(text))
    throw fault('LIST_PURPOSE', [text.slice(0, 100), purposes.join(', ')])
  return text
}
const show: View = async (exchange, host) => {
  exchange.answer(200, fileView(await findFile(exchange, fileStoreOf(host))))
}
const remove: View = async (exchange, host) => {
  const store = fileStoreOf(host)
  const file = await findFile(exchange, store)
  await store.remove(file)
  exchange.answer(200, deletedView(file))
}
const content: View = async (exchange, host) => {
  const store = fileStoreOf(host)
  await download(exchange, store, await findFile(exchange, store), 'attachment')
}
const signed: View = async (exchange, host) => {
  const store = fileStoreOf(host)
  const { name = '' } = exchange.params
  const id = readSignedUrl(await store.secret(), name, exchange.request.query, Date.now())
  if (id === undefined) throw fault('LINK_INVALID')
  await download(exchange, store, await store.find(id, undefined), 'inline')
}

export const VIEWS: Readonly<Record<string, View>> = { list, show, delete: remove, content, signed }
