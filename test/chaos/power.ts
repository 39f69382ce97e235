/** What a power cut leaves of the embedded store: everything that its writer wrote and synced and answered, in the order in
 *  which the kernel saw it, and the files as a disk may hold them at any moment of it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import {
  type ClientMessage,
  createFrameParser,
  type WriterMessage,
} from '../../engine/store/sqlite/frames.ts'
import { eventually } from '../helpers/primary.ts'
import { isTraced } from './trouble.ts'

/** A file's bytes: the database's, or those of its log. */
type Name = 'db' | 'wal'
export type Files = Readonly<Record<Name, Buffer>>
type Change =
  | { readonly kind: 'write'; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: 'cut'; readonly size: number }
export type Event =
  | { readonly kind: 'change'; readonly name: Name; readonly change: Change }
  | { readonly kind: 'sync'; readonly name: Name }
  | { readonly kind: 'answered'; readonly lists: readonly Told[] }
/** What a client was told is done: of the charge `request`, that it is there, or closed. */
export interface Told {
  readonly request: string
  readonly closed: boolean
}

const CALLS = 'pwrite64,ftruncate,fsync,fdatasync,read,write,writev'
/** Follows the thread that writes until `stop`, which resolves to what it did. */
export const record = async (pid: number, log: string) => {
  const args = ['-qq', '-y', '-xx', '-s', '16777216', '-e', `trace=${CALLS}`, '-o', log]
  const tracer = spawn('strace', [...args, '-p', String(pid)], { stdio: 'ignore' })
  await eventually(() => isTraced(pid) || undefined)
  return {
    async stop(): Promise<readonly Event[]> {
      const gone = once(tracer, 'exit')
      tracer.kill('SIGINT')
      await gone
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
  const talk = new Talk(lists => void events.push({ kind: 'answered', lists }))
  for (const line of log.split('\n')) {
    const [, call, fd = '', path = '', hex, first, second, result] = CALL.exec(line) ?? []
    const name = nameOf(path)
    if (name === undefined) talk.heard(call, fd, bytesOf(hex).subarray(0, Number(result)))
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

/** What clients and the writer say to each other: which lists are done, and what each of them was. */
class Talk {
  readonly #answered: (lists: readonly Told[]) => void
  readonly #sides = new Map<string, (chunk: Buffer) => void>()
  /** By connection and number: each counts its own. */
  readonly #texts = new Map<string, string>()
  readonly #lists = new Map<string, Told>()
  constructor(answered: (lists: readonly Told[]) => void) {
    this.#answered = answered
  }
  heard(call: string | undefined, fd: string, chunk: Buffer): void {
    const asks = call === 'read'
    if (chunk.length === 0 || (!asks && call !== 'write')) return
    const side = `${call} ${fd}`
    const take =
      this.#sides.get(side) ??
      createFrameParser<ClientMessage & WriterMessage>(message =>
        asks ? this.#asked(fd, message) : this.#told(fd, message),
      )
    this.#sides.set(side, take)
    try {
      take(chunk)
    } catch {
      // A pipe of the runtime's own.
      this.#sides.set(side, () => {})
    }
  }
  #asked(fd: string, { texts = [], lists = [] }: ClientMessage): void {
    for (const [number, text] of texts) this.#texts.set(`${fd} ${number}`, text)
    for (const [number, , ...statements] of lists) {
      const [request] = statements.flat().filter(each => /^call \d+$/.test(String(each)))
      if (request === undefined) continue
      const all = statements.map(([text]) => this.#texts.get(`${fd} ${text}`) ?? '').join()
      this.#lists.set(`${fd} ${number}`, {
        request: String(request),
        closed: /'(settled|released)'/.test(all),
      })
    }
  }
  #told(fd: string, { done = [] }: WriterMessage): void {
    const lists = done.flatMap(number => this.#lists.get(`${fd} ${number}`) ?? [])
    if (lists.length > 0) this.#answered(lists)
  }
}

/** A file of which the disk has all up to the last sync, and of the changes since then nobody knows which. */
class Disk {
  #synced: Buffer
  #loose: Change[] = []
  constructor(bytes: Buffer) {
    this.#synced = bytes
  }
  change(change: Change): void {
    this.#loose.push(change)
  }
  sync(): void {
    this.#synced = this.with(change => [change])
    this.#loose = []
  }
  /** `kept`: what the disk has of a change. */
  with(kept: (change: Change, index: number, count: number) => readonly Change[]): Buffer {
    const count = this.#loose.length
    return changed(
      this.#synced,
      this.#loose.flatMap((change, index) => kept(change, index, count)),
    )
  }
}
const endOf = (change: Change): number =>
  change.kind === 'cut' ? change.size : change.at + change.bytes.length
const changed = (before: Buffer, changes: readonly Change[]): Buffer => {
  let size = before.length
  const bytes = Buffer.alloc(changes.reduce((most, each) => Math.max(most, endOf(each)), size))
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
/** What is left of the changes that nobody synced: all of them, as after a kill; none; the first few; some; sectors of some. */
const keeping = (way: (typeof WAYS)[number], chance: () => number) => {
  const share = chance()
  const sectors = (change: Change): readonly Change[] => {
    if (change.kind === 'cut') return chance() < share ? [change] : []
    const { at, bytes } = change
    const starts = Array.from({ length: Math.ceil(bytes.length / SECTOR) }, (_, n) => n * SECTOR)
    const left = starts.filter(() => chance() < share)
    const part = (start: number) => bytes.subarray(start, start + SECTOR)
    return left.map(start => ({ kind: 'write', at: at + start, bytes: part(start) }))
  }
  return (change: Change, index: number, count: number): readonly Change[] => {
    if (way === 'torn') return sectors(change)
    const kept = { all: true, none: false, first: index < count * share, some: chance() < share }
    return kept[way] ? [change] : []
  }
}

export interface Image {
  readonly files: Files
  readonly way: string
  /** What clients knew by then. */
  readonly told: readonly Told[]
}
/** `count` of them, at moments all over the record. */
export function* imagesOf(
  before: Files,
  events: readonly Event[],
  count: number,
  chance: () => number,
): Generator<Image> {
  const disks = { db: new Disk(before.db), wal: new Disk(before.wal) }
  const told: Told[] = []
  let made = 0
  for (const [index, event] of events.entries()) {
    if (event.kind === 'answered') told.push(...event.lists)
    else if (event.kind === 'sync') disks[event.name].sync()
    else disks[event.name].change(event.change)
    for (; made < ((index + 1) / events.length) * count; made++) {
      const way = WAYS[made % WAYS.length] ?? 'all'
      const kept = keeping(way, chance)
      yield { files: { db: disks.db.with(kept), wal: disks.wal.with(kept) }, way, told: [...told] }
    }
  }
}
