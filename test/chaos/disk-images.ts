/** Disk images after a power cut of the embedded store: the recorded writes, syncs and
 *  acknowledgements of its writer, in kernel order, and the files as a disk may hold them at any
 *  moment. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import {
  type ClientMessage,
  createFrameParser,
  type WriterMessage,
} from '../../engine/store/sqlite/frames.ts'
import { eventually } from '../helpers/primary.ts'
import { isTraced } from './faulty-gateway.ts'

/** The database file or its write-ahead log. */
type Name = 'db' | 'wal'
export type Files = Readonly<Record<Name, Buffer>>
type Change =
  | { readonly kind: 'write'; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: 'cut'; readonly size: number }
export type Event =
  | { readonly kind: 'change'; readonly name: Name; readonly change: Change }
  | { readonly kind: 'sync'; readonly name: Name }
  | { readonly kind: 'answered'; readonly lists: readonly Acknowledgement[] }
/** An acknowledgement: the charge of `request` is stored, or closed. */
export interface Acknowledgement {
  readonly request: string
  readonly closed: boolean
}

const CALLS = 'pwrite64,ftruncate,fsync,fdatasync,read,write,writev'
/** Traces the system calls of the writing process until `stop`, which resolves to its events. */
export const startRecording = async (pid: number, log: string) => {
  const args = ['-qq', '-y', '-xx', '-s', '16777216', '-e', `trace=${CALLS}`, '-o', log]
  const tracer = spawn('strace', [...args, '-p', String(pid)], { stdio: 'ignore' })
  await eventually(() => isTraced(pid) || undefined)
  return {
    async stop(): Promise<readonly Event[]> {
      const exit = once(tracer, 'exit')
      tracer.kill('SIGINT')
      await exit
      return eventsIn(readFileSync(log, 'latin1'))
    },
  }
}

/** `pwrite64(21</a/tollgate.db-wal>, "\x37…", 4096, 32) = 4096` */
const CALL = /^(\w+)\((\d+)<([^>]*)>(?:, "([^"]*)")?(?:, (\d+))?(?:, (\d+))?\) += (\d+)$/
const bytesOf = (hex = ''): Buffer => Buffer.from(hex.replaceAll('\\x', ''), 'hex')
const nameOf = (path: string): Name | undefined => {
  const plain = path.startsWith('\\x') ? bytesOf(path).toString() : path
  return plain.endsWith('.db-wal') ? 'wal' : plain.endsWith('.db') ? 'db' : undefined
}
const eventsIn = (log: string): readonly Event[] => {
  const events: Event[] = []
  const protocol = new ProtocolTrace(lists => void events.push({ kind: 'answered', lists }))
  for (const line of log.split('\n')) {
    const [, call, fd = '', path = '', hex, first, second, result] = CALL.exec(line) ?? []
    const name = nameOf(path)
    if (name === undefined) protocol.accept(call, fd, bytesOf(hex).subarray(0, Number(result)))
    else if (call === 'fsync' || call === 'fdatasync') events.push({ kind: 'sync', name })
    else if (call === 'ftruncate') {
      const change = { kind: 'cut', size: Number(first) } as const
      events.push({ kind: 'change', name, change })
    } else if (call === 'pwrite64') {
      const change = { kind: 'write', at: Number(second), bytes: bytesOf(hex) } as const
      events.push({ kind: 'change', name, change })
    }
  }
  return events
}

/** Decodes the protocol between clients and the writer: which statement lists are done, and which
 *  charge each concerns. */
class ProtocolTrace {
  readonly #onAcknowledged: (lists: readonly Acknowledgement[]) => void
  readonly #sides = new Map<string, (chunk: Buffer) => void>()
  /** Keyed by connection and number, because each connection numbers its own statements. */
  readonly #texts = new Map<string, string>()
  readonly #lists = new Map<string, Acknowledgement>()
  constructor(onAcknowledged: (lists: readonly Acknowledgement[]) => void) {
    this.#onAcknowledged = onAcknowledged
  }
  accept(call: string | undefined, fd: string, chunk: Buffer): void {
    const isRequest = call === 'read'
    if (chunk.length === 0 || (!isRequest && call !== 'write')) return
    const side = `${call} ${fd}`
    const parse =
      this.#sides.get(side) ??
      createFrameParser<ClientMessage & WriterMessage>(message =>
        isRequest ? this.#onRequest(fd, message) : this.#onResponse(fd, message),
      )
    this.#sides.set(side, parse)
    try {
      parse(chunk)
    } catch {
      // A pipe of the Node runtime, not of the protocol.
      this.#sides.set(side, () => {})
    }
  }
  #onRequest(fd: string, { texts = [], lists = [] }: ClientMessage): void {
    for (const [number, text] of texts) this.#texts.set(`${fd} ${number}`, text)
    for (const [number, , ...statements] of lists) {
      const [request] = statements.flat().filter(each => /^call \d+$/.test(String(each)))
      if (request === undefined) continue
      const allTexts = statements.map(([text]) => this.#texts.get(`${fd} ${text}`) ?? '').join()
      this.#lists.set(`${fd} ${number}`, {
        request: String(request),
        closed: /'(settled|released)'/.test(allTexts),
      })
    }
  }
  #onResponse(fd: string, { done = [] }: WriterMessage): void {
    const lists = done.flatMap(number => this.#lists.get(`${fd} ${number}`) ?? [])
    if (lists.length > 0) this.#onAcknowledged(lists)
  }
}

/** A file on a disk: complete up to the last sync, with any part of the later changes. */
class Disk {
  #base: Buffer
  #pending: Change[] = []
  constructor(bytes: Buffer) {
    this.#base = bytes
  }
  change(change: Change): void {
    this.#pending.push(change)
  }
  sync(): void {
    this.#base = this.with(change => [change])
    this.#pending = []
  }
  /** The file if `partOf` returns the part of each pending change that reached the disk. */
  with(partOf: (change: Change, index: number, count: number) => readonly Change[]): Buffer {
    const count = this.#pending.length
    return applyChanges(
      this.#base,
      this.#pending.flatMap((change, index) => partOf(change, index, count)),
    )
  }
}
const endOf = (change: Change): number =>
  change.kind === 'cut' ? change.size : change.at + change.bytes.length
const applyChanges = (before: Buffer, changes: readonly Change[]): Buffer => {
  let size = before.length
  const bytes = Buffer.alloc(changes.reduce((max, each) => Math.max(max, endOf(each)), size))
  before.copy(bytes)
  for (const change of changes)
    if (change.kind === 'write') {
      change.bytes.copy(bytes, change.at)
      size = Math.max(size, endOf(change))
    } else {
      bytes.fill(0, change.size)
      size = change.size
    }
  return bytes.subarray(0, size)
}

const SECTOR = 512
const WAYS = ['all', 'none', 'first', 'some', 'torn'] as const
/** The part of the unsynced changes that survives: all, as after a kill; none; the first ones; a
 *  random choice; or single sectors. */
const survivingPart = (way: (typeof WAYS)[number], chance: () => number) => {
  const share = chance()
  const sectors = (change: Change): readonly Change[] => {
    if (change.kind === 'cut') return chance() < share ? [change] : []
    const { at, bytes } = change
    const starts = Array.from({ length: Math.ceil(bytes.length / SECTOR) }, (_, n) => n * SECTOR)
    const surviving = starts.filter(() => chance() < share)
    const part = (start: number) => bytes.subarray(start, start + SECTOR)
    return surviving.map(start => ({ kind: 'write', at: at + start, bytes: part(start) }))
  }
  return (change: Change, index: number, count: number): readonly Change[] => {
    if (way === 'torn') return sectors(change)
    const survives = {
      all: true,
      none: false,
      first: index < count * share,
      some: chance() < share,
    }
    return survives[way] ? [change] : []
  }
}

export interface Image {
  readonly files: Files
  readonly way: string
  /** The acknowledgements that clients have at that moment. */
  readonly acknowledged: readonly Acknowledgement[]
}
/** Yields `count` images at moments spread over the recording. */
export function* imagesOf(
  before: Files,
  events: readonly Event[],
  count: number,
  chance: () => number,
): Generator<Image> {
  const disks = { db: new Disk(before.db), wal: new Disk(before.wal) }
  const acknowledged: Acknowledgement[] = []
  let imageCount = 0
  for (const [index, event] of events.entries()) {
    if (event.kind === 'answered') acknowledged.push(...event.lists)
    else if (event.kind === 'sync') disks[event.name].sync()
    else disks[event.name].change(event.change)
    for (; imageCount < ((index + 1) / events.length) * count; imageCount++) {
      const way = WAYS[imageCount % WAYS.length] ?? 'all'
      const partOf = survivingPart(way, chance)
      yield {
        files: { db: disks.db.with(partOf), wal: disks.wal.with(partOf) },
        way,
        acknowledged: [...acknowledged],
      }
    }
  }
}
