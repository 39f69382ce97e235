/** What a process says about itself: JSON lines on stdout, with every secret taken out. */
import { fstatSync } from 'node:fs'
import pino from 'pino'
import type { Log } from '../plugin.ts'
import { createRequestLines, type RequestLine } from './request-line.ts'
import { HIDDEN, hideKeys } from './secret-text.ts'

export interface LogOptions {
  readonly level: string
  /** Who speaks: `primary`, `worker 2`, `builder`. */
  readonly process?: string
  /** Where the lines go instead of stdout. */
  readonly destination?: { write(line: string): void }
  readonly secrets?: Iterable<string>
}
export interface ProcessLog extends Log {
  /** At level `info`. The one line that every request costs: written by hand, a quarter of the price. */
  request(line: RequestLine): void
  /** A reload may bring another level. */
  level(level: string): void
  /** Values that must never be seen; they stay hidden for good, since old requests may still carry them. */
  hide(secrets: Iterable<string>): void
  /** Resolves when every line so far is with the operating system. */
  flush(): Promise<void>
}

export const createLog = (options: LogOptions): ProcessLog => {
  const values = createValueCurtain()
  const destination = options.destination ?? toStdout()
  const base = { process: options.process ?? 'worker', pid: process.pid }
  const logger = pino(
    {
      level: options.level,
      base,
      formatters: { level: label => ({ level: label }), log: createFieldCurtain() },
      hooks: { streamWrite: values.apply },
    },
    destination,
  )
  const requests = createRequestLines(base, values.apply)
  values.add(options.secrets ?? [])
  const flushOnce = (): Promise<void> => new Promise(resolve => logger.flush(() => resolve()))
  return {
    debug: (fields, text) => logger.debug(fields, text),
    info: (fields, text) => logger.info(fields, text),
    warn: (fields, text) => logger.warn(fields, text),
    error: (fields, text) => logger.error(fields, text),
    request: line => {
      if (logger.isLevelEnabled('info')) destination.write(requests.write(line))
    },
    level(level) {
      logger.level = level
    },
    hide(secrets) {
      values.add(secrets)
      requests.forget()
    },
    flush: async () => {
      // The first may end while less than one write's worth is left, which the second writes.
      await flushOnce()
      await flushOnce()
    },
  }
}

interface Destination {
  write(line: string): void
  flush?(done: () => void): void
}
/** Buffered and asynchronous, since a line is written per request; flushed at exit, also by a crash. The lines are kept
 *  as bytes: kept as text, the buffer is measured anew, all of it, with every line that joins it. */
const toStdout = (): Destination => {
  const stream = pino.destination({
    fd: 1,
    sync: false,
    contentMode: 'buffer',
    periodicFlush: 250,
    // Workers share one stdout. Up to 4 KiB a pipe takes whole, so that no line is torn by another's.
    ...(fstatSync(1).isFile() ? TO_FILE : TO_PIPE),
    // A reader that stops reading must cost lines, not memory.
    maxLength: 8 * 1024 * 1024,
  })
  const takeBytes = stream.write.bind(stream) as unknown as (line: Buffer) => boolean
  return {
    write: line => void takeBytes(Buffer.from(line)),
    flush: done => stream.flush(() => done()),
  }
}
const TO_FILE = { minLength: 65_536, maxWrite: 131_072 }
const TO_PIPE = { minLength: 3584, maxWrite: 4096 }

const SECRET_NAME = /(?:authorization|cookie|secret|password|api[-_]?key)$/i
const NAMES_KEPT = 1000
const DEEPEST = 8

/** Fields whose name says that their value is a secret, at any depth. Copies only where it finds one. */
const createFieldCurtain = (): ((fields: object) => Record<string, unknown>) => {
  // The same few names come with every line.
  const known = new Map<string, boolean>()
  const isSecret = (name: string): boolean => {
    const answer = known.get(name)
    if (answer !== undefined) return answer
    const tested = SECRET_NAME.test(name)
    if (known.size < NAMES_KEPT) known.set(name, tested)
    return tested
  }
  const visible = (value: unknown, depth: number): unknown => {
    if (typeof value !== 'object' || value === null) return value
    // Whoever logs a circle meets its end here.
    if (depth > DEEPEST) return '[deeper]'
    if (Array.isArray(value)) return value.map(item => visible(item, depth + 1))
    // The serializer adds the messages and stacks of the whole `cause` chain.
    return hide(value instanceof Error ? pino.stdSerializers.err(value) : value, depth)
  }
  const hide = (fields: object, depth: number): Record<string, unknown> => {
    const given = fields as Record<string, unknown>
    let copy: Record<string, unknown> | undefined
    for (const name in given) {
      const value = given[name]
      const shown = isSecret(name) ? HIDDEN : visible(value, depth + 1)
      if (shown === value) continue
      copy ??= { ...given }
      copy[name] = shown
    }
    return copy ?? given
  }
  return fields => hide(fields, 0)
}

// Any parameter of a query may be a credential (`?key=`), and so may what stands before an `@`.
const SUSPECT = /[=@]|bearer |basic |(?:sk|st|pk|rk|key|secret|whsec)[-_]/i
const QUERY = /([?&][\w.~-]+=)[^&"\s\\#]+/g
const USERINFO = /:\/\/[^/?#\s"@]+@/g
const CREDENTIAL = /\b((?:bearer|basic) )[\w.~+/=-]+/gi
// Anything shorter is found in innocent words, and is no secret.
const SHORTEST_SECRET = 6

/** Secrets inside of a finished line: in messages, stacks and addresses. One expression finds all known values. */
const createValueCurtain = () => {
  const secrets = new Set<string>()
  let known: RegExp | undefined
  return {
    add(more: Iterable<string>): void {
      for (const secret of more) {
        // As it stands in JSON.
        if (secret.length >= SHORTEST_SECRET) secrets.add(JSON.stringify(secret).slice(1, -1))
      }
      // The longest first: one secret may begin like another.
      const longestFirst = [...secrets].sort((a, b) => b.length - a.length)
      const source = longestFirst.map(secret => RegExp.escape(secret)).join('|')
      known = source === '' ? undefined : new RegExp(source, 'g')
    },
    apply(line: string): string {
      let text = known ? line.replace(known, HIDDEN) : line
      if (!SUSPECT.test(text)) return text
      text = text.replace(QUERY, `$1${HIDDEN}`).replace(USERINFO, `://${HIDDEN}@`)
      return hideKeys(text.replace(CREDENTIAL, `$1${HIDDEN}`))
    },
  }
}
