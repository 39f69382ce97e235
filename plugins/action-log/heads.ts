/** Published heads: the number and the signature of the last row, kept outside of the store. A log
 *  that was cut, emptied or written anew afterwards does not contain them. */
import { createHash } from 'node:crypto'
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HostBase } from '../../engine/plugin.ts'
import { signatureHeaders } from '../webhooks/signature.ts'
import type { Head } from './action.ts'
import { FOLDER } from './keys.ts'
import { sectionOf } from './section.ts'
import { readHead } from './statements.ts'

/** ms after which a head is published, however few rows it adds. */
const LONGEST = 3_600_000
/** ms for the whole response of the receiver. */
const TIMEOUT = 10_000

/** The heads in a text: a line each, JSON with `seq` and `mac`, as a log has it too. Other lines
 *  are ignored. */
export const headsIn = (text: string): readonly Head[] =>
  text.split('\n').flatMap(line => {
    try {
      const { seq, mac } = JSON.parse(line) as Partial<Head>
      const isHead = Number.isSafeInteger(seq) && typeof mac === 'string'
      return isHead ? [{ seq: Number(seq), mac }] : []
    } catch {
      return []
    }
  })

type Files = Pick<HostBase, 'section' | 'folder'>
const fileOf = (host: Files): string =>
  sectionOf(host).publish.file ?? join(host.folder(FOLDER), 'heads')
/** The heads that this machine published; none without the file. */
export const publishedHeads = (host: Files): readonly Head[] => {
  try {
    return headsIn(readFileSync(fileOf(host), 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return []
  }
}

/** The last published heads of a process. */
export interface Published {
  recorded: Head | undefined
  delivered: Head | undefined
  /** ms since 1970. */
  at: number
}
export const newPublished = (): Published => ({ recorded: undefined, delivered: undefined, at: 0 })

/** Publishes the head if enough rows were added. Logs an error if the log has become shorter. */
export const publishHead = async (host: HostBase, published: Published): Promise<void> => {
  const { database, log } = host
  published.recorded ??= publishedHeads(host).at(-1)
  const head = await readHead(database)
  const { every, webhook } = sectionOf(host).publish
  const before = published.recorded
  if (before && (!head || head.seq < before.seq)) {
    const fields = { published: before.seq, seq: head?.seq ?? null }
    log.error(fields, 'the log of actions was cut: run `tollgate actions verify`')
    return
  }
  if (!head || head.seq === 0) return
  const now = await database.now()
  const rows = head.seq - (before?.seq ?? 0)
  const isDue = rows >= every || (rows > 0 && now - published.at >= LONGEST)
  const { seq, mac } = head
  if (isDue) {
    appendFileSync(fileOf(host), `${JSON.stringify({ seq, mac, at: now })}\n`, {
      mode: 0o600,
      flush: true,
    })
    log.info({ seq, mac }, 'head of the log of actions')
    published.recorded = { seq, mac }
    published.at = now
  }
  const { recorded, delivered } = published
  if (webhook === undefined || !recorded || delivered?.seq === recorded.seq) return
  await send(host, webhook, recorded, now)
  published.delivered = recorded
}

/** Rejects unless the receiver takes it: the job tries again. */
const send = async (host: HostBase, url: string, { seq, mac }: Head, at: number): Promise<void> => {
  const { secret } = sectionOf(host).publish
  const body = JSON.stringify({ topic: 'actions.head', data: { seq, mac } })
  const id = `head_${createHash('sha256').update(mac).digest('hex').slice(0, 24)}`
  const signed = secret === undefined ? {} : signatureHeaders({ id, body, secret, at })
  const headers = { 'content-type': 'application/json', ...signed } as Record<string, string>
  const { status } = await host.request(url, { method: 'POST', headers, body, timeout: TIMEOUT })
  if (status < 200 || status >= 300) throw new Error(`the receiver of heads answered ${status}`)
}
