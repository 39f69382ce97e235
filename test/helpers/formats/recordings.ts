/** Recorded provider traffic as cases. Set RECORDINGS to its folder; a folder without recordings is
 *  an error. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Case, EVENTS, JSON_TYPE } from '../../fixtures/upstream/cases/case.ts'

export interface Recording {
  readonly id: string
  readonly format: string
  readonly stream: boolean
  readonly status: number
  readonly request: Readonly<Record<string, unknown>> | null
  readonly response_headers: Readonly<Record<string, string>>
  readonly response_body: string
}
/** Sizes of the pieces of a replayed stream; each recording always has the same one. */
const PIECES = [1, 7, 64, 333, 1_000, 5_000]

/** Undefined if RECORDINGS is unset. Throws if it is set and holds no recordings. */
export const recordings = (folder = process.env.RECORDINGS): readonly Recording[] | undefined => {
  if (folder === undefined || folder === '') return undefined
  const file = join(folder, 'recordings.jsonl')
  if (!existsSync(file)) throw new Error(`RECORDINGS is set, but there is no ${file}`)
  const existing = read.get(file)
  if (existing) return existing
  const lines = readFileSync(file, 'utf8').split('\n')
  const entries = lines.filter(line => line.startsWith('{')).map(line => JSON.parse(line))
  // Tests share the recordings, so they are frozen.
  read.set(file, freeze(entries) as readonly Recording[])
  return entries
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
    // A long stream in single bytes shows no more than a short one.
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

/** The format's name for a recording's `chat`, `responses-azure`, `gemini-vertex`, …; undefined for
 *  other kinds. */
export const recordedFormat = (format: string): string | undefined =>
  FORMATS[format.split('-')[0] ?? '']
const FORMATS: Readonly<Record<string, string>> = {
  chat: 'openai-chat',
  responses: 'openai-responses',
  messages: 'anthropic-messages',
  gemini: 'google-gemini',
}
