/** The key of a process: its on-crash statements, its progress counts and its connection go by it.
 *  */
import { randomBytes } from 'node:crypto'

/** Unique in the store, and short enough to be the number of an advisory lock. */
export const newProcessKey = (): bigint => randomBytes(8).readBigUInt64BE() >> 2n
