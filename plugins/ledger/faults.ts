/** What the ledger refuses, and how the store says so. */
import { errors } from '../../engine/errors.ts'

export const fault = errors({
  INSUFFICIENT: [
    403,
    'The balance does not cover this call: it may cost %s, and that is not available.',
  ],
  KEY_EXHAUSTED: [403, 'The quota of this API key does not cover this call: it may cost %s.'],
  CHARGE_CLOSED: [
    503,
    'This call took longer than its hold on the balance lasted.',
    { headers: { 'retry-after': '1' } },
  ],
})

export const INSUFFICIENT = 'INSUFFICIENT'
export const isCode = (thrown: unknown, ...codes: readonly string[]): boolean =>
  codes.includes((thrown as { readonly code?: string } | null)?.code ?? '')

/** Whose money it is that does not suffice. */
export const LACKS = { account: 'INSUFFICIENT', key: 'KEY_EXHAUSTED' } as const
