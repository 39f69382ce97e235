/** Reads the request log of a data folder: pages, one record, and new records as they come. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { errors } from '../errors.ts'
import type { RequestFilter, RequestLog, RequestPage, RequestRecord } from './contract.ts'
import { type LogFile, listFiles, requestFolder } from './files.ts'
import { compileFilter, parseLine, requiredTexts } from './filter.ts'
import { lineStart, linesAfter, linesBackwards } from './lines.ts'

const fault = errors({
  LOG_CURSOR: [400, '`cursor` must be the `next` of the previous page', { param: 'cursor' }],
})

/** ms by which the first line of a file may be older than the file: it waited for the write. */
const SLOWEST_WRITE = 60_000
/** ms between two looks for new lines. */
const POLL = 200

export const openRequestLog = (folder: string): RequestLog => ({
  folder,
  page: (filter, limit, cursor) => readPage(folder, filter, limit, cursor),
  find: id => findRecord(folder, id),
  follow: (filter, signal) => followRecords(folder, filter, signal),
})

/** That of a data folder. */
export const requestLogOf = (data: string): RequestLog => openRequestLog(requestFolder(data))

// ---------------------------------------------------------------- pages

/** The last record of a page: its time, and how many records of this time were read. */
interface Mark {
  readonly time: number
  readonly count: number
}

const readPage = async (
  folder: string,
  filter: RequestFilter,
  limit: number,
  cursor: string | undefined,
): Promise<RequestPage> => {
  const mark = cursor === undefined ? undefined : decodeMark(cursor)
  const until = Math.min(filter.until ?? Number.MAX_SAFE_INTEGER, mark ? mark.time + 1 : Infinity)
  const rows: RequestRecord[] = []
  let last: Mark = { time: -1, count: 0 }
  for await (const record of recordsBackwards(folder, { ...filter, until })) {
    const count = record.time === last.time ? last.count + 1 : 1
    const isRead = mark !== undefined && record.time === mark.time && count <= mark.count
    if (!isRead && rows.length === limit) return { rows, next: `${last.time}-${last.count}` }
    last = { time: record.time, count }
    if (!isRead) rows.push(record)
  }
  return { rows, next: null }
}
const decodeMark = (cursor: string): Mark => {
  const [, time, count] = /^(\d{1,15})-(\d{1,9})$/.exec(cursor) ?? []
  if (time === undefined || count === undefined) throw fault('LOG_CURSOR')
  return { time: Number(time), count: Number(count) }
}

/** The records that pass, latest first: merges the files, each of which is in order of time. */
async function* recordsBackwards(
  folder: string,
  filter: RequestFilter,
): AsyncGenerator<RequestRecord> {
  const waiting = listFiles(folder).filter(
    ({ begin }) => begin - SLOWEST_WRITE < (filter.until ?? Infinity),
  )
  const open: { readonly records: AsyncGenerator<RequestRecord>; head: RequestRecord }[] = []
  // A file is opened once the records of the others are older than its end, which is not known:
  // files of one process do not overlap, so its successor must be read first.
  const streams = new Map<string, LogFile[]>()
  for (const file of waiting) {
    const owner = file.name.split('-')[1] ?? ''
    streams.set(owner, [...(streams.get(owner) ?? []), file])
  }
  try {
    for (const files of streams.values()) {
      const records = recordsOf(files.toReversed(), filter)
      const first = await records.next()
      if (!first.done) open.push({ records, head: first.value })
    }
    while (open.length > 0) {
      const next = open.reduce((best, each) => (each.head.time > best.head.time ? each : best))
      yield next.head
      const following = await next.records.next()
      if (following.done) open.splice(open.indexOf(next), 1)
      else next.head = following.value
    }
  } finally {
    for (const { records } of open) await records.return(undefined)
  }
}

/** The records of the files of one process, latest first. */
async function* recordsOf(
  files: readonly LogFile[],
  filter: RequestFilter,
): AsyncGenerator<RequestRecord> {
  const passes = compileFilter(filter)
  const texts = requiredTexts(filter)
  for (const { path } of files)
    for await (const line of linesBackwards(path)) {
      if (filter.since !== undefined && timeOf(line) < filter.since) return
      if (texts && !texts.some(text => line.includes(text))) continue
      const record = parseLine(line)
      if (record && passes(record)) yield record
    }
}
/** Without parsing the line, in which the time comes first; Infinity if it is not there. */
const timeOf = (line: string): number =>
  Number(/^\{"level":"\w+","time":(\d+)/.exec(line)?.[1] ?? Infinity)

// ---------------------------------------------------------------- one record

const findRecord = async (folder: string, id: string): Promise<RequestRecord | undefined> => {
  const quoted = JSON.stringify(id)
  const texts = [`"id":${quoted}`, `"request_id":${quoted}`]
  for (const { path } of listFiles(folder).toReversed())
    for await (const line of linesBackwards(path)) {
      if (!texts.some(text => line.includes(text))) continue
      const record = parseLine(line)
      if (record && (record.id === id || record.request_id === id)) return record
    }
  return undefined
}

// ---------------------------------------------------------------- new records

async function* followRecords(
  folder: string,
  filter: RequestFilter,
  signal: AbortSignal,
): AsyncGenerator<readonly RequestRecord[]> {
  const passes = compileFilter(filter)
  const texts = requiredTexts(filter)
  // Sizes first, without waiting: a caller that reads a page next misses no record in between.
  const positions = new Map(listFiles(folder).map(({ name, path }) => [name, sizeOf(path)]))
  for (const [name, size] of positions)
    positions.set(name, await lineStart(join(folder, name), size))
  while (!signal.aborted) {
    const records: RequestRecord[] = []
    const files = listFiles(folder)
    for (const { name, path } of files) {
      const { lines, at } = await linesAfter(path, positions.get(name) ?? 0)
      positions.set(name, at)
      for (const line of lines) {
        if (texts && !texts.some(text => line.includes(text))) continue
        const record = parseLine(line)
        if (record && passes(record)) records.push(record)
      }
    }
    const names = new Set(files.map(({ name }) => name))
    for (const name of positions.keys()) if (!names.has(name)) positions.delete(name)
    if (records.length > 0) yield records.sort((a, b) => a.time - b.time)
    await pause(POLL, undefined, { signal }).catch(() => {})
  }
}
const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0
