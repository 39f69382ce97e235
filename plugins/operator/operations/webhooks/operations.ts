/** The operations on webhooks and on mails to accounts. */
import type { Operation } from '../../operation.ts'
import { eventOperations } from './events.ts'
import { mailOperations } from './mails.ts'

/** In the order of the help. */
export const webhookOperations: readonly Operation[] = [...eventOperations, ...mailOperations]
