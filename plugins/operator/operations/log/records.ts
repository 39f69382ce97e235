/** The operations on what is kept of calls and of actions. */
import type { Operation } from '../../operation.ts'
import { storedCallOperations } from '../journal.ts'
import { trafficOperations } from '../traffic.ts'
import { actionOperations } from './actions.ts'

export const recordOperations: readonly Operation[] = [
  ...storedCallOperations,
  ...trafficOperations,
  ...actionOperations,
]
