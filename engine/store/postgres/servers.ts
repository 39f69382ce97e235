/** The servers of a database URL, which may name several, as with libpq: one accepts writes. */
import { setTimeout as later } from 'node:timers/promises'
import { isPermanent, isReadOnly } from './error-codes.ts'

/** The newest timeline that a process has seen. */
export interface NewestTimeline {
  timeline: string
}
interface Connected extends NewestTimeline {
  end(): Promise<void>
}

/** One URL for each server of `postgres://user@one:5432,two:5432/name`. */
export const serversOf = (url: string): readonly string[] => {
  const [, before = '', hosts = '', after = ''] = PARTS.exec(url) ?? []
  return hosts === '' ? [url] : hosts.split(',').map(host => `${before}${host}${after}`)
}
const PARTS = /^(\w+:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/

/** ms that the first server that accepts writes waits for the others. */
const GRACE = 250

/** Resolves to the connection that accepts writes and ends the others. A server that was replaced
 *  may still accept writes: of several, the newest timeline is used, and never one that is older
 *  than what this process has seen. */
export const pickServer = async <Session extends Connected>(
  attempts: readonly Promise<Session>[],
  newest: NewestTimeline = { timeline: '' },
): Promise<Session> => {
  const sessions: (Session | undefined)[] = attempts.map(() => undefined)
  let isOver = false
  const all = attempts.map(async (attempt, index) => {
    const session = await attempt
    if (isOver) await session.end()
    else sessions[index] = session
  })
  const settled = Promise.allSettled(all)
  await Promise.any(all).catch(({ errors }: AggregateError) => {
    throw telling(errors)
  })
  await Promise.race([settled, later(GRACE)])
  isOver = true
  const best = sessions
    .filter(session => session !== undefined)
    .reduce((one, other) => (other.timeline > one.timeline ? other : one))
  const isStale = best.timeline < newest.timeline
  for (const session of sessions) if (session !== best || isStale) void session?.end()
  if (isStale)
    throw new Error(
      `the only server that accepts writes follows timeline ${best.timeline}, older than ${newest.timeline}, which was used before`,
    )
  newest.timeline = best.timeline
  return best
}

/** The error that tells most about several servers: a standby, then a server that may return. */
const telling = (all: readonly unknown[]): unknown =>
  all.find(isReadOnly) ?? all.find(error => !isPermanent(error)) ?? all[0]
