/** The key of a process, which identifies its on-crash statements, progress counts and connection.
 *  */
import { randomBytes } from 'node:crypto'

/** Unique in the store, and short enough to be the number of an advisory lock. */
export const newProcessKey = (): bigint => randomBytes(8).readBigUInt64BE() >> 2n
