/** Writes the log of a process: JSON lines on stdout, with all secrets hidden. */
import { fstatSync } from 'node:fs'
import pino from 'pino'
import type { Log } from '../plugin.ts'
import { memoizeByName } from '../response/headers.ts'
import { createRequestLines, type RequestLine } from './request-line.ts'
import { HIDDEN, hideSecrets } from './secret-text.ts'

export interface LogOptions {
  readonly level: string
  /** Name of the process: `primary`, `worker 2`, `builder`. */
  readonly process?: string
  /** Receives the lines instead of stdout. */
  readonly destination?: { write(line: string): void }
  readonly secrets?: Iterable<string>
}
export interface ProcessLog extends Log {
  /** Writes the line of a finished request, at `info`, at a quarter of the cost of pino. */
  request(line: RequestLine): void
  /** Gives the lines of all requests to the request log, at any level; undefined: no longer. */
  keep(write: ((line: string) => void) | undefined): void
  /** Sets the level, after a reload. */
  level(level: string): void
  /** Hides these values in all later lines, also after a reload: old requests may have them. */
  hide(secrets: Iterable<string>): void
  /** Resolves when every line so far was passed to the operating system. */
  flush(): Promise<void>
}

export const createLog = (options: LogOptions): ProcessLog => {
  const values = createValueMask()
  const destination = options.destination ?? toStdout()
  const base = { process: options.process ?? 'worker', pid: process.pid }
  const logger = pino(
    {
      level: options.level,
      base,
      formatters: { level: label => ({ level: label }), log: fields => maskFields(fields) },
      hooks: { streamWrite: values.apply },
    },
    destination,
  )
  const requests = createRequestLines(base, values.apply)
  let keepLine: ((line: string) => void) | undefined
  values.add(options.secrets ?? [])
  const flushOnce = (): Promise<void> => new Promise(resolve => logger.flush(() => resolve()))
  return {
    debug: (fields, text) => logger.debug(fields, text),
    info: (fields, text) => logger.info(fields, text),
    warn: (fields, text) => logger.warn(fields, text),
    error: (fields, text) => logger.error(fields, text),
    request: line => {
      const isLogged = logger.isLevelEnabled('info')
      if (!isLogged && !keepLine) return
      const text = requests.write(line)
      if (isLogged) destination.write(text)
      keepLine?.(text)
    },
    keep(write) {
      keepLine = write
    },
    level(level) {
      logger.level = level
    },
    hide(secrets) {
      values.add(secrets)
      requests.clear()
    },
    flush: async () => {
      // The first flush may leave a rest shorter than one write; the second writes it.
      await flushOnce()
      await flushOnce()
    },
  }
}

interface Destination {
  write(line: string): void
  flush?(done: () => void): void
}
/** Buffered and asynchronous, since every request writes a line; flushed at exit, also after a
 *  crash. It buffers bytes, since pino would measure buffered text again with every line. */
const toStdout = (): Destination => {
  const stream = pino.destination({
    fd: 1,
    sync: false,
    contentMode: 'buffer',
    periodicFlush: 250,
    // Workers share one stdout. A pipe takes up to 4 KiB at once, so that lines do not mix.
    ...(fstatSync(1).isFile() ? TO_FILE : TO_PIPE),
    // If the reader stops, further lines are discarded, so that memory does not grow.
    maxLength: 8 * 1024 * 1024,
  })
  const writeBytes = stream.write.bind(stream) as unknown as (line: Buffer) => boolean
  return {
    write: line => void writeBytes(Buffer.from(line)),
    flush: done => stream.flush(() => done()),
  }
}
const TO_FILE = { minLength: 65_536, maxWrite: 131_072 }
const TO_PIPE = { minLength: 3584, maxWrite: 4096 }

const SECRET_NAME = /(?:authorization|cookie|secret|password|api[-_]?key)$/i
const MAX_DEPTH = 8

const isSecret = memoizeByName(name => SECRET_NAME.test(name))
const mask = (value: unknown, depth: number): unknown => {
  if (typeof value !== 'object' || value === null) return value
  // This also ends circular references.
  if (depth > MAX_DEPTH) return '[deeper]'
  if (Array.isArray(value)) return value.map(item => mask(item, depth + 1))
  // The serializer adds the messages and stacks of the whole `cause` chain.
  return maskFields(value instanceof Error ? pino.stdSerializers.err(value) : value, depth)
}
/** Hides fields with the name of a secret, at any depth. Copies only objects that have one. */
const maskFields = (fields: object, depth = 0): Record<string, unknown> => {
  const source = fields as Record<string, unknown>
  let copy: Record<string, unknown> | undefined
  for (const name in source) {
    const value = source[name]
    const maskedValue = isSecret(name) ? HIDDEN : mask(value, depth + 1)
    if (maskedValue === value) continue
    copy ??= { ...source }
    copy[name] = maskedValue
  }
  return copy ?? source
}

// Shorter values occur in ordinary words.
const MIN_SECRET = 6

/** Hides secrets in a complete line. One regular expression finds all known values. */
const createValueMask = () => {
  const secrets = new Set<string>()
  let pattern: RegExp | undefined
  return {
    add(more: Iterable<string>): void {
      for (const secret of more) {
        // The form that the secret has in JSON.
        if (secret.length >= MIN_SECRET) secrets.add(JSON.stringify(secret).slice(1, -1))
      }
      // Longest first: one secret may be a prefix of another.
      const longestFirst = [...secrets].sort((a, b) => b.length - a.length)
      const source = longestFirst.map(secret => RegExp.escape(secret)).join('|')
      pattern = source === '' ? undefined : new RegExp(source, 'g')
    },
    apply(line: string): string {
      return hideSecrets(pattern ? line.replace(pattern, HIDDEN) : line)
    },
  }
}
