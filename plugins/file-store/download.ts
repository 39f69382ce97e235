/** Sends a file: whole or a range of it (RFC 9110 §14), with headers that no browser misreads. */
import type { Exchange, Headers } from '../../engine/plugin.ts'
import { fault } from './faults.ts'
import type { FileStore } from './file-store.ts'
import { rangeIn } from './range.ts'
import type { StoredFile } from './stored-file.ts'

/** Media types that a browser may show: no scripts run in them. */
const INLINE_TYPES = /^(?:image\/(?:png|jpeg|webp|gif)|video\/|audio\/)/

export const download = async (
  exchange: Exchange,
  store: FileStore,
  file: StoredFile,
  disposition: 'attachment' | 'inline',
): Promise<void> => {
  const { headers, method } = exchange.request
  const etag = `"${file.sha256}"`
  const isShown = disposition === 'inline' && INLINE_TYPES.test(file.type)
  const head: Headers = {
    'accept-ranges': 'bytes',
    'cache-control': 'private',
    'content-disposition': `${isShown ? 'inline' : 'attachment'}; ${filenameOf(file.filename)}`,
    'content-type': file.type,
    etag,
    'last-modified': new Date(file.created).toUTCString(),
    'x-content-type-options': 'nosniff',
  }
  if (namesTag(headers['if-none-match'], etag)) return void exchange.answer(304, undefined, head)
  const range = rangeIn(headers, etag, file.bytes)
  if (range === 'unsatisfiable') {
    const size = { 'content-range': `bytes */${file.bytes}` }
    throw fault('RANGE_UNSATISFIABLE', [file.bytes], { headers: size })
  }
  const { start, end } = range ?? { start: 0, end: file.bytes }
  const length = { 'content-length': String(end - start) }
  const part = range && { 'content-range': `bytes ${start}-${end - 1}/${file.bytes}` }
  const body = method === 'HEAD' ? undefined : await store.read(file, start, end)
  exchange.answer(range ? 206 : 200, body, { ...head, ...length, ...part })
}
const namesTag = (header: string | undefined, etag: string): boolean =>
  header?.split(',').some(each => each.trim().replace(/^W\//, '') === etag) ?? false

/** RFC 6266: a plain form for old clients, and the exact one if they differ. */
const filenameOf = (filename: string): string => {
  const plain = filename.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  if (plain === filename) return `filename="${plain}"`
  const exact = encodeURIComponent(filename).replace(
    /['()*]/g,
    each => `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `filename="${plain}"; filename*=UTF-8''${exact}`
}
