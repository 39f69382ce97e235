/** Recorded provider traffic as cases: where RECORDINGS points at it, and an error where it points at nothing. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Case, EVENTS, JSON_TYPE } from '../fixtures/upstream/cases/case.ts'

export interface Recording {
  readonly id: string
  readonly format: string
  readonly stream: boolean
  readonly status: number
  readonly request: Readonly<Record<string, unknown>> | null
  readonly response_headers: Readonly<Record<string, string>>
  readonly response_body: string
}
/** Sizes of the pieces a stream is replayed in; each recording has its own, always the same. */
const PIECES = [1, 7, 64, 333, 1_000, 5_000]

/** Undefined when RECORDINGS is unset. Throws when it is set and holds no recordings. */
export const recordings = (folder = process.env.RECORDINGS): readonly Recording[] | undefined => {
  if (folder === undefined || folder === '') return undefined
  const file = join(folder, 'recordings.jsonl')
  if (!existsSync(file)) throw new Error(`RECORDINGS is set, but there is no ${file}`)
  const known = read.get(file)
  if (known) return known
  const lines = readFileSync(file, 'utf8').split('\n')
  const found = lines.filter(line => line.startsWith('{')).map(line => JSON.parse(line))
  // Tests that share them cannot change them for one another.
  read.set(file, freeze(found) as readonly Recording[])
  return found
}
const read = new Map<string, readonly Recording[]>()
const freeze = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value
  for (const each of Object.values(value)) freeze(each)
  return Object.freeze(value)
}

export const recordedChats = (folder = process.env.RECORDINGS): readonly Case[] | undefined =>
  recordings(folder)
    ?.filter(({ format }) => format === 'chat')
    .map(toCase)

const toCase = (recording: Recording, index: number): Case => {
  const { id, status, stream, request, response_body: body } = recording
  const { model: _, ...rest } = request ?? { messages: [{ role: 'user', content: 'Hello' }] }
  const piece = PIECES[index % PIECES.length] ?? 64
  return {
    name: id,
    status: `${status} ${status === 200 ? 'OK' : 'Refused'}`,
    headers: headersOf(recording),
    body,
    request: { ...rest, ...(stream && { stream: true }) },
    // A long stream in single bytes proves no more than a short one.
    ...(stream && { chunking: { piece: body.length > 20_000 ? Math.max(piece, 64) : piece } }),
    sdk: status === 200 ? {} : { throws: { status } },
  }
}

const headersOf = ({ stream, response_headers }: Recording): string => {
  const { 'transfer-encoding': _, 'content-length': __, ...headers } = response_headers
  if (headers['content-type'] === undefined) return stream ? EVENTS : JSON_TYPE
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
}

/** The format's own name for what a recording calls `chat`, `responses-azure`, `gemini-vertex`, …; undefined: another kind. */
export const recordedFormat = (recorded: string): string | undefined =>
  FORMATS[recorded.split('-')[0] ?? '']
const FORMATS: Readonly<Record<string, string>> = {
  chat: 'openai-chat',
  responses: 'openai-responses',
  messages: 'anthropic-messages',
  gemini: 'google-gemini',
}
