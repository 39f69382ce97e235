/** The rows of requests that lead for others. Times in ms since 1970. */
import type { Migration, Row, Sql, Statement } from '../../engine/plugin.ts'

/** `beat`: grows while the leader lives. `storable` 0: its answer cannot be stored. `at`: of the
 *  last change. */
export const LEADERS: Migration = {
  number: 2,
  text: `CREATE TABLE cache_leaders (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    beat BIGINT NOT NULL,
    storable BIGINT NOT NULL,
    at BIGINT NOT NULL)`,
}

export interface Leader {
  readonly owner: string
  readonly beat: number
  readonly isStorable: boolean
}
export const SEE_LEADER: Sql = {
  name: 'cache: see leader',
  text: 'SELECT owner, beat, storable FROM cache_leaders WHERE id = ?',
}
export const leaderOf = ({ owner, beat, storable }: Row): Leader => ({
  owner: String(owner),
  beat: Number(beat),
  isStorable: Number(storable) === 1,
})

const INSERT: Sql = {
  name: 'cache: lead',
  text: `INSERT INTO cache_leaders (id, owner, beat, storable, at) VALUES (?, ?, 0, 1, ?)
    ON CONFLICT (id) DO NOTHING RETURNING id`,
}
const REPLACE: Sql = {
  name: 'cache: replace leader',
  text: `UPDATE cache_leaders SET owner = ?, beat = 0, storable = 1, at = ?
    WHERE id = ? AND owner = ? AND beat = ? RETURNING id`,
}
const RENEW: Sql = {
  name: 'cache: renew leader',
  text: 'UPDATE cache_leaders SET beat = beat + 1, at = ? WHERE id = ? AND owner = ?',
}
const GIVE_UP: Sql = {
  name: 'cache: leader without an answer',
  text: 'UPDATE cache_leaders SET storable = 0, at = ? WHERE id = ? AND owner = ?',
}
const REMOVE: Sql = {
  name: 'cache: remove leader',
  text: 'DELETE FROM cache_leaders WHERE id = ? AND owner = ?',
}
const REMOVE_OLD: Sql = {
  name: 'cache: remove old leaders',
  text: `DELETE FROM cache_leaders WHERE (storable = 0 AND at < ?) OR at < ?`,
}

export const leaderStatements = {
  insert: (key: string, owner: string, now: number): Statement => ({
    sql: INSERT,
    values: [key, owner, now],
  }),
  replace: (key: string, dead: Leader, owner: string, now: number): Statement => ({
    sql: REPLACE,
    values: [owner, now, key, dead.owner, dead.beat],
  }),
  renew: (key: string, owner: string, now: number): Statement => ({
    sql: RENEW,
    values: [now, key, owner],
  }),
  giveUp: (key: string, owner: string, now: number): Statement => ({
    sql: GIVE_UP,
    values: [now, key, owner],
  }),
  remove: (key: string, owner: string): Statement => ({ sql: REMOVE, values: [key, owner] }),
  /** Removes leaders without an answer, and leaders that stopped to renew their rows: those not
   *  renewed since these times. */
  removeOld: (withoutAnswer: number, stopped: number): Statement => ({
    sql: REMOVE_OLD,
    values: [withoutAnswer, stopped],
  }),
}
