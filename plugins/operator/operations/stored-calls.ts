/** Operations on texts of calls that the gateway stores: the journal, and answers in the cache. */
import type { Operation } from '../operation.ts'
import { cacheOperations } from './cache.ts'
import { journalOperations } from './journal.ts'

/** In the order of the help. */
export const storedCallOperations: readonly Operation[] = [...journalOperations, ...cacheOperations]
